// rondod with its FPM server and the simulated data plane: frames over TCP become routes of the data plane. RONDOD names the program.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <map>
#include <string>

#include "base/unique_fd.h"
#include "fpm/answer.h"
#include "fpm/fpm_kit.h"
#include "fpm/route_book.h"
#include "rondo/dataplane/limits.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/config.h"
#include "rondod/configuration/start_check.h"
#include "rondod/tests/rondod_kit.h"
#include "switch_agent/agent.h"
#include "switch_agent/facts.h"

namespace rondo::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FpmConfig, AnAddressIsChecked) {
  EXPECT_TRUE(parse_config("[fpm]\nenabled = true\naddress = \"::1\"\nport = 2621\n", "x").has_value());
  EXPECT_THAT(std::string{parse_config("[fpm]\naddress = \"localhost\"\n", "x").error().message()}, HasSubstr("fpm.address"));
}

TEST(FpmConfig, WhatCannotWorkIsNamedBeforeTheStart) {
  const auto findings = [](const std::string& fpm, bool of_start) {
    const auto config = parse_config("[admin]\nsocket = \"/tmp/s\"\n[fpm]\nenabled = true\n" + fpm, "x");
    EXPECT_TRUE(config.has_value()) << config.error().to_string();
    std::string all;
    for (const StartFinding& finding : of_start ? check_start(*config) : warnings(*config))
      all += finding.setting + ": " + finding.what + "\n";
    return all;
  };
  EXPECT_THAT(findings("address = \"192.0.2.77\"\n", true), HasSubstr("fpm.address: '192.0.2.77' is no address of this machine"));
  EXPECT_THAT(findings("", true), Not(HasSubstr("fpm.address")));
  EXPECT_THAT(findings("users = [\"root\", \"no-such-user\"]\n", false), HasSubstr("fpm.users: names 'no-such-user'"));
  EXPECT_THAT(findings("", false), HasSubstr("fpm.table: is that of [dataplane], 254"));
  EXPECT_THAT(findings("table = 4242\nusers = [\"root\"]\n", false), "");
}

