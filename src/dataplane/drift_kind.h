// DriftKind: how an object of the data plane differs from its order.
#pragma once

#include <cstdint>
#include <string_view>

namespace rondo {

enum class DriftKind : std::uint8_t {
  Missing,   // It was ordered and does not exist.
  Changed,   // It exists, but differs from its order.
  Unwanted,  // It exists with our protocol number, but was not ordered.
};
/// "missing", "changed", "unwanted".
std::string_view to_string(DriftKind kind) noexcept;

}  // namespace rondo
