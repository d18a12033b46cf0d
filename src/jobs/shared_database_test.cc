// Two programs on one database of jobs: the first runs the jobs, and follows the edits of the second, which runs none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/jobs_view.h"
#include "jobs/remote_runs.h"
#include "jobs/testing/passing_job_store.h"
#include "jobs/testing/testbed.h"
#include "rondo/base/clock.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SharedDatabase : public test::JobsTestbed {
 protected:
  SharedDatabase() {
    open();
    jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
    jobs->handle_async("away", {.begin = [this](const AsyncRun& run) { begun.push_back(run); }});
    jobs->start();
    EXPECT_TRUE(becomes([this] { return RemoteRuns(*jobs).is_recovered(); }));
    second = std::make_unique<Jobs>(other, make_sqlite_job_store(path()).value(), options);
    second->start();
  }
  ~SharedDatabase() override { begun.clear(); }
  /// The second program makes an edit.
  void edits(const std::function<void(Jobs& jobs, Jobs::Done<StoredJob> done)>& edit) {
    std::optional<Result<StoredJob>> got;
    edit(*second, [&got](Result<StoredJob> stored) { got = std::move(stored); });
    const Instant deadline = other.clock().now() + kPatience;
    while (!got && other.clock().now() < deadline) other.scheduler().run_for(1ms);
    ASSERT_TRUE(got && got->has_value());
  }
  /// A job that is due so soon that its run is planned already.
  Job soon(const std::string& name, Duration in = 3s) {
    return {.name = name, .handler = "ok", .schedule = {.when = "at " + calendar::format_rfc3339(runtime->clock().wall_now() + in)}};
  }
  void define_planned(const std::string& name) {
    define(soon(name));
    ASSERT_TRUE(becomes([this] { return jobs->stats().pending == 1; }));
  }

  std::vector<AsyncRun> begun;
  Runtime other;
  std::unique_ptr<Jobs> second;
};

TEST_F(SharedDatabase, AStopOfAnotherProgramEndsTheRunsThatAreToCome) {
  define_planned("a");
  edits([](Jobs& of, auto done) { of.stop("a", "by another program", done); });
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), IsEmpty());
  EXPECT_EQ(jobs->stats().fired, 0U);
}

TEST_F(SharedDatabase, AnEditOfTheScheduleByAnotherProgramMovesTheRunsThatAreToCome) {
  define_planned("a");
  edits([this](Jobs& of, auto done) { of.put(soon("a", 1h), done); });
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), IsEmpty());
  EXPECT_EQ(jobs->stats().fired, 0U);
  edits([](Jobs& of, auto done) { of.put({.name = "a", .handler = "ok", .schedule = {.when = "every 100ms"}}, done); });
  EXPECT_TRUE(becomes([this] { return jobs->stats().succeeded > 0; }));
}

TEST_F(SharedDatabase, ARemovalByAnotherProgramAsksTheRunningHandlerToStop) {
  define({.name = "a", .handler = "away"});
  define({.name = "b", .handler = "away"});
  trigger("a");
  trigger("b");
  ASSERT_TRUE(becomes([this] { return begun.size() == 2; }));
  edits([](Jobs& of, auto done) { of.remove("a", done); });
  ASSERT_TRUE(becomes([this] { return !begun[0].is_open(); }));
  EXPECT_TRUE(begun[0].is_stop_requested());
  EXPECT_TRUE(begun[1].is_open());
  begun[1].end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("b"), ElementsAre("succeeded"));
}

TEST_F(SharedDatabase, ARunThatWaitsHasTheDefinitionOfAnotherProgram) {
  jobs->wait_for_handlers("later", [](std::string_view) { return "later"; });
  define({.name = "a", .handler = "later"});
  trigger("a");
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  edits([](Jobs& of, auto done) { of.put({.name = "a", .handler = "ok"}, done); });
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre("succeeded"));
}

/// The program that runs the jobs plans although the other one writes all the time.
TEST_F(SharedDatabase, AProgramThatWritesAllTheTimeDoesNotKeepTheOtherFromPlanning) {
  define({.name = "often", .handler = "ok", .schedule = {.when = "every 100ms"}});
  const Instant until = other.clock().now() + 2s;
  for (int i = 0; other.clock().now() < until; ++i) {
    edits([i](Jobs& of, auto done) { of.put({.name = "edited", .handler = "ok", .note = std::to_string(i)}, done); });
    runtime->scheduler().run_for(1ms);
  }
  EXPECT_GT(jobs->stats().planned, 60U) << "a window of 5 s, and two more";
}

/// A store on a server that answers nothing.
class HangingStore final : public test::PassingJobStore {
 public:
  using PassingJobStore::PassingJobStore;
  Result<StoredJob> find(std::string_view name) override {
    hangs.wait(true);
    return PassingJobStore::find(name);
  }
  std::atomic<bool> hangs = true;
};

