// Who is at the other end of a connection: this user, another one, and an end that was closed.
#include "fpm/peer_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "base/unique_fd.h"

namespace rondo::fpm {
namespace {

constexpr uid_t kOther = 65534;

/// Two sockets of the loopback interface. With `mapped` the server's has IPv6, and the client's has IPv4.
class Ends {
 public:
  explicit Ends(int family, bool mapped = false) {
    sockaddr_storage address{};
    const UniqueFd listener{::socket(mapped ? AF_INET6 : family, SOCK_STREAM, 0)};
    socklen_t length = fill(address, mapped ? AF_INET6 : family, 0, mapped);
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener.get(), 1) != 0) return;
    length = sizeof address;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
    const in_port_t port = address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                                        : reinterpret_cast<sockaddr_in6&>(address).sin6_port;
    sockaddr_storage there{};
    length = fill(there, family, port, false);
    client = UniqueFd{::socket(family, SOCK_STREAM, 0)};
    if (::connect(client.get(), reinterpret_cast<sockaddr*>(&there), length) != 0) return;
    server = UniqueFd{::accept(listener.get(), nullptr, nullptr)};
  }
  UniqueFd client;
  UniqueFd server;

 private:
  static socklen_t fill(sockaddr_storage& address, int family, in_port_t port, bool any) {
    if (family == AF_INET) {
      auto& v4 = reinterpret_cast<sockaddr_in&>(address);
      v4.sin_family = AF_INET;
      v4.sin_port = port;
      v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      return sizeof v4;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    v6.sin6_addr = any ? in6addr_any : in6addr_loopback;
    return sizeof v6;
  }
};

/// The kernels of some containers do not say who has a socket.
bool kernel_says() {
  const Ends ends{AF_INET};
  if (user_at_other_end(ends.server.get()).has_value()) return true;
  std::cerr << "SKIPPED: this kernel does not say who has a socket (CONFIG_INET_DIAG)\n";
  return false;
}

TEST(PeerUser, IsTheUserWhoseProgramHasTheOtherEnd) {
  if (!kernel_says()) GTEST_SKIP() << "this kernel does not say who has a socket";
  for (const auto& [family, mapped] : {std::pair{AF_INET, false}, std::pair{AF_INET, true}, std::pair{AF_INET6, false}}) {
    const Ends ends{family, mapped};
    ASSERT_TRUE(ends.server) << family << mapped;
    const auto user = user_at_other_end(ends.server.get());
    ASSERT_TRUE(user.has_value()) << user.error().to_string();
    EXPECT_EQ(*user, ::geteuid());
  }
}

TEST(PeerUser, IsAnotherUserIfThatOneMadeTheSocket) {
  if (!kernel_says()) GTEST_SKIP() << "this kernel does not say who has a socket";
  if (::geteuid() != 0) {
    std::cerr << "SKIPPED: only root can become another user\n";
    GTEST_SKIP() << "only root can become another user";
  }
  const UniqueFd listener{::socket(AF_INET, SOCK_STREAM, 0)};
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  socklen_t length = sizeof address;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_other = ::setuid(kOther) == 0;
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (!is_other || ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(1);
    char byte = 0;
    ::_exit(::read(socket, &byte, 1) == 0 ? 0 : 1);  // Until the parent has closed its end.
  }
  {
    const UniqueFd server{::accept(listener.get(), nullptr, nullptr)};
    EXPECT_EQ(user_at_other_end(server.get()).value_or(0), kOther);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(PeerUser, IsUnknownOfAnEndThatWasClosed) {
  if (!kernel_says()) GTEST_SKIP() << "this kernel does not say who has a socket";
  Ends ends{AF_INET};
  ::send(ends.client.get(), "x", 1, 0);
  ends.client.reset();
  EXPECT_EQ(user_at_other_end(ends.server.get()).error().code(), StatusCode::Unavailable);
}

TEST(PeerUser, IsUnknownOfAnEndThatWasReset) {
  Ends ends{AF_INET};
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(ends.client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ends.client.reset();
  EXPECT_EQ(user_at_other_end(ends.server.get()).error().code(), StatusCode::Unavailable);
}

}  // namespace
}  // namespace rondo::fpm
