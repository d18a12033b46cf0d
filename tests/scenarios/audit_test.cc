// Another program changes the data plane without the agent: it deletes, changes or adds each kind of object, and an audit detects, repairs
// or reports that.
#include <gmock/gmock.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "agent_testbed.h"
#include "switch_agent/facts.h"

namespace rondo::switch_agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Prefix prefix(std::string_view text) { return Prefix::parse_interface(text).value(); }
IpAddress address(std::string_view text) { return IpAddress::parse(text).value(); }
MacAddress mac(std::string_view text) { return MacAddress::parse(text).value(); }

/// Two ports, three neighbours, a group of two, and routes of each kind.
class DriftTestbed : public AgentTestbed {
 public:
  explicit DriftTestbed(AuditOptions audit = {.period = 60s}, SafetyOptions safety = {}) : AgentTestbed(1, {}, {}, audit, safety) {
    for (const char* const port : {"A", "B"}) ports.push_back(plane.add_port(port));
    start();
    for (const std::string port : {"A", "B"}) {
      const std::string net = port == "A" ? "10.0.0." : "10.1.0.";
      set("PORT_TABLE", port, {{"admin_status", "up"}, {"mtu", "9000"}});
      set("INTF_TABLE", port, {});
      set("INTF_TABLE", port + ":" + net + "1/24", {});
      set("NEIGH_TABLE", port + ":" + net + "2", {{"neigh", "02:00:00:00:00:02"}});
    }
    set("INTF_TABLE", "A:2001:db8::1/64", {});
    set("NEXTHOP_GROUP_TABLE", "ab", {{"nexthop", "10.0.0.2,10.1.0.2"}, {"ifname", "A,B"}});
    set("NEXTHOP_GROUP_TABLE", "b", {{"nexthop", "10.1.0.2"}, {"ifname", "B"}});
    for (int i = 0; i < 200; ++i) set("ROUTE_TABLE", "20.0." + std::to_string(i) + ".0/24", {{"nexthop_group", i % 2 == 0 ? "ab" : "b"}});
    set("ROUTE_TABLE", "30.0.0.0/8", {{"blackhole", "true"}});
    run_for(2s);
    wanted = actual();
    EXPECT_EQ(plane.route_count(), 201U);
  }

  /// The number of the group, or of the next hop with this gateway.
  NexthopId number_of(std::string_view gateway) {
    const auto all = plane.nexthops().value();
    for (const NexthopEntry& entry : all) {
      if (gateway.empty() ? entry.members.size() == 2 : entry.members.empty() && entry.gateway == address(gateway)) return entry.id;
    }
    ADD_FAILURE() << "no next hop " << gateway;
    return {};
  }
  NexthopId group_of(std::string_view route) { return plane.route(prefix(route))->nexthop; }
  void meddle(const Order& order) { ASSERT_TRUE(plane.meddle(order).ok()) << to_string(order); }
  const AuditFigures& figures(ObjectKind kind) { return agent.audit()->figures(kind); }
  std::uint64_t found(ObjectKind kind) { return figures(kind).missing + figures(kind).changed + figures(kind).unwanted; }

  std::vector<IfIndex> ports;
  Lines wanted;
};

TEST(Audit, FindsNothingWhereNothingDiffers) {
  DriftTestbed testbed;
  const std::uint64_t orders = testbed.plane.executed();
  testbed.run_for(150s);
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    const AuditFigures& figures = testbed.figures(static_cast<ObjectKind>(i));
    EXPECT_GE(figures.audits, 2U);
    EXPECT_EQ(figures.objects > 0, static_cast<ObjectKind>(i) != ObjectKind::Fdb) << "vlan_test.cc has static entries";
    EXPECT_EQ(testbed.found(static_cast<ObjectKind>(i)), 0U);
  }
  EXPECT_EQ(testbed.plane.executed(), orders);
}

