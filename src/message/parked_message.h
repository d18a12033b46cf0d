// ParkedMessage: a message whose handler threw and that waits for another attempt. The one thing of the message path that allocates for a
// small message; if it cannot, the message is dropped as if no retry had been asked for. It belongs to its agent's thread.
//
// Of a type with a limit it counts against that, and a newer message can take its place: one of the same key, or one more than there may be
// where the oldest is dropped. Other threads only say so, under the lane's lock ('is_superseded'); the agent's thread takes it away when
// it parks the next, or when it is due.
#pragma once

#include "message/node.h"
#include "rondo/sched/timer.h"

namespace rondo::message {

class Lane;

class ParkedMessage final : public TimerNode {
 public:
  ParkedMessage(Lane& lane, Node& node) noexcept : lane_(lane), node_(node) {}
  ~ParkedMessage() override = default;

  bool is_superseded = false;  // Guarded by the lane's lock.

  Node& node() noexcept { return node_; }
  /// Into the list of its agent, and the timers.
  void enter(Instant due) noexcept;
  /// Out of both.
  void leave() noexcept;

 private:
  friend struct ParkedList;
  void on_due() override;

  Lane& lane_;
  Node& node_;
  ParkedMessage* next_ = nullptr;  // Of the agent.
  ParkedMessage* previous_ = nullptr;
  ParkedMessage* list_next_ = nullptr;  // Guarded by the lane's lock: of those of its type, or of those that are superseded.
  ParkedMessage* list_previous_ = nullptr;
};

/// Guarded by the lane's lock. Oldest first.
struct ParkedList {
  ParkedMessage* first = nullptr;
  ParkedMessage* last = nullptr;

  void push(ParkedMessage& parked) noexcept {
    parked.list_next_ = nullptr;
    parked.list_previous_ = last;
    (last != nullptr ? last->list_next_ : first) = &parked;
    last = &parked;
  }
  void remove(ParkedMessage& parked) noexcept {
    (parked.list_previous_ != nullptr ? parked.list_previous_->list_next_ : first) = parked.list_next_;
    (parked.list_next_ != nullptr ? parked.list_next_->list_previous_ : last) = parked.list_previous_;
  }
  ParkedMessage* pop() noexcept {
    ParkedMessage* const parked = first;
    if (parked != nullptr) remove(*parked);
    return parked;
  }
};

}  // namespace rondo::message
