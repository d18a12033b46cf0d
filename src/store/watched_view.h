// WatchedView: the local view of a remote Watched table: what was delivered to the consumer, what is newer, and the order of the changes.
// After a gap it reads the whole table in steps, and delivers exactly the difference. It is for stores whose tables are remote. The
// embedded store has no gaps and does not need it (store/memory/watched_table.h). One thread.
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
  /// A row's newest full state, or its Delete. It is delivered once, however often it changes before it is taken. If the consumer already
  /// knows that the row is deleted, another Delete is not delivered. That happens when a key is set and deleted in quick succession and is
  /// read twice.
  void changed(const Change& change);

  /// A full read: begin_read(), then read() for each row, then end_read() until it returns true. The view then delivers the difference to
  /// what the consumer knows: Deletes first, then Sets in the order in which they were read. The order of fields is no difference. A
  /// waiting row keeps its position, unless it turns out to be no difference. Rows found by a read are held back until the read has ended.
  /// After a failed read, call begin_read() again. Each call is O(1).
  void begin_read();
  /// A row that exists. If a row is read twice, the later one counts. A change reported by changed() during a read counts as older than the
  /// read; report newer changes after the read.
  void read(Record row);
  /// Processes at most 'max' rows. True when the read has ended.
  bool end_read(std::size_t max);
  /// Performs a full read in one call. O(rows).
  void resync(std::span<const Record> rows);

  /// The consumer knows the rows that the first read finds; they are not delivered.
  void know_first_rows() noexcept { first_rows_known_ = true; }
  /// Delivers the row of 'key' once more. Does nothing if the row is deleted or already waits.
  void requeue(std::string_view key);
  /// The first read has ended, and each row that it found was taken or deleted.
  bool caught_up() const noexcept { return first_read_ended_ && first_left_ == 0; }

  /// O(changes appended).
  std::size_t take(std::size_t max, std::vector<Change>& out);
  bool empty() const noexcept { return waiting_.size == 0; }
  std::size_t depth() const noexcept { return waiting_.size; }

 private:
  enum class In : std::uint8_t { None, Waiting, Held };
  struct Row {
    Record newest;  // With 'deleted': only the key is used.
    Record told;
    std::uint32_t next = KeyedRows<Row>::kNone;
    std::uint32_t previous = KeyedRows<Row>::kNone;
    std::uint32_t round = 0;  // The number of the last full read that found the row.
    In in = In::None;         // The chain in which the row is.
    bool deleted = false;
    bool again = false;  // The row waits because of requeue(), although it has not changed.
    bool first = false;  // Found by the first read and not delivered yet.
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

  /// The number of keys kept in each of two sets. It exceeds the number of outstanding reads, so that the second read of a key finds it.
  static constexpr std::size_t kGoneKept = 4096;

  KeyedRows<Row> rows_;
  std::unordered_set<std::string> gone_;  // The keys of the newest Deletes that were taken; gone_before_ has those before them.
  std::unordered_set<std::string> gone_before_;
  Chain waiting_;
  Chain held_;  // Rows found by a read that has not ended.
  std::uint32_t round_ = 0;
  std::uint32_t checked_ = 0;  // end_read() has checked the rows below this number.
  bool first_rows_known_ = false;
  bool first_read_ended_ = false;
  std::size_t first_left_ = 0;  // The number of rows with 'first' set.
};

/// True if both have the same fields with the same values, in any order. Each side must name a field only once.
bool same_fields(const Fields& a, const Fields& b);

}  // namespace rondo::store
