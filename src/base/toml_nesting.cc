#include "base/toml_nesting.h"

namespace rondo {

namespace {

/// 0: none.
std::size_t line_too_deep(std::string_view text) {
  std::size_t line = 1;
  std::size_t dots = 0;
  std::size_t brackets = 0;
  char inside = 0;  // Inside a string: its quote; inside a comment: '#'.
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
      inside = 0;
    } else if (inside != 0) {
      if (c == inside && c != '#') inside = 0;
    } else if (c == '"' || c == '\'' || c == '#') {
      inside = c;
    } else if (c == '.') {
      ++dots;
    } else if (c == '[' || c == '{') {
      ++brackets;
    } else if ((c == ']' || c == '}') && brackets > 0) {
      --brackets;
    }
    if (dots > kConfigNesting || brackets > kConfigNesting) return line;
  }
  return 0;
}

}  // namespace

Status check_nesting(std::string_view text, const std::string& name) {
  const std::size_t line = line_too_deep(text);
  if (line == 0) return {};
  return {StatusCode::InvalidArgument, name + ":" + std::to_string(line) + ": more than " + std::to_string(kConfigNesting) +
                                           " dots in a line, or brackets within each other"};
}

}  // namespace rondo
