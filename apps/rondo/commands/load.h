// Reads the JSON of SONiC's swssconfig: an array of objects, each with one "TABLE:key" whose value is an object of text fields, and an
// "OP" of "SET" or "DEL". The whole file is checked before any row is written. An error names file, line, column and the entry's number.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/bulk.h"
#include "commands/command_limits.h"
#include "rondo/base/result.h"

namespace rondo::cli {

struct LoadRow {
  std::string table;
  std::string key;
  BulkOp op = BulkOp::Set;
  std::vector<std::pair<std::string, std::string>> fields;  // Empty for Delete.
  std::size_t offset = 0;                                   // The offset of the entry in the file.
};

/// 'name' is the name of the file in messages.
Result<std::vector<LoadRow>> parse_load(std::string_view text, const std::string& name);

/// Returns "NAME:LINE:COLUMN", both from 1, of an offset in a file's text.
std::string place_in(std::string_view text, const std::string& name, std::size_t offset);

/// Returns the file's text; "-" is standard input. Errors: ResourceExhausted: there are more than `largest` bytes; and those of read(2).
Result<std::string> read_text(const std::string& path, std::size_t largest = limits::kLoadBytes);

/// One row as an entry of such a file.
boost::json::object load_entry(std::string_view table, std::string_view key, BulkOp op, std::span<const BulkField> fields);

/// Writes the rows in their order; consecutive rows of one table share a begin and an end.
Status write_rows(std::span<const LoadRow> rows, BulkSink& sink);

}  // namespace rondo::cli
