// A tar file (POSIX ustar) of small files, made in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo::cli {

class Tar {
 public:
  /// 'seconds' since 1970 is the time of all files.
  explicit Tar(std::int64_t seconds) : seconds_(seconds) {}
  /// 'name' has at most 100 bytes. Only the owner may read it once it is unpacked.
  void add(std::string_view name, std::string_view content);
  /// The whole file, with its end.
  std::string finish();

 private:
  std::int64_t seconds_;
  std::string bytes_;
};

}  // namespace rondo::cli
