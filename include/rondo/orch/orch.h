// Orch: user code that owns one concern and handles changes. It subscribes to tables, returns an Outcome for each change, states facts, and
// can wait for facts of other Orchs. It never handles queues or threads, and holds no reference to another Orch. See
// examples/01_two_orchs.cc.
//
// Threads: the runtime calls the handlers on its own thread. The functions of an Orch may be called on that thread only (asserted, with
// names). Another thread posts a function (Runtime::post), or a message to a MessagingOrch (rondo/message/messaging_orch.h).
//
// Errors: consume(), consume_batches(), listen() and provide() return no Status. If one of them is refused in the constructor,
// Runtime::try_add() returns the error, and Runtime::add() ends the process with it. The constructor still runs to its end: a refused table
// delivers no changes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/orch/batch.h"
#include "rondo/orch/elsewhere.h"
#include "rondo/orch/fact.h"
#include "rondo/orch/outcome.h"
#include "rondo/sched/priority.h"
#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo {

class Consumer;
class Objects;
class Runtime;

/// How an Orch consumes a table.
struct ConsumeOptions {
  /// Staged or Watched (assert): changes of one key may merge while they wait. A Queue does not merge its operations; use listen() for it.
  TableKind kind = TableKind::Staged;
  /// Unset: the priority of the Orch.
  std::optional<Priority> priority = {};
  /// The consumer's share of the time of its priority under Tie::ConsumedTime: see Source::weight. From 1 to limits::kWeightMost (assert).
  std::uint32_t weight = 1;
  /// The share of a turn's budget, in items, for retried rows while both retried and new rows wait. 0 means half. New rows always keep at
  /// least one item of a whole turn. In turns that end by time, and with one item a turn, the proportion holds over several turns. SONiC's
  /// RetryCache has the same limit: it keeps retries from starving new rows.
  std::uint32_t retry_quota = 0;
  /// The most changes of one call of a bulk handler; never more than the items of the turn. The consumer checks the time of a turn only
  /// between the calls. A smaller number gives shorter turns; a larger one suits a device that takes the same time for many changes as for
  /// one. 0 is 1.
  std::uint32_t batch_max = limits::kBatchItems;
  /// The most rows with an unsettled change. At this number the consumer takes no more changes from the table until some rows are settled.
  std::size_t rows_max = limits::kLedgerRows;
  /// Which fields the handler receives: see Rows. A Watched table always gives whole rows.
  Rows rows = Rows::Whole;
  /// False: the handler does not receive the rows that exist when the Orch is made. For an Orch that keeps its rows beyond the process.
  bool standing_rows = true;
  /// Kinds of facts that the handler needs: it gets no row before the Orch that provides them has handled the rows of its tables that
  /// existed when it was made. So a restart does not look like the loss of everything that a row depends on: a handler that removes what
  /// it has made where a fact does not hold would take it all out of service. Refused for a kind that no Orch provides yet, so add the
  /// provider first; a provider on another thread is not waited for.
  std::vector<FactKind> needs = {};
  /// A Set replaces the Delete of its key that has not run: the handler gets the Set alone and changes the row in one step. This holds for
  /// a Delete that is queued or waits for facts, and with whole rows also for one behind a change in flight. A Delete that waits for a time
  /// stays, because part of it may be done. For handlers that take a Set's fields as the whole (sonic-swss: "a SET removes a stuck DEL").
  bool set_replaces_delete = false;
  /// The Orch may list the rows of the table: Orch::rows(). It gets no row before all those are listed that the table had when the Orch was
  /// made (unless they are more than rows_max). Needs Rows::Whole and standing_rows (assert). Costs some 80 bytes a row; the record itself
  /// is shared with the embedded store, and a copy with another one.
  bool keeps_rows = false;
  /// The Orch itself limits and reports how long its staged changes take, such as the runs of jobs: ConsumerStats::unanswered_for stays 0,
  /// so `rondo health` reports none of them.
  bool watches_staged = false;
};

