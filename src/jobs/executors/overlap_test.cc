// What a run does while another run of its job is at the same executor, and how many orders are under way.
#include "jobs/executors/testing/executors_testbed.h"

namespace rondo::jobs::executors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(ExecutorsTest, RunsOfAJobFollowEachOtherAtEachExecutorByDefault) {
  define_job("a");
  add_registered(2);
  for (int i = 0; i < 3; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(2));
  EXPECT_THAT(peers[0]->orders, SizeIs(1)) << "one at each";
  ASSERT_TRUE(becomes([&] {
    const auto third = JobsView(*jobs).activity(3);
    return third && third->text.find("waits for earlier runs of the job at") != std::string::npos;
  }));
  const bool is_at_first = log_id(peers[0]->orders[0]) == log_id_of(1, 0, 0);
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(becomes([&] { return peers[is_at_first ? 0 : 1]->orders.size() == 2; }));
}

TEST_F(ExecutorsTest, WithTheScopeOfTheJobRunsFollowEachOtherOverAllExecutors) {
  define_job("a", {.overlap_scope = OverlapScope::Job});
  add_registered(2);
  for (int i = 0; i < 2; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(1));
  run_a_while();
  EXPECT_THAT(orders(), SizeIs(1));
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(2));
}

TEST_F(ExecutorsTest, DiscardEndsARunWhoseExecutorHasAnother) {
  define_job("a", {.overlap = Overlap::Discard, .retries = 3});
  add_registered(1);
  for (int i = 0; i < 2; ++i) trigger("a");
  ASSERT_TRUE(becomes([&] { return jobs->stats().pending == 1; }));
  EXPECT_THAT(runs("a")[1], "discarded another run was at the executor: 1");
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  EXPECT_THAT(orders(), SizeIs(1));
}

TEST_F(ExecutorsTest, CoverStopsTheRunAtTheExecutorAndBeginsWhenItHasEnded) {
  define_job("a", {.overlap = Overlap::Cover});
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  trigger("a");
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
  EXPECT_THAT(orders(), SizeIs(1)) << "the first one has not ended";
  EXPECT_EQ(report(log_id_of(1, 0, 0), 500, "job running, killed"), kDone);
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(report(log_id_of(2, 0, 0), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed covered by the run 2"), "succeeded"));
}

TEST_F(ExecutorsTest, ConcurrentRunsBeginBesideEachOtherUpToTheirNumber) {
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 2});
  add_registered(1);
  for (int i = 0; i < 3; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(2));
  run_a_while();
  EXPECT_THAT(orders(), SizeIs(2));
  EXPECT_EQ(report(log_id_of(2, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(3));
}

/// Two broadcasts of a job to two executors: what the second one gets to while the first one runs.
class Broadcasts : public ExecutorsTest {
 protected:
  void begin_two(Overlap overlap) {
    define_job("a", {.overlap = overlap, .concurrency = overlap == Overlap::Concurrent ? 2U : 1U, .route = Route::ShardingBroadcast});
    add_registered(2);
    trigger("a");
    ASSERT_TRUE(gets_orders(2));
    trigger("a");
  }
  void end_first() {
    EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
    EXPECT_EQ(report(log_id_of(1, 0, 1), 200, ""), kDone);
  }
};

TEST_F(Broadcasts, AreSerialAtEachExecutor) {
  begin_two(Overlap::Serial);
  EXPECT_EQ(report(log_id_of(1, 0, 1), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(3)) << "the second executor has begun the second run";
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(4));
}

TEST_F(Broadcasts, AreDiscardedAtBusyExecutors) {
  begin_two(Overlap::Discard);
  ASSERT_TRUE(becomes([&] { return jobs->stats().pending == 1; }));
  end_first();
  EXPECT_THAT(runs("a"), ElementsAre("succeeded 2 shards succeeded", HasSubstr("discarded another run was at the executor: 1")));
  trigger("a");
  ASSERT_TRUE(gets_orders(4));
  EXPECT_EQ(report(log_id_of(3, 0, 0), 200, ""), kDone);
  trigger("a");
  ASSERT_TRUE(gets_orders(5)) << "only the first executor is free";
  EXPECT_EQ(report(log_id_of(4, 0, 0), 200, ""), kDone);
  EXPECT_THAT(runs("a")[3], HasSubstr("succeeded 1 shards succeeded, 1 were discarded"));
}

TEST_F(Broadcasts, CoverTheEarlierOneAtAllExecutors) {
  begin_two(Overlap::Cover);
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1 && peers[1]->calls["/kill"] == 1; }));
  end_first();
  ASSERT_TRUE(gets_orders(4));
  EXPECT_THAT(runs("a")[0], HasSubstr("killed covered by the run 2"));
}

TEST_F(Broadcasts, AreConcurrent) {
  begin_two(Overlap::Concurrent);
  ASSERT_TRUE(gets_orders(4));
}

TEST_F(ExecutorsTest, OrdersBeyondTheLaneWaitByPriority) {
  settings.fast_lane = settings.slow_lane = 1;
  end();
  begin();
  add_registered(1);
  peers[0]->keeps_silent = true;
  define_job("first");
  define_job("low", {.priority = Priority{4}});
  define_job("high", {.priority = Priority{40}});
  trigger("first");
  ASSERT_TRUE(gets_orders(1));  // Before the others are there: 'high' would be ahead of it.
  for (const char* const name : {"low", "high"}) trigger(name);
  ASSERT_TRUE(becomes([&] {
    const auto low = JobsView(*jobs).activity(2);
    const auto high = JobsView(*jobs).activity(3);
    return low && high && low->text.find("other orders") != std::string::npos && high->text.find("other orders") != std::string::npos;
  }));
  EXPECT_THAT(orders(), SizeIs(1));
  peers[0]->answer_kept();
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(log_id(orders()[1]), log_id_of(3, 0, 0)) << "the higher priority";
  peers[0]->answer_kept();
  ASSERT_TRUE(gets_orders(3));
}

TEST_F(ExecutorsTest, AnExecutorThatDoesNotAnswerLeavesRoomForTheOthers) {
  settings.in_flight_of_address = 2;
  end();
  begin();
  add_registered(2);
  peers[0]->keeps_silent = true;
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 64});
  for (int i = 0; i < 12; ++i) trigger("a");
  ASSERT_TRUE(becomes([&] { return peers[1]->orders.size() >= 6; }));
  EXPECT_THAT(peers[0]->orders, SizeIs(2));
}

}  // namespace
}  // namespace rondo::jobs::executors
