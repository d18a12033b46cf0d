// A folder for a test's files, gone with it. For tests only.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rondo::store::durable {

class Folder {
 public:
  explicit Folder(const std::filesystem::path& where = std::filesystem::temp_directory_path()) {
    std::string name = (where / "rondo-durable-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  /// In memory where the system has that: a kill takes nothing from a disk, so the disk's syncs are only time.
  static std::filesystem::path in_memory() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rondo::store::durable
