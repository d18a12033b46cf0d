// AskAgain: for an Orch of our own whose rows wait for a fact that somebody else provides, and that will not come unless it asks anew. It
// says nothing about the fact. The runtime's thread.
#pragma once

#include "orch/runtime_parts.h"
#include "rondo/orch/orch.h"

namespace rondo {

class AskAgain {
 public:
  /// The rows of this runtime that wait for 'fact' are queued again, as if it were announced. In the journal it is an announcement.
  static void rows_that_wait_for(Orch& orch, const Constraint& fact) {
    Runtime::Parts& shared = *orch.runtime_.parts_;
    if (shared.witness != nullptr) shared.witness->announced(fact);
    shared.resolved(fact, shared.constraints.announce(fact));
    if (shared.witness != nullptr) shared.witness->withdrawn(fact);  // For its checkers the fact began and ended at once.
  }
};

}  // namespace rondo
