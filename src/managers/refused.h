// refused(): the outcome of a row whose write a store refused.
#pragma once

#include "rondo/base/time.h"
#include "rondo/orch/outcome.h"

namespace rondo::managers {

/// Tries again after a second: a full or unreachable store passes. A row that no store can hold, such as one with a field name that is too
/// long, is rejected.
inline Outcome refused(const Status& why) {
  return why.code() == StatusCode::InvalidArgument ? Outcome::reject(why) : Outcome::retry_after(1s, why);
}

}  // namespace rondo::managers
