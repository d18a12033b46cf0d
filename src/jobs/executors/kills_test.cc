// Orders to stop, and executors where a run may go on after one.
#include "jobs/executors/testing/executors_testbed.h"

namespace rondo::jobs::executors {
namespace {

using testing::SizeIs;

TEST_F(ExecutorsTest, AKillOfAllRunsOfAJobAtAnExecutorIsSent) {
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 2});
  add_registered(1);
  const JobRun one = trigger("a");
  const JobRun two = trigger("a");
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 2; }));
  EXPECT_TRUE(jobs->kill(one.id).ok());
  run_a_while();
  EXPECT_EQ(peers[0]->calls["/kill"], 0U) << "it would stop both";
  EXPECT_TRUE(jobs->kill(two.id).ok());
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
}

/// A handler that works on after a kill ends the next run of its job with the npm client xxl-job, which reported the kill as a success.
TEST_F(ExecutorsTest, AnExecutorWhereAKilledRunMayGoOnIsAvoided) {
  define_job("a");
  add_registered(2);
  const JobRun killed = trigger("a");
  ASSERT_TRUE(gets_orders(1));
  Peer& there = *peers[peers[0]->orders.empty() ? 1 : 0];
  Peer& other = *peers[peers[0]->orders.empty() ? 0 : 1];
  EXPECT_TRUE(jobs->kill(killed.id).ok());
  ASSERT_TRUE(becomes([&] { return there.calls["/kill"] == 1; }));
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, "Job Task: 6 is killed."), kDone);
  for (std::size_t i = 1; i <= 3; ++i) {
    trigger("a");
    ASSERT_TRUE(becomes([&] { return other.orders.size() == i; })) << i;
    EXPECT_EQ(report(log_id(other.orders.back()), 200, ""), kDone);
  }
  EXPECT_THAT(there.orders, SizeIs(1));
  // It is better than none.
  says("/api/registryRemove", R"({"registryGroup":"EXECUTOR","registryKey":"web","registryValue":")" + other.url() + "\"}");
  trigger("a");
  ASSERT_TRUE(becomes([&] { return there.orders.size() == 2; }));
}

TEST_F(ExecutorsTest, AnExecutorThatReportsTheEndOfAKilledRunIsNotAvoided) {
  define_job("a");
  add_registered(2);
  const JobRun killed = trigger("a");
  ASSERT_TRUE(gets_orders(1));
  Peer& there = *peers[peers[0]->orders.empty() ? 1 : 0];
  EXPECT_TRUE(jobs->kill(killed.id).ok());
  ASSERT_TRUE(becomes([&] { return there.calls["/kill"] == 1; }));
  EXPECT_EQ(report(log_id_of(1, 0, 0), 500, "job running, killed"), kDone);
  for (std::size_t i = 2; i <= 3; ++i) {
    trigger("a");
    ASSERT_TRUE(gets_orders(i));
    EXPECT_EQ(report(log_id_of(static_cast<std::int64_t>(i), 0, 0), 200, ""), kDone);
  }
  EXPECT_THAT(there.orders, SizeIs(2)) << "runs go round";
}

}  // namespace
}  // namespace rondo::jobs::executors
