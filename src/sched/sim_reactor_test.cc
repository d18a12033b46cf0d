// The simulated reactor and clock: they change only when the test changes them.
#include "sched/sim_reactor.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "sim/test_source.h"

namespace rondo {
namespace {

class SimReactorTest : public testing::Test {
 protected:
  std::size_t poll(Instant deadline) { return reactor_.poll(deadline, events_).value(); }
  SimClock clock_;
  SimReactor reactor_{clock_};
  std::array<ReactorEvent, 4> events_;
  test::WorkSource source_{"s", 5};
};

TEST_F(SimReactorTest, AWaitMovesTheClockToItsDeadline) {
  const Instant start = clock_.now();
  EXPECT_EQ(poll(start + 3h), 0U);
  EXPECT_EQ(clock_.now(), start + 3h);
}

TEST_F(SimReactorTest, AWaitEndsWhenTheNextPlannedThingHappens) {
  const Instant start = clock_.now();
  ASSERT_TRUE(reactor_.watch(1, Interest::Read, source_).ok());
  reactor_.at(start + 2s, [this] { reactor_.make_ready(1); });
  EXPECT_EQ(poll(start + 10s), 1U);
  EXPECT_EQ(clock_.now(), start + 2s);
  EXPECT_EQ(events_[0].source, &source_);
}

TEST_F(SimReactorTest, PlannedThingsOfOneInstantHappenInTheOrderTheyWerePlanned) {
  std::string order;
  const Instant when = clock_.now() + 1s;
  reactor_.at(when, [&] { order += 'a'; });
  reactor_.at(when, [&] { order += 'b'; });
  reactor_.at(when - 1ns, [&] { order += 'c'; });
  poll(when);
  poll(when + 1s);
  EXPECT_EQ(order, "cab");
}

TEST_F(SimReactorTest, ALookDoesNotMoveTheClockButSeesWhatIsPast) {
  const Instant start = clock_.now();
  bool happened = false;
  reactor_.at(start + 5ms, [&] { happened = true; });
  poll(Instant{});
  EXPECT_FALSE(happened);
  clock_.advance(5ms);
  poll(Instant{});
  EXPECT_TRUE(happened);
  EXPECT_EQ(clock_.now(), start + 5ms);
}

TEST_F(SimReactorTest, ReportsOnceAndOnlyWhatIsWatched) {
  reactor_.make_ready(1);
  EXPECT_EQ(poll(Instant{}), 0U);
  ASSERT_TRUE(reactor_.watch(1, Interest::Read, source_).ok());
  EXPECT_EQ(reactor_.watch(1, Interest::Read, source_).code(), StatusCode::AlreadyExists);
  reactor_.make_ready(1);
  reactor_.make_ready(1);
  EXPECT_EQ(poll(Instant{}), 1U);
  EXPECT_EQ(poll(Instant{}), 0U);
  reactor_.make_ready(1);
  reactor_.unwatch(1);
  EXPECT_EQ(poll(Instant{}), 0U);
}

TEST_F(SimReactorTest, AnInterruptEndsTheNextWaitWithoutMovingTheClock) {
  const Instant start = clock_.now();
  reactor_.interrupt();
  poll(Instant{});
  poll(start + 1s);
  EXPECT_EQ(clock_.now(), start);
  poll(start + 1s);
  EXPECT_EQ(clock_.now(), start + 1s);
}

TEST_F(SimReactorTest, WallTimeCanBeSetAndThenRunsOnWithTheClock) {
  clock_.set_wall(WallTime::from_nanoseconds(5));
  clock_.advance(3ns);
  EXPECT_EQ(clock_.wall_now().nanoseconds(), 8);
}

}  // namespace
}  // namespace rondo
