// Reads a small file that a user names, such as a configuration.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rondo/base/result.h"

namespace rondo {

/// The content of a regular file, a pipe, or the null device. 'what' names it in errors: "the configuration". InvalidArgument for another
/// kind of file, which may have no end or change a device, and for more than 'bytes_most' bytes. Blocks until a pipe has a writer that
/// closes it.
Result<std::string> read_bounded_file(const std::string& path, std::string_view what, std::size_t bytes_most);

}  // namespace rondo
