// Places: the memory in which a lane's messages wait. Made by chunks up to a limit, used again, and given back to the system only with the
// lane. Guarded by whoever owns it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "message/node.h"
#include "rondo/base/limits.h"

namespace rondo::message {

/// Free places, last freed first.
struct PlaceList {
  Node* first = nullptr;
  Node* last = nullptr;
  std::size_t count = 0;

  void push(Node& node) noexcept {
    node.next = first;
    if (first == nullptr) last = &node;
    first = &node;
    ++count;
  }
  Node* pop() noexcept {
    Node* const node = first;
    if (node != nullptr) {
      first = node->next;
      --count;
    }
    return node;
  }
  void append_to(PlaceList& other) noexcept {
    if (first == nullptr) return;
    last->next = other.first;
    if (other.first == nullptr) other.last = last;
    other.first = first;
    other.count += count;
    *this = {};
  }
};

class Places {
 public:
  explicit Places(std::size_t most) noexcept : most_(most) {}

  /// nullptr when all are in use, or memory has ended.
  Node* take() noexcept {
    if (Node* const used = free.pop()) return used;
    if (fresh_ == fresh_end_ && !add_chunk()) return nullptr;
    return fresh_++;
  }
  PlaceList free;

 private:
  bool add_chunk() noexcept {
    const std::size_t room = most_ - made_;
    if (room == 0) return false;
    const std::size_t count = room < limits::kMessagePlacesChunk ? room : limits::kMessagePlacesChunk;
    try {
      if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 8);
      auto chunk = std::make_unique_for_overwrite<Node[]>(count);
      fresh_ = chunk.get();
      chunks_.push_back(std::move(chunk));
    } catch (const std::bad_alloc&) {
      return false;
    }
    fresh_end_ = fresh_ + count;
    made_ += count;
    return true;
  }

  const std::size_t most_;
  std::size_t made_ = 0;
  Node* fresh_ = nullptr;  // Those of the newest chunk that were never used.
  Node* fresh_end_ = nullptr;
  std::vector<std::unique_ptr<Node[]>> chunks_;
};

}  // namespace rondo::message
