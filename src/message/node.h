// Node: one waiting message: a place of a fixed size in the chunks of its lane. The first of its two cache lines has everything that a
// turn needs for a small message. The second has the rest of a larger message, and the links that only types with a limit use.
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
  std::uint32_t batch;    // The batch of arrivals that contains it; kInHand when posted on the scheduler's thread.
  std::uint8_t attempts;  // Retries so far, at most limits::kMessageRetriesMost.
  bool dropped;           // Its limit dropped it while it was in hand; the queue skips it.
  bool is_parked;         // Waits for a retry, in no queue.
  alignas(16) std::byte payload[limits::kInlineMessageBytes];
  // Valid if the node's type has a limit.
  union {
    Node* previous;
    ParkedMessage* parked;  // While it is parked.
  };
  Node* type_next;  // The next node of the same agent and type, or of the same bucket of keys.

  static constexpr std::uint32_t kInHand = 0;
};
static_assert(sizeof(Node) == 128);
static_assert(offsetof(Node, payload) == 48, "16 bytes of the message share the first cache line");

/// A queue of nodes. 'previous' is valid only in nodes that may be taken out of the middle, so that other messages do not touch their
/// second cache line.
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
  /// Takes out 'node', which is in this list and whose type has a limit.
  void unlink(Node& node) noexcept {
    Node* const before = &node != first ? node.previous : nullptr;
    (before != nullptr ? before->next : first) = node.next;
    (node.next != nullptr ? node.next->previous : last) = before;
  }
  /// Appends all nodes of 'other'.
  void append(NodeList& other) noexcept {
    if (other.empty()) return;
    if (other.first->handler->limit != nullptr) other.first->previous = last;
    (last != nullptr ? last->next : first) = other.first;
    last = other.last;
    other = {};
  }
  /// Merges all nodes of 'other' by arrival, if both lists are in that order. O(nodes of both up to the last of 'other').
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
