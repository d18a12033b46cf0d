// Reads whole small files, for configuration and passwords at start-up, with a size limit.
#pragma once

#include <cstddef>
#include <string>

#include "rondo/base/result.h"

namespace rondo::redis {

/// The bytes of the regular file 'path'. Errors: errno's code if the file cannot be read, InvalidArgument if it is not a regular file,
/// ResourceExhausted beyond 'bytes_max'. Each error names the path. Blocks on the disk.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

}  // namespace rondo::redis
