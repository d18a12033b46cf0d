#include "store/table_rules.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

std::string_view to_string(TableKind kind) noexcept {
  switch (kind) {
    case TableKind::Staged: return "staged";
    case TableKind::Watched: return "watched";
    case TableKind::Channel: return "channel";
    case TableKind::Queue: return "queue";
  }
  return "?";
}

namespace store {

namespace {
std::string table_named(std::string_view name) { return "table " + quoted(name); }
std::string table_of(const TableSpec& spec) { return table_named(spec.name) + " (" + std::string{to_string(spec.kind)} + ")"; }
}  // namespace

void expect_here(const Scheduler& scheduler, std::string_view function, std::string_view table) {
  RONDO_EXPECT(scheduler.is_here(), "Store::" + std::string{function} + " of " + std::string{table} +
                                        " was called on another thread than the runtime's; use Runtime::post");
}

Status check_spec(const TableSpec& spec, std::string_view name_of_rows_max) {
  if (spec.name.empty()) return {StatusCode::InvalidArgument, "a table's name must not be empty"};
  if (spec.name.size() > limits::kNameBytes) {
    return {StatusCode::InvalidArgument,
            "name of " + table_named(spec.name) + " is over the limit of " + std::to_string(limits::kNameBytes) + " bytes"};
  }
  if (spec.rows_max == 0 || spec.rows_max > limits::kTableRows) {
    return {StatusCode::InvalidArgument, std::string{name_of_rows_max} + " of " + table_named(spec.name) + " is " +
                                             std::to_string(spec.rows_max) + ", not from 1 to " + std::to_string(limits::kTableRows)};
  }
  return {};
}

Status check_same(const TableSpec& existing, const TableSpec& wanted) {
  if (existing == wanted) return {};
  return {StatusCode::FailedPrecondition, table_of(existing) + " of at most " + std::to_string(existing.rows_max) +
                                              " rows exists, wanted: " + std::string{to_string(wanted.kind)} + " of at most " +
                                              std::to_string(wanted.rows_max)};
}

Status check_change(const TableSpec& spec, const Change& change) {
  const bool fits = spec.kind == TableKind::Queue || (change.op() == ChangeOp::Event) == (spec.kind == TableKind::Channel);
  if (!fits) return {StatusCode::InvalidArgument, table_of(spec) + " does not take " + std::string{to_string(change.op())}};
  if (!change.record()) return {StatusCode::InvalidArgument, table_of(spec) + ": a change without a record"};
  if (change.op() == ChangeOp::Delete && !change.fields().empty()) {
    return {StatusCode::InvalidArgument, table_of(spec) + ": DEL of key " + quoted(change.key()) + " carries fields"};
  }
  Status checked = change.op() == ChangeOp::Set ? check_names(change.key(), change.fields()) : Status{};
  if (checked.ok()) checked = check_record(change.record());
  // Every write passes here, so the message is built only for an error.
  return checked.ok() ? checked : checked.with_context(table_of(spec));
}

Status check_scan_written(const TableSpec& spec) {
  if (spec.kind == TableKind::Staged || spec.kind == TableKind::Watched) return {};
  return {StatusCode::InvalidArgument, table_of(spec) + " has no rows that are written ahead"};
}

Status check_merge(std::string_view table, const Record& older, const Record& newer) {
  if (!older) return {};
  if (older.fields().size() + newer.fields().size() <= limits::kFields && older.bytes() + newer.bytes() <= limits::kRecordBytes) return {};
  const Record row = Record::merged(older, newer);
  if (row.fields().size() <= limits::kFields && check_record(row).ok()) return {};
  return {StatusCode::ResourceExhausted, table_named(table) + ": row " + quoted(newer.key()) + " would have " +
                                             std::to_string(row.fields().size()) + " fields and " + std::to_string(row.bytes()) +
                                             " bytes, over the limits of a record"};
}

Status no_such_table(std::string_view name) { return {StatusCode::NotFound, "no " + table_named(name)}; }

Status table_full(const TableSpec& spec, std::string_view key) {
  return {StatusCode::ResourceExhausted, table_of(spec) + " is full: no room for key " + quoted(key)};
}

Status has_consumer(const TableSpec& spec) { return {StatusCode::FailedPrecondition, table_of(spec) + " has a consumer already"}; }

Result<std::uint32_t> parse_cursor(std::string_view cursor) {
  if (cursor.empty()) return 0U;
  std::uint32_t number = 0;
  const char* const end = cursor.data() + cursor.size();
  const auto [stop, error] = std::from_chars(cursor.data(), end, number);
  if (error != std::errc{} || stop != end) return failure(StatusCode::InvalidArgument, quoted(cursor) + " is not a cursor of a scan");
  return number;
}

std::size_t queue_capacity(const TableSpec& spec) noexcept { return std::min(spec.rows_max, limits::kQueuedEvents); }

}  // namespace store
}  // namespace rondo
