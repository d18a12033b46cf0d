// Unreported: that a device was made by an order whose event has not come, so that its number is not known yet. A Delete that overtakes the
// event waits for it. The wait is bounded, because another program may have deleted the device before.
#pragma once

#include "rondo/dataplane/op.h"
#include "rondo/orch/outcome.h"
#include "switch_agent/answer.h"

namespace rondo::switch_agent {

class Unreported {
 public:
  /// The data plane has confirmed an order that was given while the device had no number.
  void confirmed() noexcept { polls_left_ = kPolls; }
  /// The event has come. If the device has no number later, it is gone.
  void reported() noexcept { polls_left_ = 0; }
  /// Call it when a Delete, or another device in its place, needs the number of the device: true if the caller must call it again after
  /// kEventRetry.
  bool must_wait(IfIndex device) noexcept {
    if (device) reported();
    if (polls_left_ == 0) return false;
    --polls_left_;
    return true;
  }

 private:
  static constexpr unsigned kPolls = 5s / kEventRetry;
  unsigned polls_left_ = 0;
};

}  // namespace rondo::switch_agent
