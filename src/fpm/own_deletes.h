// OwnDeletes: the Deletes of rows that the server has written and that the consumer has not taken yet. A remote store needs time for one,
// and zebra may announce the route again meanwhile: the Delete that arrives then is not the work of another program. One thread. O(log n).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "fpm/limits.h"

namespace rondo::fpm {

class OwnDeletes {
 public:
  /// The server has written a Delete, after the begin of this reading of all rows.
  void note(const std::string& key, std::uint8_t reading) {
    if (keys_.size() >= limits::kFpmOwnDeletes && !keys_.contains(key)) return;
    Pending& pending = keys_[key];
    ++pending.deletes;
    pending.reading = reading;
  }
  /// The consumer takes a Delete. Returns whether it is one of these.
  bool take(std::string_view key) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return false;
    if (--found->second.deletes == 0) keys_.erase(found);
    return true;
  }
  /// Forgets those that were noted before this reading began and have not come: the store has merged them with other changes.
  void forget_before(std::uint8_t reading) {
    std::erase_if(keys_, [reading](const auto& entry) { return entry.second.reading != reading; });
  }

 private:
  struct Pending {
    std::uint32_t deletes = 0;
    std::uint8_t reading = 0;
  };
  std::map<std::string, Pending, std::less<>> keys_;
};

}  // namespace rondo::fpm
