// Orch: user code that owns one concern and handles changes. It subscribes to tables, answers each change with an Outcome, states facts,
// and may wait for facts of others. It never sees queues, threads or other Orchs. See examples/01_two_orchs.cc.
//
// Threads: the runtime calls the handlers on its own thread, and the functions of an Orch are for that thread alone (asserted, with names).
// Another thread posts a function (Runtime::post), a message (Orch::address) or nothing.
//
// What consume(), consume_batches(), listen() and provide() are refused, in the constructor, Runtime::try_add() answers, and Runtime::add()
// ends the process with it. The constructor goes on meanwhile: a table that was refused hands out nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/message/agent.h"
#include "rondo/orch/batch.h"
#include "rondo/orch/constraint.h"
#include "rondo/orch/elsewhere.h"
#include "rondo/orch/outcome.h"
#include "rondo/sched/priority.h"
#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo {

class Consumer;
class Runtime;

/// How an Orch consumes a table.
struct ConsumeOptions {
  /// Staged or Watched (assert): changes of one key may merge while they wait. A Queue, whose operations must not, is for listen().
  TableKind kind = TableKind::Staged;
  /// Unset: the Orch's own.
  std::optional<Priority> priority = {};
  /// The consumer's share of the time of its priority, under Tie::ConsumedTime: see Source::weight. From 1 to limits::kWeightMost (assert).
  std::uint32_t weight = 1;
  /// While retried and new rows both wait, this share of a turn's budget (in items) goes to retried rows; 0 means half. New rows always
  /// keep at least one item of a whole turn; in turns that end by time, and with one item a turn, the proportion holds over several of them
  /// (seed 002: "limit the number of tasks to retry ... avoid starvation").
  std::uint32_t retry_quota = 0;
  /// Most changes that a bulk handler gets at once; never more than the turn's items. The time of a turn is looked at between its calls, so
  /// less means shorter turns, and more suits a device that takes as long for many as for one.
  std::uint32_t batch_max = limits::kBatchItems;
  /// Rows the consumer may owe; beyond it nothing is taken from the table until some are settled.
  std::size_t rows_max = limits::kLedgerRows;
  /// What the handler's fields are: see Rows. A Watched table always gives whole rows.
  Rows rows = Rows::Whole;
  /// False: the handler is not given the rows that stand when the Orch is made, for an Orch that keeps its rows beyond the process itself.
  bool standing_rows = true;
  /// A Set replaces the Delete of its key that has not run: the handler gets the Set alone and changes the row in one step. This holds for
  /// a Delete that is queued or waits for facts, and with whole rows also for one behind a change in flight. A Delete that waits for a time
  /// stays, because part of it may be done. For handlers that take a Set's fields as the whole (sonic-swss: "a SET removes a stuck DEL").
  bool set_replaces_delete = false;
};

/// How an Orch listens to events.
struct ListenOptions {
  /// Unset: the Orch's own.
  std::optional<Priority> priority = {};
  /// Channel: each event once while this process is up. Queue: each operation once, in order, kept until it is taken. Nothing else
  /// (assert).
  TableKind kind = TableKind::Channel;
  /// Called, in order with the events, when some may have been missed (overflow, lost connection).
  std::function<void()> on_gap = {};
};

/// Names a change that was answered with Outcome::staged(), until it is settled. A stale ticket settles nothing.
struct Ticket {
  Consumer* consumer = nullptr;
  std::uint32_t row = 0;
  std::uint32_t generation = 0;
};

class Orch {
 public:
  Orch(Runtime& runtime, std::string name, Priority priority);
  virtual ~Orch();
  Orch(const Orch&) = delete;
  Orch& operator=(const Orch&) = delete;

  std::string_view name() const noexcept { return name_; }
  Priority priority() const noexcept { return priority_; }
  /// An Orch is an agent, too: messages that are posted here are handled by what receive() says. Any thread may use the address.
  /// First asked for, or receive() called, in the constructor (assert). Nothing is accepted before Runtime::add has returned.
  Address address();

 protected:
  using SetHandler = std::function<Outcome(std::string_view key, const Fields& fields)>;
  using RemoveHandler = std::function<Outcome(std::string_view key)>;
  using BatchHandler = std::function<void(Batch& batch)>;
  using EventHandler = std::function<void(const Change& event)>;

  /// Handles a table's changes one by one. Declares the table if need be. Refused (see above): what the store refuses, a table of another
  /// kind, and a table that an Orch of this runtime consumes already.
  Consumer& consume(std::string_view table, SetHandler set, RemoveHandler remove, ConsumeOptions options = {});
  /// With member functions, which may be const: `consume("ROUTE", this, &Routes::set, &Routes::remove)`.
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
  /// Handles up to a budget of changes at a time, each with its own answer.
  Consumer& consume_batches(std::string_view table, BatchHandler apply, ConsumeOptions options = {});
  /// Listens to a Channel or a Queue: events are handled once, in order, and owe no outcome. One whose handler throws is reported to
  /// Runtime::on_reject and lost.
  void listen(std::string_view channel, EventHandler handler, ListenOptions options = {});

