// Two checks that stay on in release builds. A failed check prints the condition and the place, and ends the process, because continuing
// would program a wrong state. Input from outside is never checked by these; it gets a Status.
//   RONDO_ASSERT  states a condition that holds if the library's own code is right.
//   RONDO_EXPECT  states what the caller of a public function must do. The message says what the caller did, with names.
#pragma once

#include <string_view>

namespace rondo {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;
[[noreturn]] void expectation_failed(std::string_view what, const char* file, int line) noexcept;
}  // namespace rondo

#define RONDO_ASSERT(expression) ((expression) ? static_cast<void>(0) : ::rondo::assertion_failed(#expression, __FILE__, __LINE__))

/// 'what' is evaluated only when 'expression' is false.
#define RONDO_EXPECT(expression, what) ((expression) ? static_cast<void>(0) : ::rondo::expectation_failed(what, __FILE__, __LINE__))
