// ParkedMessage: a message whose handler threw and that waits for a retry. It is the only allocation in the path of a small message; if
// that fails, the message is dropped as if no retry had been requested. It belongs to its agent's thread.
//
// If its type has a limit, it counts against that, and a newer message can replace it. That is a message of the same key, or one over the
// limit if the oldest is dropped. Other threads only mark it under the queue's lock ('is_superseded'). The agent's thread removes it when
// it parks the next message, or when it is due.
#pragma once

#include "message/node.h"
#include "rondo/sched/timer.h"

namespace rondo::message {

class AgentQueue;

class ParkedMessage final : public TimerNode {
 public:
  ParkedMessage(AgentQueue& queue, Node& node) noexcept : queue_(queue), node_(node) {}
  ~ParkedMessage() override = default;

  bool is_superseded = false;  // Guarded by the queue's lock.

  Node& node() noexcept { return node_; }
  /// Inserts it into its agent's list and into the timers.
  void enter(Instant due) noexcept;
  /// Removes it from both.
  void leave() noexcept;

 private:
  friend struct ParkedList;
  void on_due() override;

  AgentQueue& queue_;
  Node& node_;
  ParkedMessage* next_ = nullptr;  // In the agent's list.
  ParkedMessage* previous_ = nullptr;
  ParkedMessage* list_next_ = nullptr;  // Guarded by the queue's lock: in the list of its type, or in the list of superseded messages.
  ParkedMessage* list_previous_ = nullptr;
};

/// Guarded by the queue's lock. Oldest first.
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
