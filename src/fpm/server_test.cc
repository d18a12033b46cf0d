// The FPM server over TCP on the loopback interface: pieces, lies, sessions that replace each other, and the resync after a connect.
#include "fpm/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <set>

#include "fpm/fpm_kit.h"
#include "rondo/base/clock.h"
#include "rondo/sched/policy.h"
#include "rondo/store/memory_store.h"

namespace rondo::fpm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The real clock and 'ahead' until 'step' is set; then each reading is later than the one before by that.
class SteppedClock final : public Clock {
 public:
  Instant now() const noexcept override { return step == Duration{0} ? real_.now() + ahead : at = at + step; }
  WallTime wall_now() const noexcept override { return real_.wall_now(); }
  Duration step{0};
  Duration ahead{0};  // Of the real clock.
  mutable Instant at;

 private:
  SystemClock real_;
};

class FpmServer : public testing::Test {
 protected:
  FpmServer() {
    for (const char* const table : {"ROUTE_TABLE", "NEXTHOP_GROUP_TABLE"}) EXPECT_TRUE(store_->declare({.name = table}).ok());
    routes_ = std::move(store_->subscribe("ROUTE_TABLE").value());
    open(options());
  }
  ServerOptions options() {
    ServerOptions options;
    options.port = 0;
    options.quiet = 200ms;
    options.book.device_name = [](std::uint32_t device) { return "v" + std::to_string(device); };
    options.may_delete = [this](std::uint64_t stale, std::uint64_t) {
      stale_asked_ = stale;
      return may_delete_;
    };
    options.under_way = [this] { return bounded_ ? under_way_ + store_->size("ROUTE_TABLE")->staged : 0; };
    return options;
  }
  void open(ServerOptions options) {
    server_ = std::move(Server::open(scheduler_, *store_, std::move(options)).value());
    server_->on_event([this](const Event& event) { events_.push_back(event); });
    server_->begin();
  }
  UniqueFd connect() {
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  static void send(const UniqueFd& socket, std::string_view bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// The routes of the answers that have arrived.
  static std::vector<std::string> told(const UniqueFd& socket) {
    FrameReader reader;
    const std::span<std::byte> room = reader.room();
    const ssize_t length = ::recv(socket.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (length > 0) reader.add(static_cast<std::size_t>(length));
    std::vector<std::string> routes;
    for (Frame frame; reader.next(frame).value();) {
      netlink::MessageReader messages{frame.content};
      netlink::Message message;
      EXPECT_TRUE(messages.next(message));
      Decoded decoded;
      decode(message, HopWeights::MinusOne, decoded);
      EXPECT_EQ(decoded.kind, Decoded::Kind::Route);
      routes.push_back(decoded.route.prefix.to_string());
    }
    return routes;
  }
  bool becomes(const std::function<bool()>& done) {
    for (const Instant deadline = clock_.now() + 20s; clock_.now() < deadline;) {
      if (done()) return true;
      scheduler_.run_for(1ms);
    }
    return false;
  }
  std::size_t routes() const { return server_->figures().book.routes; }
  Resync resync() const { return server_->figures().resync; }
  std::vector<std::string> written() {
    std::vector<Change> changes;
    routes_->take(SIZE_MAX, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back((change.op() == ChangeOp::Delete ? "-" : "+") + std::string{change.key()});
    return lines;
  }

  SteppedClock clock_;
  std::unique_ptr<Reactor> reactor_ = std::move(make_epoll_reactor().value());
  Scheduler scheduler_{clock_, *reactor_, std::move(make_policy(StrictPriority{}).value())};
  std::unique_ptr<Store> store_ = make_memory_store(scheduler_);
  std::unique_ptr<Subscription> routes_;
  std::unique_ptr<Server> server_;
  std::vector<Event> events_;
  bool may_delete_ = true;
  bool bounded_ = false;
  std::size_t under_way_ = 0;
  std::uint64_t stale_asked_ = 0;
};

constexpr std::uint8_t kBgp = 186;
constexpr std::uint8_t kOspf = 188;

std::string one_route(std::string_view prefix, std::uint8_t protocol = kBgp) {
  return kit::frame(kit::nexthop(66, "10.0.0.2", 3)) + kit::frame(kit::route(prefix, {.nexthop = 66, .protocol = protocol}));
}

TEST_F(FpmServer, BytesThatArriveOneByOneBecomeRows) {
  const UniqueFd zebra = connect();
  for (const char byte : one_route("10.1.0.0/16")) {
    send(zebra, {&byte, 1});
    scheduler_.run_for(1ms);
  }
  EXPECT_TRUE(becomes([this] { return routes() == 1; }));
  EXPECT_THAT(written(), ElementsAre("+10.1.0.0/16"));
}

TEST_F(FpmServer, WhatZebraDoesNotSendAgainIsRemoved) {
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16") + one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  zebra = connect();
  EXPECT_TRUE(becomes([this] { return events_.size() >= 4; }));  // Connected, Resynced, Closed or Replaced, Connected.
  EXPECT_EQ(routes(), 2U) << "a session that says nothing removes nothing";
  send(zebra, one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  EXPECT_EQ(routes(), 1U);
  EXPECT_LT(server_->figures().book.longest_wait, 10s);
  EXPECT_EQ(events_.back().removed, 1U);
  EXPECT_THAT(written(), testing::IsSupersetOf({"-10.1.0.0/16"}));
}

/// A session of two routes, and another one that has sent the first of them again.
class FpmServerInAResend : public FpmServer {
 protected:
  FpmServerInAResend() {
    first_ = connect();
    send(first_, one_route("10.1.0.0/16") + one_route("10.2.0.0/16"));
    EXPECT_TRUE(becomes([&] { return resync() == Resync::Done && routes() == 2; }));
    second_ = connect();
    send(second_, one_route("10.1.0.0/16"));
    EXPECT_TRUE(becomes([&] { return server_->figures().sessions == 2 && server_->figures().book.stale == 1; }));
  }

  UniqueFd first_;
  UniqueFd second_;
};

TEST_F(FpmServerInAResend, BytesOfAFrameThatIsIncompleteKeepTheResendGoing) {
  for (const char byte : one_route("10.2.0.0/16")) {
    send(second_, std::string_view{&byte, 1});
    const Instant next = clock_.now() + 10ms;
    ASSERT_TRUE(becomes([&] { return clock_.now() >= next; }));
    ASSERT_EQ(resync(), Resync::Receiving);
  }
  EXPECT_TRUE(becomes([&] { return resync() == Resync::Done; }));
  EXPECT_EQ(routes(), 2U);
}

TEST_F(FpmServerInAResend, AResendThatDoesNotEndIsLateAfterTheSilence) {
  const std::string frame = one_route("10.2.0.0/16");
  send(second_, std::string_view{frame}.substr(0, 10));
  ASSERT_TRUE(becomes([&] { return server_->figures().partial == 10; }));
  EXPECT_FALSE(server_->figures().is_late);
  clock_.ahead = ServerOptions{}.silence;
  scheduler_.run_until_idle();
  EXPECT_TRUE(server_->figures().is_late);
  EXPECT_EQ(server_->figures().messages, 2U) << "the next hop and the route of the complete frames";
  EXPECT_EQ(routes(), 2U) << "nothing is removed";
}

/// A router with live BGP is never quiet.
TEST_F(FpmServerInAResend, ATrickleOfChangesDoesNotKeepAStaleRoute) {
  clock_.ahead = 60s;  // From here on the scheduler does not sleep: the reactor would sleep by the real clock.
  const auto change = [this] {
    send(second_, one_route("10.1.0.0/16"));
    clock_.ahead += 50ms;
    scheduler_.run_until_idle();
  };
  for (int i = 0; i < 10; ++i) change();
  EXPECT_EQ(resync(), Resync::Receiving) << "it is longer than 'quiet'";
  EXPECT_EQ(server_->figures().book.stale, 1U);
  for (int i = 0; i < 1000 && server_->figures().book.stale != 0; ++i) change();
  EXPECT_EQ(server_->figures().book.stale, 0U);
  EXPECT_EQ(routes(), 1U);
}

TEST_F(FpmServerInAResend, AStallOfThisProcessDoesNotEndTheResend) {
  clock_.ahead = 60s;  // From here on the scheduler does not sleep: the reactor would sleep by the real clock.
  const auto spins_until = [this](const std::function<bool()>& done) {
    for (const Instant deadline = clock_.now() + 20s; !done() && clock_.now() < deadline;) scheduler_.run_until_idle();
    return done();
  };
  const Instant next = clock_.now() + 50ms;
  ASSERT_TRUE(spins_until([&] { return clock_.now() >= next; }));
  ASSERT_EQ(resync(), Resync::Receiving);
  send(second_, one_route("10.2.0.0/16"));
  EXPECT_TRUE(spins_until([&] { return resync() == Resync::Done; }));
  EXPECT_EQ(routes(), 2U);
}

TEST_F(FpmServer, RoutesOfAProtocolThatHasSentNothingStay) {
  UniqueFd zebra = connect();
  const std::string ospf = one_route("10.8.0.0/16", kOspf);
  send(zebra, one_route("10.1.0.0/16") + one_route("10.2.0.0/16") + ospf + one_route("10.9.0.0/16", kOspf));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  zebra = connect();
  send(zebra, ospf);
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Silent; })) << "bgpd has not connected to the new zebra yet";
  EXPECT_EQ(routes(), 3U) << "of OSPF, what is not sent again is removed";
  EXPECT_EQ(server_->figures().book.silent, 2U);
  send(zebra, one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  EXPECT_EQ(routes(), 2U);
  EXPECT_THAT(written(), testing::IsSupersetOf({"-10.2.0.0/16", "-10.9.0.0/16"}));
  EXPECT_EQ(events_.back().removed, 2U);
}

TEST_F(FpmServer, RoutesOfAProtocolThatStaysSilentAreRemovedInTheEnd) {
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16") + one_route("10.8.0.0/16", kOspf));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  zebra = connect();
  send(zebra, one_route("10.8.0.0/16", kOspf));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Silent; }));
  clock_.at = clock_.now();
  clock_.step = 10ms;
  const Instant begin = clock_.at;
  while (resync() != Resync::Done && clock_.at < begin + 1000s) scheduler_.turn();
  EXPECT_EQ(routes(), 1U);
  EXPECT_GT(clock_.at, begin + 100s) << "120 s from the connect on";
}

