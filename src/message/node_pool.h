// NodePool: the memory of a queue's waiting messages. Allocated in chunks up to a limit, reused, and freed only with the queue. Guarded by
// the queue's lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "message/node.h"
#include "rondo/message/limits.h"

namespace rondo::message {

class NodePool {
 public:
  explicit NodePool(std::size_t most) noexcept : most_(most) {}

  /// Returns nullptr when all nodes are in use, or an allocation failed.
  Node* take() noexcept {
    if (free_.empty() && !add_chunk()) return nullptr;
    Node* const node = free_.back();
    free_.pop_back();
    return node;
  }
  /// 'used' was returned by take(). Allocates nothing: there is room for all nodes.
  void give_back(Node& used) noexcept { free_.push_back(&used); }
  /// Any thread, without the lock.
  std::size_t made() const noexcept { return made_.load(std::memory_order_relaxed); }

 private:
  bool add_chunk() noexcept {
    const std::size_t count = std::min(most_ - made(), limits::kMessagePlacesChunk);
    if (count == 0) return false;
    try {
      if (free_.capacity() < made() + count) free_.reserve(2 * made() + count);
      chunks_.push_back(std::make_unique_for_overwrite<Node[]>(count));
    } catch (const std::bad_alloc&) {
      return false;
    }
    for (std::size_t i = count; i-- > 0;) free_.push_back(&chunks_.back()[i]);
    made_.store(made() + count, std::memory_order_relaxed);
    return true;
  }

  const std::size_t most_;
  std::atomic<std::size_t> made_{0};  // Written under the lock.
  // An array and not a list through the nodes: a node that another processor used last is written without being read first.
  std::vector<Node*> free_;
  std::vector<std::unique_ptr<Node[]>> chunks_;
};

}  // namespace rondo::message
