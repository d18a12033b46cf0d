// QueueTable: delivers every operation in order. A Set or Delete is applied to the table when the consumer pops it.
#pragma once

#include <cstdint>
#include <deque>

#include "store/keyed_rows.h"
#include "store/memory/single_consumer_table.h"

namespace rondo::store {

class QueueTable final : public SingleConsumerTable {
 public:
  using SingleConsumerTable::SingleConsumerTable;

  Status write(Change change) override;
  Record get(std::string_view key) const override;
  Result<RowPage> scan(std::string_view cursor, std::size_t max) const override;
  Store::Size size() const override { return {rows_.size(), entries_.size()}; }
  void restore(Record row) override;
  void restore_entry(Change change) override;

 protected:
  std::size_t pop(std::size_t max, std::vector<Change>& out) override;
  std::size_t waiting() const override { return entries_.size(); }
  void ack(const Change& change) override;

 private:
  struct Row {
    Record record;
    std::uint32_t next = KeyedRows<Row>::kNone;
    std::string_view key() const noexcept { return record.key(); }
  };
  void apply(const Change& change);

  std::deque<Change> entries_;
  KeyedRows<Row> rows_;
};

}  // namespace rondo::store
