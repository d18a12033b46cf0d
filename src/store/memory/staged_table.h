// StagedTable: writes merge in a staging area until the consumer pops them into the table, in order of each key's first arrival. One row
// holds both sides, so a write is one lookup and a pop is none; row and change share one record unless something has to be merged. The
// direct tables (store/direct) use it without the table: what is popped is forgotten.
#pragma once

#include <cstdint>
#include <utility>

#include "store/keyed_rows.h"
#include "store/memory/popped_table.h"

namespace rondo::store {

class StagedTable final : public PoppedTable {
 public:
  /// What becomes of a change that was popped.
  enum class Popped : std::uint8_t { BecomesRow, IsForgotten };
  explicit StagedTable(TableSpec spec, Popped popped = Popped::BecomesRow) : PoppedTable(std::move(spec)), popped_(popped) {}

  Status write(Change change) override;
  Record get(std::string_view key) const override;
  Result<RowPage> scan(std::string_view cursor, std::size_t max) const override;
  Result<RowPage> scan_written(std::string_view cursor, std::size_t max) const override;
  Store::Size size() const override { return {real_count_, staged_count_}; }
  void restore(Record row) override;

 protected:
  std::size_t pop(std::size_t max, std::vector<Change>& out) override;
  std::size_t waiting() const override { return staged_count_; }
  void dealt_with(const Change& change) override;

 private:
  /// What is staged for a key; the four states of spec B1 ("DEL, SET" is kept as both).
  enum class Staged : std::uint8_t { Nothing, Set, Delete, DeleteThenSet };
  struct Row {
    Record real;                                 // As popped; empty: no row.
    Record staged;                               // The Set's record; a Delete's, which has only the key.
    std::uint32_t next = KeyedRows<Row>::kNone;  // In the chain of staged rows.
    Staged state = Staged::Nothing;
    std::string_view key() const noexcept { return staged ? staged.key() : real.key(); }
  };

  Status stage(Row& row, Change change);
  static Record written(const Row& row);
  void tell_keeper(const Row& row) const;
  void append(std::uint32_t id);
  void pop_row(std::uint32_t id, std::vector<Change>& out);

  Popped popped_;
  KeyedRows<Row> rows_;
  std::uint32_t first_ = KeyedRows<Row>::kNone;
  std::uint32_t last_ = KeyedRows<Row>::kNone;
  std::size_t real_count_ = 0;
  std::size_t staged_count_ = 0;
};

}  // namespace rondo::store
