// WatchedView: what a remote Watched table looks like from here: what the consumer was told, what is newer, and in what order it changed.
// After a gap it takes a full read, in steps, and leaves exactly the difference to be told. For stores whose tables are elsewhere; the
// embedded store has no gaps and needs none (store/memory/watched_table.h). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rondo/store/change.h"
#include "store/keyed_rows.h"

namespace rondo::store {

class WatchedView {
 public:
  /// A row's newest full state, or its Delete. Told once, however often it changes before it is taken. The Delete of a row that the
  /// consumer was told is gone is not told again: a key that is set and deleted in quick succession is read twice.
  void changed(const Change& change);

  /// A full read: begin_read(), each row as it comes, and end_read() until it is done. What is left to be told then is the difference to
  /// what was told: Deletes first, then Sets in the order they were read; the order of fields is no difference. What waited stays where it
  /// is unless it turns out to be no difference. Until a read has ended, what it found is held back. One that failed is just begun anew.
  /// Each call O(1).
  void begin_read();
  /// A row that is there. If it comes twice, the later one counts. What changed() says while a read is under way is taken for older than
  /// the read: what is newer is told after it.
  void read(Record row);
  /// Looks at 'max' rows, or tells of them, at most. True when the read has ended.
  bool end_read(std::size_t max);
  /// All of it at once. O(rows).
  void resync(std::span<const Record> rows);

  /// The consumer knows the rows that the first read finds: they are not told.
  void know_first_rows() noexcept { first_rows_known_ = true; }
  /// Tells the row of 'key' once more. Nothing if it is gone or waits already.
  void requeue(std::string_view key);
  /// The first read has ended, and each row that it found was taken or went.
  bool caught_up() const noexcept { return first_read_ended_ && first_left_ == 0; }

  /// O(changes appended).
  std::size_t take(std::size_t max, std::vector<Change>& out);
  bool empty() const noexcept { return waiting_.size == 0; }
  std::size_t depth() const noexcept { return waiting_.size; }

 private:
  enum class In : std::uint8_t { None, Waiting, Held };
  struct Row {
    Record newest;  // With 'deleted': only the key counts.
    Record told;
    std::uint32_t next = KeyedRows<Row>::kNone;
    std::uint32_t previous = KeyedRows<Row>::kNone;
    std::uint32_t round = 0;  // Of the last full read that found it.
    In in = In::None;         // The chain that it is in.
    bool deleted = false;
    bool again = false;  // Waits by requeue(), although it is as told.
    bool first = false;  // Found by the first read, and not told yet.
    std::string_view key() const noexcept { return newest.key(); }
  };
  struct Chain {
    std::uint32_t first = KeyedRows<Row>::kNone;
    std::uint32_t last = KeyedRows<Row>::kNone;
    std::size_t size = 0;
  };
  Chain& chain(In in) noexcept { return in == In::Waiting ? waiting_ : held_; }
  void append(std::uint32_t id, In in);
  void leave(std::uint32_t id);
  void gone(std::uint32_t id);
  bool end_round(std::size_t max);
  bool knows_gone(std::string_view key) const;
  void keep_gone(std::string_view key);
  void settle_first(Row& row) noexcept {
    if (std::exchange(row.first, false)) --first_left_;
  }

  /// Keys kept in each of two sets; more than the reads under way, so that the second read of a key finds it.
  static constexpr std::size_t kGoneKept = 4096;

  KeyedRows<Row> rows_;
  std::unordered_set<std::string> gone_;  // Of the newest Deletes that were taken; with those before them.
  std::unordered_set<std::string> gone_before_;
  Chain waiting_;
  Chain held_;  // Found by a read that has not ended.
  std::uint32_t round_ = 0;
  std::uint32_t looked_at_ = 0;  // By end_read(): rows below it.
  bool first_rows_known_ = false;
  bool first_read_ended_ = false;
  std::size_t first_left_ = 0;  // Rows whose 'first' is set.
};

/// The same fields with the same values, in whatever order. Each side names a field once.
bool same_fields(const Fields& a, const Fields& b);

}  // namespace rondo::store
