// The C library's allocator, which is glibc's.
#include <malloc.h>

#include "base/memory.h"
#include "heap/heap.h"

namespace rondo::heap {

std::string_view name() noexcept { return "libc"; }

void keep_frees_short() noexcept {
  // glibc keeps small freed blocks apart and joins all of them at once when a large one is freed.
  ::mallopt(M_MXFAST, 0);
}

Status reserve(std::size_t bytes) { return reserve_memory(bytes); }

}  // namespace rondo::heap
