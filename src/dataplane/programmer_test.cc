// Goal: orders of a lane stay in order; Urgent overtakes Bulk between two batches; every order is answered once with its own status; and
// shutdown loses no order. Method: a data plane that records and can be held; both modes where the rule does not depend on one.
#include "dataplane/programmer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/base/thread_settings.h"
#include "rondo/dataplane/limits.h"
#include "rondo/sched/scheduler.h"
#include "sched/limits.h"

namespace rondo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Le;

// Records the ids of the next hops that it is ordered to delete, one list per batch. Odd ids fail. apply() waits while the plane is held.
class RecordingPlane final : public DataPlane {
 public:
  void apply(std::span<Operation> ops) override {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (std::exchange(throws_, false)) throw std::runtime_error("out of order");
    batches_.emplace_back();
    cpus_.push_back(static_cast<unsigned>(::sched_getcpu()));
    for (Operation& op : ops) {
      const std::uint32_t id = std::get<NexthopDelete>(op.order).id.value();
      batches_.back().push_back(id);
      if (id % 2 == 1) op.status = Status{StatusCode::NotFound, std::to_string(id)};
    }
  }
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void throw_once() {
    const std::lock_guard lock(mutex_);
    throws_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  void wait_until_entered(int times) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, times] { return entered_ >= times; });
  }
  std::vector<std::vector<std::uint32_t>> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  // The CPU on which each batch was applied.
  std::vector<unsigned> cpus() const {
    const std::lock_guard lock(mutex_);
    return cpus_;
  }
  Result<std::vector<LinkEvent>> links() override { return failure(StatusCode::Unimplemented, "links"); }
  Result<std::vector<AddressEntry>> addresses() override { return failure(StatusCode::Unimplemented, "addresses"); }
  Result<std::vector<NeighborEntry>> neighbors() override { return failure(StatusCode::Unimplemented, "neighbors"); }
  Result<std::vector<NexthopEntry>> nexthops() override { return failure(StatusCode::Unimplemented, "nexthops"); }
  Status routes(const std::function<void(const RouteEntry&)>&) override { return {StatusCode::Unimplemented, "routes"}; }
  Result<std::unique_ptr<Source>> monitor(Scheduler&, Priority, std::function<void(const LinkEvent&)>) override {
    return failure(StatusCode::Unimplemented, "monitor");
  }
  std::string describe() const override { return "recording"; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool throws_ = false;
  int entered_ = 0;
  std::vector<std::vector<std::uint32_t>> batches_;
  std::vector<unsigned> cpus_;
};

std::vector<Operation> orders(std::uint32_t first, std::uint32_t count) {
  std::vector<Operation> ops;
  for (std::uint32_t i = 0; i < count; ++i) ops.push_back({.order = NexthopDelete{.id = NexthopId{first + i}}});
  return ops;
}

class ProgrammerTest : public ::testing::TestWithParam<bool> {
 protected:
  void make(Programmer::Options options = {}) {
    options.in_line = GetParam();
    programmer_ = std::make_unique<Programmer>(scheduler_, plane_, options);
  }
  Programmer::Done collect() {
    return [this](std::span<Operation> ops) {
      sizes_.push_back(ops.size());
      items_of_turn_[scheduler_.stats().turns] += ops.size();
      for (const Operation& op : ops) {
        const std::uint32_t id = std::get<NexthopDelete>(op.order).id.value();
        answered_.push_back(id);
        EXPECT_EQ(op.status.ok(), id % 2 == 0) << id;
      }
    };
  }
  void run_until_answered(std::size_t count) {
    const Instant deadline = clock_.now() + 60s;
    scheduler_.run_until_idle();
    while (answered_.size() < count && clock_.now() < deadline) {
      scheduler_.wait(deadline);
      scheduler_.run_until_idle();
    }
    ASSERT_EQ(answered_.size(), count);
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, make_policy(StrictPriority{}).value()};
  RecordingPlane plane_;
  std::unique_ptr<Programmer> programmer_;
  std::vector<std::uint32_t> answered_;
  std::vector<std::size_t> sizes_;
  std::map<std::uint64_t, std::size_t> items_of_turn_;
};

