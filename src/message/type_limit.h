// TypeLimit: the messages of one type with a limit that wait for one agent, in the queue or parked for a retry. The lock of the agent's
// queue guards everything here. O(1).
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
  /// For types that merge: returns the waiting message with the key of the message at 'stored'.
  Node* find(void* stored) const noexcept;
  void enter(Node& node) noexcept;
  /// 'node' is the oldest, or its type merges.
  void leave(Node& node) noexcept;
  /// The oldest in the queue. It exists if the limit is full and no message is parked.
  Node& oldest() noexcept { return *first_; }
  /// The node of 'parked' has left the limit already. The count may exceed the limit by one: the message that was being handled.
  void enter(ParkedMessage& parked) noexcept;
  void leave(ParkedMessage& parked) noexcept;
  /// Returns the message parked first, or nullptr.
  ParkedMessage* oldest_parked() noexcept { return parked_.first; }

 private:
  std::size_t slot(void* stored) const noexcept;
  void enter_bucket(Node& node) noexcept;
  void leave_bucket(Node& node) noexcept;

  const MessageType& type_;
  const Limit limit_;
  const KeyOf key_;
  std::size_t waiting_ = 0;  // In the queue or parked.
  Node* first_ = nullptr;    // For types that do not merge: all waiting messages, oldest first.
  Node* last_ = nullptr;
  std::vector<Node*> buckets_;  // For types that merge: by key, including parked messages.
  ParkedList parked_;
};

}  // namespace rondo::message
