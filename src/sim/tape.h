// Tape: the records of one run, one at a time, with a look ahead. One thread, and that of its TapeReader, which is ahead of it. Memory: the
// pieces of the files in which the records ahead lie, and two before them, and the changes ahead; what waits between the threads is bounded
// (TapeReader).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/prefetch.h"
#include "orch/journal_record.h"
#include "rondo/base/result.h"
#include "rondo/sim/replay.h"
#include "sim/tape_reader.h"

namespace rondo::sim {

class Tape {
 public:
  /// Run 'run' of 'files', from 1; 0: the last one, DataLoss when its beginning is not there. The order of the files is that of
  /// JournalFiles. ResourceExhausted when there can be no more threads.
  static Result<std::unique_ptr<Tape>> open(const std::vector<std::string>& files, unsigned run);

  /// The record 'ahead' of the next one; nothing (no bytes, and Lost) behind the end. The reference is valid until the next call, its bytes
  /// stay until a megabyte of records was passed. Throws what reading threw, once; behind that the tape has ended.
  const TapeRecord& peek(std::size_t ahead = 0) { return next_ + ahead < read_.size() ? read_[next_ + ahead] : read_to(ahead); }
  bool at_end() { return peek().size == 0; }
  journal::Kind kind() { return peek().kind; }
  /// The change of that record. Each once, and not one before another that was had; false then, or when it is no whole Changed record.
  bool take_change(std::size_t ahead, Change& change);
  void advance() {
    if (at_end()) return;
    prefetch(read_[next_].data + kBytesAhead);
    ++next_;
    ++passed_;
  }
  /// Records passed: the number in the run of the last of them.
  std::uint64_t passed() const noexcept { return passed_; }
  /// Records of the run, as far as the blocks said when they were found.
  std::uint64_t records() const noexcept { return records_; }
  /// Why the tape ends before the run did; empty if it does not, or if nobody has come to its end yet.
  std::string hole() const { return met_end_ ? hole_ : std::string{}; }

  /// How often the reading waited because it was limits::kReplayBatchesAhead or limits::kReplayBytesAhead ahead.
  std::uint64_t pauses() const { return reader_->pauses(); }

  /// Of the files, when they were opened.
  const std::vector<DamagedPart>& damage() const noexcept { return damage_; }
  /// Of the format that the run was recorded in.
  unsigned version() const noexcept { return version_; }
  /// All of the run.
  const journal::Names& names() const noexcept { return names_; }

 private:
  /// How far ahead bytes are asked for: the reader's processor had them last.
  static constexpr std::size_t kBytesAhead = 1024;

  Tape() = default;
  const TapeRecord& read_to(std::size_t ahead);
  void forget_passed();
  void read_batch();

  /// Bytes of the file, and how many records of the run were read before those that lie in it.
  struct Piece {
    std::shared_ptr<const char[]> bytes;
    std::uint64_t records_before;
  };

  std::unique_ptr<TapeReader> reader_;
  TapeReader::Batch batch_;
  std::deque<Piece> pieces_;  // So that their bytes stay.
  std::vector<TapeRecord> read_;
  std::size_t next_ = 0;  // In 'read_'; those before it were passed.
  std::vector<TapeReader::Made> changes_;
  std::size_t next_change_ = 0;  // In 'changes_'; those before it were had.
  TapeRecord end_;
  bool ended_ = false;    // Nothing more can be read,
  bool met_end_ = false;  // and somebody wanted more.
  std::uint64_t passed_ = 0;
  std::uint64_t records_ = 0;
  unsigned version_ = journal::kVersion;
  std::string hole_;
  journal::Names names_;
  std::vector<DamagedPart> damage_;
};

}  // namespace rondo::sim