/// Method: routes arrive in pieces, each before the one before it is written, so that the server is busy all the time.
TEST_F(FpmServer, ARowWaitsForWhatWasReadWithItAndNotForAllThatArrives) {
  const UniqueFd zebra = connect();
  EXPECT_TRUE(becomes([this] { return !server_->figures().peer.empty(); }));
  send(zebra, kit::frame(kit::nexthop(66, "10.0.0.2", 3)));
  clock_.at = clock_.now();
  clock_.step = 1us;  // No turn runs out of time.
  const Instant begin = clock_.at;
  constexpr std::size_t kRoutes = 8000;
  constexpr std::size_t kPiece = 500;
  for (std::size_t sent = 0; routes() < kRoutes; scheduler_.turn()) {
    const BookFigures book = server_->figures().book;
    if (sent == kRoutes || book.routes < sent || book.unwritten > kPiece * 3 / 4) continue;
    EXPECT_TRUE(sent == 0 || book.unwritten > 0) << "the server is idle at " << sent;
    std::string frames;
    for (const std::size_t end = sent + kPiece; sent < end; ++sent) {
      frames += kit::frame(kit::route("20." + std::to_string(sent / 256) + "." + std::to_string(sent % 256) + ".0/24", {.nexthop = 66}));
    }
    send(zebra, frames);
  }
  const Duration took = clock_.at - begin;
  clock_.step = Duration{0};
  EXPECT_GT(server_->figures().book.longest_wait, 0us);
  EXPECT_LT(server_->figures().book.longest_wait * 4, took) << server_->figures().book.longest_wait.count() << " of " << took.count();
}

