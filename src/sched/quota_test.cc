// Overdrawn quotas: the excess is subtracted from the next quota, in measured time and in items, and the bound counts it. Simulated time:
// an item takes as long as its source specifies.
#include <gtest/gtest.h>

#include <string>

#include "sched/wait_bound.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

/// Always busy; a turn has a fixed number of items, whatever its budget, and takes 'cost' an item.
class Flood final : public Source {
 public:
  Flood(test::Simulation& simulation, std::string name, unsigned priority, Duration cost, std::uint32_t items = 1)
      : Source(std::move(name), Priority{priority}), simulation_(simulation), cost_(cost), items_(items) {
    simulation.scheduler.add(*this);
    wake();
  }
  Turn run(const Budget&) override {
    simulation_.order.append(name());
    simulation_.world.clock().advance(cost_ * items_);
    return {.items = items_, .backlog = Backlog::More};
  }

 private:
  test::Simulation& simulation_;
  const Duration cost_;
  const std::uint32_t items_;
};

QuotedRoundRobin microseconds(std::uint32_t quota) { return {.quota = quota, .unit = QuotaUnit::Microseconds}; }

// a owes 25 us after its turn. Three quotas of 10 pay the debt; with the third it has 5 left, and after the next turn it owes 30. A
// balance of zero gives no turn, so that debt takes four quotas.
TEST(Quota, TimeBeyondAQuotaIsTakenOffTheNextOnes) {
  test::Simulation simulation(microseconds(10));
  Flood a(simulation, "a", 7, 35us);
  Flood b(simulation, "b", 0, 5us);
  simulation.scheduler.run_until_idle(17);
  EXPECT_EQ(simulation.order, "abbbbbbabbbbbbbba");
}

TEST(Quota, ByTimePrioritiesShareItEquallyHoweverLongTheirItemsAre) {
  test::Simulation simulation(microseconds(100));
  Flood dear(simulation, "d", 7, 370us);
  Flood middle(simulation, "m", 4, 70us);
  Flood cheap(simulation, "c", 0, 3us);
  const Instant begin = simulation.scheduler.clock().now();
  simulation.scheduler.run_until_idle(100'000);
  const auto whole = static_cast<double>((simulation.scheduler.clock().now() - begin).count());
  for (const Source* source :
       {static_cast<const Source*>(&dear), static_cast<const Source*>(&middle), static_cast<const Source*>(&cheap)}) {
    EXPECT_NEAR(static_cast<double>(source->stats().ran.count()) / whole, 1.0 / 3, 0.005) << source->name();
    EXPECT_LE(source->stats().longest_wait, simulation.scheduler.bound(*source)) << source->name();
  }
  // The expensive source waits as many cycles as its debt has quotas: the bound is not much larger than the real wait.
  EXPECT_GT(dear.stats().longest_wait, simulation.scheduler.bound(dear) / 2);
}

// A source that handles more items than its turn allows: a debt of three, paid by the next quota of two and the one after it.
TEST(Quota, ItemsBeyondAQuotaAreTakenOffTheNextOnesAndTheBoundCountsThem) {
  test::Simulation simulation(QuotedRoundRobin{.quota = 2});
  Flood a(simulation, "a", 7, 1us, 5);
  Flood b(simulation, "b", 0, 1us);
  simulation.scheduler.run_until_idle(12);
  EXPECT_EQ(simulation.order, "abbbbabbbbbb");
  EXPECT_EQ(simulation.scheduler.policy().uses()[7].overdraft, 4);
  EXPECT_EQ(simulation.scheduler.policy().uses()[0].overdraft, 0);
  simulation.scheduler.run_until_idle(1000);
  for (const Source* source : {static_cast<const Source*>(&a), static_cast<const Source*>(&b)}) {
    EXPECT_LE(source->stats().longest_wait, simulation.scheduler.bound(*source)) << source->name();
    EXPECT_GT(source->stats().longest_wait, Duration{0});
  }
  EXPECT_NEAR(static_cast<double>(a.stats().items) / static_cast<double>(b.stats().items), 1, 0.02) << "quotas are equal in the long run";
}

}  // namespace
}  // namespace rondo
