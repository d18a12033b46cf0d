// CountedFlag: a flag that maintains the number of set flags in a shared counter, so that counting takes no walk. One thread only.
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

  /// Sets the flag and adds it to 'count', which must outlive the flag.
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
