// The jobs of an import in batches: one call of the daemon stores each, all its jobs or none. Only in `rondo job import` and
// `import-crontab`.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "rondo/base/result.h"

namespace rondo::cli {

/// A job of the file, with the one of this name in the daemon.
struct Imported {
  boost::json::object definition;
  std::string place = {};  // In the file: "entry 3", or "line 7" of a crontab.
  bool running = true;
  bool is_of_crontab = false;        // The import then keeps the other members that the job has.
  boost::json::object current = {};  // Empty: there is none.
  bool is_new() const { return current.empty(); }
  /// True if it can be checked without other jobs: it has no parents, in the file or in the daemon.
  bool is_alone() const;
};

/// Empty if the definition has no name.
std::string name_of(const Imported& one);

/// The jobs as the argument 'definitions' of jobs-put.
std::string definitions_of(const std::vector<Imported>& jobs, const std::vector<std::size_t>& places);

/// Places in 'jobs'. Jobs that are related through their parents, in the file or in the daemon, are in one batch, because a part of them
/// may be refused where all of them are right. InvalidArgument for more related jobs than one call can store, and for a name that is there
/// twice. O(jobs * log jobs).
Result<std::vector<std::vector<std::size_t>>> batches_of(const std::vector<Imported>& jobs);

}  // namespace rondo::cli
