// ConsumeOptions::weight: consumers of one priority share its time by weight under Tie::ConsumedTime, and the weight's rules hold for them
// as for any source. Simulated time: a row takes as long as its handler specifies.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "orch/consumer.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"

namespace rondo {
namespace {

/// A consumer of 'table' with more rows than the test handles; each takes 'cost'.
struct Load {
  Load(Runtime& runtime, sim::World& world, const std::string& table, Duration cost, std::uint32_t weight)
      : orch(runtime.add<OpenOrch>(table + "-orch")),
        consumer(orch.consume(
            table,
            [&world, cost](std::string_view, const Fields&) {
              world.clock().advance(cost);
              return Outcome::done();
            },
            [](std::string_view) { return Outcome::done(); }, {.weight = weight})) {
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(runtime.table(table).set(std::to_string(i), {{"f", "1"}}).ok());
  }
  OpenOrch& orch;
  Consumer& consumer;
};

/// Returns the first consumer's part of the time of both.
double share_under(Tie tie, Duration light_cost) {
  sim::World world{1};
  RuntimeOptions options;
  options.policy = BudgetedFrames{.tie = tie};
  options.clock = &world.clock();
  options.reactor = &world.reactor();
  Runtime runtime(std::move(options));
  const Load heavy(runtime, world, "HEAVY", 10us, 3);
  const Load light(runtime, world, "LIGHT", light_cost, 1);
  EXPECT_EQ(heavy.consumer.weight(), 3U);
  EXPECT_EQ(light.consumer.weight(), 1U);
  const Instant end = world.now() + 60ms;
  while (world.now() < end && runtime.scheduler().turn()) {
  }
  EXPECT_GT(heavy.consumer.depth(), 0U);
  EXPECT_GT(light.consumer.depth(), 0U);
  const Duration both = heavy.consumer.Source::stats().ran + light.consumer.Source::stats().ran;
  return static_cast<double>(heavy.consumer.Source::stats().ran.count()) / static_cast<double>(both.count());
}

TEST(ConsumerWeight, ConsumersOfOnePriorityShareItsTimeByTheirWeight) { EXPECT_NEAR(share_under(Tie::ConsumedTime, 30us), 0.75, 0.03); }

TEST(ConsumerWeight, SaysNothingWhereTheTieIsNotByConsumedTime) { EXPECT_NEAR(share_under(Tie::LeastRecentlyServed, 10us), 0.5, 0.03); }

TEST(ConsumerWeightDeathTest, BeyondTheMostIsAProgramError) {
  Runtime runtime;
  OpenOrch& orch = runtime.add<OpenOrch>();
  const auto consume = [&](std::uint32_t weight) {
    orch.consume(
        "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); },
        {.weight = weight});
  };
  EXPECT_DEATH(consume(0), "");
  EXPECT_DEATH(consume(limits::kWeightMost + 1), "");
}

}  // namespace
}  // namespace rondo
