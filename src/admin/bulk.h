// BulkSink: receives many rows. Both ends of a bulk write have this interface: the client's writer sends the rows, and the daemon's sink
// writes them to its store. A generator that feeds a BulkSink works with either. Fields are borrowed views.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

enum class BulkOp : std::uint8_t { Set = 0, Delete = 1 };

/// Arbitrary bytes, also empty. Valid during the call that passes it.
struct BulkField {
  std::string_view name;
  std::string_view value;
  friend bool operator==(const BulkField&, const BulkField&) = default;
};

/// The calls are begin, row..., end, begin, ..., from one thread. The admin server answers an exception as an error of the call that threw.
class BulkSink {
 public:
  virtual ~BulkSink() = default;
  /// The rows until end() are for 'table'. An error refuses all of them: neither row() nor end() is called then.
  virtual Status begin(std::string_view table) = 0;
  /// One row, in order. An error refuses this row only. Work must be bounded: the admin server calls it limits::kAdminRowsPerTurn times a
  /// turn.
  virtual Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) = 0;
  /// No more rows for now. Also called when a malformed frame ends early.
  virtual Status end() = 0;
  /// Counts rows accepted between the last begin() and end() that took effect but are not yet durable (on the disk). With 'refused' it
  /// counts the rows that the store refused later.
  struct Unwritten {
    std::uint64_t rows = 0;
    // Data of the first of these rows: its number among all rows since begin(), from 0, its key, and the reason.
    std::uint64_t first_row = 0;
    std::string first_key = {};
    Status first = {};
    bool refused = false;
  };
  using Settled = std::function<void(const Unwritten& unwritten)>;
  /// Called after end(), before the next begin(). Calls 'settled' once, now or in a later turn, when the result of all these rows is known;
  /// the admin server then answers the frame. Frames may be settled in any order. A sink whose rows are complete when accepted keeps the
  /// default.
  virtual void when_settled(Settled settled) { settled({}); }
};

}  // namespace rondo
