// PageScan: finds the entries of a damaged log file page by page. SQLite reaches a page only through the pages above it, and reads nothing
// of its log behind a broken page. The format is SQLite's, sections 1.5 and 1.6: table leaves, and overflow chains. PageScan does not check
// that an entry is whole; its checksum shows that. One thread.
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
  /// Fills 'into' with the bytes of the database from offset 'from' on. False: the read failed.
  using Read = std::function<bool(std::uint64_t from, std::span<unsigned char> into)>;
  struct Database {
    Read read;
    std::uint64_t bytes = 0;
    std::uint32_t page_bytes = 0;
  };
  /// Scans the newest whole page of each number: the one in the file 'log' if it is whole there, otherwise the one of the database.
  /// O(both).
  PageScan(Database database, const std::string& log, const WalCheck& whole);

  /// The numbers of the entries found, ascending.
  std::vector<std::int64_t> numbers() const;
  struct Entry {
    std::int64_t checksum = 0;
    std::string records;
  };
  /// Returns more than one entry only if an outdated page could not be told from a newer one. O(its bytes).
  std::vector<Entry> find(std::int64_t number) const;

 private:
  bool page(std::uint32_t number, std::vector<unsigned char>& into) const;
  void look_at(std::uint32_t number, std::span<const unsigned char> page);
  bool payload_at(std::uint32_t page, std::size_t at, std::string& payload) const;

  const Database database_;
  const UniqueFd log_;
  std::map<std::uint32_t, std::uint64_t> in_log_;  // The offset of each page's bytes in the log.
  std::uint32_t pages_ = 0;
  std::multimap<std::int64_t, std::pair<std::uint32_t, std::size_t>> places_;  // Page number, and the offset in the page.
};

}  // namespace rondo::store::durable
