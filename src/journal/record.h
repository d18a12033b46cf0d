// JournalRecord: one decoded record of a journal, and its text form.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/drift_kind.h"
#include "dataplane/programmer.h"
#include "journal/format.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/sched/policy.h"
#include "rondo/store/change.h"

namespace rondo::journal {

/// The texts that records name by number.
class Names {
 public:
  /// Returns "#17" for a number whose text was lost.
  std::string of(std::uint32_t number) const;
  std::uint32_t find(std::string_view text) const noexcept;  // Returns 0 if 'text' has no number.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(texts_.size()); }
  void clear() { texts_.clear(); }
  /// Adds the names of a block; 'first' is the number of the first one. False if the payload is malformed.
  bool add(std::uint64_t first, std::string_view payload);

 private:
  std::vector<std::string> texts_;
};

/// Views are valid as long as the bytes that were decoded.
struct JournalRecord {
  struct Fact {
    std::uint32_t kind = 0;
    std::string_view key;
  };
  struct Failure {
    std::uint64_t order = 0;
    Status status;
  };

  Kind kind = Kind::Lost;
  std::uint32_t table = 0;  // The number of a name.
  std::uint32_t row = kNoRow;
  std::uint32_t source = 0;
  unsigned priority = 0;
  std::uint32_t user = 0;   // For WrittenBy.
  std::uint64_t count = 0;  // Number of changes, rows, orders, items, records or objects; or a weight or a process id.
  bool flag =
      false;  // Took: nothing is left. TurnEnds: more work. RestartLook: the rows had come and were handled. RoomChanged: there is room.
  Instant time;
  WallTime wall;
  Duration span{0};  // Duration of a turn, or a delay.
  ChangeOp op = ChangeOp::Set;
  std::string_view name;  // Name of a source or a note; the verb of an event.
  std::string_view text;  // Text of a note; the key of a change; the text that was written.
  std::vector<Field> fields;
  std::vector<Fact> facts;
  Status why;
  unsigned lane = 0;  // For orders: a number; OrderLane has those of the switch.
  std::uint64_t digest = 0;
  std::vector<Failure> failures;
  LinkEvent link;
  std::shared_ptr<const PolicySettings> policy;  // For Started and Policy only, because it is large.
  NexthopEntry nexthop;
  std::vector<DeleteOrder> orders;  // For Unwanted and Drifted.
  DriftKind drift = DriftKind::Missing;
  std::uint64_t first = 0;              // For OrderAnswers: the number of the first operation in its lane.
  std::vector<std::string_view> texts;  // For Ordered and OrderAnswers, whose executor is 'table'.

  bool has_change() const noexcept;
  bool is_outcome() const noexcept { return journal::is_outcome(kind); }
};

/// The times of a record are within this distance of zero (146 years), and its spans are shorter. So sums and differences of a few of them
/// never overflow.
inline constexpr std::int64_t kTimeMost = std::int64_t{1} << 62U;

/// Decodes 'bytes', a record with its length. Returns false if it is malformed.
bool decode(std::string_view bytes, JournalRecord& record);

/// The change of a Changed record, in an object that callers reuse when they read many.
struct RecordedChange {
  ChangeOp op = ChangeOp::Set;
  std::string_view verb;
  std::string_view key;
  std::vector<Field> fields;
};
/// As decode(), for a record that is known to be a Changed one.
bool decode_change(std::string_view bytes, RecordedChange& change);

/// "parked ROUTE_TABLE 10.0.0.0/24 on nexthop-group:102".
std::string to_string(const JournalRecord& record, const Names& names);
/// "Parked".
std::string_view to_string(Kind kind) noexcept;

}  // namespace rondo::journal
