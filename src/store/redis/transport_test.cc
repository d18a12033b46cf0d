// Behaviour of the transport that depends on the operating system: a closed peer, and a name with several addresses.
#include "store/redis/transport.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include "store/redis/testing/server.h"

namespace rondo::redis {
namespace {

/// Writes to a closed server until that is an error; the process must survive. Runs in a separate process.
[[noreturn]] void write_to_the_gone(redis_kit::RedisServer& server, const RedisAddress& address) {
  ::signal(SIGPIPE, SIG_DFL);
  Transport transport;
  if (!transport.open(address, address.host).ok()) ::_exit(2);
  const auto wait_for = [&transport](short events) {
    pollfd one{transport.descriptor(), events, 0};
    ::poll(&one, 1, 1000);
  };
  for (;;) {
    const Result<bool> open = transport.advance();
    if (!open) ::_exit(3);
    if (*open) break;
    wait_for(POLLIN);
  }
  server.kill9();
  wait_for(POLLRDHUP);
  // The first write may be accepted; the second is answered with a reset; the third is a broken pipe.
  int errors = 0;
  for (int i = 0; i < 1000 && errors < 10; ++i) {
    const Result<std::size_t> sent = transport.send("PING\r\n");
    if (!sent && sent.error().code() != StatusCode::Unavailable) ::_exit(4);
    if (!sent) ++errors;
  }
  ::_exit(errors == 10 ? 0 : 5);
}

TEST(RedisTransportDeathTest, AServerThatGoesWhileWeWriteIsAnErrorAndNotTheEndOfTheProcess) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server({.tcp = true, .tls = true});
  EXPECT_EXIT(write_to_the_gone(server, server.tls_address()), testing::ExitedWithCode(0), "");
  server.kill9();
  server.start();
  EXPECT_EXIT(write_to_the_gone(server, server.tcp_address()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rondo::redis
