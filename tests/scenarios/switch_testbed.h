// A switch on a simulated kernel with the given ports, for the scenarios of its devices: VRFs, VLANs and LAGs. The kernel stays while
// agents start and end on it.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "agent_testbed.h"
#include "late_events.h"

namespace rondo::switch_agent {

class SwitchTest : public testing::Test {
 protected:
  explicit SwitchTest(std::initializer_list<const char*> ports) {
    for (const char* const port : ports) plane.add_port(port);
    start();
  }
  ~SwitchTest() override { stop(); }
  void start(Duration hold = {}) {
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    runtime = std::make_unique<Runtime>(std::move(options));
    runtime->on_reject([this](std::string_view, const Change&, const Status& why) { rejects.push_back(why.to_string()); });
    agent = std::make_unique<SwitchAgent>(*runtime, late, SwitchAgentOptions{.in_line = true, .hold = hold, .audit = {.period = 60s}});
    ASSERT_TRUE(agent->start().ok());
  }
  void stop() {
    agent.reset();
    runtime.reset();
  }
  void set(std::string_view table, std::string_view key, FieldList fields = {}) {
    ASSERT_TRUE(runtime->table(table).set(key, fields).ok());
  }
  void remove(std::string_view table, std::string_view key) { ASSERT_TRUE(runtime->table(table).remove(key).ok()); }
  void run_for(Duration time) { world.run_for(runtime->scheduler(), time); }
  LinkEvent link(std::string_view name) {
    const auto all = plane.links().value();
    const auto found = std::ranges::find(all, name, &LinkEvent::name);
    return found == all.end() ? LinkEvent{} : *found;
  }
  bool is_in(std::string_view port, std::string_view device) { return link(port).master && link(port).master == link(device).port; }
  Lines actual() { return lines_of(plane); }
  std::string state(std::string_view table, std::string_view key) { return std::string{to_string(runtime->row_state(table, key).plane)}; }
  std::string why(std::string_view table, std::string_view key) {
    std::string text;
    for (const WhyLink& one : runtime->why(table, key).chain) {
      text.append(text.empty() ? "" : " -> ").append(one.table).append(":").append(one.key);
      for (const Fact& fact : one.facts) text.append(" waits for ").append(fact.to_string());
      if (!one.note.empty()) text.append(" (").append(one.note).append(")");
    }
    return text;
  }
  Lines differences() {
    Lines all;
    for (const Drift& one : agent->device_differences())
      all.push_back(one.table + " " + one.key + ": " + one.actual + ", not " + one.wanted);
    return all;
  }
  std::size_t unsettled() {
    std::size_t rows = 0;
    for (const ConsumerStats& stats : runtime->consumers()) rows += stats.queued + stats.parked + stats.in_flight;
    return rows;
  }

  sim::World world{1};
  SimDataPlane plane{{.seed = 1, .spend = [this](Duration time) { world.clock().advance(time); }}};
  LateEvents late{plane};
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<SwitchAgent> agent;
  Lines rejects;
};

}  // namespace rondo::switch_agent
