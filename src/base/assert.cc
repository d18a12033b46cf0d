#include "rondo/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace rondo {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: this must hold and does not: %s\n", file, line, expression);
  std::abort();
}

}  // namespace rondo
