// Prefetching: a line of memory that will be needed soon. Never faults, whatever the address.
#pragma once

namespace rondo {

/// To be read.
inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address);
  // Or GCC takes a function that only prefetches for one without effect, and leaves out the calls of it.
  asm volatile("" : : "r"(address));
}

/// To be written, although another processor may have it: the compiler's own prefetch asks for a copy to read, unless it is built for
/// processors that are known to have this instruction; the others of x86-64 take it for one that does nothing.
inline void prefetch_to_write(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace rondo
