// Journal: records what a runtime does, in order. It has the turns, the changes taken from tables, and the outcome of each change (done,
// parked on which facts, retried, rejected with which reason). It also has announced facts, orders to the data plane with their answers,
// and the time between. The scheduler thread puts small binary records (docs/journal-format.md) into a buffer; a thread of the journal
// writes them, so no turn waits for the disk. `rondo journal` reads it and prints the text forms of SONiC (swss.rec and retry.rec).
// replay/replay.h runs it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/journal/limits.h"
#include "rondo/orch/runtime_observer.h"

namespace rondo {

class JournalRecorder;
class Runtime;

struct JournalOptions {
  /// The file that is appended to; its directory must exist. Empty: record nothing.
  std::string file = {};
  /// A file of this size is renamed to FILE.1 (FILE.1 to FILE.2, and so on) and a new one is begun. 0: never. If renaming fails it is
  /// retried each second, and the file grows to at most twice this size; then records are lost.
  std::uint64_t file_bytes = 256 * 1024 * 1024;
  /// How many renamed files are kept.
  unsigned files = 4;
  /// The most bytes of records that wait for the writer thread. Further records are dropped and counted, and the file says how many.
  std::size_t buffer_bytes = limits::kJournalBytes;
  /// The file is not opened before begin(): records wait in the buffer, and are dropped if begin() is never called. For programs that may
  /// still fail to start.
  bool begin_later = false;
};

struct JournalStats {
  std::uint64_t records = 0;  // Put into the buffer.
  std::uint64_t bytes = 0;    // Their bytes.
  // Lost because the buffer was full, a record was too large, its write failed, or its file was removed (the last two are in 'records',
  // too).
  std::uint64_t dropped = 0;
  std::uint64_t write_errors = 0;  // Failed writes, renamings and reopenings, and removed files.
  Status last_error = {};          // Why writing or renaming fails now; ok if the newest attempt of both succeeded.
  Status newest_error = {};        // The newest of the write errors, also when it is over.
};

/// A runtime records into it (RuntimeOptions::observer). Scheduler's thread, unless a function says otherwise.
class Journal : public RuntimeObserver {
 public:
  /// Opens the file for appending and keeps its content. 'clock' must outlive the journal. An error names the file. Unavailable when
  /// another journal, of this process or another, writes the file: a journal holds a lock (flock) on it. InvalidArgument when it is not a
  /// regular file, or has content that does not begin like a journal of a known version; such a file is not changed.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options, const Clock& clock);
  /// The journal that the runtime was given; null if it has none.
  static Journal* of(const Runtime& runtime) noexcept;
  /// Writes the buffered records.
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// True if it records: JournalOptions::file was not empty.
  virtual bool on() const noexcept = 0;
  /// Records a setting of the program that affects its decisions; replay::Replay::note() returns it. Only before the first turn. A
  /// note of before the runtime is made is recorded with the start of its run. A replaying program need not make the notes again; one that
  /// notes another text under a recorded name is different.
  virtual void note(std::string_view name, std::string_view text) = 0;

  /// Records that a process of a user wrote, or is about to write: the admin socket calls it for each write. A replay ignores it.
  virtual void written_by(std::uint32_t user, std::int32_t process, std::string_view what) = 0;

  /// With JournalOptions::begin_later: opens the file, with the errors of open(). Does nothing if the file is open.
  virtual Status begin() = 0;
  /// Reopens the file by name (after SIGHUP, for logrotate). Any thread; the next write goes to the new file. If it cannot be opened, or
  /// another process writes it, the journal keeps the old file and counts a write error.
  virtual void rotate() noexcept = 0;
  /// Blocks until every record so far is written to the kernel (not synchronised to the disk). For shutdown and tests. Returns the newest
  /// error of a write or a reopening since the last flush; ok if there was none. Any thread, while no thread records.
  virtual Status flush() = 0;
  /// Any thread.
  virtual JournalStats stats() const = 0;
  /// The figures of the runtime's journal; zeros if it has none. Scheduler's thread.
  static JournalStats stats_of(const Runtime& runtime);

 private:
  friend class JournalRecorder;  // The only derived class: what the library records is no part of the public interface.
  Journal() = default;
};

}  // namespace rondo
