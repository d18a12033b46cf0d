// The line that is drawn over itself while something goes on, where standard output is a terminal that can do so.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::demo {

/// Standard output is a terminal, and no dumb one.
bool can_redraw();

/// How wide it is.
std::size_t terminal_columns();

/// What draws 'line' (of ASCII) over the last one: at most 'columns' - 1 characters, because a return does not come back from a second
/// line.
std::string redrawn(const std::string& line, std::size_t columns);

}  // namespace rondo::demo
