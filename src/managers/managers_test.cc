// The managers in a simulated world: what rows of CONFIG_DB become in APPL_DB, what goes with them, and what a new process finds.
#include "managers/managers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "managers/managed_rows.h"
#include "orch/runtime_fixture.h"

namespace rondo::managers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A process with the managers. Takes the rows of APPL_DB in place of the switch agent.
class Process {
 public:
  explicit Process(ManagersOptions options = {}) : options_(std::move(options)) {}
  /// Begins after the test has written what an earlier process left.
  void begin() {
    auto& agent = fixture.runtime.add<OpenOrch>("agent");
    for (const char* const table :
         {"PORT_TABLE", "LAG_TABLE", "LAG_MEMBER_TABLE", "VLAN_TABLE", "VLAN_MEMBER_TABLE", "VRF_TABLE", "INTF_TABLE", "ROUTE_TABLE"}) {
      agent.consume(
          table, [this, table](std::string_view key, const Fields& fields) { return set(table, key, fields); },
          [this, table](std::string_view key) { return remove(table, key); }, {.set_replaces_delete = true});
    }
    auto opened = Managers::open(fixture.runtime, options_);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    managers = std::move(*opened);
    run();
  }
  void run() { fixture.run_for(200ms); }
  void set(std::string_view table, std::string_view key, FieldList fields = {}) {
    fixture.set(table, key, fields);
    run();
  }
  void remove_row(std::string_view table, std::string_view key) {
    fixture.remove(table, key);
    run();
  }
  std::string why(std::string_view table, std::string_view key) {
    std::string text;
    for (const WhyLink& link : fixture.runtime.why(table, key).chain) {
      text.append(link.table).append(" ").append(link.key).append(" ").append(link.note).append("; ");
    }
    return text;
  }

  RuntimeFixture fixture;
  std::unique_ptr<Managers> managers;
  std::map<std::string, std::string> rows;  // Of APPL_DB.
  std::vector<std::string> handled;         // Changes of APPL_DB.

 private:
  Outcome set(const std::string& table, std::string_view key, const Fields& fields) {
    std::map<std::string, std::string> sorted;
    for (const Field field : fields) sorted[std::string{field.name}] = field.value;
    std::string text;
    for (const auto& [name, value] : sorted) text += (text.empty() ? "" : " ") + name + "=" + value;
    rows[table + ":" + std::string{key}] = text;
    handled.push_back("S " + table + ":" + std::string{key});
    return Outcome::done();
  }
  Outcome remove(const std::string& table, std::string_view key) {
    rows.erase(table + ":" + std::string{key});
    handled.push_back("D " + table + ":" + std::string{key});
    return Outcome::done();
  }

  const ManagersOptions options_;
};

TEST(ManagersTest, APortHasTheDefaultsOfPortmgrd) {
  Process process;
  process.begin();
  process.set("PORT", "swp1", {{"lanes", "1"}});
  EXPECT_EQ(process.rows["PORT_TABLE:swp1"], "admin_status=down lanes=1 mtu=9100");
  process.set("PORT", "swp1", {{"admin_status", "up"}, {"mtu", "1500"}});
  EXPECT_EQ(process.rows["PORT_TABLE:swp1"], "admin_status=up lanes=1 mtu=1500");
}

/// Someone else may have deleted or changed the row: `config interface startup` is how a SONiC user repairs a port.
TEST(ManagersTest, ARowOfConfigThatIsWrittenAgainWritesItsRowAgain) {
  Process process;
  process.begin();
  process.set("PORT", "swp1", {{"admin_status", "up"}});
  process.remove_row("PORT_TABLE", "swp1");
  ASSERT_FALSE(process.rows.contains("PORT_TABLE:swp1"));
  process.set("PORT", "swp1", {{"admin_status", "up"}});
  EXPECT_EQ(process.rows["PORT_TABLE:swp1"], "admin_status=up mtu=9100");
}

TEST(ManagersTest, AFieldThatLeavesConfigLeavesTheRow) {
  Process process;
  process.begin();
  process.set("PORT", "swp1", {{"admin_status", "up"}, {"fec", "rs"}});
  process.fixture.remove("PORT", "swp1");
  process.set("PORT", "swp1", {{"admin_status", "up"}});
  EXPECT_EQ(process.rows["PORT_TABLE:swp1"], "admin_status=up mtu=9100");
}

