// Runtime: one scheduler with its store, its Orchs, their ledgers and constraints, and the journal. What a daemon makes one of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/message/agents.h"
#include "rondo/orch/elsewhere.h"
#include "rondo/orch/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/orch/row_tap.h"
#include "rondo/sched/executor_core.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"

namespace rondo {

struct RuntimeOptions {
  PolicyOptions policy = BudgetedFrames{};
  /// The seams; nullptr means the real one: system clock, epoll, embedded store. A given one must outlive the runtime.
  const Clock* clock = nullptr;
  Reactor* reactor = nullptr;
  /// Makes the store once the scheduler exists; empty: the embedded store. What it answers instead of a store, Runtime::open() answers.
  std::function<Result<std::unique_ptr<Store>>(Scheduler&)> store = {};
  /// See Journal::open; nullptr records nothing.
  std::unique_ptr<Journal> journal = nullptr;
  /// Of agents(). Without an 'on_fault' of one's own, on_reject is told of handlers of messages that throw.
  AgentsOptions agents = {};
  /// Of the turns that run what post() was given.
  Priority posted = Priority::p7;
  /// Log a warning for each reject and each exception of a handler, as long as on_reject() was not called: with table, key and reason, on
  /// standard error, at most 20 lines at once and 5 a second; the next line says how many were left out. A simulated runtime
  /// (sim::World, sim::Replay) logs none.
  bool log_rejects = true;
  /// Threads of run_elsewhere(), 1 to limits::kExecutorThreads; others are InvalidArgument of open().
  unsigned elsewhere_threads = limits::kElsewhereThreads;
};

/// A reference to a table for writers. Copyable; valid as long as the runtime. It writes on the runtime's thread (asserted): other threads
/// post a function that writes (Runtime::post). Its writes and those of Orch::write are one thing, and recorded alike: a write that a
/// handler made is refused in a replay if it was refused in the recorded run. A replay does not repeat a write that was made outside of
/// the Orchs' turns, as by main() before run(): the changes that came of it are in the journal.
class Table {
 public:
  Status set(std::string_view key, std::initializer_list<Field> fields) { return write(Change::set(key, fields)); }
  Status set(std::string_view key, std::span<const Field> fields) { return write(Change::set(key, fields)); }
  Status remove(std::string_view key) { return write(Change::remove(key)); }
  /// See Store::write.
  Status write(Change change);
  const std::string& name() const noexcept { return name_; }

