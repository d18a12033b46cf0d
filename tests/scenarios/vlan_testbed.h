// The agent on a simulated kernel with ports for VLANs, and the rows of one VLAN: for vlan_test.cc and fdb_test.cc.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_testbed.h"
#include "late_events.h"

namespace rondo::switch_agent {

/// A kernel that stays while agents start and end on it. Port A is an untagged member of Vlan10, port B a tagged one.
class VlanTest : public testing::Test {
 protected:
  VlanTest() {
    a = plane.add_port("A");
    b = plane.add_port("B");
    start();
  }
  ~VlanTest() override { stop(); }
  void start() {
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    runtime = std::make_unique<Runtime>(std::move(options));
    runtime->on_reject([this](std::string_view, const Change&, const Status& why) { rejects.push_back(why.to_string()); });
    agent = std::make_unique<Agent>(*runtime, late, SwitchAgentOptions{.mode = Programmer::Mode::Inline, .audit = {.period = 60s}});
    ASSERT_TRUE(agent->start().ok());
  }
  void stop() {
    agent.reset();
    runtime.reset();
  }
  void set(std::string_view table, std::string_view key, std::initializer_list<Field> fields = {}) {
    ASSERT_TRUE(runtime->table(table).set(key, fields).ok());
  }
  void remove(std::string_view table, std::string_view key) { ASSERT_TRUE(runtime->table(table).remove(key).ok()); }
  void run_for(Duration time) { world.run_for(runtime->scheduler(), time); }
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
  LinkEvent link(std::string_view name) {
    const auto all = plane.links().value();
    const auto found = std::ranges::find(all, name, &LinkEvent::name);
    return found == all.end() ? LinkEvent{} : *found;
  }
  bool is_in(std::string_view port, std::string_view bridge) { return link(port).master && link(port).master == link(bridge).port; }
  Lines actual() { return lines_of(plane); }
  std::string state(std::string_view table, std::string_view key) { return std::string{to_string(runtime->row_state(table, key).plane)}; }
  std::string why(std::string_view table, std::string_view key) {
    std::string text;
    for (const WhyLink& one : runtime->why(table, key).chain) {
      text.append(text.empty() ? "" : " -> ").append(one.table).append(":").append(one.key);
      for (const Constraint& fact : one.facts) text.append(" waits for ").append(fact.to_string());
      if (!one.note.empty()) text.append(" (").append(one.note).append(")");
    }
    return text;
  }
  std::size_t owed() {
    std::size_t rows = 0;
    for (const ConsumerStats& stats : runtime->consumers()) rows += stats.queued + stats.parked + stats.in_flight;
    return rows;
  }
  void expect_whole() {
    EXPECT_THAT(rejects, testing::IsEmpty());
    EXPECT_EQ(owed(), 0U);
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

  sim::World world{1};
  SimDataPlane plane{{.seed = 1, .spend = [this](Duration time) { world.clock().advance(time); }}};
  LateEvents late{plane};
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Agent> agent;
  Lines rejects;
  IfIndex a, b;
};

}  // namespace rondo::switch_agent
