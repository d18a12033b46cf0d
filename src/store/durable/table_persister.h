// TablePersister: passes to the writer what one table must hold after a restart. It remembers what the table itself forgets: Deletes and
// Queue entries that the consumer has taken but not acknowledged. Scheduler's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string_view>

#include "store/durable/log_writer.h"
#include "store/keyed_rows.h"
#include "store/memory/row_persister.h"

namespace rondo::store::durable {

class TablePersister final : public RowPersister {
 public:
  TablePersister(std::uint32_t number, LogWriter& writer) : number_(number), writer_(writer) {}

  void keep(const Record& row) override {
    settle_delete(row);
    add(LogRecord::Kind::Row, row);
  }
  void keep_delete(const Record& key) override {
    add_pending_delete(key);
    add(LogRecord::Kind::Deleted, key);
  }
  void delete_acked(const Record& deleted) override {
    const std::uint32_t id = deletes_.find(deleted.key(), deleted.key_hash());
    if (id != deletes_.kNone && deletes_[id].key_only.is_copy_of(deleted)) forget(deleted);
  }
  void forget(const Record& key) override {
    settle_delete(key);
    add(LogRecord::Kind::Forget, key);
  }
  void append(const Change& entry) override {
    add_pending_entry(entry);
    writer_.add(entry_record(first_entry_ + entries_.size() - 1));
  }
  void entry_acked(const Change& entry) override {
    const auto is_it = [&entry](const Change& known) { return known.record().is_copy_of(entry.record()); };
    const auto found = std::ranges::find_if(entries_, is_it);  // The first match; earlier entries belong to a consumer that has ended.
    if (found == entries_.end()) return;
    const auto dealt = static_cast<std::uint64_t>(found - entries_.begin()) + 1;
    entries_.erase(entries_.begin(), found + 1);
    first_entry_ += dealt;
    writer_.add({.kind = LogRecord::Kind::Dropped, .table = number_, .number = first_entry_ - 1, .record = {}});
  }

  // Records found in the file; they are not passed to the writer.
  void add_pending_delete(const Record& key) { deletes_[deletes_.find_or_add(key.key(), key.key_hash()).id].key_only = key; }
  void add_pending_entry(const Change& entry) { entries_.push_back(entry); }
  void set_first_entry(std::uint64_t number) noexcept { first_entry_ = number; }

  /// The position of a snapshot in the Deletes and entries.
  struct Place {
    std::uint32_t next_delete = 0;
    std::uint64_t next_entry = 0;
  };
  /// Hands over the table's Deletes and entries to a snapshot, one by one while 'more()' returns true. False when all are handed over.
  template <class More>
  bool write_owed(Place& place, More&& more) {
    for (; place.next_delete < deletes_.end_id(); ++place.next_delete) {
      if (!more()) return true;
      const Record& key = deletes_[place.next_delete].key_only;
      if (key) writer_.add_to_snapshot({.kind = LogRecord::Kind::Deleted, .table = number_, .record = key});
    }
    place.next_entry = std::max(place.next_entry, first_entry_);
    for (; place.next_entry < first_entry_ + entries_.size(); ++place.next_entry) {
      if (!more()) return true;
      writer_.add_to_snapshot(entry_record(place.next_entry));
    }
    return false;
  }
  std::uint32_t number() const noexcept { return number_; }

 private:
  struct PendingDelete {
    Record key_only;
    std::uint32_t next = KeyedRows<PendingDelete>::kNone;
    std::string_view key() const noexcept { return key_only.key(); }
  };
  void settle_delete(const Record& key) {
    if (deletes_.size() == 0) return;
    const std::uint32_t id = deletes_.find(key.key(), key.key_hash());
    if (id != deletes_.kNone) deletes_.erase(id, key.key_hash());
  }
  void add(LogRecord::Kind kind, const Record& record) { writer_.add({.kind = kind, .table = number_, .record = record}); }
  LogRecord entry_record(std::uint64_t number) const {
    const Change& entry = entries_[number - first_entry_];
    return {.kind = LogRecord::Kind::Entry, .op = entry.op(), .table = number_, .number = number, .record = entry.record()};
  }

  const std::uint32_t number_;
  LogWriter& writer_;
  KeyedRows<PendingDelete> deletes_;
  std::deque<Change> entries_;  // The first has the number first_entry_.
  std::uint64_t first_entry_ = 1;
};

}  // namespace rondo::store::durable
