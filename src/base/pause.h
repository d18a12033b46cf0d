// A short pause of a loop that waits for another processor: 5 to 50 ns, with a hint that lets the other processor access the memory.
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

/// Without other processors, no other thread can make progress during a spin.
inline bool has_other_processors() noexcept {
  static const bool has = ::sysconf(_SC_NPROCESSORS_ONLN) > 1;
  return has;
}

}  // namespace rondo
