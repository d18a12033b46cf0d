// Refusals: transient refusals by the data plane that repeat. A refusal may be transient because a link event is on its way. If the same
// order is refused for the same reason again, the row counts as refused, and it is retried after a growing delay. One object for each
// Orch; uses memory only for rows whose last order was refused. Scheduler thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/orch/outcome.h"
#include "switch_agent/answer.h"

namespace rondo::switch_agent {

/// The refusals in a row, for the same reason, from which a row counts as refused.
inline constexpr unsigned kRefusedFrom = 2;
/// The longest delay before an order that was refused is retried.
inline constexpr Duration kSlowestRefusedRetry = 5s;

/// The delay after the 'times'-th equal refusal in a row: kSoon, then doubled, up to kSlowestRefusedRetry.
inline Duration refused_delay(unsigned times) noexcept {
  const unsigned doublings = std::min(std::max(times, 1U) - 1, 10U);
  return std::min<Duration>(kSoon * (1U << doublings), kSlowestRefusedRetry);
}

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

class Refusals {
 public:
  /// Returns the outcome of the row 'key', with a longer delay if it repeats a transient refusal.
  Outcome note(std::string_view key, Outcome outcome) {
    if (outcome.kind() != Outcome::Kind::RetryAfter || outcome.delay() != kSoon) {  // Other delays have reasons of their own.
      forget(key);
      return outcome;
    }
    const unsigned times = rows_[std::string{key}].note(outcome.why());
    return Outcome::retry_after(refused_delay(times), outcome.why());
  }
  void forget(std::string_view key) {
    if (const auto it = rows_.find(key); it != rows_.end()) rows_.erase(it);
  }
  /// Why the row is refused; null if it is not.
  const Status* why(std::string_view key) const {
    const auto it = rows_.find(key);
    return it != rows_.end() && it->second.is_refused() ? &it->second.why() : nullptr;
  }
  /// The number of refused rows. O(rows whose last order was refused).
  std::size_t count() const {
    return static_cast<std::size_t>(std::ranges::count_if(rows_, [](const auto& row) { return row.second.is_refused(); }));
  }

 private:
  std::map<std::string, RefusalCount, std::less<>> rows_;
};

}  // namespace rondo::switch_agent
