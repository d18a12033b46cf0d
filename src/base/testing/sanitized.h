// How many rounds a long test takes.
#pragma once

namespace rondo {

/// Returns 'sanitized' in a build with a sanitizer, where each step takes several times as long, and 'plain' in any other build.
template <class Number>
constexpr Number plain_or_sanitized([[maybe_unused]] Number plain, [[maybe_unused]] Number sanitized) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return sanitized;
#else
  return plain;
#endif
}

}  // namespace rondo
