// The durable store: the embedded store, whose tables come back after a restart. Memory is the hot path; what is written goes to a file in
// groups (docs/guide/durable-store.md, ADR 0012). One process at a time has the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/sched/priority.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

/// What is certain of a write whose end was told (WriteDone).
enum class Durability : std::uint8_t {
  /// It is in memory. The file follows within 'interval', and the disk when the operating system likes: a killed process loses at most an
  /// interval, a power cut more.
  None,
  /// It is in memory. The disk has it within 'interval' and the time of a commit: a killed process or a power cut loses no more than that.
  Interval,
  /// The disk has it: nothing whose end was told is lost. Writes share commits: those that come during one make up the next.
  EveryBatch,
};
std::string_view to_string(Durability durability) noexcept;

struct DurableStoreOptions {
  /// Of the file; its folder must exist. There are others beside it, for a symbolic link beside what that leads to: path-wal, path-lock,
  /// for some moments path-new and path-journal. A name that ends like them is refused.
  std::string path;
  Durability durability = Durability::Interval;
  Duration interval = 50ms;
  /// Records that wait for the disk; beyond it writes are refused with ResourceExhausted, or the reason why nothing can be written.
  std::size_t waiting_max = limits::kWaitingWrites;
  /// Their bytes, likewise.
  std::size_t waiting_bytes_max = limits::kWaitingWriteBytes;
  /// The file is written anew, in small steps, when the log has grown beyond what the tables hold by so much, and is twice as large; at
  /// once when it is opened, and is four times as large.
  std::uint64_t slack_bytes = std::uint64_t{64} * 1024 * 1024;
  Priority completions = Priority::p7;
  Priority snapshots = Priority::p0;  // Of the turns that write the tables anew.
  /// 'Thread' writes on a thread of its own. 'Inline' writes within turns, for simulation and tests.
  enum class Mode : std::uint8_t { Thread, Inline };
  Mode mode = Mode::Thread;
  /// For simulation and tests: the end of the store is that of a killed process. What is not written by then is lost.
  bool end_is_kill = false;
};

/// Reads file:///PATH, with ?durability=none|interval|every-batch and interval_ms=1..60000 behind it. %XX is decoded in the path.
/// InvalidArgument says which part is wrong and why.
Result<DurableStoreOptions> parse_durable_address(std::string_view url);

/// Figures since the store was opened.
struct DurableStoreStats {
  std::uint64_t records = 0;    // Written.
  std::uint64_t bytes = 0;      // Of them in the log.
  std::uint64_t commits = 0;    // Groups.
  std::uint64_t failed = 0;     // Tries to write a group that failed.
  std::uint64_t snapshots = 0;  // Times the file was written anew.
  std::uint64_t restored = 0;   // Rows, Deletes and entries found when it was opened.
  std::uint64_t refused = 0;    // Writes: too much waited, or nothing could be written (EveryBatch).
  std::size_t waiting = 0;      // Records that are not written yet, now.
  std::size_t waiting_bytes = 0;
  std::uint64_t failed_upkeep = 0;  // Tries to keep the file small that failed: see health().
  bool writes_fail = false;         // Nothing can be written now.
  Instant failing_since;            // While health() is not ok: since the first try that failed.
  Duration longest_commit{0};
  /// What was lost of the file, as found when it was opened; empty when it was whole. The damaged file is kept beside the new one.
  std::vector<std::string> damage;
  std::string damaged_file;
  /// Why the file, which was too large when it was opened (see slack_bytes), could not be written anew; empty when it could, or was not.
  std::string not_shrunk;
};

class DurableStore final : public Store {
 public:
  /// Reads the file, which takes about a second for a million rows; rows are told to their consumers again. Unavailable: another process
  /// has it. PermissionDenied, NotFound, ResourceExhausted: as the file system says. FailedPrecondition: it is none of ours, or of a newer
  /// version. DataLoss: its very first page is damaged. Of a file or log that is damaged, or shorter than it should be, every whole entry
  /// is read; it is kept under another name and replaced: see DurableStoreStats::damage.
  static Result<std::unique_ptr<DurableStore>> open(Scheduler& scheduler, DurableStoreOptions options);
  /// As finish(), but nobody hears that it failed: call finish() before, where that matters.
  ~DurableStore() override;

  // Store. Differences that the file makes: a table that was kept can be declared with another limit, which counts from then on; Staged
  // rows that were kept are told to the next consumer as Sets, and Deletes that were not dealt with as Deletes. While nothing can be
  // written, writes are refused with the reason (EveryBatch), or accepted until waiting_max (else); health() has it, too. It also tells
  // why the file cannot be kept small, while writes go on: SQLite's log beside it cannot be emptied, or what was written anew not dropped.
  // A file that somebody removes, moves away or replaces cannot be written until it is back; that is noticed with the next group, or by
  // look_after().
  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;

  const DurableStoreStats& stats() const noexcept;
  /// Has the writing thread look whether the file is still there, when nothing is written that would notice; health() says so then. For a
  /// timer of about a second; costs two looks at the folder.
  void look_after();
  /// Waits until everything that was written is on the disk, or cannot be: then why. Also says when the file has gone since. Blocks; for
  /// the end of a process.
  Status finish();

 private:
  struct Parts;
  explicit DurableStore(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
