#include "orch/ledger.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/prefetch.h"
#include "orch/fact_index.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "store/table_rules.h"

namespace rondo {

namespace {
/// How many places ahead a row's 'ahead' is in its wait list: far enough that the prefetch has completed when that row is taken.
constexpr std::uint32_t kAhead = 32;
}  // namespace

struct Ledger::Extra final : TimerNode {
  Extra(Ledger& owner, std::uint32_t its_row) : ledger(owner), row(its_row) {}
  ~Extra() { ledger.wheel_.cancel(*this); }
  Extra(const Extra&) = delete;
  Extra& operator=(const Extra&) = delete;

  void on_due() override { ledger.due_passed(row); }

  Ledger& ledger;
  std::uint32_t row;
  std::vector<Fact> facts;
  std::vector<std::uint32_t> alternatives;  // Not empty: one of the facts is enough.
  std::string why;
};

Ledger::Ledger(TimerWheel& wheel, std::function<void()> wake, bool set_replaces_delete, Rows rows)
    : wheel_(wheel), wake_(std::move(wake)), set_replaces_delete_(set_replaces_delete), rows_are_whole_(rows == Rows::Whole) {}

Ledger::~Ledger() = default;

std::uint32_t Ledger::find(std::string_view key) const {
  return by_key_.find(hash_key(key), [&](std::uint32_t row) { return this->key(row) == key; });
}

std::string_view Ledger::key(std::uint32_t row) const noexcept {
  const Row& r = rows_[row];
  return r.record ? r.record.key() : r.flight.key();
}

bool Ledger::is_current(std::uint32_t row, std::uint32_t generation) const noexcept {
  return row < rows_.limit() && rows_[row].state == State::InFlight && rows_[row].generation == generation;
}

bool Ledger::is_resolved(std::uint32_t row) const noexcept {
  const Row& r = rows_[row];
  return r.state == State::Parked && lists_[r.list].resolved;
}

void Ledger::expect_settle(std::uint32_t row, std::uint32_t generation, unsigned step) const noexcept {
  if (row >= rows_.limit()) return;
  const Row& r = rows_[row];
  if (step == 0) {
    prefetch_to_write(&r);
  } else if (is_current(row, generation)) {
    step == 1 ? r.flight.prefetch() : by_key_.prefetch(r.flight.key_hash());
  }
}

void Ledger::expect_resolved(std::uint32_t count) const noexcept {
  if (resolved_.empty()) return;
  // Rows of a list may be far apart in memory. They were prefetched when the rows before them were taken.
  for (std::uint32_t row = lists_[resolved_.front()].head; row != kNone && count > 0; row = rows_[row].next, --count) {
    rows_[row].record.prefetch();
    if (rows_[row].ahead != kNone) prefetch_to_write(&rows_[rows_[row].ahead]);
  }
}

ChangeOp Ledger::op(std::uint32_t row) const noexcept {
  const Row& r = rows_[row];
  if (r.state == State::InFlight) return r.flight_is_delete ? ChangeOp::Delete : ChangeOp::Set;
  return r.has_delete ? ChangeOp::Delete : ChangeOp::Set;
}

Instant Ledger::due(std::uint32_t row) const noexcept {
  const Row& r = rows_[row];
  return r.extra && r.extra->armed() ? r.extra->due() : Instant{};
}

std::vector<Fact> Ledger::facts_of(std::uint32_t row, const FactIndex& index) const {
  const Row& r = rows_[row];
  if (r.extra) return r.extra->facts;
  if (r.state != State::Parked || lists_[r.list].fact == kNone) return {};
  return {index.fact(lists_[r.list].fact)};
}

std::uint32_t Ledger::first_missing(std::uint32_t row, const FactIndex& index) const {
  const Row& r = rows_[row];
  if (!r.extra || waits_for_any(row)) return kNone;
  const auto missing = std::ranges::find_if(r.extra->facts, [&](const Fact& fact) { return !index.holds(fact); });
  return missing == r.extra->facts.end() ? kNone : static_cast<std::uint32_t>(missing - r.extra->facts.begin());
}

bool Ledger::waits_for_any(std::uint32_t row) const noexcept { return rows_[row].extra && !rows_[row].extra->alternatives.empty(); }

std::string_view Ledger::why(std::uint32_t row) const noexcept {
  const Row& r = rows_[row];
  return r.extra ? std::string_view{r.extra->why} : std::string_view{};
}

std::size_t Ledger::bytes() const noexcept {
  return sizeof *this + by_key_.bytes() + rows_.bytes() + lists_.bytes() + alternatives_.bytes();
}

// --- lists

template <class Slots>
void Ledger::append(Slots& slots, List& list, std::uint32_t id) {
  slots[id].previous = list.tail;
  slots[id].next = kNone;
  (list.tail == kNone ? list.head : slots[list.tail].next) = id;
  list.tail = id;
  ++list.count;
}

template <class Slots>
void Ledger::unlink(Slots& slots, List& list, std::uint32_t id) {
  auto& slot = slots[id];
  (slot.previous == kNone ? list.head : slots[slot.previous].next) = slot.next;
  (slot.next == kNone ? list.tail : slots[slot.next].previous) = slot.previous;
  slot.next = slot.previous = kNone;
  RONDO_ASSERT(list.count > 0);
  --list.count;
}

void Ledger::append_waiting(std::uint32_t list, std::uint32_t row) {
  WaitList& l = lists_[list];
  append(rows_, l, row);
  rows_[row].ahead = kNone;
  if (l.trail == kNone) {
    l.trail = row;
    l.trail_rows = 0;
  } else if (++l.trail_rows == kAhead) {
    rows_[l.trail].ahead = row;
    l.trail = rows_[l.trail].next;
    prefetch_to_write(&rows_[l.trail]);  // For the next row that joins this list; rows of other lists join in between.
    --l.trail_rows;
  }
}

void Ledger::unlink_waiting(std::uint32_t list, std::uint32_t row) {
  WaitList& l = lists_[list];
  // The distance between 'trail' and the tail is unknown now, so the next append begins anew.
  if (l.head != row || l.trail == row) l.trail = kNone;
  unlink(rows_, l, row);
}

void Ledger::enqueue(std::uint32_t row) {
  rows_[row].state = State::Queued;
  rows_[row].list = kNone;
  append(rows_, new_, row);
}

std::uint32_t Ledger::make_list(std::uint32_t fact) {
  const std::uint32_t list = lists_.take();
  WaitList& l = lists_[list];
  l = WaitList{};
  l.fact = fact;
  l.next = first_list_;
  if (first_list_ != kNone) lists_[first_list_].previous = list;
  first_list_ = list;
  return list;
}

void Ledger::unchain(std::uint32_t list) {
  const WaitList& l = lists_[list];
  (l.previous == kNone ? first_list_ : lists_[l.previous].next) = l.next;
  if (l.next != kNone) lists_[l.next].previous = l.previous;
}

void Ledger::drop_list(std::uint32_t list) {
  unchain(list);
  lists_.give_back(list);
}

void Ledger::leave_wait(std::uint32_t row, FactIndex& index) {
  Row& r = rows_[row];
  const std::uint32_t list = std::exchange(r.list, kNone);
  unlink_waiting(list, row);
  --parked_;
  if (lists_[list].is_unused() && list != timed_list_) index.forget(*this, list);
  drop_extra(row, index);
}

/// Lists the row under its further facts. If an allocation fails, under none of them.
void Ledger::add_alternatives(Extra& extra, FactIndex& index) {
  extra.alternatives.reserve(extra.facts.size() - 1);
  try {
    for (const Fact& fact : std::span{extra.facts}.subspan(1)) {
      if (fact == extra.facts.front()) continue;
      const std::uint32_t id = alternatives_.take();
      alternatives_[id] = Alternative{.row = extra.row};
      extra.alternatives.push_back(id);
      const std::uint32_t list = index.list_for(*this, fact);
      alternatives_[id].list = list;
      append(alternatives_, lists_[list].any, id);
    }
  } catch (...) {
    drop_alternatives(extra, index);
    throw;
  }
}

void Ledger::drop_alternatives(Extra& extra, FactIndex& index, std::uint32_t kept) {
  for (const std::uint32_t id : std::exchange(extra.alternatives, {})) {
    const std::uint32_t list = alternatives_[id].list;
    if (list != kNone) unlink(alternatives_, lists_[list].any, id);
    alternatives_.give_back(id);
    if (list != kNone && list != kept && lists_[list].is_unused()) index.forget(*this, list);
  }
}

void Ledger::drop_extra(std::uint32_t row, FactIndex& index) {
  if (waits_for_any(row)) drop_alternatives(*rows_[row].extra, index);
  rows_[row].extra.reset();
}

/// The fact of 'list' was announced, and is enough for the row.
void Ledger::join(std::uint32_t row, std::uint32_t list, FactIndex& index) {
  Row& r = rows_[row];
  drop_alternatives(*r.extra, index, list);
  r.extra.reset();
  if (lists_[r.list].resolved) return;
  const std::uint32_t before = std::exchange(r.list, list);
  unlink_waiting(before, row);
  append_waiting(list, row);
  if (lists_[before].is_unused()) index.forget(*this, before);
}

void Ledger::leave_resolved(std::uint32_t row) {
  RONDO_ASSERT(!resolved_.empty() && rows_[row].list == resolved_.front());
  const std::uint32_t list = resolved_.front();
  unlink_waiting(list, row);
  --resolved_rows_;
  rows_[row].list = kNone;
  if (lists_[list].count > 0) return;
  resolved_.pop_front();
  if (due_list_ == list) due_list_ = kNone;
  lists_.give_back(list);
}

// --- merging

/// A resolved row that waited for a single fact does not wait any more. For a row with several facts, the others have not been checked
/// yet. A row that waits for a time was handled, and may be partly applied.
bool Ledger::waits_for_facts(std::uint32_t row) const noexcept {
  const Row& r = rows_[row];
  if (r.extra && r.extra->facts.empty()) return false;
  return r.extra != nullptr || !is_resolved(row);
}

/// Part of a Delete that waits for a time may be done. Written fields that are in flight may come back and would join those of the Set.
bool Ledger::may_replace_delete(std::uint32_t row) const noexcept {
  const State state = rows_[row].state;
  if (state == State::Parked) return waits_for_facts(row);
  return state == State::Queued || rows_are_whole_;
}

void Ledger::overlay(Row& row, const Change& change) const {
  if (change.op() == ChangeOp::Delete) {
    row.has_delete = true;
    row.has_set = false;
    row.record = change.record();
  } else {
    row.record = row.has_set && !rows_are_whole_ ? Record::merged(row.record, change.record()) : change.record();
    row.has_set = true;
  }
}

/// True if a Set may be merged with the waiting one, and also with the one in flight if that is put back. Without this check a table that
/// forgets taken changes would let a row grow for as long as it waits.
bool Ledger::has_room(const Row& row, const Record& record) const {
  if (rows_are_whole_) return true;
  const bool flight_may_come_back = row.state == State::InFlight && !row.flight_is_delete && !row.has_delete;
  std::size_t fields = record.fields().size();
  std::size_t bytes = record.bytes();
  for (const Record* const part : {row.has_set ? &row.record : nullptr, flight_may_come_back ? &row.flight : nullptr}) {
    if (part == nullptr) continue;
    fields += part->fields().size();
    bytes += part->bytes();
  }
  if (fields <= limits::kFields && bytes <= limits::kRecordBytes) return true;
  Record older = flight_may_come_back ? row.flight : Record{};
  if (row.has_set) older = Record::merged(older, row.record);
  return store::check_merge({}, older, record).ok();
}

Ledger::Merged Ledger::merge(const Change& change, Instant came, FactIndex& index) {
  RONDO_ASSERT(change.op() != ChangeOp::Event);
  bool is_new = false;
  const std::uint32_t row = by_key_.find_or_add(
      change.record().key_hash(), [&](std::uint32_t slot) { return key(slot) == change.key(); },
      [&] {
        is_new = true;
        return rows_.take();
      });
  merged_row_ = row;
  Row& r = rows_[row];
  if (is_new) {
    r.has_delete = change.op() == ChangeOp::Delete;
    r.has_set = !r.has_delete;
    r.record = change.record();
    r.since = came;
    enqueue(row);
    return Merged::NewRow;
  }
  const bool was_only_set = r.has_set && !r.has_delete;
  const bool replaces = set_replaces_delete_ && change.op() == ChangeOp::Set && r.has_delete && may_replace_delete(row);
  if (change.op() == ChangeOp::Set && !has_room(r, change.record())) return Merged::Refused;
  if (r.state == State::InFlight && !r.has_set && !r.has_delete) note_behind(r, came);
  // A lone Set that is deleted before it was handled leaves only the Delete.
  overlay(r, change);
  r.redone = false;
  if (replaces) r.has_delete = false;
  if (r.state != State::Parked || !(was_only_set || replaces)) return Merged::Joined;
  if (is_resolved(row)) {
    drop_extra(row, index);  // The remaining facts of the old change do not apply to the new one.
    return Merged::Joined;
  }
  leave_wait(row, index);
  r.since = came;
  enqueue(row);
  return Merged::Unparked;
}

void Ledger::note_behind(Row& row, Instant came) {
  const auto behind = std::chrono::duration_cast<std::chrono::microseconds>(came - row.since).count();
  row.behind_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(behind, 0, std::numeric_limits<std::uint32_t>::max()));
}

