// RuntimeEvents: the interface of a RuntimeObserver, and of other observers. It receives what a runtime does, in order: the changes that
// its consumers take, what becomes of each row, facts, and the store's refusals. A journal (rondo/journal/journal.h), a RowTap and a
// simulated world are observers. Without one, each event costs one branch; with one, a virtual call. Scheduler's thread. An observer only
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/fact.h"
#include "rondo/store/change.h"

namespace rondo {

class ExecutorJournal;
class TurnObserver;
struct PolicySettings;

/// One event of a row at its consumer. The views and pointers are valid during the call only.
struct RowEvent {
  enum class What : std::uint8_t {
    Taken,     // The consumer has taken 'change' from the table; it is not yet merged with the waiting change of its key.
    Merged,    // The taken change is merged into 'row', or refused (see Refused).
    Unparked,  // Follows Merged: the row was parked, and its handler is called again because of the newer change.
    Retried,   // Its wait ended, and its handler is called again.
    Redone,    // It was done; a fact that it depended on ended, and its handler is called again.
    Requeued,  // As Redone, but a newer change of the row waits: 'change' is that one, and is queued. Or the row waited, and is handled
               // with another row of its object (Orch::consume_into).
    Handled,   // The handler is about to be called. For a batch: one event for each change, before the handler's call.
    Ordered,   // The handler ordered operations for it and waits for their answers.
    // The outcomes of the handler.
    Done,        // Applied; done for as long as all 'facts' hold, if there are any (Outcome::done_while). Reported before the row changes.
    Rejected,    // The reason is 'why'. Reported before the row changes.
    Parked,      // It waits until all 'facts' hold; if 'any', until one of them does.
    Delayed,     // It waits for 'delay', that is until 'due', because of 'why'.
    Replaced,    // A Delete that would wait for 'facts' is dropped in favour of a later Set (ConsumeOptions::set_replaces_delete).
    Superseded,  // It would wait for 'facts' or until 'due', but a newer change has come: it is queued instead.
    Again,       // It would wait, but its facts hold or have ended meanwhile: it is queued instead.
    // Other events.
    StillParked,  // A row whose turn had come waits for another of its facts, which is 'facts'.
    Refused,      // The row has no room for the merged change, which is dropped because of 'why'.
    Resolved,     // 'provider' announced the only one of 'facts', and rows of this or another table waited for it. Without a key. Only for
                  // observers of one table (RowTap).
  };
  /// The row of an event that has none.
  static constexpr std::uint32_t kNoRow = UINT32_MAX;

  What what = What::Taken;
  ChangeOp op = ChangeOp::Set;
  std::uint32_t table_number = 0;  // See RuntimeEvents::table_added().
  std::uint32_t row = kNoRow;      // Numbers the row while its consumer has not settled it. None with Taken, Handled, Refused and Resolved.
  std::string_view table = {};
  std::string_view key = {};
  const Change* change = nullptr;  // Null with Ordered, StillParked and Resolved.
  std::span<const Fact> facts = {};
  bool any = false;
  Duration delay{0};
  Instant due = {};
  const Status* why = nullptr;
  std::string_view provider = {};
};

class RuntimeEvents {
 public:
  virtual ~RuntimeEvents();

  /// The first call: the scheduler was made, and has this policy.
  virtual void started(Instant /*now*/, const PolicySettings& /*policy*/) {}
  /// The observer of the runtime's turns; null: none is needed.
  virtual TurnObserver* turn_observer() { return nullptr; }
  /// Records the orders to executors that have a codec, and their answers; null: none is needed.
  virtual ExecutorJournal* executor_journal() { return nullptr; }

  // --- Tables.

  /// From now on 'table' is the number of the table with this name.
  virtual void table_added(std::uint32_t /*table*/, std::string_view /*name*/) {}
  /// The store refused the table that an Orch asked to consume or to listen to.
  virtual void table_refused(const Status& /*why*/) {}
  /// The subscription has changes to take.
  virtual void table_ready(std::uint32_t /*table*/) {}
  /// 'count' changes were taken, at least one; the events of each follow. 'is_empty': nothing is left to take.
  virtual void changes_taken(std::uint32_t /*table*/, std::size_t /*count*/, bool /*is_empty*/) {}
  /// An event of a Channel or a Queue was taken, and is handled next.
  virtual void event_taken(std::uint32_t /*table*/, const Change& /*event*/) {}
  /// Events may be missing here.
  virtual void gap(std::uint32_t /*table*/) {}
  virtual void row(const RowEvent& /*event*/) {}

  // --- Writes of Orchs and of Table.

  virtual void write_refused(const Status& /*why*/) {}
  /// A write whose end an Orch asked for has ended; 'number' counts these writes from 1.
  virtual void write_ended(std::uint64_t /*number*/, const Status& /*end*/) {}

  // --- Facts.

  /// An Orch announces the fact. Called before rows are queued because of it; announced() follows.
  virtual void announcing(const Fact& /*fact*/) {}
  /// Rows that wait for the fact are about to be queued although no Orch announces it, so that their handlers repeat their requests;
  /// announced() follows.
  virtual void asking_again(const Fact& /*fact*/) {}
  /// 'rows' rows were queued because the fact was announced, by an Orch or by the sweep.
  virtual void announced(const Fact& /*fact*/, std::size_t /*rows*/) {}
  /// An Orch withdraws the fact; withdrawn() follows.
  virtual void withdrawing(const Fact& /*fact*/) {}
  /// The fact ended, by an Orch or as the sweep found. Called before rows are queued because of it.
  virtual void withdrawn(const Fact& /*fact*/) {}
};

/// "taken", "parked", ...
std::string_view to_string(RowEvent::What what) noexcept;

}  // namespace rondo
