#include "store/memory/queue_table.h"
#include "rondo/base/limits.h"

#include <utility>

namespace rondo::store {

Status QueueTable::write(Change change) {
  if (entries_.size() >= queue_capacity(spec())) return table_full(spec(), change.key());
  entries_.push_back(std::move(change));
  if (persister() != nullptr) persister()->append(entries_.back());
  if (entries_.size() == 1) became_ready();
  return {};
}

std::size_t QueueTable::pop(std::size_t max, std::vector<Change>& out) {
  std::size_t taken = 0;
  for (; taken < max && !entries_.empty(); ++taken) {
    apply(entries_.front());
    out.push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
  return taken;
}

/// The entry is delivered whatever happens to the row, because a command must not be lost. A row that would exceed the limits of the table
/// or of a record stays unchanged.
void QueueTable::apply(const Change& change) {
  if (change.op() == ChangeOp::Event) return;
  const Record& record = change.record();
  if (change.op() == ChangeOp::Delete) {
    const std::uint32_t id = rows_.find(record.key(), record.key_hash());
    if (id == rows_.kNone) return;
    rows_.erase(id, record.key_hash());
    if (persister() != nullptr) persister()->forget(record);
    return;
  }
  if (rows_.size() >= limits::kTableRows && rows_.find(record.key(), record.key_hash()) == rows_.kNone) return;
  Row& row = rows_[rows_.find_or_add(record.key(), record.key_hash()).id];
  if (!check_merge(spec().name, row.record, record).ok()) return;
  row.record = Record::merged(row.record, record.with_distinct_names());
  if (persister() != nullptr) persister()->keep(row.record);
}

void QueueTable::ack(const Change& change) {
  if (persister() != nullptr) persister()->entry_acked(change);
}

void QueueTable::restore_entry(Change change) {
  entries_.push_back(std::move(change));
  if (entries_.size() == 1) became_ready();
}

void QueueTable::restore(Record record) { rows_[rows_.find_or_add(record.key(), record.key_hash()).id].record = std::move(record); }

Record QueueTable::get(std::string_view key) const {
  const std::uint32_t id = rows_.find(key, hash_key(key));
  return id == rows_.kNone ? Record{} : rows_[id].record;
}

Result<RowPage> QueueTable::scan(std::string_view cursor, std::size_t max) const {
  return scan_rows(rows_, cursor, max, [this](std::uint32_t id) -> const Record& { return rows_[id].record; });
}

}  // namespace rondo::store
