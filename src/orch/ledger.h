// Ledger: the changes that one consumer has not settled, one row per key. A row is queued (or resolved: queued by a fact), in
// flight, or parked on a fact or a time. New changes are merged with the waiting ones of their key only here:
//
//   waiting      + Delete        + Set
//   nothing      Delete          Set
//   Set          Delete          the newer Set, or merged with the older (Rows::Written)
//   Delete       Delete          Delete, Set
//   Delete, Set  Delete          Delete, and the newer or merged Set
//
// (The rule of sonic-swss addToSync, unchanged.) A change in flight is not modified; later changes wait behind it in the same row. A
// parked Set that meets a new change is queued again, because its reason to wait may be gone. A parked Delete stays parked and keeps its
// place before a Set. With ConsumeOptions::set_replaces_delete the Set replaces the Delete instead, queued or parked. A resolved row keeps
// its turn. A resolved Set that meets a new change is handled without a check of the other facts that it waited for. Owned by its consumer,
// scheduler's thread. merge, take, park, settle: O(1) expected; resolving a fact moves one list, whatever its length.
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
#include "rondo/orch/fact.h"
#include "rondo/sched/timer.h"
#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo {

class FactIndex;

class Ledger {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  enum class State : std::uint8_t { Free, Queued, InFlight, Parked };

  /// A change passed to a handler.
  struct Task {
    std::uint32_t row = kNone;
    std::uint32_t generation = 0;
    Change change;
  };

  /// The effect of a merge on the row, for the journal and the counters. Refused: the merged Set would exceed the limits of a record; the
  /// row is unchanged.
  enum class Merged : std::uint8_t { NewRow, Joined, Unparked, Refused };

  /// 'wake' is called when rows became ready without a merge: a fact was announced or a time passed.
  /// 'set_replaces_delete': see ConsumeOptions. 'rows': what the Sets carry. A whole row replaces the Set that waits, which may have
  /// fields that the row has lost since; written fields are merged with it.
  Ledger(TimerWheel& wheel, std::function<void()> wake, bool set_replaces_delete = false, Rows rows = Rows::Written);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Prefetches for a merge of this key that follows soon.
  void expect(std::uint64_t key_hash) const noexcept { by_key_.prefetch(key_hash); }
  /// Prefetches for a settle of the row that follows soon, in three steps: see orch/expect_settle.h.
  void expect_settle(std::uint32_t row, std::uint32_t generation, unsigned step) const noexcept;
  /// Prefetches for a take of the first 'count' resolved rows that follows soon.
  void expect_resolved(std::uint32_t count) const noexcept;
  /// Merges a Set or Delete that came at 'came'. 'index' forgets the list a row leaves when that empties it.
  Merged merge(const Change& change, Instant came, FactIndex& index);
  /// The row that took the change merged last.
  std::uint32_t merged_row() const noexcept { return merged_row_; }

  /// Takes the oldest queued row in flight. A row that holds Delete and Set returns the Delete first and the Set when that is settled.
  std::optional<Task> take_new();
  /// Returns the oldest resolved row, still parked, or kNone. The caller checks first_missing(), then calls park_again() or
  /// take_resolved().
  std::uint32_t peek_resolved() const;
  Task take_resolved(std::uint32_t row, Instant now, FactIndex& index);
  /// Returns which of the several facts of a resolved row does not hold; kNone if the row may run. A row that waited for a single fact, or
  /// for any of several, is not checked: its handler will check.
  std::uint32_t first_missing(std::uint32_t row, const FactIndex& index) const;

  bool has_new() const noexcept { return new_.count > 0; }
  bool has_resolved() const noexcept { return !resolved_.empty(); }
  std::size_t new_rows() const noexcept { return new_.count; }

