// Makes the kernel map memory before it is needed. Shared by reserve_memory() and by programs with their own allocator.
#pragma once

#include <cstddef>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

/// Returns ResourceExhausted if the machine has less than 'bytes' of memory. Otherwise prefaults the stack that turns use.
Status prepare_to_prefault(std::size_t bytes);
/// Writes to each page of 'memory'.
void prefault(volatile char* memory, std::size_t bytes);
/// The error of a failed reservation.
Status not_reserved(std::size_t bytes, std::string_view why);

}  // namespace rondo
