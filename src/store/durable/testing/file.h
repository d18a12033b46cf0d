// Files that a damaged store has kept, and a limit on file size. For tests only.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace rondo::store::durable {

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
