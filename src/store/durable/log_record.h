// LogRecord: one record of the durable log: a part of what a table holds after a restart. A log entry contains many records, one after the
// other; docs/guide/durable-store.md describes the bytes. The newest record of a key counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/store/store.h"

namespace rondo::store::durable {

struct LogRecord {
  enum class Kind : std::uint8_t {
    Table = 1,    // 'table' is the number of a table from here on. The key of 'record' is its name; kind and limit are fields.
    Row = 2,      // The row's content is 'record'.
    Deleted = 3,  // The row is deleted, and the consumer has not yet acknowledged the Delete.
    Forget = 4,   // The row does not exist.
    Entry = 5,    // A Queue's entry 'number', 'op' and 'record'.
    Dropped = 6,  // All entries of the Queue up to 'number' were acknowledged.
  };
  Kind kind = Kind::Row;
  ChangeOp op = ChangeOp::Set;
  std::uint32_t table = 0;
  std::uint64_t number = 0;
  Record record;

  static LogRecord of_table(std::uint32_t number, const TableSpec& spec);
  /// The spec in a record of the kind Table.
  Result<TableSpec> spec() const;
};

/// Appends the bytes of 'record'.
void encode(const LogRecord& record, std::string& out);
/// Reads the record at the front of 'bytes' and removes it from there. DataLoss if the bytes are not a valid record.
Result<LogRecord> decode(std::string_view& bytes);

}  // namespace rondo::store::durable