// --- turns

Ledger::Task Ledger::start(std::uint32_t row) {
  Row& r = rows_[row];
  r.state = State::InFlight;
  r.behind_us = 0;
  ++in_flight_;
  r.flight_is_delete = r.has_delete;
  if (r.has_delete) {
    r.flight = r.has_set ? Record::make(r.record.key(), {}) : std::exchange(r.record, Record{});
    r.has_delete = false;
  } else {
    r.flight = std::exchange(r.record, Record{});
    r.has_set = false;
  }
  return Task{row, r.generation, Change{r.flight_is_delete ? ChangeOp::Delete : ChangeOp::Set, r.flight}};
}

std::optional<Ledger::Task> Ledger::take_new() {
  if (new_.count == 0) return std::nullopt;
  return take_queued(new_.head);
}

Ledger::Task Ledger::take_queued(std::uint32_t row) {
  RONDO_ASSERT(rows_[row].state == State::Queued);
  unlink(rows_, new_, row);
  return start(row);
}

std::uint32_t Ledger::peek_resolved() const { return resolved_.empty() ? kNone : lists_[resolved_.front()].head; }

Ledger::Task Ledger::take_resolved(std::uint32_t row, Instant now, FactIndex& index) {
  leave_resolved(row);
  rows_[row].since = now;
  drop_extra(row, index);
  return start(row);
}

