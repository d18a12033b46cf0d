// JournalFiles: the files of one journal in the order in which they were written, and the records missing between them. The caller may
// name them in any order (a shell expands "j j.1 j.2" newest first). One thread; O(bytes), because each file is scanned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "journal/reader.h"
#include "rondo/base/result.h"

namespace rondo::journal {

/// A file does not continue where the file before it ended.
struct FileGap {
  std::size_t file = 0;       // Index in JournalFiles::readers of the file behind the gap.
  std::uint64_t missing = 0;  // Missing records; 0 if their number is unknown.
  std::string reason;         // For people: names both files.
};

struct JournalFiles {
  using Opener = std::function<Result<std::unique_ptr<JournalBytes>>(const std::string& path)>;

  /// Orders the files. A file whose first record follows the last record of another file is placed behind that file. The others are
  /// ordered by the wall time at which they begin. A writer may rotate meanwhile: the files that had the names first are read too, each
  /// once. An empty file is left out if another one has records. Returns the error of reading a file, or InvalidArgument when two files
  /// begin with the same records.
  static Result<JournalFiles> open(const std::vector<std::string>& paths, const Opener& opener = &JournalBytes::open);

  std::vector<std::unique_ptr<JournalReader>> readers;
  std::vector<FileGap> gaps;
};

}  // namespace rondo::journal