  /// Drops the change in flight, which was applied or refused for good. A change that waits behind it is queued.
  void settle(std::uint32_t row);
  /// Puts the change in flight back and queues it.
  void requeue(std::uint32_t row);
  /// True if the Delete in flight must be dropped instead of parked, because a Set waits behind it (ConsumeOptions::set_replaces_delete).
  bool is_replaced(std::uint32_t row) const noexcept { return set_replaces_delete_ && rows_[row].flight_is_delete && rows_[row].has_set; }
  /// Puts the change in flight back and parks it until all 'facts' hold; it is listed under facts[listed]. The row is queued instead in
  /// two cases. A newer change has come for a Set in flight, so its reason to wait may be gone. Or the Delete in flight is dropped for the
  /// Set behind it (is_replaced()). Returns true if the row is parked.
  /// 'any': one of the facts is enough, so the row is listed under the others, too.
  bool park(std::uint32_t row, std::span<const Fact> facts, std::size_t listed, Instant now, FactIndex& index, bool any = false);
  /// As park(), but until a time. 'why' is for people.
  bool park_until(std::uint32_t row, Instant due, std::string why, Instant now);
  /// Queues a parked row, whatever it waits for. False for a resolved row that is not in the list of the next ones.
  bool unpark(std::uint32_t row, Instant now, FactIndex& index);
  /// Takes a queued row in flight.
  Task take_queued(std::uint32_t row);
  /// Takes in flight a row that is done and has no change.
  Task take_done(const Record& record, Instant now, FactIndex& index);
  /// Moves a resolved row to the wait list of another of its facts, which does not hold.
  void park_again(std::uint32_t row, std::size_t listed, FactIndex& index);

  /// Makes all rows of a wait list ready, oldest first, and returns their number. O(1), and O(its facts) for a row that waits for any of
  /// several facts and is listed under another one. Called by the FactIndex.
  std::size_t resolve(std::uint32_t list, FactIndex& index);

  // --- Rows that are done while facts hold (Outcome::done_while).

  /// Makes a bound row ready to be handled again, as if a fact had ended.
  void release_row(std::uint32_t bound, FactIndex& index);
  /// Stores the value that FactIndex::ends() had when the handler of the row in flight was called.
  void set_asked(std::uint32_t row, std::uint32_t ends) noexcept { rows_[row].list = ends; }
  std::uint32_t asked(std::uint32_t row) const noexcept { return rows_[row].list; }

  BoundRows& bound() noexcept { return bound_; }
  const BoundRows& bound() const noexcept { return bound_; }
  /// The Set in flight was applied and remains so while 'facts' hold: settles it and binds the row.
  void bind(std::uint32_t row, std::span<const Fact> facts, FactIndex& index);
  /// Removes the earlier bindings of the row, because the change in flight replaces them.
  void unbind(std::uint32_t row, FactIndex& index) { unbind(rows_[row].flight, index); }
  void unbind(const Record& record, FactIndex& index);
  /// Makes all rows of a bound list ready, oldest first, and returns their number. O(1). Called by the FactIndex.
  std::size_t release(std::uint32_t list);
  bool has_ended() const noexcept { return bound_.has_ended(); }
  /// The result of taking the oldest ended row.
  struct Ended {
    std::optional<Task> task = {};  // The row as it was done, now in flight: its handler must be called again.
    std::uint32_t queued = kNone;   // Otherwise: the row whose newer change waited and is queued now.
  };
  /// Takes the oldest row whose fact has ended. If a newer change of the key waits, it is queued and handled instead. The row stays held
  /// until that change has its outcome. If that change is refused, the row as it was done is handled again (release_if_held).
  Ended take_ended(Instant now, FactIndex& index);
  /// True once, if a fact ended that the row as it was done depends on, while the change in flight was being handled. If that change would
  /// wait, it must be handled again, because its handler may not have seen the end.
  bool take_end_in_flight(std::uint32_t row, FactIndex& index);
  /// The change in flight is refused, so the earlier done change stays in effect. If a fact that it depends on has ended, it is handled
  /// again.
  void release_if_held(std::uint32_t row);
  /// True if the change in flight, or the waiting one, is a done change that is handled again.
  bool is_redone(std::uint32_t row) const noexcept { return rows_[row].redone; }