std::size_t Ledger::resolve(std::uint32_t list, FactIndex& index) {
  WaitList& l = lists_[list];
  RONDO_ASSERT(!l.is_unused() && !l.resolved);
  while (l.any.head != kNone) join(alternatives_[l.any.head].row, list, index);
  if (l.count == 0) {  // Another fact has ended the wait of its rows.
    drop_list(list);
    return 0;
  }
  unchain(list);
  l.resolved = true;
  l.fact = kNone;
  resolved_.push_back(list);
  resolved_rows_ += l.count;
  parked_ -= l.count;
  wake_();
  return l.count;
}

void Ledger::due_passed(std::uint32_t row) {
  // Only the newest list may grow: rows that were resolved before this one run before it.
  if (due_list_ == kNone || resolved_.back() != due_list_) {
    due_list_ = lists_.take();
    lists_[due_list_] = WaitList{};
    lists_[due_list_].resolved = true;
    resolved_.push_back(due_list_);
  }
  unlink_waiting(timed_list_, row);
  --parked_;
  ++resolved_rows_;
  rows_[row].list = due_list_;
  append_waiting(due_list_, row);
  wake_();
}

// --- settling

void Ledger::free_row(std::uint32_t row) {
  Row& r = rows_[row];
  r.state = State::Free;
  r.list = kNone;
  ++r.generation;
  r.record = Record{};
  r.flight = Record{};
  r.has_delete = r.has_set = r.redone = false;
  r.spurious = 0;
  rows_.give_back(row);
}

