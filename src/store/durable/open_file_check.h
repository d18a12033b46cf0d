// OpenFileCheck: whether a database that SQLite has open is still whole. SQLite keeps pages in memory, so it notices late or never that
// another process has overwritten or cut the file. The databases of tables and of jobs use it. One thread.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo::store::durable {

class OpenFileCheck {
 public:
  /// DataLoss: the file is not whole any more. Costs a read of 100 bytes and a stat call.
  Status run(sqlite3* database, const std::string& path) {
    // Through SQLite's own descriptor: to close another one would end its locks.
    sqlite3_file* file = nullptr;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    Header header{};
    const int read = file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0);
    if (read != SQLITE_OK && read != SQLITE_IOERR_SHORT_READ) return unreadable(read, path);
    sqlite3_int64 size = 0;
    if (const int known = file->pMethods->xFileSize(file, &size); known != SQLITE_OK) return unreadable(known, path);
    // A file that has not grown yet is whole with the log: a checkpoint writes the header before the pages behind it.
    largest_ = std::max<std::int64_t>(largest_, size);
    // Nor has one that has no beginning yet: a sync that failed may take it along, and then the log has it.
    const bool is_blank = size == largest_ && std::ranges::all_of(header, [](char byte) { return byte == 0; });
    if (!is_blank && !std::string_view{header.data(), header.size()}.starts_with(kBegin))
      return {StatusCode::DataLoss, "'" + path + "' is not a database any more: its beginning was overwritten while it is open"};
    const std::int64_t least = std::min(size_in(header), largest_);
    if (size >= least) return {};
    return {StatusCode::DataLoss,
            "'" + path + "' was cut to " + std::to_string(size) + " bytes while it is open; it had at least " + std::to_string(least)};
  }

 private:
  using Header = std::array<char, 100>;
  /// The beginning of each database file of SQLite.
  static constexpr std::string_view kBegin{"SQLite format 3\0", 16};

  static Status unreadable(int result, const std::string& path) {
    return {StatusCode::Unavailable, "'" + path + "' cannot be checked: " + sqlite3_errstr(result)};
  }
  /// The number of 'bytes' bytes at 'at'.
  static std::uint32_t number_in(const Header& header, std::size_t at, std::size_t bytes) {
    std::uint32_t number = 0;
    for (std::size_t i = at; i < at + bytes; ++i) number = number << 8 | static_cast<unsigned char>(header[i]);
    return number;
  }
  /// The size of a database by its header (SQLite's "Database File Format", section 1.3); 0 if the header does not have it.
  static std::int64_t size_in(const Header& header) {
    if (number_in(header, 24, 4) != number_in(header, 92, 4)) return 0;
    const std::uint32_t page = number_in(header, 16, 2);
    return std::int64_t{page == 1 ? 65'536 : page} * number_in(header, 28, 4);
  }

  std::int64_t largest_ = 0;  // The largest size that run() has seen.
};

}  // namespace rondo::store::durable
