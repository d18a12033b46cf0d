// TypeLimit: what waits for one agent of one type that has a limit, in the queue or parked for another attempt. Everything here is guarded
// by the lock of the agent's lane. O(1).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "message/node.h"
#include "message/parked_message.h"
#include "rondo/message/limit.h"

namespace rondo::message {

class TypeLimit {
 public:
  TypeLimit(const MessageType& type, Limit limit, KeyOf key);

  const MessageType& type() const noexcept { return type_; }
  const Limit& limit() const noexcept { return limit_; }
  bool full() const noexcept { return waiting_ >= limit_.most; }
  bool merges() const noexcept { return key_.hash != nullptr; }
  /// What waits with the key of the message at 'stored'; of types that merge.
  Node* find(void* stored) const noexcept;
  void enter(Node& node) noexcept;
  /// 'node' is the oldest, or its type merges.
  void leave(Node& node) noexcept;
  /// Of those in the queue; there is one if the limit is full and nothing is parked.
  Node& oldest() noexcept { return *first_; }
  /// The node of 'parked' has left. It may be one more than the limit says: the one that was being handled.
  void enter(ParkedMessage& parked) noexcept;
  void leave(ParkedMessage& parked) noexcept;
  /// The one parked first, or nullptr.
  ParkedMessage* oldest_parked() noexcept { return parked_.first; }

 private:
  std::size_t slot(void* stored) const noexcept;
  void enter_bucket(Node& node) noexcept;
  void leave_bucket(Node& node) noexcept;

  const MessageType& type_;
  const Limit limit_;
  const KeyOf key_;
  std::size_t waiting_ = 0;  // In the queue or parked.
  Node* first_ = nullptr;    // Types that do not merge: all that wait, oldest first.
  Node* last_ = nullptr;
  std::vector<Node*> buckets_;  // Types that do: by key, parked ones, too.
  ParkedList parked_;
};

}  // namespace rondo::message
