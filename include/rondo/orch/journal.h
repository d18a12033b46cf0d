// Journal: the record of what a runtime consumed (swss.rec) and of what it parked and retried (retry.rec), in the text forms of SONiC
// (seed 002, "Logging"). Lines are formatted into a buffer on the hot path and written by a thread of the journal's own; nothing waits for
// the disk.
//   swss.rec    2024-09-11.18:55:38.383953|ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1
//   retry.rec   2024-09-11.18:55:38.383953| ++++ |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1      parked
//               2024-09-11.18:56:22.144220| ---- |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1      back
//               2024-09-11.18:56:22.144100|(nexthop-group, 1) resolution notified -> 800000 tasks
// Control characters, '|' and '\' inside keys, names and values are written as \xHH, so that a line is one record (SONiC does not escape).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/orch/constraint.h"
#include "rondo/store/change.h"

namespace rondo {

struct JournalOptions {
  /// Directory of swss.rec and retry.rec; it must exist. Empty: record nothing.
  std::string directory;
  /// Before the files' names, such as "routes." for a worker's own.
  std::string prefix = {};
  bool record_changes = true;
  bool record_retries = true;
  /// Text waiting for the writer; beyond it lines are dropped and counted, and the file says how many.
  std::size_t buffer_bytes = limits::kJournalBytes;
};

struct JournalStats {
  std::uint64_t lines = 0;         // Records taken into the buffer.
  std::uint64_t dropped = 0;       // Records lost: the buffer was full, or their write failed (these are in 'lines', too).
  std::uint64_t write_errors = 0;  // Failed writes and failed reopenings.
};

/// Scheduler's thread, unless said otherwise.
class Journal {
 public:
  /// Records nothing.
  Journal();
  /// Opens the files that the options ask for, for appending. A Status that names the file when that fails.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options, const Clock& clock);
  /// Writes what is buffered.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// One inlined branch when off; under 150 ns for a change of one field when on (bench/journal).
  void consumed(std::string_view table, const Change& change) {
    if (changes_) record_consumed(table, change);
  }
  void parked(std::string_view table, const Change& change) {
    if (retries_) record_moved(" ++++ |", table, change);
  }
  void retried(std::string_view table, const Change& change) {
    if (retries_) record_moved(" ---- |", table, change);
  }
  void resolved(const Constraint& fact, std::size_t rows) {
    if (retries_) record_resolved(fact, rows);
  }
  /// The clock is read once a turn, not once a line. Every line bears the time that was set last; open() sets it first.
  void set_time(WallTime now) noexcept;

  /// Reopens the files by name (after SIGHUP, for logrotate). Any thread; the next write goes to the new file. When a file cannot be opened
  /// the old one is kept, and the failure is counted as a write error.
  void rotate() noexcept;
  /// Blocks until everything recorded so far is written (to the kernel, not to the platter). For shutdown and tests. The newest error of a
  /// write or a reopening since the last flush; ok if there was none. Any thread.
  Status flush();
  /// Any thread.
  JournalStats stats() const;

 private:
  struct Impl;
  explicit Journal(std::unique_ptr<Impl> impl) noexcept;
  void record_consumed(std::string_view table, const Change& change);
  void record_moved(std::string_view direction, std::string_view table, const Change& change);
  void record_resolved(const Constraint& fact, std::size_t rows);

  std::unique_ptr<Impl> impl_;
  bool changes_ = false;
  bool retries_ = false;
};

}  // namespace rondo
