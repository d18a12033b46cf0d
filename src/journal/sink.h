// JournalSink: the destination of a Journal's records: a file (writer.h), or a comparison with a recorded run (replay/replay.cc).
// Scheduler's thread, unless a function states otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/journal/journal.h"

namespace rondo {

class JournalSink {
 public:
  virtual ~JournalSink() = default;

  /// Returns memory for a record of at most 'bytes'. Null: the record is lost, and was counted.
  virtual char* room(std::size_t bytes) = 0;
  /// The first 'bytes' of the room are now a record.
  virtual void put(std::size_t bytes) = 0;
  /// Returns the number by which records mean 'text' from now on. Called once for each text.
  virtual std::uint32_t name(std::string_view text) = 0;
  /// A reading of both clocks.
  virtual void clocks(Instant now, WallTime wall) = 0;

  // See Journal. Any thread.

  virtual Status begin() { return {}; }
  virtual void rotate() noexcept {}
  virtual Status flush() { return {}; }
  virtual JournalStats stats() const { return {}; }
};

}  // namespace rondo
