#include "rondo-demo/output/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace rondo::demo {

bool can_redraw() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view{kind} != "dumb";
}

std::size_t terminal_columns() {
  winsize told{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &told) == 0 && told.ws_col != 0 ? told.ws_col : 80;
}

std::string redrawn(const std::string& line, std::size_t columns) {
  return "\r" + line.substr(0, std::max<std::size_t>(columns, 2) - 1) + "\x1b[K";
}

}  // namespace rondo::demo
