// The write-ahead log of a database, looked at before SQLite uses it: SQLite stops at the first page that is not whole and says nothing of
// those behind it. A torn end is what every kill leaves; whole pages of a commit behind a broken one are damage, of which somebody must
// hear. File format of SQLite, 4.1 to 4.3. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/base/status.h"

namespace rondo::store::durable {

struct WalCheck {
  struct Frame {
    std::uint32_t page = 0;        // Its number in the database, from 1; 0: this one is broken.
    std::uint64_t bytes_from = 0;  // Where in the file its bytes begin.
  };
  std::uint32_t page_bytes = 0;
  /// Up to the last whole one that ends a commit.
  std::vector<Frame> frames;
  Status damage;  // DataLoss: a broken one is among the frames. What was cut off in one piece leaves no trace, and is none.
  Status failed;  // It cannot be read now.
};

/// Of "DATABASE-wal"; 'page_bytes' are those of the database, which count where the log's beginning is lost. No such file is whole and has
/// no frames. O(file).
WalCheck check_wal(const std::string& database, std::uint32_t page_bytes);

}  // namespace rondo::store::durable
