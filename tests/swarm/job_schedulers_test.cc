// The lives of several schedulers: what they come to, and that a server that is broken is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "schedulers_life.h"

namespace rondo::swarm {
namespace {

constexpr std::uint64_t kTurns = 2000;

TEST(SchedulersLife, JobsChangeHandsAndWhoLosesThemFindsOut) {
  std::size_t takeovers = 0;
  std::uint64_t lost = 0;
  std::uint64_t again = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SchedulersLife life(seed);
    live(life, kTurns);
    ASSERT_FALSE(life.world().violation()) << life.world().report();
    takeovers += life.takeovers();
    lost += life.lost();
    again += life.calls_again();
  }
  EXPECT_GT(takeovers, 100U) << "the owner does not change";
  EXPECT_GT(lost, 10U) << "no scheduler meets a takeover";
  EXPECT_GT(again, 10U) << "no attempt was begun by two processes";
}

TEST(SchedulersLife, AServerThatIsBrokenIsNoticed) {
  const auto found = [](SimDatabase::Broken broken) {
    std::string what;
    for (std::uint64_t seed = 1; seed <= 40 && what.empty(); ++seed) {
      SchedulersLife life(seed, broken);
      live(life, kTurns);
      if (life.world().violation()) what = *life.world().violation();
    }
    return what;
  };
  const auto begins = testing::HasSubstr("is begun by a scheduler that does not own the jobs");
  EXPECT_THAT(found(SimDatabase::Broken::ForgetsOwners), begins);
  EXPECT_THAT(found(SimDatabase::Broken::FencesNothing),
              testing::AnyOf(begins, testing::HasSubstr("writes to jobs or runs that another one has taken")));
  EXPECT_THAT(found(SimDatabase::Broken::LosesCommits),
              testing::AnyOf(begins, testing::HasSubstr("its row has the state and the attempt")));
}

}  // namespace
}  // namespace rondo::swarm