/// A row of a table, for the function that reconciles its object: Orch::consume_into().
struct TableRow {
  std::string_view table;
  Record record;
  std::string_view key() const noexcept { return record.key(); }
  Fields fields() const noexcept { return record.fields(); }
};

/// Names a change whose handler returned Outcome::staged(), until it is settled. settle() ignores a stale ticket.
struct Ticket {
  Consumer* consumer = nullptr;
  std::uint32_t row = 0;
  std::uint32_t generation = 0;
};

/// The consumer of a table, for hold(), release() and requeue(): a value. It is valid while the Orch of the table exists. An empty one
/// names no consumer, and must not be given to a function.
class ConsumerHandle {
 public:
  ConsumerHandle() noexcept = default;
  ConsumerHandle(Consumer& consumer) noexcept : consumer_(&consumer) {}  // NOLINT(google-explicit-constructor): Orch::consume returns it.
  explicit operator bool() const noexcept { return consumer_ != nullptr; }

 private:
  friend class Orch;
  Consumer* consumer_ = nullptr;
};

class Orch {
 public:
  Orch(Runtime& runtime, std::string name, Priority priority);
  virtual ~Orch();
  Orch(const Orch&) = delete;
  Orch& operator=(const Orch&) = delete;

  std::string_view name() const noexcept { return name_; }
  Priority priority() const noexcept { return priority_; }

 protected:
  using SetHandler = std::function<Outcome(std::string_view key, const Fields& fields)>;
  using RemoveHandler = std::function<Outcome(std::string_view key)>;
  using BatchHandler = std::function<void(Batch& batch)>;
  using EventHandler = std::function<void(const Change& event)>;
  using ObjectOf = std::function<std::string(std::string_view key)>;
  using Reconcile = std::function<Outcome(std::string_view object, std::span<const TableRow> rows)>;

  /// Handles the changes of a table one by one. Declares the table if it is unknown. Refused (see above): what the store refuses, a table
  /// of another kind, and a table that an Orch of this runtime already consumes.
  Consumer& consume(std::string_view table, SetHandler set, RemoveHandler remove, ConsumeOptions options = {});
  /// The same with member functions, which may be const: `consume("ROUTE", this, &Routes::set, &Routes::remove)`.
  template <class Self, class Set, class Remove>
  requires(std::is_member_function_pointer_v<Set>&& std::is_member_function_pointer_v<Remove>) Consumer& consume(
      std::string_view table, Self* self, Set set, Remove remove, ConsumeOptions options = {}) {
    static_assert(std::is_invocable_r_v<Outcome, Set, Self&, std::string_view, const Fields&>,
                  "a handler of Sets is: Outcome set(std::string_view key, const Fields& fields)");
    static_assert(std::is_invocable_r_v<Outcome, Remove, Self&, std::string_view>,
                  "a handler of Deletes is: Outcome remove(std::string_view key)");
    return consume(
        table, [self, set](std::string_view key, const Fields& fields) { return (self->*set)(key, fields); },
        [self, remove](std::string_view key) { return (self->*remove)(key); }, options);
  }
  /// Handles up to a budget of changes in one call; each change has its own outcome.
  Consumer& consume_batches(std::string_view table, BatchHandler apply, ConsumeOptions options = {});
  /// Handles objects that consist of rows: of one table, such as "vip1:backend3" of "vip1", or of several. 'object_of' returns the name of
  /// a row's object; it depends on the key alone, and must not throw. A row that changes makes its object dirty. 'reconcile' is called once
  /// in a turn for a dirty object, with all rows that it has now, also the unchanged ones: tables in the order of 'tables', rows in the
  /// order of their keys. Deleted rows are absent, and there may be none left. It compares the rows with what it has made of the object.
  ///
  /// The outcome is that of the object: it settles the changes of all its rows, also those that wait because of an earlier outcome. So no
  /// row waits for what its object needs no more, and `rondo why` of each changed row shows what the object waits for. A rejected row stays
  /// among the rows of its object, and any other outcome of the object ends the rejection. While the object has rows, a Delete is done when
  /// the object is rejected. done_while() needs a row. What 'reconcile' throws rejects the changes, and after std::bad_alloc delays them.
  /// With staged() the object is reconciled again after its outcome if it changed meanwhile; current_ticket() and stage_on() are for the
  /// object.
  ///
  /// No object is reconciled before all rows are known that the tables had when the Orch was made: see keeps_rows, which this implies, as
  /// well as set_replaces_delete. 'options' are those of each table. A call counts as one item of its turn, and a turn takes batch_max
  /// changes at a time. Refused as for consume(). O(rows of the object) for a call.
  std::vector<ConsumerHandle> consume_into(const std::vector<std::string_view>& tables, ObjectOf object_of, Reconcile reconcile,
                                           ConsumeOptions options = {});
  /// The rows of a table whose keys begin with 'prefix', in the order of their keys: as taken from the table, also while their change is
  /// not handled, waits or was rejected. Needs ConsumeOptions::keeps_rows (assert). O(log rows + result); after consume_into() O(all its
  /// rows).
  std::vector<Record> rows(ConsumerHandle consumer, std::string_view prefix = {}) const;
  /// Listens to a Channel, which delivers each event once while this process runs, or to a Queue, which keeps each operation until it is
  /// taken; other kinds are not allowed (assert). Events are handled once, in order, and have no outcome. If the handler throws, the event
  /// is lost and reported to Runtime::on_reject. 'on_gap' is called, in order with the events, when some may have been missed (overflow,
  /// lost connection).
  void listen(std::string_view channel, EventHandler handler, TableKind kind = TableKind::Channel, std::function<void()> on_gap = {});