void Ledger::settle(std::uint32_t row) {
  Row& r = rows_[row];
  RONDO_EXPECT(r.state == State::InFlight,
               "a change is settled twice: its handler called settle() and returned another outcome than staged()");
  --in_flight_;
  ++r.generation;
  r.spurious = 0;
  r.redone = false;
  if (r.has_delete || r.has_set) {
    r.flight = Record{};
    r.since = r.since + std::chrono::microseconds{r.behind_us};
    enqueue(row);
    return;
  }
  by_key_.erase(r.flight.key_hash(), row);
  free_row(row);
}

void Ledger::put_back(Row& row) {
  RONDO_ASSERT(row.state == State::InFlight);
  const bool is_set = !row.flight_is_delete && !row.has_delete;
  Record set;
  // First, because it may throw if an allocation fails.
  if (is_set && row.has_set) set = rows_are_whole_ ? row.record : Record::merged(row.flight, row.record);
  --in_flight_;
  ++row.generation;
  Record flight = std::exchange(row.flight, Record{});
  if (row.flight_is_delete) {
    row.has_delete = true;
    if (!row.record) row.record = std::move(flight);
  } else if (is_set) {
    row.record = set ? std::move(set) : std::move(flight);
    row.has_set = true;
  }
}

void Ledger::requeue(std::uint32_t row) {
  put_back(rows_[row]);
  enqueue(row);
}

