// The longest wait of a source for a turn, computed from the largest values seen.
#pragma once

#include <cstdint>

#include "rondo/base/time.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/priority.h"

namespace rondo {

/// Largest values seen of one priority; its bound is computed from them.
struct PriorityUse {
  Duration longest{0};         // Longest turn, including the time since the previous turn if a source was ready then.
  Duration longest_item{0};    // The same divided by the items of the turn; only in policies that count items.
  std::int64_t items = 0;      // Most items of a turn, at least 1; only in policies that count items.
  std::int64_t overdraft = 0;  // Most items beyond a quota; only in policies that count items.
  std::uint32_t sources = 0;   // Most sources at a time.
  std::uint64_t weights = 0;   // Highest sum of their weights.
  bool numbered = false;       // Some sources number their items: the number of older items is then unknown.
};
/// The longest wait of a source of 'priority' with 'weight' under 'settings', if turns and numbers of sources stay within 'uses'.
/// Duration::max() if there is no bound. See the top of rondo/sched/policy.h. O(priorities).
Duration wait_bound(const PolicySettings& settings, const PriorityUses& uses, Priority priority, std::uint32_t weight = 1);

}  // namespace rondo
