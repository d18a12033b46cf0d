// The checks that every store shares: invalid specs, an operation that the table's kind does not allow, records beyond the limits.
#pragma once

#include <cstddef>
#include <string_view>

#include "rondo/store/store.h"

namespace rondo {
class Scheduler;
}  // namespace rondo

namespace rondo::store {

/// InvalidArgument for a bad name or row limit.
Status check_spec(const TableSpec& spec, std::string_view name_of_rows_max = "rows_max");
/// FailedPrecondition when a table of that name exists with another spec.
Status check_same(const TableSpec& existing, const TableSpec& wanted);
/// InvalidArgument for a Set with an empty key, or an empty name of a field. Rows of other programs may have them.
template <class FieldRange>
Status check_names(std::string_view key, const FieldRange& fields) {
  if (key.empty()) return {StatusCode::InvalidArgument, "the key is empty"};
  for (const Field field : fields) {
    if (field.name.empty()) return {StatusCode::InvalidArgument, "key " + quoted(key) + ": the name of a field is empty"};
  }
  return {};
}
/// InvalidArgument when the table can never accept 'change', whatever its state.
Status check_change(const TableSpec& spec, const Change& change);
/// InvalidArgument when that kind of table has no scan_written().
Status check_scan_written(const TableSpec& spec);
/// ResourceExhausted when 'newer' merged over 'older' (which may be empty) would exceed the limits of a record. Cheap unless the result is
/// close to a limit.
Status check_merge(std::string_view table, const Record& older, const Record& newer);

/// Ends the process if Store::'function' of 'table' was called on another thread than that of 'scheduler'.
void expect_here(const Scheduler& scheduler, std::string_view function, std::string_view table);
Status no_such_table(std::string_view name);
Status table_full(const TableSpec& spec, std::string_view key);
Status has_consumer(const TableSpec& spec);
/// The row number in a scan's cursor; 0 for an empty cursor. InvalidArgument if the cursor is malformed.
Result<std::uint32_t> parse_cursor(std::string_view cursor);
/// The number of events or entries that may wait: the table's limit, at most limits::kQueuedEvents.
std::size_t queue_capacity(const TableSpec& spec) noexcept;

}  // namespace rondo::store
