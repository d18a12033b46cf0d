// refused(): the outcome of a row whose write a store refused.
#pragma once

#include "rondo/base/time.h"
#include "rondo/orch/outcome.h"

namespace rondo::managers {

/// Tries again after a second: a full or unreachable store passes.
inline Outcome refused(const Status& why) { return Outcome::retry_after(1s, why); }

}  // namespace rondo::managers