TEST_P(ProgrammerTest, EveryOrderIsAnsweredOnceInOrderWithItsOwnStatus) {
  make();
  std::vector<std::uint32_t> expected;
  std::mt19937 random{5};
  std::uint32_t next = 1;
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random() % (i % 10 == 0 ? 1000 : 20));
    for (std::uint32_t k = 0; k < count; ++k) expected.push_back(next + k);
    programmer_->submit(OrderLane::Bulk, orders(next, count), collect());
    next += count;
  }
  EXPECT_EQ(programmer_->in_flight(), expected.size());
  run_until_answered(expected.size());
  EXPECT_EQ(answered_, expected);
  EXPECT_EQ(programmer_->in_flight(), 0U);
  const ProgrammerStats& stats = programmer_->stats();
  EXPECT_EQ(stats.submitted, expected.size());
  EXPECT_EQ(stats.applied, expected.size());
  EXPECT_EQ(stats.failed, (expected.size() + 1) / 2);
  EXPECT_EQ(programmer_->gone_deletes(), stats.failed) << "what is absent already is as good as deleted";
  EXPECT_EQ(programmer_->answered(Programmer::Kind::AppliedDelete), expected.size());
  EXPECT_EQ(programmer_->answered(Programmer::Kind::RefusedDelete) + programmer_->answered(Programmer::Kind::AppliedSet), 0U);
  EXPECT_EQ(stats.latency_ns.count(), 200U);
  EXPECT_EQ(stats.batches, plane_.batches().size());
}

TEST_P(ProgrammerTest, NoBatchAndNoTurnIsLargerThanItsLimit) {
  make();
  programmer_->submit(OrderLane::Bulk, orders(1, 2000), collect());
  run_until_answered(2000);
  std::vector<std::size_t> batch_sizes;
  for (const auto& batch : plane_.batches()) batch_sizes.push_back(batch.size());
  EXPECT_THAT(batch_sizes, Each(Le(limits::kNetlinkBatch)));
  EXPECT_EQ(programmer_->stats().full_batches, static_cast<std::uint64_t>(std::ranges::count(batch_sizes, limits::kNetlinkBatch)));
  for (const auto& [turn, items] : items_of_turn_) EXPECT_LE(items, limits::kBatchItems) << "turn " << turn;
}

TEST_P(ProgrammerTest, AThrowingPlaneIsAFailureOfItsOrdersAndTheNextGoOn) {
  make();
  plane_.throw_once();
  std::vector<Status> statuses;
  programmer_->submit(OrderLane::Bulk, orders(2, 3), [&statuses](std::span<Operation> ops) {
    for (const Operation& op : ops) statuses.push_back(op.status);
  });
  const Instant deadline = clock_.now() + 60s;
  for (scheduler_.run_until_idle(); statuses.size() < 3 && clock_.now() < deadline; scheduler_.run_until_idle()) scheduler_.wait(deadline);
  ASSERT_EQ(statuses.size(), 3U);
  for (const Status& status : statuses) EXPECT_EQ(status.to_string(), "internal: the data plane threw: out of order");
  programmer_->submit(OrderLane::Bulk, orders(2, 1), collect());
  run_until_answered(1);
}

TEST_P(ProgrammerTest, ANullCallbackAndAnEmptySubmissionAreFine) {
  make();
  programmer_->submit(OrderLane::Bulk, {}, collect());
  programmer_->submit(OrderLane::Bulk, orders(2, 1), nullptr);
  programmer_->submit(OrderLane::Urgent, orders(4, 1), collect());
  run_until_answered(1);
  EXPECT_THAT(answered_, ElementsAre(4));
}

