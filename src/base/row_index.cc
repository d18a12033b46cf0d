#include "base/row_index.h"

#include "rondo/base/assert.h"

namespace rondo {

namespace {
constexpr std::uint32_t kFirstCapacity = 16;
constexpr std::uint32_t kSegmentCapacity = 4096;
/// 12 bits of the tag select the place in a segment, so 20 are left. Only crafted keys reach that depth: XXH3 spreads 16 million over 13
/// bits.
constexpr unsigned kDeepest = 20;
}  // namespace

RowIndex::Segment::Segment(std::uint32_t capacity, unsigned leading_bits)
    : slots(std::make_unique<Slot[]>(capacity)), mask(capacity - 1), grow_at(capacity / 16 * 13), depth(leading_bits) {}

RowIndex::RowIndex() { reset(); }

void RowIndex::reset() {
  segments_.clear();
  segments_.push_back(std::make_unique<Segment>(kFirstCapacity, 0));
  directory_.assign(1, segments_.front().get());
  depth_ = 0;
  size_ = 0;
}

void RowIndex::put(Segment& segment, Slot slot) noexcept {
  std::uint32_t at = slot.tag & segment.mask;
  while (segment.slots[at].row != kNone) at = (at + 1) & segment.mask;
  segment.slots[at] = slot;
  ++segment.used;
}

/// Makes room for 'tag' and returns its segment. A small segment doubles; a full-size one is split; at the greatest depth it doubles
/// again.
RowIndex::Segment* RowIndex::grow(std::uint32_t tag) {
  while (true) {
    const std::size_t place = place_of(tag);
    Segment& old = *directory_[place];
    if (old.used < old.grow_at) return &old;
    if (old.mask + 1 >= kSegmentCapacity && old.depth < kDeepest) {
      split(place);  // All rows may be in one half; then the loop repeats.
      continue;
    }
    Segment larger{(old.mask + 1) * 2, old.depth};
    for (std::uint32_t at = 0; at <= old.mask; ++at) {
      if (old.slots[at].row != kNone) put(larger, old.slots[at]);
    }
    old = std::move(larger);
    return &old;
  }
}

void RowIndex::split(std::size_t place) {
  if (directory_[place]->depth == depth_) {
    std::vector<Segment*> wider(directory_.size() * 2);
    for (std::size_t i = 0; i < directory_.size(); ++i) wider[2 * i] = wider[2 * i + 1] = directory_[i];
    directory_ = std::move(wider);
    ++depth_;
    place *= 2;
  }
  Segment& old = *directory_[place];
  const unsigned depth = old.depth + 1;
  const std::uint32_t bit = std::uint32_t{1} << (32 - depth);
  Segment low{old.mask + 1, depth};
  auto high = std::make_unique<Segment>(old.mask + 1, depth);
  for (std::uint32_t at = 0; at <= old.mask; ++at) {
    const Slot slot = old.slots[at];
    if (slot.row != kNone) put((slot.tag & bit) != 0 ? *high : low, slot);
  }
  // The places that share 'old' are neighbours; the new segment gets their upper half.
  const std::size_t shared = std::size_t{1} << (depth_ - old.depth);
  const std::size_t first = place & ~(shared - 1);
  for (std::size_t i = first + shared / 2; i < first + shared; ++i) directory_[i] = high.get();
  old = std::move(low);
  segments_.push_back(std::move(high));
}

void RowIndex::erase(std::uint64_t hash, std::uint32_t row) {
  const std::uint32_t tag = tag_of(hash);
  Segment& segment = *directory_[place_of(tag)];
  std::uint32_t at = tag & segment.mask;
  while (segment.slots[at].row != row) {
    RONDO_ASSERT(segment.slots[at].row != kNone);
    at = (at + 1) & segment.mask;
  }
  // Closes the hole: moves back every following slot that is still reachable from its own place (no tombstones, so lookups do not slow
  // down).
  for (std::uint32_t next = (at + 1) & segment.mask; segment.slots[next].row != kNone; next = (next + 1) & segment.mask) {
    const std::uint32_t home = segment.slots[next].tag & segment.mask;
    if (((next - home) & segment.mask) >= ((next - at) & segment.mask)) {
      segment.slots[at] = segment.slots[next];
      at = next;
    }
  }
  segment.slots[at] = Slot{};
  --segment.used;
  if (--size_ == 0 && segments_.size() > 1) reset();
}

std::size_t RowIndex::bytes() const noexcept {
  std::size_t total = directory_.capacity() * sizeof(Segment*) + segments_.capacity() * sizeof(segments_.front());
  for (const auto& segment : segments_) total += sizeof(Segment) + (std::size_t{segment->mask} + 1) * sizeof(Slot);
  return total;
}

}  // namespace rondo
