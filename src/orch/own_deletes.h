// OwnDeletes: the Deletes that the owner of rows has written and that their consumer has not taken yet. A remote store needs time for one,
// and the owner may write the row again meanwhile: the Delete that arrives then is not the work of another program. A store may merge a
// Delete with later changes, so it never arrives. Such a one hides a Delete of another program for at most kPatience; the next comparison
// of all rows finds that. One thread. O(log n).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/base/time.h"

namespace rondo {

class OwnDeletes {
 public:
  /// The longest time after which a remote store delivers a Delete.
  static constexpr Duration kPatience = std::chrono::seconds{10};

  /// The owner has written a Delete.
  void note(const std::string& key, Instant now) {
    if (keys_.size() >= limits::kOwnDeletes && !keys_.contains(key)) return;
    Pending& pending = keys_[key];
    ++pending.deletes;
    pending.newest = now;
  }
  /// The consumer takes a Delete. Returns true if the owner wrote it.
  bool take(std::string_view key, Instant now) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return false;
    const bool is_ours = now - found->second.newest <= kPatience;
    if (!is_ours || --found->second.deletes == 0) keys_.erase(found);
    return is_ours;
  }
  /// Whether one is under way, so that what is taken before it is out of date.
  bool contains(std::string_view key, Instant now) const {
    const auto found = keys_.find(key);
    return found != keys_.end() && now - found->second.newest <= kPatience;
  }
  /// Forgets those that were not delivered. O(n).
  void forget_old(Instant now) {
    std::erase_if(keys_, [now](const auto& entry) { return now - entry.second.newest > kPatience; });
  }

 private:
  struct Pending {
    std::uint32_t deletes = 0;
    Instant newest;
  };
  std::map<std::string, Pending, std::less<>> keys_;
};

}  // namespace rondo
