// digest_of(orders): a 64-bit digest of orders, to compare the orders of two runs. A few nanoseconds an order.
#pragma once

#include <cstdint>
#include <span>

namespace rondo {

struct Operation;
std::uint64_t digest_of(std::span<const Operation> ops) noexcept;

}  // namespace rondo
