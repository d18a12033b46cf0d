// Goal: operations of a lane stay in order, lanes share the target by their numbers, bounds hold, every operation is answered once, and
// the end follows its options. Method: a target that records, can block and throws; both modes where the rule does not depend on one. The
// Programmer's test covers one thread with two lanes (src/dataplane/programmer_test.cc).
#include "rondo/sched/executor.h"
#include "sched/executor_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "sched/executor_lanes.h"
#include "sched/limits.h"

namespace rondo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

struct Call {
  int id = 0;
  std::string result = {};
  Status status = {};
};

std::vector<Call> calls(int first, int count) {
  std::vector<Call> made;
  for (int i = 0; i < count; ++i) made.push_back({.id = first + i});
  return made;
}

/// Records its operations; blocks while it is held; ids below zero fail; 13 throws.
class Target {
 public:
  void apply(std::span<Call> operations) {
    std::unique_lock lock(mutex_);
    ++inside_;
    most_inside_ = std::max(most_inside_, inside_);
    threads_.insert(std::this_thread::get_id());
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --inside_;
    batches_.emplace_back();
    for (Call& call : operations) {
      if (call.id == 13) throw std::runtime_error("unlucky");
      if (call.id == 14) throw 14;
      batches_.back().push_back(call.id);
      call.result = "r" + std::to_string(call.id);
      if (call.id < 0) call.status = {StatusCode::NotFound, "no such backend"};
    }
  }
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_until_inside(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == count; });
  }
  std::vector<std::vector<int>> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  int most_inside() const {
    const std::lock_guard lock(mutex_);
    return most_inside_;
  }
  std::size_t threads() const {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int inside_ = 0;
  int most_inside_ = 0;
  std::set<std::thread::id> threads_;
  std::vector<std::vector<int>> batches_;
};

class ExecutorTest : public ::testing::TestWithParam<bool> {
 protected:
  void make(ExecutorOptions options = {}) {
    options.in_line = GetParam();
    executor_.emplace(
        scheduler_, [this](std::span<Call> operations) { target_.apply(operations); }, std::move(options));
  }
  auto collect() {
    return [this](std::span<Call> operations) {
      for (Call& call : operations) answered_.push_back(std::move(call));
    };
  }
  void run_until_answered(std::size_t count) {
    const Instant deadline = clock_.now() + 60s;
    for (scheduler_.run_until_idle(); answered_.size() < count && clock_.now() < deadline; scheduler_.run_until_idle()) {
      scheduler_.wait(deadline);
    }
    ASSERT_THAT(answered_, SizeIs(count));
  }
  std::vector<int> answered_ids() const {
    std::vector<int> ids;
    for (const Call& call : answered_) ids.push_back(call.id);
    return ids;
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, make_policy(StrictPriority{}).value()};
  Target target_;
  std::optional<Executor<Call>> executor_;
  std::vector<Call> answered_;
};

TEST_P(ExecutorTest, AnOperationComesBackOnceInItsOrderWithResultAndStatus) {
  make();
  executor_->submit(0, calls(-1, 3), collect());
  executor_->submit(0, calls(20, 600), collect());
  run_until_answered(603);
  for (std::size_t i = 0; i < answered_.size(); ++i) {
    const Call& call = answered_[i];
    EXPECT_EQ(call.id, i < 3 ? static_cast<int>(i) - 1 : static_cast<int>(i) + 17);
    EXPECT_EQ(call.result, "r" + std::to_string(call.id));
    EXPECT_EQ(call.status.code(), call.id < 0 ? StatusCode::NotFound : StatusCode::Ok);
  }
  EXPECT_EQ(executor_->stats().submitted, 603U);
  EXPECT_EQ(executor_->stats().applied, 603U);
  EXPECT_EQ(executor_->stats().failed, 1U);
  EXPECT_EQ(executor_->stats().latency_ns.count(), 2U);
  EXPECT_EQ(executor_->in_flight(), 0U);
}

TEST_P(ExecutorTest, ABatchIsNotLargerThanItsOption) {
  make({.batch_max = 10});
  executor_->submit(0, calls(20, 95), collect());
  run_until_answered(95);
  std::vector<std::size_t> sizes;
  for (const auto& batch : target_.batches()) sizes.push_back(batch.size());
  EXPECT_THAT(sizes, Each(Le(10U)));
  EXPECT_EQ(executor_->stats().full_batches, static_cast<std::uint64_t>(std::ranges::count(sizes, 10U)));
}

