// doubled_name(): a name that an object of a JSON text has twice. Boost.JSON takes the last one without an error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rondo {

struct DoubledName {
  std::string name;
  std::size_t object = 0;  // Number among the outermost objects, from 1 on.
};

/// The first such name. 'text' is JSON. O(bytes), with an allocation for each name.
std::optional<DoubledName> doubled_name(std::string_view text);

}  // namespace rondo
