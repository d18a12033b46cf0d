// StagedTable: writes merge in a staging area until the consumer pops them into the table, in the order of each key's first arrival. One
// row holds both the popped and the staged state, so a write costs one lookup and a pop none. Row and change share one record unless a
// merge is needed.
//
// A consumer receives the standing rows first, in the order of their numbers and without a copy; each row remembers which consumer has seen
// it. A row that is written before its turn leaves that walk and is delivered with the other staged rows.
//
// The tables of store/zmq use this class, too. Their limit counts the waiting keys, and a popped change is kept while there is room, or
// forgotten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "store/arrival_marks.h"
#include "store/keyed_rows.h"
#include "store/memory/single_consumer_table.h"

namespace rondo::store {

class StagedTable final : public SingleConsumerTable {
 public:
  /// What happens to a popped change, and what TableSpec::rows_max limits.
  /// BecomesRow: the change becomes a row; the limit counts all keys.
  /// IsKept: it becomes a row unless limits::kTableRows rows exist; the limit counts the waiting keys.
  /// IsForgotten: there are no rows; the limit counts the waiting keys.
  enum class Popped : std::uint8_t { BecomesRow, IsKept, IsForgotten };
  explicit StagedTable(TableSpec spec, Popped popped = Popped::BecomesRow) : SingleConsumerTable(std::move(spec)), popped_(popped) {}

  Status write(Change change) override;
  Record get(std::string_view key) const override;
  Result<RowPage> scan(std::string_view cursor, std::size_t max) const override;
  Result<RowPage> scan_written(std::string_view cursor, std::size_t max) const override;
  Store::Size size() const override { return {real_count_, staged_count_}; }
  void restore(Record row) override;

 protected:
  void begin(const SubscribeOptions& options) override;
  void requeue(std::string_view key) override;
  bool caught_up() const override { return unseen_ == 0; }
  void next_arrivals(std::size_t max, std::vector<Subscription::Arrival>& out) const override {
    const std::size_t walked = std::min(walk_left_, max);
    if (walked != 0) out.push_back({.at = {}, .keys = walked});
    arrivals_.next(max - walked, out);
  }
  std::size_t pop(std::size_t max, std::vector<Change>& out) override;
  std::size_t waiting() const override { return staged_count_ + walk_left_; }
  bool waits(std::string_view key) const override;
  void ack(const Change& change) override;

 private:
  /// What is staged for a key. The first four are the merge states of SONiC's orchagent ("DEL, SET" keeps both). Again: no change is
  /// staged, and the row is delivered once more.
  enum class Staged : std::uint8_t { Nothing, Set, Delete, DeleteThenSet, Again };
  struct Row {
    Record real;                                 // The popped row; empty: no row.
    Record staged;                               // The record of a Set, or the key of a Delete.
    std::uint32_t next = KeyedRows<Row>::kNone;  // The next row in the chain of staged rows.
    Staged state = Staged::Nothing;
    std::uint16_t seen_by = 0;  // The number of the last consumer that received the row; 0: none.
    std::string_view key() const noexcept { return staged ? staged.key() : real.key(); }
  };

  Status stage(Row& row, Change change);
  /// The number of rows that count towards TableSpec::rows_max. is_counted() returns whether the row of 'key' counts.
  std::size_t rows_counted() const noexcept { return popped_ == Popped::BecomesRow ? rows_.size() : staged_count_ - again_count_; }
  bool is_counted(std::string_view key, std::uint64_t hash) const;
  static Record written(const Row& row);
  void notify_persister(const Row& row) const;
  void append(std::uint32_t id);
  void pop_row(std::uint32_t id, std::vector<Change>& out);
  std::size_t walk(std::size_t max, std::vector<Change>& out);
  bool is_unseen(const Row& row) const noexcept { return row.real && unseen_ != 0 && row.seen_by != consumer_; }
  void see(Row& row) noexcept {
    if (is_unseen(row)) --unseen_;
    row.seen_by = consumer_;
  }

  Popped popped_;
  KeyedRows<Row> rows_;
  std::uint32_t first_ = KeyedRows<Row>::kNone;
  std::uint32_t last_ = KeyedRows<Row>::kNone;
  std::size_t real_count_ = 0;
  std::size_t staged_count_ = 0;
  std::size_t again_count_ = 0;  // Staged rows in the state Again.
  bool whole_ = true;            // Sets carry the whole row (Rows::Whole).
  std::uint16_t consumer_ = 0;   // The current consumer's number; 0 before the first consumer.
  std::size_t unseen_ = 0;       // Standing rows that the consumer has not received yet.
  std::size_t walk_left_ = 0;    // Number of unseen_ rows that are not staged.
  std::uint32_t walk_next_ = 0;
  ArrivalMarks arrivals_;  // Marks in the chain of staged rows.
};

}  // namespace rondo::store
