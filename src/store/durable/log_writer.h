// LogWriter: writes records to the disk. The scheduler's thread gathers records. The writer's own thread encodes and commits them, one
// group at a time, so a turn never waits for the disk. Records gathered meanwhile form the next group. The scheduler's thread allocates and
// frees all memory, except the encoded bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "rondo/store/durable_store.h"
#include "store/completions.h"
#include "store/durable/log_file.h"
#include "store/durable/log_record.h"

namespace rondo::store::durable {

class LogWriter final : public Source {
 public:
  LogWriter(Scheduler& scheduler, const DurableStoreOptions& options, std::unique_ptr<LogFile> file, Completions& completions,
            DurableStoreStats& stats);
  /// Writes the gathered records if the disk accepts them, unless options.end_is_kill forbids it.
  ~LogWriter() override;

  /// A group of this size is handed over before the interval ends, so that commits stay short and memory small. This is a batch size and
  /// does not bound what waits: limits::kWaitingWrites does.
  static constexpr std::size_t kGroupRecords = 32'768;
  static constexpr std::size_t kGroupBytes = std::size_t{8} * 1024 * 1024;
  struct Volume {
    std::size_t records = 0;
    std::size_t bytes = 0;
    void add(const LogRecord& record) noexcept {
      ++records;
      bytes += record.record.bytes();
    }
  };

  void add(LogRecord record);
  /// Posts 'done' when everything added so far is on the disk, or the write has failed.
  void when_written(WriteDone done);

  /// A snapshot adds the content of the tables again. When its end is on the disk, everything written before its beginning is dropped.
  void begin_snapshot();
  void add_to_snapshot(LogRecord record);
  void end_snapshot();
  /// The volume added to the snapshot since it began.
  const Volume& snapshot() const noexcept { return taken_; }

  /// 'tell' is called in a turn after each group that was written.
  void on_written(std::function<void()> tell) { on_written_ = std::move(tell); }
  /// Why the last group could not be written. The writer retries each second.
  const Status& trouble() const noexcept { return trouble_; }
  /// Why the file cannot be kept small now: SQLite's log was not moved into the file, or entries before a snapshot were not dropped. Writes
  /// continue, and the writer retries each second.
  const Status& upkeep_trouble() const noexcept { return upkeep_trouble_; }
  /// Records gathered or being written, and their bytes.
  std::size_t waiting() const noexcept { return gathered_.records.size() + under_way_->records.size(); }
  std::size_t waiting_bytes() const noexcept { return gathered_.bytes + under_way_->bytes; }
  /// The part of waiting() that does not belong to a snapshot. A snapshot has its own bound and must not cause a write to be refused.
  Volume waiting_writes() const noexcept {
    return {waiting() - gathered_.of_snapshot.records - under_way_->of_snapshot.records,
            waiting_bytes() - gathered_.of_snapshot.bytes - under_way_->of_snapshot.bytes};
  }
  /// Bytes of the log since its last snapshot, including the snapshot.
  std::uint64_t log_bytes() const noexcept { return log_bytes_; }
  void set_log_bytes(std::uint64_t bytes) noexcept { log_bytes_ = bytes; }
  bool takes_snapshot() const noexcept { return snapshot_ != Snapshot::None; }

  /// If nothing waits to be written, the writing thread checks whether the file still has its name (see trouble()), and moves SQLite's log
  /// into the file.
  void poll_file();
  /// Blocks until everything is on the disk; if that is impossible, returns the error. Used when a process ends.
  Status finish();

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  struct Group {
    std::deque<LogRecord> records;  // A deque grows without moving its records, however long the disk takes.
    std::deque<WriteDone> dones;
    std::size_t bytes = 0;
    Volume of_snapshot;
    bool begins_snapshot = false;
    bool ends_snapshot = false;
    // Set by the writing thread.
    Status status;
    std::uint64_t written_bytes = 0;
    Duration took{0};
  };
  enum class Snapshot : std::uint8_t { None, Begun, Ended };

  void work(const std::stop_token& stop);
  void write(Group& group);
  void keep_up();
  void keep_up_again();
  void take_upkeep();
  void note_health();
  void signal();
  bool is_due() const;
  void hand_over();
  void answer();
  bool free_some(const Budget& budget);
  void report(std::deque<WriteDone>& dones, const Status& status);
  void post_some(std::size_t max);

  const DurableStoreOptions options_;
  const Clock& clock_;
  Completions& completions_;
  DurableStoreStats& stats_;
  Group gathered_;
  std::unique_ptr<Group> under_way_ = std::make_unique<Group>();  // Owned by the writing thread while busy_.
  std::deque<std::deque<LogRecord>> spent_;                       // Written records; freed in small steps.
  struct Answered {
    std::deque<WriteDone> dones;
    Status status;
  };
  std::deque<Answered> answered_;  // Callbacks whose result is known; posted in small steps.
  bool busy_ = false;
  bool due_ = false;  // The interval of the gathered records has ended.
  Status trouble_;
  Status upkeep_trouble_;
  Snapshot snapshot_ = Snapshot::None;
  Volume taken_;
  std::uint64_t log_bytes_ = 0;
  std::function<void()> on_written_;
  TimerSource timer_;
  TimerSource upkeep_timer_;

  // Used by the writing thread only.
  std::unique_ptr<LogFile> file_;
  std::vector<std::string> entries_;
  std::int64_t snapshot_after_ = 0;  // The last entry before the snapshot that has begun.
  std::int64_t drop_until_ = 0;
  std::size_t written_entries_ = 0;  // Entries of the last group.
  Status upkeep_;

  std::mutex upkeep_mutex_;
  Status upkeep_reported_;  // The current result of the upkeep, from the writing thread. Guarded by the lock.
  std::atomic<bool> upkeep_news_{false};
  std::atomic<bool> upkeep_again_{false};
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<bool> handed_over_{false};
  std::atomic<bool> written_{false};
  std::jthread thread_;
};

}  // namespace rondo::store::durable
