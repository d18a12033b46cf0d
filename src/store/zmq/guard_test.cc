// Unknown peers of a direct server: idle connections, short connections, frames that never become whole. The tests check that such peers
// exhaust neither descriptors nor memory, that established connections stay, and that the server accepts new ones again. They use real
// sockets on several loopback addresses and of a folder (ipc), and run turns until the expected state holds.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "store/zmq/world.h"

namespace rondo::store {
namespace {

using testing::HasSubstr;

/// The greeting of ZMTP 3.1 and the READY of a PUSH socket: the bytes that a peer without security sends before its first frame.
std::string handshake() {
  std::string text("\xff\0\0\0\0\0\0\0\0\x7f\x03\x01NULL", 16);
  text.resize(64, '\0');
  return text + std::string("\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x04PUSH", 28);
}

class ZmqGuardBounds : public ZmqWorld {
 protected:
  ZmqGuardBounds() { endpoint_ = "tcp://127.0.0.1:*"; }

  /// Starts a connection from 127.0.0.'last' and does not wait for it. Returns none if no descriptor is free.
  UniqueFd call(const ZmqServer& server, std::uint32_t last = 1) {
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    sockaddr_in from{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(0x7f000000U + last)}, .sin_zero = {}};
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    const std::string& endpoint = server.endpoint();
    const auto port = static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
    sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    const int answer = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    EXPECT_TRUE(answer == 0 || errno == EINPROGRESS) << errno;
    return fd;
  }
  /// The same over ipc. The queue of such a socket is short, so turns are given until it has room.
  UniqueFd call_local(const ZmqServer& server) {
    const std::string path = server.endpoint().substr(std::string_view{"ipc://"}.size());
    sockaddr_un to{.sun_family = AF_UNIX, .sun_path = {}};
    EXPECT_LT(path.size(), sizeof to.sun_path);
    std::memcpy(to.sun_path, path.c_str(), std::min(path.size(), sizeof to.sun_path - 1));
    UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    EXPECT_TRUE(until([&] { return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno != EAGAIN; }));
    return fd;
  }
  static bool is_cut(const UniqueFd& fd) {
    char buffer[512];
    ssize_t got = 0;
    do {
      got = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    } while (got > 0);
    return got == 0 || errno == ECONNRESET;
  }
  static std::size_t descriptors() {
    std::size_t count = 0;
    DIR* const folder = ::opendir("/proc/self/fd");
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    return count;
  }
  static std::uint64_t faults(const ZmqServer& server, ZmqFault fault) { return server.stats().faults[static_cast<std::size_t>(fault)]; }
  /// True if entries of a new client arrive.
  bool serves(ZmqServer& server, Subscription& consumer) {
    const auto client = connect({.endpoint = server.endpoint()});
    EXPECT_TRUE(table(*client).set("k" + std::to_string(++keys_), {{"a", "1"}}).ok());
    return until([&] { return !take(consumer).empty(); });
  }

