// RowIndex: maps the hash of a key to the number of its row. Extendible hashing (Fagin et al., "Extendible Hashing - A Fast Access Method
// for Dynamic Files", ACM TODS 1979): a directory over segments of at most 4096 slots, each probed linearly. A full segment is split
// alone, so growth delays the scheduler by at most tens of microseconds; one flat table of a million rows would take tens of milliseconds.
// A lookup is two loads from memory that stays cached and one from the slots. 8 bytes a slot, 40 to 81 % of them used.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/prefetch.h"

namespace rondo {

/// Stores hashes and row numbers only; the caller compares keys. One thread.
class RowIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  RowIndex();

  /// Returns the row of 'hash' for which 'is_it(row)' is true, or kNone. Calls 'is_it' only for rows with the same 32-bit tag.
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

  /// Returns the row as find() does. If there is none, adds the row that 'make()' returns. One probe for both.
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

  /// Adds a row whose key is absent.
  void insert(std::uint64_t hash, std::uint32_t row) {
    find_or_add(
        hash, [](std::uint32_t) { return false; }, [row] { return row; });
  }

  /// Removes a row that is stored under 'hash'. An index that becomes empty frees its memory.
  void erase(std::uint64_t hash, std::uint32_t row);

  /// Prefetches the slots of 'hash' before its lookup.
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
  /// Most lookups read at most this many slots, which may be in two cache lines.
  static constexpr std::uint32_t kSlotsNear = 7;
  struct Segment {
    explicit Segment(std::uint32_t capacity, unsigned depth);
    std::unique_ptr<Slot[]> slots;
    std::uint32_t mask;
    std::uint32_t grow_at;
    std::uint32_t used = 0;
    unsigned depth;  // The number of leading bits of the tag that all its rows share.
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
