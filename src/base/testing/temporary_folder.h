// TemporaryFolder: the path of a new folder for a test's files, which is removed with the object. For tests only.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace rondo {

class TemporaryFolder : public std::filesystem::path {
 public:
  /// The name is short, because the path of a socket may have 107 bytes.
  explicit TemporaryFolder(const std::filesystem::path& where = std::filesystem::temp_directory_path()) {
    std::string name = (where / "rondo-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    assign(name);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(*this, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// A file system in memory if there is one. A kill of the process loses nothing that it wrote, and syncs to a disk would cost time.
  static std::filesystem::path in_memory() {
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  }
  std::string file(std::string_view name) const { return (*this / name).string(); }
};

}  // namespace rondo
