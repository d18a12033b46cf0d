// LogContent: what a durable log says in the end: the tables, and of each key only the newest record. Made while the log is read.
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
    bool deleted = false;  // The consumer has yet to deal with that.
    std::uint32_t next = KeyedRows<Row>::kNone;
    std::string_view key() const noexcept { return record.key(); }
  };
  struct Table {
    TableSpec spec;
    KeyedRows<Row> rows;
    std::map<std::uint64_t, Change> entries;
    std::uint64_t dropped = 0;  // Entries up to this number were dealt with.
  };

  /// Every record of one entry of the log. DataLoss at the first that makes no sense; those before it count.
  Status add(std::string_view entry);

  /// By number; null where there is none.
  std::vector<std::unique_ptr<Table>>& tables() noexcept { return tables_; }
  const std::vector<std::unique_ptr<Table>>& tables() const noexcept { return tables_; }
  /// After the last entry: what belongs to tables whose names were lost goes; one error for each.
  std::vector<Status> drop_nameless();
  /// Numbers the entries of each Queue without holes, where damage has made some.
  void close_holes();
  /// About what the rows and entries take.
  std::uint64_t bytes() const;
  /// The whole content as a log of its own, in entries of about 256 KiB, some at a time. Ends with the first error of 'append'.
  Status write_to(const std::function<Status(std::span<const std::string> entries)>& append) const;

 private:
  Status add(LogRecord record);
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace rondo::store::durable
