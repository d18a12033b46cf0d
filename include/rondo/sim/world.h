// World: time, chance and the outside of a simulation, all from one seed; two runs with the same seed are equal bit for bit. Two ways to
// use it:
//   - for a Scheduler of one's own: clock(), reactor(), run_for(scheduler, ...);
//   - for a whole program: start() makes the process out of the production Runtime and the caller's Orchs, the world is its store, its data
//     plane, its clocks and the client that writes its tables; the FaultPlan says what goes wrong; checkers look on. See
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
#include "rondo/orch/journal.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sim/checker.h"
#include "rondo/sim/fault_plan.h"
#include "rondo/sim/sim_clock.h"
#include "rondo/sim/sim_dataplane.h"
#include "rondo/sim/sim_reactor.h"
#include "rondo/store/store.h"

namespace rondo {
class Runtime;
}

namespace rondo::sim {

/// Where the tables are, and what of them outlives a process.
enum class StoreKind : std::uint8_t {
  Embedded,  // In the process: nothing does.
  Durable,   // In the process, with a disk: what was told to be written does, and perhaps more (FaultPlan::commit_high).
  Remote,    // Elsewhere (SimStore): all that came there does.
};

struct WorldOptions {
  std::uint64_t seed = 1;
  FaultPlan faults = {};
  StoreKind store = StoreKind::Embedded;
  /// Instead: makes the store of each process.
  std::function<std::unique_ptr<Store>(Scheduler&)> make_store = {};
  /// Makes the journal of each process. None: nothing is recorded.
  std::function<std::unique_ptr<Journal>(const Clock&)> make_journal = {};
  /// Room for objects and the costs of orders; seed and 'spend' are the world's.
  SimDataPlaneOptions plane = {};
  PolicyOptions policy = BudgetedFrames{};
  /// A row whose writes went wrong is deleted before it is written anew. Without, it is laid over what is there: for programs whose Sets do
  /// not come into effect while their Deletes wait for rows of others (ConsumeOptions::set_replaces_delete), and whose rows always
  /// have the same fields.
  bool deletes_before_rewriting = true;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  explicit World(WorldOptions options);
  /// Ends the process, if there is one.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  SimClock& clock() noexcept { return clock_; }
  SimReactor& reactor() noexcept { return reactor_; }
  Random& random() noexcept { return random_; }
  std::uint64_t seed() const noexcept { return random_.seed(); }
  Instant now() const noexcept { return clock_.now(); }

  /// What a turn costs in simulated time beyond what its handler says by clock().advance(). Above zero, so that a source that always has
  /// more cannot stop time.
  void set_turn_cost(Duration cost) noexcept { turn_cost_ = cost; }

  /// The outside world does 'what' in 'delay' from now.
  void after(Duration delay, std::function<void()> what) { reactor_.at(clock_.now() + delay, std::move(what)); }

  // --- A scheduler of one's own.

  /// Gives 'scheduler' turns, and moves the clock over the gaps, until 'time' has passed or the scheduler is
  /// stopped. Returns the number of turns.
  std::uint64_t run_for(Scheduler& scheduler, Duration time);
  /// The same until 'done' is true, looked at before each turn; false if 'limit' passes, or the scheduler is stopped, first.
  bool run_until(Scheduler& scheduler, const std::function<bool()>& done, Duration limit);

  // --- A program.

  /// Adds the Orchs to the runtime of a new process. What it returns, if anything, lives as long as the process and goes before the
  /// runtime.
  using Program = std::function<std::shared_ptr<void>(Runtime&)>;
  /// Begins the first process, and the faults. Once. 'program' is called again after each crash.
  void start(Program program);
  /// Of the process that lives now. Only after start().
  Runtime& runtime() noexcept;
  const Runtime& runtime() const noexcept;
  /// The kernel below; it outlives the processes. Made when first asked for.
  SimDataPlane& plane();

  /// A client of the process writes a row, and goes on until the store has said that it is done: refused, failed and unknown writes are
  /// written again, whole, as are those that a crash took. Declares a Staged table if need be.
  void set(std::string_view table, std::string_view key, std::span<const Field> fields);
  void set(std::string_view table, std::string_view key, std::initializer_list<Field> fields) {
    set(table, key, std::span<const Field>{fields.begin(), fields.size()});
  }
  void remove(std::string_view table, std::string_view key);
  /// What was written for the row so far is done.
  bool is_confirmed(std::string_view table, std::string_view key);

  /// Lets the process run for so long; less after a violation, or when it stopped its runtime. Returns the turns.
  std::uint64_t run_for(Duration time);
  /// Ends all faults and runs until nothing has happened for a second and nothing is under way; then asks the checkers. Rows may be parked
  /// still, and timers armed: one that is due again and again, and of which nothing comes, is no movement. False, with a violation that
  /// says what moves, when that is not so within 'limit', or if there is one already. The faults go on afterwards.
  bool come_to_rest(Duration limit = 1h);

  /// The process ends between two turns, and another one begins after 'down_for'.
  void crash(Duration down_for = Duration{0});
  /// Both clocks leap forward, as over a suspend.
  void suspend_for(Duration time);
  /// Replaces the plan.
  void set_faults(const FaultPlan& faults);

  // --- What is looked at.

  void add(std::unique_ptr<Checker> checker);
  /// A checker that is one function, asked at rest.
  void check_at_rest(std::string name, std::function<Status()> check);
  /// Something that a test does or finds, for the record.
  void note(std::string_view what);
  /// The first one; the run ends with it.
  const std::optional<Violation>& violation() const noexcept;
  /// For people: the event that is being told, as a line.
  std::string last_event() const;
  /// For people: the seed, the violation if there is one, and the last events.
  std::string report() const;

  std::uint64_t turns() const noexcept { return turns_; }
  std::uint64_t crashes() const noexcept;
  /// The turn that has ended last, of the program.
  const TurnSeen& last_turn() const noexcept;
  /// Everything that has happened, as one number: whose turns, how many items, when; the events, with tables, rows, facts and instants; the
  /// orders to the kernel below and what came of them.
  std::uint64_t hash() const noexcept;

 private:
  struct Inside;
  bool step(Scheduler& scheduler, Instant end);
  template <class Done>
  std::uint64_t run(Instant end, const Done& done);
  Inside& inside() noexcept;

  Random random_;
  SimClock clock_;
  SimReactor reactor_;
  Duration turn_cost_ = 1us;
  std::uint64_t turns_ = 0;
  std::unique_ptr<WorldOptions> options_;
  std::unique_ptr<Inside> inside_;
};

}  // namespace rondo::sim
