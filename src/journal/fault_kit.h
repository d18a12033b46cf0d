// For tests and benchmarks: replaces the file that a journal has open. The replacement simulates a full disk (/dev/full), a sink without
// cost (/dev/null) or a disk that hangs (a pipe without a reader). A journal itself opens regular files only.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace rondo::journal {

/// Makes the one descriptor of this process that has 'path' open a duplicate of 'other'. Its lock on 'path' ends. Do not call it while the
/// descriptor is in use.
inline void replace_file(const std::string& path, int other) {
  namespace fs = std::filesystem;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone) != fs::canonical(path)) continue;
    if (::dup3(other, std::stoi(entry.path().filename().string()), O_CLOEXEC) < 0) std::abort();
    return;
  }
  std::abort();  // No descriptor has 'path' open.
}

inline void replace_file(const std::string& path, const char* device) {
  const UniqueFd other{::open(device, O_RDWR | O_CLOEXEC)};
  replace_file(path, other.get());
}

}  // namespace rondo::journal
