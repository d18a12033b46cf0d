// VLANs with the real rondod on the real kernel: the bridge of a VLAN with its port and its address, what another program does to them, and
// a restart, which changes nothing. Tagged members need 802.1Q devices; where the kernel has none, that test skips itself, aloud, and what
// a row says then is tested instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "../agent_lines.h"
#include "rondo/dataplane/dataplane.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
namespace json = boost::json;

class VlanOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (IsSkipped()) return;
    auto opened = make_linux_dataplane({.network_namespace = lab->path(), .metric = 201});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    plane = std::move(*opened);
    start();
    write_rows();
    ASSERT_TRUE(is_installed("VLAN_MEMBER_TABLE", "Vlan10:swp1")) << answer("why", "VLAN_MEMBER_TABLE", "Vlan10:swp1");
    ASSERT_TRUE(is_installed("INTF_TABLE", "Vlan10:10.0.0.1/24")) << answer("why", "INTF_TABLE", "Vlan10:10.0.0.1/24");
    ASSERT_TRUE(is_installed("ROUTE_TABLE", "10.9.0.0/16")) << answer("why", "ROUTE_TABLE", "10.9.0.0/16");
  }
  /// For the next start: it waits for rows longer than a busy machine stops this process, and then deletes what no row asks for.
  void hold_the_next_start() const { std::ofstream(file("rondod.toml"), std::ios::app) << "hold_s = 5\n"; }
  void write_rows() {
    set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "Vlan10"}});
    set("NEIGH_TABLE", "Vlan10:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("INTF_TABLE", "Vlan10:10.0.0.1/24", {});
    set("INTF_TABLE", "Vlan10", {});
    set("VLAN_MEMBER_TABLE", "Vlan10:swp1", {{"tagging_mode", "untagged"}});
    set("VLAN_TABLE", "Vlan10", {{"mtu", "9000"}, {"mac", "02:00:00:00:10:10"}});
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  }
  std::string answer(std::string_view command, const char* table, const char* key) {
    const auto told = client->call(command, {{"table", table}, {"key", key}});
    return told ? json::serialize(*told) : told.error().to_string();
  }
  bool says(std::string_view command, const char* table, const char* key, std::string_view words) {
    return becomes([&] { return answer(command, table, key).find(words) != std::string::npos; });
  }
  bool is_installed(const char* table, const char* key) { return says("get", table, key, R"("plane":"installed")"); }
  switch_agent::Lines lines() {
    switch_agent::Lines all = switch_agent::lines_of(*plane);
    std::erase_if(all, [](const std::string& line) { return line.find(" fe80:") != std::string::npos; });
    return all;
  }
  LinkEvent link(std::string_view name) {
    const std::vector<LinkEvent> all = plane->links().value();
    const auto found = std::ranges::find(all, name, &LinkEvent::name);
    return found == all.end() ? LinkEvent{} : *found;
  }
  std::unique_ptr<DataPlane> plane;
};

TEST_F(VlanOnLinux, TheBridgeIsAsItsRowsAskAndARestartChangesNothing) {
  const LinkEvent vlan = link("Vlan10");
  EXPECT_TRUE(vlan.bridge && vlan.ours && vlan.admin_up);
  EXPECT_EQ(vlan.mtu, 9000U);
  EXPECT_EQ(vlan.mac.to_string(), "02:00:00:00:10:10");
  const switch_agent::Lines before = lines();
  EXPECT_THAT(before, Contains("port swp1 in Vlan10"));
  EXPECT_THAT(before, Contains("address Vlan10 10.0.0.1/24"));
  EXPECT_THAT(before, Contains("route 10.9.0.0/16 via {Vlan10 10.0.0.2*1}"));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait();
  hold_the_next_start();
  start();
  write_rows();
  EXPECT_TRUE(becomes([&] { return client->call("stats", {}).value().at("agent").at("restarted").as_bool(); }));
  EXPECT_EQ(client->call("stats", {}).value().at("agent").at("restart_changed").to_number<int>(), 0) << log_text();
  EXPECT_EQ(lines(), before);
  EXPECT_EQ(link("Vlan10"), vlan);
}

