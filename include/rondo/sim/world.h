// World: time, randomness and the environment of a simulation, all from one seed; two runs with the same seed are identical. Two ways to
// use it:
//   - for a separate Scheduler: clock(), reactor(), run_for(scheduler, ...);
//   - for a whole program: start() makes the process from the production Runtime and the caller's Orchs. The world is its store, its data
//     plane, its clocks and the client that writes its tables. The FaultPlan sets the faults; checkers observe. See
//     examples/04_simulated_test.cc and docs/guide/testing-under-simulation.md.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/random.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime_observer.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/sim_clock.h"
#include "rondo/sim/checker.h"
#include "rondo/sim/fault_plan.h"
#include "rondo/store/store.h"

namespace rondo {
class Runtime;
class SimReactor;
}  // namespace rondo

namespace rondo::sim {

/// Where the tables are, and what survives the end of a process.
enum class StoreKind : std::uint8_t {
  Embedded,  // In the process: nothing survives.
  Durable,   // In the process, with a disk: confirmed writes survive, and perhaps more (FaultPlan::commit_high).
  Remote,    // On a server (SimStore): all writes that reached it survive.
};

struct WorldOptions {
  std::uint64_t seed = 1;
  FaultPlan faults = {};
  StoreKind store = StoreKind::Embedded;
  /// Replaces 'store': makes the store of each process.
  std::function<std::unique_ptr<Store>(Scheduler&)> make_store = {};
  /// Makes the observer of each process, such as a journal. Empty: none is needed.
  std::function<std::unique_ptr<RuntimeObserver>(const Clock&)> make_observer = {};
  /// Capacity and costs of orders; the world sets seed and 'spend'.
  SimDataPlaneOptions plane = {};
  PolicyOptions policy = BudgetedFrames{};
  /// True: a row with a failed write is deleted before it is written again. False: it is written over the existing row. Use false for
  /// programs whose Sets take no effect while their Deletes wait for other rows (ConsumeOptions::set_replaces_delete), and whose rows
  /// always have the same fields.
  bool deletes_before_rewriting = true;
  /// How long nothing may happen until the world is at rest. Longer than each time after which the program does something by a timer that
  /// is not that of a parked row, such as an order that it retries.
  Duration rest = 1s;
};

struct TurnSeen;

class World {
 public:
  explicit World(std::uint64_t seed);
  explicit World(WorldOptions options);
  /// Ends the process, if there is one.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimClock& clock() noexcept { return clock_; }
  Reactor& reactor() noexcept;
  Random& random() noexcept { return random_; }
  std::uint64_t seed() const noexcept { return random_.seed(); }
  Instant now() const noexcept { return clock_.now(); }

  /// The simulated time of a turn, in addition to the clock().advance() calls of its handler. Must be above zero, so that a source that
  /// always has more work cannot stop time.
  void set_turn_cost(Duration cost) noexcept { turn_cost_ = cost; }

  /// Calls 'what' as an action of the outside world after 'delay'.
  void after(Duration delay, std::function<void()> what);

  // --- A separate scheduler.

  /// Gives 'scheduler' turns, and moves the clock over idle time, until 'time' has passed or the scheduler is stopped. Returns the number
  /// of turns.
  std::uint64_t run_for(Scheduler& scheduler, Duration time);
  /// The same until 'done' returns true, checked before each turn; false if 'limit' passes, or the scheduler is stopped, first.
  bool run_until(Scheduler& scheduler, const std::function<bool()>& done, Duration limit);

  // --- A program.

  /// Adds the Orchs to the runtime of a new process. The returned object, if any, lives as long as the process and is destroyed before the
  /// runtime.
  using Program = std::function<std::shared_ptr<void>(Runtime&)>;
  /// Begins the first process, and the faults. Call it once. 'program' is called again after each crash.
  void start(Program program);
  /// The runtime of the current process. Only after start().
  Runtime& runtime() noexcept;
  const Runtime& runtime() const noexcept;
  /// The simulated kernel, which outlives the processes. Made on the first call.
  SimDataPlane& plane();

  /// A client of the process writes a row until the store has confirmed it: writes that were refused, failed, unknown or lost in a crash
  /// are written again, as whole rows. Declares a Staged table if it is unknown.
  void set(std::string_view table, std::string_view key, std::span<const Field> fields);
  void set(std::string_view table, std::string_view key, FieldList fields);
  void remove(std::string_view table, std::string_view key);
  /// True if all writes of the row so far are confirmed.
  bool is_confirmed(std::string_view table, std::string_view key);

  /// Lets the process run for 'time'; ends earlier after a violation, or when it stopped its runtime. Returns the number of turns.
  std::uint64_t run_for(Duration time);
  /// Ends all faults and runs until nothing has happened for WorldOptions::rest and nothing is in flight; then calls the checkers'
  /// at_rest(). Rows may still be parked and timers armed; a periodic timer without effect does not count as activity. False if there is a
  /// violation already, or if activity continues for 'limit'; the violation then names it. The faults continue afterwards.
  bool come_to_rest(Duration limit = 1h);

  /// Ends the process between two turns; another one begins after 'down_for'.
  void crash(Duration down_for = Duration{0});
  /// Both clocks jump forward, as over a suspend.
  void suspend_for(Duration time);
  /// Replaces the plan.
  void set_faults(const FaultPlan& faults);

  // --- Checks.

  void add(std::unique_ptr<Checker> checker);
  /// Adds a checker that is one function, called at rest.
  void check_at_rest(std::string name, std::function<Status()> check);
  /// Records an action or a finding of the test.
  void note(std::string_view what);
  /// The first violation, as "CHECKER at turn 12: what"; it ends the run.
  const std::optional<std::string>& violation() const noexcept;
  /// For display: the current event, as a line.
  std::string last_event() const;
  /// For display: the seed, the violation if there is one, and the last events.
  std::string report() const;

  std::uint64_t turns() const noexcept { return turns_; }
  std::uint64_t crashes() const noexcept;
  /// The last turn of the program that ended; for the standard checkers.
  const TurnSeen& last_turn() const noexcept;
  /// Hash of the whole run: turns with source, items and time; events with tables, rows, facts and instants; orders to the simulated kernel
  /// and their results.
  std::uint64_t hash() const noexcept;

 private:
  struct Impl;
  bool step(Scheduler& scheduler, Instant end);
  template <class Done>
  std::uint64_t run(Instant end, const Done& done);
  Impl& inside() noexcept;

  Random random_;
  SimClock clock_;
  std::unique_ptr<SimReactor> reactor_;
  Duration turn_cost_ = 1us;
  std::uint64_t turns_ = 0;
  std::unique_ptr<WorldOptions> options_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::sim
