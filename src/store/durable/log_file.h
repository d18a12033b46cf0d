// LogFile: the durable log in one SQLite database: entries in order, each a blob with its checksum. SQLite provides what a log needs of a
// file: each entry is written whole or not at all, a torn end is detected, and no other process has the file open (docs/adr/0012). One
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::store::durable {

class LogFile {
 public:
  enum class Mode : std::uint8_t {
    /// Locks, makes and changes nothing. So it works on a full disk and without permission to write, and does not prevent others from
    /// opening the file. read() reports at its end whether the file changed meanwhile.
    ReadOnly,
    Write,        // Made if absent. Commits reach the operating system; after a power cut the file is whole but may lack the newest ones.
    WriteSynced,  // Like Write, and commits reach the disk.
  };
  /// Unavailable: another process has the file open. PermissionDenied, NotFound: the file system's error. FailedPrecondition: not a log of
  /// Rondo, or one of a newer version. DataLoss: SQLite cannot open it, or it has no bytes beside a log that has. Then nothing is changed.
  /// A file that is shorter than its header says is opened: see read().
  static Result<std::unique_ptr<LogFile>> open(const std::string& path, Mode mode);
  virtual ~LogFile() = default;

  struct Reading {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::vector<Status> damage;  // What SQLite's own check of the file found, and one for each entry that is missing or not whole.
    Status failed;               // The file cannot be read now, or it changed during the read. It may be whole; discard what was read.
  };
  /// Passes every whole entry to 'each', in order. An entry that 'each' refuses counts as damaged.
  virtual Reading read(const std::function<Status(std::string_view entry)>& each) = 0;

  /// Appends all entries or none, behind the existing ones. ResourceExhausted: no room. Or an error of check_names(): then the entries may
  /// be in a file that has no name any more. The caller may retry.
  virtual Status append(std::span<const std::string> entries) = 0;
  /// The number of the newest entry; 0 for none.
  virtual std::int64_t last() const = 0;
  /// Drops at most 'max' of the entries up to number 'last'. True: there may be more.
  virtual Result<bool> drop_until(std::int64_t last, std::uint32_t max) = 0;
  /// Moves the content of SQLite's log into the file if that log has outgrown its size, and for a new file or if 'idle' whenever it has
  /// any. Call this after each change. Appended entries are safe either way, but SQLite's log grows while this fails. The caller may retry.
  virtual Status checkpoint(bool idle) = 0;
  /// Checks that the names of the file and of SQLite's log still lead to the open files, and that the file was not overwritten. If only the
  /// log was removed, its content is moved into the file and a new log is made. Unavailable: the file was removed, moved away or replaced;
  /// nothing is written to it until it is back. DataLoss: it was overwritten or cut.
  virtual Status check_names() = 0;
};

}  // namespace rondo::store::durable
