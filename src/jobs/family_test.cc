// Parents and children: one transaction plans a family, a child waits for the stored success of its parents and says so, what a failure,
// a stop, an edit and a restart do, and which families are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/family.h"
#include "jobs/planner.h"
#include "jobs/testing/testbed.h"
#include "orch/parked.h"
#include "rondo/jobs/jobs.h"
#include "rondo/jobs/limits.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Job child_of(const std::string& name, std::vector<std::string> parents) {
  return {.name = name, .handler = "keep", .parents = std::move(parents)};
}

/// A program with jobs whose attempts the test ends itself.
class FamilyTest : public test::JobsTestbed {
 protected:
  FamilyTest() { open(); }
  ~FamilyTest() override { close(); }
  void open() {
    JobsTestbed::open();
    jobs->handle_async("keep", {.begin = [this](const AsyncRun& run) {
                         begun.push_back(run);
                         order.push_back(run.job().name);
                       }});
    jobs->start();
  }
  /// The end of the process: what it carries out goes on without it.
  void close() {
    for (const AsyncRun& run : begun) run.leave();
    begun.clear();
    JobsTestbed::close();
  }
  /// a, its children b and c, and d, which is a child of both.
  void define_diamond() {
    define({.name = "a", .handler = "keep"});
    define(child_of("b", {"a"}));
    define(child_of("c", {"a"}));
    define(child_of("d", {"b", "c"}));
  }
  bool has_begun(const std::string& name) {
    return becomes([&] { return find(name) != nullptr; });
  }
  const AsyncRun* find(const std::string& name) const {
    const auto found = std::ranges::find_if(begun, [&](const AsyncRun& run) { return run.job().name == name; });
    return found == begun.end() ? nullptr : &*found;
  }
  /// Ends the attempt of a job that has begun, or begins soon.
  void end(const std::string& name, const Status& status = {}) {
    ASSERT_TRUE(has_begun(name)) << name;
    const AsyncRun run = *find(name);
    std::erase_if(begun, [&](const AsyncRun& other) { return other.run() == run.run(); });
    run.end(status);
  }
  std::vector<AsyncRun> begun;
  std::vector<std::string> order;  // The names of the jobs whose attempts have begun.
};

TEST_F(FamilyTest, AChildBeginsWhenAllItsParentsHaveSucceeded) {
  define_diamond();
  trigger("a");
  ASSERT_TRUE(has_begun("a"));
  run_a_while();
  EXPECT_THAT(order, ElementsAre("a"));
  end("a");
  ASSERT_TRUE(has_begun("b") && has_begun("c"));
  end("c");
  run_a_while();
  EXPECT_EQ(find("d"), nullptr) << "b has not ended";
  end("b");
  end("d");
  ASSERT_TRUE(all_ended());
  for (const char* const name : {"a", "b", "c", "d"}) EXPECT_THAT(runs(name), ElementsAre("succeeded")) << name;
}

TEST_F(FamilyTest, WhyWalksFromAChildToTheRunsOfItsParents) {
  define_diamond();
  const JobRun run = trigger("a");
  ASSERT_TRUE(has_begun("a"));
  ASSERT_TRUE(becomes([&] { return parked_rows(*runtime, "JOB_RUN_8", 10).size() == 3; }));
  const Why why = runtime->why("JOB_RUN_8", "d#" + std::to_string(rows("d").front().id));
  ASSERT_GE(why.chain.size(), 3U);
  EXPECT_THAT(why.chain[1].key, testing::StartsWith("b#"));
  EXPECT_TRUE(std::ranges::any_of(why.chain, [&](const WhyLink& link) { return link.key == "a#" + std::to_string(run.id); }));
  EXPECT_THAT(runtime->why("JOB_RUN_8", "b#" + std::to_string(rows("b").front().id)).chain[1].origin_note, HasSubstr("which is running"));
}

TEST_F(FamilyTest, TheScheduleOfTheRootPlansTheWholeFamily) {
  define({.name = "b-root", .handler = "keep", .schedule = {.when = "every 1h"}});
  define(child_of("child", {"b-root"}));
  // The next instant is less than an hour away: a store that is ready for it has both rows, or none.
  auto store = std::move(*make_sqlite_job_store(path()));
  const WallTime now = store->find("b-root")->next.value();
  Planner planner{PlannerOptions{}};
  const auto cycle = planner.run(*store, now);
  ASSERT_TRUE(cycle.has_value());
  const auto root = store->runs("b-root", INT64_MAX, 10).value();
  const auto child = store->runs("child", INT64_MAX, 10).value();
  ASSERT_EQ(root.size(), 1U);
  ASSERT_EQ(child.size(), 1U);
  EXPECT_EQ(child[0].scheduled, root[0].scheduled);
  EXPECT_THAT(child[0].parents, ElementsAre(root[0].id));
}

