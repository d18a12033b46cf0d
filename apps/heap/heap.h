// The allocator of a program: tcmalloc where it is installed, else the C library's (docs/adr/0018-allocator-of-the-programs.md). Only
// programs link this; who embeds the library chooses his own. Linking it is all that is needed for malloc() and new; these functions are
// for daemons. Threads: to be called by the program's first thread, before others run.
#pragma once

#include <cstddef>
#include <string_view>

#include "rondo/base/result.h"

namespace rondo::heap {

/// "tcmalloc" or "libc".
std::string_view name() noexcept;

/// From now on no free() does at once what many before it left undone: after a million rows that takes milliseconds, in the middle of
/// somebody's turn. For programs whose turns must be short; with the C library's allocator each free() then costs a little more.
void keep_frees_short() noexcept;

/// What rondo::reserve_memory() promises, of this allocator: 'bytes' of touched memory are there for what is allocated later, and nothing
/// is given back to the system from now on.
Status reserve(std::size_t bytes);

}  // namespace rondo::heap
