#include "store/durable/log_content.h"

#include <array>
#include <utility>

namespace rondo::store::durable {

namespace {

/// Packs records into entries, and entries into groups that are appended together.
class Groups {
 public:
  explicit Groups(const std::function<Status(std::span<const std::string>)>& append) : append_(append) {}

  void put(const LogRecord& record) {
    if (!status_.ok()) return;
    encode(record, entries_[used_]);
    if (entries_[used_].size() < kEntryBytes) return;
    bytes_ += entries_[used_].size();
    if (++used_ == entries_.size() || bytes_ >= kGroupBytes) flush();
  }
  Status end() {
    if (status_.ok() && !entries_[used_].empty()) ++used_;
    if (status_.ok() && used_ > 0) flush();
    return std::move(status_);
  }

 private:
  static constexpr std::size_t kEntryBytes = std::size_t{256} * 1024;
  static constexpr std::size_t kGroupBytes = std::size_t{8} * 1024 * 1024;

  void flush() {
    status_ = append_({entries_.data(), used_});
    for (std::string& entry : entries_) entry.clear();
    used_ = 0;
    bytes_ = 0;
  }

  const std::function<Status(std::span<const std::string>)>& append_;
  std::array<std::string, kGroupBytes / kEntryBytes> entries_;
  std::size_t used_ = 0;   // Full entries among them.
  std::size_t bytes_ = 0;  // Bytes in the full entries.
  Status status_;
};

}  // namespace

Status LogContent::add(std::string_view entry) {
  while (!entry.empty()) {
    Result<LogRecord> record = decode(entry);
    if (!record) return record.error();
    if (Status bad = add(std::move(*record)); !bad.ok()) return bad;
  }
  return {};
}

Status LogContent::add(LogRecord record) {
  using Kind = LogRecord::Kind;
  // The table's name may follow later: a snapshot repeats it, and a part of the log before the snapshot may already be dropped.
  if (record.table >= tables_.size()) tables_.resize(record.table + 1);
  if (tables_[record.table] == nullptr) tables_[record.table] = std::make_unique<Table>();
  Table& table = *tables_[record.table];
  switch (record.kind) {
    case Kind::Table: {
      Result<TableSpec> spec = record.spec();
      if (!spec) return spec.error();
      table.spec = std::move(*spec);
      break;
    }
    case Kind::Row:
    case Kind::Deleted: {
      Row& row = table.rows[table.rows.find_or_add(record.record.key(), record.record.key_hash()).id];
      row.deleted = record.kind == Kind::Deleted;
      row.record = std::move(record.record);
      break;
    }
    case Kind::Forget: {
      const std::uint32_t id = table.rows.find(record.record.key(), record.record.key_hash());
      if (id != table.rows.kNone) table.rows.erase(id, record.record.key_hash());
      break;
    }
    case Kind::Entry:
      if (record.number > table.dropped) table.entries.insert_or_assign(record.number, Change{record.op, std::move(record.record)});
      break;
    case Kind::Dropped:
      table.dropped = std::max(table.dropped, record.number);
      table.entries.erase(table.entries.begin(), table.entries.upper_bound(record.number));
      break;
  }
  return {};
}

std::vector<Status> LogContent::drop_nameless() {
  std::vector<Status> dropped;
  for (std::size_t number = 0; number < tables_.size(); ++number) {
    if (tables_[number] == nullptr || !tables_[number]->spec.name.empty()) continue;
    dropped.emplace_back(StatusCode::DataLoss, "the name of table number " + std::to_string(number) + ", and so its " +
                                                   std::to_string(tables_[number]->rows.size()) + " rows and " +
                                                   std::to_string(tables_[number]->entries.size()) + " entries");
    tables_[number].reset();
  }
  return dropped;
}

void LogContent::close_holes() {
  for (const std::unique_ptr<Table>& table : tables_) {
    if (table == nullptr || table->entries.empty()) continue;
    std::map<std::uint64_t, Change> closed;
    std::uint64_t number = table->entries.begin()->first;
    for (auto& [old, change] : table->entries) closed.emplace_hint(closed.end(), number++, std::move(change));
    table->entries = std::move(closed);
  }
}

std::uint64_t LogContent::bytes() const {
  std::uint64_t bytes = 0;
  for (const std::unique_ptr<Table>& table : tables_) {
    if (table == nullptr) continue;
    for (std::uint32_t id = 0; id < table->rows.end_id(); ++id) {
      if (table->rows[id].record) bytes += table->rows[id].record.bytes();
    }
    for (const auto& [number, change] : table->entries) bytes += change.record().bytes();
  }
  return bytes;
}

Status LogContent::write_to(const std::function<Status(std::span<const std::string> entries)>& append) const {
  Groups groups{append};
  for (std::uint32_t number = 0; number < tables_.size(); ++number) {
    if (tables_[number] == nullptr) continue;
    const Table& table = *tables_[number];
    groups.put(LogRecord::of_table(number, table.spec));
    for (std::uint32_t id = 0; id < table.rows.end_id(); ++id) {
      const Row& row = table.rows[id];
      if (!row.record) continue;
      groups.put({.kind = row.deleted ? LogRecord::Kind::Deleted : LogRecord::Kind::Row, .table = number, .record = row.record});
    }
    for (const auto& [entry, change] : table.entries) {
      groups.put({.kind = LogRecord::Kind::Entry, .op = change.op(), .table = number, .number = entry, .record = change.record()});
    }
    if (table.dropped > 0) groups.put({.kind = LogRecord::Kind::Dropped, .table = number, .number = table.dropped, .record = {}});
  }
  return groups.end();
}

}  // namespace rondo::store::durable
