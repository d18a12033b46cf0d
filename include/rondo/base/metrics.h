// Counters and histograms that cost a few nanoseconds on the hot path: plain integers owned by one thread, without a registry or locks.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace rondo {

/// Distribution of non-negative integers (nanoseconds, items). Buckets are log-linear, 16 for each power of two: a quantile is at most
/// 1/16 above the true value. Fixed 7.8 KiB, no allocation. One thread; copy it to read it elsewhere.
class Histogram {
 public:
  void add(std::uint64_t value) noexcept {
    ++counts_[bucket(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t max() const noexcept { return max_; }
  std::uint64_t sum() const noexcept { return sum_; }
  /// The smallest bucket bound that at least q (0..1) of the values do not exceed, never above max(); 0 when empty. O(buckets).
  std::uint64_t quantile(double q) const noexcept;
  /// The number of values below 2^bits. O(buckets).
  std::uint64_t below_power(unsigned bits) const noexcept;
  void merge(const Histogram& other) noexcept;
  void clear() noexcept { *this = Histogram{}; }

 private:
  static constexpr unsigned kSubBits = 4;
  static constexpr unsigned kBuckets = (64 - kSubBits + 1) << kSubBits;
  static unsigned bucket(std::uint64_t value) noexcept {
    if (value < (1U << kSubBits)) return static_cast<unsigned>(value);
    const unsigned exponent = 63U - static_cast<unsigned>(std::countl_zero(value));
    const unsigned shift = exponent - kSubBits;
    return ((shift + 1) << kSubBits) + static_cast<unsigned>((value >> shift) & ((1U << kSubBits) - 1));
  }
  static std::uint64_t upper_bound(unsigned bucket) noexcept;

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

/// A smaller histogram for use in tens of thousands: one bucket for each power of two, 400 bytes. A quantile is less than twice the true
/// value. Values from 2^46 on (19 hours in nanoseconds) share the last bucket.
class Log2Histogram {
 public:
  void add(std::uint64_t value) noexcept { add(value, 1); }
  /// Adds 'times' values that have as many bits as 'largest'; 'largest' is the largest of them.
  void add(std::uint64_t largest, std::uint64_t times) noexcept {
    counts_[bucket(largest)] += times;
    sum_ += largest * times;
    if (largest > max_) max_ = largest;
  }
  /// O(buckets).
  std::uint64_t count() const noexcept;
  std::uint64_t max() const noexcept { return max_; }
  /// Values that were added with 'times' count as the largest of them; those of from_counts() are not in it.
  std::uint64_t sum() const noexcept { return sum_; }
  /// Like Histogram::quantile.
  std::uint64_t quantile(double q) const noexcept;
  /// Like Histogram::below_power.
  std::uint64_t below_power(unsigned bits) const noexcept;
  void merge(const Log2Histogram& other) noexcept;
  void clear() noexcept { *this = Log2Histogram{}; }

  static constexpr unsigned kBuckets = 48;
  /// A histogram from counts that are kept elsewhere, such as in atomics: bucket i counts the values of i bits. max() is then the upper
  /// bound of the highest bucket that is not empty.
  static Log2Histogram from_counts(const std::array<std::uint64_t, kBuckets>& counts) noexcept;

 private:
  static unsigned bucket(std::uint64_t value) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return width < kBuckets ? width : kBuckets - 1;
  }

  std::uint64_t max_ = 0;
  std::uint64_t sum_ = 0;
  std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace rondo
