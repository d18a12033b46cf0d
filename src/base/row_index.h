// RowIndex: from the hash of a key to the number of its row. Extendible hashing (Fagin et al., "Extendible Hashing - A Fast Access Method
// for Dynamic Files", ACM TODS 1979): a directory over segments of at most 4096 slots, each probed linearly. A full segment is split alone,
// so growing never stops the scheduler for longer than tens of microseconds, where one flat table of a million rows would for tens of
// milliseconds. A lookup is two loads from memory that stays cached and one from the slots. 8 bytes a slot, 40 to 81 % of them used.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/prefetch.h"

namespace rondo {

/// Knows hashes and row numbers only; the caller compares keys. One thread.
class RowIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  RowIndex();

  /// The row of that hash for which 'is_it(row)' is true, or kNone. 'is_it' is only asked for rows whose 32-bit tag is the same.
  template <class IsIt>
  std::uint32_t find(std::uint64_t hash, IsIt&& is_it) const {
    const std::uint32_t tag = tag_of(hash);
    const Segment& segment = *directory_[place_of(tag)];
    for (std::uint32_t at = tag & segment.mask;; at = (at + 1) & segment.mask) {
      const Slot slot = segment.slots[at];
      if (slot.row == kNone) return kNone;
      if (slot.tag == tag && is_it(slot.row)) return slot.row;
    }
  }

  /// The row as find() says, or, after adding it, the one that 'make()' numbers. One probe for both.
  template <class IsIt, class Make>
  std::uint32_t find_or_add(std::uint64_t hash, IsIt&& is_it, Make&& make) {
    const std::uint32_t tag = tag_of(hash);
    Segment* segment = directory_[place_of(tag)];
    if (segment->used >= segment->grow_at) segment = grow(tag);
    for (std::uint32_t at = tag & segment->mask;; at = (at + 1) & segment->mask) {
      Slot& slot = segment->slots[at];
      if (slot.row == kNone) {
        slot = Slot{tag, make()};
        ++segment->used;
        ++size_;
        return slot.row;
      }
      if (slot.tag == tag && is_it(slot.row)) return slot.row;
    }
  }

  /// Adds a row whose key is not there.
  void insert(std::uint64_t hash, std::uint32_t row) {
    find_or_add(
        hash, [](std::uint32_t) { return false; }, [row] { return row; });
  }

  /// Forgets a row that is there under that hash. An index that becomes empty gives its memory back.
  void erase(std::uint64_t hash, std::uint32_t row);

  /// Asks the processor for the slots of 'hash' ahead of its lookup.
  void prefetch(std::uint64_t hash) const noexcept {
    const std::uint32_t tag = tag_of(hash);
    const Segment& segment = *directory_[place_of(tag)];
    rondo::prefetch(&segment.slots[tag & segment.mask]);
    rondo::prefetch(&segment.slots[(tag + kSlotsNear) & segment.mask]);
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t row = kNone;
  };
  /// A lookup looks at so many slots in most cases, and these may lie in two cache lines.
  static constexpr std::uint32_t kSlotsNear = 7;
  struct Segment {
    explicit Segment(std::uint32_t capacity, unsigned depth);
    std::unique_ptr<Slot[]> slots;
    std::uint32_t mask;
    std::uint32_t grow_at;
    std::uint32_t used = 0;
    unsigned depth;  // Leading bits of the tag that all its rows share.
  };

  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t place_of(std::uint32_t tag) const noexcept { return static_cast<std::size_t>(std::uint64_t{tag} >> (32 - depth_)); }
  static void put(Segment& segment, Slot slot) noexcept;
  Segment* grow(std::uint32_t tag);
  void split(std::size_t place);
  void reset();

  std::vector<Segment*> directory_;
  std::vector<std::unique_ptr<Segment>> segments_;
  unsigned depth_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rondo
