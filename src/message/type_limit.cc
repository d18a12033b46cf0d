#include "message/type_limit.h"

#include <bit>

#include "rondo/base/assert.h"

namespace rondo::message {

TypeLimit::TypeLimit(const MessageType& type, Limit limit, KeyOf key) : type_(type), limit_(limit), key_(key) {
  RONDO_ASSERT(limit.most > 0);
  // Taking the oldest key out would need its place among all keys; who wants that has no use for keys.
  RONDO_ASSERT(!merges() || limit.overflow != Overflow::DropOldest);
  if (merges()) buckets_.resize(std::bit_ceil(limit.most));
}

Node* TypeLimit::find(void* stored) const noexcept {
  for (Node* node = buckets_[key_.hash(stored) & (buckets_.size() - 1)]; node != nullptr; node = node->type_next) {
    if (key_.same(node->payload, stored)) return node;
  }
  return nullptr;
}

void TypeLimit::enter(Node& node) noexcept {
  ++waiting_;
  node.type_next = nullptr;
  if (merges()) {
    Node*& head = bucket(node.payload);
    node.type_next = head;
    head = &node;
  } else {
    (last_ != nullptr ? last_->type_next : first_) = &node;
    last_ = &node;
  }
}

void TypeLimit::leave(Node& node) noexcept {
  --waiting_;
  if (merges()) {
    Node** link = &bucket(node.payload);
    while (*link != &node) link = &(*link)->type_next;
    *link = node.type_next;
  } else {
    RONDO_ASSERT(first_ == &node);
    first_ = node.type_next;
    if (first_ == nullptr) last_ = nullptr;
  }
}

}  // namespace rondo::message
