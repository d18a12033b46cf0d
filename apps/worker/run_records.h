// RunRecords: what the worker knows of its runs, in the folder runs/ of its state: one file for each run that is under way, or whose end no
// server has taken. So after a death of the worker the next one kills what was left of the commands, and reports the ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::worker {

struct RunRecord {
  std::int64_t run = 0;
  std::uint32_t attempt = 0;
  std::string key = {};  // As RunOrder::key; empty, too, if an earlier version wrote the record.
  std::string command;
  pid_t process = 0;          // Also the number of its session and group.
  std::uint64_t started = 0;  // The start time of the process, in ticks since the boot.
  std::string boot = {};      // The boot of the machine.
  /// When the command began, since 1970-01-01 00:00:00 UTC; 0: it did not, or an earlier version wrote the record.
  std::int64_t begun_ms = 0;
  bool has_ended = false;
  Status status = {};
  std::string note = {};
  bool is_refused = false;  // With 'has_ended': it did not begin, and may begin at another worker.
  /// When the command ended, as 'begun_ms'; 0: unknown.
  std::int64_t ended_ms = 0;
  Instant ended = {};  // The same by the clock of this process. It is not in the file.
};

class RunRecords {
 public:
  /// Takes the state folder for this process. Makes it if it is absent. PermissionDenied if it belongs to another user than root and the
  /// user of this process. If another process has it, this calls 'on_wait' and waits for
  /// 'patience' at most; then Unavailable, with the process.
  static Result<RunRecords> open(const std::string& state, Duration patience, const std::function<void(const Status&)>& on_wait);
  /// Ok, or why open() would fail, apart from a worker that runs: a path that is no folder, or a right that this user lacks. Changes
  /// nothing.
  static Status check(const std::string& state);

  /// Writes a record, or replaces it.
  Status write(const RunRecord& record);
  /// True if a record could be written now.
  Status check() const;
  void remove(std::int64_t run);
  /// Renames the record, so that it is not read again. Returns the new name; empty if that failed.
  std::string set_aside(std::int64_t run);
  /// All records in the folder. A file that is no record, or whose command can have no such name, is renamed, and 'on_damaged' is called
  /// with the reason and its new name.
  using OnDamaged = std::function<void(const Status& why, const std::string& renamed)>;
  std::vector<RunRecord> read_all(const OnDamaged& on_damaged) const;

 private:
  explicit RunRecords(std::string folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  std::string path(std::int64_t run) const;
  std::string folder_;
  UniqueFd lock_;
};

/// Kills what is left of a command of an earlier worker: its group, if it is still the one of the record. Returns whether there was any.
bool kill_leftovers(const RunRecord& record);

/// The name of the present boot of the machine; empty if it is unknown.
std::string boot_id();

}  // namespace rondo::worker