TEST(ManagersTest, AnAddressWaitsForItsInterfaceAndThatForItsPort) {
  Process process;
  process.begin();
  process.set("INTERFACE", "swp1|10.0.0.1/24");
  EXPECT_THAT(process.rows, IsEmpty());
  EXPECT_THAT(process.why("INTERFACE", "swp1|10.0.0.1/24"), HasSubstr("INTERFACE swp1 "));
  process.set("INTERFACE", "swp1");
  EXPECT_THAT(process.rows, IsEmpty());
  EXPECT_THAT(process.why("INTERFACE", "swp1|10.0.0.1/24"), HasSubstr("PORT swp1 "));
  process.set("PORT", "swp1");
  EXPECT_THAT(process.handled, ElementsAre("S PORT_TABLE:swp1", "S INTF_TABLE:swp1", "S INTF_TABLE:swp1:10.0.0.1/24"));
  EXPECT_EQ(process.rows["INTF_TABLE:swp1:10.0.0.1/24"], "family=IPv4 scope=global");
}

TEST(ManagersTest, ALoopbackNeedsNoPort) {
  Process process;
  process.begin();
  process.set("LOOPBACK_INTERFACE", "Loopback0|fc00:1::32/128");
  process.set("LOOPBACK_INTERFACE", "Loopback0");
  EXPECT_THAT(process.handled, ElementsAre("S INTF_TABLE:Loopback0", "S INTF_TABLE:Loopback0:fc00:1::32/128"));
  EXPECT_EQ(process.rows["INTF_TABLE:Loopback0:fc00:1::32/128"], "family=IPv6 scope=global");
}

TEST(ManagersTest, ARowGoesWithItsSourceAndNoOther) {
  Process process;
  process.begin();
  process.set("PORT_TABLE", "other", {{"mtu", "1500"}});
  process.set("PORT", "swp1");
  process.remove_row("PORT", "other");
  process.remove_row("PORT", "swp1");
  EXPECT_THAT(process.rows, ElementsAre(testing::Pair("PORT_TABLE:other", "mtu=1500")));
  EXPECT_EQ(process.managers->managed(), 0U);
}

TEST(ManagersTest, ABadRowIsRejectedWithItsReasonAndLeavesTheGoodOne) {
  Process process;
  process.begin();
  process.set("PORT", "swp1", {{"mtu", "1500"}});
  process.set("PORT", "swp1", {{"mtu", "many"}});
  process.set("INTERFACE", "swp1|10.0.0.300/24");
  process.set("STATIC_ROUTE", "red|10.0.0.0/8", {{"nexthop", "10.0.0.2"}});
  process.set("STATIC_ROUTE", "10.0.0.0/8", {{"nexthop", "10.0.0.2,10.0.0.3"}, {"ifname", "swp1"}});
  EXPECT_THAT(process.rows, ElementsAre(testing::Pair("PORT_TABLE:swp1", "admin_status=down mtu=1500")));
  EXPECT_THAT(process.fixture.rejects, ElementsAre(HasSubstr("'many'"), HasSubstr("10.0.0.300/24"), HasSubstr("begins with Vrf"),
                                                   HasSubstr("as many entries as nexthop, 2")));
  EXPECT_THAT(process.why("PORT", "swp1"), HasSubstr("many"));
}

TEST(ManagersTest, AStaticRouteIsOnThePortThatItsGatewayIsConnectedTo) {
  Process process;
  process.begin();
  process.set("STATIC_ROUTE", "default|10.9.0.0/16", {{"nexthop", "10.0.0.2,10.0.1.2"}, {"ifname", ",swp9"}});
  EXPECT_THAT(process.rows, IsEmpty());
  EXPECT_THAT(process.why("STATIC_ROUTE", "default|10.9.0.0/16"), HasSubstr("no row of INTERFACE has a subnet with 10.0.0.2"));
  process.set("PORT", "swp1");
  process.set("INTERFACE", "swp1");
  process.set("INTERFACE", "swp1|10.0.0.1/24");
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp1,swp9 nexthop=10.0.0.2,10.0.1.2 protocol=static");
  process.remove_row("INTERFACE", "swp1|10.0.0.1/24");
  EXPECT_FALSE(process.rows.contains("ROUTE_TABLE:10.9.0.0/16"));
  process.set("INTERFACE", "swp1|10.0.0.1/24");
  EXPECT_TRUE(process.rows.contains("ROUTE_TABLE:10.9.0.0/16"));
  process.remove_row("STATIC_ROUTE", "default|10.9.0.0/16");
  EXPECT_FALSE(process.rows.contains("ROUTE_TABLE:10.9.0.0/16"));
}

