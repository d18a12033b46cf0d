// Shared by the tests of consumers and runtimes: a runtime in a simulated world, and an Orch whose handlers are lambdas of the test. Tests
// only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo {

inline constexpr FactKind kGroup{"group"};

/// An Orch whose protected functions are public.
class OpenOrch final : public Orch {
 public:
  explicit OpenOrch(Runtime& runtime, std::string name = "test", Priority priority = Priority::p1)
      : Orch(runtime, std::move(name), priority) {}
  using Orch::announce;
  using Orch::consume;
  using Orch::consume_batches;
  using Orch::consume_into;
  using Orch::current_ticket;
  using Orch::every;
  using Orch::hold;
  using Orch::holds;
  using Orch::is_awaited;
  using Orch::listen;
  using Orch::observe;
  using Orch::provide;
  using Orch::release;
  using Orch::requeue;
  using Orch::rows;
  using Orch::settle;
  using Orch::stage_on;
  using Orch::withdraw;
};

/// A handler's argument as text, such as "S key" and "D key".
inline std::string call(ChangeOp op, std::string_view key) { return (op == ChangeOp::Delete ? "D " : "S ") + std::string{key}; }

class RuntimeFixture {
 public:
  using MakeStore = std::function<std::unique_ptr<Store>(Scheduler&)>;
  explicit RuntimeFixture(StrictPriority policy = {}, MakeStore store = {}) : runtime(options(policy, std::move(store))) {
    runtime.on_reject([this](std::string_view table, const Change& change, const Status& why) {
      EXPECT_FALSE(table.empty());
      rejects.push_back(call(change.op(), change.key()) + ": " + why.to_string());
    });
  }

  /// Adds an Orch that provides "group" from the set 'groups'.
  OpenOrch& add_groups() {
    auto& orch = runtime.add<OpenOrch>("groups", Priority::p5);
    orch.provide(kGroup, [this](std::string_view key) { return groups.contains(key); });
    return orch;
  }
  void set(std::string_view table, std::string_view key, FieldList fields = {}) { ASSERT_TRUE(runtime.table(table).set(key, fields).ok()); }
  void remove(std::string_view table, std::string_view key) { ASSERT_TRUE(runtime.table(table).remove(key).ok()); }
  void run() { runtime.run_until_idle(); }
  void run_for(Duration time) { world.run_for(runtime.scheduler(), time); }
  /// The statistics of the only consumer of 'table'.
  ConsumerStats stats(std::string_view table) {
    for (const ConsumerStats& stats : runtime.consumers()) {
      if (stats.table == table) return stats;
    }
    ADD_FAILURE() << "no consumer of " << table;
    return {};
  }
  const SourceStats& source(std::string_view name) {
    const Source* found = nullptr;
    runtime.scheduler().for_each_source([&](const Source& source) {
      if (source.name() == name) found = &source;
    });
    if (found == nullptr) throw std::out_of_range(std::string{name});
    return found->stats();
  }

  sim::World world{1};
  std::vector<std::string> rejects;
  std::vector<std::string> calls;
  std::set<std::string, std::less<>> groups;
  Runtime runtime;

 private:
  RuntimeOptions options(StrictPriority policy, MakeStore store) {
    RuntimeOptions options;
    options.policy = policy;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    options.store = std::move(store);
    return options;
  }
};

}  // namespace rondo