TEST_F(FpmServer, NoMoreRoutesThanTheLimitAreUnderWay) {
  bounded_ = true;
  const UniqueFd zebra = connect();
  std::string frames = kit::frame(kit::nexthop(66, "10.0.0.2", 3));
  constexpr std::size_t kRoutes = 3000;
  for (std::size_t i = 0; i < kRoutes; ++i) {
    frames += kit::frame(kit::route("20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24", {.nexthop = 66}));
  }
  send(zebra, frames);
  const auto unwritten = [this] { return server_->figures().book.unwritten; };
  EXPECT_TRUE(becomes([&] { return routes() == kRoutes && unwritten() == kRoutes - limits::kFpmUnderWay; })) << "all is read";
  scheduler_.run_for(20ms);
  EXPECT_EQ(written().size(), limits::kFpmUnderWay);
  under_way_ = limits::kFpmUnderWay - 100;
  server_->routes_answered();
  scheduler_.run_for(20ms);
  EXPECT_EQ(written().size(), 100U);
  under_way_ = 0;  // Without an answer: the rows waited for something else.
  std::size_t rows = limits::kFpmUnderWay + 100;
  EXPECT_TRUE(becomes([&] { return (rows += written().size()) == kRoutes; })) << unwritten();
}

TEST_F(FpmServer, WhatWasLeftOutIsSentAgainWhenThereIsRoom) {
  ServerOptions small = options();
  small.book.routes_max = 2;
  open(std::move(small));
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16") + one_route("10.2.0.0/16") + one_route("10.3.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  EXPECT_EQ(server_->figures().book.left_out, 1U);
  clock_.at = clock_.now();
  clock_.step = 10ms;
  const Instant begin = clock_.at;
  const auto turns_until = [&](Resync state, Duration most) {
    for (const Instant end = clock_.at + most; clock_.at < end && resync() != state;) scheduler_.turn();
    return resync() == state;
  };
  EXPECT_FALSE(turns_until(Resync::NoSession, 100s)) << "there is no room";
  send(zebra, kit::frame(kit::no_route("10.1.0.0/16")));
  EXPECT_TRUE(turns_until(Resync::NoSession, 100s));
  EXPECT_GT(clock_.at, begin + 60s);
  EXPECT_THAT(server_->figures().last_end, HasSubstr("send again"));
  zebra = connect();
  send(zebra, one_route("10.2.0.0/16") + one_route("10.3.0.0/16"));
  EXPECT_TRUE(turns_until(Resync::Done, 1000s));
  EXPECT_EQ(routes(), 2U);
  EXPECT_EQ(server_->figures().book.left_out, 0U);
}

