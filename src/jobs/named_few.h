// NamedFew: what is wrong with many rows, for people: the first ones by name, and how many there are. O(limits::kTroublesNamed) memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

class NamedFew {
 public:
  /// Names one, or only counts it.
  void add(std::string_view what) {
    if (names_more()) text_ += (text_.empty() ? "" : "; ") + visible_text(what.substr(0, limits::kRunNote));
    ++count_;
  }
  /// Counts some that are not named: only when names_more() is false.
  void add_unnamed(std::size_t how_many) { count_ += how_many; }
  std::size_t count() const noexcept { return count_; }
  bool names_more() const noexcept { return count_ < limits::kTroublesNamed; }
  const std::string& named() const noexcept { return text_; }
  std::size_t unnamed() const noexcept { return names_more() ? 0 : count_ - limits::kTroublesNamed; }
  /// "A; B; and 3 more jobs are not planned", where the words behind the number are given for one and for several.
  std::string text(std::string_view one_more, std::string_view more) const {
    if (unnamed() == 0) return text_;
    return text_ + "; and " + std::to_string(unnamed()) + " " + std::string{unnamed() == 1 ? one_more : more};
  }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

}  // namespace rondo::jobs
