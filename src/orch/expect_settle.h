// expect_settle: for internal Orchs that settle many tickets together. It prefetches the memory that Orch::settle() will touch, so that
// the cache misses of a batch overlap. Runtime's thread.
#pragma once

#include "orch/consumer.h"

namespace rondo {

/// Call it with step 0 for all tickets of the batch, then with step 1 for all, then with step 2. Each step reads what the step before
/// prefetched.
constexpr unsigned kExpectSteps = 3;
inline void expect_settle(const Ticket& ticket, unsigned step) noexcept {
  if (ticket.consumer != nullptr) ticket.consumer->expect_settle(ticket, step);
}

}  // namespace rondo
