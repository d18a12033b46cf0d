// LateReports: what an owner of rows must know of reports that arrive later than they were made. One thread. O(log n).
//
// Pages: a store reads a page of rows at some time between the request and the delivery. So the page may have a row as it was before a
// change, and says nothing of it. The page has each write that was made before it was asked for (Store::scan_written).
//
// Deletes: the consumer of the table takes a Delete later than the owner wrote it, and the owner may have written the row again meanwhile.
// Such a Delete is not the work of another program, and a Set that is taken before it is out of date. A store may merge a Delete with later
// changes, so it never arrives. Such a one hides a Delete of another program for at most kPatience; the next comparison of all rows finds
// that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "orch/limits.h"
#include "rondo/base/time.h"
#include "rondo/store/change.h"

namespace rondo {

class LateReports {
 public:
  /// The longest time after which a remote store delivers a Delete.
  static constexpr Duration kPatience = std::chrono::seconds{10};

  /// A page is asked for.
  void begin_page() {
    end_page();
    is_open_ = true;
  }
  /// The page was taken, or does not come.
  void end_page() {
    changed_.clear();
    is_open_ = is_void_ = false;
  }
  /// The row was deleted, or the consumer has taken a change that made it a row of another owner.
  void note_change(std::string_view key) {
    if (!is_open_ || is_void_) return;
    changed_.emplace(key);
    if (changed_.size() > limits::kOwnDeletes) note_all_changed();
  }
  /// Any row may have changed.
  void note_all_changed() { is_void_ = is_open_; }
  /// True if the page says nothing of the row.
  bool is_changed(std::string_view key) const { return changed_.contains(key); }
  /// The page says nothing at all.
  bool is_page_void() const noexcept { return is_void_; }

  /// The owner has written a Delete.
  void note_delete(const std::string& key, Instant now) {
    note_change(key);
    if (deletes_.size() >= limits::kOwnDeletes && !deletes_.contains(key)) return;
    Pending& pending = deletes_[key];
    ++pending.deletes;
    pending.newest = now;
  }
  /// True if the consumer has yet to take one.
  bool awaits_delete(std::string_view key, Instant now) const {
    const auto found = deletes_.find(key);
    return found != deletes_.end() && now - found->second.newest <= kPatience;
  }
  /// The consumer takes a Delete. Returns true if the owner wrote it.
  bool take_delete(std::string_view key, Instant now) {
    const bool is_ours = awaits_delete(key, now);
    const auto found = deletes_.find(key);
    if (found != deletes_.end() && (!is_ours || --found->second.deletes == 0)) deletes_.erase(found);
    return is_ours;
  }
  /// Forgets Deletes that were not delivered. O(n).
  void forget_old(Instant now) {
    std::erase_if(deletes_, [now](const auto& entry) { return now - entry.second.newest > kPatience; });
  }

  /// The consumer has taken a Delete of another program. A Set of the row may follow.
  void note_removed(std::string_view key) {
    note_change(key);
    removed_ = key;
  }
  bool has_removed() const noexcept { return removed_.has_value(); }
  /// Returns, once, the key of such a Delete that no Set has followed. 'next': the change that is taken now; null: none.
  std::optional<std::string> take_removed(const Change* next) {
    const bool is_set = removed_ && next != nullptr && next->op() == ChangeOp::Set && next->key() == *removed_;
    std::optional<std::string> removed = std::exchange(removed_, std::nullopt);
    return is_set ? std::nullopt : std::move(removed);
  }

 private:
  struct Pending {
    std::uint32_t deletes = 0;
    Instant newest;
  };
  std::set<std::string, std::less<>> changed_;
  bool is_open_ = false;
  bool is_void_ = false;
  std::map<std::string, Pending, std::less<>> deletes_;
  std::optional<std::string> removed_;
};

}  // namespace rondo
