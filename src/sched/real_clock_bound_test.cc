// The bound of budgeted frames on the real clock and a real reactor. The bound uses the measured turns, which include delays by the
// machine itself, so it must hold on any machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "rondo/sched/reactor.h"
#include "rondo/sched/scheduler.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

constexpr Duration kHandler = 50us;
constexpr Duration kRun = 400ms;
constexpr int kRunsMost = 100;
constexpr unsigned kFlooded = 8;  // Priorities.

/// Always busy on the processor.
class RealFlood final : public Source {
 public:
  RealFlood(Scheduler& scheduler, unsigned priority, unsigned number)
      : Source("p" + std::to_string(priority) + " " + std::to_string(number), Priority{priority}), scheduler_(scheduler) {
    scheduler.add(*this);
    wake();
  }
  Turn run(const Budget& budget) override {
    Turn turn{.items = 0, .backlog = Backlog::More};
    do {
      const Instant end = scheduler_.clock().now() + kHandler;
      while (scheduler_.clock().now() < end) {
      }
    } while (!turn_is_over(budget, ++turn.items));
    return turn;
  }

 private:
  Scheduler& scheduler_;
};

class RealClockBoundTest : public testing::TestWithParam<unsigned> {};

TEST_P(RealClockBoundTest, NobodyWaitsLongerThanTheBoundUnderAFloodOfAllPriorities) {
  const SystemClock clock;
  const std::unique_ptr<Reactor> reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(clock, *reactor, test::policy(BudgetedFrames{}));
  std::vector<std::unique_ptr<RealFlood>> floods;
  for (unsigned priority = 0; priority < kFlooded; ++priority) {
    for (unsigned number = 0; number < GetParam(); ++number) floods.push_back(std::make_unique<RealFlood>(scheduler, priority, number));
  }
  // However small our share of the machine is, each source has one whole wait.
  const auto has_waited = [](const auto& flood) { return flood->stats().turns > 1; };
  int runs = 0;
  do scheduler.run_for(kRun);
  while (++runs < kRunsMost && !std::ranges::all_of(floods, has_waited));
  for (const auto& flood : floods) {
    EXPECT_TRUE(has_waited(flood)) << flood->name();
    EXPECT_LE(flood->stats().longest_wait, scheduler.bound(*flood)) << flood->name();
  }
}

INSTANTIATE_TEST_SUITE_P(SourcesOfAPriority, RealClockBoundTest, testing::Values(1U, 3U), testing::PrintToStringParamName());

}  // namespace
}  // namespace rondo
