// The allocator of a program: tcmalloc if it is installed, otherwise the C library's (docs/adr/0018-allocator-of-the-programs.md). Only
// programs link this; a user who embeds the library chooses an allocator. Linking it replaces malloc() and new; the functions here are for
// daemons. Call them on the program's first thread, before other threads run.
#pragma once

#include <cstddef>
#include <string_view>

#include "rondo/base/result.h"

namespace rondo::heap {

/// "tcmalloc" or "libc".
std::string_view name() noexcept;

/// Bounds the time of each free(): afterwards no free() does the deferred work of many earlier ones. After a million rows that work takes
/// milliseconds within a turn. For programs whose turns must be short; with the C library's allocator each free() then costs a little
/// more.
void keep_frees_short() noexcept;

/// Keeps the promise of rondo::reserve_memory() for this allocator: 'bytes' of touched memory are available for later allocations, and no
/// memory is returned to the system from now on.
Status reserve(std::size_t bytes);

}  // namespace rondo::heap
