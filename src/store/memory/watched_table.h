// WatchedTable: rows that any client may write, and subscriptions that receive each changed key once, with its newest state. A subscription
// holds a chain of changed rows in the order of their first change. It also holds one bit for each row, and the rest of the first full
// read. The rows themselves are not copied. A write costs one lookup, and a bit test for each subscription.
#pragma once

#include <cstdint>
#include <vector>

#include "store/keyed_rows.h"
#include "store/memory/memory_table.h"

namespace rondo::store {

class WatchedTable final : public MemoryTable {
 public:
  using MemoryTable::MemoryTable;

  Status write(Change change) override;
  Result<std::unique_ptr<Subscription>> subscribe(const SubscribeOptions& options = {}) override;
  Record get(std::string_view key) const override;
  Result<RowPage> scan(std::string_view cursor, std::size_t max) const override;
  Store::Size size() const override { return {count_, 0}; }
  void restore(Record row) override { static_cast<void>(set(std::move(row))); }

 private:
  class Watcher;
  struct Row {
    Record record;  // With 'deleted': only the key, for the watchers that have not received the Delete yet.
    std::uint32_t next = KeyedRows<Row>::kNone;
    std::uint32_t pending = 0;  // The number of watchers that have this row in their chain.
    bool deleted = false;
    std::string_view key() const noexcept { return record.key(); }
  };

  Status set(Record record);
  void remove(const Record& key);
  void erase_if_settled(std::uint32_t id);

  KeyedRows<Row> rows_;
  std::size_t count_ = 0;  // Rows that are not deleted.
  std::vector<Watcher*> watchers_;
};

}  // namespace rondo::store
