// Memory that is there before it is needed. The first touch of a page is a fault: a microsecond on bare metal, but under a hypervisor that
// gives memory out on demand up to milliseconds, in the middle of a turn. Daemons that must answer in time touch their memory at start.
#pragma once

#include <cstddef>

#include "rondo/base/result.h"

namespace rondo {

/// Makes the allocator of this process keep 'bytes' of touched memory for what is allocated later, and give nothing back to the system from
/// now on. To be called by the program's first thread, before others run: what they allocate has its own memory. 0 changes nothing.
/// ResourceExhausted when the machine does not have as much; the limit of a control group is not seen here and ends the process (SIGKILL).
/// For glibc; with another allocator it may be without effect (that of our programs: apps/heap/heap.h).
Status reserve_memory(std::size_t bytes);

}  // namespace rondo