TEST_P(ExecutorTest, ABatchWithoutAnOptionIsNotLargerThanTheLimit) {
  make();
  executor_->submit(0, calls(20, 2000), collect());
  run_until_answered(2000);
  for (const auto& batch : target_.batches()) EXPECT_LE(batch.size(), limits::kExecutorBatch);
}

TEST_P(ExecutorTest, WhatApplyThrowsFailsTheOperationsThatWereNotRefusedByThen) {
  make({.target = "the balancer"});
  executor_->submit(0, calls(-1, 1), collect());
  run_until_answered(1);
  executor_->submit(0, calls(12, 2), collect());
  run_until_answered(3);
  executor_->submit(0, calls(14, 1), collect());
  run_until_answered(4);
  EXPECT_EQ(answered_[0].status.code(), StatusCode::NotFound);
  EXPECT_EQ(answered_[1].status.to_string(), "internal: the balancer threw: unlucky");
  EXPECT_EQ(answered_[2].status.to_string(), "internal: the balancer threw: unlucky");
  EXPECT_EQ(answered_[3].status.to_string(), "internal: the balancer threw: something that is no std::exception");
  executor_->submit(0, calls(20, 1), collect());
  run_until_answered(5);
  EXPECT_TRUE(answered_[4].status.ok());
}

TEST_P(ExecutorTest, TheRoomEndsAtItsOptionAndItsReturnIsTold) {
  make({.operations_max = 10});
  int told = 0;
  executor_->on_room([&] { ++told; });
  executor_->submit(0, calls(20, 9), collect());
  EXPECT_TRUE(executor_->has_room());
  executor_->submit(0, calls(30, 1), collect());
  EXPECT_FALSE(executor_->has_room());
  run_until_answered(10);
  EXPECT_TRUE(executor_->has_room());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(executor_->stats().full, 1U);
}

TEST_P(ExecutorTest, TheRoomWithoutAnOptionIsThatOfTheLimit) {
  make();
  executor_->submit(0, calls(20, limits::kExecutorOperations - 1), collect());
  EXPECT_TRUE(executor_->has_room());
  executor_->submit(0, calls(20, 1), collect());
  EXPECT_FALSE(executor_->has_room());
  run_until_answered(limits::kExecutorOperations);
}

