// Which worker gets a run, by the route of its job.
#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(WorkersTest, ARouteChoosesAmongTheWorkersThatCanTakeTheRun) {
  PlayedWorker& first = worker("a", {field("say", "5")});
  PlayedWorker& second = worker("b", {field("say", "5")});
  const auto run_ends_at = [&](const std::string& job, PlayedWorker& at) {
    const std::size_t before = at.starts.size();
    trigger(job);
    ASSERT_TRUE(becomes([&] { return at.starts.size() == before + 1; })) << job;
  };
  for (const auto& [name, route] : {std::pair{"last", Route::Last}, {"round", Route::Round}, {"busy", Route::Busyover}}) {
    define({.name = name, .handler = "command/say", .overlap = Overlap::Concurrent, .concurrency = 64, .route = route});
  }
  for (int i = 0; i < 3; ++i) run_ends_at("last", second);
  const std::size_t before = first.starts.size() + second.starts.size();
  for (int i = 0; i < 2; ++i) trigger("round");
  ASSERT_TRUE(becomes([&] { return first.starts.size() + second.starts.size() == before + 2; }));
  EXPECT_EQ(first.starts.size(), 1U);
  run_ends_at("busy", first);
  run_ends_at("busy", second);
  EXPECT_THAT(defined({.name = "shards", .handler = "command/say", .route = Route::ShardingBroadcast}).message(), IsEmpty())
      << "only put_checked() asks the handler";
  trigger("shards");
  ASSERT_TRUE(becomes([&] { return jobs->stats().failed == 1; }));
  EXPECT_THAT(runs("shards"), ElementsAre(HasSubstr("have no shards")));
}

}  // namespace
}  // namespace rondo::jobs
