// A folder for a test's files, gone with it. For tests only.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace rondo::store::durable {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rondo-durable-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
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