TEST_F(FamilyTest, RunsOfTheScheduleFlowThroughTheFamily) {
  define({.name = "a", .handler = "now", .schedule = {.when = "every 50ms"}});
  define({.name = "b", .handler = "now", .parents = {"a"}});
  std::vector<std::string> called;
  jobs->handle_in_turn("now", [&called](const JobContext& context) {
    called.push_back(context.job + " " + std::to_string(context.scheduled.nanoseconds()));
    return Status{};
  });
  ASSERT_TRUE(becomes([&] { return called.size() >= 20; }));
  for (const std::string& call : called) {
    if (call[0] != 'b') continue;
    const auto parent = std::ranges::find(called, "a" + call.substr(1));
    EXPECT_LT(parent, std::ranges::find(called, call));
  }
}

TEST_F(FamilyTest, WhenAParentFailsTheRunsBelowItAreSkippedWithItsName) {
  define_diamond();
  const JobRun run = trigger("a");
  end("a");
  end("b", {StatusCode::Unavailable, "no disk"});
  end("c");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("d"), ElementsAre("skipped the parent run b#" + std::to_string(rows("b").front().id) + " ended as failed"));
  EXPECT_EQ(rows("b").front().parents, std::vector<std::int64_t>{run.id});
}

TEST_F(FamilyTest, AParentThatIsTriedAgainAndSucceedsLetsItsChildBegin) {
  define({.name = "a", .handler = "keep", .retries = 1, .backoff = 1ms});
  define(child_of("b", {"a"}));
  trigger("a");
  end("a", {StatusCode::Unavailable, "no disk"});
  end("a");
  end("b");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(order, ElementsAre("a", "a", "b"));
}

TEST_F(FamilyTest, AKilledOrStoppedParentSkipsWhatIsBelowIt) {
  define_diamond();
  trigger("a");
  ASSERT_TRUE(has_begun("a"));
  ASSERT_TRUE(jobs->kill(rows("b").front().id).ok());
  end("a");
  end("c");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("d"), ElementsAre(HasSubstr("ended as killed")));
}

TEST_F(FamilyTest, ATriggeredChildRunsWithoutItsParentsAndWithTheJobsBelowIt) {
  define_diamond();
  trigger("b");
  end("b");
  end("d");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(order, ElementsAre("b", "d"));
}

TEST_F(FamilyTest, AStoppedJobIsLeftOutWithTheJobsBelowIt) {
  define_diamond();
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->stop("b", "broken", done); }).has_value());
  trigger("a");
  end("a");
  end("c");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("b"), IsEmpty());
  EXPECT_THAT(runs("d"), IsEmpty());
}

TEST_F(FamilyTest, ARunKeepsTheParentsThatItWasPlannedWith) {
  define_diamond();
  trigger("a");
  ASSERT_TRUE(has_begun("a"));
  define({.name = "d", .handler = "keep"});
  run_a_while();
  EXPECT_EQ(find("d"), nullptr);
  trigger("d");
  end("d");
  end("a");
  end("b");
  end("c");
  end("d");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("d"), ElementsAre("succeeded", "succeeded"));
}

TEST_F(FamilyTest, AParentIsNotRemovedAndItsRemovedRunSkipsThoseThatWait) {
  define({.name = "a", .handler = "keep"});
  define(child_of("b", {"a"}));
  const auto refused = answer<StoredJob>([&](auto done) { jobs->remove("a", done); });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message(), "job 'a' is a parent of 'b'");
  trigger("a");
  ASSERT_TRUE(has_begun("a"));
  define({.name = "b", .handler = "keep"});
  begun.front().on_stop([] {});
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->remove("a", done); }).has_value());
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("b"), ElementsAre(HasSubstr("was removed")));
}

TEST_F(FamilyTest, AfterARestartAChildStillWaitsForItsParent) {
  define_diamond();
  const JobRun run = trigger("a");
  end("a");
  ASSERT_TRUE(has_begun("b") && has_begun("c"));
  end("c");
  ASSERT_TRUE(becomes([&] { return rows("c").front().state == RunState::Succeeded; }));
  close();
  order.clear();
  open();
  ASSERT_TRUE(has_begun("b"));
  run_a_while();
  EXPECT_THAT(order, ElementsAre("b"));
  end("b");
  end("d");
  ASSERT_TRUE(all_ended());
  EXPECT_EQ(rows("a").front().id, run.id);
  EXPECT_THAT(runs("d"), ElementsAre("succeeded"));
}

