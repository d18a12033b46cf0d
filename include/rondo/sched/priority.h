// Priority: 0..63, higher first. One 64-bit word of the ready set has a bit for each.
#pragma once

#include <compare>
#include <cstdint>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo {

/// The urgency of a source, fixed when the source is made. SONiC's table priorities (5..55) need no conversion; p0..p7 have the names of
/// SObjectizer's eight priorities.
class Priority {
 public:
  constexpr Priority() noexcept = default;
  constexpr explicit Priority(unsigned level) : level_(static_cast<std::uint8_t>(level)) {
    RONDO_EXPECT(level < limits::kPriorities, "a Priority above limits::kPriorities - 1");
  }
  constexpr unsigned level() const noexcept { return level_; }
  friend constexpr auto operator<=>(Priority, Priority) noexcept = default;

  static const Priority p0, p1, p2, p3, p4, p5, p6, p7;

 private:
  std::uint8_t level_ = 0;
};

inline constexpr Priority Priority::p0{0}, Priority::p1{1}, Priority::p2{2}, Priority::p3{3}, Priority::p4{4}, Priority::p5{5},
    Priority::p6{6}, Priority::p7{7};

}  // namespace rondo