 private:
  int keys_ = 0;
};

/// A listener on a socket of a folder: it has no addresses, so there is no packet filter, and libzmq accepts each connection first.
class ZmqGuardIpcBounds : public ZmqGuardBounds {
 protected:
  ZmqGuardIpcBounds() { endpoint_ = "ipc://" + folder_.file("socket"); }
};

TEST_F(ZmqGuardBounds, IdleConnectionsTakeNoMoreThanTheirDescriptorsAndTheDoorOpensAgain) {
  const auto server = serve({.connections = 20, .connections_per_address = 20});
  const auto consumer = subscribe(*server);
  const std::size_t before = descriptors();
  std::vector<UniqueFd> idle;
  std::size_t most = 0;
  for (int i = 0; i < 1100; ++i) {
    idle.push_back(call(*server));
    scheduler_.turn();
    most = std::max(most, server->stats().open_connections);
  }
  ASSERT_TRUE(until([&] { return server->stats().open_connections == 20; }));
  EXPECT_EQ(server->stats().connections_most, 20U);
  EXPECT_LE(descriptors(), before + idle.size() + 2U * 40U);
  EXPECT_LT(faults(*server, ZmqFault::TooManyPeers), 1000U) << "the kernel drops them, not this process";
  ASSERT_FALSE(faults_.empty());
  EXPECT_THAT(faults_.front(), HasSubstr("too-many-peers"));
  idle.clear();
  EXPECT_TRUE(serves(*server, *consumer));
}

TEST_F(ZmqGuardBounds, AnIdleConnectionWithoutAHandshakeIsCutAndMakesPlace) {
  const auto server = serve({.connections = 2, .connections_per_address = 2});
  const auto consumer = subscribe(*server);
  const UniqueFd first = call(*server);
  const UniqueFd second = call(*server);
  ASSERT_TRUE(until([&] { return server->stats().open_connections == 2; }));
  EXPECT_TRUE(serves(*server, *consumer)) << "after the time of a handshake";
  EXPECT_TRUE(is_cut(first));
}

TEST_F(ZmqGuardBounds, OneAddressDoesNotTakeThePlacesOfAnother) {
  const auto server = serve({.connections = 40, .connections_per_address = 10});
  const auto consumer = subscribe(*server);
  std::vector<UniqueFd> idle;
  const std::string greeting = handshake();
  for (int i = 0; i < 200; ++i) {
    idle.push_back(call(*server, 2));
    if (i < 10) {
      ASSERT_TRUE(until([&] { return server->stats().open_connections == static_cast<std::size_t>(i) + 1; }));
      ASSERT_EQ(::send(idle.back().get(), greeting.data(), greeting.size(), MSG_NOSIGNAL), static_cast<ssize_t>(greeting.size()));
    }
    scheduler_.turn();
  }
  ASSERT_TRUE(until([&] { return server->stats().connections == 10 && server->stats().open_connections == 10; }));
  EXPECT_TRUE(serves(*server, *consumer)) << "from another address";
  EXPECT_FALSE(is_cut(idle.front())) << "whoever has a place keeps it";
}

/// libzmq delivers the parts together. To read all of them took one turn of seconds.
TEST_F(ZmqGuardBounds, AMessageOfManyPartsIsDroppedInManyTurns) {
  constexpr std::size_t kParts = 20'000;
  const auto server = serve({});
  const auto consumer = subscribe(*server);
  const UniqueFd peer = call(*server);
  const auto send = [&peer](std::string& bytes) {
    const ssize_t sent = ::send(peer.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) bytes.erase(0, static_cast<std::size_t>(sent));
    return bytes.empty();
  };
  std::string greeting = handshake();
  ASSERT_TRUE(until([&] { return send(greeting); }));
  ASSERT_TRUE(until([&] { return server->stats().connections == 1; }));
  std::string parts;
  for (std::size_t i = 1; i < kParts; ++i) parts += std::string("\x01\0", 2);
  parts += std::string("\0\0", 2);
  ASSERT_TRUE(until([&] { return send(parts); }));
  const auto items = [&] {
    std::uint64_t all = 0;
    scheduler_.for_each_source([&](const Source& source) { all = std::max(all, source.stats().items); });
    return all;
  };
  ASSERT_TRUE(until([&] { return items() >= kParts; }));
  std::uint64_t turns = 0;
  scheduler_.for_each_source([&](const Source& source) {
    if (source.stats().items >= kParts) turns = source.stats().turns;
  });
  EXPECT_GE(turns, kParts / limits::kBatchItems);
  EXPECT_EQ(faults(*server, ZmqFault::Malformed), 1U);
  EXPECT_TRUE(serves(*server, *consumer));
}

TEST_F(ZmqGuardBounds, PartsOfFramesHoldNoMoreThanTheirLimitAndTheLargestIsCut) {
  constexpr std::size_t kPart = 300'000;
  const auto server = serve({.frame_memory = 1'000'000});
  const auto consumer = subscribe(*server);
  std::vector<UniqueFd> slow;
  const std::string head = handshake() + std::string("\x02\0\0\0\0\0\xff\0\0", 9);  // The header of a long frame of 16 MB.
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < 5; ++i) {
    slow.push_back(call(*server));
    rest.push_back(head + std::string(kPart + 1000 * i, 'x'));
  }
  ASSERT_TRUE(until([&] {
    for (std::size_t i = 0; i < slow.size(); ++i) {
      const ssize_t sent = ::send(slow[i].get(), rest[i].data(), rest[i].size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) rest[i].erase(0, static_cast<std::size_t>(sent));
    }
    return faults(*server, ZmqFault::FrameMemory) >= 2;
  }));
  EXPECT_LE(server->stats().frame_bytes, 1'000'000U);
  ASSERT_TRUE(until([&] { return is_cut(slow.back()); }));
  EXPECT_FALSE(is_cut(slow.front())) << "the smallest";
  EXPECT_TRUE(serves(*server, *consumer));
}

