// For tests of the scheduler and of the layers above it: a source made of functions, and a scheduler in a simulated world.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/sched/scheduler.h"
#include "rondo/sim/world.h"

namespace rondo::test {

/// Does 'items' items of work; each calls 'on_item'. 'items' counts the remaining ones.
class WorkSource : public Source {
 public:
  WorkSource(std::string name, unsigned priority, std::uint64_t work = 0) : Source(std::move(name), Priority{priority}), left(work) {}

  Result<Backlog> collect() override {
    ++collects;
    if (on_collect) return on_collect();
    return left > 0 ? Backlog::More : Backlog::Empty;
  }
  Turn run(const Budget& budget) override {
    Turn turn;
    if (on_run) on_run();
    for (; left > 0 && turn.items < budget.items; --left) ++turn.items;
    turn.backlog = left > 0 ? Backlog::More : Backlog::Empty;
    return turn;
  }
  bool has_backlog() const override { return left > 0; }

  std::uint64_t left;
  std::uint64_t collects = 0;
  std::function<void()> on_run;  // Called before the items of a turn.
  std::function<Result<Backlog>()> on_collect;
};

inline std::unique_ptr<Policy> policy(PolicyOptions options = StrictPriority{}) { return std::move(make_policy(options).value()); }

/// A scheduler on simulated time and descriptors that records the source of each turn.
struct Simulation {
  explicit Simulation(PolicyOptions options = StrictPriority{}, std::uint64_t seed = 1)
      : world(seed), scheduler(world.clock(), world.reactor(), policy(options)) {}

  /// Adds a source whose turns are written to 'order'.
  WorkSource& add(std::string name, unsigned priority, std::uint64_t work = 0) {
    sources.push_back(std::make_unique<WorkSource>(std::move(name), priority, work));
    WorkSource& source = *sources.back();
    source.on_run = [this, &source] { order.append(order.empty() ? "" : " ").append(source.name()); };
    scheduler.add(source);
    return source;
  }

  sim::World world;
  Scheduler scheduler;
  std::string order;
  std::vector<std::unique_ptr<WorkSource>> sources;  // Declared after the scheduler: they leave it first.
};

}  // namespace rondo::test
