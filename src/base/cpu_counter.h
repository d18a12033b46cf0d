// CpuCounter: the processor's own counter, which costs half of a clock reading: it waits for nothing that the processor has under way.
#pragma once

#include <cstdint>

namespace rondo {

struct CpuCounter {
#if defined(__x86_64__)
  static constexpr bool kExists = true;
#else
  static constexpr bool kExists = false;
#endif

  /// Counts up evenly at a rate that nobody tells, the same on all processors, as long as is_even(). Any thread. 0 where there is none.
  static std::uint64_t read() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }

  /// The kernel makes its own time of this counter, so it has found it even and alike on all processors. Asked once: should the kernel find
  /// out otherwise later, it is not asked again.
  static bool is_even() noexcept;
};

}  // namespace rondo
