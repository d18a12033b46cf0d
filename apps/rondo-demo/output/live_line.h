// A status line that is redrawn in place on a terminal that supports it.
#pragma once

#include <cstddef>
#include <string>

namespace rondo::demo {

/// True if standard output is a terminal and not a dumb one.
bool can_redraw();

/// The width of the terminal.
std::size_t terminal_columns();

/// The text that draws 'line' (ASCII) over the previous one: at most 'columns' - 1 characters, because a carriage return cannot move back
/// from a second line.
std::string redrawn(const std::string& line, std::size_t columns);

}  // namespace rondo::demo
