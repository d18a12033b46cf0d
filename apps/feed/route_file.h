// Reading routing tables from files, plain or gzip. Three kinds of line, told apart by their columns (separated by one tab); lines of one
// file are all of one kind; empty lines and lines that begin with '#' or ';' are skipped:
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
  std::vector<Route> routes;  // In the order of the file.
};

/// Reads all of it. Errors name file and line: InvalidArgument for a line that is not as described, NotFound and the like when the file
/// cannot be opened, DataLoss when the compressed data is damaged or cut short.
Result<RouteFile> read_route_file(const std::string& path, const NextHopPlan& plan);

}  // namespace rondo::feed
