// ParkedMessage: a message whose handler threw and that waits for another attempt. The one thing of the message path that allocates for a
// small message; if it cannot, the message is dropped as if no retry had been asked for. Scheduler's thread.
#pragma once

#include "message/lane.h"
#include "rondo/sched/timer.h"

namespace rondo::message {

class ParkedMessage final : public TimerNode {
 public:
  /// False when there is no memory.
  static bool park(Lane& lane, Node& node, Instant due) noexcept;
  /// Drops all that is parked for 'cell'.
  static void discard_all(Cell& cell) noexcept;
  ~ParkedMessage() override = default;

 private:
  ParkedMessage(Lane& lane, Node& node) noexcept : lane_(lane), node_(node) {}
  void on_due() override;
  void leave() noexcept;
  Lane& lane_;
  Node& node_;
  ParkedMessage* next_ = nullptr;
  ParkedMessage* previous_ = nullptr;
};

}  // namespace rondo::message
