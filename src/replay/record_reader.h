// RecordReader: the records of one run, one at a time, with lookahead. One thread, and that of its ReadAhead, which reads ahead. Memory:
// the pieces of the files that contain the records ahead, two pieces before them, and the changes ahead. ReadAhead bounds the data between
// the threads.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/prefetch.h"
#include "journal/record.h"
#include "replay/damaged_part.h"
#include "replay/read_ahead.h"
#include "rondo/base/result.h"
#include "rondo/replay/replay.h"

namespace rondo::replay {

class RecordReader {
 public:
  /// Opens run 'run' of 'files', from 1; 0: the last run, or DataLoss if its beginning is missing. The files are ordered as by
  /// JournalFiles. ResourceExhausted when no thread can be started.
  static Result<std::unique_ptr<RecordReader>> open(const std::vector<std::string>& files, unsigned run);

  /// Returns the record 'ahead' records behind the next one; behind the end, an empty record of kind Lost. The reference is valid until
  /// the next call; its bytes stay until a megabyte of records was passed. Throws the exception of the reading thread, once; then the
  /// record reader has ended.
  const ReadRecord& peek(std::size_t ahead = 0) { return next_ + ahead < read_.size() ? read_[next_ + ahead] : read_to(ahead); }
  bool at_end() { return peek().size == 0; }
  journal::Kind kind() { return peek().kind; }
  /// Takes the change of that record. The caller takes changes once and in order; otherwise, or if it is not a whole Changed record,
  /// returns false.
  bool take_change(std::size_t ahead, Change& change);
  void advance() {
    if (at_end()) return;
    prefetch(read_[next_].data + kBytesAhead);
    ++next_;
    ++passed_;
  }
  /// The number of records passed, which is the number in the run of the last one.
  std::uint64_t passed() const noexcept { return passed_; }
  /// Records of the run, according to the blocks when they were found.
  std::uint64_t records() const noexcept { return records_; }
  /// Why the record reader ends before the run; empty if it does not, or if the caller has not reached its end.
  std::string gap() const { return met_end_ ? gap_ : std::string{}; }

  /// How often the reading thread waited because it was limits::kReplayBatchesAhead or limits::kReplayBytesAhead ahead.
  std::uint64_t pauses() const { return reader_->pauses(); }

  /// The damage in the files when they were opened.
  const std::vector<DamagedPart>& damage() const noexcept { return damage_; }
  /// The format version of the run.
  /// All names of the run.
  const journal::Names& names() const noexcept { return names_; }

 private:
  /// Prefetch distance in bytes: the reading thread's processor used them last.
  static constexpr std::size_t kBytesAhead = 1024;

  RecordReader() = default;
  const ReadRecord& read_to(std::size_t ahead);
  void forget_passed();
  void read_batch();

  /// Bytes of the file, and how many records of the run precede those in it.
  struct Piece {
    std::shared_ptr<const char[]> bytes;
    std::uint64_t records_before;
  };

  std::unique_ptr<ReadAhead> reader_;
  ReadAhead::Batch batch_;
  std::deque<Piece> pieces_;  // Keeps the bytes of the records.
  std::vector<ReadRecord> read_;
  std::size_t next_ = 0;  // Index in 'read_'; the records before it were passed.
  std::vector<ReadAhead::Made> changes_;
  std::size_t next_change_ = 0;  // Index in 'changes_'; the changes before it were taken.
  ReadRecord end_;
  bool ended_ = false;    // No more records can be read.
  bool met_end_ = false;  // The caller has reached the end.
  std::uint64_t passed_ = 0;
  std::uint64_t records_ = 0;
  std::string gap_;
  journal::Names names_;
  std::vector<DamagedPart> damage_;
};

}  // namespace rondo::replay
