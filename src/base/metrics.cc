// Reading of histograms: off the hot path, linear in the number of buckets.
#include "rondo/base/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo {

namespace {
/// How many of 'count' values a quantile must cover: at least one, at most all.
std::uint64_t rank_of(double q, std::uint64_t count) noexcept {
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, count);
}
}  // namespace

std::uint64_t Histogram::upper_bound(unsigned bucket) noexcept {
  if (bucket < (1U << kSubBits)) return bucket;
  const unsigned shift = (bucket >> kSubBits) - 1;
  const std::uint64_t low = ((1ULL << kSubBits) | (bucket & ((1U << kSubBits) - 1))) << shift;
  return low + ((1ULL << shift) - 1);
}

std::uint64_t Histogram::quantile(double q) const noexcept {
  if (count_ == 0) return 0;
  const std::uint64_t rank = rank_of(q, count_);
  std::uint64_t seen = 0;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= rank) return std::min(upper_bound(bucket), max_);
  }
  return max_;
}

std::uint64_t Histogram::below_power(unsigned bits) const noexcept {
  const std::uint64_t last = bits < 64 ? (std::uint64_t{1} << bits) - 1 : UINT64_MAX;
  std::uint64_t count = 0;
  for (unsigned bucket = 0; bucket < kBuckets && upper_bound(bucket) <= last; ++bucket) count += counts_[bucket];
  return count;
}

void Histogram::merge(const Histogram& other) noexcept {
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) counts_[bucket] += other.counts_[bucket];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Log2Histogram::count() const noexcept {
  std::uint64_t count = 0;
  for (const std::uint64_t in_bucket : counts_) count += in_bucket;
  return count;
}

std::uint64_t Log2Histogram::quantile(double q) const noexcept {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const std::uint64_t rank = rank_of(q, total);
  std::uint64_t seen = 0;
  for (unsigned bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= rank) return std::min((std::uint64_t{1} << bucket) - 1, max_);
  }
  return max_;
}

std::uint64_t Log2Histogram::below_power(unsigned bits) const noexcept {
  std::uint64_t count = 0;
  for (unsigned bucket = 0; bucket < kBuckets && bucket <= bits; ++bucket) count += counts_[bucket];
  return count;
}

Log2Histogram Log2Histogram::from_counts(const std::array<std::uint64_t, kBuckets>& counts) noexcept {
  Log2Histogram made;
  made.counts_ = counts;
  for (unsigned bucket = 1; bucket < kBuckets; ++bucket) {
    if (counts[bucket] != 0) made.max_ = (std::uint64_t{1} << bucket) - 1;
  }
  return made;
}

void Log2Histogram::merge(const Log2Histogram& other) noexcept {
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) counts_[bucket] += other.counts_[bucket];
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

}  // namespace rondo
