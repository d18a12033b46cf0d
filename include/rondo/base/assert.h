// RONDO_ASSERT: states what must hold if our own code is right. It stays on in release builds; a breach prints where and ends the process,
// because going on with a broken invariant would program a wrong state. Input from outside is never asserted: it gets a Status.
#pragma once

namespace rondo {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace rondo

#define RONDO_ASSERT(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : ::rondo::assertion_failed(#expression, __FILE__, __LINE__))
