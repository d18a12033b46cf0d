// KeyedRows: the rows of one table by key: a slab whose chunks never move, and a RowIndex over it. A row has a 32-bit number that stays the
// same until the row is erased. Lists of rows (staged, changed, free) are chains of numbers. The tables of store/memory, WatchedView and
// TableView use it. One thread. Every call is O(1), except the constructor of a chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/row_index.h"

namespace rondo::store {

/// 'Row' has key() and is default-constructible. Its member 'next' belongs to the owner while the row is in use, and to the free list
/// otherwise.
template <class Row>
class KeyedRows {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  std::uint32_t find(std::string_view key, std::uint64_t hash) const {
    return index_.find(hash, [&](std::uint32_t id) { return (*this)[id].key() == key; });
  }

  struct Added {
    std::uint32_t id;
    bool is_new;
  };
  /// A new row is default-constructed; the caller must set its key before the next call.
  Added find_or_add(std::string_view key, std::uint64_t hash) {
    bool is_new = false;
    const std::uint32_t id = index_.find_or_add(
        hash, [&](std::uint32_t candidate) { return (*this)[candidate].key() == key; },
        [&] {
          is_new = true;
          return allocate();
        });
    return {id, is_new};
  }

  void erase(std::uint32_t id, std::uint64_t hash) {
    index_.erase(hash, id);
    Row& row = (*this)[id];
    row = Row{};
    row.next = free_;
    free_ = id;
    if (index_.size() == 0 && chunks_.size() > 1) clear();
  }

  /// Frees some of the rows, for an owner that has finished with all of them and must keep its turns short. False when none are left. After
  /// this call, only call it again or destroy the object.
  bool free_some() {
    if (chunks_.empty()) return false;
    chunks_.pop_back();
    return true;
  }

  Row& operator[](std::uint32_t id) noexcept { return (*chunks_[id / kChunk])[id % kChunk]; }
  const Row& operator[](std::uint32_t id) const noexcept { return (*chunks_[id / kChunk])[id % kChunk]; }

  /// size(): the number of rows. end_id(): one past the highest number in use. A number below it may be free; its row is then
  /// default-constructed.
  std::size_t size() const noexcept { return index_.size(); }
  std::uint32_t end_id() const noexcept { return end_; }
  /// The bytes of index and slab, without what the rows refer to.
  std::size_t bytes() const noexcept { return index_.bytes() + chunks_.capacity() * sizeof(chunks_[0]) + chunks_.size() * sizeof(Chunk); }

 private:
  static constexpr std::uint32_t kChunk = 256;  // Keeps a small table small.
  using Chunk = std::array<Row, kChunk>;

  std::uint32_t allocate() {
    if (free_ != kNone) {
      const std::uint32_t id = free_;
      free_ = (*this)[id].next;
      (*this)[id].next = kNone;
      return id;
    }
    if (end_ / kChunk == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
    return end_++;
  }

  /// Called when every row is free: forgets the numbers, so that a table that was large before does not stay large. Keeps one chunk.
  void clear() {
    chunks_.resize(1);
    for (Row& row : *chunks_.front()) row = Row{};
    end_ = 0;
    free_ = kNone;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t end_ = 0;
  std::uint32_t free_ = kNone;
  RowIndex index_;
};

}  // namespace rondo::store
