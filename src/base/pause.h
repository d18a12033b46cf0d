// A moment of a loop that waits for another processor: 5 to 50 ns, and a hint to let the other one have the memory.
#pragma once

#include <unistd.h>

namespace rondo {

inline void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Otherwise nobody can come while we look.
inline bool has_other_processors() noexcept {
  static const bool has = ::sysconf(_SC_NPROCESSORS_ONLN) > 1;
  return has;
}

}  // namespace rondo
