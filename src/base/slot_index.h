// SlotIndex: a hash index from keys to 32-bit slots of somebody's slab. It stores hashes and slots only; the owner compares keys. Split into
// shards that grow one at a time, so that no insert ever pays for moving a million entries: a turn that inserts stays short (a flat map of
// one million entries stops for 20 to 40 ms when it grows; a shard here for about 50 us). Open addressing, linear probing, no tombstones.
// One thread. Expected O(1); 8 bytes an entry at 50 to 80 % load.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "rondo/base/assert.h"

namespace rondo {

class SlotIndex {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  /// The slot whose hash is 'hash' and for which 'equal(slot)' holds, or kNone.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, const Equal& equal) const {
    const Shard& shard = shards_[shard_of(hash)];
    if (shard.count == 0) return kNone;
    const std::uint32_t tag = tag_of(hash);
    for (std::uint32_t at = tag & shard.mask;; at = (at + 1) & shard.mask) {
      const Entry& entry = shard.entries[at];
      if (entry.slot == kNone) return kNone;
      if (entry.tag == tag && equal(entry.slot)) return entry.slot;
    }
  }

  /// Fetches the place of 'hash' into the cache. Worth it when several keys are about to be looked up: the misses of a large index, some 100 ns
  /// each, then overlap.
  void prefetch(std::uint64_t hash) const noexcept {
    const Shard& shard = shards_[shard_of(hash)];
    if (shard.entries) __builtin_prefetch(&shard.entries[tag_of(hash) & shard.mask]);
  }

  /// Adds a key that is not present.
  void insert(std::uint64_t hash, std::uint32_t slot) {
    RONDO_ASSERT(slot != kNone);
    Shard& shard = shards_[shard_of(hash)];
    if (shard.count * 5 >= shard.capacity() * 4) grow(shard);
    place(shard, tag_of(hash), slot);
    ++shard.count;
    ++size_;
  }

  /// Removes the entry of exactly this slot; it must be present. Later entries of the run move up, so no tombstones are left.
  void erase(std::uint64_t hash, std::uint32_t slot) {
    Shard& shard = shards_[shard_of(hash)];
    RONDO_ASSERT(shard.count > 0);
    const std::uint32_t tag = tag_of(hash);
    std::uint32_t hole = tag & shard.mask;
    while (shard.entries[hole].slot != slot) {
      RONDO_ASSERT(shard.entries[hole].slot != kNone);
      hole = (hole + 1) & shard.mask;
    }
    for (std::uint32_t at = (hole + 1) & shard.mask; shard.entries[at].slot != kNone; at = (at + 1) & shard.mask) {
      const std::uint32_t home = shard.entries[at].tag & shard.mask;
      if (((at - home) & shard.mask) >= ((at - hole) & shard.mask)) {
        shard.entries[hole] = shard.entries[at];
        hole = at;
      }
    }
    shard.entries[hole].slot = kNone;
    --shard.count;
    --size_;
    if (shard.count == 0 && shard.capacity() > kKeptCapacity) {  // An emptied large shard gives its memory back.
      shard.entries.reset();
      shard.mask = 0;
    }
  }

  std::size_t size() const noexcept { return size_; }

  std::size_t bytes() const noexcept {
    std::size_t total = sizeof *this;
    for (const Shard& shard : shards_) total += shard.capacity() * sizeof(Entry);
    return total;
  }

 private:
  struct Entry {
    std::uint32_t tag = 0;
    std::uint32_t slot = kNone;
  };
  struct Shard {
    std::unique_ptr<Entry[]> entries;
    std::uint32_t mask = 0;
    std::uint32_t count = 0;
    std::uint32_t capacity() const noexcept { return entries ? mask + 1 : 0; }
  };
  static constexpr unsigned kShardBits = 8;
  static constexpr std::uint32_t kKeptCapacity = 64;  // 512 bytes: an index that fills and drains every turn allocates nothing.

  static std::size_t shard_of(std::uint64_t hash) noexcept { return hash >> (64 - kShardBits); }
  static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash); }

  static void place(Shard& shard, std::uint32_t tag, std::uint32_t slot) {
    std::uint32_t at = tag & shard.mask;
    while (shard.entries[at].slot != kNone) at = (at + 1) & shard.mask;
    shard.entries[at] = Entry{tag, slot};
  }

  static void grow(Shard& shard) {
    Shard bigger;
    const std::uint32_t capacity = shard.capacity() == 0 ? 8 : shard.capacity() * 2;
    bigger.entries = std::make_unique<Entry[]>(capacity);
    bigger.mask = capacity - 1;
    bigger.count = shard.count;
    for (std::uint32_t i = 0; i < shard.capacity(); ++i) {
      if (shard.entries[i].slot != kNone) place(bigger, shard.entries[i].tag, shard.entries[i].slot);
    }
    shard = std::move(bigger);
  }

  std::array<Shard, std::size_t{1} << kShardBits> shards_{};
  std::size_t size_ = 0;
};

}  // namespace rondo