TEST(ManagersTest, AStaticRouteWithoutAnAddressIsToTheDevice) {
  Process process;
  process.begin();
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"ifname", "swp1"}});
  process.set("STATIC_ROUTE", "2001:db8:9::/48", {{"ifname", "swp1"}});
  process.set("STATIC_ROUTE", "Vrf1|10.8.0.0/16", {{"nexthop", "10.0.0.2,0.0.0.0"}, {"ifname", "swp1,swp2"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp1 nexthop=0.0.0.0 protocol=static");
  EXPECT_EQ(process.rows["ROUTE_TABLE:2001:db8:9::/48"], "ifname=swp1 nexthop=:: protocol=static");
  EXPECT_EQ(process.rows["ROUTE_TABLE:Vrf1:10.8.0.0/16"], "ifname=swp1,swp2 nexthop=10.0.0.2,0.0.0.0 protocol=static");
  process.set("STATIC_ROUTE", "10.7.0.0/16", {{"nexthop", "0.0.0.0"}});
  EXPECT_THAT(process.fixture.rejects, testing::Contains(HasSubstr("a next hop without an address needs a port")));
}

TEST(ManagersTest, AVrfBecomesItsRowAndGoesWithIt) {
  Process process;
  process.begin();
  process.set("VRF", "Vrf1", {{"vni", "100"}});
  EXPECT_EQ(process.rows["VRF_TABLE:Vrf1"], "vni=100");
  process.set("VRF", "red");
  EXPECT_THAT(process.fixture.rejects, ElementsAre(HasSubstr("begins with Vrf")));
  process.remove_row("VRF", "Vrf1");
  EXPECT_THAT(process.rows, IsEmpty());
}

TEST(ManagersTest, AVlanItsMembersAndItsInterfacesBecomeTheirRowsAndGoWithThem) {
  Process process;
  process.begin();
  process.set("VLAN_INTERFACE", "Vlan10|10.0.0.1/24");
  process.set("VLAN_INTERFACE", "Vlan10");
  EXPECT_THAT(process.rows, IsEmpty());
  EXPECT_THAT(process.why("VLAN_INTERFACE", "Vlan10|10.0.0.1/24"), HasSubstr("VLAN_INTERFACE Vlan10 ; VLAN Vlan10 "));
  process.set("VLAN", "Vlan10", {{"vlanid", "10"}, {"members@", "Ethernet0"}, {"mac", "02:00:00:00:10:10"}});
  process.set("VLAN_MEMBER", "Vlan10|Ethernet0", {{"tagging_mode", "tagged"}});
  process.set("VLAN_MEMBER", "Vlan10|Ethernet4");
  EXPECT_EQ(process.rows["VLAN_TABLE:Vlan10"], "admin_status=up mac=02:00:00:00:10:10 mtu=9100 vlanid=10");
  EXPECT_EQ(process.rows["VLAN_MEMBER_TABLE:Vlan10:Ethernet0"], "tagging_mode=tagged");
  EXPECT_EQ(process.rows["VLAN_MEMBER_TABLE:Vlan10:Ethernet4"], "tagging_mode=untagged");
  EXPECT_TRUE(process.rows.contains("INTF_TABLE:Vlan10"));
  EXPECT_EQ(process.rows["INTF_TABLE:Vlan10:10.0.0.1/24"], "family=IPv4 scope=global");
  EXPECT_THAT(process.fixture.rejects, IsEmpty());
  process.set("VLAN", "Vlan4095");
  process.set("VLAN", "Vlan11", {{"mtu", "many"}});
  process.set("VLAN_MEMBER", "Vlan10");
  process.set("VLAN_MEMBER", "Vlan10|Ethernet8", {{"tagging_mode", "both"}});
  EXPECT_THAT(process.fixture.rejects,
              ElementsAre(HasSubstr("Vlan1 to Vlan4094"), HasSubstr("'many'"), HasSubstr("<vlan>:<port>"), HasSubstr("must be 'tagged'")));
  process.remove_row("VLAN_INTERFACE", "Vlan10|10.0.0.1/24");
  process.remove_row("VLAN_INTERFACE", "Vlan10");
  for (const char* const member : {"Vlan10|Ethernet0", "Vlan10|Ethernet4"}) process.remove_row("VLAN_MEMBER", member);
  process.remove_row("VLAN", "Vlan10");
  EXPECT_THAT(process.rows, IsEmpty());
}

TEST(ManagersTest, ALagItsMembersAndItsInterfacesBecomeTheirRowsAndGoWithThem) {
  Process process;
  process.begin();
  process.set("PORTCHANNEL_INTERFACE", "PortChannel1|10.0.0.1/24");
  process.set("PORTCHANNEL_INTERFACE", "PortChannel1");
  EXPECT_THAT(process.rows, IsEmpty());
  EXPECT_THAT(process.why("PORTCHANNEL_INTERFACE", "PortChannel1|10.0.0.1/24"),
              HasSubstr("PORTCHANNEL_INTERFACE PortChannel1 ; PORTCHANNEL PortChannel1 "));
  process.set("PORTCHANNEL", "PortChannel1", {{"min_links", "2"}, {"members@", "Ethernet0,Ethernet4"}, {"fast_rate", "false"}});
  process.set("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0", {{"NULL", "NULL"}});
  EXPECT_EQ(process.rows["LAG_TABLE:PortChannel1"], "admin_status=down fast_rate=false min_links=2 mtu=9100");
  EXPECT_EQ(process.rows["LAG_MEMBER_TABLE:PortChannel1:Ethernet0"], "status=enabled");
  EXPECT_TRUE(process.rows.contains("INTF_TABLE:PortChannel1"));
  EXPECT_EQ(process.rows["INTF_TABLE:PortChannel1:10.0.0.1/24"], "family=IPv4 scope=global");
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=PortChannel1 nexthop=10.0.0.2 protocol=static");
  process.remove_row("STATIC_ROUTE", "10.9.0.0/16");
  EXPECT_THAT(process.fixture.rejects, IsEmpty());
  process.set("PORTCHANNEL", "PortChannel");
  process.set("PORTCHANNEL", "PortChannel2", {{"min_links", "many"}});
  process.set("PORTCHANNEL_MEMBER", "PortChannel1");
  process.set("PORT", "PortChannel3");
  EXPECT_THAT(process.fixture.rejects, ElementsAre(HasSubstr("one to four digits"), HasSubstr("many"), HasSubstr("<lag>:<port>"),
                                                   HasSubstr("its row is in LAG_TABLE")));
  process.remove_row("PORTCHANNEL_INTERFACE", "PortChannel1|10.0.0.1/24");
  process.remove_row("PORTCHANNEL_INTERFACE", "PortChannel1");
  process.remove_row("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0");
  process.remove_row("PORTCHANNEL", "PortChannel1");
  EXPECT_THAT(process.rows, IsEmpty());
}

/// Two VRFs have the same subnet: the gateway of a route is in the VRF of the route, or in that of nexthop-vrf.
TEST(ManagersTest, AGatewayIsLookedForInItsVrf) {
  Process process;
  process.begin();
  for (const std::string port : {"swp1", "swp2"}) {
    process.set("PORT", port);
    process.set("INTERFACE", port, {{"vrf_name", port == "swp1" ? "Vrf1" : ""}});
    process.set("INTERFACE", port + "|10.0.0.1/24");
  }
  process.set("STATIC_ROUTE", "Vrf1|10.9.0.0/16", {{"nexthop", "10.0.0.2"}});
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}});
  process.set("STATIC_ROUTE", "Vrf1|10.8.0.0/16", {{"nexthop", "10.0.0.2"}, {"nexthop-vrf", "default"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:Vrf1:10.9.0.0/16"], "ifname=swp1 nexthop=10.0.0.2 protocol=static");
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp2 nexthop=10.0.0.2 protocol=static");
  EXPECT_EQ(process.rows["ROUTE_TABLE:Vrf1:10.8.0.0/16"], "ifname=swp2 nexthop=10.0.0.2 protocol=static");
  // The subnet moves with its port.
  process.set("INTERFACE", "swp1", {{"vrf_name", "Vrf2"}});
  EXPECT_FALSE(process.rows.contains("ROUTE_TABLE:Vrf1:10.9.0.0/16"));
  EXPECT_THAT(process.why("STATIC_ROUTE", "Vrf1|10.9.0.0/16"), HasSubstr("no row of INTERFACE has a subnet with 10.0.0.2 in Vrf1"));
  process.set("INTERFACE", "swp2", {{"vrf_name", "Vrf1"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:Vrf1:10.9.0.0/16"], "ifname=swp2 nexthop=10.0.0.2 protocol=static");
  EXPECT_FALSE(process.rows.contains("ROUTE_TABLE:10.9.0.0/16"));
}

TEST(ManagersTest, AnIpv4RouteHasNextHopsOfBothFamiliesAndAnIpv6RouteHasNot) {
  Process process;
  process.begin();
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"nexthop", "10.0.0.2,fe80::9"}, {"ifname", "swp1,swp2"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp1,swp2 nexthop=10.0.0.2,fe80::9 protocol=static");
  process.set("STATIC_ROUTE", "2001:db8::/32", {{"nexthop", "10.0.0.2,fe80::9"}, {"ifname", "swp1,swp2"}});
  EXPECT_FALSE(process.rows.contains("ROUTE_TABLE:2001:db8::/32"));
  EXPECT_THAT(process.fixture.rejects, ElementsAre(HasSubstr("an IPv6 route cannot have an IPv4 next hop")));
}

TEST(ManagersTest, OfTheNextHopsThoseOfTheSmallestDistanceCount) {
  Process process;
  process.begin();
  process.set(
      "STATIC_ROUTE", "10.9.0.0/16",
      {{"nexthop", "10.0.0.2,10.0.1.2,0.0.0.0"}, {"ifname", "swp1,swp2,"}, {"distance", "5,1,250"}, {"blackhole", "false,false,true"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp2 nexthop=10.0.1.2 protocol=static");
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"distance", "5,4,3"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "blackhole=true protocol=static");
}

TEST(ManagersTest, TheSecondOfTwoRowsForOneRouteWaitsForTheEndOfTheFirst) {
  Process process;
  process.begin();
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"blackhole", "true"}});
  process.set("STATIC_ROUTE", "default|10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "blackhole=true protocol=static");
  EXPECT_THAT(process.why("STATIC_ROUTE", "default|10.9.0.0/16"), HasSubstr("is made from STATIC_ROUTE|10.9.0.0/16"));
  process.remove_row("STATIC_ROUTE", "10.9.0.0/16");
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp1 nexthop=10.0.0.2 protocol=static");
}

TEST(ManagersTest, AManagerTakesARowOverFromAnotherProducer) {
  Process process;
  process.begin();
  process.set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop_group", "102"}});
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  EXPECT_EQ(process.rows["ROUTE_TABLE:10.9.0.0/16"], "ifname=swp1 nexthop=10.0.0.2 protocol=static");
}

/// Declares the tables and writes what an earlier process has left in them.
void leave_rows(Process& process) {
  Store& store = process.fixture.runtime.store();
  for (const std::string& table : config_tables()) ASSERT_TRUE(store.declare({.name = table, .kind = TableKind::Watched}).ok());
  ASSERT_TRUE(store.declare({.name = std::string{kManagedTable}, .kind = TableKind::Watched}).ok());
  process.fixture.set("PORT_TABLE", "other", {{"mtu", "1500"}});
  process.fixture.set("PORT_TABLE", "swp1", {{"admin_status", "up"}, {"mtu", "9100"}});
  process.fixture.set(kManagedTable, "PORT_TABLE:swp1", {{"source", "PORT|swp1"}, {"fields", "admin_status,mtu"}});
  process.fixture.set("PORT_TABLE", "swp2", {{"admin_status", "up"}, {"mtu", "9100"}});
  process.fixture.set(kManagedTable, "PORT_TABLE:swp2", {{"source", "PORT|swp2"}, {"fields", "admin_status,mtu"}});
  process.fixture.set(kManagedTable, "PORT_TABLE:swp3", {{"source", "PORT|swp3"}});
  process.fixture.set("PORT", "swp1", {{"admin_status", "up"}});
}

TEST(ManagersTest, ANewProcessDeletesWhatConfigNoLongerHasAndNothingElse) {
  Process process;
  leave_rows(process);
  process.begin();
  process.run();
  EXPECT_EQ(process.rows,
            (std::map<std::string, std::string>{{"PORT_TABLE:other", "mtu=1500"}, {"PORT_TABLE:swp1", "admin_status=up mtu=9100"}}));
  EXPECT_THAT(process.handled, testing::Not(testing::Contains("D PORT_TABLE:swp1"))) << "an equal row is not deleted";
  EXPECT_EQ(process.managers->managed(), 1U);
}

/// The route was deleted and written again, because it was read before the interface.
TEST(ManagersTest, ANewProcessKeepsARouteWhoseGatewayIsConnected) {
  Process process;
  leave_rows(process);
  process.fixture.set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}, {"protocol", "static"}});
  process.fixture.set(kManagedTable, "ROUTE_TABLE:10.9.0.0/16",
                      {{"source", "STATIC_ROUTE|10.9.0.0/16"}, {"fields", "ifname,nexthop,protocol"}});
  process.fixture.set("STATIC_ROUTE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}});
  process.fixture.set("INTERFACE", "swp1|10.0.0.1/24");
  process.fixture.set("INTERFACE", "swp1");
  process.begin();
  process.run();
  EXPECT_TRUE(process.rows.contains("ROUTE_TABLE:10.9.0.0/16"));
  EXPECT_THAT(process.handled, testing::Not(testing::Contains("D ROUTE_TABLE:10.9.0.0/16")));
}

TEST(ManagersTest, ANewProcessDeletesARouteWhoseGatewayIsConnectedNoMore) {
  Process process;
  leave_rows(process);
  process.fixture.set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}, {"protocol", "static"}});
  process.fixture.set(kManagedTable, "ROUTE_TABLE:10.9.0.0/16",
                      {{"source", "STATIC_ROUTE|10.9.0.0/16"}, {"fields", "ifname,nexthop,protocol"}});
  process.fixture.set("STATIC_ROUTE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}});
  process.begin();
  process.run();
  EXPECT_FALSE(process.rows.contains("ROUTE_TABLE:10.9.0.0/16"));
}

TEST(ManagersTest, ARowThatIsBadWhenANewProcessReadsItKeepsWhatItMadeBefore) {
  Process process;
  leave_rows(process);
  process.fixture.set("PORT", "swp2", {{"mtu", "many"}});
  process.begin();
  process.run();
  EXPECT_TRUE(process.rows.contains("PORT_TABLE:swp2"));
}

TEST(ManagersTest, NothingIsWrittenOrDeletedBeforeTheManagersMayBegin) {
  bool may_begin = false;
  Process process({.may_begin = [&may_begin] { return may_begin; }});
  leave_rows(process);
  process.begin();
  process.handled.clear();
  process.fixture.run_for(5s);
  EXPECT_THAT(process.handled, IsEmpty());
  may_begin = true;
  process.run();
  EXPECT_EQ(process.rows.size(), 2U);
}

TEST(ManagersTest, WhatConfigNoLongerHasStaysUntilTheSafetyStopPermitsItsDeletion) {
  bool may_delete = false;
  std::vector<std::uint64_t> asked;
  Process process({.may_delete = [&](std::uint64_t stale, std::uint64_t total) {
    asked = {stale, total};
    return may_delete;
  }});
  leave_rows(process);
  process.begin();
  process.fixture.run_for(5s);
  EXPECT_THAT(asked, ElementsAre(2U, 3U));
  EXPECT_TRUE(process.rows.contains("PORT_TABLE:swp2"));
  EXPECT_TRUE(process.managers->has_read_config());
  EXPECT_THAT(process.why(kManagedTable, "PORT_TABLE:swp2"), HasSubstr("the safety stop holds it"));
  process.set("PORT", "swp2", {{"admin_status", "up"}});  // The configuration comes back.
  process.fixture.run_for(2s);
  EXPECT_THAT(asked, ElementsAre(1U, 3U));
  may_delete = true;
  process.fixture.run_for(2s);
  EXPECT_TRUE(process.rows.contains("PORT_TABLE:swp2"));
  EXPECT_EQ(process.managers->managed(), 2U);
}

/// The owner is stored before the row, so a process that is killed between the two leaves an owner without a row, never a row without one.
TEST(ManagersTest, TheOwnerIsStoredBeforeTheRow) {
  Process process;
  process.begin();
  process.fixture.set("PORT", "swp1");
  bool has_owner = false;
  for (int turns = 0; turns < 1000 && !has_owner; ++turns) {
    process.fixture.runtime.run_until_idle(1);
    process.fixture.runtime.store().get(kManagedTable, "PORT_TABLE:swp1", [&](const Result<Record>& row) { has_owner = row && *row; });
    ASSERT_TRUE(has_owner || !process.rows.contains("PORT_TABLE:swp1"));
  }
  process.run();
  EXPECT_TRUE(process.rows.contains("PORT_TABLE:swp1"));
}

TEST(ManagersTest, AnOwnerThatAnotherProgramDeletedIsStoredAgain) {
  Process process;
  process.begin();
  process.set("PORT", "swp1");
  process.remove_row(kManagedTable, "PORT_TABLE:swp1");
  std::string source;
  process.fixture.runtime.store().get(kManagedTable, "PORT_TABLE:swp1", [&source](const Result<Record>& row) {
    if (row && *row) source = row->fields().find(kSourceField).value_or("");
  });
  process.run();
  EXPECT_EQ(source, "PORT|swp1");
}

TEST(ManagersTest, WhyOfARowOfConfigGoesOnWithTheRowThatWasMadeOfIt) {
  Process process;
  process.begin();
  process.set("PORT", "swp1");
  process.set("INTERFACE", "swp1");
  process.set("INTERFACE", "swp1|10.0.0.1/24");
  process.set("STATIC_ROUTE", "default|10.9.0.0/16", {{"blackhole", "true"}});
  // The agent of the test reports no states, so the rows count as not installed.
  EXPECT_THAT(process.why("PORT", "swp1"), HasSubstr("PORT swp1 port-manager made PORT_TABLE swp1 of it; PORT_TABLE swp1 "));
  EXPECT_THAT(process.why("INTERFACE", "swp1|10.0.0.1/24"), HasSubstr("; INTF_TABLE swp1:10.0.0.1/24 "));
  EXPECT_THAT(process.why("STATIC_ROUTE", "default|10.9.0.0/16"), HasSubstr("; ROUTE_TABLE 10.9.0.0/16 "));
  EXPECT_THAT(process.why("STATIC_ROUTE", "10.9.0.0/16"), testing::Not(HasSubstr("ROUTE_TABLE"))) << "made from another row";
  process.set("PORT", "swp1", {{"mtu", "many"}});
  EXPECT_THAT(process.why("PORT", "swp1"), HasSubstr("'many'")) << "the manager refuses it, and why says so";
  process.remove_row("PORT", "swp1");
  EXPECT_THAT(process.why("PORT", "swp1"), testing::Not(HasSubstr("PORT_TABLE")));
}

TEST(ManagersTest, RowsThatAnotherProgramDeletesOrChangesAreWrittenAgainWithinSeconds) {
  Process process;
  process.begin();
  process.set("PORT", "swp1", {{"admin_status", "up"}});
  process.set("STATIC_ROUTE", "10.9.0.0/16", {{"blackhole", "true"}});
  const auto rows = process.rows;
  process.remove_row("PORT_TABLE", "swp1");
  process.set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop_group", "102"}});
  EXPECT_NE(process.rows, rows);
  process.fixture.run_for(3s);
  EXPECT_EQ(process.rows, rows);
  EXPECT_EQ(process.managers->repaired(), 2U);
  EXPECT_THAT(process.managers->last_repair(), HasSubstr("ROUTE_TABLE 10.9.0.0/16: with the field nexthop_group"));
  process.handled.clear();
  process.fixture.run_for(10s);
  EXPECT_THAT(process.handled, IsEmpty());
}

TEST(ManagersTest, AFieldOfAnotherProgramInAPortIsNoChange) {
  Process process;
  process.begin();
  process.set("PORT", "swp1");
  process.set("PORT_TABLE", "swp1", {{"oper_status", "up"}});
  process.handled.clear();
  process.fixture.run_for(5s);
  EXPECT_THAT(process.handled, IsEmpty());
  EXPECT_EQ(process.managers->repaired(), 0U);
}

TEST(ManagersTest, ARowThatConfigDeletedIsNotWrittenAgain) {
  Process process;
  process.begin();
  process.set("PORT", "swp1");
  process.fixture.run_for(900ms);
  process.remove_row("PORT_TABLE", "swp1");
  process.fixture.run_for(200ms);  // The first comparison has found it.
  process.remove_row("PORT", "swp1");
  process.fixture.run_for(5s);
  EXPECT_THAT(process.rows, IsEmpty());
  EXPECT_EQ(process.managers->repaired(), 0U);
}

}  // namespace
}  // namespace rondo::managers