/// Queues the row again if it need not wait: a Delete is dropped for the Set behind it, or a newer change has come for the Set.
bool Ledger::need_not_wait(std::uint32_t row, bool for_facts) {
  const Row& r = rows_[row];
  if (for_facts && is_replaced(row)) {
    settle(row);
    return true;
  }
  if (r.flight_is_delete || !(r.has_set || r.has_delete)) return false;
  requeue(row);
  return true;
}

void Ledger::start_wait(std::uint32_t row, std::uint32_t list, std::unique_ptr<Extra> extra, Instant now) {
  Row& r = rows_[row];
  put_back(r);
  r.state = State::Parked;
  r.since = now;
  r.extra = std::move(extra);
  r.list = list;
  ++parked_;
  append_waiting(list, row);
}

bool Ledger::park(std::uint32_t row, std::span<const Fact> facts, std::size_t listed, Instant now, FactIndex& index, bool any) {
  RONDO_ASSERT(listed < facts.size());
  if (need_not_wait(row, true)) return false;
  // The allocations come first: if one fails, the row stays in flight as before.
  std::unique_ptr<Extra> extra;
  if (facts.size() > 1) {
    extra = std::make_unique<Extra>(*this, row);
    extra->facts.assign(facts.begin(), facts.end());
    std::swap(extra->facts[0], extra->facts[listed]);
  }
  const std::uint32_t list = index.list_for(*this, facts[listed]);
  try {
    if (any && extra) add_alternatives(*extra, index);
  } catch (...) {
    if (lists_[list].is_unused()) index.forget(*this, list);
    throw;
  }
  start_wait(row, list, std::move(extra), now);
  rows_[row].spurious = 0;
  return true;
}

bool Ledger::park_until(std::uint32_t row, Instant due, std::string why, Instant now) {
  if (need_not_wait(row, false)) return false;
  auto extra = std::make_unique<Extra>(*this, row);
  extra->why = std::move(why);
  if (timed_list_ == kNone) timed_list_ = make_list(kNone);
  start_wait(row, timed_list_, std::move(extra), now);
  wheel_.insert(*rows_[row].extra, due);
  return true;
}

bool Ledger::unpark(std::uint32_t row, Instant now, FactIndex& index) {
  if (!is_resolved(row)) {
    leave_wait(row, index);
  } else if (rows_[row].list == resolved_.front()) {
    leave_resolved(row);
    drop_extra(row, index);
  } else {
    return false;
  }
  rows_[row].since = now;
  enqueue(row);
  return true;
}

void Ledger::park_again(std::uint32_t row, std::size_t listed, FactIndex& index) {
  Row& r = rows_[row];
  RONDO_ASSERT(is_resolved(row) && r.extra && listed < r.extra->facts.size());
  leave_resolved(row);
  ++parked_;
  std::swap(r.extra->facts[0], r.extra->facts[listed]);
  r.list = index.list_for(*this, r.extra->facts[0]);
  append_waiting(r.list, row);
}

/// A row for a key that has none.
std::uint32_t Ledger::add_row(const Record& record) {
  return by_key_.find_or_add(
      record.key_hash(), [](std::uint32_t) { return false; }, [this] { return rows_.take(); });
}

}  // namespace rondo
