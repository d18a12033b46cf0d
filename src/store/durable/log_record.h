// LogRecord: one line of the durable log: what a table is to hold after a restart. An entry of the log carries many, one behind the other;
// docs/guide/durable-store.md describes the bytes. The newest record of a key counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/store/store.h"

namespace rondo::store::durable {

struct LogRecord {
  enum class Kind : std::uint8_t {
    Table = 1,    // 'table' is the number of a table from here on; 'record' has its name as key, kind and limit as fields.
    Row = 2,      // The row is as in 'record'.
    Deleted = 3,  // No such row, and the consumer has yet to deal with that.
    Forget = 4,   // No such row.
    Entry = 5,    // A Queue's entry 'number', 'op' and 'record'.
    Dropped = 6,  // All entries of the Queue up to 'number' were dealt with.
  };
  Kind kind = Kind::Row;
  Op op = Op::Set;
  std::uint32_t table = 0;
  std::uint64_t number = 0;
  Record record;

  static LogRecord of_table(std::uint32_t number, const TableSpec& spec);
  /// Of a Table.
  Result<TableSpec> spec() const;
};

/// Appends the bytes of 'record'.
void encode(const LogRecord& record, std::string& out);
/// Reads the record at the front of 'bytes' and takes it off. DataLoss if there is none that makes sense.
Result<LogRecord> decode(std::string_view& bytes);

}  // namespace rondo::store::durable
