// The log lines about ports, rejected rows and refused orders: of EventLog alone, and of a real rondod with the simulated data plane;
// RONDOD names the program.
#include "rondod/logs/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "rondo/base/text.h"
#include "rondo/sched/sim_clock.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Events : public testing::Test {
 protected:
  LinkEvent port(std::uint32_t index, std::string name, bool carrier) const {
    return {.port = IfIndex{index}, .name = std::move(name), .admin_up = true, .carrier = carrier, .mac = {}, .seen = {}};
  }
  std::string told() { return std::exchange(lines, {}); }

  SimClock clock;
  std::string lines;
  Log log{clock, {.level = LogLevel::Info, .journal = false, .writer = [this](std::string_view line) { lines += line; }}};
  EventLog events{log, [](std::string_view name) { return name.starts_with("swp"); }};
};

TEST_F(Events, APortThatGoesDownComesBackVanishesOrIsRenamedIsTold) {
  events.link(port(3, "swp1", true), clock.now());
  EXPECT_EQ(told(), "") << "that it is there is no event";
  clock.advance(12s);
  events.link(port(3, "swp1", false), clock.now());
  EXPECT_THAT(told(), HasSubstr("warn port down port=swp1 was=up for_s=12"));
  clock.advance(3s);
  events.link(port(3, "swp1", true), clock.now());
  EXPECT_THAT(told(), HasSubstr("info port up port=swp1 was=down for_s=3"));
  events.link(port(3, "swp7", true), clock.now());
  EXPECT_THAT(told(), HasSubstr("warn port renamed from=swp1 to=swp7"));
  LinkEvent gone = port(3, "swp7", false);
  gone.removed = true;
  events.link(gone, clock.now());
  EXPECT_THAT(told(), HasSubstr("warn port vanished port=swp7"));
  events.link(port(4, "docker0", true), clock.now());
  events.link(port(4, "docker0", false), clock.now());
  EXPECT_EQ(told(), "") << "no row names it";
}

/// The kernel reports the new VRF first, or together with the loss of the carrier.
TEST_F(Events, APortThatMovesBetweenVrfsIsNotSetDownByItsAdministrator) {
  const auto in = [this](bool up, std::uint32_t master) {
    LinkEvent event = port(3, "swp1", up);
    event.admin_up = up;
    event.master = IfIndex{master};
    events.link(event, clock.now());
    return told();
  };
  EXPECT_EQ(in(true, 0), "");
  clock.advance(12s);
  EXPECT_EQ(in(true, 7), "");
  EXPECT_THAT(in(false, 7), AllOf(HasSubstr("info port down, the kernel sets it down and up because its VRF changes port=swp1"),
                                  Not(HasSubstr("administrator"))));
  EXPECT_THAT(in(true, 7), HasSubstr("port up"));
  EXPECT_THAT(in(false, 7), HasSubstr("set down by its administrator")) << "after the move";
  in(true, 7);
  EXPECT_THAT(in(false, 0), Not(HasSubstr("administrator")));
  in(true, 0);
  EXPECT_EQ(in(true, 8), "") << "a bridge sets no port down";
  clock.advance(2s);
  EXPECT_THAT(in(false, 8), HasSubstr("set down by its administrator"));
}

TEST_F(Events, RoutesOfOtherProgramsAreToldWhenTheyComeAndWhenAllHaveGone) {
  events.held_by_others(switch_agent::Routes::HeldByOthers{});
  EXPECT_EQ(told(), "");
  events.held_by_others({.routes = 2, .first = "route 10.0.0.0/8: held by a route of protocol static (4)"});
  EXPECT_THAT(told(), AllOf(HasSubstr("warn routes of other programs"), HasSubstr("rows=2"), HasSubstr("protocol static (4)")));
  for (const std::size_t routes : {2U, 1U}) events.held_by_others({.routes = routes, .first = "one"});
  EXPECT_EQ(told(), "");
  events.held_by_others(switch_agent::Routes::HeldByOthers{});
  EXPECT_THAT(told(), HasSubstr("info no row is blocked by a route of another program any more"));
  Operation refused{.order = RouteSet{.prefix = Prefix::parse("10.0.0.0/8").value()},
                    .status = {StatusCode::AlreadyExists, "held", EEXIST}};
  events.refused(refused);
  EXPECT_EQ(told(), "") << "a line for each attempt";
  refused.order = FdbSet{.port = IfIndex{3}, .mac = MacAddress{{2, 0, 0, 0, 0, 1}}};
  events.refused(refused);
  EXPECT_EQ(told(), "") << "the same";
}

