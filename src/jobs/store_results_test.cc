// The results of the store's works in a journal: what is written is read, also by a later version.
#include "jobs/store_results.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rondo::jobs {
namespace {

TEST(StoreResults, ARunKeepsItsWorker) {
  std::string text;
  write_result(JobRun{.id = 7, .job = "a", .worker = "web-1"}, text);
  JobRun read;
  ASSERT_TRUE(read_result(text, read)) << text;
  EXPECT_EQ(read.id, 7);
  EXPECT_EQ(read.worker, "web-1");
}

TEST(StoreResults, ARunKeepsWhatIsSetForIt) {
  std::string text;
  write_result(JobRun{.id = 7, .job = "a", .parameters = "own", .address = "http://a:1", .rerun_of = 3}, text);
  JobRun read;
  ASSERT_TRUE(read_result(text, read)) << text;
  EXPECT_EQ(read.parameters, "own");
  EXPECT_EQ(read.address, "http://a:1");
  EXPECT_EQ(read.rerun_of, 3);
}

TEST(StoreResults, ARunOfAJournalWithoutWorkersIsRead) {
  JobRun read;
  ASSERT_TRUE(read_result(R"([7,1,"a",5,6,0,0,2,0,null,null,"note",[3]])", read));
  EXPECT_EQ(read.parents, std::vector<std::int64_t>{3});
  EXPECT_EQ(read.worker, "");
  EXPECT_FALSE(read_result(R"([7,1,"a",5,6,0,0,2,0,null,null,"note",[3],"w",1])", read));
}

TEST(StoreResults, ACycleOfAJournalBeforeSharedDatabasesIsRead) {
  std::string text;
  Planner::Cycle cycle;
  cycle.is_changed = true;
  write_result(cycle, text);
  Planner::Cycle read;
  ASSERT_TRUE(read_result(text, read)) << text;
  EXPECT_TRUE(read.is_changed);
  Planner::Cycle earlier;
  ASSERT_TRUE(read_result(R"([[],[],[],false,"trouble"])", earlier));
  EXPECT_FALSE(earlier.is_changed || earlier.is_complete);
  EXPECT_EQ(earlier.trouble, "trouble");
}

TEST(StoreResults, SchedulersAreReadAsTheyWereWritten) {
  std::string text;
  write_result(std::vector<SchedulerClaim>{{.name = "process 1 on a",
                                            .shards = 64,
                                            .since = WallTime::from_nanoseconds(5),
                                            .until = WallTime::from_nanoseconds(6),
                                            .is_expired = true},
                                           {.name = "b", .is_here = true}},
               text);
  std::vector<SchedulerClaim> read;
  ASSERT_TRUE(read_result(text, read) && read.size() == 2) << text;
  EXPECT_EQ(read[0].name, "process 1 on a");
  EXPECT_EQ(read[0].shards, 64U);
  EXPECT_EQ(read[0].since, WallTime::from_nanoseconds(5));
  EXPECT_EQ(read[0].until, WallTime::from_nanoseconds(6));
  EXPECT_TRUE(read[0].is_expired && !read[0].is_here && read[1].is_here && !read[1].is_expired && !read[1].since);
}

}  // namespace
}  // namespace rondo::jobs
