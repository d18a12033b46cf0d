// Node: one message that waits: a place of a fixed size in the chunks of its lane. What a turn needs of a small message is in the first of
// its two cache lines; the second has the rest of a larger one, and the links that only types with a limit use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/limits.h"
#include "rondo/base/time.h"
#include "rondo/message/message.h"

namespace rondo::message {

class Cell;
class ParkedMessage;

struct alignas(64) Node {
  Node* next;
  Cell* agent;
  const Handler* handler;
  std::uint64_t arrival;
  Instant enqueued;
  std::uint32_t batch;    // Of the arrivals from elsewhere among which it is; kInHand when posted here.
  std::uint8_t attempts;  // Beyond the first: limits::kMessageRetriesMost.
  bool dropped;           // By its limit, while it was in hand: its place in the order is passed over.
  bool is_parked;         // Waits for another attempt, in no queue.
  alignas(16) std::byte payload[limits::kInlineMessageBytes];
  // Valid in a node of a type with a limit.
  union {
    Node* previous;
    ParkedMessage* parked;  // While it is parked.
  };
  Node* type_next;  // Of the same agent and type, or of the same bucket of keys.

  static constexpr std::uint32_t kInHand = 0;
};
static_assert(sizeof(Node) == 128);
static_assert(offsetof(Node, payload) == 48, "16 bytes of the message share the first cache line");

/// A queue of nodes. 'previous' is kept right for those that may be taken out of the middle, and only for them, so that other messages
/// leave their second cache line alone.
struct NodeList {
  Node* first = nullptr;
  Node* last = nullptr;

  bool empty() const noexcept { return first == nullptr; }
  void push(Node& node) noexcept {
    node.next = nullptr;
    if (node.handler->limit != nullptr) node.previous = last;
    (last != nullptr ? last->next : first) = &node;
    last = &node;
  }
  Node& pop() noexcept {
    Node& node = *first;
    first = node.next;
    if (first == nullptr) last = nullptr;
    return node;
  }
  /// Takes out 'node', which is here and of a type with a limit.
  void unlink(Node& node) noexcept {
    Node* const before = &node != first ? node.previous : nullptr;
    (before != nullptr ? before->next : first) = node.next;
    (node.next != nullptr ? node.next->previous : last) = before;
  }
  /// Moves all of 'other' behind these.
  void append(NodeList& other) noexcept {
    if (other.empty()) return;
    if (other.first->handler->limit != nullptr) other.first->previous = last;
    (last != nullptr ? last->next : first) = other.first;
    last = other.last;
    other = {};
  }
  /// Moves all of 'other' to where their arrival puts them, if both are in that order. O(those of both up to the last of 'other').
  void merge(NodeList& other) noexcept {
    NodeList merged;
    while (!empty() && !other.empty()) merged.push((other.first->arrival < first->arrival ? other : *this).pop());
    merged.append(other);
    merged.append(*this);
    *this = merged;
  }
  void prepend(NodeList& other) noexcept {
    other.append(*this);
    *this = other;
    other = {};
  }
};

}  // namespace rondo::message
