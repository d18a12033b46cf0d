// JournalFiles: the files of one journal in the order in which they were written, whatever the order in which they were given ("j j.1 j.2"
// as a shell has them is the newest first), and what is missing between them. One thread; O(bytes): each file is looked through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orch/journal_reader.h"
#include "rondo/base/result.h"

namespace rondo::journal {

/// A file does not go on where the one before it ended.
struct FileGap {
  std::size_t file = 0;       // Before which; of JournalFiles::readers.
  std::uint64_t missing = 0;  // Records; 0: nobody can say how many.
  std::string reason;         // For people: names both files.
};

struct JournalFiles {
  using Opener = std::function<Result<std::unique_ptr<JournalBytes>>(const std::string& path)>;

  /// A file that goes on with the record at which another one ends stands behind that; other files stand in order of the wall time at which
  /// they begin. A writer may rotate meanwhile: what had one of the names at first is read, too, each file once; one that nothing was
  /// written to yet is left out, if another has something. The error of reading a file; InvalidArgument when two begin with the same
  /// records.
  static Result<JournalFiles> open(const std::vector<std::string>& paths, const Opener& opener = &JournalBytes::open);

  std::vector<std::unique_ptr<JournalReader>> readers;
  std::vector<FileGap> gaps;
};

}  // namespace rondo::journal
