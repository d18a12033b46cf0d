// AskAgain: for internal Orchs whose rows wait for a fact that another component provides without an announcement of its own. It queues
// those rows again, so that their handler repeats its request. It does not change what is known about the fact. Runtime's thread.
#pragma once

#include "orch/runtime_impl.h"
#include "rondo/orch/orch.h"

namespace rondo {

class AskAgain {
 public:
  /// Queues the rows of this runtime that wait for 'fact' again, as an announcement would. The journal records an announcement.
  static void rows_that_wait_for(Orch& orch, const Fact& fact) {
    Runtime::Impl& shared = *orch.runtime_.impl_;
    for (RuntimeEvents* const one : shared.observers) one->asking_again(fact);
    shared.resolved(fact, shared.facts.announce(fact));
  }
};

}  // namespace rondo