TEST_F(ZmqGuardIpcBounds, IdleConnectionsTakeNoMoreThanTheirDescriptorsAndTheDoorOpensAgain) {
  const auto server = serve({.connections = 20});
  const auto consumer = subscribe(*server);
  const std::size_t before = descriptors();
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 1100; ++i) {
    idle.push_back(call_local(*server));
    scheduler_.turn();
  }
  ASSERT_TRUE(until([&] { return faults(*server, ZmqFault::TooManyPeers) >= 1080; })) << "each one above the limit is cut and counted";
  ASSERT_TRUE(until([&] { return server->stats().open_connections == 20; }));
  EXPECT_EQ(server->stats().connections_most, 20U);
  EXPECT_TRUE(until([&] { return descriptors() <= before + idle.size() + 2U * 40U; })) << "libzmq closes what was cut";
  ASSERT_FALSE(faults_.empty());
  EXPECT_THAT(faults_.front(), HasSubstr("too-many-peers"));
  EXPECT_LT(faults_.size(), 100U) << "and few of them are reported";
  idle.clear();
  ASSERT_TRUE(until([&] { return server->stats().open_connections == 0; }));
  EXPECT_TRUE(serves(*server, *consumer));
}

// A client that comes while all places are taken is accepted and then cut, so these tests let it come when a place is free.
TEST_F(ZmqGuardIpcBounds, AnIdleConnectionWithoutAHandshakeIsCutAndMakesPlace) {
  const auto server = serve({.connections = 2});
  const auto consumer = subscribe(*server);
  const UniqueFd first = call_local(*server);
  const UniqueFd second = call_local(*server);
  ASSERT_TRUE(until([&] { return server->stats().open_connections == 2; }));
  EXPECT_TRUE(until([&] { return server->stats().open_connections == 0; })) << "after the time of a handshake";
  EXPECT_TRUE(is_cut(first));
  EXPECT_TRUE(serves(*server, *consumer));
}

TEST_F(ZmqGuardIpcBounds, AConnectionThatCompletedItsHandshakeKeepsItsPlaceAmongIdleOnes) {
  const auto server = serve({.connections = 4});
  const auto consumer = subscribe(*server);
  const UniqueFd known = call_local(*server);
  const std::string greeting = handshake();
  ASSERT_EQ(::send(known.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL), static_cast<ssize_t>(greeting.size()));
  ASSERT_TRUE(until([&] { return server->stats().connections == 1; }));
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(call_local(*server));
  ASSERT_TRUE(until([&] { return std::ranges::all_of(idle, is_cut) && server->stats().open_connections == 1; }));
  EXPECT_TRUE(serves(*server, *consumer));
  EXPECT_FALSE(is_cut(known));
}

// A delivered frame does not count as a partial frame, however large it is.
TEST_F(ZmqGuardBounds, ManyWholeFramesCutNobody) {
  const auto server = serve({.frame_memory = 1'000'000});
  const auto consumer = subscribe(*server);
  const auto client = connect({.endpoint = server->endpoint(), .frame_bytes = 1000});
  const std::string value(900, 'v');
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(table(*client).set("k" + std::to_string(i), {{"a", value}}).ok());
  ASSERT_TRUE(until([&] { return server->stats().entries == 10'000; }));
  const Instant later = clock_.now() + 2500ms;  // Time for two looks.
  ASSERT_TRUE(until([&] { return clock_.now() > later; }));
  EXPECT_EQ(faults(*server, ZmqFault::FrameMemory), 0U);
  EXPECT_LT(server->stats().frame_bytes, 10'000U);
  EXPECT_EQ(server->stats().connections, 1U);
}

}  // namespace
}  // namespace rondo::store
