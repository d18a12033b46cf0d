// Quota: counts what is held against a bound. One thread.
#pragma once

#include <cstddef>

#include "rondo/base/assert.h"

namespace rondo::fpm {

class Quota {
 public:
  explicit Quota(std::size_t max) : max_(max) {}

  /// False if 'count' more would exceed the bound; then nothing is counted.
  [[nodiscard]] bool take(std::size_t count) noexcept {
    if (count > max_ - used_) return false;
    used_ += count;
    return true;
  }
  void give_back(std::size_t count) noexcept {
    RONDO_ASSERT(count <= used_);
    used_ -= count;
  }
  std::size_t used() const noexcept { return used_; }
  std::size_t max() const noexcept { return max_; }

 private:
  const std::size_t max_;
  std::size_t used_ = 0;
};

}  // namespace rondo::fpm
