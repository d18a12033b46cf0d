// What every store refuses alike, whatever holds its tables: bad specs, the wrong operation for a kind, records beyond the limits.
#pragma once

#include <cstddef>
#include <string_view>

#include "rondo/store/store.h"

namespace rondo::store {

/// InvalidArgument for a bad name or row limit.
Status check_spec(const TableSpec& spec);
/// FailedPrecondition when a table of that name exists and is another.
Status check_same(const TableSpec& existing, const TableSpec& wanted);
/// InvalidArgument when 'change' cannot go to that table whatever its state.
Status check_change(const TableSpec& spec, const Change& change);
/// InvalidArgument when scan_written() means nothing for that kind of table.
Status check_scan_written(const TableSpec& spec);
/// ResourceExhausted when 'newer' laid over 'older' (which may be none) would be beyond the limits of a record. Cheap unless it is close.
Status check_merge(std::string_view table, const Record& older, const Record& newer);

Status no_such_table(std::string_view name);
Status table_full(const TableSpec& spec, std::string_view key);
Status has_consumer(const TableSpec& spec);
/// The row number that a scan's cursor names; 0 for an empty one. InvalidArgument if it names none.
Result<std::uint32_t> parse_cursor(std::string_view cursor);
/// The events or entries that may wait: the table's limit, and no more than limits::kQueuedEvents.
std::size_t queue_capacity(const TableSpec& spec) noexcept;

}  // namespace rondo::store
