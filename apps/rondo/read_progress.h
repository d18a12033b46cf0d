// ReadProgress: how far a command is that reads all of a journal, on a terminal.
#pragma once

#include <cstdint>

#include "opened_journal.h"
#include "options.h"
#include "orch/journal_walk.h"
#include "progress.h"
#include "rondo/base/clock.h"

namespace rondo::cli {

class ReadProgress {
 public:
  /// There is a line where the answer goes into a file, and on the terminal where it does not come in between.
  enum class Answer : std::uint8_t { Follows, Meanwhile };
  /// 'passes': how often it reads all records.
  ReadProgress(const OpenedJournal& opened, const ReadJournal& call, Answer answer, unsigned passes = 1);

  Progress& line() { return line_; }
  /// For whoever reads. It does not outlive this.
  journal::JournalWalk::OnRecords hears() {
    return [this](std::uint64_t done) { line_.update(done); };
  }

 private:
  const SystemClock clock_;
  Progress line_;
};

}  // namespace rondo::cli
