// LogWriter: the way of records to the disk. The scheduler's thread gathers; a thread of the writer's own encodes what was gathered and
// commits it, one group at a time, so a turn never waits for the disk. What is gathered meanwhile is the next group. All memory is
// allocated and freed by the scheduler's thread, but for the bytes that are written.
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
  /// Writes what was gathered, if the disk lets it and options.end_is_kill does not forbid it.
  ~LogWriter() override;

  /// A group is handed over at the latest when it has so much, whatever the interval: commits stay short, memory small. A batch's size, and
  /// no bound on what waits: that is limits::kWaitingWrites.
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
  /// Posts 'done' when all that was added so far is on the disk, or cannot be brought there now.
  void when_written(WriteDone done);

  /// A snapshot is what the tables hold, added again: all that was written before its beginning is dropped when its end is on the disk.
  void begin_snapshot();
  void add_to_snapshot(LogRecord record);
  void end_snapshot();
  /// What was added to the snapshot since it began.
  const Volume& snapshot() const noexcept { return taken_; }

  /// Called in a turn after each group that was written.
  void on_written(std::function<void()> tell) { on_written_ = std::move(tell); }
  /// Why the last group could not be written; it is tried again each second.
  const Status& trouble() const noexcept { return trouble_; }
  /// Why the file could not be kept small just now: what was moved out of SQLite's log, or dropped behind a snapshot, stays. Writes go on;
  /// it is tried again each second.
  const Status& upkeep_trouble() const noexcept { return upkeep_trouble_; }
  /// Records gathered and under way, and their bytes.
  std::size_t waiting() const noexcept { return gathered_.records.size() + under_way_->records.size(); }
  std::size_t waiting_bytes() const noexcept { return gathered_.bytes + under_way_->bytes; }
  /// Of them what is no part of a snapshot: that has a bound of its own, and is no reason to refuse a write.
  Volume waiting_writes() const noexcept {
    return {waiting() - gathered_.of_snapshot.records - under_way_->of_snapshot.records,
            waiting_bytes() - gathered_.of_snapshot.bytes - under_way_->of_snapshot.bytes};
  }
  /// Bytes of the log since its snapshot, and of that.
  std::uint64_t log_bytes() const noexcept { return log_bytes_; }
  void set_log_bytes(std::uint64_t bytes) noexcept { log_bytes_ = bytes; }
  bool takes_snapshot() const noexcept { return snapshot_ != Snapshot::None; }

  /// Where nothing is written anyway, has the writing thread look whether the file still has its name: see trouble().
  void look_after();
  /// Waits until everything is on the disk, or cannot be: then why. Blocks; for the end of a process.
  Status finish();

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  struct Group {
    std::deque<LogRecord> records;  // Grows without moving what is there, however long the disk takes.
    std::deque<WriteDone> dones;
    std::size_t bytes = 0;
    Volume of_snapshot;
    bool begins_snapshot = false;
    bool ends_snapshot = false;
    // Filled by the writing thread.
    Status status;
    std::uint64_t written_bytes = 0;
    Duration took{0};
  };
  enum class Snapshot : std::uint8_t { None, Begun, Ended };

  void work(const std::stop_token& stop);
  void write(Group& group);
  void keep_up();
  void keep_up_again();
  void hear_of_upkeep();
  void note_health();
  void ring_bell();
  bool is_due() const;
  void hand_over();
  void answer();
  bool free_some(const Budget& budget);
  void tell(std::deque<WriteDone>& dones, const Status& status);
  void post_some(std::size_t max);

  const DurableStoreOptions options_;
  const Clock& clock_;
  Completions& completions_;
  DurableStoreStats& stats_;
  Group gathered_;
  std::unique_ptr<Group> under_way_ = std::make_unique<Group>();  // The thread's while busy_.
  std::deque<std::deque<LogRecord>> spent_;                       // Written; freed little by little.
  struct Told {
    std::deque<WriteDone> dones;
    Status status;
  };
  std::deque<Told> told_;  // Whose end is known; posted little by little.
  bool busy_ = false;
  bool due_ = false;  // The time of what was gathered has come.
  Status trouble_;
  Status upkeep_trouble_;
  Snapshot snapshot_ = Snapshot::None;
  Volume taken_;
  std::uint64_t log_bytes_ = 0;
  std::function<void()> on_written_;
  TimerSource timer_;
  TimerSource upkeep_timer_;

  // The writing thread's.
  std::unique_ptr<LogFile> file_;
  std::vector<std::string> entries_;
  std::int64_t snapshot_after_ = 0;  // The last entry before the snapshot that was begun.
  std::int64_t drop_until_ = 0;
  std::size_t written_entries_ = 0;  // Of the last group.
  Status upkeep_;

  std::mutex upkeep_mutex_;
  Status upkeep_told_;  // By the writing thread, as it is now. Under the lock.
  std::atomic<bool> upkeep_news_{false};
  std::atomic<bool> upkeep_again_{false};
  std::atomic<std::uint32_t> bell_{0};
  std::atomic<bool> handed_over_{false};
  std::atomic<bool> written_{false};
  std::jthread thread_;
};

}  // namespace rondo::store::durable
