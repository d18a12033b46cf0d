// The manual page of a described program, in the man macros of roff. Texts of the description are escaped, so that a page never runs a
// macro by accident.
#pragma once

#include <string>
#include <string_view>

#include "manual/description.h"

namespace rondo::manual {

/// Returns the whole page. Its footer contains 'version'. O(length).
std::string man_page(const Program& program, std::string_view version);

}  // namespace rondo::manual