TEST_F(FpmServer, ZebraIsToldOfRoutesThatTheDataPlaneHas) {
  ServerOptions telling = options();
  std::set<std::string> plane;
  telling.is_programmed = [&](std::string_view, const Prefix& prefix, std::string_view group, bool, const IpAddress&) {
    return plane.contains(prefix.to_string() + " " + std::string{group});
  };
  open(std::move(telling));
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16") + one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return server_->figures().book.unanswered == 2; }));
  scheduler_.run_for(30ms);
  EXPECT_THAT(told(zebra), testing::IsEmpty()) << "the data plane has none";
  plane.insert("10.1.0.0/16 fpm:10.0.0.2@v3");
  EXPECT_TRUE(becomes([this] { return server_->figures().answers == 1; }));
  EXPECT_THAT(told(zebra), ElementsAre("10.1.0.0/16"));
  send(zebra, kit::frame(kit::nexthop(67, "10.0.1.2", 5)) + kit::frame(kit::route("10.1.0.0/16", {.nexthop = 67})) +
                  kit::frame(kit::no_route("10.2.0.0/16")));
  EXPECT_TRUE(becomes([this] { return routes() == 1; }));
  scheduler_.run_for(30ms);
  EXPECT_THAT(told(zebra), testing::IsEmpty()) << "the data plane has the earlier next hop";
  EXPECT_EQ(server_->figures().book.unanswered, 1U);
  plane.insert("10.1.0.0/16 fpm:10.0.1.2@v5");
  EXPECT_TRUE(becomes([this] { return server_->figures().answers == 2; }));
  EXPECT_THAT(told(zebra), ElementsAre("10.1.0.0/16"));
  zebra = connect();
  send(zebra, one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return server_->figures().answers == 3; })) << "a new zebra does not know yet";
  EXPECT_THAT(told(zebra), ElementsAre("10.1.0.0/16"));
}

