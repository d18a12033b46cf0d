#include "store/memory/staged_table.h"
#include "rondo/base/limits.h"

#include <utility>

namespace rondo::store {

Status StagedTable::write(Change change) {
  const std::string_view key = change.key();
  const std::uint64_t hash = change.record().key_hash();
  if (rows_counted() >= spec().rows_max && !is_counted(key, hash)) return table_full(spec(), key);
  const auto [id, is_new] = rows_.find_or_add(key, hash);
  const bool was_staged = rows_[id].state != Staged::Nothing;
  if (Status refused = stage(rows_[id], std::move(change)); !refused.ok()) return refused;  // A new row is never refused.
  if (!was_staged) append(id);
  if (persister() != nullptr) notify_persister(rows_[id]);
  return {};
}

bool StagedTable::is_counted(std::string_view key, std::uint64_t hash) const {
  const std::uint32_t id = rows_.find(key, hash);
  if (id == rows_.kNone) return false;
  return popped_ == Popped::BecomesRow || (rows_[id].state != Staged::Nothing && rows_[id].state != Staged::Again);
}

void StagedTable::notify_persister(const Row& row) const {
  if (row.state == Staged::Delete) {
    persister()->keep_delete(row.staged);
  } else {
    persister()->keep(written(row));
  }
}

/// Forgets a Delete that the consumer has dealt with, unless the key was written since.
void StagedTable::ack(const Change& change) {
  if (persister() == nullptr || change.op() != ChangeOp::Delete) return;
  const Record& key = change.record();
  if (rows_.find(key.key(), key.key_hash()) == rows_.kNone) persister()->delete_acked(key);
}

void StagedTable::restore(Record record) {
  Row& row = rows_[rows_.find_or_add(record.key(), record.key_hash()).id];
  row.real = std::move(record);
  ++real_count_;
}

/// The consumer's number wraps after 65,535 consumers; then every row's 'seen_by' is reset.
void StagedTable::begin(const SubscribeOptions& options) {
  whole_ = options.rows == Rows::Whole;
  if (++consumer_ == 0) {
    for (std::uint32_t id = 0; id < rows_.end_id(); ++id) rows_[id].seen_by = 0;
    consumer_ = 1;
  }
  unseen_ = options.standing_rows ? real_count_ : 0;
  walk_left_ = options.standing_rows ? rows_.size() - staged_count_ : 0;
  walk_next_ = 0;
}

void StagedTable::requeue(std::string_view key) {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  if (id == rows_.kNone) return;
  Row& row = rows_[id];
  if (!row.real || row.state != Staged::Nothing || is_unseen(row)) return;
  row.state = Staged::Again;
  ++again_count_;
  append(id);
}

/// Merges the change with what is already staged for the key, by the rules of sonic-swss (addToSync).
Status StagedTable::stage(Row& row, Change change) {
  if (change.op() == ChangeOp::Delete) {
    if (row.state == Staged::Again) --again_count_;
    row.state = Staged::Delete;
    row.staged = std::move(change).record();
    return {};
  }
  const bool onto_set = row.state == Staged::Set || row.state == Staged::DeleteThenSet;
  const bool row_stays = row.state != Staged::Delete && row.state != Staged::DeleteThenSet;
  if (onto_set) {
    if (Status refused = check_merge(spec().name, row.staged, change.record()); !refused.ok()) return refused;
  }
  Record staged = onto_set ? Record::merged(row.staged, change.record()) : std::move(change).record();
  if (row_stays) {
    if (Status refused = check_merge(spec().name, row.real, staged); !refused.ok()) return refused;
  }
  row.staged = std::move(staged);
  if (row.state == Staged::Again) --again_count_;
  if (row.state == Staged::Nothing || row.state == Staged::Again) row.state = Staged::Set;
  if (row.state == Staged::Delete) row.state = Staged::DeleteThenSet;
  return {};
}

bool StagedTable::waits(std::string_view key) const {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  return id != rows_.kNone && (rows_[id].state != Staged::Nothing || (walk_left_ != 0 && is_unseen(rows_[id])));
}

void StagedTable::append(std::uint32_t id) {
  const bool was_idle = waiting() == 0;
  if (walk_left_ != 0 && is_unseen(rows_[id])) --walk_left_;
  rows_[id].next = rows_.kNone;
  if (first_ == rows_.kNone) {
    first_ = id;
  } else {
    rows_[last_].next = id;
  }
  last_ = id;
  ++staged_count_;
  arrivals_.add(now());
  if (was_idle) became_ready();
}

std::size_t StagedTable::pop(std::size_t max, std::vector<Change>& out) {
  const std::size_t before = out.size();
  const std::size_t walked = walk_left_ == 0 ? 0 : walk(max, out);
  std::size_t keys = walked;
  for (; keys < max && first_ != rows_.kNone; ++keys) {
    const std::uint32_t id = first_;
    first_ = rows_[id].next;
    --staged_count_;
    pop_row(id, out);
  }
  arrivals_.remove(keys - walked);
  if (first_ == rows_.kNone) last_ = rows_.kNone;
  return out.size() - before;
}

void StagedTable::pop_row(std::uint32_t id, std::vector<Change>& out) {
  Row& row = rows_[id];
  const Staged state = std::exchange(row.state, Staged::Nothing);
  const bool whole = whole_ || is_unseen(row);
  see(row);
  if (state == Staged::Again) {
    --again_count_;
    out.emplace_back(ChangeOp::Set, row.real);
    return;
  }
  Record staged = std::move(row.staged);
  if (state != Staged::Set) {
    out.emplace_back(ChangeOp::Delete, state == Staged::Delete ? staged : Record::make(staged.key(), {}));
    if (row.real) --real_count_;
    row.real = Record{};
  }
  if (state == Staged::Delete) {
    rows_.erase(id, staged.key_hash());
    return;
  }
  if (popped_ == Popped::IsForgotten || (popped_ == Popped::IsKept && !row.real && real_count_ >= limits::kTableRows)) {
    const std::uint64_t hash = staged.key_hash();
    out.emplace_back(ChangeOp::Set, std::move(staged));
    rows_.erase(id, hash);
    return;
  }
  if (!row.real) ++real_count_;
  row.real = Record::merged(row.real, staged);
  out.emplace_back(ChangeOp::Set, whole ? row.real : std::move(staged));
}

/// Returns standing rows for which nothing is staged, in the order of their numbers.
std::size_t StagedTable::walk(std::size_t max, std::vector<Change>& out) {
  std::size_t given = 0;
  for (; given < max && walk_left_ != 0; ++walk_next_) {
    Row& row = rows_[walk_next_];
    if (row.state != Staged::Nothing || !is_unseen(row)) continue;
    see(row);
    --walk_left_;
    out.emplace_back(ChangeOp::Set, row.real);
    ++given;
  }
  return given;
}

Record StagedTable::get(std::string_view key) const {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  return id == rows_.kNone ? Record{} : rows_[id].real;
}

Result<RowPage> StagedTable::scan(std::string_view cursor, std::size_t max) const {
  return scan_rows(rows_, cursor, max, [this](std::uint32_t id) -> const Record& { return rows_[id].real; });
}

/// Returns the row in the state that it will have once its staged change has been popped.
Record StagedTable::written(const Row& row) {
  switch (row.state) {
    case Staged::Nothing:
    case Staged::Again: return row.real;
    case Staged::Set: return row.real ? Record::merged(row.real, row.staged) : row.staged;
    case Staged::Delete: return {};
    case Staged::DeleteThenSet: return row.staged;
  }
  return {};
}

Result<RowPage> StagedTable::scan_written(std::string_view cursor, std::size_t max) const {
  return scan_rows(rows_, cursor, max, [this](std::uint32_t id) { return written(rows_[id]); });
}

}  // namespace rondo::store