  /// This Orch owns the facts of 'kind'. 'holds' returns whether a fact holds now; it must be O(1) and must not throw. Refused (see above):
  /// a kind that already has a provider.
  void provide(FactKind kind, std::function<bool(std::string_view key)> holds);
  /// The fact begins to hold. Every change that waits for it is queued again, in O(1) whatever their number. Observers are called in a turn
  /// of their own. Announcing a fact that no row waits for is cheap. This Orch must provide the kind of the fact (assert).
  void announce(const Fact& fact);
  /// The fact ends. Every row that is done while it holds (Outcome::done_while) is handled again, in O(1) whatever their number. Observers
  /// are called in a turn of their own. Rows that wait for the fact continue to wait. This Orch must provide the kind of the fact (assert).
  void withdraw(const Fact& fact);
  /// Calls 'holds' of the provider. False if the kind has no provider.
  bool holds(const Fact& fact) const;
  /// True if a change is parked under this fact. A change that waits for several facts is parked only under the first of them that did not
  /// hold; one that waits for any of several is parked under each. A change whose wait has ended is not counted, even if it was not handled
  /// yet: after announce() the result is false until a handler waits again.
  bool is_awaited(const Fact& fact) const;
  /// Calls 'handler' in a turn of this Orch when facts of 'kind' are announced or withdrawn. Events of one fact merge while they wait, but
  /// an end is never lost: a fact that was withdrawn and announced again is reported as both. What the handler throws is reported to
  /// Runtime::on_reject.
  void observe(FactKind kind, std::function<void(std::string_view key, bool holds)> handler);

