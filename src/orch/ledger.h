// Ledger: the changes one consumer still owes an outcome, one row per key. A row is queued (or resolved: queued by a fact), in flight, or
// parked on a constraint or a time. New changes meet the waiting ones of their key here and nowhere else:
//
//   waiting      + Delete        + Set
//   nothing      Delete          Set
//   Set          Delete          the newer Set, or merged with the older (Rows::Written)
//   Delete       Delete          Delete, Set
//   Delete, Set  Delete          Delete, and the newer or merged Set
//
// (sonic-swss addToSync, kept as it is.) What is in flight is untouched; later changes wait behind it in the same row. A parked Set that
// meets a new change is queued again, because its reason to wait may be gone; a parked Delete stays parked and keeps its place before a
// Set. With ConsumeOptions::set_replaces_delete the Set replaces the Delete instead, queued or parked. A resolved row keeps its turn, and a
// Set among them that meets a new change is tried whatever else it had waited for. Owned by its consumer, scheduler's thread. merge, take,
// park, settle: O(1) expected; resolving a constraint moves one list, whatever its length.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/row_index.h"
#include "base/slab.h"
#include "orch/bound_rows.h"
#include "rondo/base/time.h"
#include "rondo/orch/constraint.h"
#include "rondo/sched/timer.h"
#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo {

class ConstraintIndex;

class Ledger {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  enum class State : std::uint8_t { Free, Queued, InFlight, Parked };

  /// A change handed to a handler.
  struct Task {
    std::uint32_t row = kNone;
    std::uint32_t generation = 0;
    Change change;
  };

  /// What happened to the row, for the journal and the counters. Refused: the Set that waits would have more than the limits of a record
  /// allow; the row is as it was.
  enum class Merged : std::uint8_t { NewRow, Joined, Unparked, Refused };

  /// 'wake' is called when rows became ready without a merge: a fact was announced or a time passed.
  /// 'set_replaces_delete': see ConsumeOptions. 'rows': what the Sets carry. A whole row replaces the Set that waits, which may have
  /// fields that the row has lost since; written fields are merged with it.
  Ledger(TimerWheel& wheel, std::function<void()> wake, bool set_replaces_delete = false, Rows rows = Rows::Written);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Says that a change of this key will be merged soon.
  void expect(std::uint64_t key_hash) const noexcept { by_key_.prefetch(key_hash); }
  /// Says that a row will be settled soon, in three steps: see orch/expect_settle.h.
  void expect_settle(std::uint32_t row, std::uint32_t generation, unsigned step) const noexcept;
  /// Says that so many of the resolved rows will be taken soon.
  void expect_resolved(std::uint32_t count) const noexcept;
  /// Merges a Set or Delete. 'index' forgets the list a row leaves when that empties it.
  Merged merge(const Change& change, Instant now, ConstraintIndex& index);
  /// The row that took the change merged last.
  std::uint32_t merged_row() const noexcept { return merged_row_; }

  /// Takes the oldest queued row in flight. A row that holds Delete and Set gives the Delete first and the Set when that is settled.
  std::optional<Task> take_new();
  /// The oldest resolved row, still parked: ask first_missing(), then park_again() or take_resolved() it. kNone if there is none.
  std::uint32_t peek_resolved() const;
  Task take_resolved(std::uint32_t row);
  /// Which of the several facts of a resolved row does not hold; kNone if the row may run. A row that waited for a single fact is not asked
  /// about: its handler will look.
  std::uint32_t first_missing(std::uint32_t row, const ConstraintIndex& index) const;

  bool has_new() const noexcept { return new_.count > 0; }
  bool has_resolved() const noexcept { return !resolved_.empty(); }
  std::size_t new_rows() const noexcept { return new_.count; }

  /// The change in flight was applied (or refused for good): drops it. What waits behind it is queued.
  void settle(std::uint32_t row);
  /// Puts the change in flight back and queues it.
  void requeue(std::uint32_t row);
  /// Whether the Delete in flight is dropped for the Set behind it if it must wait for facts (ConsumeOptions::set_replaces_delete).
  bool gives_way(std::uint32_t row) const noexcept { return set_replaces_delete_ && rows_[row].flight_is_delete && rows_[row].has_set; }
  /// Puts the change in flight back and parks it until all 'facts' hold; it is listed under facts[listed]. If a newer change has come for a
  /// Set in flight, the row is queued instead: its reason to wait may be gone; and so it is, without the Delete in flight, if that gives
  /// way. True if it is parked.
  bool park(std::uint32_t row, std::span<const Constraint> facts, std::size_t listed, Instant now, ConstraintIndex& index);
  /// The same, but for a time. 'why' is for people.
  bool park_until(std::uint32_t row, Instant due, std::string why, Instant now);
  /// Moves a resolved row, of which another fact does not hold, under that one.
  void park_again(std::uint32_t row, std::size_t listed, ConstraintIndex& index);

