// Names: a name for each value of an enumeration, in both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace rondo::jobs {

/// The names in the order of the enumeration's values, which begin at 0.
template <class Enum, std::size_t N>
struct Names {
  std::array<std::string_view, N> names;
  /// Empty for a number that is no value.
  constexpr std::string_view of(Enum value) const noexcept {
    const auto at = static_cast<std::size_t>(value);
    return at < N ? names[at] : std::string_view{};
  }
  constexpr std::optional<Enum> find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
  }
};

}  // namespace rondo::jobs
