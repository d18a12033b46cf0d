// RunLogs: the output of runs, in files of the folder logs/. A log rolls: its files are RUN-OFFSET-ATTEMPT-KEY.log, where OFFSET is the
// number of bytes of the run before the file, and KEY is RunOrder::key: the log of another run with this number makes way. Each attempt
// begins a file, and so does an attempt whose newest file has half of the run's bytes; the oldest files are removed where the next one
// needs their room. So the newest output is kept, of as many attempts as fit. Of all logs the oldest ones are removed beyond a number and a
// total size.
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

namespace rondo::worker {

/// A piece of a log, of one attempt.
struct LogPiece {
  std::uint64_t from = 0;  // Offset of the first byte. Larger than requested if older output was removed or could not be written.
  std::uint64_t next = 0;  // Offset of the byte behind the piece.
  std::uint32_t attempt = 0;
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

  /// True if output could be written now.
  Status check() const;
  /// Begins the log of a run, or goes on with it. All its files together have at most 'bytes'. A log with another key is removed.
  Status begin(std::int64_t run, std::uint32_t attempt, const std::string& key, std::size_t bytes);
  /// Appends output. An error is kept and returned by end(): a full disk does not stop a command. Output that cannot be written, and what
  /// is behind it in this attempt, is a gap in the log: its bytes are counted.
  void append(std::int64_t run, std::string_view output);
  /// Closes the log, and removes old logs beyond the bounds.
  Status end(std::int64_t run);
  /// At most 'max' bytes from 'from' on, behind what another program has removed; nothing if no file of the log is left.
  std::optional<LogPiece> read(std::int64_t run, std::uint64_t from, std::size_t max) const;
  /// The key of the run whose log it is; empty if there is none.
  std::string key(std::int64_t run) const;
  /// The bytes of the run so far.
  std::uint64_t size(std::int64_t run) const;
  /// The byte behind the last one that was written.
  std::uint64_t written(std::int64_t run) const;

 private:
  struct File {
    std::uint64_t size = 0;
    std::uint32_t attempt = 0;
  };
  struct Log {
    std::map<std::uint64_t, File> files;  // By their offset.
    std::string key;
    std::size_t bytes_max = 0;
    std::uint32_t attempt = 0;  // The one under way.
    UniqueFd fd;                // Of the newest file, while the run is under way.
    Status trouble;
    std::uint64_t lost = 0;  // Bytes behind the newest file that could not be written.
    std::uint64_t size() const { return (files.empty() ? 0 : files.rbegin()->first + files.rbegin()->second.size) + lost; }
  };
  RunLogs(std::string folder, Bounds bounds) : folder_(std::move(folder)), bounds_(bounds) {}
  std::string path(std::int64_t run, const Log& log, std::uint64_t offset, std::uint32_t attempt) const;
  void remove_first(std::int64_t run, Log& log);
  Status roll(std::int64_t run, Log& log);
  /// Returns how many bytes it has written: all of them, or log.trouble is set.
  std::size_t write(std::int64_t run, Log& log, std::string_view output);
  void remove(std::int64_t run);
  void remove_old();

  std::string folder_;
  Bounds bounds_;
  std::map<std::int64_t, Log> logs_;
  std::deque<std::int64_t> ended_;  // The oldest first.
  std::uint64_t bytes_ = 0;         // Of all logs.
};

}  // namespace rondo::worker