  bool is_current(std::uint32_t row, std::uint32_t generation) const noexcept;
  std::uint32_t find(std::string_view key) const;
  std::string_view key(std::uint32_t row) const noexcept;
  State state(std::uint32_t row) const noexcept { return rows_[row].state; }
  /// True if the row is parked and its list was resolved: it waits only for its turn.
  bool is_resolved(std::uint32_t row) const noexcept;
  ChangeOp op(std::uint32_t row) const noexcept;
  /// The record of the waiting change: a Set's, or for a Delete the key alone.
  const Record& pending(std::uint32_t row) const noexcept { return rows_[row].record; }
  /// The record of the change in flight.
  const Record& flight(std::uint32_t row) const noexcept { return rows_[row].flight; }
  /// When the change came that the row holds or has in flight, or when it was parked or taken again after that; the newest of these.
  /// Changes that were merged count from the first of them.
  Instant since(std::uint32_t row) const noexcept { return rows_[row].since; }
  /// All facts that a parked row waits for, the listed one first. Empty when it waits only for a time, or for one fact that was announced.
  std::vector<Fact> facts_of(std::uint32_t row, const FactIndex& index) const;
  /// True if one of facts_of() is enough.
  bool waits_for_any(std::uint32_t row) const noexcept;
  /// The 'why' of park_until(); empty for other rows.
  std::string_view why(std::uint32_t row) const noexcept;
  Instant due(std::uint32_t row) const noexcept;
  /// How often in succession its handler waited although all its facts held.
  std::uint8_t& spurious_waits(std::uint32_t row) noexcept { return rows_[row].spurious; }

  bool set_replaces_delete() const noexcept { return set_replaces_delete_; }
  bool rows_are_whole() const noexcept { return rows_are_whole_; }
  std::size_t size() const noexcept { return rows_.live(); }
  std::size_t queued() const noexcept { return new_.count + resolved_rows_; }
  std::size_t parked() const noexcept { return parked_; }
  std::size_t in_flight() const noexcept { return in_flight_; }
  /// Bytes of the ledger itself, without the changes it holds.
  std::size_t bytes() const noexcept;

  /// Visits parked rows (not resolved ones), those of one fact together, until 'visit' returns false. O(rows visited).
  template <class Visit>
  void for_each_parked(const Visit& visit) const {
    for (std::uint32_t list = first_list_; list != kNone; list = lists_[list].next) {
      for (std::uint32_t row = lists_[list].head; row != kNone; row = rows_[row].next) {
        if (!visit(row)) return;
      }
    }
  }
  /// Row numbers are below this limit.
  std::uint32_t limit() const noexcept { return rows_.limit(); }
  /// The number of rows in a wait list, and since when its first row waits.
  std::pair<std::size_t, Instant> waiting(std::uint32_t list) const noexcept {
    const WaitList& l = lists_[list];
    const std::uint32_t first = l.head == kNone && l.any.head != kNone ? alternatives_[l.any.head].row : l.head;
    return {l.count + l.any.count, first == kNone ? Instant{} : rows_[first].since};
  }
  /// How many rows are parked on a time, and the row that was parked first.
  std::pair<std::size_t, std::uint32_t> delayed() const noexcept {
    return timed_list_ == kNone ? std::pair{std::size_t{0}, kNone}
                                : std::pair{std::size_t{lists_[timed_list_].count}, lists_[timed_list_].head};
  }
  /// Visits the facts (slots of the index) that rows wait for, with the number of rows and since when the first waits, until 'visit'
  /// returns false. O(visited).
  template <class Visit>
  void for_each_fact(const Visit& visit) const {
    for (std::uint32_t list = first_list_; list != kNone; list = lists_[list].next) {
      if (lists_[list].fact == kNone) continue;
      const auto [rows, since] = waiting(list);
      if (!visit(lists_[list].fact, rows, since)) return;
    }
  }

