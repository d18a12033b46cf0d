// Answers that can have very many rows: they are shown as they arrive, end when their reader ends, and are limited to one screen by
// default on a terminal.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>

#include "arguments/options.h"
#include "backends/backend.h"

namespace rondo::cli {

/// Ends the program if standard output accepts no more, because its reader is gone.
void end_without_reader(const Options& options);

/// The number of rows to show: --count if given. Otherwise all, or, on a terminal without --all, as many as fit on it. 0: all.
std::uint64_t rows_of_screen(const Call& asked);

struct ListForm {
  std::uint64_t most = 0;        // The most rows; 0: all. The program ends when there are more.
  bool by_waiting_rows = false;  // Sorted, so all rows are collected first.
};

/// Prints lines, some at a time. Returns the exit code.
int print_list(Backend& backend, const Options& options, const std::string& command, const boost::json::object& arguments,
               const ListForm& form);

/// Prints JSON: rows as they arrive, then the rest of the result: one object on one line, whatever its length. Ends the program after
/// 'most' rows, if that is not 0. Returns the result without the printed rows.
Result<boost::json::object> print_json(Backend& backend, const Options& options, const std::string& command,
                                       const boost::json::object& arguments, std::uint64_t most);

}  // namespace rondo::cli