TEST(Audit, RoutesThatOthersDeletedChangedOrAddedAreRepairedWithinAPeriod) {
  DriftTestbed testbed;
  testbed.meddle(RouteDelete{prefix("20.0.0.0/24")});
  testbed.meddle(RouteDelete{prefix("30.0.0.0/8")});
  testbed.meddle(RouteSet{.prefix = prefix("20.0.1.0/24"), .nexthop = {}, .type = RouteType::Blackhole});
  testbed.meddle(RouteSet{.prefix = prefix("40.0.0.0/8"), .nexthop = testbed.group_of("20.0.2.0/24")});
  testbed.meddle(RouteSet{.prefix = prefix("40.0.0.0/8"), .nexthop = {}, .table = 100, .type = RouteType::Prohibit});
  EXPECT_NE(testbed.actual(), testbed.wanted);
  testbed.run_for(65s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
  const AuditFigures& figures = testbed.figures(ObjectKind::Route);
  EXPECT_EQ(figures.missing + figures.changed, 3U) << "a notice of a route does not say which";
  EXPECT_EQ(figures.unwanted, 2U);
  EXPECT_EQ(figures.repaired, 5U);
  EXPECT_EQ(figures.standing, 0U);
  EXPECT_THAT(testbed.agent.audit()->standing(ObjectKind::Route), IsEmpty());  // A later audit has run.
}

struct Meddling {
  std::string name;
  std::function<void(DriftTestbed&)> meddle;
};
void PrintTo(const Meddling& one, std::ostream* out) { *out << one.name; }

class NoticedDrift : public testing::TestWithParam<Meddling> {};

TEST_P(NoticedDrift, IsRepairedWithinTwoSeconds) {
  DriftTestbed testbed{{.period = Duration{0}}};
  GetParam().meddle(testbed);
  EXPECT_NE(testbed.actual(), testbed.wanted);
  testbed.run_for(2s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
  EXPECT_EQ(testbed.figures(ObjectKind::Route).audits, 0U) << "a full table is not read for this";
  testbed.run_for(10s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
  EXPECT_EQ(testbed.unsettled(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Audit, NoticedDrift,
    testing::Values(Meddling{"RouteDeleted", [](DriftTestbed& testbed) { testbed.meddle(RouteDelete{prefix("20.0.0.0/24")}); }},
                    Meddling{"RouteToNowhereDeleted", [](DriftTestbed& testbed) { testbed.meddle(RouteDelete{prefix("30.0.0.0/8")}); }},
                    Meddling{"RouteChanged",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(RouteSet{.prefix = prefix("20.0.1.0/24"), .type = RouteType::Blackhole});
                             }},
                    Meddling{"AllRoutesDeleted",
                             [](DriftTestbed& testbed) {
                               for (int i = 0; i < 200; ++i) {
                                 testbed.meddle(RouteDelete{prefix("20.0." + std::to_string(i) + ".0/24")});
                               }
                             }},
                    Meddling{"AddressDeleted",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(AddressDelete{testbed.ports[0], prefix("10.0.0.1/24")});
                             }},
                    Meddling{"Ipv6AddressDeleted",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(AddressDelete{testbed.ports[0], prefix("2001:db8::1/64")});
                             }},
                    Meddling{"Ipv6AddressOfAnotherLength",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(AddressSet{testbed.ports[0], prefix("2001:db8::1/128")});
                             }},
                    Meddling{"NeighborDeleted",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(NeighborDelete{testbed.ports[0], address("10.0.0.2")});
                             }},
                    Meddling{"NeighborChanged",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(NeighborSet{testbed.ports[1], address("10.1.0.2"), mac("02:ff:00:00:00:01")});
                             }},
                    Meddling{"NexthopDeleted", [](DriftTestbed& testbed) { testbed.meddle(NexthopDelete{testbed.number_of("10.1.0.2")}); }},
                    Meddling{"NexthopChanged",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(NexthopSet{testbed.number_of("10.1.0.2"), address("10.0.0.2"), testbed.ports[0]});
                             }},
                    Meddling{"GroupDeleted", [](DriftTestbed& testbed) { testbed.meddle(NexthopDelete{testbed.number_of("")}); }},
                    Meddling{"GroupChanged",
                             [](DriftTestbed& testbed) {
                               testbed.meddle(GroupSet{.id = testbed.number_of(""), .members = {{testbed.number_of("10.1.0.2"), 7}}});
                             }}),
    [](const auto& test) { return test.param.name; });

