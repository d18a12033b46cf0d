// RunLogs: the output of runs, in files of the folder logs/. A log rolls: it has at most two files, RUN-OFFSET.log, where OFFSET is the
// number of bytes of the run before the file; the older one is removed when the newer one has half of the run's bytes. So the newest output
// is kept. Of all logs the oldest ones are removed beyond a number and a total size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// A piece of a log.
struct LogPiece {
  std::uint64_t from = 0;  // Of its first byte: more than asked if older output has been removed.
  std::uint64_t next = 0;  // Of the byte behind it.
  std::string data;
};

class RunLogs {
 public:
  struct Bounds {
    std::uint64_t logs = 1000;
    std::uint64_t bytes = std::uint64_t{256} * 1024 * 1024;
  };
  /// Takes up the logs in 'folder', which it makes if it is absent. PermissionDenied as of RunRecords::open().
  static Result<RunLogs> open(const std::string& folder, Bounds bounds);

  /// Whether output could be written now.
  Status check() const;
  /// Begins the log of a run, or goes on with it. Its two files have at most 'bytes'.
  Status begin(std::int64_t run, std::size_t bytes);
  /// Appends output. An error is kept and returned by end(): a full disk does not stop a command.
  void append(std::int64_t run, std::string_view output);
  /// Closes the log, and removes old logs beyond the bounds.
  Status end(std::int64_t run);
  /// At most 'max' bytes from 'from' on; nothing if there is no log of the run.
  std::optional<LogPiece> read(std::int64_t run, std::uint64_t from, std::size_t max) const;
  /// The bytes of the run so far.
  std::uint64_t size(std::int64_t run) const;

 private:
  struct Log {
    std::map<std::uint64_t, std::uint64_t> files;  // Offset to size.
    std::size_t bytes_max = 0;
    UniqueFd fd;  // Of the newest file, while the run is under way.
    Status trouble;
    std::uint64_t size() const { return files.empty() ? 0 : files.rbegin()->first + files.rbegin()->second; }
  };
  RunLogs(std::string folder, Bounds bounds) : folder_(std::move(folder)), bounds_(bounds) {}
  std::string path(std::int64_t run, std::uint64_t offset) const;
  Status roll(std::int64_t run, Log& log);
  void write(std::int64_t run, Log& log, std::string_view output);
  void remove(std::int64_t run);
  void remove_old();

  std::string folder_;
  Bounds bounds_;
  std::map<std::int64_t, Log> logs_;
  std::deque<std::int64_t> ended_;  // The oldest first.
  std::uint64_t bytes_ = 0;         // Of all logs.
};

}  // namespace rondo::cli
