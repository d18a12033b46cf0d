// KeyPattern: '*' matches any bytes, '?' one byte, every other character itself; it must match the whole key. No other character is
// special, because keys contain brackets and backslashes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rondo {

class KeyPattern {
 public:
  /// A program that receives patterns from outside must refuse those above limits::kPatternBytes, so that a match takes a bounded time.
  explicit KeyPattern(std::string pattern) : pattern_(std::move(pattern)) {}

  /// O(key) for usual patterns, O(key x pattern) at worst.
  bool matches(std::string_view key) const noexcept {
    std::size_t at = 0;
    std::size_t in = 0;
    std::size_t star = std::string::npos;  // The last '*'; 'tried' is where in the key the text after it was last tried.
    std::size_t tried = 0;
    while (at < key.size()) {
      if (in < pattern_.size() && pattern_[in] == '*') {
        star = in++;
        tried = at;
      } else if (in < pattern_.size() && (pattern_[in] == '?' || pattern_[in] == key[at])) {
        ++in;
        ++at;
      } else if (star != std::string::npos) {
        in = star + 1;
        at = ++tried;
      } else {
        return false;
      }
    }
    while (in < pattern_.size() && pattern_[in] == '*') ++in;
    return in == pattern_.size();
  }

 private:
  std::string pattern_;
};

}  // namespace rondo
