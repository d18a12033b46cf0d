// CountedFlag: a flag of one of many things that keeps count of how many of them have it, so that the count takes no walk. One thread.
#pragma once

#include <cstddef>
#include <utility>

namespace rondo::switch_agent {

class CountedFlag {
 public:
  CountedFlag() noexcept = default;
  ~CountedFlag() { clear(); }
  CountedFlag(const CountedFlag&) = delete;
  CountedFlag& operator=(const CountedFlag&) = delete;

  /// 'count', which outlives the flag, has it from now on.
  void set(std::size_t& count) noexcept {
    clear();
    ++count;
    count_ = &count;
  }
  void clear() noexcept {
    if (std::size_t* const count = std::exchange(count_, nullptr)) --*count;
  }
  explicit operator bool() const noexcept { return count_ != nullptr; }

 private:
  std::size_t* count_ = nullptr;
};

}  // namespace rondo::switch_agent