  /// Names the change that is being handled, for a handler that returns Outcome::staged(). Only inside a handler of single changes
  /// (assert); a batch handler uses Batch::stage().
  Ticket current_ticket() const;
  /// Sets the outcome of a staged change; it must not be Outcome::staged() (assert). A ticket that was already settled is ignored.
  void settle(const Ticket& ticket, const Outcome& outcome);
  /// Submits 'operation' in 'lane' of 'target', an Executor, for the change that is being handled, and stages the change. In the turn of
  /// the answer it is settled with what 'outcome_of' returns for the answered operation; what that throws rejects it. 'outcome_of' may
  /// return another stage_on(), for a further operation of the same change. While the target has no room, the consumer of the change is
  /// held. Only inside a handler of single changes or 'outcome_of' (assert). The target must outlive the turns of the runtime.
  template <class Target, class Operation, class OutcomeOf>
  Outcome stage_on(Target& target, std::size_t lane, Operation operation, OutcomeOf outcome_of) {
    const Ticket ticket = current_ticket();
    const std::weak_ptr<void> alive = life();
    if (begins_to_stage_on(&target)) {
      target.on_room([this, alive, at = &target] {
        if (!alive.expired()) release_held_for(at);
      });
    }
    std::vector<Operation> operations;
    operations.push_back(std::move(operation));
    target.submit(lane, std::move(operations), [this, alive, ticket, tell = std::move(outcome_of)](std::span<Operation> answered) {
      if (!alive.expired()) settle_with(ticket, [&] { return tell(std::as_const(answered.front())); });
    });
    if (!target.has_room()) hold_for(&target, ticket);
    return Outcome::staged();
  }
  /// Handles the row of 'key' again: its handler receives the whole row, in a turn of the consumer. For events that no fact reports, such
  /// as a device that lost its state. Does nothing if there is no such row, or if a change of it already waits: that change will be handled
  /// later anyway. A staged row is handled again after its outcome. Never refused. With an external store the row is read again, which
  /// needs the connection, unless the row is done while facts hold. O(1).
  void requeue(ConsumerHandle consumer, std::string_view key);
  /// A held consumer takes and handles nothing until release(); its changes wait in order. For back-pressure (a full data plane).
  /// A hold of more than a second while changes wait is a note of `rondo health` and in `rondo why`.
  void hold(ConsumerHandle consumer);
  void release(ConsumerHandle consumer);

  /// Calls 'handler' in a turn of this Orch every 'period', for the life of the Orch; the first call is one period from now. The period
  /// must be above 0 (assert). Periods that pass while the runtime is busy are skipped. What the handler throws is reported to
  /// Runtime::on_reject. A replay repeats these calls like those of any timer. TimerSource (rondo/sched/timer.h) is for timers that are
  /// armed once or stopped.
  void every(Duration period, std::function<void()> handler);

  /// Store::write, recorded in the journal: a replay gives the Orch the same result, so its decisions repeat. 'done' may be empty. It is
  /// called in a turn of the store, possibly after this Orch was destroyed.
  Status write(std::string_view table, Change change, WriteDone done = {});

  /// Runtime::run_elsewhere at this Orch's priority; 'done' is not called after this Orch is destroyed. 'work' runs on another thread: it
  /// must own what it uses and must not touch this Orch.
  template <class Work, class Done>
  Status run_elsewhere(Work work, Done done) {
    return run_elsewhere_job(elsewhere::make_job(std::move(work), std::move(done)));
  }

  Runtime& runtime() noexcept { return runtime_; }

 private:
  friend class Runtime;
  friend class AskAgain;
  /// Called once, when the constructor has returned and the Orch belongs to the runtime.
  virtual void on_added() {}
  Status run_elsewhere_job(std::unique_ptr<elsewhere::Job> job);
  std::weak_ptr<void> life() const;
  bool begins_to_stage_on(const void* target);
  void hold_for(const void* target, const Ticket& ticket);
  void release_held_for(const void* target);
  void settle_with(const Ticket& ticket, const std::function<Outcome()>& outcome_of);
  std::vector<std::string> providers_of(std::string_view table, std::span<const FactKind> kinds);
  Consumer& add_consumer(std::string_view table, std::function<Outcome(const Change&)> handle, BatchHandler handle_batch,
                         const ConsumeOptions& options, std::shared_ptr<Objects> objects = nullptr);
  std::unique_ptr<Subscription> open_table(std::string_view table, TableKind kind, const SubscribeOptions& options, Priority priority);
  void refuse(const Status& why);
  std::string called(std::string_view function, std::string_view what) const;
  Consumer& named(ConsumerHandle handle, std::string_view function, std::string_view key = {}) const;
  void expect_provided(const Fact& fact, std::string_view function) const;

  Runtime& runtime_;
  std::string name_;
  Priority priority_;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
