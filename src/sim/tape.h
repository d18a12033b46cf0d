// Tape: the records of one run, one at a time, with a look ahead. One thread. Memory: the pieces of the files in which the records ahead
// lie, and two before them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "orch/journal_reader.h"

namespace rondo::sim {

class Tape {
 public:
  /// Run 'run' of 'files', from 1; 0: the last one, DataLoss when its beginning is not there. The order of the files is that of
  /// JournalFiles.
  static Result<std::unique_ptr<Tape>> open(const std::vector<std::string>& files, unsigned run);

  /// The record 'ahead' of the next one; nothing (empty bytes) behind the end. The reference is valid until the next call, its bytes stay
  /// until some megabytes of records were passed.
  const journal::RawRecord& peek(std::size_t ahead = 0) { return next_ + ahead < read_.size() ? read_[next_ + ahead] : read_to(ahead); }
  bool at_end() { return peek().bytes.empty(); }
  journal::Kind kind() { return at_end() ? journal::Kind::Lost : peek().kind(); }
  void advance() {
    if (at_end()) return;
    ++next_;
    ++passed_;
  }
  /// Records passed.
  std::uint64_t passed() const noexcept { return passed_; }
  /// Why the tape ends before the run did; empty if it does not, or if nobody has come to its end yet.
  std::string hole() const { return met_end_ ? hole_ : std::string{}; }

  /// All of the run.
  const journal::Names& names() const noexcept { return names_; }

 private:
  Tape() = default;
  const journal::RawRecord& read_to(std::size_t ahead);
  void forget_passed();
  void read_one();

  /// Bytes of the file, and how many records of the run were read before those that lie in it.
  struct Piece {
    std::shared_ptr<const char[]> bytes;
    std::uint64_t records_before;
  };

  std::vector<std::unique_ptr<journal::JournalReader>> readers_;
  std::size_t reader_ = 0;
  std::deque<Piece> pieces_;  // So that their bytes stay.
  std::vector<journal::RawRecord> read_;
  std::size_t next_ = 0;  // In 'read_'; those before it were passed.
  journal::RawRecord end_;
  bool ended_ = false;    // Nothing more can be read,
  bool met_end_ = false;  // and somebody wanted more.
  bool began_ = false;
  std::uint64_t last_number_ = 0;
  std::uint64_t passed_ = 0;
  std::string hole_;
  journal::Names names_;
};

}  // namespace rondo::sim
