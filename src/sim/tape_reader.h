// TapeReader: reads the records of one run ahead of a replay, on a thread of its own: asking the system for bytes, checking blocks, finding
// where records begin, making the changes. What it reads goes over in batches through a queue that is bounded in batches and in bytes; what
// a replay sees of it is the same at any speed.
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

#include "orch/journal_reader.h"
#include "rondo/store/change.h"

namespace rondo::sim {

/// One record, where it lies. Its number is that of its place in the run.
struct TapeRecord {
  const char* data = nullptr;
  std::uint32_t size = 0;  // 0: there is none.
  journal::Kind kind = journal::Kind::Lost;
  std::string_view bytes() const noexcept { return {data, size}; }
};

class TapeReader {
 public:
  /// The change of a Changed record.
  struct Made {
    std::uint64_t number = 0;
    Change change;
  };
  /// Records that follow each other, all in one piece of a file's bytes. None: the run has ended.
  struct Batch {
    std::vector<TapeRecord> records;
    std::vector<Made> changes;  // Of those among them that are whole.
    std::shared_ptr<const char[]> piece;
    std::size_t bytes = 0;     // Of the records.
    std::string hole;          // Why the tape ends behind these, before the run did; empty if it does not.
    std::exception_ptr error;  // Of the last: what reading threw.
  };

  /// Where the run ends: the reader, and the offset behind the last block of its records.
  struct End {
    std::size_t reader = 0;
    std::uint64_t offset = 0;
  };

  /// Goes on where readers[first] stands. Throws std::system_error when there can be no more threads.
  TapeReader(std::vector<std::unique_ptr<journal::JournalReader>> readers, std::size_t first, End end);
  ~TapeReader();
  TapeReader(const TapeReader&) = delete;
  TapeReader& operator=(const TapeReader&) = delete;

  /// Exchanges 'batch' for the next one; waits for it. Not to be called behind the last, which has no records.
  void next(Batch& batch);
  /// How often it was as far ahead as it may be.
  std::uint64_t pauses() const {
    const std::lock_guard lock(mutex_);
    return pauses_;
  }

 private:
  void work(const std::stop_token& stop);
  void fill(Batch& batch);
  bool read_one(Batch& batch);
  void enter(std::size_t reader);
  std::string hole_before(const journal::RawRecord& record) const;
  std::string lost_while_read(const journal::JournalReader& reader, std::size_t damaged_before);
  bool is_full() const noexcept;
  bool has_room() const noexcept;

  // The thread's own.
  std::vector<std::unique_ptr<journal::JournalReader>> readers_;
  std::vector<std::size_t> damaged_before_;  // Damaged parts of each, when it was opened.
  const End end_;
  std::size_t reader_ = 0;
  std::uint64_t end_here_ = 0;  // The offset in this file at which the run has ended.
  journal::RawRecord ahead_;    // Read, but of the next batch: its piece is another.
  std::uint64_t last_number_ = 0;
  journal::RecordedChange change_;

  mutable std::mutex mutex_;
  std::condition_variable_any filled_;
  std::condition_variable_any taken_;
  std::vector<Batch> batches_;
  std::uint64_t put_ = 0;  // Batches that were put and taken; their places follow each other in batches_.
  std::uint64_t took_ = 0;
  std::size_t bytes_ = 0;  // Of those that wait.
  std::uint64_t pauses_ = 0;
  bool took_last_ = false;

  std::jthread thread_;  // The last: it ends before what it uses.
};

}  // namespace rondo::sim