  /// All rows of a wait list become ready, oldest first. O(1). Called by the ConstraintIndex. Returns how many.
  std::size_t resolve(std::uint32_t list);

  // --- Rows that are done while facts hold (Outcome::done_while).

  /// Whether Sets carry whole rows.
  /// Makes a bound row ready to be handled again, as if a fact had ended.
  void release_row(std::uint32_t bound, ConstraintIndex& index);
  /// What ConstraintIndex::ends() was when the handler of the row in flight was called.
  void set_asked(std::uint32_t row, std::uint32_t ends) noexcept { rows_[row].list = ends; }
  std::uint32_t asked(std::uint32_t row) const noexcept { return rows_[row].list; }

  BoundRows& bound() noexcept { return bound_; }
  const BoundRows& bound() const noexcept { return bound_; }
  /// The Set in flight was applied and stays so while 'facts' hold: settles it and binds the row.
  void bind(std::uint32_t row, std::span<const Constraint> facts, ConstraintIndex& index);
  /// The change in flight ends what the row was bound to before.
  void unbind(std::uint32_t row, ConstraintIndex& index);
  /// All rows of a bound list become ready, oldest first. O(1). Called by the ConstraintIndex. Returns how many.
  std::size_t release(std::uint32_t list);
  bool has_ended() const noexcept { return bound_.has_ended(); }
  /// What the turn of the oldest ended row came to.
  struct Ended {
    std::optional<Task> task = {};  // The row as it was done, in flight: its handler is to be asked again.
    std::uint32_t queued = kNone;   // Or a row that waited with a newer change, which is queued now.
  };
  /// Takes the oldest row that a fact has ended for. A newer change of the key is handled in its place; one that waits is queued for that.
  /// The row stays held until that change has its outcome: if it is refused, the row as it was done is handled again (release_if_held).
  Ended take_ended(Instant now, ConstraintIndex& index);
  /// Whether a fact ended that the row as it was done depends on, while the change in flight was under way. Then that change, if it would
  /// wait, is to be handled again: its handler may not have seen the end. True once.
  bool take_end_in_flight(std::uint32_t row, ConstraintIndex& index);
  /// The change in flight is refused, so what was done before it stands: if a fact ended that it depends on, it is handled again.
  void release_if_held(std::uint32_t row);
  /// Whether the change in flight, or the one that waits, is a done one that is handled again.
  bool is_redone(std::uint32_t row) const noexcept { return rows_[row].redone; }

  bool is_current(std::uint32_t row, std::uint32_t generation) const noexcept;
  std::uint32_t find(std::string_view key) const;
  std::string_view key(std::uint32_t row) const noexcept;
  State state(std::uint32_t row) const noexcept { return rows_[row].state; }
  /// Parked, and its list was resolved: it waits only for its turn.
  bool is_resolved(std::uint32_t row) const noexcept;
  Op op(std::uint32_t row) const noexcept;
  /// The record of a row that waits: a Set's, or a Delete's with the key alone.
  const Record& pending(std::uint32_t row) const noexcept { return rows_[row].record; }
  /// The record of a row in flight.
  const Record& flight(std::uint32_t row) const noexcept { return rows_[row].flight; }
  Instant since(std::uint32_t row) const noexcept { return rows_[row].since; }
  /// Of a parked row: all it waits for, the listed one first. Empty when it waits only for a time, or for one fact that was announced.
  std::vector<Constraint> facts_of(std::uint32_t row, const ConstraintIndex& index) const;
  /// What was given to park_until(); empty for other rows.
  std::string_view why(std::uint32_t row) const noexcept;
  Instant due(std::uint32_t row) const noexcept;
  /// How often in a row its handler waited for facts that held.
  std::uint8_t& spurious_waits(std::uint32_t row) noexcept { return rows_[row].spurious; }

  bool set_replaces_delete() const noexcept { return set_replaces_delete_; }
  bool rows_are_whole() const noexcept { return rows_are_whole_; }
  std::size_t size() const noexcept { return rows_.live(); }
  std::size_t queued() const noexcept { return new_.count + resolved_rows_; }
  std::size_t parked() const noexcept { return parked_; }
  std::size_t in_flight() const noexcept { return in_flight_; }
  /// Bytes of the ledger itself, without the changes it holds.
  std::size_t bytes() const noexcept;

