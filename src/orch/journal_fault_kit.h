// For tests and benchmarks: what a journal has open becomes another file, so that its disk is full (/dev/full), costs nothing (/dev/null)
// or hangs (a pipe that nobody reads): a journal itself opens regular files alone.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/unique_fd.h"

namespace rondo::journal {

/// The descriptor with which this process has 'path' open, once, becomes one of the same as 'other'. Its lock on 'path' ends. Not while it
/// is used.
inline void replace_file(const std::string& path, int other) {
  namespace fs = std::filesystem;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone) != fs::canonical(path)) continue;
    if (::dup3(other, std::stoi(entry.path().filename().string()), O_CLOEXEC) < 0) std::abort();
    return;
  }
  std::abort();  // It has not.
}

inline void replace_file(const std::string& path, const char* device) {
  const UniqueFd other{::open(device, O_RDWR | O_CLOEXEC)};
  replace_file(path, other.get());
}

}  // namespace rondo::journal