TEST_F(FamilyTest, AChildWhoseParentFailedBeforeTheCrashIsSkippedAfterIt) {
  define_diamond();
  trigger("a");
  end("a");
  ASSERT_TRUE(has_begun("b") && has_begun("c"));
  const std::int64_t failed = rows("b").front().id;
  close();
  {
    // The earlier process stored the end of b, and crashed before that of d.
    auto store = std::move(*make_sqlite_job_store(path()));
    const std::vector<RunEnd> ends{{.id = failed, .state = RunState::Failed, .attempt = 1}};
    ASSERT_TRUE(store->finish(ends).ok());
  }
  open();
  end("c");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("d"), ElementsAre("skipped the parent run b#" + std::to_string(failed) + " ended as failed"));
}

TEST_F(FamilyTest, ACycleIsRefusedAndNamed) {
  define_diamond();
  EXPECT_EQ(defined(child_of("a", {"d"})).message(), "job 'a': parents: a cycle: a -> b -> d -> a");
  EXPECT_EQ(defined(child_of("x", {"x"})).message(), "job 'x': parents: a cycle: x -> x");
  EXPECT_EQ(defined(child_of("x", {"none"})).message(), "job 'x': parents: there is no job 'none'");
}

TEST_F(FamilyTest, AFamilyHasOneRoot) {
  define_diamond();
  define({.name = "other", .handler = "keep"});
  EXPECT_EQ(defined(child_of("x", {"a", "other"})).message(),
            "job 'x': parents: the job 'x' would have more than one root: 'a' and 'other'");
  EXPECT_EQ(defined({.name = "b", .handler = "keep"}).message(), "job 'b': parents: the job 'd' would have more than one root: 'a' and 'b'")
      << "an edit that cuts the family in two";
}

TEST_F(FamilyTest, ARootHasTheLimitOfJobsBelowIt) {
  auto store = std::move(*make_sqlite_job_store((folder / "wide.db").string()));
  ASSERT_TRUE(store->put({.name = "root", .handler = "h"}, std::nullopt).has_value());
  for (std::size_t i = 0; i < limits::kJobsOfFamily; ++i) {
    const Job child = child_of("c" + std::to_string(i), {"root"});
    ASSERT_TRUE(check_family(*store, child).ok());
    ASSERT_TRUE(store->put(child, std::nullopt).has_value());
  }
  EXPECT_TRUE(check_family(*store, child_of("c0", {"root"})).ok()) << "an edit";
  EXPECT_THAT(check_family(*store, child_of("more", {"c0"})).to_string(), HasSubstr("more than 200 jobs below it"));
}

TEST_F(FamilyTest, AJobThatCannotRunBesideTheOthersSaysWhy) {
  const auto obstacle = [this](const std::string& name) {
    const auto found = answer<StoredJob>([&](auto done) { jobs->find(name, done); });
    const auto page = answer<std::vector<StoredJob>>([&](auto done) { jobs->list({}, 100, done); });
    const auto listed = std::ranges::find_if(*page, [&](const StoredJob& job) { return job.job.name == name; });
    EXPECT_EQ(found->obstacle, listed->obstacle);
    return found->obstacle;
  };
  define_diamond();
  EXPECT_EQ(obstacle("d"), "");
  ASSERT_TRUE(stopped("a").ok());
  EXPECT_EQ(obstacle("a"), "") << "it is stopped itself";
  EXPECT_EQ(obstacle("b"), "the job 'a' above it is stopped");
  EXPECT_EQ(obstacle("d"), "the job 'a' above it is stopped");
  EXPECT_EQ(stored(child_of("e", {"d"}))->obstacle, "the job 'a' above it is stopped") << "an answer to an edit has it, too";

  EXPECT_EQ(stored({.name = "typo", .handler = "keep", .required_facts = {"job-succeeded:nope"}})->obstacle,
            "it requires job-succeeded:nope, and there is no job 'nope'");
  define({.name = "after-a", .handler = "keep", .required_facts = {"job-succeeded:a"}});
  EXPECT_EQ(obstacle("after-a"), "it requires job-succeeded:a, and the job 'a' is stopped, and has never run");
  trigger("a");
  end("a", {StatusCode::Unavailable, "no disk"});
  ASSERT_TRUE(becomes([&] { return is_final(rows("a").front().state); }));
  EXPECT_EQ(obstacle("after-a"), "it requires job-succeeded:a, and the job 'a' is stopped, and its last run did not succeed");
  trigger("a");
  end("a");
  ASSERT_TRUE(becomes([&] { return is_final(rows("a").front().state); }));
  EXPECT_EQ(obstacle("after-a"), "");
}

}  // namespace
}  // namespace rondo::jobs
