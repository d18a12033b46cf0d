// Node: one waiting message, in a place of a fixed size. The first of its two cache lines has everything that a turn needs for a small
// message. The second has the rest of a larger message, and the links that only types with a limit use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"
#include "rondo/message/limits.h"
#include "rondo/message/message.h"

namespace rondo::message {

class AgentState;
class ParkedMessage;

struct alignas(64) Node {
  Node* next;
  AgentState* agent;
  const Handler* handler;
  std::uint64_t arrival;
  Instant enqueued;
  std::uint8_t attempts;  // Retries so far, at most limits::kMessageRetriesMost.
  bool dropped;           // Its limit dropped it after its queue had taken it for handling; the queue skips it.
  bool is_parked;         // Waits for a retry, in no queue.
  alignas(16) std::byte payload[limits::kInlineMessageBytes];
  // Valid if the node's type has a limit.
  union {
    Node* previous;
    ParkedMessage* parked;  // While it is parked.
  };
  Node* type_next;  // The next node of the same agent and type, or of the same bucket of keys.
};
static_assert(sizeof(Node) == 128);
static_assert(offsetof(Node, payload) == 48, "16 bytes of the message share the first cache line");

/// A queue of nodes. 'previous' is valid only in nodes whose type has a limit, so that other messages do not touch their second cache line.
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
  void push_front(Node& node) noexcept {
    node.next = first;
    (first != nullptr ? first->previous : last) = &node;
    first = &node;
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
};

}  // namespace rondo::message
