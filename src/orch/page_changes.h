// PageChanges: the rows that changed while a page of the tables was on its way. The store reads a page at some time between the request and
// the delivery, so the page may have such a row as it was before the change, and says nothing about it. The page has each write that was
// made before it was asked for (Store::scan_written). One thread. O(log n).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"

namespace rondo {

class PageChanges {
 public:
  /// A page is asked for.
  void begin() {
    end();
    is_open_ = true;
  }
  /// The page was taken, or does not come.
  void end() {
    keys_.clear();
    is_open_ = is_void_ = false;
  }
  /// The owner has deleted the row, or its consumer has taken a change that made it absent or a row of another owner.
  void note(std::string_view key) {
    if (!is_open_ || is_void_) return;
    keys_.emplace(key);
    if (keys_.size() > limits::kOwnDeletes) note_all();
  }
  /// Any row may have changed.
  void note_all() { is_void_ = is_open_; }
  bool contains(std::string_view key) const { return keys_.contains(key); }
  /// The page says nothing at all.
  bool is_void() const noexcept { return is_void_; }

 private:
  std::set<std::string, std::less<>> keys_;
  bool is_open_ = false;
  bool is_void_ = false;
};

}  // namespace rondo
