// A name that an object of a JSON text has twice: Boost.JSON takes the last one without a word. Only in `rondo job import`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rondo::cli {

/// The first such name with its entry in the outer array, such as "entry 2 has 'handler' twice". 'text' is JSON. O(bytes).
std::optional<std::string> doubled_key(std::string_view text);

}  // namespace rondo::cli