class HangingServer : public test::JobsTestbed {};

/// It said that all was well.
TEST_F(HangingServer, HealthSaysThatTheDatabaseDoesNotAnswer) {
  const auto store = std::make_shared<HangingStore>(make_sqlite_job_store(path()).value());
  runtime = std::make_unique<Runtime>();
  jobs = std::make_unique<Jobs>(*runtime, store, options);
  jobs->start();
  ASSERT_TRUE(becomes([this] { return RemoteRuns(*jobs).is_recovered(); }));
  jobs->find("a", [](const Result<StoredJob>&) {});
  EXPECT_TRUE(
      becomes([this] { return jobs->health().message().find("the database of jobs has not answered for 1") != std::string_view::npos; }));
  EXPECT_EQ(jobs->health().code(), StatusCode::Unavailable);
  store->hangs = false;
  store->hangs.notify_all();
  EXPECT_TRUE(becomes([this] { return jobs->health().ok(); }));
}

/// A store whose claim may have run out.
class UnsureStore final : public test::PassingJobStore {
 public:
  using PassingJobStore::PassingJobStore;
  bool may_begin(Instant) const noexcept override { return is_sure; }
  std::atomic<bool> is_sure = false;
};

class UnsureClaim : public test::JobsTestbed {
 protected:
  void open_unsure() {
    store = std::make_shared<UnsureStore>(make_sqlite_job_store(path()).value());
    runtime = std::make_unique<Runtime>();
    jobs = std::make_unique<Jobs>(*runtime, store, options);
  }
  /// True once the run waits because the claim is unsure.
  bool is_held(std::int64_t run) {
    return becomes([this, run] {
      const auto activity = JobsView(*jobs).activity(run);
      return activity && activity->text.find("another scheduler may run the jobs") != std::string::npos;
    });
  }
  std::shared_ptr<UnsureStore> store;
};

/// A program that was stopped for some time may not know yet that another one has its jobs.
TEST_F(UnsureClaim, NoRunBeginsWhileAnotherProgramMayHaveTheJobs) {
  open_unsure();
  jobs->handle_in_turn("ok", [](const JobContext&) { return Status{}; });
  jobs->start();
  define({.name = "a", .handler = "ok"});
  const JobRun run = trigger("a");
  ASSERT_TRUE(is_held(run.id));
  EXPECT_EQ(jobs->stats().attempts, 0U);
  store->is_sure = true;
  EXPECT_TRUE(becomes([this] { return runs("a") == std::vector<std::string>{"succeeded"}; }));
}

/// The next run of the line began when the pool, or the handler, had room again.
TEST_F(UnsureClaim, ARunThatWaitsForRoomDoesNotBeginEither) {
  options.fast = {.threads = 1, .runs_max = 1};
  open_unsure();
  store->is_sure = true;
  std::atomic<bool> may_end = false;
  jobs->handle("pool", [&may_end](const JobContext&) {
    may_end.wait(false);
    return Status{};
  });
  std::vector<AsyncRun> begun;
  jobs->handle_async("async",
                     {.begin = [&](const AsyncRun& of) { begun.push_back(of); }, .has_room = [&](std::int64_t) { return begun.empty(); }});
  jobs->start();
  for (const char* const handler : {"pool", "async"}) {
    define({.name = std::string{"first-"} + handler, .handler = handler});
    define({.name = std::string{"second-"} + handler, .handler = handler});
    const std::uint64_t attempts = jobs->stats().attempts;
    trigger(std::string{"first-"} + handler);
    ASSERT_TRUE(becomes([&] { return jobs->stats().attempts == attempts + 1; }));
  }
  const std::vector<std::int64_t> waiting{trigger("second-pool").id, trigger("second-async").id};
  for (const std::int64_t run : waiting) {
    ASSERT_TRUE(becomes([&] {
      const std::string text = JobsView(*jobs).activity(run)->text;
      return text == "waits for a place in its pool" || text == "waits for room at the handler async";
    }));
  }
  store->is_sure = false;
  may_end = true;
  may_end.notify_all();
  for (const AsyncRun& one : std::exchange(begun, {})) one.end({});
  jobs->has_room("async");
  for (const std::int64_t run : waiting) EXPECT_TRUE(is_held(run)) << JobsView(*jobs).activity(run)->text;
  EXPECT_EQ(jobs->stats().attempts, 2U);
  store->is_sure = true;
  ASSERT_TRUE(becomes([&] { return begun.size() == 1; }));
  begun.front().end({});
  begun.clear();
  EXPECT_TRUE(all_ended());
}

}  // namespace
}  // namespace rondo::jobs