TEST(Audit, ARowSetAgainAfterItsRouteWasDeletedIsDoneWhenTheRouteIsBack) {
  DriftTestbed testbed{{.period = Duration{0}}};
  testbed.meddle(RouteDelete{prefix("20.0.0.0/24")});
  testbed.set("ROUTE_TABLE", "20.0.0.0/24", {{"nexthop_group", "ab"}});
  for (int steps = 0; testbed.unsettled() != 0 || steps == 0; ++steps) {
    ASSERT_LT(steps, 10'000);
    testbed.run_for(1us);
  }
  EXPECT_EQ(testbed.actual(), testbed.wanted) << "the row is done";
}

TEST(Audit, ARouteThatOthersReplacedIsForeignAndComesBackWhenTheirsGoes) {
  DriftTestbed testbed{{.period = Duration{0}}};
  for (const auto& [route, group] : {std::pair{"20.0.0.0/24", "b"}, std::pair{"30.0.0.0/8", ""}}) {
    testbed.plane.add_foreign_route(prefix(route), 4);
    testbed.run_for(2s);
    EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", route).plane, PlaneState::Foreign) << route;
    if (*group != '\0') {
      testbed.set("ROUTE_TABLE", route, {{"nexthop_group", group}});
    } else {
      testbed.set("ROUTE_TABLE", route, {{"blackhole", "true"}});
    }
    testbed.run_for(3s);
    ASSERT_TRUE(testbed.plane.remove_foreign_route(prefix(route))) << "a change of the row took it: " << route;
    testbed.run_for(3s);
    EXPECT_TRUE(testbed.plane.route(prefix(route)).has_value()) << route;
    EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", route).plane, PlaneState::Installed) << route;
  }
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST(Audit, AProgramThatDeletesARouteAgainAndAgainIsAnsweredLessAndLessOften) {
  DriftTestbed testbed{{.period = Duration{0}}};
  const std::uint64_t orders = testbed.plane.executed();
  const auto fight = [&testbed](Duration time) {
    for (Duration passed{0}; passed < time; passed += Duration{100ms}) {
      static_cast<void>(testbed.plane.meddle(RouteDelete{prefix("20.0.0.0/24")}));
      testbed.run_for(100ms);
    }
  };
  fight(10s);
  EXPECT_LE(testbed.plane.executed() - orders, 12U);
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "20.0.0.0/24").plane, PlaneState::Lost);
  fight(600s);
  EXPECT_LE(testbed.plane.executed() - orders, 40U);
  EXPECT_GT(testbed.agent.audit()->contested(ObjectKind::Route), 5U);
  EXPECT_EQ(testbed.agent.audit()->routes_missing(), 1U);
  testbed.meddle(RouteDelete{prefix("20.0.1.0/24")});
  testbed.run_for(100ms);
  EXPECT_TRUE(testbed.plane.route(prefix("20.0.1.0/24")).has_value()) << "of another route the first notice is answered";
  testbed.run_for(300s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
  EXPECT_EQ(testbed.agent.audit()->contested(ObjectKind::Route), 0U);
}

/// Two programs with a row each for one neighbour changed it twice a second, and health said nothing.
TEST(Audit, ANeighbourThatOthersChangeAgainAndAgainIsContestedUntilTheyStop) {
  DriftTestbed testbed{{.period = Duration{0}}};
  const auto contested = [&testbed] { return testbed.agent.audit()->contested(ObjectKind::Neighbor); };
  for (int mac = 10; mac < 50; ++mac) {
    testbed.meddle(NeighborSet{testbed.ports[0], IpAddress::parse("10.0.0.2").value(),
                               MacAddress::parse("02:00:00:00:09:" + std::to_string(mac)).value()});
    testbed.run_for(500ms);
  }
  EXPECT_GT(contested(), 5U);
  testbed.run_for(300s);
  EXPECT_EQ(contested(), 0U);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
}

TEST(Audit, WhatIsRepairedIsCountedByTheAnswersOfTheDataPlane) {
  DriftTestbed testbed{{.period = 60s, .action = OnDrift::Report}};
  for (const char* const route : {"20.0.0.0/24", "20.0.1.0/24", "20.0.2.0/24", "20.0.3.0/24"}) testbed.meddle(RouteDelete{prefix(route)});
  testbed.plane.add_foreign_route(prefix("20.0.0.0/24"), 4);
  testbed.meddle(RouteSet{.prefix = prefix("40.0.0.0/8"), .type = RouteType::Blackhole});
  AuditResult result;
  const auto note = [&result](const Audit::Report& report) { result = report.results[static_cast<std::size_t>(ObjectKind::Route)]; };
  ASSERT_TRUE(testbed.agent.audit()->request({false, false, false, true}, OnDrift::Repair, note).ok());
  testbed.run_for(210ms);
  testbed.plane.fail_nth(OrderKind::Route, 2, ENOBUFS);
  testbed.run_for(5s);
  EXPECT_EQ(result.found[0] + result.found[2], 5U);
  EXPECT_EQ(result.held_by_others, 1U);
  EXPECT_LE(result.not_repaired, 1U) << "it is tried again after a moment";
  EXPECT_EQ(result.repaired, 4U - result.not_repaired);
}

TEST(Audit, WhatIsLostWhileAStartIsHeldIsRepairedAndNothingIsDeleted) {
  AgentTestbed testbed{1, {}, {}, {.period = 60s}, {.share = 0.2, .least = 10}};
  const auto add = [&testbed](int net, Order order) { ASSERT_TRUE(testbed.plane.meddle(std::move(order)).ok()) << net; };
  for (int i = 0; i < 100; ++i) {
    add(i, RouteSet{.prefix = prefix("40." + std::to_string(i) + ".0.0/16"), .nexthop = {}, .type = RouteType::Blackhole});
  }
  add(100, RouteSet{.prefix = prefix("30.0.0.0/8"), .nexthop = {}, .type = RouteType::Blackhole});
  testbed.start();
  for (const char* const key : {"30.0.0.0/8", "31.0.0.0/8"}) testbed.set("ROUTE_TABLE", key, {{"blackhole", "true"}});
  testbed.run_for(5s);
  ASSERT_EQ(testbed.agent.safety().held().size(), 1U);
  ASSERT_FALSE(testbed.agent.has_restarted());
  ASSERT_EQ(testbed.plane.route_count(), 102U);
  for (const char* const key : {"30.0.0.0/8", "31.0.0.0/8"}) {
    ASSERT_TRUE(testbed.plane.meddle(RouteDelete{prefix(key)}).ok());
    testbed.run_for(2s);
    EXPECT_EQ(testbed.plane.route_count(), 102U) << key;
  }
  EXPECT_EQ(testbed.agent.audit()->figures(ObjectKind::Route).standing, 0U);
  testbed.agent.safety().confirm();
  testbed.run_for(5s);
  EXPECT_TRUE(testbed.agent.has_restarted());
  EXPECT_EQ(testbed.plane.route_count(), 2U);
}

TEST(Audit, RoutesOfOurNumberWithAnotherMetricOrTypeOfServiceAreDeleted) {
  DriftTestbed testbed;
  testbed.plane.add_stray_route({.prefix = prefix("20.0.0.0/24"), .metric = 5});
  testbed.plane.add_stray_route({.prefix = prefix("20.0.0.0/24"), .tos = 16});
  testbed.plane.add_stray_route({.prefix = prefix("40.0.0.0/8"), .metric = 0});
  EXPECT_NE(testbed.actual(), testbed.wanted);
  std::vector<std::string> told;
  const auto note = [&told](const Audit::Report& report) {
    for (const Drift& drift : report.drifts) told.push_back(drift.actual);
  };
  ASSERT_TRUE(testbed.agent.audit()->request(kAllKinds, OnDrift::Report, note).ok());
  testbed.run_for(2s);
  EXPECT_THAT(told, testing::UnorderedElementsAre("route 20.0.0.0/24 blackhole metric 5", "route 20.0.0.0/24 blackhole tos 16",
                                                  "route 40.0.0.0/8 blackhole metric 0"));
  testbed.run_for(65s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
}

TEST(Audit, LeftoversWithAnotherMetricAreDeletedAtTheEndOfTheRestart) {
  AgentTestbed testbed;
  testbed.plane.add_stray_route({.prefix = prefix("20.0.0.0/24"), .metric = 5});
  testbed.start();
  testbed.set("ROUTE_TABLE", "20.0.0.0/24", {{"blackhole", "true"}});
  testbed.run_for(5s);
  EXPECT_TRUE(testbed.agent.has_restarted());
  EXPECT_THAT(testbed.actual(), testing::ElementsAre("route 20.0.0.0/24 blackhole"));
}

TEST(Audit, UnwantedObjectsOfEachKindAreDeleted) {
  DriftTestbed testbed;
  testbed.meddle(AddressSet{testbed.ports[1], prefix("10.9.0.1/24")});
  testbed.meddle(NeighborSet{testbed.ports[1], address("10.1.0.9"), mac("02:00:00:00:00:09")});
  testbed.meddle(NexthopSet{NexthopId{7}, address("10.1.0.9"), testbed.ports[1]});
  testbed.meddle(GroupSet{.id = NexthopId{8}, .members = {{NexthopId{7}, 1}}});
  testbed.run_for(65s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
  EXPECT_EQ(testbed.figures(ObjectKind::Address).unwanted, 1U);
  EXPECT_EQ(testbed.figures(ObjectKind::Neighbor).unwanted, 1U);
  EXPECT_EQ(testbed.figures(ObjectKind::Nexthop).unwanted, 2U);
}

TEST(Audit, AMassOfUnwantedObjectsIsHeldUntilAnOperatorConfirms) {
  DriftTestbed testbed{{.period = 60s}, {.share = 0.2, .least = 100}};
  const auto add_many = [&testbed] {
    for (int i = 0; i < 150; ++i) {
      testbed.meddle(RouteSet{.prefix = prefix("40." + std::to_string(i) + ".0.0/16"), .nexthop = {}, .type = RouteType::Blackhole});
    }
  };
  add_many();
  testbed.run_for(200s);
  EXPECT_EQ(testbed.plane.route_count(), 351U);
  ASSERT_EQ(testbed.agent.safety().held().size(), 1U);
  EXPECT_EQ(testbed.agent.safety().held()[0].count, 150U);
  EXPECT_EQ(testbed.figures(ObjectKind::Route).standing, 150U);
  EXPECT_EQ(testbed.figures(ObjectKind::Route).unwanted, 150U) << "several audits found them, and they count once";
  testbed.agent.safety().confirm();
  testbed.agent.audit()->look_at_held();
  testbed.run_for(5s);
  EXPECT_EQ(testbed.actual(), testbed.wanted);
  EXPECT_THAT(testbed.agent.safety().held(), IsEmpty());

  add_many();
  testbed.run_for(65s);
  ASSERT_EQ(testbed.agent.safety().held().size(), 1U) << "a confirmation is of one deletion";
  for (int i = 0; i < 150; ++i) testbed.meddle(RouteDelete{prefix("40." + std::to_string(i) + ".0.0/16")});
  testbed.run_for(65s);
  EXPECT_THAT(testbed.agent.safety().held(), IsEmpty()) << "nothing is unwanted any more";
}

TEST(Audit, ReportsAndLeavesAsItIsIfConfiguredSo) {
  DriftTestbed testbed{{.period = 60s, .action = OnDrift::Report}};
  testbed.meddle(RouteDelete{prefix("20.0.0.0/24")});
  testbed.meddle(NeighborDelete{testbed.ports[0], address("10.0.0.2")});
  const Lines meddled = testbed.actual();
  testbed.run_for(200s);
  EXPECT_EQ(testbed.actual(), meddled);
  EXPECT_EQ(testbed.figures(ObjectKind::Route).missing, 1U) << "three audits found it, and it counts once";
  EXPECT_EQ(testbed.figures(ObjectKind::Route).standing, 1U);
  const auto standing = testbed.agent.audit()->standing(ObjectKind::Route);
  ASSERT_EQ(standing.size(), 1U);
  EXPECT_EQ(standing[0].table, "ROUTE_TABLE");
  EXPECT_EQ(standing[0].key, "20.0.0.0/24");
  EXPECT_THAT(standing[0].wanted, HasSubstr("20.0.0.0/24"));
  EXPECT_EQ(standing[0].actual, "");
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "20.0.0.0/24").plane, PlaneState::Lost);
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "20.0.1.0/24").plane, PlaneState::Installed);

  std::vector<std::string> drifted;
  const auto note = [&drifted](const Audit::Report& report) {
    for (const Drift& drift : report.drifts) drifted.push_back(drift.table + " " + drift.key);
  };
  ASSERT_TRUE(testbed.agent.audit()->request(kAllKinds, OnDrift::Repair, note).ok());
  testbed.run_for(5s);
  EXPECT_THAT(drifted, testing::ElementsAre("NEIGH_TABLE A:10.0.0.2", "ROUTE_TABLE 20.0.0.0/24"));
  EXPECT_EQ(testbed.actual(), testbed.wanted);
}

