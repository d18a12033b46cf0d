#include "message/type_limit.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "rondo/base/assert.h"
#include "rondo/message/limits.h"

namespace rondo::message {

TypeLimit::TypeLimit(const MessageType& type, Limit limit, KeyOf key) : type_(type), limit_(limit), key_(key) {
  RONDO_EXPECT(limit.most > 0, "a limit of " + name_of(type) + " lets no message wait; it is at least 1");
  // To drop the oldest key, each key would need its place among all keys. The combination has no use.
  RONDO_EXPECT(!merges() || limit.overflow != Overflow::DropOldest, "coalesce() of " + name_of(type) + " cannot drop the oldest key");
  // A type with more keys than a queue has places by default shares buckets: the memory is allocated now, for any number of messages.
  if (merges()) buckets_.resize(std::bit_ceil(std::min(limit.most, limits::kMessagesOfPriority)));
}

/// Returns the bucket of the message's key. A hash may be the key itself (std::hash of an integer is), and keys may be multiples of a
/// power of two. After the multiplication the upper bits distinguish them (Fibonacci hashing).
std::size_t TypeLimit::slot(void* stored) const noexcept {
  std::uint64_t hash = key_.hash(stored);
  hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>(hash >> 32) & (buckets_.size() - 1);
}

Node* TypeLimit::find(void* stored) const noexcept {
  for (Node* node = buckets_[slot(stored)]; node != nullptr; node = node->type_next) {
    if (key_.same(node->payload, stored)) return node;
  }
  return nullptr;
}

void TypeLimit::enter_bucket(Node& node) noexcept {
  Node*& head = buckets_[slot(node.payload)];
  node.type_next = head;
  head = &node;
}

void TypeLimit::leave_bucket(Node& node) noexcept {
  Node** link = &buckets_[slot(node.payload)];
  while (*link != &node) link = &(*link)->type_next;
  *link = node.type_next;
}

void TypeLimit::enter(Node& node) noexcept {
  ++waiting_;
  if (merges()) return enter_bucket(node);
  node.type_next = nullptr;
  (last_ != nullptr ? last_->type_next : first_) = &node;
  last_ = &node;
}

void TypeLimit::leave(Node& node) noexcept {
  --waiting_;
  if (merges()) return leave_bucket(node);
  RONDO_ASSERT(first_ == &node);
  first_ = node.type_next;
  if (first_ == nullptr) last_ = nullptr;
}

void TypeLimit::enter(ParkedMessage& parked) noexcept {
  ++waiting_;
  parked_.push(parked);
  if (merges()) enter_bucket(parked.node());
}

void TypeLimit::leave(ParkedMessage& parked) noexcept {
  --waiting_;
  parked_.remove(parked);
  if (merges()) leave_bucket(parked.node());
}

}  // namespace rondo::message
