// Id<Tag, Rep>: an integer of one kind, so that a next-hop id cannot be passed as an interface index.
#pragma once

#include <compare>
#include <cstdint>

namespace rondo {

/// A strong integer. 'Tag' is any (incomplete) type that names the kind. By convention the value zero means "none".
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
