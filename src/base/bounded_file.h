// Reads a small file that a user names, such as a configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/result.h"

namespace rondo {

/// True if read_bounded_file() reads a pipe. It blocks until the pipe has a writer that closes it.
enum class Pipes : std::uint8_t { Read, Refuse };

/// The content of a regular file, a pipe, or the null device. 'what' names it in errors: "the configuration". InvalidArgument for another
/// kind of file, which may have no end or change a device, and for more than 'bytes_most' bytes.
Result<std::string> read_bounded_file(const std::string& path, std::string_view what, std::size_t bytes_most, Pipes pipes);

}  // namespace rondo
