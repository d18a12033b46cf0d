// The durable store: the embedded store, with tables that survive a restart. Reads and writes use memory; groups of writes go to a file
// (docs/guide/durable-store.md, ADR 0012). Only one process at a time has the file open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/metrics.h"
#include "rondo/sched/priority.h"
#include "rondo/store/durable_limits.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// What is guaranteed for a write when its WriteDone is called.
enum class Durability : std::uint8_t {
  /// It is in memory. The file has it within 'interval'; the operating system decides when the disk has it. A killed process loses at most
  /// one interval, a power failure more.
  None,
  /// It is in memory. The disk has it within 'interval' plus the time of a commit. A killed process or a power failure loses no more than
  /// that.
  Interval,
  /// It is on the disk: no confirmed write is lost. Writes share commits: those that arrive during one commit form the next.
  EveryBatch,
};
std::string_view to_string(Durability durability) noexcept;

struct DurableStoreOptions {
  /// Path of the file; its folder must exist. The store makes further files beside it (for a symbolic link, beside its target): path-wal
  /// and path-lock, and temporarily path-new and path-journal. A name with one of these endings is refused.
  std::string path;
  Durability durability = Durability::Interval;
  Duration interval = 50ms;
  /// The most records that wait for the disk. Beyond it writes return ResourceExhausted, or the reason why nothing can be written.
  std::size_t waiting_max = limits::kWaitingWrites;
  /// The most bytes of these records, with the same errors.
  std::size_t waiting_bytes_max = limits::kWaitingWriteBytes;
  /// The running store rewrites the file in small steps when the log is larger than twice the content of the tables plus this. open()
  /// rewrites it before it returns when the file is larger than eight times the content plus this.
  std::uint64_t slack_bytes = std::uint64_t{64} * 1024 * 1024;
  Priority completions = Priority::p7;
  Priority snapshots = Priority::p0;  // Priority of the turns that rewrite the file.
  /// 'Thread' writes on a thread of its own. 'Inline' writes within turns, for simulation and tests.
  enum class Mode : std::uint8_t { Thread, Inline };
  Mode mode = Mode::Thread;
  /// For simulation and tests: the store ends like a killed process. Records not written by then are lost.
  bool end_is_kill = false;
};

/// Parses file:///PATH, optionally followed by ?durability=none|interval|every-batch and interval_ms=1..60000. %XX is decoded in the path.
/// InvalidArgument names the wrong part and the reason.
Result<DurableStoreOptions> parse_durable_address(std::string_view url);

/// Figures since the store was opened.
struct DurableStoreStats {
  std::uint64_t records = 0;    // Written.
  std::uint64_t bytes = 0;      // Bytes of these records in the log.
  std::uint64_t commits = 0;    // Groups that were committed.
  std::uint64_t failed = 0;     // Failed attempts to write a group.
  std::uint64_t snapshots = 0;  // Times the file was rewritten.
  std::uint64_t restored = 0;   // Rows, Deletes and entries found at open().
  std::uint64_t refused = 0;    // Refused writes: too many records waited, or nothing could be written (EveryBatch).
  std::size_t waiting = 0;      // Records that are not written yet, now.
  std::size_t waiting_bytes = 0;
  std::uint64_t failed_upkeep = 0;  // Failed attempts to keep the file small: see health().
  bool writes_fail = false;         // True if writing fails now.
  Instant failing_since;            // While health() is not ok: time of the first failed attempt.
  Duration longest_commit{0};
  Log2Histogram commit_ns;  // How long the commits took, on the writing thread.
  /// What was lost of the file, as found at open(); empty if it was undamaged. The damaged file is kept beside the new one.
  std::vector<std::string> damage;
  std::string damaged_file;
  /// Why open() could not rewrite a file that was too large (see slack_bytes); empty if it could, or did not need to.
  std::string not_shrunk;
};

class DurableStore final : public Store {
 public:
  /// Reads the file, in about a second for a million rows; consumers then receive the rows again. Unavailable: another process has the file
  /// open. PermissionDenied, NotFound, ResourceExhausted: errors of the file system. FailedPrecondition: the file is not a durable store,
  /// or has a newer version. DataLoss: nothing of it can be read, or it has no bytes beside a log that has; it is left alone. From another
  /// damaged or shortened file every complete entry is read that SQLite reaches. The damaged file is kept as NAME.damaged-TIME and
  /// replaced: see DurableStoreStats::damage. From a damaged log SQLite reads the commits before the damage, and reports nothing.
  static Result<std::unique_ptr<DurableStore>> open(Scheduler& scheduler, DurableStoreOptions options);
  /// Like finish(), but ignores errors: call finish() first if they matter.
  ~DurableStore() override;

  // Store. Differences that the file makes: Tables. A kept table can be declared with another limit, which counts from then on. The next
  // consumer receives kept Staged rows as Sets, and Deletes not confirmed with ack() as Deletes. Errors. While nothing can be
  // written, writes return the reason (EveryBatch), or are accepted until waiting_max (otherwise); health() returns it, too. health() also
  // reports why the file cannot be kept small while writes succeed: SQLite's log cannot be emptied, or a rewritten file cannot be dropped.
  // A file that was removed, moved or replaced cannot be written until it is back. The next group or poll_file() notices it.
  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  /// Stored with Durability::EveryBatch, otherwise Accepted.
  WriteAnswer write_answer(std::string_view table) const override;
  bool outlives_process(std::string_view table) const override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;
  /// What was lost of the file, and why and since when nothing can be written.
  StoreReport report() const override;
  /// While nothing waits to be written: makes the writing thread check whether the file is still there, and move SQLite's log into it;
  /// health() then reports the result. Costs two system calls if the log is empty.
  void poll() override;
  /// Records that are not written yet.
  std::size_t unfinished() const override;
  /// Waits until everything written is on the disk. DataLoss if it cannot be, also if the file was removed meanwhile.
  Status finish() override;

  const DurableStoreStats& stats() const noexcept;

 private:
  struct Impl;
  explicit DurableStore(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
