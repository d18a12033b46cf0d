// Runtime: one scheduler with its store, its Orchs, and their ledgers and facts. A daemon has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/orch/elsewhere.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/orch/runtime_observer.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"

namespace rondo {

class RowTap;
class RuntimePart;
class Worker;
struct ReplayedRun;
struct RowEvent;

struct RuntimeOptions {
  PolicyOptions policy = BudgetedFrames{};
  /// Replaceable parts; nullptr means the real one: system clock, epoll, embedded store. An object given here must outlive the runtime.
  const Clock* clock = nullptr;
  Reactor* reactor = nullptr;
  /// Makes the store after the scheduler exists; empty: the embedded store. If it returns an error, Runtime::open() returns that error.
  std::function<Result<std::unique_ptr<Store>>(Scheduler&)> store = {};
  /// Receives what the runtime does, for example a journal (rondo/journal/journal.h); nullptr: none. The runtime destroys it last.
  std::unique_ptr<RuntimeObserver> observer = nullptr;
  /// Only for a replay (replay::Replay::runtime_options()); it must outlive the runtime.
  const ReplayedRun* replayed = nullptr;
  /// Priority of the turns that run posted functions (post()).
  Priority posted = Priority::p7;
  /// Log a warning for each reject and each exception of a handler, until on_reject() is called, and an error for each source that is
  /// quarantined, until Scheduler::on_quarantine() is called. A line names table, key or source, and the reason, and goes to standard
  /// error: at most 20 lines in a burst and 5 a second; the next line says how many were left out. A simulated runtime
  /// (sim::World, replay::Replay) logs none.
  bool log_rejects = true;
  /// Threads of run_elsewhere(), 1 to limits::kExecutorThreads; for other numbers open() returns InvalidArgument.
  unsigned elsewhere_threads = limits::kElsewhereThreads;
};

/// A reference to a table for writers. Copyable; valid while the runtime lives. It writes on the runtime's thread (asserted); other threads
/// post a function that writes (Runtime::post). A journal records its writes and those of Orch::write alike: a replay refuses a handler's
/// write if it was refused in the recorded run. A replay does not repeat a write from outside the Orchs' turns, such as one by main()
/// before run(): the journal has the changes that resulted from it.
class Table {
 public:
  Status set(std::string_view key, FieldList fields) { return write(Change::set(key, fields)); }
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
  Status refused_;  // Why the store refused the table.
};

/// Where a fact comes from: the row that would make it true, and a note for people, such as "the port has no carrier".
struct FactOrigin {
  std::string table = {};
  std::string key = {};
  std::string note = {};
  std::optional<Fact> fact = {};  // In place of a row: another fact that would make it true, whose rows are meant.
};

/// One row of the answer to "why is this not done?".
struct WhyLink {
  /// Absent: no change of this key is unsettled; the row was never written, or it is done. Rejected: the same, but the newest change of the
  /// key was rejected; the note says why. Unknown: a worker consumes the table and was too busy to answer.
  enum class State : std::uint8_t { Absent, Queued, InFlight, Parked, Rejected, Unknown };
  std::string table;  // Empty if no row is known that would make the fact true.
  std::string key;
  State state = State::Absent;
  PlaneState plane = PlaneState::Unknown;  // Runtime::explain_state().
  std::string plane_error = {};            // Why 'plane' is not known: what the function of explain_state() threw. Also in the note.
  /// The state of the earlier version of a row that has an unsettled or rejected change.
  PlaneState before = PlaneState::Unknown;
  std::optional<ChangeOp> op = {};  // The operation that is unsettled, if there is one.
  std::vector<Fact> facts;          // The facts that the row waits for, or that ended and withdrew it; those that do not hold are first.
  std::size_t missing = 0;          // How many of 'facts' do not hold.
  bool any_fact = false;            // One of 'facts' is enough (Outcome::wait_for_any).
  std::string provider;             // Orchs that provide the missing facts, "a, b"; if none is missing, the first fact. Empty if none does.
  std::string note;                 // For people: further explanation.
  std::string origin_note = {};     // The part of 'note' that is FactOrigin::note.
  /// Index of the link whose row waits for this one; the first link is its own parent. 'fact' is the fact that row waits for.
  std::size_t parent = 0;
  std::optional<Fact> fact = {};
  /// Rows that could make 'fact' true, including this one; any one of them is enough. With 'any_fact' of the parent: those of its facts.
  std::size_t any_of = 1;
};

/// A tree of rows, from the row in question down to the facts that no row states yet. Each link is behind its parent, and the links below
/// the first missing fact are before those below the second. Each row is followed once.
struct Why {
  std::vector<WhyLink> chain;
  /// The row in question cannot be done because rows wait for each other: such a row is at both ends of the cycle. If several rows could
  /// make a fact true (any_of), a cycle through one of them does not count while another is outside the cycle.
  bool cycle = false;
  bool cut_short = false;  // There were more than limits::kWhyDepth links or limits::kWhyFacts facts, or the workers took limits::kWhyWait.
};

/// Facts that the sweep found: while rows waited for them or depended on them, their Orch did not announce their beginning or did not
/// withdraw them at their end. Each is a fault of that Orch: the rows were handled up to a second late.
struct ForgottenFacts {
  std::uint64_t announcements = 0;
  std::uint64_t withdrawals = 0;
  std::string newest;  // For people: "nexthop-group:102 holds, but was not announced by nexthops".
};

/// Figures of one consumer.
struct ConsumerStats {
  std::string table;
  std::string orch;
  std::uint64_t taken = 0;  // Changes taken from the store.
  std::uint64_t taken_deletes = 0;
  std::uint64_t handled = 0;  // Outcomes that the handler returned.
  std::uint64_t done = 0;
  std::uint64_t rejected = 0;
  std::uint64_t parked_ever = 0;
  std::uint64_t retried = 0;
  std::uint64_t thrown = 0;                // Exceptions of the handler that became rejects.
  std::uint64_t spurious_waits = 0;        // Times the handler waited for a fact that holds.
  std::uint64_t full_turns = 0;            // Turns that left changes in the table because ConsumeOptions::rows_max rows were unsettled.
  std::uint64_t rejections_forgotten = 0;  // Rejected keys whose reason `why` can no longer report: limits::kRejectionsKept.
  std::size_t rejected_rows = 0;           // Rows whose newest change was rejected.
  std::size_t queued = 0;
  std::size_t parked = 0;
  std::size_t parked_peak = 0;
  std::uint64_t redone = 0;  // Done rows that were handled again because a fact ended (Outcome::done_while).
  std::size_t bound = 0;     // Rows that are done while facts hold.
  std::size_t in_flight = 0;
  bool caught_up = false;            // Each row that existed when the Orch was made has been taken: Subscription::caught_up().
  Duration longest_resolve_wait{0};  // From the announcement of a fact (or a due time) to the first turn with rows that waited for it.
  /// Nanoseconds from the write of a change to its outcome Done, which for a staged change is the answer of its data plane. The write is
  /// when the change came into this process (Subscription::next_arrivals()); where the store does not know it, the turn that took the
  /// change. Merged changes count once, from the first of them. A change that waited for facts or a time counts from the turn that took it
  /// again.
  Log2Histogram latency_ns = {};
  std::string last_reject;
  std::string standing_reject;            // The newest reason among rejected_rows.
  std::size_t delayed_rows = 0;           // The part of 'parked' whose handler tries again after a time.
  std::string first_delay;                // The reason of the row that has waited longest.
  std::optional<PlaneCounts> plane = {};  // States of its rows, if its Orch reports them: Runtime::explain_state().
  /// ConsumeOptions::rows_max while so many rows are unsettled and the table has more changes, which the consumer does not take; otherwise
  /// 0.
  std::size_t full_at = 0;
  /// How long the Orch has held the table (Orch::hold), or, with 'awaits', the table has waited; 0: it does not, or no change waits.
  Duration held_for{0};
  std::string awaits = {};  // The table whose standing rows come first (ConsumeOptions::needs); empty: none.
  /// How long none of the staged changes ('in_flight') was settled; 0: none is staged, or ConsumeOptions::watches_staged.
  Duration unanswered_for{0};
  std::string quarantine = {};  // Why its consumer gets no more turns (Source::quarantine()); empty while it gets them.
};

/// Threads: a runtime belongs to the thread that runs its turns (run(), run_until_idle(), a foreign loop). Before the first turn it belongs
/// to the thread that made it. Its functions, those of its Orchs and of its tables may be called on that thread only, which is asserted,
/// with names. Any thread may call post() and stop(). After stop() one other thread may call the other functions once the owner has left
/// run(), such as main() after it has joined that thread. Any thread may destroy a runtime that no thread runs; while another thread is in
/// run() or gives turns, its destruction is asserted.
class Runtime {
 public:
  /// For tests, and for programs that cannot run without a runtime: where open() returns an error, this prints it and ends the process.
  explicit Runtime(RuntimeOptions options = {});
  /// ResourceExhausted when the process is out of descriptors; InvalidArgument, with the reason, for an invalid policy. If
  /// RuntimeOptions::store returns an error, open() returns it with the prefix "opening the store"; InvalidArgument if it returned a null
  /// store.
  static Result<std::unique_ptr<Runtime>> open(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Makes an Orch that lives as long as the runtime: `runtime.add<Routes>(argument...)` calls Routes(runtime, argument...). Where
  /// try_add() returns an error, this prints it and ends the process.
  template <class T, class... Arguments>
  T& add(Arguments&&... arguments) {
    Result<T*> made = try_add<T>(std::forward<Arguments>(arguments)...);
    if (!made) cannot_add(made.error());
    return **made;
  }

  /// Like add(), for programs whose store may refuse a table. Returns the first error that consume(), consume_batches(), listen() or
  /// provide() met in the constructor, with the names of Orch and table. The constructor runs to its end; the Orch is then destroyed before
  /// its first turn. ResourceExhausted beyond limits::kTables, or without a descriptor for a subscription. InvalidArgument: the Orch has an
  /// empty name. FailedPrecondition: a table of another kind or with a consumer, a kind of fact with a provider. Other errors are those of
  /// Store::declare and Store::subscribe. An exception of the constructor passes through, and the runtime keeps nothing of the Orch.
  template <class T, class... Arguments>
  Result<T*> try_add(Arguments&&... arguments) {
    T* added = nullptr;
    Status refused = add_made([&]() -> std::unique_ptr<Orch> {
      auto orch = std::make_unique<T>(*this, std::forward<Arguments>(arguments)...);
      added = orch.get();
      return orch;
    });
    if (!refused.ok()) return failure(std::move(refused));
    return added;
  }

  /// Runs 'function' in a turn of this runtime. Any thread may call it, also the runtime's own, even in a turn. Functions run in the order
  /// in which they were posted, at RuntimeOptions::posted. A function that throws is lost and reported to on_reject(). ResourceExhausted
  /// when limits::kMailboxMessages functions wait; Cancelled after stop(); InvalidArgument for an empty function; FailedPrecondition once
  /// on_reject() has thrown for a function, because no function runs after that. Functions that still wait when the runtime is destroyed
  /// are not run. The runtime must not be destroyed during the call. Cost: one mutex and a few instructions; a sleeping runtime is woken. A
  /// replay repeats the writes of a posted function, but not what it does to an Orch's own state. To reach an Orch in a way that a replay
  /// repeats, write a row or an event.
  Status post(std::function<void()> function);

  /// A table for writers. Declares a Staged table if it is unknown. If the store refuses it, for example beyond limits::kTables, each write
  /// returns the store's error.
  Table table(std::string_view name);

  /// The runtime owns 'part' from now on. It must have no other part of the same type (assert). A component above the Orchs uses it for the
  /// objects that it keeps for each runtime.
  void add_part(std::unique_ptr<RuntimePart> part);
  /// The part of exactly this type; null if there is none. O(parts).
  RuntimePart* find_part(const std::type_info& type) const noexcept;

  /// Runs 'work', which may block, on a thread of a small pool. Then calls 'done' with the result in a turn of 'priority' on this runtime's
  /// scheduler. 'work' returns nothing, a Status, a T or a Result<T>, and may take a std::stop_token; 'done' takes the Status or the
  /// Result<T>. What 'work' throws becomes an Internal status. What 'done' throws is reported to on_reject.
  ///   runtime.run_elsewhere([file] { return read_whole(file); }, [this](Result<std::string> text) { ... });
  /// ResourceExhausted when limits::kElsewhereTasks works wait for 'done', or when the threads cannot be started; 'done' is then not
  /// called. Works begin in order; with more than one thread they run concurrently and end in any order.
  /// End: the destructor of the runtime requests the stop of running works and waits for them, however long they take. It drops works that
  /// have not begun. From then on no 'done' is called, and run_elsewhere() returns Cancelled.
  /// Simulation: in a sim::World, and with a RuntimeOptions::clock that is no SystemClock, there are no threads: 'work' runs in a turn.
  /// Replay: the journal records the result if its type has an ElsewhereCodec; a replay then gives that result and does not run 'work'. A
  /// result of another type makes the replay report "different" at that point.
  template <class Work, class Done>
  Status run_elsewhere(Work work, Done done, Priority priority = Priority{48}) {
    return run_elsewhere_job(elsewhere::make_job(std::move(work), std::move(done)), priority);
  }

  Scheduler& scheduler() noexcept;
  Store& store() noexcept;
  const Clock& clock() const noexcept;
  /// RuntimeOptions::observer; null if there was none.
  RuntimeObserver* observer() const noexcept;

  /// Runs turns until stop(). See Scheduler.
  void run();
  std::uint64_t run_until_idle(std::uint64_t max_turns = UINT64_MAX);
  /// Ends run() after the turn that is under way. Any thread; also from a signal handler.
  void stop() noexcept;

  /// Sets the callback for rejects and failed handlers. It is called once for each rejected change, with table, change and reason. It is
  /// also called for a posted function that threw, with the names "post" and "function".
  /// Default: RuntimeOptions::log_rejects. An empty callback ignores all of them. It must not throw.
  void on_reject(std::function<void(std::string_view table, const Change& change, const Status& why)> callback);
  /// Calls the callback of on_reject(), for a RuntimePart that calls handlers of its own.
  void report_reject(std::string_view table, const Change& change, const Status& why) const;

  // Introspection. O(result), bounded by 'max'. A home runtime includes its workers: it asks each one in a turn of that worker and waits at
  // most limits::kWorkerAskWait. The result omits a worker that is busy for longer. `why` asks several times: it does not ask a busy worker
  // again, asks no worker after limits::kWhyWait, and names a worker that it left out. A worker's runtime reports itself only.
  std::vector<ConsumerStats> consumers() const;
  /// Sources that get no more turns, as "NAME is quarantined: REASON", workers whose thread has ended although nothing called
  /// Worker::stop(), and tables that this program writes and none of its Orchs consumes, in which changes wait. A table on a server is
  /// not reported, because another process may consume it.
  std::vector<std::string> standstills(std::size_t max) const;
  /// Number of facts that rows wait for. O(1).
  std::size_t awaited_facts() const;
  /// Facts that the sweep found. While rows wait for facts or depend on them, the sweep checks every fact within a second
  /// (limits::kFactSweepPeriod). Does not include the workers of a home runtime.
  const ForgottenFacts& forgotten_facts() const;
  Why why(std::string_view table, std::string_view key) const;
  /// The first link of why(), without following the others.
  WhyLink row_state(std::string_view table, std::string_view key) const;
  /// The same for a row that was already read from the store.
  WhyLink row_state(std::string_view table, const Record& row) const;
  /// Calls 'listener' for each event at the consumer of 'table' from now on. NotFound if no Orch of this runtime consumes it; Orchs of its
  /// workers do not count. InvalidArgument for an empty function.
  Result<std::unique_ptr<RowTap>> tap(std::string_view table, std::function<void(const RowEvent& event)> listener);
  /// The same for the events of the row of 'key', and for each fact that an Orch announces while rows wait for it. Events of other keys
  /// cost one lookup, however many such listeners a table has.
  Result<std::unique_ptr<RowTap>> tap_row(std::string_view table, std::string_view key,
                                          std::function<void(const RowEvent& event)> listener);
  /// The same for the changes that the consumer takes, before they are merged with what waits.
  Result<std::unique_ptr<RowTap>> tap_taken(std::string_view table, std::function<void(const Change& change)> listener);
  /// Sets the function that tells `why` which row makes a fact of 'kind' true.
  void explain(FactKind kind, std::function<FactOrigin(std::string_view key)> origin_of);
  /// The same where any one of several rows would make the fact true: `why` follows each, and shows at most limits::kWhyDepth of them.
  void explain(FactKind kind, std::function<std::vector<FactOrigin>(std::string_view key)> origins_of);
  /// Sets the functions that tell `why`, `get` and `show` the state of rows of 'table' in the data plane of their Orch. 'state_of' is
  /// called for a row without an unsettled change, and must be O(1). 'row' is the row from the store, or null if the caller does not have
  /// it. 'counts' is optional and must be O(1). Both are called on the thread of the table's consumer and may be replaced. If 'state_of'
  /// throws, the state of that row is unknown, and the answers give the text of the exception (WhyLink::plane_error). If 'counts' throws,
  /// the figures of the table have no counts.
  using StateOf = std::function<RowInPlane(std::string_view key, const Record* row)>;
  void explain_state(std::string_view table, StateOf state_of, std::function<PlaneCounts()> counts = {});
  /// The program alone writes 'table', so commands such as `rondo del` refuse to. 'why' is for people: whose rows they are, and what to do
  /// instead. Table::write() is not affected.
  void reserve(std::string_view table, std::string why);
  /// FailedPrecondition with the reason for a table that is reserved.
  Status check_reserved(std::string_view table) const;

 private:
  friend class Orch;
  friend class AskAgain;
  friend class Table;
  friend class Consumer;
  friend class RuntimeView;
  friend class Worker;
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> parts);
  static Result<std::unique_ptr<Impl>> make_parts(RuntimeOptions options);
  [[noreturn]] static void cannot_add(const Status& why);
  /// Calls 'make' and keeps the Orch, or returns the first error that its constructor met.
  Status add_made(const std::function<std::unique_ptr<Orch>()>& make);
  Status run_elsewhere_job(std::unique_ptr<elsewhere::Job> job, Priority priority);
  /// The worker on which an Orch consumes 'table'; nullptr if there is none.
  const Worker* worker_of(std::string_view table) const;
  /// Why the rows of 'table' cannot be observed: no consumer of this runtime takes them.
  Status no_tap(std::string_view table) const;
  struct BusyWorkers;
  struct WhyStep;
  WhyStep why_step(const FactOrigin& at, const Record* row) const;
  WhyStep why_step_anywhere(const FactOrigin& at, BusyWorkers& busy, const Record* row = nullptr) const;
  std::vector<FactOrigin> origins_anywhere(const Fact& fact, BusyWorkers& busy) const;
  struct WhyWalk;
  /// Asks each worker 'question' on that worker's thread and returns the answers. Workers in 'busy' are not asked. A worker that does not
  /// answer in time is left out and added to 'busy'.
  template <class Answer>
  std::vector<Answer> ask_workers(std::function<Answer(Runtime& worker)> question, BusyWorkers* busy = nullptr) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
