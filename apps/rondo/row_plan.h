// The difference that a file of rows makes: the rows of the file folded by key, beside those that the daemon has. `load` with --diff,
// --changes, --replace or --atomic writes or prints it.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "load.h"
#include "rondo/base/result.h"

namespace rondo::cli {

using RowFields = std::vector<std::pair<std::string, std::string>>;

/// One row that the file names.
struct PlannedRow {
  std::string table;
  std::string key;
  std::size_t offset = 0;                // In the file, of the last entry about it.
  std::optional<RowFields> now = {};     // Nothing: there is no such row.
  std::optional<RowFields> wanted = {};  // Likewise, when all entries are applied.
};

/// The key of the row as the daemon spells it.
std::string key_of(const LoadRow& row);

/// Reads the rows that the file names and applies its entries to them, in order. 'replace': a SET names all fields of its row. Keys get the
/// spelling that the daemon writes. What waits for its consumer in a table is not read.
Result<std::vector<PlannedRow>> plan_rows(Backend& backend, std::span<const LoadRow> rows, bool replace);

/// NotFound or InvalidArgument, and the row, for the first row that the daemon would refuse or its consumer could not read.
struct RefusedRow {
  Status why;
  std::size_t offset = 0;
};
Result<std::optional<RefusedRow>> first_refused(Backend& backend, std::span<const PlannedRow> plan);

/// Writes the differences: the fields that differ, or, where a field goes, a Delete and a Set of the row. 'offsets' gets the place in the
/// file of each row that is written.
Status write_plan(std::span<const PlannedRow> plan, BulkSink& sink, std::vector<std::size_t>& offsets);

/// The same, all rows or none: one request that the daemon applies in one turn. InvalidArgument, and nothing is written, if the rows do not
/// fit a request (limits::kAdminRequestBytes, kAdminRequestValues).
Result<BulkTotals> write_plan_atomically(std::span<const PlannedRow> plan, Backend& backend, std::vector<std::size_t>& offsets);

/// For people: a line for each row that differs ("+" added, "~" changed, "-" removed), and one that counts them.
std::string diff_text(std::span<const PlannedRow> plan);
boost::json::object diff_json(std::span<const PlannedRow> plan);

}  // namespace rondo::cli
