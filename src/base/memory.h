// Touches memory in advance. The first access to a page is a fault. It costs a microsecond on bare metal, but up to milliseconds, in the
// middle of a turn, under a hypervisor that allocates memory on demand. Daemons that must answer in time touch their memory at start.
#pragma once

#include <cstddef>

#include "rondo/base/result.h"

namespace rondo {

/// Makes the allocator of this process keep 'bytes' of touched memory for later allocations. From then on it returns no memory to the
/// system. Call it on the program's first thread, before other threads run: their allocations use separate memory. 0 changes nothing.
/// ResourceExhausted when the machine does not have that much. It does not detect the limit of a control group; exceeding that ends the
/// process (SIGKILL). For glibc; it may have no effect with another allocator (that of our programs: apps/heap/heap.h).
Status reserve_memory(std::size_t bytes);

}  // namespace rondo
