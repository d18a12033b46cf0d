// Computes the difference between a file of rows and the daemon's rows, with the file's entries merged by key. `load` with --diff,
// --changes, --replace or --atomic writes or prints it.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "admin/bulk_writer.h"
#include "backends/backend.h"
#include "commands/load.h"
#include "rondo/base/result.h"

namespace rondo::cli {

using RowFields = std::vector<std::pair<std::string, std::string>>;

/// One row that the file names.
struct PlannedRow {
  std::string table;
  std::string key;
  std::size_t offset = 0;                // The offset in the file of the last entry for the row.
  std::optional<RowFields> now = {};     // Empty: there is no such row.
  std::optional<RowFields> wanted = {};  // The row after all entries; empty: no row.
};

/// The key of the row in the daemon's spelling.
std::string key_of(const LoadRow& row);

/// Reads the rows that the file names and applies its entries to them, in order. 'replace': a SET names all fields of its row. Keys get
/// the daemon's spelling. Changes that wait for their consumer are not read.
Result<std::vector<PlannedRow>> plan_rows(Backend& backend, std::span<const LoadRow> rows, bool replace);

/// NotFound or InvalidArgument, and the row, for the first row that the daemon would refuse or its consumer could not parse.
struct RefusedRow {
  Status why;
  std::size_t offset = 0;
};
Result<std::optional<RefusedRow>> first_refused(Backend& backend, std::span<const PlannedRow> plan);

/// Writes the differences: the fields that differ, or, if a field must be removed, a Delete and a Set of the row. Adds to 'offsets' the
/// position in the file of each written row.
Status write_plan(std::span<const PlannedRow> plan, BulkSink& sink, std::vector<std::size_t>& offsets);

/// As write_plan(), all rows or none: one request that the daemon applies in one turn. InvalidArgument, and nothing is written, if the rows
/// do not fit a request (limits::kAdminRequestBytes, kAdminRequestValues).
Result<BulkTotals> write_plan_atomically(std::span<const PlannedRow> plan, Backend& backend, std::vector<std::size_t>& offsets);

/// The plan as text: a line for each row that differs ("+" added, "~" changed, "-" removed), and one with their numbers.
std::string diff_text(std::span<const PlannedRow> plan);
boost::json::object diff_json(std::span<const PlannedRow> plan);

}  // namespace rondo::cli
