// Counts in messages: "1 route", "18500 routes".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// "1 route waits", "2 routes wait".
inline std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return std::to_string(number).append(" ").append(number == 1 ? one : many);
}
/// "1 route", "2 routes".
inline std::string counted(std::uint64_t number, std::string_view one) { return counted(number, one, std::string{one} + "s"); }

}  // namespace rondo
