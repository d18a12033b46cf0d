// Another program changes the data plane without the agent: it deletes, changes or adds each kind of object, and an audit detects, repairs
// or reports that.
#include <gmock/gmock.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "agent_box.h"
#include "switch_agent/facts.h"

namespace rondo::switch_agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Prefix prefix(std::string_view text) { return Prefix::parse_interface(text).value(); }
IpAddress address(std::string_view text) { return IpAddress::parse(text).value(); }
MacAddress mac(std::string_view text) { return MacAddress::parse(text).value(); }

/// Two ports, three neighbours, a group of two, and routes of each kind.
class DriftBox : public AgentBox {
 public:
  explicit DriftBox(AuditOptions audit = {.period = 60s}, SafetyOptions safety = {}) : AgentBox(1, {}, {}, audit, safety) {
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
  DriftBox box;
  const std::uint64_t orders = box.plane.executed();
  box.run_for(150s);
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    const AuditFigures& figures = box.figures(static_cast<ObjectKind>(i));
    EXPECT_GE(figures.audits, 2U);
    EXPECT_GT(figures.objects, 0U);
    EXPECT_EQ(box.found(static_cast<ObjectKind>(i)), 0U);
  }
  EXPECT_EQ(box.plane.executed(), orders);
}

TEST(Audit, RoutesThatOthersDeletedChangedOrAddedAreRepairedWithinAPeriod) {
  DriftBox box;
  box.meddle(RouteDelete{prefix("20.0.0.0/24")});
  box.meddle(RouteDelete{prefix("30.0.0.0/8")});
  box.meddle(RouteSet{.prefix = prefix("20.0.1.0/24"), .nexthop = {}, .type = RouteType::Blackhole});
  box.meddle(RouteSet{.prefix = prefix("40.0.0.0/8"), .nexthop = box.group_of("20.0.2.0/24")});
  box.meddle(RouteSet{.prefix = prefix("40.0.0.0/8"), .nexthop = {}, .table = 100, .type = RouteType::Prohibit});
  EXPECT_NE(box.actual(), box.wanted);
  box.run_for(65s);
  EXPECT_EQ(box.actual(), box.wanted);
  const AuditFigures& figures = box.figures(ObjectKind::Route);
  EXPECT_EQ(figures.missing + figures.changed, 3U) << "a notice of a route does not say which";
  EXPECT_EQ(figures.unwanted, 2U);
  EXPECT_EQ(figures.repaired, 5U);
  EXPECT_EQ(figures.standing, 0U);
  EXPECT_THAT(box.agent.audit()->standing(ObjectKind::Route), IsEmpty());  // A later audit has run.
}

struct Meddling {
  std::string name;
  std::function<void(DriftBox&)> meddle;
};
void PrintTo(const Meddling& one, std::ostream* out) { *out << one.name; }

class NoticedDrift : public testing::TestWithParam<Meddling> {};

