// Reports the states of the rows that `load --wait` wrote: waits until no table has a change that is queued or under way, then reads each
// row's state. A bulk write ends when the store has the rows; only this shows whether their consumers could use them. Blocking; one
// thread.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::cli {

/// Table and key.
using RowNames = std::set<std::pair<std::string, std::string>>;

struct RowEnds {
  /// By the words of docs/guide/command-line.md, "Where a row stands": installed, pending, waiting, withdrawn, rejected, and so on. A
  /// deleted row is "deleted".
  std::map<std::string, std::size_t> counts;
  /// For the first rows that are not installed: "TABLE KEY is rejected: why".
  std::vector<std::string> reasons;
  /// 0 if each row is installed or deleted; kExitFailed if one is rejected, refused or lost; kExitTryAgain if
  /// one is still pending; kExitParked if one waits, is withdrawn, or has a route of other software in its place.
  int exit_code() const;
  /// "5 installed, 1 rejected".
  std::string text() const;
  boost::json::object json() const;
};

/// Waits at most 'most'. If a table stays busy, its rows are read when that time is over.
Result<RowEnds> wait_for_rows(Backend& backend, const RowNames& rows, Duration most);

}  // namespace rondo::cli
