// A folder for a test's files that is removed with the object, and a limit on file size. For tests only.
#pragma once

#include <stdlib.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace rondo::store::durable {

class Folder {
 public:
  explicit Folder(const std::filesystem::path& where = std::filesystem::temp_directory_path()) {
    std::string name = (where / "rondo-durable-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  /// Uses a file system in memory if there is one: a kill loses nothing that was written, so syncs to a real disk would only cost time.
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

/// The names beside 'path' under which a store has kept damaged files, without their logs.
inline std::vector<std::string> asides(const std::string& path) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path{path}.parent_path())) {
    const std::string name = entry.path().string();
    if (name.starts_with(path + ".damaged-") && !name.ends_with("-wal")) found.push_back(name);
  }
  return found;
}

/// Sets the largest size of a file that this process may write.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }

 private:
  rlimit before_{};
  void (*old_)(int) = nullptr;
};

}  // namespace rondo::store::durable