  /// Visits parked rows (not resolved ones), those of one constraint together, until 'visit' returns false. O(rows visited).
  template <class Visit>
  void for_each_parked(const Visit& visit) const {
    for (std::uint32_t list = first_list_; list != kNone; list = lists_[list].next) {
      for (std::uint32_t row = lists_[list].head; row != kNone; row = rows_[row].next) {
        if (!visit(row)) return;
      }
    }
  }
  /// Rows are below this number.
  std::uint32_t limit() const noexcept { return rows_.limit(); }
  /// The rows of a wait list, and since when the first of them waits.
  std::pair<std::size_t, Instant> waiting(std::uint32_t list) const noexcept {
    return {lists_[list].count, lists_[list].head == kNone ? Instant{} : rows_[lists_[list].head].since};
  }
  /// How many rows are parked on a time, and the row that was parked first.
  std::pair<std::size_t, std::uint32_t> delayed() const noexcept {
    return timed_list_ == kNone ? std::pair{std::size_t{0}, kNone}
                                : std::pair{std::size_t{lists_[timed_list_].count}, lists_[timed_list_].head};
  }
  /// Visits the constraints (slots of the index) that rows wait for, with the number of rows and since when the first waits, until 'visit'
  /// returns false. O(visited).
  template <class Visit>
  void for_each_constraint(const Visit& visit) const {
    for (std::uint32_t list = first_list_; list != kNone; list = lists_[list].next) {
      if (lists_[list].constraint == kNone) continue;
      const auto [rows, since] = waiting(list);
      if (!visit(lists_[list].constraint, rows, since)) return;
    }
  }

 private:
  friend class ConstraintIndex;
  friend class Inspection;
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t count = 0;
  };
  /// The rows of this ledger that wait for one constraint, or for a time, or (resolved) only for their turn.
  struct WaitList : List {
    std::uint32_t constraint = kNone;  // Slot in the ConstraintIndex; kNone when resolved or when its rows wait for a time.
    bool resolved = false;
    std::uint32_t next = kNone;  // Chain of all lists that are not resolved, for introspection.
    std::uint32_t previous = kNone;
    std::uint32_t trail = kNone;   // The row whose 'ahead' is told next, and
    std::uint32_t trail_rows = 0;  // how many came after it.
  };
  /// Only for rows that wait for several facts or for a time.
  struct Extra;
  struct alignas(64) Row {
    Record record;  // What waits: the Set's fields, or a key alone for a Delete.
    Record flight;  // What a handler works on.
    Instant since;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t list = kNone;   // The wait list of a parked row; of one in flight, what set_asked() was given.
    std::uint32_t ahead = kNone;  // A row that stands some places behind it in that list, or did: only to be asked for ahead of time.
    std::uint32_t generation = 0;
    std::unique_ptr<Extra> extra;
    State state = State::Free;
    bool has_delete = false;
    bool has_set = false;
    bool flight_is_delete = false;
    bool redone = false;  // It was done, and is handled again; no newer change has come since.
    std::uint8_t spurious = 0;
  };

  void overlay(Row& row, const Change& change) const;
  bool has_room(const Row& row, const Record& record) const;
  bool waits_for_facts(std::uint32_t row) const noexcept;  // Of a parked one.
  bool may_replace_delete(std::uint32_t row) const noexcept;
  void append(List& list, std::uint32_t row);
  void unlink(List& list, std::uint32_t row);
  /// Of a wait list: the same, and what its rows know of those ahead.
  void append_waiting(std::uint32_t list, std::uint32_t row);
  void unlink_waiting(std::uint32_t list, std::uint32_t row);
  void enqueue(std::uint32_t row);
  void leave_wait(std::uint32_t row, ConstraintIndex& index);
  bool need_not_wait(std::uint32_t row, bool for_facts);
  void start_wait(std::uint32_t row, std::uint32_t list, std::unique_ptr<Extra> extra, Instant now);
  void put_back(Row& row);
  Task start(std::uint32_t row);
  Task take_again(std::uint32_t bound, Instant now, ConstraintIndex& index);
  void leave_resolved(std::uint32_t row);
  void free_row(std::uint32_t row);
  std::uint32_t make_list(std::uint32_t constraint);
  void unchain(std::uint32_t list);
  void drop_list(std::uint32_t list);
  void due_passed(std::uint32_t row);

  TimerWheel& wheel_;
  std::function<void()> wake_;
  const bool set_replaces_delete_;
  const bool rows_are_whole_;
  RowIndex by_key_;
  Slab<Row> rows_;
  Slab<WaitList> lists_;
  BoundRows bound_;
  List new_;
  std::deque<std::uint32_t> resolved_;  // Wait lists whose rows are ready, oldest first.
  std::uint32_t first_list_ = kNone;    // Of the chain of lists that are not resolved.
  std::uint32_t timed_list_ = kNone;    // Rows parked on a time; made when first needed, then kept.
  std::uint32_t due_list_ = kNone;      // The newest resolved list of rows whose time has passed.
  std::uint32_t merged_row_ = kNone;
  std::size_t resolved_rows_ = 0;
  std::size_t parked_ = 0;
  std::size_t in_flight_ = 0;
};

}  // namespace rondo
