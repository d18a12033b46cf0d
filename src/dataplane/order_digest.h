// digest_of(orders): 64 bits that differ when orders differ, to compare the orders of two runs. A few nanoseconds an order.
#pragma once

#include <cstdint>
#include <span>

namespace rondo {

struct Operation;
std::uint64_t digest_of(std::span<const Operation> ops) noexcept;

}  // namespace rondo
