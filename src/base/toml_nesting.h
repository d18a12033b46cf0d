// Refuses a TOML file whose parser would need too much of the stack.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

/// Dots in a line of a configuration, and nested brackets. Its parser recurses for each.
inline constexpr std::size_t kConfigNesting = 64;

/// InvalidArgument with the first line that nests deeper than kConfigNesting, judged by dots and brackets outside strings and comments.
/// 'name' is that of the file.
Status check_nesting(std::string_view text, const std::string& name);

}  // namespace rondo
