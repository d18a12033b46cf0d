// LogContent: the final content of a durable log: the tables, and the newest record of each key. It is built while the log is read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/durable/log_record.h"
#include "store/keyed_rows.h"

namespace rondo::store::durable {

class LogContent {
 public:
  struct Row {
    Record record;
    bool deleted = false;  // The consumer has not yet acknowledged the Delete.
    std::uint32_t next = KeyedRows<Row>::kNone;
    std::string_view key() const noexcept { return record.key(); }
  };
  struct Table {
    TableSpec spec;
    KeyedRows<Row> rows;
    std::map<std::uint64_t, Change> entries;
    std::uint64_t dropped = 0;  // Entries up to this number were acknowledged.
  };

  /// Adds every record of one log entry. DataLoss at the first invalid record; the records before it are kept.
  Status add(std::string_view entry);

  /// By table number; null if there is no such table.
  std::vector<std::unique_ptr<Table>>& tables() noexcept { return tables_; }
  const std::vector<std::unique_ptr<Table>>& tables() const noexcept { return tables_; }
  /// Call this after the last entry. Drops the content of tables whose names were lost; returns one error for each.
  std::vector<Status> drop_nameless();
  /// Renumbers the entries of each Queue without holes, after damage has made some.
  void close_holes();
  /// The approximate size of the rows and entries.
  std::uint64_t bytes() const;
  /// Writes the whole content as a new log, in entries of about 256 KiB, in groups. Ends with the first error of 'append'.
  Status write_to(const std::function<Status(std::span<const std::string> entries)>& append) const;

 private:
  Status add(LogRecord record);
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace rondo::store::durable
