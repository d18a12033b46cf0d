// Spellings: decides which row has an object of the kernel if several keys name it (2001:DB8::/32, 2001:db8::/32; or one IPv6 address with
// two prefix lengths). The row that arrived
// first has it. The others wait until that row is deleted, and their own deletion changes nothing. Only rows with a key that is not
// canonical use memory here. One thread only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace rondo::switch_agent {

class Spellings {
 public:
  /// True if a row with a canonical key needs no check.
  bool empty() const noexcept { return odd_.empty() && contested_.empty(); }

  /// True if the row 'key' may act on the object 'canonical'. 'held': some row has the object, or has just asked for it.
  bool may_act(std::string_view canonical, std::string_view key, bool held) const {
    const auto odd = odd_.find(canonical);
    if (odd != odd_.end()) return odd->second == key;
    return key == canonical || !held;
  }
  /// Records that the row 'key' has the object.
  void take(const std::string& canonical, std::string_view key) {
    if (key != canonical) odd_.insert_or_assign(canonical, std::string{key});
  }
  bool is_odd(std::string_view canonical) const { return odd_.contains(canonical); }
  /// Records that a row waits for the object.
  void contest(const std::string& canonical) { contested_.insert(canonical); }
  /// Returns the key of the row that has it; empty if none.
  std::string holder(std::string_view canonical) const {
    const auto odd = odd_.find(canonical);
    return odd != odd_.end() ? odd->second : std::string{canonical};
  }
  /// Records that no row has the object any more. Returns true if a row waits for that.
  bool release(std::string_view canonical) {
    if (const auto odd = odd_.find(canonical); odd != odd_.end()) odd_.erase(odd);
    const auto contested = contested_.find(canonical);
    if (contested == contested_.end()) return false;
    contested_.erase(contested);
    return true;
  }

  /// The text for `why`.
  std::string explain(std::string_view what, std::string_view table, std::string_view canonical) const {
    std::string text{"the same "};
    text.append(what).append(" as ").append(table).append(" ").append(holder(canonical));
    return text.append(", a row with another key for it, which has it until it is deleted");
  }

 private:
  std::map<std::string, std::string, std::less<>> odd_;  // The keys that are not canonical, of rows that have an object.
  std::set<std::string, std::less<>> contested_;
};

}  // namespace rondo::switch_agent
