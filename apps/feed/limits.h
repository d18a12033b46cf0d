// Limits of files of routes. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

namespace rondo::limits {

// --- Files of routes

/// Bytes of one line of a file of routes; a longer one ends the load with its line number, because the file has another format.
/// Reached: the load ends with file and line number. Figure: none: the command ends with the error. Test:
/// `Files.ABadLineIsNamedWithFileAndNumber`.
inline constexpr std::size_t kRouteLineBytes = 1024;

}  // namespace rondo::limits
