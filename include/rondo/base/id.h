// Id<Tag, Rep>: an integer that means one kind of thing, so that a next-hop id cannot be passed where an interface index is due.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace rondo {

/// A strong integer. 'Tag' is any (incomplete) type that names the kind. The zero value is "none" by convention.
template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() noexcept = default;
  constexpr explicit Id(Rep value) noexcept : value_(value) {}
  constexpr Rep value() const noexcept { return value_; }
  constexpr explicit operator bool() const noexcept { return value_ != Rep{}; }
  friend constexpr bool operator==(Id, Id) noexcept = default;
  friend constexpr auto operator<=>(Id, Id) noexcept = default;

 private:
  Rep value_{};
};

}  // namespace rondo

template <class Tag, class Rep>
struct std::hash<rondo::Id<Tag, Rep>> {
  std::size_t operator()(rondo::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