TEST(Audit, EachReportedLossIsLostAlsoBeyondThoseThatAreKept) {
  DriftTestbed testbed{{.period = 60s, .action = OnDrift::Report}};
  constexpr int kLost = static_cast<int>(kDriftsKept) + 500;
  const auto route = [](int i) { return "40." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24"; };
  for (int i = 0; i < kLost; ++i) testbed.set("ROUTE_TABLE", route(i), {{"nexthop_group", "ab"}});
  testbed.run_for(2s);
  for (int i = 0; i < kLost; ++i) testbed.meddle(RouteDelete{prefix(route(i))});
  testbed.run_for(10s);
  EXPECT_EQ(testbed.agent.audit()->standing(ObjectKind::Route).size(), kDriftsKept);
  const auto state = [&](int i) { return testbed.runtime.row_state("ROUTE_TABLE", route(i)).plane; };
  for (int i = 0; i < kLost; ++i) ASSERT_EQ(state(i), PlaneState::Lost) << route(i);
  EXPECT_EQ(testbed.agent.row_states().counts("ROUTE_TABLE").lost, static_cast<std::size_t>(kLost));
  EXPECT_EQ(testbed.agent.row_states().counts("ROUTE_TABLE").installed, 201U);

  // A row that is set again is ordered again, although its content is unchanged.
  testbed.set("ROUTE_TABLE", route(7), {{"nexthop_group", "ab"}});
  testbed.run_for(1s);
  EXPECT_EQ(state(7), PlaneState::Installed);
  EXPECT_TRUE(testbed.plane.route(prefix(route(7))).has_value());
  EXPECT_EQ(testbed.agent.row_states().counts("ROUTE_TABLE").lost, static_cast<std::size_t>(kLost - 1));

  // The next audit finds objects that another program restores.
  testbed.meddle(RouteSet{.prefix = prefix(route(8)), .nexthop = testbed.group_of(route(7))});
  testbed.run_for(65s);
  EXPECT_EQ(state(8), PlaneState::Installed);
  EXPECT_EQ(state(9), PlaneState::Lost);
}

TEST(Audit, AReportedLossOfAGroupTakesItsRoutesWithIt) {
  DriftTestbed testbed{{.period = Duration{0}, .action = OnDrift::Report}};
  testbed.meddle(NexthopDelete{testbed.number_of("")});
  testbed.run_for(10s);
  EXPECT_EQ(testbed.runtime.row_state("NEXTHOP_GROUP_TABLE", "ab").plane, PlaneState::Lost);
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "20.0.0.0/24").plane, PlaneState::Lost);
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "20.0.1.0/24").plane, PlaneState::Installed) << "it is on the other group";
  EXPECT_EQ(testbed.agent.row_states().counts("ROUTE_TABLE").lost, 100U);
}