TEST_P(ProgrammerTest, TheRoomIsAnnouncedEachTimeItComesBack) {
  make({.ops_max = 100});
  int announced = 0;
  programmer_->on_room([this, &announced] {
    EXPECT_TRUE(programmer_->has_room());
    ++announced;
  });
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(programmer_->has_room());
    programmer_->submit(OrderLane::Bulk, orders(2, 99), collect());
    EXPECT_TRUE(programmer_->has_room());
    programmer_->submit(OrderLane::Bulk, orders(2, 1), collect());
    EXPECT_FALSE(programmer_->has_room());
    run_until_answered(100U * static_cast<std::size_t>(i));
    EXPECT_EQ(announced, i);
  }
  programmer_->submit(OrderLane::Bulk, orders(2, 5), collect());
  run_until_answered(305);
  EXPECT_EQ(announced, 3) << "room was never short";
  EXPECT_EQ(programmer_->stats().full, 3U);
}

TEST_P(ProgrammerTest, TheRoomThatIsNotLimitedByAnOptionIsThatOfTheLimit) {
  make();
  programmer_->submit(OrderLane::Bulk, orders(2, limits::kProgrammerOps - 1), collect());
  EXPECT_TRUE(programmer_->has_room());
  programmer_->submit(OrderLane::Bulk, orders(limits::kProgrammerOps + 2, 1), collect());
  EXPECT_FALSE(programmer_->has_room());
  run_until_answered(limits::kProgrammerOps);
  EXPECT_TRUE(programmer_->has_room());
  EXPECT_EQ(programmer_->stats().full, 1U);
}

TEST_P(ProgrammerTest, AnAnswerMaySubmitAgain) {
  make();
  int left = 50;
  std::function<void(std::span<Operation>)> again = [&](std::span<Operation> ops) {
    collect()(ops);
    if (--left > 0) programmer_->submit(OrderLane::Urgent, orders(2, 1), again);
  };
  programmer_->submit(OrderLane::Urgent, orders(2, 1), again);
  run_until_answered(50);
}

TEST_P(ProgrammerTest, TheEndAppliesWhatWasSubmittedAndAnswersNobody) {
  make();
  programmer_->submit(OrderLane::Bulk, orders(1, 1000), collect());
  programmer_->submit(OrderLane::Urgent, orders(5001, 3), collect());
  programmer_.reset();
  std::size_t applied = 0;
  for (const auto& batch : plane_.batches()) applied += batch.size();
  EXPECT_EQ(applied, 1003U);
  scheduler_.run_until_idle();
  EXPECT_THAT(answered_, IsEmpty());
}

std::string name_of(const ::testing::TestParamInfo<bool>& info) { return info.param ? "Inline" : "Thread"; }
INSTANTIATE_TEST_SUITE_P(All, ProgrammerTest, ::testing::Bool(), name_of);

class ThreadProgrammer : public ProgrammerTest {};

