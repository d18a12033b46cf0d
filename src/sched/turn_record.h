// TurnRecord: the newest turns of a scheduler, for the command `turns`. A ring with a bound, made when a caller first asks for turns and
// destroyed when no caller has asked for a while. Scheduler's thread. A turn costs a few nanoseconds, and a branch while there is no
// record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/sched/source.h"
#include "sched/limits.h"

namespace rondo {

/// A turn, or consecutive turns of one source that are one entry. It fills a cache line.
struct alignas(64) RecordedTurn {
  std::uint64_t sequence = 0;  // The number of its last turn.
  std::uint64_t source = 0;    // Source::number().
  Instant start;               // The start of its first turn.
  Instant end;                 // The end of its last turn.
  Duration ran{0};             // Sum over its turns.
  Duration waited{0};          // The longest, from ready to the start of the turn.
  std::uint64_t items = 0;     // Sum over its turns.
  std::uint32_t turns = 1;
  Priority priority;
  bool more = false;  // After its last turn the source had a backlog.
};
static_assert(sizeof(RecordedTurn) == 64);

class TurnRecord {
 public:
  /// The next turn has the number 'turns' + 1. Throws std::bad_alloc.
  TurnRecord(std::uint64_t turns, Instant now) : newest_(turns), began_(now) { entries_.reserve(limits::kTurnsRecorded); }
  TurnRecord(const TurnRecord&) = delete;
  TurnRecord& operator=(const TurnRecord&) = delete;

  /// A turn of 'source' has ended. A turn joins the entry of the turn before it, if that was a turn of the same source, began at most
  /// 1 ms after its end, and the entry then lasts at most 10 ms. So the ring covers seconds of a busy source, and a pause of 1 ms stays
  /// visible. O(1), without allocation.
  void add(const Source& source, const Turn& turn, Instant start, Instant end) noexcept;
  /// 'source' leaves the scheduler. Keeps its name while the record may have turns of it, unless the memory is used up. O(1) amortised.
  void keep_name(const Source& source) noexcept;

  /// Returns the newest entries, at most 'count', whose sequence is above 'since', oldest first. Later turns join none of them. O(count).
  std::vector<RecordedTurn> newest(std::size_t count, std::uint64_t since);
  /// The number of the newest turn, recorded or not.
  std::uint64_t newest_sequence() const noexcept { return newest_; }
  Instant began() const noexcept { return began_; }
  /// The name of a source that left the scheduler; empty if it is not known. Valid until the record changes.
  std::string_view name_of_removed(std::uint64_t source) const;

  /// A caller asked for turns at 'now'.
  void asked(Instant now) noexcept { asked_ = now; }
  bool is_wanted(Instant now) const noexcept { return now - asked_ < limits::kTurnRecordKept; }

 private:
  RecordedTurn& next_entry() noexcept;

  std::uint64_t newest_;
  const Instant began_;
  RecordedTurn* open_ = nullptr;       // The newest entry; null if no turn may join it.
  std::vector<RecordedTurn> entries_;  // A ring when it is full.
  std::size_t oldest_ = 0;
  std::unordered_map<std::uint64_t, std::string> removed_;  // Names by number; at most twice limits::kTurnsRecorded.
  Instant asked_;
};

}  // namespace rondo