TEST_F(FpmServer, ZebraIsToldOfRoutesOfVrfsByTheirDevices) {
  ServerOptions telling = options();
  telling.book.vrf_name = [](std::uint32_t table) { return table == 1001 ? "Vrf1" : table == 1002 ? "Vrf2" : ""; };
  telling.is_programmed = [](std::string_view vrf, const Prefix&, std::string_view, bool, const IpAddress&) { return !vrf.empty(); };
  telling.vrf_id = [](std::string_view vrf) { return vrf == "Vrf1" ? 300U : 0U; };
  open(std::move(telling));
  const UniqueFd zebra = connect();
  const auto blackhole = [](const char* prefix, std::uint32_t table) {
    return kit::frame(kit::route(prefix, {.type = RTN_BLACKHOLE, .protocol = kBgp, .table = table}));
  };
  send(zebra, blackhole("10.1.0.0/16", 254) + blackhole("10.2.0.0/16", 1002) + blackhole("10.3.0.0/16", 1001));
  EXPECT_TRUE(becomes([this] { return server_->figures().answers == 1 && server_->figures().book.unanswered == 1; }));
  std::string expected;
  append_answer(expected, {.prefix = kit::prefix("10.3.0.0/16"), .protocol = kBgp, .blackhole = true, .vrf = "Vrf1"}, 300);
  std::string answer(4096, '\0');
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(::recv(zebra.get(), answer.data(), answer.size(), 0), 0)));
  EXPECT_EQ(answer, expected) << "the device of Vrf2 is not known";
}

TEST_F(FpmServer, ATableThatGetsAVrfIsSentAgain) {
  std::map<std::uint32_t, std::string> vrfs;
  ServerOptions with_vrfs = options();
  with_vrfs.book.vrf_name = [&](std::uint32_t table) { return vrfs.contains(table) ? vrfs[table] : std::string{}; };
  open(std::move(with_vrfs));
  const std::string all = one_route("10.1.0.0/16") + kit::frame(kit::route("10.2.0.0/16", {.nexthop = 66, .table = 77}));
  UniqueFd zebra = connect();
  send(zebra, all);
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  EXPECT_THAT(written(), ElementsAre("+10.1.0.0/16"));
  EXPECT_THAT(server_->figures().book.unknown_tables, ElementsAre(testing::Pair(77, 1)));
  vrfs[77] = "Vrf7";
  EXPECT_TRUE(becomes([this] { return server_->figures().peer.empty(); }));
  EXPECT_THAT(server_->figures().last_end, HasSubstr("another VRF"));
  zebra = connect();
  send(zebra, all);
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  EXPECT_THAT(written(), ElementsAre("+Vrf7:10.2.0.0/16"));
  EXPECT_TRUE(server_->figures().book.unknown_tables.empty());
}

TEST_F(FpmServer, ARemovalThatMayNotBeWaits) {
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16") + one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  may_delete_ = false;
  zebra = connect();
  send(zebra, one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Held; }));
  EXPECT_EQ(stale_asked_, 1U);
  EXPECT_EQ(routes(), 2U);
  may_delete_ = true;
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  EXPECT_EQ(routes(), 1U);
}

TEST_F(FpmServer, ASecondSessionReplacesTheFirst) {
  const UniqueFd first = connect();
  send(first, one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return routes() == 1; }));
  const UniqueFd second = connect();
  EXPECT_TRUE(becomes([this] { return server_->figures().sessions == 2; }));
  char byte = 0;
  EXPECT_EQ(::recv(first.get(), &byte, 1, 0), 0) << "the first is closed";
  EXPECT_THAT(server_->figures().last_end, HasSubstr("replaced by"));
  EXPECT_EQ(routes(), 1U);
}

