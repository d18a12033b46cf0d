// Resources: the thresholds of the use of the data plane, and when a warning begins and ends.

#include "switch_agent/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rondo::switch_agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ResourcesTest : public ::testing::Test {
 protected:
  std::vector<std::string> look(std::uint64_t routes, std::uint64_t neighbors = 0) {
    counts = {routes, 0, 0, neighbors};
    changes.clear();
    resources.look();
    return changes;
  }
  Resources::Counts counts{};
  std::vector<std::string> changes;
  Resources resources{{.limits = {1000, 0, 0, 10}, .high_percent = 90, .low_percent = 60},
                      [this] { return counts; },
                      [this](const Resources::Use& use) {
                        changes.push_back(std::string{use.name} + " " + std::to_string(use.percent()) + (use.is_high ? " high" : " low"));
                      }};
};

TEST_F(ResourcesTest, AUseWarnsAtTheHighThresholdAndEndsBelowTheLowOne) {
  EXPECT_THAT(look(899), IsEmpty());
  EXPECT_THAT(look(900), ElementsAre("routes 90 high"));
  EXPECT_THAT(look(950), IsEmpty()) << "it has warned";
  EXPECT_THAT(look(600), IsEmpty()) << "near the threshold it does not warn again and again";
  EXPECT_THAT(look(599), ElementsAre("routes 59 low"));
  EXPECT_THAT(look(899), IsEmpty());
}

TEST_F(ResourcesTest, EachResourceHasItsOwnThreshold) {
  EXPECT_THAT(look(1000, 10), ElementsAre("routes 100 high", "neighbors 100 high"));
  EXPECT_THAT(look(1000, 0), ElementsAre("neighbors 0 low"));
  EXPECT_EQ(resources.uses()[0].used, 1000U);
  EXPECT_TRUE(resources.uses()[0].is_high);
}

TEST_F(ResourcesTest, AResourceWithoutALimitIsCountedAndDoesNotWarn) {
  counts = {0, 1'000'000, UINT64_MAX, 0};
  resources.look();
  EXPECT_THAT(changes, IsEmpty());
  EXPECT_EQ(resources.uses()[1].used, 1'000'000U);
  EXPECT_EQ(resources.uses()[1].percent(), 0U);
}

TEST_F(ResourcesTest, AUseBeyondTheLimitHasMoreThanAHundredPercent) { EXPECT_THAT(look(2500), ElementsAre("routes 250 high")); }

}  // namespace
}  // namespace rondo::switch_agent
