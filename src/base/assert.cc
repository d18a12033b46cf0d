#include "rondo/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace rondo {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: this must hold and does not: %s\n", file, line, expression);
  std::abort();
}

void expectation_failed(std::string_view what, const char* file, int line) noexcept {
  std::fprintf(stderr, "rondo: the program is wrong: %.*s (%s:%d)\n", static_cast<int>(what.size()), what.data(), file, line);
  std::abort();
}

}  // namespace rondo
