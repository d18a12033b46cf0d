// Checks the write-ahead log of a database before SQLite uses it. SQLite stops at the first broken page and does not report the pages
// behind it. Every kill leaves a torn end. Whole pages of a commit behind a broken page are damage, and the store must report it. File
// format of SQLite, 4.1 to 4.3. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/base/status.h"

namespace rondo::store::durable {

struct WalCheck {
  struct Frame {
    std::uint32_t page = 0;        // The page's number in the database, from 1; 0: the frame is broken.
    std::uint64_t bytes_from = 0;  // The offset of the page's bytes in the log file.
  };
  std::uint32_t page_bytes = 0;
  /// All frames up to the last whole one that ends a commit.
  std::vector<Frame> frames;
  Status damage;  // DataLoss: there is a broken frame among 'frames'. A cut-off end leaves no trace and is not damage.
  Status failed;  // The log cannot be read now.
};

/// Checks "DATABASE-wal". 'page_bytes' is the page size of the database, used if the log's beginning is lost. A missing file is whole and
/// has no frames. O(file).
WalCheck check_wal(const std::string& database, std::uint32_t page_bytes);

}  // namespace rondo::store::durable