  /// This Orch owns the facts of 'kind': 'holds' answers whether one holds now, O(1), and does not throw. Refused (see above): a kind that
  /// has its provider.
  void provide(ConstraintKind kind, std::function<bool(std::string_view key)> holds);
  /// The fact begins to hold: every change that waits for it is queued again, in O(1) whatever their number; observers are told in a turn
  /// of their own. Announcing what nobody waits for is cheap. This Orch provides the fact's kind (assert).
  void announce(const Constraint& fact);
  /// The fact ends: every row that is done while it holds (Outcome::done_while) is handled again, in O(1) whatever their number; observers
  /// are called in a turn of their own. Rows that wait for the fact go on waiting. This Orch provides the
  /// fact's kind (assert).
  void withdraw(const Constraint& fact);
  /// Asks the provider. False if there is none.
  bool holds(const Constraint& fact) const;
  /// Is a change parked under this fact? One that waits for several facts is parked under the first of them that did not hold, and is not
  /// seen under the others. Nor is one whose wait is over and which was not handled yet: after announce() nobody waits, until handlers wait
  /// anew.
  bool is_awaited(const Constraint& fact) const;
  /// Calls 'handler' in a turn of this Orch when facts of 'kind' are announced or withdrawn. Events of one fact merge while they wait, but
  /// an end is never lost: withdrawn and announced again is told as both. What the handler throws is reported to Runtime::on_reject.
  void observe(ConstraintKind kind, std::function<void(std::string_view key, bool holds)> handler);

  /// Handles messages, as Agent does: `receive<&Routes::reload>()` for `void reload(const Reload&)`, in the constructor (assert). They take
  /// turns of this Orch's priority with those of all agents and Orchs of the runtime; messages and changes are not ordered with each other.
  /// What a handler throws is dropped and counted.
  template <auto Method, class Self = typename message::MethodTraits<decltype(Method)>::Self>
  void receive() {
    add_handler(message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// As Agent::subscribe, in the constructor (assert).
  template <auto Method, class M, class Self = typename message::MethodTraits<decltype(Method)>::Self>
  Status subscribe(const Topic<M>& topic) {
    using Traits = message::MethodTraits<decltype(Method)>;
    static_assert(std::is_same_v<typename Traits::Type, M> && !Traits::kTakesOver,
                  "a handler of a topic takes a const reference to its type");
    return add_subscription(topic.core_, message::handler_for<Method>(static_cast<Self&>(*this)));
  }
  /// As Agent::limit and Agent::coalesce.
  template <Message M>
  void limit(Limit limit) {
    add_limit(message::kType<M>, limit, message::KeyOf{});
  }
  template <auto Key, Message M>
  void coalesce(std::size_t keys = limits::kMessagesOfType, Overflow overflow = Overflow::Reject) {
    add_limit(message::kType<M>, Limit{keys, overflow}, message::kKeyOf<M, Key>);
  }

  /// Names the change being handled, for a handler that answers Outcome::staged(). Inside a handler of single changes only (assert); a
  /// batch has its own.
  Ticket current_ticket() const;
  /// The outcome of a staged change; not Outcome::staged() again (assert). A ticket that was settled already is ignored.
  void settle(const Ticket& ticket, const Outcome& outcome);
  /// Handles the row of 'key' again: its handler gets the whole row, in a turn of the consumer. For what no fact tells, such as a device
  /// that lost its state. Does nothing if there is no such row, or if a change of it waits already, whose handler will see the world as it
  /// is then. A row that is staged is handled again after its outcome. Cannot be refused; with a store elsewhere the row is read again,
  /// which needs the connection, unless it is done while facts hold. O(1).
  void requeue(Consumer& consumer, std::string_view key);
  /// While held, a consumer takes and handles nothing; its changes wait in order. For back-pressure (a full data plane).
  void hold(Consumer& consumer);
  void release(Consumer& consumer);

  /// Calls 'handler' in a turn of this Orch each 'period', which is above 0 (assert), for as long as the Orch lives; the first time in one
  /// period from now. Periods that pass while the runtime is busy are skipped. What it throws is told to Runtime::on_reject. It is an input
  /// of a replay like any timer. TimerSource (rondo/sched/timer.h) is for timers that are armed once, or stopped.
  void every(Duration period, std::function<void()> handler);

  /// Store::write, on the record: what an Orch decides by the answer comes out the same in a replay. 'done' may be empty, and is called in
  /// a turn of the store's, which may come after this Orch's end.
  Status write(std::string_view table, Change change, WriteDone done = {});

  /// Runtime::run_elsewhere at this Orch's priority; 'done' is not called after this Orch has gone. 'work' runs on another thread: it owns
  /// what it uses, and does not touch this Orch.
  template <class Work, class Done>
  Status run_elsewhere(Work work, Done done) {
    return run_elsewhere_job(elsewhere::make_job(std::move(work), std::move(done)));
  }

  Runtime& runtime() noexcept { return runtime_; }

 private:
  friend class Runtime;
  friend class AskAgain;
  message::Seat& seat();
  Status run_elsewhere_job(std::unique_ptr<elsewhere::Job> job);
  void add_handler(const message::Handler& handler);
  Status add_subscription(const std::shared_ptr<message::TopicCore>& topic, const message::Handler& handler);
  void add_limit(const message::MessageType& type, const Limit& limit, const message::KeyOf& key);
  /// The runtime has it whole: its messages may come.
  void take_seat();
  Consumer& add_consumer(std::string_view table, std::function<Outcome(const Change&)> handle, BatchHandler handle_batch,
                         const ConsumeOptions& options);
  std::unique_ptr<Subscription> open_table(std::string_view table, TableKind kind, const SubscribeOptions& options, Priority priority);
  void refuse(const Status& why);
  std::string called(std::string_view function, std::string_view what) const;
  void expect_provided(const Constraint& fact, std::string_view function) const;

  Runtime& runtime_;
  std::string name_;
  Priority priority_;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