TEST_F(VlanOnLinux, WhatAnotherProgramDoesToThemIsRepaired) {
  const switch_agent::Lines before = lines();
  for (const char* const deed : {"link set swp1 nomaster", "link del Vlan10", "addr del 10.0.0.1/24 dev Vlan10"}) {
    ASSERT_TRUE(lab->ip(deed)) << deed;
    EXPECT_TRUE(becomes([&] { return lines() == before; }))
        << deed << ::testing::PrintToString(switch_agent::difference(lines(), before)) << log_text();
    EXPECT_TRUE(is_installed("VLAN_MEMBER_TABLE", "Vlan10:swp1")) << answer("why", "VLAN_MEMBER_TABLE", "Vlan10:swp1");
  }
  EXPECT_TRUE(becomes([&] { return link("Vlan10").mtu == 9000U && link("Vlan10").mac.to_string() == "02:00:00:00:10:10"; }))
      << link("Vlan10").mtu << " " << link("Vlan10").mac.to_string();
}

TEST_F(VlanOnLinux, AStaticEntryIsInTheBridgeAndIsPutBack) {
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:AA", {{"port", "swp1"}, {"type", "static"}});
  ASSERT_TRUE(is_installed("FDB_TABLE", "Vlan10:02:00:00:00:00:AA")) << answer("why", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA");
  EXPECT_THAT(lines(), Contains("entry Vlan10 02:00:00:00:00:aa swp1"));
  const MacAddress station{{2, 0, 0, 0, 0, 0xaa}};
  Operation gone{FdbDelete{link("swp1").port, station}, {}};
  plane->apply({&gone, 1});  // This socket stands for another program.
  ASSERT_TRUE(gone.status.ok()) << gone.status.to_string();
  EXPECT_TRUE(becomes([&] { return plane->fdb().value().size() == 1; })) << log_text();
  ASSERT_TRUE(lab->bridge("fdb replace 02:00:00:00:00:aa dev swp1 master static"));
  EXPECT_TRUE(becomes([&] {
    const std::vector<FdbEntry> entries = plane->fdb().value();
    return entries.size() == 1 && entries[0].is_sticky;
  })) << "it keeps its port when a frame arrives at another";
  const auto told = client->call("diff", {{"table", "FDB_TABLE"}});
  ASSERT_TRUE(told.has_value()) << told.error().to_string();
  EXPECT_EQ(told->at("differences").to_number<int>(), 0) << json::serialize(*told);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait();
  start();
  write_rows();
  EXPECT_TRUE(becomes([&] { return client->call("stats", {}).value().at("agent").at("restarted").as_bool(); }));
  EXPECT_TRUE(becomes([&] { return plane->fdb().value().empty(); })) << "no row asks for it any more";
}

TEST_F(VlanOnLinux, AnEntryOfAnotherControlPlaneStaysAndItsRowWaits) {
  ASSERT_TRUE(lab->bridge("fdb add 02:00:00:00:00:aa dev swp1 master static extern_learn"));
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:AA", {{"port", "swp1"}});
  EXPECT_TRUE(says("why", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA", "an entry of another control plane"));
  EXPECT_TRUE(says("get", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA", R"("plane":"foreign")"));
  EXPECT_TRUE(plane->fdb().value().empty());
  ASSERT_TRUE(lab->bridge("fdb del 02:00:00:00:00:aa dev swp1 master")) << "it is there";
  EXPECT_TRUE(is_installed("FDB_TABLE", "Vlan10:02:00:00:00:00:AA")) << answer("why", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA");
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait();
  ASSERT_TRUE(lab->bridge("fdb replace 02:00:00:00:00:aa dev swp1 master static extern_learn"));
  hold_the_next_start();
  start();
  write_rows();
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:AA", {{"port", "swp1"}});
  EXPECT_TRUE(says("get", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA", R"("plane":"foreign")"));
  ASSERT_TRUE(lab->bridge("fdb del 02:00:00:00:00:aa dev swp1 master"));
  EXPECT_TRUE(is_installed("FDB_TABLE", "Vlan10:02:00:00:00:00:AA")) << log_text();
  EXPECT_EQ(plane->fdb().value().size(), 1U);
}

TEST_F(VlanOnLinux, AnEntryThatAnotherProgramMadeLocalIsNotCalledTheAddressOfADevice) {
  ASSERT_TRUE(lab->bridge("fdb replace 02:00:00:00:00:aa dev swp1 master local"));
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:AA", {{"port", "swp1"}});
  EXPECT_TRUE(says("why", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA",
                   "static entry 02:00:00:00:00:aa on swp1: another program made the entry of this address local"))
      << answer("why", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA");
  EXPECT_THAT(json::serialize(client->call("health", {}).value()), HasSubstr("on swp1: another program made the entry"));
  const std::string own = "Vlan10:" + link("swp1").mac.to_string();
  set("FDB_TABLE", own, {{"port", "swp1"}});
  EXPECT_TRUE(says("why", "FDB_TABLE", own.c_str(), " on swp1: it is the address of a device of this bridge"));
  ASSERT_TRUE(lab->bridge("fdb del 02:00:00:00:00:aa dev swp1 master"));
  EXPECT_TRUE(is_installed("FDB_TABLE", "Vlan10:02:00:00:00:00:AA")) << answer("why", "FDB_TABLE", "Vlan10:02:00:00:00:00:AA");
}

/// The kernel names no sender of a change of an entry.
TEST_F(VlanOnLinux, OurOwnStaticEntriesCauseNoAudit) {
  const auto audits = [this](const char* kind) {
    return client->call("stats", {}).value().at("audit").at(kind).at("audits").to_number<int>();
  };
  const int before = audits("fdb");
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:AA", {{"port", "swp1"}});
  ASSERT_TRUE(is_installed("FDB_TABLE", "Vlan10:02:00:00:00:00:AA"));
  set("FDB_TABLE", "Vlan10:02:00:00:00:00:AA", {{"type", "dynamic"}});
  ASSERT_TRUE(becomes([&] { return plane->fdb().value().empty(); }));
  const int addresses = audits("addresses");
  ASSERT_TRUE(lab->ip("addr del 10.0.0.1/24 dev Vlan10"));  // A later change, whose audit comes not before that of an earlier one.
  ASSERT_TRUE(becomes([&] { return audits("addresses") > addresses; })) << log_text();
  EXPECT_EQ(audits("fdb"), before) << log_text();
}

TEST_F(VlanOnLinux, ADeletedVlanGoesWhenItsMemberAndItsAddressesAreGone) {
  const auto remove = [this](const char* table, const char* key) {
    EXPECT_TRUE(client->call("del", {{"table", table}, {"key", key}}).has_value()) << table << key;
  };
  remove("VLAN_TABLE", "Vlan10");
  EXPECT_TRUE(says("why", "VLAN_TABLE", "Vlan10", "VLAN_MEMBER_TABLE Vlan10:swp1 is still a member"));
  remove("VLAN_MEMBER_TABLE", "Vlan10:swp1");
  EXPECT_TRUE(becomes([&] { return !link("swp1").master; }));
  for (const auto& [table, key] : {std::pair{"ROUTE_TABLE", "10.9.0.0/16"}, std::pair{"NEIGH_TABLE", "Vlan10:10.0.0.2"},
                                   std::pair{"INTF_TABLE", "Vlan10:10.0.0.1/24"}, std::pair{"INTF_TABLE", "Vlan10"}}) {
    remove(table, key);
  }
  EXPECT_TRUE(becomes([&] { return !link("Vlan10").port; })) << answer("why", "VLAN_TABLE", "Vlan10");
}

TEST_F(VlanOnLinux, ATaggedMemberIsAnOwnDeviceAndAKernelWithoutThoseIsNamed) {
  set("VLAN_TABLE", "Vlan20", {});
  set("VLAN_MEMBER_TABLE", "Vlan20:swp1", {{"tagging_mode", "tagged"}});
  if (!lab->ip("link add link swp1 name tried type vlan id 7") || !lab->ip("link del tried")) {
    EXPECT_TRUE(says("why", "VLAN_MEMBER_TABLE", "Vlan20:swp1", "this kernel has no 802.1Q devices"))
        << answer("why", "VLAN_MEMBER_TABLE", "Vlan20:swp1");
    EXPECT_FALSE(link("swp1.20").port);
    std::cerr << "SKIPPED: this kernel has no 802.1Q devices (CONFIG_VLAN_8021Q)\n";
    GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: it has no 802.1Q devices";
  }
  ASSERT_TRUE(is_installed("VLAN_MEMBER_TABLE", "Vlan20:swp1")) << answer("why", "VLAN_MEMBER_TABLE", "Vlan20:swp1");
  EXPECT_EQ(link("swp1.20").master, link("Vlan20").port);
  EXPECT_EQ(link("swp1.20").vlan, 20U);
  EXPECT_TRUE(becomes([&] { return link("swp1.20").admin_up; }));
  ASSERT_TRUE(lab->ip("link del swp1.20"));
  EXPECT_TRUE(becomes([&] { return link("swp1.20").master && link("swp1.20").admin_up; })) << log_text();
}

}  // namespace
}  // namespace rondo
