// Refusals: transient refusals by the data plane that repeat. A refusal may be transient because a link event is on its way. If the same
// order is refused for the same reason again, the row counts as refused, and it is retried after a growing delay. One object for each
// Orch; uses memory only for rows whose last order was refused. Scheduler thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "rondo/base/status.h"
#include "rondo/orch/outcome.h"
#include "switch_agent/retries.h"

namespace rondo::switch_agent {

/// The refusals in a row, for the same reason, from which a row counts as refused.
inline constexpr unsigned kRefusedFrom = 2;

/// The delay after the 'times'-th equal refusal in a row: kSoon, then doubled, up to kSlowestRefusedRetry.
inline Duration refused_delay(unsigned times) noexcept { return doubled(kSoon, std::max(times, 1U) - 1, kSlowestRefusedRetry); }

/// Counts equal refusals in a row of one order.
class RefusalCount {
 public:
  /// Records an answer, and returns how many equal refusals in a row it makes; 0 if it is ok.
  unsigned note(const Status& status) {
    const bool same = status.code() == why_.code() && status.message() == why_.message();
    times_ = status.ok() ? 0 : (same ? times_ + 1 : 1);
    why_ = status;
    return times_;
  }
  bool is_refused() const noexcept { return times_ >= kRefusedFrom; }
  unsigned times() const noexcept { return times_; }
  /// The last answer.
  const Status& why() const noexcept { return why_; }

 private:
  Status why_;
  unsigned times_ = 0;
};

/// 'Key' names a row or its object.
template <class Key>
class Refusals {
 public:
  /// Returns the outcome of 'key', with a longer delay if it repeats a transient refusal. O(log).
  template <class Name>
  Outcome note(const Name& key, Outcome outcome) {
    if (outcome.kind() != Outcome::Kind::RetryAfter || outcome.delay() != kSoon) {  // Other delays have reasons of their own.
      forget(key);
      return outcome;
    }
    RefusalCount& row = rows_[Key{key}];
    const bool was_refused = row.is_refused();
    const unsigned times = row.note(outcome.why());
    refused_ = refused_ - std::size_t{was_refused} + std::size_t{row.is_refused()};
    return Outcome::retry_after(refused_delay(times), outcome.why());
  }
  template <class Name>
  void forget(const Name& key) {
    if (rows_.empty()) return;
    if (const auto it = rows_.find(key); it != rows_.end()) forget(it);
  }
  /// Forgets each key for which 'is_over' returns true. O(rows whose last order was refused).
  template <class IsOver>
  void forget_if(IsOver is_over) {
    for (auto it = rows_.begin(); it != rows_.end();) it = is_over(it->first) ? forget(it) : std::next(it);
  }
  /// Why the row is refused; null if it is not.
  template <class Name>
  const Status* why(const Name& key) const {
    const auto it = rows_.find(key);
    return it != rows_.end() && it->second.is_refused() ? &it->second.why() : nullptr;
  }
  /// The number of refused rows. O(1).
  std::size_t count() const noexcept { return refused_; }

 private:
  using Rows = std::map<Key, RefusalCount, std::less<>>;
  typename Rows::iterator forget(typename Rows::iterator row) {
    refused_ -= std::size_t{row->second.is_refused()};
    return rows_.erase(row);
  }

  Rows rows_;
  std::size_t refused_ = 0;
};

}  // namespace rondo::switch_agent
