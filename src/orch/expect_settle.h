// expect_settle: for an Orch of our own that settles many tickets at once. It asks the processor for the memory that Orch::settle() will
// touch, so that the cache misses of a batch overlap. The runtime's thread.
#pragma once

#include "orch/consumer.h"

namespace rondo {

/// Call it with step 0 for all tickets of the batch, then with step 1 for all, then with step 2: each step finds what the step before asked
/// for.
constexpr unsigned kExpectSteps = 3;
inline void expect_settle(const Ticket& ticket, unsigned step) noexcept {
  if (ticket.consumer != nullptr) ticket.consumer->expect_settle(ticket, step);
}

}  // namespace rondo