/// The data plane refuses the repair of a lost object for a while.
/// Such a route was tried again each 100 ms, and its reason was "internal: the handler waits for nexthop-group:b, which holds".
TEST(Audit, ANewRouteOverAGroupWhoseLossIsOnlyReportedIsRefusedAndTriedLessAndLessOften) {
  DriftTestbed testbed{{.period = 60s, .action = OnDrift::Report}};
  testbed.meddle(NexthopDelete{testbed.number_of("10.1.0.2")});
  testbed.run_for(2s);
  const std::uint64_t orders = testbed.plane.executed();
  testbed.set("ROUTE_TABLE", "40.0.0.0/8", {{"nexthop_group", "b"}});
  testbed.run_for(20s);
  EXPECT_LE(testbed.plane.executed() - orders, 12U);
  EXPECT_EQ(testbed.stats("ROUTE_TABLE").spurious_waits, 0U);
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "40.0.0.0/8").plane, PlaneState::Refused);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "40.0.0.0/8"), HasSubstr("the data plane has lost NEXTHOP_GROUP_TABLE 'b'"));
  ASSERT_TRUE(testbed.agent.audit()->request(kAllKinds, OnDrift::Repair, {}).ok());
  testbed.run_for(6s);
  EXPECT_EQ(testbed.runtime.row_state("ROUTE_TABLE", "40.0.0.0/8").plane, PlaneState::Installed);
}

