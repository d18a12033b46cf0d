// Answers that can have more rows than anybody reads: shown as they come, ended where their reader ends, a screenful by default on a
// terminal.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>

#include "backend.h"
#include "options.h"

namespace rondo::cli {

/// Ends the program if standard output takes no more: there is nothing to go on for.
void end_without_reader(const Options& options);

/// How many rows are shown: what --count says; otherwise all, and on a terminal what fits on it, unless --all was given. 0: all.
std::uint64_t rows_of_screen(const Call& asked);

struct ListForm {
  std::uint64_t most = 0;        // Rows; 0: all. The program ends when there are more.
  bool by_waiting_rows = false;  // Sorted, which takes all rows first.
};

/// As lines, some at a time. Returns the exit code.
int print_list(Backend& backend, const Options& options, const std::string& command, const boost::json::object& arguments,
               const ListForm& form);

/// As JSON: rows go out as they arrive, then the rest of the result: one object on one line, whatever its length. Ends the program after
/// 'most' rows, if that is not 0. Returns the result without the rows that went out.
Result<boost::json::object> print_json(Backend& backend, const Options& options, const std::string& command,
                                       const boost::json::object& arguments, std::uint64_t most);

}  // namespace rondo::cli
