// AgentTestbed: a simulated switch: a world, a simulated kernel with ports, a runtime and the agent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"
#include "switch_agent/agent.h"

namespace rondo::switch_agent {

class AgentTestbed {
 public:
  explicit AgentTestbed(std::uint64_t seed = 1, SimDataPlaneOptions options = {}, JournalOptions journal = {}, AuditOptions audit = {},
                        SafetyOptions safety = {}, std::uint32_t retry_quota = 0)
      : world(seed),
        plane(with_cost(std::move(options))),
        journal_options(std::move(journal)),
        runtime(runtime_options()),
        agent(runtime, plane, {.in_line = true, .retry_quota = retry_quota, .safety = safety, .audit = audit}) {
    runtime.on_reject([this](std::string_view, const Change&, const Status& why) { rejects.push_back(why.to_string()); });
  }

  void start() { ASSERT_TRUE(agent.start().ok()); }
  void set(std::string_view table, std::string_view key, FieldList fields) { ASSERT_TRUE(runtime.table(table).set(key, fields).ok()); }
  void remove(std::string_view table, std::string_view key) { ASSERT_TRUE(runtime.table(table).remove(key).ok()); }
  void run_for(Duration time) { world.run_for(runtime.scheduler(), time); }

  ConsumerStats stats(std::string_view table) {
    for (const ConsumerStats& stats : runtime.consumers()) {
      if (stats.table == table) return stats;
    }
    ADD_FAILURE() << "no consumer of " << table;
    return {};
  }
  /// The number of rows for which a consumer has not settled.
  std::size_t unsettled() {
    std::size_t rows = 0;
    for (const ConsumerStats& stats : runtime.consumers()) rows += stats.queued + stats.parked + stats.in_flight;
    return rows;
  }
  /// Returns the answer of `why` as one line.
  std::string why(std::string_view table, std::string_view key) {
    std::string text;
    for (const WhyLink& link : runtime.why(table, key).chain) {
      text.append(text.empty() ? "" : " -> ").append(link.table).append(":").append(link.key);
      if (!link.facts.empty()) text.append(" waits for ").append(link.facts.front().to_string());
      if (!link.note.empty()) text.append(" (").append(link.note).append(")");
    }
    return text;
  }
  std::vector<LinkEvent> links() { return plane.links().value(); }
  Lines actual() { return lines_of(plane); }

  sim::World world;
  SimDataPlane plane;
  JournalOptions journal_options;
  Runtime runtime;
  SwitchAgent agent;
  Lines rejects;

 private:
  SimDataPlaneOptions with_cost(SimDataPlaneOptions options) {
    options.seed = world.seed();
    options.spend = [this](Duration time) { world.clock().advance(time); };
    return options;
  }
  RuntimeOptions runtime_options() {
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    options.observer = std::move(Journal::open(journal_options, world.clock()).value());
    return options;
  }
};

}  // namespace rondo::switch_agent
