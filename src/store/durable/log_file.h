// LogFile: the durable log in one SQLite database: entries in order, each a blob with its checksum. SQLite gives what a log needs of a
// file: an entry is there whole or not at all, a torn end is found out, and nobody else has the file open (docs/adr/0012). One thread.
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
    /// Nothing is locked, made or changed, so it works on a full disk and without rights to write, and keeps nobody from opening the file.
    /// Whether it stayed as it was is known at the end: see read().
    ReadOnly,
    Write,        // Made if it is not there. Commits reach the operating system; the disk is only kept whole.
    WriteSynced,  // The same, and commits reach the disk.
  };
  /// Unavailable: another process has it open. PermissionDenied, NotFound: as the file system says. FailedPrecondition: no log of ours, or
  /// of a newer version. DataLoss: damaged beyond reading. A file that is shorter than its header says is opened: see read().
  static Result<std::unique_ptr<LogFile>> open(const std::string& path, Mode mode);
  virtual ~LogFile() = default;

  struct Reading {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::vector<Status> damage;  // One for each entry, or stretch of the file, that is lost; the bytes that it is too short.
    Status failed;               // The file may be whole, but cannot be read now, or was changed meanwhile: what was read does not count.
  };
  /// Gives every whole entry to 'each', in order. An entry that 'each' does not accept counts as damaged.
  virtual Reading read(const std::function<Status(std::string_view entry)>& each) = 0;

  /// All of them or none, behind those that are there. ResourceExhausted: no room. Or as check_names(): then they may be in a file that has
  /// no name. The caller may try again.
  virtual Status append(std::span<const std::string> entries) = 0;
  /// The number of the newest entry; 0 for none.
  virtual std::int64_t last() const = 0;
  /// Drops at most 'max' of the entries up to number 'last'. True: there may be more.
  virtual Result<bool> drop_until(std::int64_t last, std::uint32_t max) = 0;
  /// Moves what stands in SQLite's log into the file, where that has grown beyond its size; to be called after each change. What was
  /// appended is safe either way; as long as this fails SQLite's log grows. The caller may try again.
  virtual Status checkpoint() = 0;
  /// Whether the names of the file and of SQLite's log still lead to those that are open. Of the log alone another one is made, and all
  /// that it holds moved into the file. Unavailable: the file was removed, moved away or replaced, and nothing is written to it until it is
  /// back.
  virtual Status check_names() = 0;
};

}  // namespace rondo::store::durable
