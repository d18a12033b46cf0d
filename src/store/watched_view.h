// WatchedView: what a remote Watched table looks like from here: what the consumer was told, what is newer, and in what order it changed.
// After a gap it takes a full read and leaves exactly the difference to be told. For stores whose tables are elsewhere; the embedded store
// has no gaps and needs none (store/memory/watched_table.h). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rondo/store/change.h"
#include "store/keyed_rows.h"

namespace rondo::store {

class WatchedView {
 public:
  /// A row's newest full state, or its Delete. Told once, however often it changes before it is taken.
  void changed(const Change& change);
  /// The rows of a full read, each key once. What waited is forgotten; what is left to be told is the difference to what was told: Deletes
  /// first, then Sets in the order of 'rows'. The order of fields is no difference. O(rows).
  void resync(std::span<const Record> rows);

  std::size_t take(std::size_t max, std::vector<Change>& out);
  bool empty() const noexcept { return waiting_ == 0; }
  std::size_t depth() const noexcept { return waiting_; }

 private:
  struct Row {
    Record newest;  // With 'deleted': only the key counts.
    Record told;
    std::uint32_t next = KeyedRows<Row>::kNone;
    bool waits = false;  // Is in the chain.
    bool deleted = false;
    bool seen = false;  // In the full read under way.
    std::string_view key() const noexcept { return newest.key(); }
  };
  void append(std::uint32_t id);
  void forget_chain();

  KeyedRows<Row> rows_;
  std::uint32_t first_ = KeyedRows<Row>::kNone;
  std::uint32_t last_ = KeyedRows<Row>::kNone;
  std::size_t waiting_ = 0;
};

/// The same fields with the same values, in whatever order. Each side names a field once.
bool same_fields(const Fields& a, const Fields& b);

}  // namespace rondo::store
