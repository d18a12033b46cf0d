// The end of a worker at every point of its life: rows in transit, parked on facts and on time, retried, a ring that is full, a handler
// that runs or waits for the home thread. The end takes less than a second and leaves no thread running. The test reads a clock, because
// that second is the documented bound (docs/hacking.md).
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/sanitized.h"
#include "orch/runtime_fixture.h"
#include "rondo/orch/priority_workers.h"
#include "rondo/sched/timer.h"

namespace rondo {
namespace {

constexpr Duration kEnds = plain_or_sanitized(1s, 10s);

Outcome done(std::string_view) { return Outcome::done(); }

/// Routes of a worker: a third is done, a third waits for facts that may or may not come, a third for a time. Each writes its state at
/// home.
class Routes final : public Orch {
 public:
  Routes(Runtime& runtime, Priority priority, std::function<void()> at_row, std::shared_ptr<int> token)
      : Orch(runtime, "routes" + std::to_string(priority.level()), priority),
        at_row_(std::move(at_row)),
        token_(std::move(token)),
        timer_("tick", priority, [] {}) {
    consume("ROUTE" + std::to_string(priority.level()), this, &Routes::set, &Routes::remove);
    runtime.scheduler().add(timer_);
    timer_.arm_every(1ms, runtime.scheduler().now());
  }

 private:
  Outcome set(std::string_view key, const Fields&) {
    at_row_();
    const int number = std::stoi(std::string{key});
    static_cast<void>(runtime().table("STATE").set(key, {{"seen", "1"}}));  // The ring to home may be full.
    if (number % 3 == 1) return Outcome::wait_for({kGroup, std::to_string(number % 10)});
    if (number % 3 == 2)
      return Outcome::retry_after(number % 2 == 0 ? Duration{1ms} : Duration{1000s}, Status{StatusCode::Unavailable, "late"});
    return Outcome::done();
  }
  Outcome remove(std::string_view) { return Outcome::done(); }
  const std::function<void()> at_row_;
  const std::shared_ptr<int> token_;
  TimerSource timer_;
};

class WorkerShutdown : public testing::Test {
 protected:
  /// Runs a worker until 'row' rows were handled; returns how long the end took.
  Duration end_after(int row) {
    SystemClock clock;
    Runtime home;
    std::atomic<int> handled{0};
    const auto token = std::make_shared<int>(0);
    auto& groups = home.add<OpenOrch>("groups", Priority::p5);
    groups.provide(kGroup, [](std::string_view key) { return key == "1"; });
    groups.consume(
        "STATE", [](std::string_view, const Fields&) { return Outcome::done(); }, done);
    auto workers =
        std::make_unique<PriorityWorkers>(home, [](Priority, WorkerOptions& options) { options.ring_changes = options.requests_max = 4; });
    for (const Priority priority : {Priority::p1, Priority::p6})
      workers->add<Routes>(
          priority, priority, [&] { ++handled; }, token);
    EXPECT_TRUE(workers->start().ok());
    for (int i = 0; i < 100; ++i) {
      for (const char* const table : {"ROUTE1", "ROUTE6"}) EXPECT_TRUE(home.table(table).set(std::to_string(i), {{"a", "1"}}).ok());
    }
    const Instant deadline = clock.now() + 60s;
    while (handled.load() < row && clock.now() < deadline) {
      if (!home.scheduler().turn()) home.scheduler().wait(clock.now() + 1ms);
    }
    EXPECT_GE(handled.load(), row);
    const Instant begin = clock.now();
    workers->stop();
    workers.reset();
    const Duration took = clock.now() - begin;
    EXPECT_EQ(token.use_count(), 1) << "an Orch is left";
    return took;
  }
};

TEST_F(WorkerShutdown, AfterAnyRowWorkersEndWithinASecondAndLeaveNothing) {
  Duration longest{0};
  for (int row = 0; row <= 150; row += 3) {
    SCOPED_TRACE("after row " + std::to_string(row));
    const Duration took = end_after(row);
    EXPECT_LT(took, kEnds);
    longest = std::max(longest, took);
  }
  RecordProperty("longest_end_us", std::to_string(longest / 1us));
}

/// The home runtime runs no turns any more: a caller that waits for its answer gets it from the thread that waits for the worker's end.
TEST_F(WorkerShutdown, WhileTheWorkerWaitsForHomeItEndsWithinASecond) {
  for (int round = 0; round < 20; ++round) {
    SystemClock clock;
    Runtime home;
    std::latch asks(1);
    bool answered = false;
    Worker worker(home, {.name = "asks"});
    worker.add<OpenOrch>("asks").consume(
        "ROUTE",
        [&](std::string_view, const Fields&) {
          asks.count_down();
          answered = !worker.runtime().store().tables().empty();  // Only home knows the tables.
          return Outcome::done();
        },
        done);
    ASSERT_TRUE(worker.start().ok());
    ASSERT_TRUE(home.table("ROUTE").set("1", {}).ok());
    home.run_until_idle();
    asks.wait();
    const Instant begin = clock.now();
    worker.stop();
    EXPECT_LT(clock.now() - begin, kEnds);
    EXPECT_TRUE(answered);
  }
}

}  // namespace
}  // namespace rondo
