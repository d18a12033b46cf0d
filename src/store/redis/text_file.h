// Whole small files, for configuration and passwords: read at start-up, bounded.
#pragma once

#include <cstddef>
#include <string>

#include "rondo/base/result.h"

namespace rondo::redis {

/// The bytes of the regular file 'path'. The errno's code when it cannot be read, InvalidArgument for what is no regular file,
/// ResourceExhausted beyond 'bytes_max'; each names the path. Waits for the disk.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

}  // namespace rondo::redis
