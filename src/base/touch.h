// Touching memory before it is needed: what reserve_memory() and programs with an allocator of their own have in common.
#pragma once

#include <cstddef>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

/// Whether the machine has so much; ResourceExhausted says that it has not. Then touches the stack that turns use.
Status prepare_to_touch(std::size_t bytes);
/// Each page.
void touch(volatile char* memory, std::size_t bytes);
/// The error of who could not.
Status not_reserved(std::size_t bytes, std::string_view why);

}  // namespace rondo
