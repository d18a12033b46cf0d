// Instant, WallTime, the system's clocks, and strong integers.
#include "rondo/base/time.h"

#include <gtest/gtest.h>

#include "rondo/base/clock.h"
#include "rondo/base/id.h"

namespace rondo {
namespace {

TEST(Instant, AdditionSaturatesAtNever) {
  const Instant now = Instant::from_nanoseconds(5);
  EXPECT_EQ((now + 3ns).nanoseconds(), 8);
  EXPECT_EQ(Instant::never() + 1ns, Instant::never());
  EXPECT_EQ(now + Duration::max(), Instant::never());
  EXPECT_EQ((now - 6ns).nanoseconds(), -1);
}

TEST(Instant, DifferenceAndOrderFollowTheReading) {
  const Instant early = Instant::from_nanoseconds(10);
  const Instant late = Instant::from_nanoseconds(30);
  EXPECT_EQ(late - early, 20ns);
  EXPECT_LT(early, late);
  EXPECT_LT(late, Instant::never());
}

TEST(WallTime, ArithmeticIsInNanoseconds) {
  const WallTime start = WallTime::from_nanoseconds(1'000);
  EXPECT_EQ((start + 1us).nanoseconds(), 2'000);
  EXPECT_EQ((start + 1us) - start, 1us);
}

TEST(SystemClock, MonotonicReadingsNeverGoBack) {
  const SystemClock clock;
  Instant last = clock.now();
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, WallClockCountsFrom1970) {
  const SystemClock clock;
  EXPECT_GT(clock.wall_now().nanoseconds(), 1'600'000'000LL * 1'000'000'000);  // After September 2020.
}

TEST(Id, ZeroIsNoneAndOrderFollowsTheValue) {
  using Port = Id<struct PortTag>;
  EXPECT_FALSE(Port{});
  EXPECT_TRUE(Port{3});
  EXPECT_LT(Port{3}, Port{4});
}

}  // namespace
}  // namespace rondo
