// TypeLimit: what waits for one agent of one type that has a limit. Everything here is guarded by the lock of the agent's lane. O(1).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "message/node.h"
#include "rondo/message/limit.h"

namespace rondo::message {

class TypeLimit {
 public:
  TypeLimit(const MessageType& type, Limit limit, KeyOf key);

  const MessageType& type() const noexcept { return type_; }
  const Limit& limit() const noexcept { return limit_; }
  bool full() const noexcept { return waiting_ >= limit_.most; }
  bool merges() const noexcept { return key_.hash != nullptr; }
  /// What waits with the key of the message at 'stored'.
  Node* find(void* stored) const noexcept;
  void enter(Node& node) noexcept;
  /// 'node' is the oldest, or its type merges.
  void leave(Node& node) noexcept;
  Node& oldest() noexcept { return *first_; }

 private:
  Node*& bucket(void* stored) noexcept { return buckets_[key_.hash(stored) & (buckets_.size() - 1)]; }

  const MessageType& type_;
  const Limit limit_;
  const KeyOf key_;
  std::size_t waiting_ = 0;
  Node* first_ = nullptr;  // Types that do not merge: all that wait, oldest first.
  Node* last_ = nullptr;
  std::vector<Node*> buckets_;  // Types that do: by key.
};

}  // namespace rondo::message