TEST(Audit, ARowIsInstalledAsSoonAsALateRepairHolds) {
  DriftTestbed testbed{{.period = 60s}};
  testbed.plane.fail_by_chance(OrderKind::Neighbor, 1.0, ENOBUFS);
  testbed.meddle(NeighborDelete{testbed.ports[0], address("10.0.0.2")});
  const auto state = [&] { return testbed.runtime.row_state("NEIGH_TABLE", "A:10.0.0.2").plane; };
  testbed.run_for(8s);
  EXPECT_EQ(state(), PlaneState::Lost);
  testbed.plane.fail_by_chance(OrderKind::Neighbor, 0, ENOBUFS);
  for (int i = 0; testbed.actual() != testbed.wanted && i < 1500; ++i) testbed.run_for(10ms);
  ASSERT_EQ(testbed.actual(), testbed.wanted);
  testbed.run_for(100ms);
  EXPECT_EQ(state(), PlaneState::Installed);
  EXPECT_EQ(testbed.agent.row_states().counts("NEIGH_TABLE").lost, 0U);
  EXPECT_EQ(testbed.figures(ObjectKind::Neighbor).standing, 0U);
  EXPECT_EQ(testbed.figures(ObjectKind::Neighbor).missing, 1U) << "it counts once";
}

TEST(Audit, RowsThatChangeMeanwhileAreNoDifference) {
  DriftTestbed testbed{{.period = 1s}};
  for (int round = 0; round < 400; ++round) {
    const std::string key = "20.0." + std::to_string(round % 200) + ".0/24";
    if (round % 2 == 0) {
      testbed.remove("ROUTE_TABLE", key);
    } else {
      testbed.set("ROUTE_TABLE", key, {{"nexthop_group", round % 3 == 0 ? "ab" : "b"}});
    }
    testbed.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", round % 2 == 0 ? "02:00:00:00:00:03" : "02:00:00:00:00:04"}});
    if (round % 10 == 0) testbed.plane.set_carrier("B", round % 20 == 0);
    testbed.run_for(37ms);
  }
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    EXPECT_GT(testbed.figures(static_cast<ObjectKind>(i)).audits, 5U);
    EXPECT_EQ(testbed.found(static_cast<ObjectKind>(i)), 0U) << to_string(static_cast<ObjectKind>(i));
  }
}