TEST_F(Events, EntriesThatMustStayAreLoggedWhenTheyComeAndWhenAllHaveGone) {
  const auto held = [this](std::size_t rows) {
    events.held_by_others({.rows = rows, .first = "Vlan10:02:00:00:00:00:aa: held"});
    return told();
  };
  EXPECT_EQ(held(0), "");
  EXPECT_THAT(held(1),
              AllOf(HasSubstr("warn entries that rondod must not replace"), HasSubstr("first=\"Vlan10:02:00:00:00:00:aa: held\"")));
  EXPECT_EQ(held(1), "");
  EXPECT_THAT(held(0), HasSubstr("info no such entry"));
}

TEST_F(Events, DevicesThatAStartSetsUpAreOneLine) {
  for (const char* const port : {"swp1", "swp2", "swp3", "swp4"}) events.set_up(port);
  events.check({});
  EXPECT_THAT(told(), AllOf(HasSubstr("warn the start set up devices that were down"), HasSubstr("count=4"),
                            HasSubstr("swp1, swp2, swp3 and 1 more")));
  events.check({});
  EXPECT_EQ(told(), "");
}

TEST_F(Events, ABurstOfRejectsIsAFewLinesAndWhereTheRestIs) {
  for (int i = 0; i < 40; ++i) events.rejected(Change::remove("k"), {StatusCode::InvalidArgument, "T 'k': bad"});
  EXPECT_THAT(told(), HasSubstr("warn change rejected op=DEL why=\"invalid-argument: T 'k': bad\""));
  events.check({});
  EXPECT_THAT(told(), HasSubstr("warn more changes were rejected: 'rondo rejected' lists the rows count=35"));
  events.check({});
  EXPECT_EQ(told(), "");
}

TEST_F(Events, WithdrawnRowsAreToldWithThePortsThatWent) {
  std::vector<ConsumerStats> tables(1);
  tables[0].table = "ROUTE_TABLE";
  tables[0].plane = PlaneCounts{.installed = 100};
  events.check(tables);
  events.link(port(3, "swp1", true), clock.now());
  events.link(port(3, "swp1", false), clock.now());
  tables[0].plane = PlaneCounts{.installed = 10, .withdrawn = 90};
  told();
  events.check(tables);
  EXPECT_THAT(told(), AllOf(HasSubstr("rows were withdrawn"), HasSubstr("table=ROUTE_TABLE rows=90 withdrawn=90 ports=swp1")));
  events.check(tables);
  EXPECT_EQ(told(), "") << "nothing more went";
  tables[0].plane = PlaneCounts{.installed = 100};
  events.check(tables);
  EXPECT_THAT(told(), HasSubstr("info withdrawn rows are back in the data plane table=ROUTE_TABLE rows=90"));
  clock.advance(2s);
  tables[0].table = "FDB_TABLE";
  tables[0].plane = PlaneCounts{.installed = 1};
  events.check(tables);
  static_cast<void>(told());
  tables[0].plane = PlaneCounts{.withdrawn = 1};
  events.check(tables);
  EXPECT_THAT(told(), AllOf(HasSubstr("info static entries of VLANs went"), Not(HasSubstr("warn")))) << "a row was deleted";
}

TEST_F(Events, ARefusedOrderIsToldWithItsObjectAndItsError) {
  Operation operation{RouteDelete{.prefix = Prefix::parse("10.0.0.0/8").value()}, {}};
  operation.status = Status{StatusCode::PermissionDenied, "delete route 10.0.0.0/8: no rights", EPERM};
  events.refused(operation);
  EXPECT_THAT(told(), AllOf(HasSubstr("the data plane refused an order order=\"delete route 10.0.0.0/8\" errno=1"),
                            HasSubstr("Operation not permitted")));
}

