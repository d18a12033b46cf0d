// The entries of a damaged log file, found page by page: SQLite reaches a page only through those above it, and nothing of its log that
// stands behind a broken page of it. File format of SQLite, 1.5 and 1.6: leaves of tables, and the chains of what a leaf has no room for.
// Whether an entry is whole its checksum says, not this. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "store/durable/wal_check.h"

namespace rondo::store::durable {

class PageScan {
 public:
  /// Fills 'into' with the bytes of the database from there on. False: it cannot.
  using Read = std::function<bool(std::uint64_t from, std::span<unsigned char> into)>;
  struct Database {
    Read read;
    std::uint64_t bytes = 0;
    std::uint32_t page_bytes = 0;
  };
  /// Looks at the newest whole page of each number: that in 'log' (a file's name; what of it is whole), else that of the database. O(both).
  PageScan(Database database, const std::string& log, const WalCheck& whole);

  /// Ascending.
  std::vector<std::int64_t> numbers() const;
  struct Entry {
    std::int64_t checksum = 0;
    std::string records;
  };
  /// More than one only where a page that is out of date could not be told from a newer one. O(its bytes).
  std::vector<Entry> find(std::int64_t number) const;

 private:
  bool page(std::uint32_t number, std::vector<unsigned char>& into) const;
  void look_at(std::uint32_t number, std::span<const unsigned char> page);
  bool payload_at(std::uint32_t page, std::size_t at, std::string& payload) const;

  const Database database_;
  const UniqueFd log_;
  std::map<std::uint32_t, std::uint64_t> in_log_;  // Where a page's bytes begin there.
  std::uint32_t pages_ = 0;
  std::multimap<std::int64_t, std::pair<std::uint32_t, std::size_t>> places_;  // Page, and byte in it.
};

}  // namespace rondo::store::durable
