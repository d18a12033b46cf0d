// A tar file (POSIX ustar) of small files, built in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo::cli {

class Tar {
 public:
  /// 'seconds' since 1970 is the modification time of all files.
  explicit Tar(std::int64_t seconds) : seconds_(seconds) {}
  /// 'name' has at most 100 bytes. After unpacking, only the owner may read the file.
  void add(std::string_view name, std::string_view content);
  /// Returns the whole file with its end marker.
  std::string finish();

 private:
  std::int64_t seconds_;
  std::string bytes_;
};

}  // namespace rondo::cli
