// ReadProgress: shows the progress of a command that reads a whole journal, on a terminal.
#pragma once

#include <cstdint>

#include "arguments/options.h"
#include "journal/opened.h"
#include "journal/walk.h"
#include "rondo/base/clock.h"
#include "terminal/progress.h"

namespace rondo::cli {

class ReadProgress {
 public:
  /// When the answer is printed. The line is shown if the answer goes to a file, or to the terminal only after the reading.
  enum class Answer : std::uint8_t { Follows, Meanwhile };
  /// 'passes': how often the command reads all records.
  ReadProgress(const OpenedJournal& opened, const ReadJournal& call, Answer answer, unsigned passes = 1);

  Progress& line() { return line_; }
  /// The callback for the reader of the journal. It must not outlive this.
  journal::JournalWalk::OnRecords hears() {
    return [this](std::uint64_t done) { line_.update(done); };
  }

 private:
  const SystemClock clock_;
  Progress line_;
};

}  // namespace rondo::cli
