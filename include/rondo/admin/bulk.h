// BulkSink: where rows go when there are many. The same interface stands at both ends of a bulk write: the client's writer is one (it sends
// what it gets), the daemon implements one onto its store, and a generator that feeds a BulkSink works with either. Fields are borrowed
// views.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

enum class BulkOp : std::uint8_t { Set = 0, Delete = 1 };

/// Any bytes, also empty. Valid during the call that passes it.
struct BulkField {
  std::string_view name;
  std::string_view value;
  friend bool operator==(const BulkField&, const BulkField&) = default;
};

/// Calls come as begin, row..., end, begin, ... from one thread.
class BulkSink {
 public:
  virtual ~BulkSink() = default;
  /// The rows until end() are for 'table'. An error refuses all of them: neither row() nor end() follows.
  virtual Status begin(std::string_view table) = 0;
  /// One row, in order. An error refuses this row only. Bounded work: the admin server calls it limits::kAdminRowsPerTurn times a turn.
  virtual Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) = 0;
  /// No more rows for now. Also called when a malformed frame ends early.
  virtual Status end() = 0;
  /// Of the rows accepted between the last begin() and end(): those that took effect, but are not where they are certain (on the disk),
  /// or, with 'refused', those that the store refused later.
  struct Unwritten {
    std::uint64_t rows = 0;
    std::uint64_t first_row = 0;  // Of the first of them: its number among all rows since begin(), from 0, its key, and why.
    std::string first_key = {};
    Status first = {};
    bool refused = false;
  };
  using Settled = std::function<void(const Unwritten& unwritten)>;
  /// Called after end(), before the next begin(). Calls 'settled' once, now or in a later turn, when it is known of all those rows what
  /// became of them: the admin server answers a frame then. Frames may be settled in any order. A sink whose rows are done when they are
  /// accepted leaves it as it is.
  virtual void when_settled(Settled settled) { settled({}); }
};

}  // namespace rondo
