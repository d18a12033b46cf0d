// Prefetching: loads a line of memory that will be needed soon. Never faults, whatever the address.
#pragma once

namespace rondo {

/// For reading.
inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address);
  // Without this, GCC treats a function that only prefetches as one without effect, and removes its calls.
  asm volatile("" : : "r"(address));
}

/// For writing, although another processor may have the line. The compiler's own prefetch requests a copy for reading, unless it builds
/// for processors that are known to have this instruction. Other x86-64 processors execute it as a no-op.
inline void prefetch_to_write(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace rondo
