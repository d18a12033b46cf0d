// The traces of runs, by themselves.
#include "jobs/live_runs.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "jobs/trace_limits.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

class LiveRunTraces : public testing::Test {
 protected:
  std::int64_t add(std::vector<std::int64_t> parents = {}) {
    JobRun run{.id = ++last, .job_id = 1, .job = "a"};
    run.parents = std::move(parents);
    runs.add(run, job);
    return last;
  }
  void traced(std::int64_t run) { runs.set_trace(run, trace); }

  const std::shared_ptr<const TraceContext> trace =
      std::make_shared<const TraceContext>(TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", {}).value());
  const Job job{.name = "a", .handler = "h"};
  std::int64_t last = 0;
  Runtime runtime;
  const HooksOf hooks = std::make_shared<std::unique_ptr<RunHooks>>();
  JobTurns& turns = runtime.add<JobTurns>(hooks);
  LiveRuns runs{runtime, hooks, turns};
};

TEST_F(LiveRunTraces, EndWithTheRun) {
  const std::int64_t run = add();
  traced(run);
  EXPECT_EQ(runs.trace(run), trace);
  runs.set_trace(run, nullptr);
  EXPECT_EQ(runs.trace(run), trace);
  traced(run + 1);
  EXPECT_EQ(runs.trace(run + 1), nullptr) << "there is no such run";
  runs.remove(*runs.find(run));
  EXPECT_EQ(runs.trace(run), nullptr);
  EXPECT_EQ(trace.use_count(), 1);
}

TEST_F(LiveRunTraces, AreThoseOfTheRunsBelow) {
  const std::int64_t top = add();
  const std::int64_t left = add({top});
  const std::int64_t right = add({top});
  const std::int64_t both = add({left, right});
  const std::int64_t other = add();
  traced(top);
  EXPECT_EQ(runs.trace(both), trace);
  EXPECT_EQ(runs.trace(other), nullptr);
}

TEST_F(LiveRunTraces, BeyondTheLimitARunHasNone) {
  for (std::size_t i = 0; i < limits::kTracedRuns; ++i) traced(add());
  EXPECT_EQ(runs.trace(last), trace);
  traced(add());
  EXPECT_EQ(runs.trace(last), nullptr);
  runs.remove(*runs.find(1));
  traced(last);
  EXPECT_EQ(runs.trace(last), trace);
}

}  // namespace
}  // namespace rondo::jobs