TEST_P(NoticedDrift, IsRepairedWithinTwoSeconds) {
  DriftBox box{{.period = Duration{0}}};
  GetParam().meddle(box);
  EXPECT_NE(box.actual(), box.wanted);
  box.run_for(2s);
  EXPECT_EQ(box.actual(), box.wanted);
  EXPECT_EQ(box.figures(ObjectKind::Route).audits, 0U) << "a full table is not read for this";
  box.run_for(10s);
  EXPECT_EQ(box.actual(), box.wanted);
  EXPECT_EQ(box.owed(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Audit, NoticedDrift,
    testing::Values(Meddling{"RouteDeleted", [](DriftBox& box) { box.meddle(RouteDelete{prefix("20.0.0.0/24")}); }},
                    Meddling{"RouteToNowhereDeleted", [](DriftBox& box) { box.meddle(RouteDelete{prefix("30.0.0.0/8")}); }},
                    Meddling{"RouteChanged",
                             [](DriftBox& box) { box.meddle(RouteSet{.prefix = prefix("20.0.1.0/24"), .type = RouteType::Blackhole}); }},
                    Meddling{"AllRoutesDeleted",
                             [](DriftBox& box) {
                               for (int i = 0; i < 200; ++i) {
                                 box.meddle(RouteDelete{prefix("20.0." + std::to_string(i) + ".0/24")});
                               }
                             }},
                    Meddling{"AddressDeleted",
                             [](DriftBox& box) {
                               box.meddle(AddressDelete{box.ports[0], prefix("10.0.0.1/24")});
                             }},
                    Meddling{"Ipv6AddressDeleted",
                             [](DriftBox& box) {
                               box.meddle(AddressDelete{box.ports[0], prefix("2001:db8::1/64")});
                             }},
                    Meddling{"Ipv6AddressOfAnotherLength",
                             [](DriftBox& box) {
                               box.meddle(AddressSet{box.ports[0], prefix("2001:db8::1/128")});
                             }},
                    Meddling{"NeighborDeleted",
                             [](DriftBox& box) {
                               box.meddle(NeighborDelete{box.ports[0], address("10.0.0.2")});
                             }},
                    Meddling{"NeighborChanged",
                             [](DriftBox& box) {
                               box.meddle(NeighborSet{box.ports[1], address("10.1.0.2"), mac("02:ff:00:00:00:01")});
                             }},
                    Meddling{"NexthopDeleted", [](DriftBox& box) { box.meddle(NexthopDelete{box.number_of("10.1.0.2")}); }},
                    Meddling{"NexthopChanged",
                             [](DriftBox& box) {
                               box.meddle(NexthopSet{box.number_of("10.1.0.2"), address("10.0.0.2"), box.ports[0]});
                             }},
                    Meddling{"GroupDeleted", [](DriftBox& box) { box.meddle(NexthopDelete{box.number_of("")}); }},
                    Meddling{"GroupChanged",
                             [](DriftBox& box) {
                               box.meddle(GroupSet{box.number_of(""), {{box.number_of("10.1.0.2"), 7}}});
                             }}),
    [](const auto& test) { return test.param.name; });

TEST(Audit, ARowSetAgainAfterItsRouteWasDeletedIsDoneWhenTheRouteIsBack) {
  DriftBox box{{.period = Duration{0}}};
  box.meddle(RouteDelete{prefix("20.0.0.0/24")});
  box.set("ROUTE_TABLE", "20.0.0.0/24", {{"nexthop_group", "ab"}});
  for (int steps = 0; box.owed() != 0 || steps == 0; ++steps) {
    ASSERT_LT(steps, 10'000);
    box.run_for(1us);
  }
  EXPECT_EQ(box.actual(), box.wanted) << "the row is done";
}

TEST(Audit, ARouteThatOthersReplacedIsForeignAndComesBackWhenTheirsGoes) {
  DriftBox box{{.period = Duration{0}}};
  for (const auto& [route, group] : {std::pair{"20.0.0.0/24", "b"}, std::pair{"30.0.0.0/8", ""}}) {
    box.plane.add_foreign_route(prefix(route), 4);
    box.run_for(2s);
    EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", route).plane, PlaneState::Foreign) << route;
    if (*group != '\0') {
      box.set("ROUTE_TABLE", route, {{"nexthop_group", group}});
    } else {
      box.set("ROUTE_TABLE", route, {{"blackhole", "true"}});
    }
    box.run_for(3s);
    ASSERT_TRUE(box.plane.remove_foreign_route(prefix(route))) << "a change of the row took it: " << route;
    box.run_for(3s);
    EXPECT_TRUE(box.plane.route(prefix(route)).has_value()) << route;
    EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", route).plane, PlaneState::Installed) << route;
  }
  EXPECT_EQ(box.owed(), 0U);
}

TEST(Audit, AProgramThatDeletesARouteAgainAndAgainIsAnsweredLessAndLessOften) {
  DriftBox box{{.period = Duration{0}}};
  const std::uint64_t orders = box.plane.executed();
  const auto fight = [&box](Duration time) {
    for (Duration passed{0}; passed < time; passed += Duration{100ms}) {
      static_cast<void>(box.plane.meddle(RouteDelete{prefix("20.0.0.0/24")}));
      box.run_for(100ms);
    }
  };
  fight(10s);
  EXPECT_LE(box.plane.executed() - orders, 12U);
  EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", "20.0.0.0/24").plane, PlaneState::Lost);
  fight(600s);
  EXPECT_LE(box.plane.executed() - orders, 40U);
  box.meddle(RouteDelete{prefix("20.0.1.0/24")});
  box.run_for(100ms);
  EXPECT_TRUE(box.plane.route(prefix("20.0.1.0/24")).has_value()) << "of another route the first notice is answered";
  box.run_for(130s);
  EXPECT_EQ(box.actual(), box.wanted);
}

TEST(Audit, WhatIsRepairedIsCountedByTheAnswersOfTheDataPlane) {
  DriftBox box{{.period = 60s, .action = OnDrift::Report}};
  for (const char* const route : {"20.0.0.0/24", "20.0.1.0/24", "20.0.2.0/24", "20.0.3.0/24"}) box.meddle(RouteDelete{prefix(route)});
  box.plane.add_foreign_route(prefix("20.0.0.0/24"), 4);
  box.meddle(RouteSet{.prefix = prefix("40.0.0.0/8"), .type = RouteType::Blackhole});
  AuditResult result;
  const auto note = [&result](const Audit::Report& report) { result = report.results[static_cast<std::size_t>(ObjectKind::Route)]; };
  ASSERT_TRUE(box.agent.audit()->request({false, false, false, true}, OnDrift::Repair, note).ok());
  box.run_for(210ms);
  box.plane.fail_nth(OrderKind::Route, 2, ENOBUFS);
  box.run_for(5s);
  EXPECT_EQ(result.found[0] + result.found[2], 5U);
  EXPECT_EQ(result.held_by_others, 1U);
  EXPECT_LE(result.not_repaired, 1U) << "it is tried again after a moment";
  EXPECT_EQ(result.repaired, 4U - result.not_repaired);
}

TEST(Audit, WhatIsLostWhileAStartIsHeldIsRepairedAndNothingIsDeleted) {
  AgentBox box{1, {}, {}, {.period = 60s}, {.share = 0.2, .least = 10}};
  const auto add = [&box](int net, Order order) { ASSERT_TRUE(box.plane.meddle(std::move(order)).ok()) << net; };
  for (int i = 0; i < 100; ++i) {
    add(i, RouteSet{.prefix = prefix("40." + std::to_string(i) + ".0.0/16"), .nexthop = {}, .type = RouteType::Blackhole});
  }
  add(100, RouteSet{.prefix = prefix("30.0.0.0/8"), .nexthop = {}, .type = RouteType::Blackhole});
  box.start();
  for (const char* const key : {"30.0.0.0/8", "31.0.0.0/8"}) box.set("ROUTE_TABLE", key, {{"blackhole", "true"}});
  box.run_for(5s);
  ASSERT_EQ(box.agent.safety().held().size(), 1U);
  ASSERT_FALSE(box.agent.has_restarted());
  ASSERT_EQ(box.plane.route_count(), 102U);
  for (const char* const key : {"30.0.0.0/8", "31.0.0.0/8"}) {
    ASSERT_TRUE(box.plane.meddle(RouteDelete{prefix(key)}).ok());
    box.run_for(2s);
    EXPECT_EQ(box.plane.route_count(), 102U) << key;
  }
  EXPECT_EQ(box.agent.audit()->figures(ObjectKind::Route).standing, 0U);
  box.agent.safety().confirm();
  box.run_for(5s);
  EXPECT_TRUE(box.agent.has_restarted());
  EXPECT_EQ(box.plane.route_count(), 2U);
}

TEST(Audit, RoutesOfOurNumberWithAnotherMetricOrTypeOfServiceAreDeleted) {
  DriftBox box;
  box.plane.add_stray_route({.prefix = prefix("20.0.0.0/24"), .metric = 5});
  box.plane.add_stray_route({.prefix = prefix("20.0.0.0/24"), .tos = 16});
  box.plane.add_stray_route({.prefix = prefix("40.0.0.0/8"), .metric = 0});
  EXPECT_NE(box.actual(), box.wanted);
  std::vector<std::string> told;
  const auto note = [&told](const Audit::Report& report) {
    for (const Drift& drift : report.drifts) told.push_back(drift.actual);
  };
  ASSERT_TRUE(box.agent.audit()->request(kAllKinds, OnDrift::Report, note).ok());
  box.run_for(2s);
  EXPECT_THAT(told, testing::UnorderedElementsAre("route 20.0.0.0/24 blackhole metric 5", "route 20.0.0.0/24 blackhole tos 16",
                                                  "route 40.0.0.0/8 blackhole metric 0"));
  box.run_for(65s);
  EXPECT_EQ(box.actual(), box.wanted);
}

TEST(Audit, LeftoversWithAnotherMetricAreDeletedAtTheEndOfTheRestart) {
  AgentBox box;
  box.plane.add_stray_route({.prefix = prefix("20.0.0.0/24"), .metric = 5});
  box.start();
  box.set("ROUTE_TABLE", "20.0.0.0/24", {{"blackhole", "true"}});
  box.run_for(5s);
  EXPECT_TRUE(box.agent.has_restarted());
  EXPECT_THAT(box.actual(), testing::ElementsAre("route 20.0.0.0/24 blackhole"));
}

TEST(Audit, UnwantedObjectsOfEachKindAreDeleted) {
  DriftBox box;
  box.meddle(AddressSet{box.ports[1], prefix("10.9.0.1/24")});
  box.meddle(NeighborSet{box.ports[1], address("10.1.0.9"), mac("02:00:00:00:00:09")});
  box.meddle(NexthopSet{NexthopId{7}, address("10.1.0.9"), box.ports[1]});
  box.meddle(GroupSet{NexthopId{8}, {{NexthopId{7}, 1}}});
  box.run_for(65s);
  EXPECT_EQ(box.actual(), box.wanted);
  EXPECT_EQ(box.figures(ObjectKind::Address).unwanted, 1U);
  EXPECT_EQ(box.figures(ObjectKind::Neighbor).unwanted, 1U);
  EXPECT_EQ(box.figures(ObjectKind::Nexthop).unwanted, 2U);
}

TEST(Audit, AMassOfUnwantedObjectsIsHeldUntilAnOperatorConfirms) {
  DriftBox box{{.period = 60s}, {.share = 0.2, .least = 100}};
  const auto add_many = [&box] {
    for (int i = 0; i < 150; ++i) {
      box.meddle(RouteSet{.prefix = prefix("40." + std::to_string(i) + ".0.0/16"), .nexthop = {}, .type = RouteType::Blackhole});
    }
  };
  add_many();
  box.run_for(200s);
  EXPECT_EQ(box.plane.route_count(), 351U);
  ASSERT_EQ(box.agent.safety().held().size(), 1U);
  EXPECT_EQ(box.agent.safety().held()[0].count, 150U);
  EXPECT_EQ(box.figures(ObjectKind::Route).standing, 150U);
  EXPECT_EQ(box.figures(ObjectKind::Route).unwanted, 150U) << "several audits found them, and they count once";
  box.agent.safety().confirm();
  box.agent.audit()->look_at_held();
  box.run_for(5s);
  EXPECT_EQ(box.actual(), box.wanted);
  EXPECT_THAT(box.agent.safety().held(), IsEmpty());

  add_many();
  box.run_for(65s);
  ASSERT_EQ(box.agent.safety().held().size(), 1U) << "a confirmation is of one deletion";
  for (int i = 0; i < 150; ++i) box.meddle(RouteDelete{prefix("40." + std::to_string(i) + ".0.0/16")});
  box.run_for(65s);
  EXPECT_THAT(box.agent.safety().held(), IsEmpty()) << "nothing is unwanted any more";
}

TEST(Audit, ReportsAndLeavesAsItIsIfConfiguredSo) {
  DriftBox box{{.period = 60s, .action = OnDrift::Report}};
  box.meddle(RouteDelete{prefix("20.0.0.0/24")});
  box.meddle(NeighborDelete{box.ports[0], address("10.0.0.2")});
  const Lines meddled = box.actual();
  box.run_for(200s);
  EXPECT_EQ(box.actual(), meddled);
  EXPECT_EQ(box.figures(ObjectKind::Route).missing, 1U) << "three audits found it, and it counts once";
  EXPECT_EQ(box.figures(ObjectKind::Route).standing, 1U);
  const auto standing = box.agent.audit()->standing(ObjectKind::Route);
  ASSERT_EQ(standing.size(), 1U);
  EXPECT_EQ(standing[0].table, "ROUTE_TABLE");
  EXPECT_EQ(standing[0].key, "20.0.0.0/24");
  EXPECT_THAT(standing[0].wanted, HasSubstr("20.0.0.0/24"));
  EXPECT_EQ(standing[0].actual, "");
  EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", "20.0.0.0/24").plane, PlaneState::Lost);
  EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", "20.0.1.0/24").plane, PlaneState::Installed);

  std::vector<std::string> drifted;
  const auto note = [&drifted](const Audit::Report& report) {
    for (const Drift& drift : report.drifts) drifted.push_back(drift.table + " " + drift.key);
  };
  ASSERT_TRUE(box.agent.audit()->request(kAllKinds, OnDrift::Repair, note).ok());
  box.run_for(5s);
  EXPECT_THAT(drifted, testing::ElementsAre("NEIGH_TABLE A:10.0.0.2", "ROUTE_TABLE 20.0.0.0/24"));
  EXPECT_EQ(box.actual(), box.wanted);
}

TEST(Audit, EachReportedLossIsLostAlsoBeyondThoseThatAreKept) {
  DriftBox box{{.period = 60s, .action = OnDrift::Report}};
  constexpr int kLost = static_cast<int>(kDriftsKept) + 500;
  const auto route = [](int i) { return "40." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24"; };
  for (int i = 0; i < kLost; ++i) box.set("ROUTE_TABLE", route(i), {{"nexthop_group", "ab"}});
  box.run_for(2s);
  for (int i = 0; i < kLost; ++i) box.meddle(RouteDelete{prefix(route(i))});
  box.run_for(10s);
  EXPECT_EQ(box.agent.audit()->standing(ObjectKind::Route).size(), kDriftsKept);
  const auto state = [&](int i) { return box.runtime.row_state("ROUTE_TABLE", route(i)).plane; };
  for (int i = 0; i < kLost; ++i) ASSERT_EQ(state(i), PlaneState::Lost) << route(i);
  EXPECT_EQ(box.agent.row_states().counts("ROUTE_TABLE").lost, static_cast<std::size_t>(kLost));
  EXPECT_EQ(box.agent.row_states().counts("ROUTE_TABLE").installed, 201U);

  // A row that is set again is ordered again, although its content is unchanged.
  box.set("ROUTE_TABLE", route(7), {{"nexthop_group", "ab"}});
  box.run_for(1s);
  EXPECT_EQ(state(7), PlaneState::Installed);
  EXPECT_TRUE(box.plane.route(prefix(route(7))).has_value());
  EXPECT_EQ(box.agent.row_states().counts("ROUTE_TABLE").lost, static_cast<std::size_t>(kLost - 1));

  // The next audit finds objects that another program restores.
  box.meddle(RouteSet{.prefix = prefix(route(8)), .nexthop = box.group_of(route(7))});
  box.run_for(65s);
  EXPECT_EQ(state(8), PlaneState::Installed);
  EXPECT_EQ(state(9), PlaneState::Lost);
}

TEST(Audit, AReportedLossOfAGroupTakesItsRoutesWithIt) {
  DriftBox box{{.period = Duration{0}, .action = OnDrift::Report}};
  box.meddle(NexthopDelete{box.number_of("")});
  box.run_for(10s);
  EXPECT_EQ(box.runtime.row_state("NEXTHOP_GROUP_TABLE", "ab").plane, PlaneState::Lost);
  EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", "20.0.0.0/24").plane, PlaneState::Lost);
  EXPECT_EQ(box.runtime.row_state("ROUTE_TABLE", "20.0.1.0/24").plane, PlaneState::Installed) << "it is on the other group";
  EXPECT_EQ(box.agent.row_states().counts("ROUTE_TABLE").lost, 100U);
}

TEST(Audit, RowsThatChangeMeanwhileAreNoDifference) {
  DriftBox box{{.period = 1s}};
  for (int round = 0; round < 400; ++round) {
    const std::string key = "20.0." + std::to_string(round % 200) + ".0/24";
    if (round % 2 == 0) {
      box.remove("ROUTE_TABLE", key);
    } else {
      box.set("ROUTE_TABLE", key, {{"nexthop_group", round % 3 == 0 ? "ab" : "b"}});
    }
    box.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", round % 2 == 0 ? "02:00:00:00:00:03" : "02:00:00:00:00:04"}});
    if (round % 10 == 0) box.plane.set_carrier("B", round % 20 == 0);
    box.run_for(37ms);
  }
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    EXPECT_GT(box.figures(static_cast<ObjectKind>(i)).audits, 5U);
    EXPECT_EQ(box.found(static_cast<ObjectKind>(i)), 0U) << to_string(static_cast<ObjectKind>(i));
  }
}

TEST(Audit, PortsThatDifferAreReported) {
  DriftBox box;
  box.meddle(LinkSet{.port = box.ports[0], .up = {}, .mtu = 1400});
  box.meddle(LinkSet{.port = box.ports[1], .up = false, .mtu = {}});
  box.run_for(1s);
  const std::vector<Drift> differences = box.agent.port_differences();
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].key, "A");
  EXPECT_THAT(differences[0].wanted, HasSubstr("mtu 9000"));
  EXPECT_THAT(differences[0].actual, HasSubstr("mtu 1400"));
  EXPECT_THAT(differences[1].actual, HasSubstr("down"));
}

TEST(Audit, RequestsAreBoundedAndRefusedBeforeTheRestartIsOver) {
  DriftBox box;
  unsigned answered = 0;
  Status last;
  for (int i = 0; i < 100; ++i) last = box.agent.audit()->request(kAllKinds, OnDrift::Report, [&](const auto&) { ++answered; });
  EXPECT_EQ(last.code(), Code::ResourceExhausted);
  box.run_for(10s);
  EXPECT_EQ(answered, 16U);

  sim::World world{1};
  AgentBox early{2};
  early.plane.add_port("A");
  ASSERT_TRUE(early.plane.meddle(RouteSet{.prefix = prefix("20.0.0.0/24"), .nexthop = {}, .type = RouteType::Blackhole}).ok());
  early.start();
  EXPECT_EQ(early.agent.audit()->request(kAllKinds, OnDrift::Report, {}).code(), Code::FailedPrecondition);
}

}  // namespace
}  // namespace rondo::switch_agent
