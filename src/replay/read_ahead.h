// ReadAhead: reads the records of one run ahead of a replay, on its own thread. It reads bytes, checks blocks, finds where records begin
// and makes the changes. Batches pass to the replay through a queue that is bounded in batches and in bytes. The replay's results do not
// depend on the speed of the thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "journal/reader.h"
#include "rondo/store/change.h"

namespace rondo::replay {

/// One record in its piece. Its number is determined by its place in the run.
struct ReadRecord {
  const char* data = nullptr;
  std::uint32_t size = 0;  // 0: there is no record.
  journal::Kind kind = journal::Kind::Lost;
  std::string_view bytes() const noexcept { return {data, size}; }
};

class ReadAhead {
 public:
  /// The change of a Changed record.
  struct Made {
    std::uint64_t number = 0;
    Change change;
  };
  /// Consecutive records, all in one piece of a file's bytes. An empty batch: the run has ended.
  struct Batch {
    std::vector<ReadRecord> records;
    std::vector<Made> changes;  // The changes of the whole Changed records among them.
    std::shared_ptr<const char[]> piece;
    std::size_t bytes = 0;     // Bytes of the records.
    std::string gap;           // Reason why reading stops before the end of the run; empty if it does not.
    std::exception_ptr error;  // In the last batch: the exception of the reading.
  };

  /// The end of the run: the reader, and the offset behind the last block of its records.
  struct End {
    std::size_t reader = 0;
    std::uint64_t offset = 0;
  };

  /// Continues at the position of readers[first]. Throws std::system_error when no thread can be started.
  ReadAhead(std::vector<std::unique_ptr<journal::JournalReader>> readers, std::size_t first, End end);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Waits for the next batch and exchanges 'batch' for it. Must not be called after the last batch, which has no records.
  void next(Batch& batch);
  /// How often the thread paused at the limit of reading ahead.
  std::uint64_t pauses() const {
    const std::lock_guard lock(mutex_);
    return pauses_;
  }

 private:
  void work(const std::stop_token& stop);
  void fill(Batch& batch);
  bool read_one(Batch& batch);
  void enter(std::size_t reader);
  std::string gap_before(const journal::RawRecord& record) const;
  std::string lost_while_read(const journal::JournalReader& reader, std::size_t damaged_before);
  bool is_full() const noexcept;
  bool has_room() const noexcept;

  // Used by the reading thread.
  std::vector<std::unique_ptr<journal::JournalReader>> readers_;
  std::vector<std::size_t> damaged_before_;  // The number of damaged parts of each, when it was opened.
  const End end_;
  std::size_t reader_ = 0;
  std::uint64_t end_here_ = 0;  // The offset in this file at which the run ends.
  journal::RawRecord ahead_;    // Read, but part of the next batch, because it is in another piece.
  std::uint64_t last_number_ = 0;
  journal::RecordedChange change_;

  mutable std::mutex mutex_;
  std::condition_variable_any filled_;
  std::condition_variable_any taken_;
  std::vector<Batch> batches_;
  std::uint64_t put_ = 0;  // The number of batches put; batches_ is a ring with consecutive places.
  std::uint64_t took_ = 0;
  std::size_t bytes_ = 0;  // Bytes of the waiting batches.
  std::uint64_t pauses_ = 0;
  bool took_last_ = false;

  std::jthread thread_;  // Declared last: it ends before the members that it uses.
};

}  // namespace rondo::replay
