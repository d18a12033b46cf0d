// Histograms against the exact quantiles of random values: the documented error holds at every order of magnitude.
#include "rondo/base/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "rondo/base/random.h"

namespace rondo {
namespace {

/// The definition of a quantile: the smallest value that at least q of the values do not exceed.
std::uint64_t exact_quantile(std::vector<std::uint64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(q * static_cast<double>(values.size()))));
  return values[rank - 1];
}

std::vector<std::uint64_t> random_values(Random& random) {
  std::vector<std::uint64_t> values(1 + random.below(2000));
  for (std::uint64_t& value : values) value = random.next() >> random.between(18, 63);  // All orders of magnitude below 2^46.
  return values;
}

TEST(Histogram, QuantileIsAtMostASixteenthAboveTheTruth) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const std::vector<std::uint64_t> values = random_values(random);
    Histogram histogram;
    for (const std::uint64_t value : values) histogram.add(value);
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      const std::uint64_t exact = exact_quantile(values, q);
      ASSERT_GE(histogram.quantile(q), exact) << random.describe() << " q " << q;
      ASSERT_LE(histogram.quantile(q), exact + exact / 16) << random.describe() << " q " << q;
    }
  }
}

TEST(Log2Histogram, QuantileIsLessThanTwiceTheTruth) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const std::vector<std::uint64_t> values = random_values(random);
    Log2Histogram histogram;
    for (const std::uint64_t value : values) histogram.add(value);
    ASSERT_EQ(histogram.count(), values.size());
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
      const std::uint64_t exact = exact_quantile(values, q);
      ASSERT_GE(histogram.quantile(q), exact) << random.describe() << " q " << q;
      ASSERT_LE(histogram.quantile(q), exact == 0 ? 0 : 2 * exact - 1) << random.describe() << " q " << q;
    }
  }
}

template <class T>
class AnyHistogram : public testing::Test {};
using Histograms = testing::Types<Histogram, Log2Histogram>;
TYPED_TEST_SUITE(AnyHistogram, Histograms);

TYPED_TEST(AnyHistogram, EmptyAnswersZero) {
  const TypeParam histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.quantile(0.5), 0U);
}

TYPED_TEST(AnyHistogram, QuantileNeverExceedsTheMaximumEvenAtTheEdges) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{1} << 46, UINT64_MAX}) {
    TypeParam histogram;
    histogram.add(value);
    EXPECT_EQ(histogram.quantile(1.0), value);
    EXPECT_EQ(histogram.max(), value);
  }
}

TYPED_TEST(AnyHistogram, MergedEqualsAddedTogether) {
  Random random(7);
  TypeParam left, right, both;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.next() >> random.between(20, 60);
    (random.chance(0.3) ? left : right).add(value);
    both.add(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), both.count());
  EXPECT_EQ(left.max(), both.max());
  for (const double q : {0.1, 0.5, 0.99}) EXPECT_EQ(left.quantile(q), both.quantile(q));
  left.clear();
  EXPECT_EQ(left.count(), 0U);
}

TEST(Histogram, SumIsExact) {
  Histogram histogram;
  for (const std::uint64_t value : {3U, 1000U, 123457U}) histogram.add(value);
  EXPECT_EQ(histogram.sum(), 124460U);
}

TEST(Histogram, ValuesBelowAPowerOfTwoAreCounted) {
  Histogram fine;
  Log2Histogram coarse;
  for (const std::uint64_t value : {0U, 1U, 1023U, 1024U, 1U << 20U}) {
    fine.add(value);
    coarse.add(value);
  }
  for (const auto& [bits, count] : {std::pair{0U, 1U}, {1U, 2U}, {9U, 2U}, {10U, 3U}, {11U, 4U}, {20U, 4U}, {21U, 5U}, {64U, 5U}}) {
    EXPECT_EQ(fine.below_power(bits), count) << bits;
    EXPECT_EQ(coarse.below_power(bits), count) << bits;
  }
  EXPECT_EQ(coarse.sum(), fine.sum());
}

TEST(Log2Histogram, IsSmallEnoughForTenThousandSources) { EXPECT_LE(sizeof(Log2Histogram), 400U); }

}  // namespace
}  // namespace rondo
