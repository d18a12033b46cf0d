// The bytes between us and a server, where the operating system has a say: a peer that has gone, a name with several addresses.
#include "store/redis/transport.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include "store/redis/testing/server.h"

namespace rondo::redis {
namespace {

/// Writes to a server that has gone until that is an error; the process is to survive it. In a process of its own.
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
  // The first write may be taken, the second is answered with a reset; the one behind that is a broken pipe.
  int errors = 0;
  for (int i = 0; i < 1000 && errors < 10; ++i) {
    const Result<std::size_t> sent = transport.send("PING\r\n");
    if (!sent && sent.error().code() != Code::Unavailable) ::_exit(4);
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
