// RowTap: the RuntimeEvents of one table that passes to a function what an operator follows: changes taken, parked, resolved, retried,
// ordered, done or rejected. It serves `rondo watch` and `rondo trace`. A table without a tap pays nothing for it.
#pragma once

#include <functional>
#include <utility>

#include "orch/runtime_events.h"
#include "rondo/base/clock.h"

namespace rondo {

class RowObservers;

/// Reports events until it is destroyed or its consumer is. Scheduler's thread. The listener is called inside turns of the consumer: it
/// must be short, must not throw, and must not make or destroy a tap.
class RowTap final : public RuntimeEvents {
 public:
  /// Receives Taken, Retried, Redone, Ordered, Done, Rejected, Parked, Delayed, Replaced and Resolved, with the time. A refused change is
  /// reported as Rejected. RowEvent::change is only set with Taken.
  using Listener = std::function<void(const RowEvent& event)>;
  /// Receives only the changes that the consumer takes. It costs a fraction of a Listener.
  using TakenListener = std::function<void(const Change& change)>;
  ~RowTap() override;
  RowTap(const RowTap&) = delete;
  RowTap& operator=(const RowTap&) = delete;

  void row(const RowEvent& event) override;

 private:
  friend class RowObservers;
  RowTap(RowObservers& observers, const Clock& clock, Listener listener)
      : observers_(&observers), clock_(clock), listener_(std::move(listener)) {}
  RowTap(RowObservers& observers, const Clock& clock, TakenListener listener)
      : observers_(&observers), clock_(clock), taken_(std::move(listener)) {}
  RowObservers* observers_;  // Null once its consumer is gone.
  const Clock& clock_;
  Listener listener_;
  TakenListener taken_;  // One of the two.
};

}  // namespace rondo