TEST_P(ExecutorTest, TheEndAppliesWhatWasSubmittedOrDropsIt) {
  for (const ExecutorEnd end : {ExecutorEnd::Apply, ExecutorEnd::Drop}) {
    Target target;
    {
      Executor<Call> executor(scheduler_, [&](std::span<Call> operations) { target.apply(operations); },
                              {.in_line = GetParam(), .at_end = end});
      executor.submit(0, calls(20, 1000), collect());
    }
    std::size_t applied = 0;
    for (const auto& batch : target.batches()) applied += batch.size();
    EXPECT_EQ(applied, end == ExecutorEnd::Apply ? 1000U : 0U);
  }
  scheduler_.run_until_idle();
  EXPECT_THAT(answered_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, ExecutorTest, ::testing::Bool(), [](const auto& mode) { return mode.param ? "Inline" : "Thread"; });

class ThreadExecutor : public ExecutorTest {};

TEST_P(ThreadExecutor, TheEndDropsWhatLiesReadyAndWaitsForWhatRuns) {
  make({.lanes = {1, 1}, .batch_max = 2, .at_end = ExecutorEnd::Drop});
  target_.hold(true);
  executor_->submit(0, calls(20, 40), collect());
  executor_->submit(1, calls(100, 40), collect());
  scheduler_.run_until_idle();
  target_.wait_until_inside(1);
  {
    const std::jthread releases([this] { target_.hold(false); });
    executor_.reset();
  }
  const auto batches = target_.batches();
  ASSERT_THAT(batches, SizeIs(Ge(1U)));
  EXPECT_THAT(batches, SizeIs(Le(1U + 2 * limits::kExecutorBatches))) << "what was not handed to the thread is dropped";
  EXPECT_THAT(batches.front(), ElementsAre(20, 21));
}

TEST_P(ThreadExecutor, SeveralThreadsApplySideBySideAndEachOperationIsAnsweredOnce) {
  make({.threads = 3, .batch_max = 1});
  target_.hold(true);
  executor_->submit(0, calls(100, 200), collect());
  scheduler_.run_until_idle();
  target_.wait_until_inside(3);
  target_.hold(false);
  run_until_answered(200);
  EXPECT_EQ(target_.most_inside(), 3);
  EXPECT_EQ(target_.threads(), 3U);
  std::vector<int> ids = answered_ids();
  std::ranges::sort(ids);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(ids[static_cast<std::size_t>(i)], 100 + i);
}

TEST_P(ThreadExecutor, AnOperationDoesNotWaitBehindALongOneWhileAThreadIsFree) {
  std::mutex long_one;
  long_one.lock();
  Executor<Call> executor(scheduler_,
                          [&](std::span<Call> operations) {
                            if (operations[0].id == 20) {
                              const std::lock_guard wait(long_one);
                            }
                          },
                          {.threads = 2, .batch_max = 1});
  executor.submit(0, calls(20, 10), collect());
  run_until_answered(9);
  EXPECT_THAT(answered_ids(), Each(::testing::Ne(20)));
  long_one.unlock();
  run_until_answered(10);
}

INSTANTIATE_TEST_SUITE_P(All, ThreadExecutor, ::testing::Values(false), [](const auto&) { return "Thread"; });

// --- The choice of the next lane

std::string order(executor::LaneChoice& choice, std::vector<int> waiting, int times) {
  std::string lanes;
  for (int i = 0; i < times; ++i) {
    const auto lane = choice.next([&](std::size_t of) { return waiting[of] > 0; });
    if (!lane) break;
    --waiting[*lane];
    lanes += std::to_string(*lane);
  }
  return lanes;
}

TEST(ExecutorLanes, EachHasItsNumberOfBatchesInARoundTheMostUrgentFirst) {
  executor::LaneChoice choice({2, 1, 1});
  EXPECT_EQ(order(choice, {9, 9, 9}, 12), "001200120012");
}

TEST(ExecutorLanes, ALaneThatWaitsAloneHasAllAndIsOvertakenByAMoreUrgentOne) {
  executor::LaneChoice choice({1, 1});
  EXPECT_EQ(order(choice, {0, 5}, 5), "11111");
  EXPECT_EQ(order(choice, {3, 3}, 6), "010101");
}

TEST(ExecutorLanes, NothingThatWaitsChangesNothing) {
  executor::LaneChoice choice({1, 1});
  EXPECT_EQ(order(choice, {1, 0}, 1), "0");
  EXPECT_EQ(order(choice, {0, 0}, 1), "");
  EXPECT_EQ(order(choice, {1, 1}, 2), "10") << "the lane that was served last comes second";
}

TEST(ExecutorLanes, NoLaneStarvesWhileTheOthersAlwaysWait) {
  executor::LaneChoice choice({3, 2, 1});
  const std::string lanes = order(choice, {1000, 1000, 1000}, 600);
  EXPECT_EQ(std::ranges::count(lanes, '2'), 100);
  EXPECT_EQ(std::ranges::count(lanes, '0'), 300);
}

TEST(ExecutorDeathTest, OptionsThatCannotBeAreProgramErrors) {
  SystemClock clock;
  std::unique_ptr<Reactor> reactor = make_epoll_reactor().value();
  Scheduler scheduler(clock, *reactor, make_policy(StrictPriority{}).value());
  const auto made = [&](ExecutorOptions options) {
    Executor<Call> executor(
        scheduler, [](std::span<Call>) {}, std::move(options));
  };
  EXPECT_DEATH(made({.threads = limits::kExecutorThreads + 1}), "'executor' was called with 65 threads, and 1 to 64 are possible");
  EXPECT_DEATH(made({.lanes = std::vector<unsigned>(limits::kExecutorLanes + 1, 1U)}), "with 17 lanes");
  Executor<Call> executor(scheduler, [](std::span<Call>) {}, {.in_line = true});
  EXPECT_DEATH(executor.submit(1, calls(1, 1), {}), "to submit to lane 1 of 1");
  EXPECT_DEATH(std::jthread([&] { executor.submit(0, calls(1, 1), {}); }).join(), "use Runtime::post");
  EXPECT_DEATH(made({.lanes = {1, 0}}), "0 batches in a row");
}

// --- Status in a journal's bytes

TEST(ExecutorStatus, IsReadAsItWasWritten) {
  for (const Status& status : {Status{}, Status{StatusCode::NotFound, "no such backend", 2}, Status{StatusCode::Internal, ""}}) {
    std::string bytes;
    executor::append_status(status, bytes);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      std::string_view part = std::string_view{bytes}.substr(0, cut);
      Status read;
      EXPECT_FALSE(executor::take_status(part, read)) << cut;
    }
    bytes += "rest";
    std::string_view from = bytes;
    Status read;
    ASSERT_TRUE(executor::take_status(from, read));
    EXPECT_EQ(from, "rest");
    EXPECT_EQ(read.to_string(), status.to_string());
    EXPECT_EQ(read.origin_errno(), status.origin_errno());
  }
}

}  // namespace
}  // namespace rondo