 private:
  friend class FactIndex;
  friend class Inspection;
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t count = 0;
  };
  /// The rows of this ledger that wait for one fact, or for a time, or (resolved) only for their turn.
  struct WaitList : List {
    std::uint32_t fact = kNone;  // Slot in the FactIndex; kNone when resolved or when its rows wait for a time.
    bool resolved = false;
    std::uint32_t next = kNone;  // Links all lists that are not resolved, for introspection.
    std::uint32_t previous = kNone;
    std::uint32_t trail = kNone;   // The row whose 'ahead' is set next.
    std::uint32_t trail_rows = 0;  // The number of rows appended after 'trail'.
    List any;                      // The Alternatives of rows that are listed under another fact.
    bool is_unused() const noexcept { return count == 0 && any.count == 0; }
  };
  /// A further fact of a row that waits for any of several, in the list of that fact.
  struct Alternative {
    std::uint32_t row = kNone;
    std::uint32_t list = kNone;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
  };
  /// Only for rows that wait for several facts or for a time.
  struct Extra;
  struct alignas(64) Row {
    Record record;  // The waiting change: the Set's fields, or a key alone for a Delete.
    Record flight;  // The change that a handler works on.
    Instant since;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t list = kNone;   // The wait list of a parked row; for a row in flight, the value given to set_asked().
    std::uint32_t ahead = kNone;  // A row some places behind this one in its wait list, now or earlier. Used only to prefetch.
    std::uint32_t generation = 0;
    std::uint32_t behind_us = 0;  // From 'since' to when the change behind the one in flight came; at most 71 minutes.
    std::unique_ptr<Extra> extra;
    State state = State::Free;
    bool has_delete = false;
    bool has_set = false;
    bool flight_is_delete = false;
    bool redone = false;  // The change was done and is handled again; no newer change has come since.
    std::uint8_t spurious = 0;
  };

  void overlay(Row& row, const Change& change) const;
  bool has_room(const Row& row, const Record& record) const;
  static void note_behind(Row& row, Instant came);
  bool waits_for_facts(std::uint32_t row) const noexcept;  // Only for a parked row.
  bool may_replace_delete(std::uint32_t row) const noexcept;
  /// 'slots' has the row or the Alternative 'id'.
  template <class Slots>
  static void append(Slots& slots, List& list, std::uint32_t id);
  template <class Slots>
  static void unlink(Slots& slots, List& list, std::uint32_t id);
  /// As append(), for a wait list: also sets the 'ahead' of its rows.
  void append_waiting(std::uint32_t list, std::uint32_t row);
  void unlink_waiting(std::uint32_t list, std::uint32_t row);
  void add_alternatives(Extra& extra, FactIndex& index);
  /// 'kept': a list that stays although it becomes empty.
  void drop_alternatives(Extra& extra, FactIndex& index, std::uint32_t kept = kNone);
  void drop_extra(std::uint32_t row, FactIndex& index);
  void join(std::uint32_t row, std::uint32_t list, FactIndex& index);
  void enqueue(std::uint32_t row);
  void leave_wait(std::uint32_t row, FactIndex& index);
  bool need_not_wait(std::uint32_t row, bool for_facts);
  void start_wait(std::uint32_t row, std::uint32_t list, std::unique_ptr<Extra> extra, Instant now);
  void put_back(Row& row);
  Task start(std::uint32_t row);
  Task take_again(std::uint32_t bound, Instant now, FactIndex& index);
  std::uint32_t add_row(const Record& record);
  Task start_again(std::uint32_t row, Record record, Instant now);
  void leave_resolved(std::uint32_t row);
  void free_row(std::uint32_t row);
  std::uint32_t make_list(std::uint32_t fact);
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
  Slab<Alternative> alternatives_;
  BoundRows bound_;
  List new_;
  std::deque<std::uint32_t> resolved_;  // Wait lists whose rows are ready, oldest first.
  std::uint32_t first_list_ = kNone;    // The first of the chain of lists that are not resolved.
  std::uint32_t timed_list_ = kNone;    // Rows parked on a time; made on first use, then kept.
  std::uint32_t due_list_ = kNone;      // The newest resolved list of rows whose time has passed.
  std::uint32_t merged_row_ = kNone;
  std::size_t resolved_rows_ = 0;
  std::size_t parked_ = 0;
  std::size_t in_flight_ = 0;
};

}  // namespace rondo
