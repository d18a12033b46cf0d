// When the command of a run begins, and a run that was killed: over restarts of rondod, and with clocks that differ.
#include "jobs/jobs_view.h"
#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A worker that had no time got the start and the stop together: the command was started only to be stopped.
TEST_F(WorkersTest, ATimeoutCountsFromTheBeginOfTheCommand) {
  PlayedWorker& host = worker("host1", kBackup);
  Job job = backup();
  job.timeout = 50ms;
  put(std::move(job));
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  runtime->scheduler().run_for(200ms);
  host.look();
  EXPECT_THAT(host.stops, IsEmpty());
  EXPECT_EQ(JobsView(*jobs).activity(run)->text, "waits until worker host1 has begun it");
  report(host, {event("started", run)});
  EXPECT_THAT(JobsView(*jobs).activity(run)->text, HasSubstr("runs since"));
  ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; }));
  report(host, {event("end", run, {field("code", "cancelled"), field("message", "stopped")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre(HasSubstr("timed-out")));
}

/// The kill was forgotten, and the run tried again.
TEST_F(WorkersTest, AfterARestartAKilledRunIsStoppedAtItsWorkerAndEndsAsKilled) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("started", run)});
  ASSERT_TRUE(answer<bool>([&](auto done) { EXPECT_TRUE(jobs->kill(run, done).ok()); }).has_value());
  played.clear();
  close();
  open();
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup")});
  ASSERT_TRUE(becomes([&] { return again.stops.size() == 1; }));
  EXPECT_EQ(again.stops[0].at("run").as_int64(), run);
  report(again, {event("end", run, {field("code", "internal"), field("message", "exit status 143")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(again.starts, IsEmpty());
  EXPECT_THAT(runs("nightly"), ElementsAre("killed killed by a user; exit status 143"));
}

/// It was started as soon as the database had its worker, and then stopped.
TEST_F(WorkersTest, ARunThatIsKilledBeforeTheDatabaseHasItsWorkerNeverBegins) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  close_store();
  const std::int64_t slow = trigger("nightly");
  ASSERT_TRUE(says(slow, "waits until the database has its worker, host1"));
  ASSERT_TRUE(jobs->kill(slow).ok());
  open_store();
  ASSERT_TRUE(all_ended());
  faults.loses_workers = true;
  const std::int64_t full = trigger("nightly");
  ASSERT_TRUE(says(full, "waits until the database has its worker, host1"));
  ASSERT_TRUE(jobs->kill(full).ok());
  ASSERT_TRUE(all_ended()) << "it need not wait until there is room";
  faults.loses_workers = false;
  EXPECT_THAT(runs("nightly"), ElementsAre("killed killed by a user", "killed killed by a user"));
  const std::int64_t next = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; })) << "their places are free";
  EXPECT_EQ(host.starts[0].at("run").as_int64(), next);
  EXPECT_THAT(host.kinds, ElementsAre("welcome", "start"));
}

TEST_F(WorkersTest, AKilledRunEndsAfterARestartAlsoIfNoWorkerComes) {
  close();
  options.settle = 1s;
  open();
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("started", run)});
  ASSERT_TRUE(answer<bool>([&](auto done) { EXPECT_TRUE(jobs->kill(run, done).ok()); }).has_value());
  played.clear();
  close();
  open();
  EXPECT_TRUE(says(run, AllOf(HasSubstr("may run at worker host1"), HasSubstr("was asked to stop: killed by a user"))));
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("killed killed by a user; worker 'host1' may have begun it"));
}

TEST_F(WorkersTest, TheBeginOfACommandDoesNotDependOnTheClockOfItsWorker) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const WallTime before = runtime->clock().wall_now();
  report(host, {event("started", run, {field("begun_ms", "1700000000123"), field("age_ms", "0")})});
  EXPECT_GE(*JobsView(*jobs).activity(run)->begun, before);
  report(host, {event("started", run, {field("begun_ms", "1700000000123"), field("age_ms", "20")})});
  EXPECT_LE(*JobsView(*jobs).activity(run)->begun, runtime->clock().wall_now() + -20ms);
  // Of a clock that agrees, it is exact, however long the report was on its way.
  constexpr std::int64_t kMillisecond = 1'000'000;
  const std::int64_t begun = (runtime->clock().wall_now() + -1s).nanoseconds() / kMillisecond;
  report(host, {event("started", run, {field("begun_ms", std::to_string(begun)), field("age_ms", "900")})});
  EXPECT_EQ(JobsView(*jobs).activity(run)->begun->nanoseconds(), begun * kMillisecond);
}

}  // namespace
}  // namespace rondo::jobs
