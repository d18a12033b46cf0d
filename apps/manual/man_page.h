// The manual page of a described program, in the man macros of roff. What people wrote is escaped: a page never runs a macro by accident.
#pragma once

#include <string>
#include <string_view>

#include "manual/description.h"

namespace rondo::manual {

/// The whole page. 'version' stands in its foot. O(length).
std::string man_page(const Program& program, std::string_view version);

}  // namespace rondo::manual