TEST_F(FpmServer, LiesCloseTheSessionAndHarmNothing) {
  const std::string route = kit::route("10.9.0.0/16", {.nexthop = 66});
  std::string long_message = kit::frame(route);
  long_message[4] = '\x7f';  // The message claims to be longer than its frame.
  std::string bad_length = kit::frame(kit::route("10.9.0.0/16", {.nexthop = 66}));
  bad_length[4 + 16 + 1] = 33;  // rtm_dst_len.
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16"));
  EXPECT_TRUE(becomes([this] { return routes() == 1; }));
  std::uint64_t malformed = 0;
  for (const std::string& lie : {kit::frame("", 1, 2), std::string("\x01\x01\x00\x02", 4), long_message, bad_length, kit::frame("half")}) {
    zebra = connect();
    send(zebra, lie);
    ++malformed;
    EXPECT_TRUE(becomes([&] { return server_->figures().malformed == malformed; })) << malformed;
    EXPECT_TRUE(server_->figures().peer.empty());
    EXPECT_EQ(routes(), 1U);
  }
  zebra = connect();
  send(zebra, kit::frame("protobuf", 2) + one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return routes() == 2; })) << "other types of frames are skipped";
}

TEST_F(FpmServer, ASessionThatEndsWithinAResendRemovesNothing) {
  UniqueFd zebra = connect();
  send(zebra, one_route("10.1.0.0/16") + one_route("10.2.0.0/16"));
  EXPECT_TRUE(becomes([this] { return resync() == Resync::Done; }));
  zebra = connect();
  const std::string resend = one_route("10.1.0.0/16") + one_route("10.2.0.0/16");
  send(zebra, resend.substr(0, resend.size() - 3));
  EXPECT_TRUE(becomes([this] { return server_->figures().messages == 3; }));
  zebra.reset();
  EXPECT_TRUE(becomes([this] { return server_->figures().peer.empty(); }));
  EXPECT_THAT(server_->figures().last_end, HasSubstr("within a frame"));
  scheduler_.run_for(400ms);
  EXPECT_EQ(routes(), 2U);
}

TEST_F(FpmServer, ARefusedConnectionEndsNoSessionAndIsReportedOnceAMinute) {
  ServerOptions options = this->options();
  bool allowed = true;
  options.may_connect = [&](int) { return allowed ? Status{} : Status{StatusCode::PermissionDenied, "not you"}; };
  server_.reset();
  open(std::move(options));
  const UniqueFd first = connect();
  ASSERT_TRUE(becomes([&] { return server_->figures().sessions == 1; }));
  allowed = false;
  for (std::uint64_t refused = 1; refused <= 3; ++refused) {
    const UniqueFd stranger = connect();
    ASSERT_TRUE(becomes([&] { return server_->figures().refused == refused; }));
  }
  EXPECT_EQ(server_->figures().last_refusal, "not you");
  EXPECT_EQ(server_->figures().sessions, 1U);
  EXPECT_FALSE(server_->figures().peer.empty());
  EXPECT_EQ(std::ranges::count(events_, Event::Kind::Refused, &Event::kind), 1);
}

TEST_F(FpmServer, AnotherConnectionDoesNotChangeWhyZebrasSessionEnded) {
  ServerOptions options = this->options();
  bool allowed = true;
  options.may_connect = [&](int) { return allowed ? Status{} : Status{StatusCode::PermissionDenied, "not you"}; };
  server_.reset();
  open(std::move(options));
  {
    const UniqueFd zebra = connect();
    send(zebra, one_route("10.1.0.0/16") + kit::frame("half").substr(0, 3));
    EXPECT_TRUE(becomes([this] { return server_->figures().partial == 3; }));
  }
  ASSERT_TRUE(becomes([this] { return server_->figures().peer.empty(); }));
  const std::string why = server_->figures().last_end;
  EXPECT_THAT(why, HasSubstr("within a frame"));
  { const UniqueFd silent = connect(); }
  EXPECT_TRUE(becomes([this] { return server_->figures().sessions == 2 && server_->figures().peer.empty(); }));
  EXPECT_EQ(server_->figures().last_end, why);
  allowed = false;
  const UniqueFd stranger = connect();
  EXPECT_TRUE(becomes([this] { return server_->figures().refused == 1; }));
  EXPECT_EQ(server_->figures().last_end, why);
  EXPECT_EQ(server_->figures().last_refusal, "not you");
}

}  // namespace
}  // namespace rondo::fpm
