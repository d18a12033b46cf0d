// The switch of switch_testbed.h with the rows of one VLAN: for vlan_test.cc and fdb_test.cc.
#pragma once

#include <gmock/gmock.h>

#include <utility>

#include "switch_testbed.h"

namespace rondo::switch_agent {

/// Port A is an untagged member of Vlan10, port B a tagged one.
class VlanTest : public SwitchTest {
 protected:
  VlanTest() : SwitchTest({"A", "B"}) {}
  void ports() {
    for (const char* const port : {"A", "B"}) set("PORT_TABLE", port, {{"admin_status", "up"}});
  }
  void members() {
    set("VLAN_MEMBER_TABLE", "Vlan10:A", {{"tagging_mode", "untagged"}});
    set("VLAN_MEMBER_TABLE", "Vlan10:B", {{"tagging_mode", "tagged"}});
  }
  void interface() {
    set("INTF_TABLE", "Vlan10:10.0.0.1/24");
    set("INTF_TABLE", "Vlan10:2001:db8::1/64");
    set("INTF_TABLE", "Vlan10");
    set("NEIGH_TABLE", "Vlan10:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "Vlan10"}});
  }
  void everything() {
    set("VLAN_TABLE", "Vlan10", {{"admin_status", "up"}, {"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}, {"host_ifname", ""}});
    ports();
    members();
    interface();
    run_for(2s);
  }
  void remove_interface() {
    remove("ROUTE_TABLE", "20.0.0.0/8");
    remove("NEIGH_TABLE", "Vlan10:10.0.0.2");
    for (const char* const key : {"Vlan10:10.0.0.1/24", "Vlan10:2001:db8::1/64", "Vlan10"}) remove("INTF_TABLE", key);
  }
  void remove_members() {
    for (const char* const key : {"Vlan10:A", "Vlan10:B"}) remove("VLAN_MEMBER_TABLE", key);
  }
  void expect_whole() {
    EXPECT_THAT(rejects, testing::IsEmpty());
    EXPECT_EQ(unsettled(), 0U);
    const LinkEvent vlan = link("Vlan10");
    EXPECT_TRUE(vlan.bridge && vlan.ours && vlan.admin_up && vlan.carrier);
    EXPECT_EQ(vlan.mtu, 9000U);
    EXPECT_EQ(vlan.mac.to_string(), "02:00:00:00:10:10");
    EXPECT_TRUE(is_in("A", "Vlan10"));
    EXPECT_TRUE(is_in("B.10", "Vlan10"));
    EXPECT_TRUE(link("B.10").admin_up);
    EXPECT_EQ(link("B.10").vlan, 10U);
    EXPECT_EQ(link("B.10").lower, link("B").port);
    EXPECT_FALSE(link("B").master);
    const Lines lines = actual();
    for (const char* const line : {"address Vlan10 10.0.0.1/24", "address Vlan10 2001:db8::1/64",
                                   "neighbor Vlan10 10.0.0.2 02:00:00:00:00:02", "route 20.0.0.0/8 via {Vlan10 10.0.0.2*1}"}) {
      EXPECT_THAT(lines, testing::Contains(line));
    }
    for (const auto& [table, key] :
         {std::pair{"VLAN_TABLE", "Vlan10"}, std::pair{"VLAN_MEMBER_TABLE", "Vlan10:A"}, std::pair{"VLAN_MEMBER_TABLE", "Vlan10:B"},
          std::pair{"INTF_TABLE", "Vlan10"}, std::pair{"ROUTE_TABLE", "20.0.0.0/8"}}) {
      EXPECT_EQ(state(table, key), "installed") << table << " " << key;
    }
  }

  const IfIndex a = link("A").port;
  const IfIndex b = link("B").port;
};

}  // namespace rondo::switch_agent
