// Orch: user code that owns one concern and handles changes. It subscribes to tables, answers each change with an Outcome, states facts, and
// may wait for facts of others. It never sees queues, threads or other Orchs. See examples/01_two_orchs.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/orch/batch.h"
#include "rondo/orch/constraint.h"
#include "rondo/orch/outcome.h"
#include "rondo/sched/priority.h"
#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo {

class Consumer;
class Runtime;

/// How an Orch consumes a table.
struct ConsumeOptions {
  TableKind kind = TableKind::Staged;
  /// Unset: the Orch's own.
  std::optional<Priority> priority;
  /// At most this share of a turn's budget (in items) goes to retried rows while new ones wait too; 0 means half.
  std::uint32_t retry_quota = 0;
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

 protected:
  using SetHandler = std::function<Outcome(std::string_view key, const Fields& fields)>;
  using RemoveHandler = std::function<Outcome(std::string_view key)>;
  using BatchHandler = std::function<void(Batch& batch)>;
  using EventHandler = std::function<void(const Change& event)>;

  /// Handles a table's changes one by one. Declares the table if need be. A second consumer of a Staged table is a program error (assert).
  Consumer& consume(std::string_view table, SetHandler set, RemoveHandler remove, ConsumeOptions options = {});
  template <class Self>
  Consumer& consume(std::string_view table, Self* self, Outcome (Self::*set)(std::string_view, const Fields&),
                    Outcome (Self::*remove)(std::string_view), ConsumeOptions options = {}) {
    return consume(
        table, [self, set](std::string_view key, const Fields& fields) { return (self->*set)(key, fields); },
        [self, remove](std::string_view key) { return (self->*remove)(key); }, options);
  }
  /// Handles up to a budget of changes at a time, each with its own answer.
  Consumer& consume_batches(std::string_view table, BatchHandler apply, ConsumeOptions options = {});
  /// Listens to a Channel: events are handled once, in order, and owe no outcome.
  void listen(std::string_view channel, EventHandler handler, std::optional<Priority> priority = {});

  /// This Orch owns the facts of 'kind': 'holds' answers whether one holds now, O(1). One provider a kind (assert).
  void provide(ConstraintKind kind, std::function<bool(std::string_view key)> holds);
  /// The fact begins to hold: every change that waits for it is queued again, in O(1) whatever their number; observers are told in a turn of
  /// their own. Announcing what nobody waits for is cheap.
  void announce(const Constraint& fact);
  /// The fact ends. Parked changes are not touched; observers are told.
  void withdraw(const Constraint& fact);
  /// Asks the provider. False if there is none.
  bool holds(const Constraint& fact) const;
  /// Calls 'handler' in a turn of this Orch for each announce and withdraw of facts of 'kind', in order.
  void observe(ConstraintKind kind, std::function<void(std::string_view key, bool holds)> handler);

  /// The outcome of a staged change. Anything but Outcome::staged().
  void settle(const Ticket& ticket, Outcome outcome);
  /// While held, a consumer takes and handles nothing; its changes wait in order. For back-pressure (a full data plane).
  void hold(Consumer& consumer);
  void release(Consumer& consumer);

  Runtime& runtime() noexcept { return runtime_; }

 private:
  friend class Runtime;
  Runtime& runtime_;
  std::string name_;
  Priority priority_;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