TEST_P(ThreadProgrammer, TheEndAppliesWhatLiesReadyAndWhatWaitsBehindIt) {
  make();
  plane_.hold();
  programmer_->submit(OrderLane::Bulk, orders(10'000, 3000), collect());
  programmer_->submit(OrderLane::Urgent, orders(50'000, 3000), collect());
  scheduler_.run_until_idle();
  plane_.wait_until_entered(1);  // One batch is in the plane, some are ready, and the rest is in the lanes.
  {
    const std::jthread releases([this] { plane_.release(); });
    programmer_.reset();
  }
  std::map<bool, std::vector<std::uint32_t>> applied;  // By lane.
  for (const auto& batch : plane_.batches()) {
    for (const std::uint32_t id : batch) applied[id >= 50'000].push_back(id);
  }
  for (const auto& [urgent, ids] : applied) {
    ASSERT_EQ(ids.size(), 3000U);
    for (std::uint32_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], (urgent ? 50'000U : 10'000U) + i);
  }
  EXPECT_EQ(applied.size(), 2U);
}

TEST_P(ThreadProgrammer, UrgentOvertakesBulkBetweenTwoBatchesAndSmallSubmissionsShareOne) {
  make();
  plane_.hold();
  programmer_->submit(OrderLane::Bulk, orders(1000, 600), collect());
  scheduler_.run_until_idle();
  plane_.wait_until_entered(1);  // The first batch of 256 is in the kernel.
  for (std::uint32_t i = 0; i < 10; ++i) programmer_->submit(OrderLane::Urgent, orders(2 * i, 2), collect());
  scheduler_.run_until_idle();
  plane_.release();
  run_until_answered(620);
  const auto batches = plane_.batches();
  ASSERT_EQ(batches.size(), 4U);
  EXPECT_EQ(batches[0].front(), 1000U);
  EXPECT_EQ(batches[0].size(), 256U);
  EXPECT_EQ(batches[1].front(), 0U) << "the urgent ones come second";
  EXPECT_EQ(batches[1].size(), 20U) << "in one batch";
  EXPECT_EQ(batches[2].front(), 1256U);
  EXPECT_EQ(batches[3].back(), 1599U);
}

TEST_P(ThreadProgrammer, WhatOneTurnSubmitsSharesABatch) {
  make();
  for (std::uint32_t i = 0; i < 64; ++i) programmer_->submit(OrderLane::Urgent, orders(2 * i, 1), collect());
  run_until_answered(64);
  EXPECT_EQ(plane_.batches().size(), 1U);
}

TEST_P(ThreadProgrammer, WhatWaitsBehindTheReadyBatchesSharesOne) {
  make();
  plane_.hold();
  programmer_->submit(OrderLane::Bulk, orders(0, 1), collect());
  scheduler_.run_until_idle();
  plane_.wait_until_entered(1);
  constexpr std::uint32_t kMore = 10;  // One submission per turn; each turn hands over what it can.
  for (std::uint32_t i = 1; i <= limits::kExecutorBatches + kMore; ++i) {
    programmer_->submit(OrderLane::Bulk, orders(2 * i, 1), collect());
    scheduler_.run_until_idle();
  }
  plane_.release();
  run_until_answered(1 + limits::kExecutorBatches + kMore);
  std::vector<std::size_t> sizes;
  for (const auto& batch : plane_.batches()) sizes.push_back(batch.size());
  std::vector<std::size_t> wanted(1 + limits::kExecutorBatches, 1);
  wanted.push_back(kMore);
  EXPECT_EQ(sizes, wanted) << "one in the plane, as many ready as there may be, and the rest together";
}

TEST_P(ThreadProgrammer, TheThreadStaysOnTheCpusItWasGiven) {
  make();
  EXPECT_EQ(programmer_->pin(std::vector<unsigned>{100000}).code(), StatusCode::InvalidArgument);
  ASSERT_TRUE(programmer_->pin(std::vector<unsigned>{allowed_cpus().back()}).ok());
  programmer_->submit(OrderLane::Bulk, orders(2, 1), collect());
  run_until_answered(1);
  EXPECT_THAT(plane_.cpus(), Each(allowed_cpus().back()));
}

TEST_P(ThreadProgrammer, SubmittingNeverWaitsForTheKernel) {
  make();
  plane_.hold();
  for (std::uint32_t i = 0; i < 100; ++i) programmer_->submit(OrderLane::Bulk, orders(2, 300), collect());
  EXPECT_FALSE(programmer_->has_room());
  scheduler_.run_until_idle();
  EXPECT_THAT(answered_, IsEmpty());
  plane_.release();
  run_until_answered(30'000);
}

INSTANTIATE_TEST_SUITE_P(All, ThreadProgrammer, ::testing::Values(false), name_of);

}  // namespace
}  // namespace rondo
