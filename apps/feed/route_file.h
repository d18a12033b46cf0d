// Reads routing tables from files, plain or gzip. The number of columns (separated by one tab) distinguishes three kinds of line. All
// lines of a file have the same kind; empty lines and lines that begin with '#' or ';' are skipped:
//   prefix                                              a table without origins
//   prefix <TAB> origin AS                              a table
//   second <TAB> A or W <TAB> peer <TAB> prefix <TAB> origin AS    updates, in order: announced or withdrawn
#pragma once

#include <string>
#include <vector>

#include "feed/next_hops.h"
#include "feed/route.h"
#include "rondo/base/result.h"

namespace rondo::feed {

enum class RouteFileKind : unsigned char { Empty, Prefixes, Origins, Updates };

struct RouteFile {
  RouteFileKind kind = RouteFileKind::Empty;
  std::vector<Route> routes;  // Sorted as in the file.
};

/// Reads the whole file. Errors name file and line: InvalidArgument for a malformed line, NotFound and the like if the file cannot be
/// opened, DataLoss if the compressed data is damaged or truncated.
Result<RouteFile> read_route_file(const std::string& path, const NextHopPlan& plan);

}  // namespace rondo::feed
