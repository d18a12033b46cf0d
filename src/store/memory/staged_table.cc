#include "store/memory/staged_table.h"

#include <utility>

namespace rondo::store {

Status StagedTable::write(Change change) {
  const std::string_view key = change.key();
  const std::uint64_t hash = change.record().key_hash();
  if (rows_.size() >= spec().rows_max && rows_.find(key, hash) == rows_.kNone) return table_full(spec(), key);
  const auto [id, is_new] = rows_.find_or_add(key, hash);
  const bool was_staged = rows_[id].state != Staged::Nothing;
  if (Status refused = stage(rows_[id], std::move(change)); !refused.ok()) return refused;  // Never for a new row.
  if (!was_staged) append(id);
  if (keeper() != nullptr) tell_keeper(rows_[id]);
  return {};
}

void StagedTable::tell_keeper(const Row& row) const {
  if (row.state == Staged::Delete) {
    keeper()->keep_delete(row.staged);
  } else {
    keeper()->keep(written(row));
  }
}

/// A Delete that was dealt with, unless something was written for the key since.
void StagedTable::dealt_with(const Change& change) {
  if (keeper() == nullptr || change.op() != Op::Delete) return;
  const Record& key = change.record();
  if (rows_.find(key.key(), key.key_hash()) == rows_.kNone) keeper()->delete_was_dealt_with(key);
}

/// The row stands as popped, and its consumer is told of it: whatever it knew, it is another process now.
void StagedTable::restore(Record record) {
  const std::uint32_t id = rows_.find_or_add(record.key(), record.key_hash()).id;
  Row& row = rows_[id];
  row.staged = record;
  row.real = std::move(record);
  row.state = Staged::Set;
  ++real_count_;
  append(id);
}

/// Meets what is staged for the same key already: sonic-swss addToSync (spec B1).
Status StagedTable::stage(Row& row, Change change) {
  if (change.op() == Op::Delete) {
    row.state = Staged::Delete;
    row.staged = std::move(change).record();
    return {};
  }
  const bool onto_set = row.state == Staged::Set || row.state == Staged::DeleteThenSet;
  const bool row_stays = row.state == Staged::Nothing || row.state == Staged::Set;
  if (onto_set) {
    if (Status refused = check_merge(spec().name, row.staged, change.record()); !refused.ok()) return refused;
  }
  Record staged = onto_set ? Record::merged(row.staged, change.record()) : std::move(change).record();
  if (row_stays) {
    if (Status refused = check_merge(spec().name, row.real, staged); !refused.ok()) return refused;
  }
  row.staged = std::move(staged);
  if (row.state == Staged::Nothing) row.state = Staged::Set;
  if (row.state == Staged::Delete) row.state = Staged::DeleteThenSet;
  return {};
}

void StagedTable::append(std::uint32_t id) {
  rows_[id].next = rows_.kNone;
  if (first_ == rows_.kNone) {
    first_ = id;
  } else {
    rows_[last_].next = id;
  }
  last_ = id;
  if (++staged_count_ == 1) became_ready();
}

std::size_t StagedTable::pop(std::size_t max, std::vector<Change>& out) {
  const std::size_t before = out.size();
  for (std::size_t keys = 0; keys < max && first_ != rows_.kNone; ++keys) {
    const std::uint32_t id = first_;
    first_ = rows_[id].next;
    --staged_count_;
    pop_row(id, out);
  }
  if (first_ == rows_.kNone) last_ = rows_.kNone;
  return out.size() - before;
}

void StagedTable::pop_row(std::uint32_t id, std::vector<Change>& out) {
  Row& row = rows_[id];
  const Staged state = std::exchange(row.state, Staged::Nothing);
  Record staged = std::move(row.staged);
  if (state != Staged::Set) {
    out.emplace_back(Op::Delete, state == Staged::Delete ? staged : Record::make(staged.key(), {}));
    if (row.real) --real_count_;
    row.real = Record{};
  }
  if (state == Staged::Delete) {
    rows_.erase(id, staged.key_hash());
    return;
  }
  out.emplace_back(Op::Set, staged);
  if (popped_ == Popped::IsForgotten) {
    rows_.erase(id, staged.key_hash());
    return;
  }
  if (!row.real) ++real_count_;
  row.real = Record::merged(row.real, staged);
}

Record StagedTable::get(std::string_view key) const {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  return id == rows_.kNone ? Record{} : rows_[id].real;
}

Result<RowPage> StagedTable::scan(std::string_view cursor, std::size_t max) const {
  return scan_rows(rows_, cursor, max, [this](std::uint32_t id) -> const Record& { return rows_[id].real; });
}

/// The row when what is staged has been popped.
Record StagedTable::written(const Row& row) {
  switch (row.state) {
    case Staged::Nothing: return row.real;
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
