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

  /// The record 'ahead' of the next one; nothing (empty bytes) behind the end. Its bytes stay until some megabytes of records were passed.
  const journal::RawRecord& peek(std::size_t ahead = 0);
  bool at_end() { return peek().bytes.empty(); }
  journal::Kind kind() { return at_end() ? journal::Kind::Lost : peek().kind(); }
  void advance();
  /// Records passed.
  std::uint64_t passed() const noexcept { return passed_; }
  /// Why the tape ends before the run did; empty if it does not.
  const std::string& hole() const noexcept { return hole_; }

  /// All of the run.
  const journal::Names& names() const noexcept { return names_; }

 private:
  Tape() = default;
  void read_ahead();

  struct Ahead {
    journal::RawRecord record;
    std::uint64_t piece;  // The number of the piece that it lies in.
  };

  std::vector<std::unique_ptr<journal::JournalReader>> readers_;
  std::size_t reader_ = 0;
  std::deque<std::shared_ptr<const char[]>> pieces_;  // So that their bytes stay.
  std::uint64_t first_piece_ = 0;                     // The number of the first of them.
  std::deque<Ahead> ahead_;
  journal::RawRecord end_;
  bool ended_ = false;
  bool began_ = false;
  std::uint64_t last_number_ = 0;
  std::uint64_t passed_ = 0;
  std::string hole_;
  journal::Names names_;
};

}  // namespace rondo::sim