TEST_F(Events, ARefusedOrderNamesItsPort) {
  events.link(port(3, "swp3", true), clock.now());
  Operation operation{AddressSet{IfIndex{3}, Prefix::parse_interface("10.0.0.1/24").value()}, {}};
  operation.status = Status{StatusCode::PermissionDenied, "no rights", EPERM};
  events.refused(operation);
  EXPECT_THAT(told(), HasSubstr("order=\"address 10.0.0.1/24 on port 3 (swp3)\""));
}

/// A machine with containers has new devices all the time.
TEST_F(Events, TheNamesOfDevicesThatWentAreForgottenInTheEnd) {
  for (std::uint32_t device = 100; device < 200; ++device) {
    LinkEvent event = port(device, "veth" + std::to_string(device), true);
    events.link(event, clock.now());
    event.removed = true;
    events.link(event, clock.now());
  }
  for (const std::uint32_t device : {100U, 199U}) {
    Operation operation{AddressSet{IfIndex{device}, Prefix::parse_interface("10.0.0.1/24").value()}, {}};
    operation.status = Status{StatusCode::PermissionDenied, "no rights", EPERM};
    events.refused(operation);
  }
  EXPECT_THAT(told(), AllOf(HasSubstr("on port 100 (an unknown device)"), HasSubstr("on port 199 (veth199)")));
}

TEST_F(Events, AnOrderThatIsRefusedAgainAndAgainIsOneLineAndABurstAFew) {
  const auto refuse = [this](int number) {
    Operation operation{RouteDelete{.prefix = Prefix::parse("10." + std::to_string(number) + ".0.0/16").value()}, {}};
    operation.status = Status{StatusCode::PermissionDenied, "no rights", EPERM};
    events.refused(operation);
  };
  for (int i = 0; i < 100; ++i) refuse(0);
  const auto count = [](const std::string& text) {
    int orders = 0;
    for (std::size_t at = 0; (at = text.find("refused an order", at)) != std::string::npos; ++at) ++orders;
    return orders;
  };
  EXPECT_EQ(count(told()), 1);
  for (int second = 0; second < 60; ++second) {
    refuse(0);
    events.check({});
  }
  EXPECT_THAT(told(), HasSubstr("or the same again: 'rondo health' counts the rows count=159"));
  for (int i = 1; i <= 40; ++i) refuse(i);
  EXPECT_EQ(count(told()), 5);
}

class RondodEvents : public RondodProcess {};

TEST_F(RondodEvents, APortThatGoesAndComesIsInTheLogAndWhatWasGoneAlreadyIsNoTrouble) {
  start("");
  const auto set = [this](const char* table, const char* key, json::array fields) {
    const json::object end = call("set", {{"table", table}, {"key", key}, {"fields", std::move(fields)}, {"wait_ms", 20'000}});
    EXPECT_EQ(end.at("state"), "done") << json::serialize(end);
  };
  set("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}});
  set("INTF_TABLE", "swp1", {});
  set("INTF_TABLE", "swp1:10.0.0.1/24", {});
  set("NEIGH_TABLE", "swp1:10.0.0.2", {json::array{"neigh", "02:00:00:00:00:02"}});
  set("ROUTE_TABLE", "10.9.0.0/24", {json::array{"nexthop", "10.0.0.2"}, json::array{"ifname", "swp1"}});
  call("sim-carrier", {{"port", "swp1"}, {"up", false}});
  EXPECT_TRUE(becomes([this] { return log_text().find("warn port down port=swp1 was=up") != std::string::npos; })) << log_text();
  const auto logs = [this](const char* words) { return becomes([&] { return log_text().find(words) != std::string::npos; }); };
  EXPECT_TRUE(logs("table=ROUTE_TABLE rows=1 withdrawn=1 ports=swp1")) << log_text();
  call("sim-carrier", {{"port", "swp1"}, {"up", true}});
  EXPECT_TRUE(becomes([this] { return log_text().find("info port up port=swp1 was=down") != std::string::npos; })) << log_text();
  EXPECT_THAT(log_text(), Not(HasSubstr("the data plane refused an order order=\"delete")));
  EXPECT_TRUE(call("health").at("healthy").as_bool()) << json::serialize(call("health"));
}

}  // namespace
}  // namespace rondo::daemon
