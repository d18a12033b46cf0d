// Journal: the record of a runtime's day, in order: who had turns, what was taken from tables, what became of each change (done, parked on
// which facts, retried, rejected why), which facts were announced, what the data plane was ordered and answered, and the time between.
// Small binary records (docs/journal-format.md) go into a buffer on the hot path and are written by a thread of the journal's own; nothing
// waits for the disk. `rondo journal` reads it and writes the text forms of SONiC (swss.rec and retry.rec; seed 002, "Logging") from it;
// sim/replay.h runs it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"

namespace rondo {

class JournalRecorder;

struct JournalOptions {
  /// The file that is appended to; its directory must exist. Empty: record nothing.
  std::string file = {};
  /// A file that has grown to this is renamed to FILE.1 (FILE.1 to FILE.2, and so on) and a new one begun. 0: never. While that fails it is
  /// tried again each second and the file grows on, to twice this; then records are lost.
  std::uint64_t file_bytes = 256 * 1024 * 1024;
  /// How many of the renamed files are kept.
  unsigned files = 4;
  /// Records waiting for the writer; beyond it they are dropped and counted, and the file says how many.
  std::size_t buffer_bytes = limits::kJournalBytes;
  /// The file is not touched before begin(): what is recorded waits in the buffer, and is forgotten if begin() never comes. For programs
  /// that may yet be refused.
  bool begin_later = false;
};

struct JournalStats {
  std::uint64_t records = 0;       // Taken into the buffer.
  std::uint64_t bytes = 0;         // Of these.
  std::uint64_t dropped = 0;       // Lost: the buffer was full, one was too large, or their write failed (these are in 'records', too).
  std::uint64_t write_errors = 0;  // Failed writes, renamings and reopenings.
  Status last_error = {};          // Why writing or renaming fails now; ok when the newest attempt of both went well.
};

/// A runtime records into it (RuntimeOptions::journal). Scheduler's thread, unless a function says otherwise.
class Journal {
 public:
  /// Opens the file for appending; what is in it stays. 'clock' must outlive the journal. A Status that names the file when that fails;
  /// Unavailable when another journal, of this process or another, writes it: a journal holds a lock (flock) on the file that it appends
  /// to; InvalidArgument for what is no regular file, or has something in it that does not begin as a journal of a known version: nothing
  /// is appended to that.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options, const Clock& clock);
  /// Writes what is buffered.
  virtual ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether it records: JournalOptions::file was not empty.
  virtual bool on() const noexcept = 0;
  /// Records a setting of the program that its decisions depend on; sim::Replay::note() gives it back. Before the first turn.
  virtual void note(std::string_view name, std::string_view text) = 0;

  /// Records that a process of a user wrote, or is about to: what the admin socket does with each write. A replay passes it by.
  virtual void written_by(std::uint32_t user, std::int32_t process, std::string_view what) = 0;

  /// Opens the file of a journal with JournalOptions::begin_later, as open() does else; nothing when it is open.
  virtual Status begin() = 0;
  /// Reopens the file by name (after SIGHUP, for logrotate). Any thread; the next write goes to the new file. When it cannot be opened, or
  /// another process writes it, the old one is kept, and the failure is counted as a write error.
  virtual void rotate() noexcept = 0;
  /// Blocks until everything recorded so far is written (to the kernel, not to the platter). For shutdown and tests. The newest error of a
  /// write or a reopening since the last flush; ok if there was none. Any thread, as long as none records.
  virtual Status flush() = 0;
  /// Any thread.
  virtual JournalStats stats() const = 0;

 private:
  friend class JournalRecorder;  // The only one: what the library records is no part of the promise.
  Journal() = default;
};

}  // namespace rondo
