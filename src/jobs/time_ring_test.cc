// TimeRing against a model, and the statements of the time ring's document one by one.
#include "jobs/time_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "rondo/base/random.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr WallTime at(std::int64_t ms) { return WallTime::from_nanoseconds(1'800'000'000'000'000'000 + ms * 1'000'000); }

std::vector<std::int64_t> take(TimeRing& ring, WallTime now, std::size_t max = SIZE_MAX) {
  std::vector<TimeRing::Entry> entries;
  ring.take(now, max, entries);
  std::vector<std::int64_t> runs;
  for (const TimeRing::Entry& entry : entries) runs.push_back(entry.run);
  return runs;
}

TEST(TimeRing, ARunFiresAtItsMillisecondWithinItsSecond) {
  TimeRing ring;
  ASSERT_TRUE(ring.push({at(1250), 1}, at(0)));
  ASSERT_TRUE(ring.push({at(1249), 2}, at(0)));
  EXPECT_EQ(ring.next_due(), at(1249));
  EXPECT_THAT(take(ring, at(1248)), IsEmpty());
  EXPECT_THAT(take(ring, at(1249)), ElementsAre(2));
  EXPECT_THAT(take(ring, at(1250)), ElementsAre(1));
  EXPECT_EQ(ring.next_due(), std::nullopt);
}

TEST(TimeRing, SlotsThatAPauseHasMissedAreTakenInOrder) {
  TimeRing ring;
  for (const int second : {7, 3, 30, 12}) ASSERT_TRUE(ring.push({at(second * 1000), second}, at(0)));
  EXPECT_THAT(take(ring, at(12'000)), ElementsAre(3, 7, 12));
  EXPECT_THAT(take(ring, at(400'000)), ElementsAre(30));
}

TEST(TimeRing, ARunForASlotThatHasPassedFiresAtTheNextTakeAndNotATurnLater) {
  TimeRing ring;
  ASSERT_TRUE(ring.push({at(20'000), 1}, at(0)));
  EXPECT_THAT(take(ring, at(20'000)), ElementsAre(1));
  ASSERT_TRUE(ring.push({at(5'000), 2}, at(20'000)));
  EXPECT_THAT(take(ring, at(20'000)), ElementsAre(2));
}

TEST(TimeRing, ARunBeyondTheLastSlotIsRefused) {
  TimeRing ring;
  ASSERT_TRUE(ring.push({at(59'999), 1}, at(999)));
  EXPECT_FALSE(ring.push({at(60'000), 2}, at(999)));
  EXPECT_EQ(ring.size(), 1U);
}

TEST(TimeRing, AClockThatWasSetBackFiresNothingTwiceAndNothingEarly) {
  TimeRing ring;
  ASSERT_TRUE(ring.push({at(10'000), 1}, at(0)));
  ASSERT_TRUE(ring.push({at(11'000), 2}, at(0)));
  EXPECT_THAT(take(ring, at(10'500)), ElementsAre(1));
  EXPECT_THAT(take(ring, at(2'000)), IsEmpty());
  ASSERT_TRUE(ring.push({at(2'500), 3}, at(2'000)));
  EXPECT_THAT(take(ring, at(2'499)), IsEmpty());
  EXPECT_THAT(take(ring, at(2'500)), ElementsAre(3));
  EXPECT_THAT(take(ring, at(11'000)), ElementsAre(2));
}

TEST(TimeRing, AFewAtATimeLoseNoneAndKeepTheirOrder) {
  TimeRing ring;
  for (int run = 0; run < 10; ++run) ASSERT_TRUE(ring.push({at(100), run}, at(0)));
  ASSERT_TRUE(ring.push({at(3'000), 10}, at(0)));
  EXPECT_THAT(take(ring, at(3'000), 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(take(ring, at(3'000), 4), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(take(ring, at(3'000), 4), ElementsAre(8, 9, 10));
}

/// Stalls, clock jumps in both directions, pushes for the past: each run fires exactly once, at the first take() that is not before it.
TEST(TimeRingModel, FiresEachRunOnceAtTheFirstTakeThatIsNotBeforeIt) {
  Random random{7};
  for (int round = 0; round < 200; ++round) {
    TimeRing ring;
    std::map<std::pair<WallTime, std::int64_t>, bool> model;
    std::int64_t now = 100'000;
    std::int64_t run = 0;
    for (int step = 0; step < 300; ++step) {
      for (std::uint64_t pushes = random.below(4); pushes > 0; --pushes) {
        const WallTime due = at(now + static_cast<std::int64_t>(random.below(70'000)) - 10'000);
        if (ring.push({due, ++run}, at(now))) model[{due, run}] = true;
      }
      now +=
          random.below(10) == 0 ? static_cast<std::int64_t>(random.below(100'000)) - 30'000 : static_cast<std::int64_t>(random.below(1500));
      std::vector<std::int64_t> expected;
      while (!model.empty() && model.begin()->first.first <= at(now)) {
        expected.push_back(model.begin()->first.second);
        model.erase(model.begin());
      }
      std::vector<std::int64_t> taken = take(ring, at(now));
      std::ranges::sort(expected);
      std::ranges::sort(taken);
      ASSERT_EQ(taken, expected) << "round " << round << " step " << step;
      ASSERT_EQ(ring.size(), model.size());
    }
  }
}

}  // namespace
}  // namespace rondo::jobs