class RondodWithFpm : public RondodProcess {
 protected:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  /// Returns a port that no other program gets during the test: 'reserved_' stays bound to it, and rondod can bind it with SO_REUSEADDR.
  std::uint16_t reserve_port() const {
    const int on = 1;
    EXPECT_EQ(::setsockopt(reserved_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(reserved_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::getsockname(reserved_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
  }
  std::string settings(const std::string& store = {}) const {
    return store + "[fpm]\nenabled = true\nquiet_ms = 300\nport = " + std::to_string(port_) + "\n";
  }
  UniqueFd connect() const { return connect(UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}); }
  UniqueFd connect(UniqueFd socket) const {
    const sockaddr_in address = loopback(port_);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  static void send(const UniqueFd& socket, std::string_view bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void set(const char* table, const char* key, json::array fields = {}) {
    call("set", {{"table", table}, {"key", key}, {"fields", std::move(fields)}});
  }
  void set_port() {
    set("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}});
    set("INTF_TABLE", "swp1");
    set("INTF_TABLE", "swp1:10.0.0.1/24");
    set("NEIGH_TABLE", "swp1:10.0.0.2", {json::array{"neigh", "02:00:00:00:00:02"}});
    call("sim-carrier", {{"port", "swp1"}, {"up", true}});
  }
  json::object fpm() { return call("stats").at("fpm").as_object(); }
  /// The number of swp1 is 1 in the simulated data plane.
  static std::string routes(std::initializer_list<const char*> prefixes) {
    namespace kit = fpm::kit;
    std::string stream = kit::frame(kit::nexthop(66, "10.0.0.2", 1));
    for (const char* const prefix : prefixes) stream += kit::frame(kit::route(prefix, {.nexthop = 66}));
    return stream;
  }

  const UniqueFd reserved_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const std::uint16_t port_ = reserve_port();
};

TEST_F(RondodWithFpm, ZebrasRoutesReachTheDataPlane) {
  start(settings());
  set_port();
  const UniqueFd zebra = connect();
  send(zebra, routes({"10.1.0.0/16", "10.2.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return has_route("10.1.0.0/16") && has_route("10.2.0.0/16"); })) << log_text();
  const auto state = [this] { return json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", "10.1.0.0/16"}})); };
  EXPECT_TRUE(becomes([&] { return state().find("done") != std::string::npos; })) << state();
  EXPECT_EQ(fpm().at("routes").as_int64(), 2);
  send(zebra, fpm::kit::frame(fpm::kit::no_route("10.1.0.0/16")));
  EXPECT_TRUE(becomes([this] { return !has_route("10.1.0.0/16"); }));
  EXPECT_TRUE(has_route("10.2.0.0/16"));
  send(zebra, fpm::kit::frame(fpm::kit::route("10.3.0.0/16", {.nexthop = 99})));
  const auto why = [this] { return json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", "10.3.0.0/16"}})); };
  EXPECT_TRUE(becomes([&] { return why().find("fpm:nexthop-99") != std::string::npos; })) << why();
  const json::object session = call("fpm");
  EXPECT_EQ(session.at("absent").as_int64(), 1);
  EXPECT_EQ(session.at("first_absent"), "10.3.0.0/16");
  const auto verified = [this] { return client().call("verify", {}); };  // Refused until the start is over.
  EXPECT_TRUE(becomes([&] { return verified().has_value(); }));
  EXPECT_EQ(verified()->at("differences").as_int64(), 0);
  EXPECT_EQ(verified()->at("fpm_absent").as_int64(), 1);
}

TEST_F(RondodWithFpm, HealthSaysWhatAHeldResendWouldDelete) {
  start(settings());
  set_port();
  std::string many = routes({"10.1.0.0/16"});
  for (int i = 0; i < 149; ++i) many += fpm::kit::frame(fpm::kit::route("20.0." + std::to_string(i) + ".0/24", {.nexthop = 66}));
  UniqueFd zebra = connect();
  send(zebra, many);
  EXPECT_TRUE(becomes([this] { return fpm().at("resync") == "done"; }));
  zebra = connect();
  send(zebra, routes({"10.1.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return fpm().at("resync") == "held"; }));
  const std::string held =
      "held: 149 of 150 objects of routes that zebra did not send again (149 routes) would be deleted; `rondo confirm`";
  EXPECT_THAT(json::serialize(call("health")), HasSubstr(held));
}

TEST_F(RondodWithFpm, RowsHaveOneOwnerThatCommandsHeed) {
  start(settings());
  set_port();
  set("ROUTE_TABLE", "10.2.0.0/16", {json::array{"blackhole", "true"}});
  EXPECT_TRUE(becomes([this] { return has_route("10.2.0.0/16"); }));
  const UniqueFd zebra = connect();
  send(zebra, routes({"10.1.0.0/16", "10.2.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return has_route("10.1.0.0/16"); })) << log_text();
  for (const auto& [table, key] : {std::pair{"ROUTE_TABLE", "10.1.0.0/16"}, std::pair{"NEXTHOP_GROUP_TABLE", "fpm:10.0.0.2@swp1"}}) {
    const auto refused = client().call("del", {{"table", table}, {"key", key}});
    ASSERT_FALSE(refused.has_value()) << key;
    EXPECT_THAT(refused.error().to_string(), HasSubstr("it belongs to the FPM server, which would write it again"));
  }
  const auto why = [this] { return json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", "10.2.0.0/16"}})); };
  EXPECT_TRUE(becomes([&] { return why().find("zebra has a route for this prefix, too") != std::string::npos; })) << why();
  EXPECT_THAT(json::serialize(call("health")),
              HasSubstr("1 route of zebra is not written, because ROUTE_TABLE has a row of another writer"));
  EXPECT_EQ(fpm().at("conflicts").as_int64(), 1);
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "10.2.0.0/16"}});
  const auto group = [this] { return json::serialize(call("get", {{"table", "ROUTE_TABLE"}, {"key", "10.2.0.0/16"}})); };
  EXPECT_TRUE(becomes([&] { return group().find("fpm:10.0.0.2@swp1") != std::string::npos; })) << group();
}

TEST_F(RondodWithFpm, AfterARestartOnlyDifferencesAreWritten) {
  const std::string store = "url = \"file://" + file("tables") + "?durability=every-batch\"\n";
  start(settings(store));
  set_port();
  UniqueFd zebra = connect();
  send(zebra, routes({"10.1.0.0/16", "10.2.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return has_route("10.1.0.0/16") && has_route("10.2.0.0/16"); })) << log_text();
  // The data plane may have a route before the disk has its row. This write is answered when it is on the disk, with all before it.
  set("NEIGH_TABLE", "swp1:10.0.0.3", {json::array{"neigh", "02:00:00:00:00:03"}});
  end(SIGKILL);
  start(settings(store));
  EXPECT_EQ(fpm().at("resync").as_string(), "no session");
  zebra = connect();
  send(zebra, routes({"10.2.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return fpm().at("resync").as_string() == "done"; }));
  EXPECT_EQ(fpm().at("written").as_int64(), 0) << "the row was there";
  EXPECT_EQ(fpm().at("deleted").as_int64(), 1);
  EXPECT_TRUE(becomes([this] { return has_route("10.2.0.0/16") && !has_route("10.1.0.0/16"); })) << log_text();
}

TEST_F(RondodWithFpm, ARouteWithTooManyNextHopsIsRefusedAndSaysSo) {
  start(settings());
  set_port();
  const UniqueFd zebra = connect();
  send(zebra, routes({"10.1.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return has_route("10.1.0.0/16"); })) << log_text();
  fpm::kit::RouteSpec spec;
  spec.paths.assign(limits::kGroupMembers + 1, {"10.0.0.2", 1, std::uint8_t{0}});
  send(zebra, fpm::kit::frame(fpm::kit::route("10.1.0.0/16", spec)));
  const auto why = [this] { return json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", "10.1.0.0/16"}})); };
  EXPECT_TRUE(becomes([&] { return why().find("fpm:too-many-members") != std::string::npos; })) << why();
  EXPECT_THAT(json::serialize(call("health")), HasSubstr("more than 1024 next hops"));
  EXPECT_TRUE(has_route("10.1.0.0/16")) << "the earlier next hop stays";
}

/// Goal: a route that finds no room does not look done, and is written when there is room. Method: the parts of rondod that a route
/// passes, with room for one set of next hops.
TEST(FpmAtTheLimit, ARouteWithoutRoomWaitsAndIsMendedWhenThereIsRoom) {
  namespace kit = fpm::kit;
  SimDataPlane plane;
  plane.add_port("swp1");
  Runtime runtime{RuntimeOptions{}};
  switch_agent::SwitchAgent agent{runtime, plane, {.in_line = true}};
  ASSERT_TRUE(agent.start().ok());
  EXPECT_TRUE(runtime.table("PORT_TABLE").set("swp1", {{"admin_status", "up"}}).ok());
  EXPECT_TRUE(runtime.table("INTF_TABLE").set("swp1", {}).ok());
  EXPECT_TRUE(runtime.table("INTF_TABLE").set("swp1:10.0.0.1/24", {}).ok());
  for (const char* const key : {"swp1:10.0.0.2", "swp1:10.0.0.3"}) {
    EXPECT_TRUE(runtime.table("NEIGH_TABLE").set(key, {{"neigh", "02:00:00:00:00:02"}}).ok());
  }
  fpm::BookOptions options;
  options.nexthops_max = 1;
  options.device_name = [](std::uint32_t) { return "swp1"; };
  fpm::RouteBook book{runtime.store(), options};
  book.begin_session();
  const auto hear = [&](const std::string& bytes) {
    netlink::MessageReader reader{std::as_bytes(std::span{bytes})};
    fpm::Decoded decoded;
    for (netlink::Message message; reader.next(message);) {
      decode(message, fpm::HopWeights::MinusOne, decoded);
      book.apply(decoded.route);
    }
    while (book.has_unwritten()) EXPECT_TRUE(book.write(100).refused.ok());
  };
  const auto stating = [](const char* prefix, const char* gateway) {
    return kit::route(prefix, {.paths = {{gateway, 1, std::uint8_t{0}}}});
  };
  const auto state = [&] { return runtime.why("ROUTE_TABLE", "10.2.0.0/16").chain.front(); };
  const auto becomes = [&](const std::function<bool()>& condition) {
    for (const Instant deadline = runtime.clock().now() + 60s; !condition() && runtime.clock().now() < deadline;) {
      runtime.scheduler().run_for(1ms);
    }
    return condition();
  };
  std::map<std::string, NexthopId> nexthops;
  const auto are_both_installed = [&] {
    nexthops.clear();
    EXPECT_TRUE(plane.routes([&](const RouteEntry& route) { nexthops.emplace(route.prefix.to_string(), route.nexthop); }).ok());
    return nexthops.size() == 2 && state().state == WhyLink::State::Absent;
  };
  hear(stating("10.1.0.0/16", "10.0.0.2") + stating("10.2.0.0/16", "10.0.0.2"));
  EXPECT_TRUE(becomes(are_both_installed)) << "no change waits";
  hear(stating("10.2.0.0/16", "10.0.0.3"));
  EXPECT_TRUE(becomes([&] { return state().state == WhyLink::State::Parked; }));
  EXPECT_THAT(state().facts, testing::ElementsAre(Fact{switch_agent::kNexthopGroup, "fpm:limit"}));
  hear(stating("10.1.0.0/16", "10.0.0.3"));
  EXPECT_TRUE(becomes([&] { return are_both_installed() && nexthops.at("10.1.0.0/16") == nexthops.at("10.2.0.0/16"); }));
  EXPECT_EQ(book.figures().without_room, 0U);
}

TEST_F(RondodWithFpm, ZebraIsToldOfWhatTheDataPlaneHas) {
  start(settings() + "offload_answers = true\n");
  set_port();
  const UniqueFd zebra = connect();
  send(zebra, routes({"10.1.0.0/16"}) + fpm::kit::frame(fpm::kit::route("10.2.0.0/16", {.type = RTN_BLACKHOLE})) +
                  fpm::kit::frame(fpm::kit::route("10.3.0.0/16", {.nexthop = 99})));
  EXPECT_TRUE(becomes([this] { return fpm().at("answers").as_int64() == 2; })) << json::serialize(fpm());
  std::string first;
  fpm::append_answer(first, {.prefix = fpm::kit::prefix("10.1.0.0/16"), .protocol = 186}, 0);
  std::string second;
  fpm::append_answer(second, {.prefix = fpm::kit::prefix("10.2.0.0/16"), .protocol = 186, .blackhole = true}, 0);
  std::string answers;
  while (answers.size() < first.size() + second.size()) {  // They may arrive apart.
    std::array<char, 4096> part{};
    const ssize_t length = ::recv(zebra.get(), part.data(), part.size(), 0);
    ASSERT_GT(length, 0);
    answers.append(part.data(), static_cast<std::size_t>(length));
  }
  EXPECT_TRUE(answers == first + second || answers == second + first) << answers.size();
}

TEST_F(RondodWithFpm, AnotherTableThanZebrasIsATrouble) {
  start(settings());
  set_port();
  const UniqueFd zebra = connect();
  send(zebra, fpm::kit::frame(fpm::kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE, .table = 4242})));
  EXPECT_TRUE(becomes([this] {
    const json::object health = call("health");
    return !health.at("healthy").as_bool() && json::serialize(health.at("troubles")).find("[fpm] table is 254") != std::string::npos;
  })) << json::serialize(call("health"));
  send(zebra, routes({"10.2.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return call("health").at("healthy").as_bool(); })) << json::serialize(call("health"));
  EXPECT_THAT(json::serialize(call("health").at("notes")), HasSubstr("1 message about table 4242 was skipped"));
}

/// The port stays in the default VRF: a route may leave its VRF.
TEST_F(RondodWithFpm, RoutesOfVrfsAreRowsOfTheirVrfsAndOtherTablesAreNamed) {
  start(settings());
  set_port();
  set("VRF_TABLE", "Vrf1");  // Gets the first table, 1001.
  const auto vrf = [this] { return json::serialize(call("why", {{"table", "VRF_TABLE"}, {"key", "Vrf1"}})); };
  ASSERT_TRUE(becomes([&] { return vrf().find("\"installed\"") != std::string::npos; })) << vrf();
  UniqueFd zebra = connect();
  const auto blackhole = [](const char* prefix, std::uint32_t table) {
    return fpm::kit::frame(fpm::kit::route(prefix, {.type = RTN_BLACKHOLE, .table = table}));
  };
  send(zebra, routes({"10.1.0.0/16"}) + fpm::kit::frame(fpm::kit::route("10.1.0.0/16", {.nexthop = 66, .table = 1001})) +
                  blackhole("10.2.0.0/16", 1001) + blackhole("10.2.0.0/16", 77));
  const auto why = [this](const char* key) { return json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", key}})); };
  EXPECT_TRUE(becomes([&] {
    return why("Vrf1:10.1.0.0/16").find("\"installed\"") != std::string::npos &&
           why("Vrf1:10.2.0.0/16").find("\"installed\"") != std::string::npos;
  })) << why("Vrf1:10.1.0.0/16")
      << log_text();
  EXPECT_EQ(fpm().at("vrfs").as_int64(), 1);
  EXPECT_TRUE(becomes([this] { return json::serialize(fpm().at("unknown_tables")) == R"([{"table":77,"device":"","messages":1}])"; }))
      << json::serialize(fpm());
  EXPECT_THAT(json::serialize(call("health")), HasSubstr("1 message about table 77 was skipped"));
  send(zebra, fpm::kit::frame(fpm::kit::no_route("10.1.0.0/16", 1001)));
  EXPECT_TRUE(becomes([&] { return why("Vrf1:10.1.0.0/16").find("\"absent\"") != std::string::npos; })) << why("Vrf1:10.1.0.0/16");
  EXPECT_TRUE(becomes([this] { return has_route("10.1.0.0/16"); }));
  // A VRF that gets its row later: zebra sends everything again, and its route is there.
  zebra = connect();
  send(zebra, routes({"10.1.0.0/16"}) + blackhole("10.4.0.0/16", 1001) + blackhole("10.2.0.0/16", 1002));
  EXPECT_TRUE(becomes([this] { return fpm().at("resync").as_string() == "done"; }));
  EXPECT_TRUE(becomes([&] { return why("Vrf1:10.2.0.0/16").find("\"absent\"") != std::string::npos; })) << "it was not sent again";
  set("VRF_TABLE", "Vrf2");
  EXPECT_TRUE(becomes([this] { return fpm().at("resync").as_string() == "no session"; }));
  zebra = connect();
  send(zebra, routes({"10.1.0.0/16"}) + blackhole("10.4.0.0/16", 1001) + blackhole("10.2.0.0/16", 1002));
  EXPECT_TRUE(becomes([&] { return why("Vrf2:10.2.0.0/16").find("\"installed\"") != std::string::npos; })) << why("Vrf2:10.2.0.0/16");
  EXPECT_EQ(fpm().at("unknown_tables").as_array().size(), 0U);
}

// zebra reads rondod's routes from the kernel, and sends some of them back.
TEST_F(RondodWithFpm, RondodsOwnTableIsNotReportedAsOneOfNoVrf) {
  start(settings() + "table = 4242\n");
  const UniqueFd zebra = connect();
  for (const std::uint32_t table : {254U, 77U}) {
    send(zebra, fpm::kit::frame(fpm::kit::route("10.1.0.0/16", {.type = RTN_BLACKHOLE, .table = table})));
  }
  EXPECT_TRUE(becomes([this] { return fpm().at("skipped").at("table").as_int64() == 2; })) << log_text();
  EXPECT_EQ(json::serialize(fpm().at("unknown_tables")), R"([{"table":77,"device":"","messages":1}])");
}

TEST_F(RondodWithFpm, AProgramOfAnotherUserIsRefusedAndTheSessionGoesOn) {
  if (::geteuid() != 0) {
    std::cerr << "SKIPPED: only root can become another user\n";
    GTEST_SKIP() << "only root can become another user";
  }
  start(settings());
  set_port();
  const auto expect_refused = [this] {
    ASSERT_EQ(::seteuid(65534), 0);
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};  // The kernel keeps the user who makes it.
    ASSERT_EQ(::seteuid(0), 0);
    const UniqueFd stranger = connect(std::move(socket));
    char byte = 0;
    EXPECT_LE(::recv(stranger.get(), &byte, 1, 0), 0) << "rondod closes it";
  };
  expect_refused();
  EXPECT_THAT(json::serialize(call("health")), HasSubstr("zebra is not connected (a connection was refused: [fpm] users does not name"));
  const UniqueFd zebra = connect();
  send(zebra, routes({"10.1.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return has_route("10.1.0.0/16"); })) << log_text();
  expect_refused();
  EXPECT_EQ(fpm().at("refused_connections").as_int64(), 2);
  EXPECT_EQ(fpm().at("sessions").as_int64(), 1);
  EXPECT_THAT(json::serialize(call("health")), HasSubstr("because [fpm] users does not name"));
  EXPECT_THAT(log_text(), HasSubstr("refused a connection"));
  send(zebra, routes({"10.2.0.0/16"}));
  EXPECT_TRUE(becomes([this] { return has_route("10.2.0.0/16"); })) << log_text();
}

TEST_F(RondodWithFpm, HealthNamesTwoProgramsThatReplaceEachOther) {
  start(settings());
  set_port();
  std::vector<UniqueFd> sessions;
  for (int session = 1; session <= 4; ++session) {
    EXPECT_THAT(json::serialize(call("health")), Not(HasSubstr("were replaced by another connection"))) << session;
    sessions.push_back(connect());
    EXPECT_TRUE(becomes([&] { return fpm().at("sessions").as_int64() == session; }));
  }
  EXPECT_THAT(json::serialize(call("health").at("troubles")), HasSubstr("3 sessions in a row were replaced by another connection"));
}

TEST_F(RondodWithFpm, HealthNamesAMissingZebraAndMalformedInput) {
  start(settings());
  EXPECT_THAT(json::serialize(call("health")), HasSubstr("zebra is not connected"));
  const UniqueFd zebra = connect();
  send(zebra, "HTTP/1.1 is not FPM");
  EXPECT_TRUE(becomes([this] { return fpm().at("malformed").as_int64() == 1; }));
  EXPECT_THAT(json::serialize(call("health")), HasSubstr("malformed"));
  EXPECT_THAT(log_text(), HasSubstr("malformed input"));
}

}  // namespace
}  // namespace rondo::daemon
