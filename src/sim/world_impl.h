// The implementation of a World with a program: the present process, the state that outlives it, and the observers. Used only by world.cc
// and world_process.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orch/runtime_events.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"
#include "sim/event_trace.h"
#include "sim/executor_faults.h"
#include "sim/faults.h"
#include "sim/observed_store.h"
#include "sim/producer.h"
#include "sim/sim_disk.h"
#include "sim/sim_store.h"
#include "sim/turn_monitor.h"

namespace rondo::sim {

struct World::Impl final : RuntimeEvents, Faults::Victim {
  explicit Impl(World& owner);

  // RuntimeEvents.
  void row(const RowEvent& event) override;
  void announcing(const Fact& fact) override;
  void asking_again(const Fact& fact) override;
  void withdrawing(const Fact& fact) override;

  // Faults::Victim.
  SimStore* remote_store() override { return remote; }
  SimDataPlane* kernel() override { return plane.get(); }
  SimDisk* disk() override { return has_own_disk() ? &tables : nullptr; }
  ExecutorFaults& executors() override { return executor_faults; }
  void crash_soon() override { crash_due = true; }
  void happened(std::string_view what) override { report({.kind = Event::Kind::Fault, .text = what}); }

  void report(const Event& event);
  void store_write_ended(std::string_view table, const Change& change, const Status& end);
  void fail(std::string_view checker, const Status& why);

  std::unique_ptr<Store> make_store(Scheduler& scheduler);
  bool has_own_disk() const noexcept { return world.options_->store == StoreKind::Durable && !world.options_->make_store; }
  void begin_process();
  void end_process();
  void after_turn();
  void check_at_rest();
  /// A description of the work under way; empty if there is none.
  std::string moving() const;

  World& world;
  Random random;  // For the world's own events; independent of the caller's draws.
  std::unique_ptr<SimDataPlane> plane;
  SimDisk tables;  // Not used by a Durable or a Remote store, which have their own.
  Producer producer;
  ExecutorFaults executor_faults;
  Faults faults;
  std::vector<std::unique_ptr<Checker>> checkers;
  EventTrace trace;
  TurnMonitor turns;
  std::optional<std::string> violation;
  Program program;
  std::uint64_t processes = 0;
  bool crash_due = false;
  Instant last_event;

  // Members of the process.
  ObservedStore* store = nullptr;
  SimStore* remote = nullptr;
  std::unique_ptr<Runtime> runtime;
  std::shared_ptr<void> parts;
};

}  // namespace rondo::sim