TEST(Audit, PortsThatDifferAreReported) {
  DriftTestbed testbed;
  testbed.meddle(LinkSet{.port = testbed.ports[0], .up = {}, .mtu = 1400});
  testbed.meddle(LinkSet{.port = testbed.ports[1], .up = false, .mtu = {}});
  testbed.run_for(1s);
  const std::vector<Drift> differences = testbed.agent.port_differences();
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].key, "A");
  EXPECT_THAT(differences[0].wanted, HasSubstr("mtu 9000"));
  EXPECT_THAT(differences[0].actual, HasSubstr("mtu 1400"));
  EXPECT_THAT(differences[1].actual, HasSubstr("down"));
}

TEST(Audit, RequestsAreBoundedAndRefusedBeforeTheRestartIsOver) {
  DriftTestbed testbed;
  unsigned answered = 0;
  Status last;
  for (int i = 0; i < 100; ++i) last = testbed.agent.audit()->request(kAllKinds, OnDrift::Report, [&](const auto&) { ++answered; });
  EXPECT_EQ(last.code(), StatusCode::ResourceExhausted);
  testbed.run_for(10s);
  EXPECT_EQ(answered, 16U);

  sim::World world{1};
  AgentTestbed early{2};
  early.plane.add_port("A");
  ASSERT_TRUE(early.plane.meddle(RouteSet{.prefix = prefix("20.0.0.0/24"), .nexthop = {}, .type = RouteType::Blackhole}).ok());
  early.start();
  EXPECT_EQ(early.agent.audit()->request(kAllKinds, OnDrift::Report, {}).code(), StatusCode::FailedPrecondition);
}

}  // namespace
}  // namespace rondo::switch_agent
