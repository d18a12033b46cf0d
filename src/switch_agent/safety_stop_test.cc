// SafetyStop: which deletions it holds, until when, and what an operator's confirmation covers.
#include "switch_agent/safety_stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "rondo/sched/sim_clock.h"

namespace rondo::switch_agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Event = SafetyStop::Event;

class Safety : public testing::Test {
 protected:
  SafetyStop stop(Duration wait = Duration{0}) {
    SafetyStop made{clock, {.share = 0.2, .least = 100, .wait = wait}};
    made.on_event([this](Event event, const SafetyStop::Held&) { events.push_back(event); });
    return made;
  }
  SimClock clock;
  std::vector<Event> events;
};

TEST_F(Safety, HoldsMoreThanTheShareUnlessThatIsFew) {
  SafetyStop safety = stop();
  EXPECT_TRUE(safety.allows("a", 99, 99)) << "fewer than the least";
  EXPECT_TRUE(safety.allows("a", 200, 1000)) << "the share itself";
  EXPECT_THAT(safety.held(), IsEmpty());
  EXPECT_FALSE(safety.allows("a", 201, 1000, "201 routes"));
  EXPECT_FALSE(safety.allows("a", 300, 1000, "300 routes"));
  ASSERT_THAT(safety.held(), SizeIs(1));
  EXPECT_EQ(safety.held()[0].count, 300U);
  EXPECT_EQ(safety.held()[0].total, 1000U);
  EXPECT_EQ(safety.held()[0].parts, "300 routes");
  EXPECT_THAT(events, ElementsAre(Event::Held)) << "told once";
  EXPECT_TRUE(safety.allows("b", 10, 1000)) << "each name by itself";
  EXPECT_TRUE(safety.allows("a", 150, 1000));
  EXPECT_THAT(events, ElementsAre(Event::Held, Event::Fewer));
  EXPECT_THAT(safety.held(), IsEmpty());
}

TEST_F(Safety, AConfirmationIsForWhatWasShownAndForOneDeletion) {
  SafetyStop safety = stop();
  EXPECT_THAT(safety.confirm(), IsEmpty());
  EXPECT_FALSE(safety.allows("a", 500, 1000));
  EXPECT_THAT(safety.confirm(), SizeIs(1));
  EXPECT_THAT(safety.confirm(), IsEmpty());
  EXPECT_FALSE(safety.allows("a", 501, 1000)) << "more than was shown";
  EXPECT_THAT(safety.held(), SizeIs(1));
  EXPECT_THAT(safety.confirm(), SizeIs(1));
  EXPECT_TRUE(safety.allows("a", 501, 1000));
  EXPECT_FALSE(safety.allows("a", 501, 1000)) << "the next one";
  EXPECT_THAT(events, ElementsAre(Event::Held, Event::Confirmed, Event::Held, Event::Confirmed, Event::Held));
}

TEST_F(Safety, WhatIsHeldGoesOnAfterItsTime) {
  SafetyStop safety = stop(10s);
  EXPECT_FALSE(safety.allows("a", 500, 1000));
  clock.advance(9s);
  EXPECT_FALSE(safety.allows("a", 500, 1000));
  clock.advance(1s);
  EXPECT_TRUE(safety.allows("a", 500, 1000));
  EXPECT_THAT(events, ElementsAre(Event::Held, Event::TimeIsOver));
}

TEST_F(Safety, WithoutATimeItIsHeldUntilItIsConfirmed) {
  SafetyStop safety = stop();
  EXPECT_FALSE(safety.allows("a", 500, 1000));
  clock.advance(Duration{std::chrono::hours{24 * 365}});
  EXPECT_FALSE(safety.allows("a", 500, 1000));
}

TEST_F(Safety, AShareOfOneHoldsNothing) {
  SafetyStop safety{clock, {}};
  EXPECT_TRUE(safety.allows("a", 1'000'000, 1'000'000));
}

}  // namespace
}  // namespace rondo::switch_agent