 private:
  friend class Runtime;
  Table(Runtime& runtime, std::string name, Status refused = {})
      : runtime_(&runtime), name_(std::move(name)), refused_(std::move(refused)) {}
  Runtime* runtime_;
  std::string name_;
  Status refused_;  // Why the store would not have the table.
};

/// One row that waits, for people.
struct ParkedRow {
  std::string table;
  std::string key;
  Op op = Op::Set;
  std::vector<Constraint> facts;  // All it waits for; the first is the one it is indexed under.
  Duration waited{0};
  Duration retry_in{0};  // For rows parked on time.
  std::string why;       // For rows parked on time: the handler's words.
};

/// A row whose newest change was rejected.
struct RejectedRow {
  std::string key;
  std::string why;  // Or that the reason is no longer kept: limits::kRejectionsKept.
};

/// A constraint and how many rows are parked on it: each row on one at a time, the first that it lacks.
struct ParkedConstraint {
  Constraint fact;
  std::string table;  // Of the rows.
  std::size_t rows = 0;
  bool has_provider = false;
  std::string provider;  // Its name; empty if nobody provides facts of that kind.
  Duration oldest{0};    // How long the first of them has waited.
};

/// Where a fact comes from: the row that would make it true, and what else there is to say, such as "the port has no carrier".
struct FactOrigin {
  std::string table;
  std::string key;
  std::string note;
};

/// One row of the answer to "why is this not done?".
struct WhyLink {
  /// Absent: no consumer owes anything for this key; it was never written, or it is done. Rejected: the same, but the newest change of the
  /// key was refused; the note says why.
  enum class State : std::uint8_t { Absent, Queued, InFlight, Parked, Rejected };
  std::string table;  // Empty when no row is known that would make the fact true.
  std::string key;
  State state = State::Absent;
  PlaneState plane = PlaneState::Unknown;  // Runtime::explain_state().
  std::optional<Op> op = {};               // What is to be done with the row, while something is owed.
  std::vector<Constraint> facts;           // What this row waits for, or was withdrawn without; those that do not hold come first.
  std::size_t missing = 0;                 // How many of them do not hold.
  std::string provider;                    // Orch that provides the first fact; empty if nobody does.
  std::string note;                        // For people: what else there is to say.
  std::string origin_note = {};            // The part of 'note' that is FactOrigin::note.
  /// The link whose row waits for this one, and for which fact; the first link is its own parent.
  std::size_t parent = 0;
  std::optional<Constraint> fact = {};
  std::size_t any_of = 1;  // Rows that could make 'fact' true, this one included; any one of them is enough.
};

/// The rows from the asked one down to what nobody has stated yet: a tree, each link after its parent, what the first missing fact leads to
/// before what the second does. A row is followed once.
struct Why {
  std::vector<WhyLink> chain;
  /// The asked row cannot be done because rows wait for each other: such a row stands at both ends of the cycle. A cycle through one of
  /// several rows that could make a fact true (any_of) does not count while another of them is outside.
  bool cycle = false;
  bool cut_short = false;  // There were more than limits::kWhyDepth links or limits::kWhyFacts facts, or workers took limits::kWhyWait.
};

/// What the sweep found: facts that their Orch forgot to announce when they began to hold, or to withdraw when they ended, while rows
/// waited for them or depended on them. Each is a fault of that Orch: the rows were handled up to a second late.
struct ForgottenFacts {
  std::uint64_t announcements = 0;
  std::uint64_t withdrawals = 0;
  std::string newest;  // For people: "nexthop-group:102 holds, but was not announced by nexthops".
};

/// Figures of one consumer.
struct ConsumerStats {
  std::string table;
  std::string orch;
  std::uint64_t taken = 0;    // Changes from the store.
  std::uint64_t handled = 0;  // Handler answers.
  std::uint64_t done = 0;
  std::uint64_t rejected = 0;
  std::uint64_t parked_ever = 0;
  std::uint64_t retried = 0;
  std::uint64_t thrown = 0;                // Handler exceptions turned into rejects.
  std::uint64_t spurious_waits = 0;        // Handler waited for a fact that holds.
  std::uint64_t full_turns = 0;            // Turns that left changes in the table because ConsumeOptions::rows_max rows are owed.
  std::uint64_t rejections_forgotten = 0;  // Rejected keys whose reason `why` no longer knows: limits::kRejectionsKept.
  std::size_t rejected_rows = 0;           // Rows whose newest change was rejected.
  std::size_t queued = 0;
  std::size_t parked = 0;
  std::size_t parked_peak = 0;
  std::uint64_t redone = 0;  // Done rows that were handled again because a fact ended (Outcome::done_while).
  std::size_t bound = 0;     // Rows that are done while facts hold.
  std::size_t in_flight = 0;
  bool caught_up = false;            // Each row that stood when the Orch was made has been taken: Subscription::caught_up().
  Duration longest_resolve_wait{0};  // From the announcement of a fact (or a due time) to the first turn with rows that waited for it.
  std::string last_reject;
  std::string standing_reject;            // The newest one of rejected_rows.
  std::size_t delayed_rows = 0;           // Of 'parked', those whose handler tries again after a time.
  std::string first_delay;                // The reason of the one that has waited longest.
  std::optional<PlaneCounts> plane = {};  // Where its rows stand, if its Orch tells: Runtime::explain_state().
};

/// Threads: a runtime belongs to the thread that runs its turns (run(), run_until_idle(), a foreign loop), and before the first turn to the
/// thread that made it. Its functions, those of its Orchs and of its tables are for that thread, which is asserted, with names. post() and
/// stop() are for any thread. After stop() one other thread may call them once the owner has left run(), as main() after it has joined
/// that thread.
class Runtime {
 public:
  /// For programs that cannot go on without a runtime, and tests: where open() answers with a Status, this ends the process and says it.
  explicit Runtime(RuntimeOptions options = {});
  /// ResourceExhausted when the process is out of descriptors; InvalidArgument for a policy that cannot be, with the reason; what
  /// RuntimeOptions::store answered, after "opening the store", and InvalidArgument if that was no store at all.
  static Result<std::unique_ptr<Runtime>> open(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Makes an Orch that lives as long as the runtime: `runtime.add<Routes>(argument...)` calls Routes(runtime, argument...). Where
  /// try_add() answers with a Status, this ends the process and says it.
  template <class T, class... Arguments>
  T& add(Arguments&&... arguments) {
    Result<T*> made = try_add<T>(std::forward<Arguments>(arguments)...);
    if (!made) cannot_add(made.error());
    return **made;
  }

  /// The same, for programs whose store may refuse a table: the first refusal that consume(), consume_batches(), listen() or provide() met
  /// in the constructor, with the names of Orch and table. The constructor runs to its end; the Orch is then destroyed before it had a
  /// turn. ResourceExhausted beyond limits::kTables, or when a subscription has no descriptor; FailedPrecondition for a table of another
  /// kind, a table that has its consumer, a kind of fact that has its provider; and what else Store::declare and Store::subscribe answer.
  template <class T, class... Arguments>
  Result<T*> try_add(Arguments&&... arguments) {
    Adding adding(*this);
    auto orch = std::make_unique<T>(*this, std::forward<Arguments>(arguments)...);
    if (!adding.refused().ok()) return failure(adding.refused());
    T* const added = orch.get();
    adopt(std::move(orch));
    return added;
  }

  /// Runs 'function' in a turn of this runtime: the way into it for other threads. Any thread, also the runtime's own, and in a turn;
  /// functions run in the order in which they were posted, at RuntimeOptions::posted. One that throws is told to on_reject() and lost.
  /// ResourceExhausted when limits::kMailboxMessages of them wait; Cancelled after stop(). Those that wait when the runtime is destroyed
  /// are not run. The runtime must not be destroyed during the call. A mutex and a few instructions; a sleeping runtime is woken.
  /// A function is from outside: a replay repeats its writes, but not what it does to an Orch's own state. To reach an Orch so that a
  /// replay has it, write a row or an event.
  Status post(std::function<void()> function);

  /// For writers. Declares a Staged table if it is unknown; where the store refuses that, as beyond limits::kTables, writes are refused
  /// with its reason.
  Table table(std::string_view name);

  /// For agents beside the Orchs, on this runtime's scheduler; the Orchs' own messages are there, too. Made when first asked for.
  Agents& agents();

  /// Runs 'work', which may block, on a thread of a small pool, and then calls 'done' with its answer in a turn of 'priority' on this
  /// runtime's scheduler. 'work' returns nothing, a Status, a T or a Result<T>, and may take a std::stop_token; 'done' takes the Status or
  /// the Result<T>. What 'work' throws becomes an Internal status. What 'done' throws is reported to on_reject.
  ///   runtime.run_elsewhere([file] { return read_whole(file); }, [this](Result<std::string> text) { ... });
  /// ResourceExhausted when limits::kElsewhereTasks works have not been answered, or when the threads cannot be started; 'done' is not
  /// called then. Works begin in order; with more than one thread they run side by side and end in any order. The end of the runtime
  /// requests the stop of works that run and waits for them, however long they take; works that have not begun are dropped. No 'done' is
  /// called from then on, and run_elsewhere() answers Cancelled. Where the runtime has a clock of its own that is no SystemClock, and in a
  /// sim::World, there are no threads: 'work' runs in a turn. In a recorded day the answer is on the record if its type has an
  /// ElsewhereCodec; the replay then gives it and does not run 'work'. A day with an answer of another type replays as "different" at that
  /// answer.
  template <class Work, class Done>
  Status run_elsewhere(Work work, Done done, Priority priority = ExecutorOptions{}.priority) {
    return run_elsewhere_job(elsewhere::make_job(std::move(work), std::move(done)), priority);
  }

  Scheduler& scheduler() noexcept;
  Store& store() noexcept;
  const Clock& clock() const noexcept;
  Journal& journal() noexcept;

  /// Gives turns until stop(). See Scheduler.
  void run();
  std::uint64_t run_until_idle(std::uint64_t max_turns = UINT64_MAX);
  void stop() noexcept;

  /// Told once for each rejected change: table, change, reason. And for each message whose handler threw, in an Orch or in an agent: its
  /// name in place of the table, and an event with the verb "message" whose key is the message's type; of a posted function "post" and
  /// "function" are the names. Default: RuntimeOptions::log_rejects; an empty callback: nobody. Must not throw.
  void on_reject(std::function<void(std::string_view table, const Change& change, const Status& why)> callback);

  // Introspection. O(answer), bounded by 'max'. A home runtime answers for its workers, too: it asks each in a turn of the worker and waits
  // for at most limits::kWorkerAskWait; of a worker that is busy for longer nothing is said, and `why` says so, which asks many times: not
  // again who was busy, and nobody after limits::kWhyWait. A worker's runtime answers for itself alone.
  std::vector<ConsumerStats> consumers() const;
  std::vector<ParkedConstraint> parked_constraints(std::size_t max) const;
  std::vector<ParkedRow> parked_rows(std::string_view table, std::size_t max) const;
  /// The same in pages, however many there are: 'place' is 0 for the first page and kNoPlace after the last. Each call looks at
  /// kPlacesOfPage places, so a page may hold fewer than 'max', or none. What stays parked meanwhile is told once.
  static constexpr std::uint32_t kNoPlace = UINT32_MAX;
  static constexpr std::uint32_t kPlacesOfPage = 256;
  std::vector<ParkedConstraint> parked_constraints(std::size_t max, std::uint32_t& place) const;
  std::vector<ParkedRow> parked_rows(std::string_view table, std::size_t max, std::uint32_t& place) const;
  /// Rejected rows of 'table' in the order of their keys, those behind 'after', at most 'max'.
  std::vector<RejectedRow> rejected_rows(std::string_view table, std::size_t max, const std::optional<std::string>& after = {}) const;
  /// Facts that rows wait for. O(1).
  std::size_t awaited_facts() const;
  /// What the sweep found. While rows wait for facts or depend on them, it looks at every fact within a second (limits::kFactSweepPeriod).
  /// Of a home runtime: without its workers.
  const ForgottenFacts& forgotten_facts() const;
  Why why(std::string_view table, std::string_view key) const;
  /// The first link of why(), without the walk.
  WhyLink row_state(std::string_view table, std::string_view key) const;
  /// The same for a row that the store has.
  WhyLink row_state(std::string_view table, const Record& row) const;
  /// Hears what happens at the consumer of 'table' from now on. NotFound if no Orch of this runtime (not of its workers') consumes it.
  Result<std::unique_ptr<RowTap>> tap(std::string_view table, RowTap::Listener listener);
  /// Tells `why` where facts of 'kind' come from.
  void explain(ConstraintKind kind, std::function<FactOrigin(std::string_view key)> origin_of);
  /// The same where any one of several rows would make the fact true: `why` follows each, and shows at most limits::kWhyDepth of them.
  void explain(ConstraintKind kind, std::function<std::vector<FactOrigin>(std::string_view key)> origins_of);
  /// Tells `why`, `get` and `show` where rows of 'table' stand in what their Orch drives: 'state_of' answers for a row of which nothing is
  /// owed, O(1). 'row' is the row as the store has it, or null if the asker does not know. 'counts', if given, is O(1), too. Both are
  /// called on the thread of the table's consumer and may be replaced.
  using StateOf = std::function<RowInPlane(std::string_view key, const Record* row)>;
  void explain_state(std::string_view table, StateOf state_of, std::function<PlaneCounts()> counts = {});

 private:
  friend class Orch;
  friend class AskAgain;
  friend class Table;
  friend class Consumer;
  friend class RuntimeView;
  friend class Worker;
  struct Parts;
  /// An Orch is being made: hears what it is refused.
  class Adding {
   public:
    explicit Adding(Runtime& runtime);
    ~Adding();
    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;
    void refuse(Status why) {
      if (refused_.ok()) refused_ = std::move(why);
    }
    const Status& refused() const noexcept { return refused_; }

   private:
    Runtime& runtime_;
    Adding* const outer_;
    Status refused_;
  };
  explicit Runtime(std::unique_ptr<Parts> parts);
  static Result<std::unique_ptr<Parts>> make_parts(RuntimeOptions options);
  [[noreturn]] static void cannot_add(const Status& why);
  void adopt(std::unique_ptr<Orch> orch);
  Status run_elsewhere_job(std::unique_ptr<elsewhere::Job> job, Priority priority);
  struct BusyWorkers;
  struct WhyStep;
  WhyStep why_step(const FactOrigin& at, const Record* row) const;
  WhyStep why_step_anywhere(const FactOrigin& at, BusyWorkers& busy, const Record* row = nullptr) const;
  std::vector<FactOrigin> origins_anywhere(const Constraint& fact, BusyWorkers& busy) const;
  struct WhyWalk;
  /// What each worker answers to 'question', asked on its thread; of those that are busy for too long nothing. Those in 'busy' are not
  /// asked, and who does not answer is one of them from then on.
  template <class Answer>
  std::vector<Answer> ask_workers(std::function<Answer(Runtime& worker)> question, BusyWorkers* busy = nullptr) const;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
