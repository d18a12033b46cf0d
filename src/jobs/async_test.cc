// Handlers that work elsewhere: the end comes later, the first one counts, and an absent handler is a fact that runs wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs/jobs_view.h"
#include "jobs/remote_runs.h"
#include "jobs/testing/testbed.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AsyncJobs : public test::JobsTestbed {
 protected:
  AsyncJobs() { open(); }
  ~AsyncJobs() override { begun.clear(); }
  /// A handler that keeps its runs in 'begun'.
  AsyncHandler keeper() {
    return {.begin = [this](const AsyncRun& run) { begun.push_back(run); }};
  }
  void put(const Job& job) {
    const auto stored = answer<StoredJob>([&](auto done) { jobs->put(job, done); });
    ASSERT_TRUE(stored.has_value()) << stored.error().to_string();
  }
  std::int64_t trigger(const std::string& name) { return JobsTestbed::trigger(name).id; }
  /// Three runs of the job "a", of the handler "away", that an earlier process left.
  std::vector<std::int64_t> leave_three() {
    jobs->handle_async("away", keeper());
    jobs->start();
    put({.name = "a", .handler = "away", .overlap = Overlap::Concurrent, .concurrency = 3});
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(trigger("a"));
    EXPECT_TRUE(becomes([this] { return begun.size() == 3; }));
    for (const AsyncRun& run : begun) run.leave();
    begun.clear();
    close();
    open();
    return ids;
  }

  std::vector<AsyncRun> begun;
};

TEST_F(AsyncJobs, ARunEndsWhenItsHandlerSaysSo) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "away", .parameters = "all"});
  const std::int64_t run = trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  EXPECT_EQ(begun[0].run(), run);
  EXPECT_EQ(begun[0].job().parameters, "all");
  EXPECT_EQ(jobs->stats().running, 1U);
  begun[0].progress(140, "half");
  EXPECT_EQ(JobsView(*jobs).progress(run), (Progress{100, "half"}));
  begun[0].end({}, "12 files");
  EXPECT_FALSE(begun[0].is_open());
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre("succeeded 12 files"));
  EXPECT_EQ(jobs->stats().running, 0U);
  EXPECT_EQ(JobsView(*jobs).progress(run), std::nullopt);
}

TEST_F(AsyncJobs, TheFirstEndCounts) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "away"});
  trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].end({StatusCode::NotFound, "no disk"});
  begun[0].end({}, "done");
  begun[0].progress(1, "late");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre("failed not-found: no disk"));
}

TEST_F(AsyncJobs, AHandlerThatEndsTheRunWithinTheCallIsServed) {
  jobs->handle_async("away", {.begin = [](const AsyncRun& run) { run.end({}, "quick"); }});
  jobs->start();
  put({.name = "copy", .handler = "away"});
  trigger("copy");
  trigger("copy");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre("succeeded quick", "succeeded quick"));
}

/// The run stayed due and no report named it; neither did the others of its line begin.
TEST_F(AsyncJobs, AnyFunctionOfAHandlerThatThrowsFailsTheRun) {
  const auto ask = [](std::int64_t) -> bool { throw std::runtime_error("no answer"); };
  jobs->handle_async("room", {.begin = keeper().begin, .has_room = ask});
  RemoteRuns(*jobs).handle("begun", {.basic = {.begin = keeper().begin}, .has_begun = [](std::int64_t) -> bool { throw 7; }});
  jobs->start();
  put({.name = "a", .handler = "room", .retries = 1, .backoff = 1ms});
  put({.name = "b", .handler = "begun"});
  trigger("a");
  trigger("a");
  trigger("b");
  ASSERT_TRUE(all_ended());
  const auto failed = HasSubstr("failed the handler threw: no answer");
  EXPECT_THAT(runs("a"), ElementsAre(failed, failed));
  EXPECT_THAT(runs("b"), ElementsAre(HasSubstr("failed the handler threw something that is no std::exception")));
  EXPECT_EQ(jobs->stats().retried, 2U);
  EXPECT_EQ(jobs->stats().running, 0U);
  EXPECT_TRUE(begun.empty());
}

TEST_F(AsyncJobs, AHandlerThatThrowsWhenThereMayBeRoomFailsThoseThatWait) {
  bool throws = false;
  jobs->handle_async("away", {.begin = keeper().begin, .has_room = [&throws](std::int64_t) -> bool {
                                if (throws) throw std::runtime_error("no answer");
                                return false;
                              }});
  jobs->start();
  put({.name = "a", .handler = "away"});
  const std::int64_t run = trigger("a");
  ASSERT_TRUE(becomes(
      [&] { return JobsView(*jobs).activity(run) && JobsView(*jobs).activity(run)->text == "waits for room at the handler away"; }));
  throws = true;
  jobs->has_room("away");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre("failed the handler threw: no answer"));
  throws = false;
  jobs->handle_async("away", keeper());
  trigger("a");
  EXPECT_TRUE(becomes([this] { return begun.size() == 1; })) << "the line is served";
}

TEST_F(AsyncJobs, AHandlerThatThrowsAboutARunOfAnEarlierProcessFailsIt) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "a", .handler = "away"});
  const std::int64_t run = trigger("a");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].leave();
  begun.clear();
  close();
  open();
  bool throws = false;
  RemoteRuns(*jobs).handle("away", {.basic = {.begin = keeper().begin}, .held = [&throws](std::int64_t) -> std::string {
                                      if (throws) throw std::runtime_error("no answer");
                                      return "held";
                                    }});
  jobs->start();
  ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run) && JobsView(*jobs).activity(run)->text == "held"; }));
  throws = true;
  EXPECT_EQ(JobsView(*jobs).activity(run)->text, "the handler threw: no answer");
  RemoteRuns(*jobs).check_again("away");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre("failed the handler threw: no answer"));
}

/// The call was lost, and the run was never begun.
TEST_F(AsyncJobs, RoomThatAHandlerReportsWithinItsBeginIsUsed) {
  std::size_t begins = 0;
  jobs->handle_async("away", {.begin = [&](AsyncRun run) {
                       if (++begins == 3) return run.end({});
                       run.put_back();
                       jobs->has_room("away");
                     }});
  jobs->start();
  put({.name = "a", .handler = "away"});
  trigger("a");
  ASSERT_TRUE(all_ended());
  EXPECT_EQ(begins, 3U);
}

/// The row had times that could not be read, and the run was left out of all lists. Of a time long ago the retention deleted the row at
/// once.
TEST_F(AsyncJobs, WorkBeginsBetweenItsScheduledTimeAndNow) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "a", .handler = "away"});
  for (const std::int64_t given : {INT64_MIN, std::int64_t{1}, INT64_MAX}) {
    const std::int64_t run = trigger("a");
    ASSERT_TRUE(becomes([this] { return !begun.empty(); }));
    begun[0].began_at(WallTime::from_nanoseconds(given));
    const WallTime now = runtime->clock().wall_now();
    EXPECT_GE(*JobsView(*jobs).activity(run)->begun, begun[0].scheduled());
    EXPECT_LE(*JobsView(*jobs).activity(run)->begun, now);
    begun[0].ended_at(WallTime::from_nanoseconds(given));
    begun[0].end({});
    begun.clear();
    ASSERT_TRUE(all_ended());
    const auto rows = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("a", INT64_MAX, 1, done); });
    ASSERT_TRUE(rows.has_value() && !rows->empty());
    EXPECT_EQ(rows->front().id, run);
    EXPECT_LE(*rows->front().begun, now);
    EXPECT_GE(*rows->front().ended, rows->front().scheduled);
    EXPECT_LE(*rows->front().ended, runtime->clock().wall_now());
  }
}

/// A worker had done the work while no scheduler was there, and a newer run covered it when one was: it was stored as killed.
TEST_F(AsyncJobs, WorkThatWasOverBeforeItsStopHasSucceeded) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "a", .handler = "away"});
  for (const bool is_over : {true, false}) {
    const std::int64_t run = trigger("a");
    ASSERT_TRUE(becomes([this] { return !begun.empty(); }));
    run_a_while(5ms);
    const WallTime before = runtime->clock().wall_now();
    run_a_while(5ms);
    ASSERT_TRUE(jobs->kill(run, {}).ok());
    run_a_while(5ms);
    begun[0].ended_at(is_over ? before : runtime->clock().wall_now());
    begun[0].end({});
    begun.clear();
    ASSERT_TRUE(all_ended());
  }
  EXPECT_THAT(runs("a"), ElementsAre("succeeded", "killed killed by a user"));
}

TEST_F(AsyncJobs, AHandlerThatThrowsOrDropsTheRunFailsIt) {
  jobs->handle_async("throws", {.begin = [](const AsyncRun&) { throw std::runtime_error("no more"); }});
  jobs->handle_async("drops", {.begin = [](const AsyncRun&) {}});
  jobs->start();
  put({.name = "a", .handler = "throws"});
  put({.name = "b", .handler = "drops", .retries = 1, .backoff = 1ms});
  trigger("a");
  trigger("b");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("the handler threw: no more")));
  EXPECT_THAT(runs("b"), ElementsAre("failed unavailable: the handler went away without the end of the run"));
  EXPECT_EQ(jobs->stats().retried, 1U);
}

TEST_F(AsyncJobs, AKilledRunIsAskedToStopAndEndsAsKilled) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "away"});
  const std::int64_t run = trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  int stops = 0;
  begun[0].on_stop([&stops] { ++stops; });
  ASSERT_TRUE(jobs->kill(run).ok());
  ASSERT_TRUE(jobs->kill(run).ok());
  EXPECT_EQ(stops, 1);
  EXPECT_TRUE(begun[0].is_open());
  begun[0].end({}, "done all the same");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre(HasSubstr("killed")));
}

TEST_F(AsyncJobs, ATimeoutStopsTheRunAndAnOwnTimeoutCountsAsOne) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "slow", .handler = "away", .timeout = 20ms});
  trigger("slow");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1 && begun[0].is_stop_requested(); }));
  begun[0].on_stop([this] { begun[0].end({StatusCode::Cancelled, "stopped"}); });  // Called immediately: the time has passed.
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("slow"), ElementsAre(HasSubstr("timed-out the timeout of 20 ms has passed")));
  put({.name = "own", .handler = "away"});
  trigger("own");
  ASSERT_TRUE(becomes([this] { return begun.size() == 2; }));
  begun[1].end({StatusCode::DeadlineExceeded, "the command's own timeout"});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("own"), ElementsAre(HasSubstr("timed-out")));
}

/// A timeout that counted from the order stopped work that a busy machine had not begun.
TEST_F(AsyncJobs, TheTimeoutOfWorkThatBeginsLaterCountsFromItsBegin) {
  jobs->handle_async("away", {.begin = [this](const AsyncRun& run) {
                       run.begins_later("waits for a tape");
                       begun.push_back(run);
                     }});
  jobs->start();
  put({.name = "slow", .handler = "away", .timeout = 20ms});
  const std::int64_t run = trigger("slow");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  runtime->scheduler().run_for(100ms);
  EXPECT_FALSE(begun[0].is_stop_requested());
  EXPECT_EQ(JobsView(*jobs).activity(run)->stage, RunActivity::Stage::Waiting);
  EXPECT_EQ(JobsView(*jobs).activity(run)->text, "waits for a tape");
  EXPECT_THAT(JobsView(*jobs).under_way("slow"), IsEmpty());
  begun[0].began_at(runtime->clock().wall_now());
  EXPECT_EQ(JobsView(*jobs).activity(run)->stage, RunActivity::Stage::Running);
  EXPECT_TRUE(JobsView(*jobs).activity(run)->begun.has_value());
  EXPECT_THAT(JobsView(*jobs).under_way("slow"), ElementsAre(run));
  ASSERT_TRUE(becomes([this] { return begun[0].is_stop_requested(); }));
  begun[0].end({StatusCode::Cancelled, "stopped"});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("slow"), ElementsAre(HasSubstr("timed-out the timeout of 20 ms has passed")));
}

/// It was tried again, because the program had ended before the run.
TEST_F(AsyncJobs, AKillOutlivesTheProgram) {
  jobs->handle_async("away", keeper());
  jobs->handle_async("worker", keeper());
  jobs->start();
  put({.name = "here", .handler = "away", .retries = 3});
  put({.name = "there", .handler = "worker", .retries = 3});
  const std::int64_t here = trigger("here");
  const std::int64_t there = trigger("there");
  ASSERT_TRUE(becomes([this] { return begun.size() == 2; }));
  ASSERT_TRUE(answer<bool>([&](auto done) { RemoteRuns(*jobs).note_worker(there, "web-1", done); }).has_value());
  for (const std::int64_t run : {here, there})
    ASSERT_TRUE(answer<bool>([&](auto done) { EXPECT_TRUE(jobs->kill(run, done).ok()); }).has_value());
  for (const AsyncRun& run : begun) run.leave();
  begun.clear();
  close();
  open();
  RemoteHandler handler{.basic = keeper()};
  handler.has_begun = [there](std::int64_t run) { return run == there; };
  jobs->handle_async("away", keeper());
  RemoteRuns(*jobs).handle("worker", handler);
  jobs->start();
  ASSERT_TRUE(becomes([this] { return begun.size() == 1 && jobs->stats().pending == 1; }));
  EXPECT_EQ(begun[0].run(), there);
  EXPECT_TRUE(begun[0].is_stop_requested());
  begun[0].end({StatusCode::Internal, "exit status 143"});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("here"), ElementsAre("killed killed by a user"));
  EXPECT_THAT(runs("there"), ElementsAre("killed killed by a user; exit status 143"));
}

/// A command that must stop would go on until the fact holds again.
TEST_F(AsyncJobs, AKilledRunIsStoppedAfterARestartAlsoWithoutTheFactsOfItsJob) {
  bool succeeds = true;
  const auto start = [&](RemoteHandler handler) {
    RemoteRuns(*jobs).handle("worker", std::move(handler));
    jobs->handle_in_turn("first", [&succeeds](const JobContext&) {
      return Status{succeeds ? StatusCode::Ok : StatusCode::Internal, "no"};
    });
    jobs->start();
  };
  start({.basic = keeper()});
  put({.name = "first", .handler = "first"});
  put({.name = "there", .handler = "worker", .required_facts = {"job-succeeded:first"}});
  trigger("first");
  const std::int64_t run = trigger("there");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  ASSERT_TRUE(answer<bool>([&](auto done) { RemoteRuns(*jobs).note_worker(run, "web-1", done); }).has_value());
  ASSERT_TRUE(answer<bool>([&](auto done) { EXPECT_TRUE(jobs->kill(run, done).ok()); }).has_value());
  succeeds = false;
  trigger("first");
  ASSERT_TRUE(becomes([this] { return jobs->stats().failed == 1 && jobs->stats().pending == 1; }));
  begun[0].leave();
  begun.clear();
  close();
  open();
  RemoteHandler handler{.basic = keeper()};
  handler.has_begun = [run](std::int64_t id) { return id == run; };
  start(handler);
  ASSERT_TRUE(becomes([this] { return begun.size() == 1 && begun[0].is_stop_requested(); }));
  begun[0].end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("there"), ElementsAre(HasSubstr("killed")));
}

TEST_F(AsyncJobs, AKilledRunThatNoWorkerHasAfterARestartEndsAsKilled) {
  jobs->handle_async("worker", keeper());
  jobs->start();
  put({.name = "a", .handler = "worker"});
  put({.name = "b", .handler = "worker"});
  for (const char* const name : {"a", "b"}) {
    const std::int64_t run = trigger(name);
    ASSERT_TRUE(becomes([this] { return !begun.empty(); }));
    ASSERT_TRUE(answer<bool>([&](auto done) { RemoteRuns(*jobs).note_worker(run, "web-1", done); }).has_value());
    ASSERT_TRUE(answer<bool>([&](auto done) { EXPECT_TRUE(jobs->kill(run, done).ok()); }).has_value());
    begun[0].leave();
    begun.clear();
  }
  close();
  open();
  bool is_held = true;
  RemoteHandler handler{.basic = keeper()};
  handler.held = [&is_held](std::int64_t run) { return is_held && run % 2 == 0 ? "waits for web-1" : ""; };
  RemoteRuns(*jobs).handle("worker", handler);
  jobs->start();
  ASSERT_TRUE(becomes([this] { return jobs->stats().pending == 1; }));
  is_held = false;
  RemoteRuns(*jobs).check_again("worker");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, IsEmpty());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed killed by a user")));
  EXPECT_THAT(runs("b"), ElementsAre(HasSubstr("killed killed by a user")));
}

TEST_F(AsyncJobs, AHandlerOfAPrefixServesAllNamesThatBeginWithIt) {
  std::size_t places = 0;
  AsyncHandler handler = keeper();
  handler.has_room = [this, &places](std::int64_t) { return begun.size() < places; };
  jobs->wait_for_handlers("away/", [](std::string_view name) { return "nobody offers " + std::string{name}; });
  jobs->start();
  put({.name = "a", .handler = "away/web/clean"});
  put({.name = "b", .handler = "away/web/copy", .priority = Priority{40}});
  put({.name = "c", .handler = "away/db/copy"});
  for (const char* const name : {"a", "b", "c"}) trigger(name);
  ASSERT_TRUE(becomes([this] { return JobsView(*jobs).awaited_handlers().size() == 3; }));
  RemoteRuns(*jobs).handle("away/web/", {.basic = handler});
  ASSERT_TRUE(becomes([this] { return JobsView(*jobs).awaited_handlers() == std::vector<std::string>{"away/db/copy"}; }));
  run_a_while();
  EXPECT_THAT(begun, IsEmpty()) << "no room";
  places = 2;
  jobs->has_room("away/web/");
  ASSERT_TRUE(becomes([this] { return begun.size() == 2; }));
  EXPECT_EQ(begun[0].job().name, "b") << "they are in one line, by their priority";
  EXPECT_EQ(begun[1].job().name, "a");
  for (const AsyncRun& run : begun) run.end({});
  ASSERT_TRUE(becomes([this] { return jobs->stats().succeeded == 2; }));
  jobs->handle_async("away/web/copy", keeper());  // It has its own now.
  trigger("b");
  ASSERT_TRUE(becomes([this] { return begun.size() == 3; }));
  begun[2].end({});
  jobs->remove_handler("away/web/copy");
  jobs->remove_handler("away/web/");
  trigger("a");
  ASSERT_TRUE(becomes([this] { return JobsView(*jobs).awaited_handlers().size() == 2; }));
  EXPECT_THAT(JobsView(*jobs).handler_trouble("away/web/clean"), HasSubstr("nobody offers away/web/clean"));
}

/// A program that stood still saw the timeout before the end, and ran the work again.
TEST_F(AsyncJobs, WorkThatEndsBeforeItHearsOfItsTimeoutHasSucceeded) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "slow", .handler = "away", .retries = 1, .timeout = 20ms});
  trigger("slow");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1 && begun[0].is_stop_requested(); }));
  begun[0].end({}, "all");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("slow"), ElementsAre("succeeded all"));
}

TEST_F(AsyncJobs, RunsWithoutRoomWaitInTheOrderOfTheirPriority) {
  std::size_t places = 1;
  AsyncHandler handler = keeper();
  handler.has_room = [this, &places](std::int64_t) {
    return static_cast<std::size_t>(std::ranges::count_if(begun, [](const AsyncRun& run) { return run.is_open(); })) < places;
  };
  jobs->handle_async("away", handler);
  jobs->start();
  put({.name = "low", .handler = "away", .priority = Priority{4}, .overlap = Overlap::Concurrent, .concurrency = 10});
  put({.name = "high", .handler = "away", .priority = Priority{40}});
  trigger("low");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  trigger("low");
  trigger("low");
  ASSERT_TRUE(becomes([this] { return jobs->stats().fired == 3; }));
  trigger("high");
  ASSERT_TRUE(becomes([this] { return jobs->stats().fired == 4; }));
  runtime->scheduler().run_for(20ms);
  EXPECT_EQ(begun.size(), 1U);
  begun[0].end({});
  jobs->has_room("away");
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[1].job().name, "high");
  places = 3;
  jobs->has_room("away");
  EXPECT_EQ(begun.size(), 4U);
  for (const AsyncRun& run : begun) run.end({});
  ASSERT_TRUE(all_ended());
}

TEST_F(AsyncJobs, AnAbsentHandlerIsAFactThatRunsWaitFor) {
  jobs->wait_for_handlers("command/", [](std::string_view handler) { return "no worker offers " + std::string{handler.substr(8)}; });
  jobs->start();
  put({.name = "copy", .handler = "command/backup"});
  put({.name = "other", .handler = "none"});
  const std::int64_t run = trigger("copy");
  trigger("other");
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1 && jobs->stats().pending == 1; }));
  EXPECT_THAT(runs("other"), ElementsAre("failed this program has no handler 'none'; the command 'none' of a worker is the handler "
                                         "'command/none'"));
  const Why why = runtime->why("JOB_RUN_8", "copy#" + std::to_string(run));
  ASSERT_EQ(why.chain.size(), 1U);
  EXPECT_EQ(why.chain[0].facts[0].to_string(), "job-handler:command/backup");
  EXPECT_EQ(why.chain[0].note, "no worker offers backup");

  jobs->handle_async("command/backup", keeper());
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre("succeeded"));
  EXPECT_EQ(runtime->forgotten_facts().announcements, 0U);
}

TEST_F(AsyncJobs, ARunInLineWaitsForItsHandlerAgainWhenThatGoesAway) {
  jobs->wait_for_handlers("command/", [](std::string_view) { return std::string{"no worker"}; });
  AsyncHandler full = keeper();
  full.has_room = [](std::int64_t) { return false; };
  jobs->handle_async("command/backup", full);
  jobs->start();
  put({.name = "copy", .handler = "command/backup"});
  trigger("copy");
  ASSERT_TRUE(becomes([this] { return jobs->stats().fired == 1; }));
  runtime->scheduler().run_for(20ms);
  EXPECT_EQ(runtime->awaited_facts(), 0U);
  jobs->remove_handler("command/backup");
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  jobs->handle_async("command/backup", keeper());
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].end({});
  ASSERT_TRUE(all_ended());
}

TEST_F(AsyncJobs, ARunThatIsLeftOpenIsBegunAgainAfterTheNextStartWithTheSameIdAndDoesNotWaitInLine) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "away"});
  const std::int64_t run = trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].leave();
  begun.clear();
  close();
  open();
  RemoteHandler handler{.basic = keeper()};
  handler.basic.has_room = [](std::int64_t) { return false; };
  handler.has_begun = [run](std::int64_t id) { return id == run; };
  RemoteRuns(*jobs).handle("away", handler);
  jobs->start();
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  EXPECT_EQ(begun[0].run(), run);
  EXPECT_EQ(begun[0].attempt(), 0U);
  begun[0].end({});
  ASSERT_TRUE(all_ended());
}

TEST_F(AsyncJobs, ARunThatIsPutBackWaitsForRoomAgainAtItsPlaceAndHasUsedNoAttempt) {
  std::size_t places = 1;
  AsyncHandler handler = keeper();
  handler.has_room = [this, &places](std::int64_t) {
    return static_cast<std::size_t>(std::ranges::count_if(begun, [](const AsyncRun& run) { return run.is_open(); })) < places;
  };
  jobs->handle_async("away", handler);
  jobs->start();
  put({.name = "copy", .handler = "away", .overlap = Overlap::Concurrent, .concurrency = 10});
  const std::int64_t first = trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  const std::int64_t second = trigger("copy");
  ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(second)->text == "waits for room at the handler away"; }));
  places = 0;
  begun[0].put_back();
  EXPECT_FALSE(begun[0].is_open());
  EXPECT_EQ(jobs->stats().running, 0U);
  EXPECT_EQ(JobsView(*jobs).activity(first)->text, "waits for room at the handler away");
  places = 2;
  jobs->has_room("away");
  ASSERT_EQ(begun.size(), 3U);
  EXPECT_EQ(begun[1].run(), second);
  EXPECT_EQ(begun[2].run(), first);
  EXPECT_EQ(begun[2].attempt(), 0U);
  begun[1].end({});
  // A run that is asked to stop ends as if it had not begun.
  ASSERT_TRUE(jobs->kill(first).ok());
  begun[2].put_back();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre(HasSubstr("killed"), "succeeded"));
  EXPECT_EQ(jobs->stats().attempts, 1U);
}

TEST_F(AsyncJobs, AHandlerMayPutARunBackWithinTheCallAndGoAway) {
  jobs->wait_for_handlers("command/", [](std::string_view) { return std::string{"no worker"}; });
  int calls = 0;
  jobs->handle_async("command/backup", {.begin =
                                            [&](const AsyncRun& run) {
                                              if (++calls == 2) jobs->remove_handler("command/backup");
                                              run.put_back();
                                            },
                                        .has_room = [&calls](std::int64_t) { return calls < 2; }});
  jobs->start();
  put({.name = "copy", .handler = "command/backup"});
  trigger("copy");
  ASSERT_TRUE(becomes([&] { return calls == 1 && jobs->stats().running == 0; }));
  jobs->has_room("command/backup");
  ASSERT_EQ(calls, 2);
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  jobs->handle_async("command/backup", keeper());
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  EXPECT_EQ(begun[0].attempt(), 0U);
  begun[0].end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("copy"), ElementsAre("succeeded"));
}

/// Such a run never began, and its row said that it waits for room.
TEST_F(AsyncJobs, ARunInLineBeginsAtTheNewHandlerOfItsJob) {
  AsyncHandler full = keeper();
  full.has_room = [](std::int64_t) { return false; };
  jobs->handle_async("full", full);
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "full"});
  const std::int64_t run = trigger("copy");
  ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run)->text == "waits for room at the handler full"; }));
  put({.name = "copy", .handler = "away"});
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].end({});
  ASSERT_TRUE(all_ended());
}

TEST_F(AsyncJobs, ARunThatIsHeldAfterARestartHoldsNoOtherAndSaysForWhatItWaits) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "away"});
  put({.name = "other", .handler = "away"});
  const std::int64_t left = trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].leave();
  begun.clear();
  close();
  open();
  bool holds = true;
  RemoteHandler handler{.basic = keeper()};
  handler.basic.has_room = [](std::int64_t) { return true; };
  handler.held = [&holds](std::int64_t) { return holds ? std::string{"waits until it is looked for"} : std::string{}; };
  RemoteRuns(*jobs).handle("away", handler);
  jobs->start();
  ASSERT_TRUE(becomes([&] {
    const auto now = JobsView(*jobs).activity(left);
    return now && now->text == "waits until it is looked for";
  }));
  const std::int64_t newer = trigger("other");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  EXPECT_EQ(begun[0].run(), newer) << "and the run of this process is not held";
  RemoteRuns(*jobs).check_again("away");
  EXPECT_EQ(begun.size(), 1U);
  holds = false;
  RemoteRuns(*jobs).check_again("away");
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[1].run(), left);
  for (const AsyncRun& run : begun) run.end({});
  ASSERT_TRUE(all_ended());
}

/// check_again() wrote into the removed line of held runs, and the runs behind the first one never began.
TEST_F(AsyncJobs, AHandlerThatRemovesItselfWhenItIsAskedAboutHeldRunsLeavesNoRunInItsLine) {
  const std::vector<std::int64_t> ids = leave_three();
  bool removes = false;
  RemoteRuns(*jobs).handle("away", {.basic = {.begin = keeper().begin}, .held = [&](std::int64_t) -> std::string {
                                      if (std::exchange(removes, false)) jobs->remove_handler("away");
                                      return "held";
                                    }});
  jobs->start();
  for (const std::int64_t run : ids)
    ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run) && JobsView(*jobs).activity(run)->text == "held"; }));
  removes = true;
  RemoteRuns(*jobs).check_again("away");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), testing::Each(HasSubstr("this program has no handler 'away'")));
}

/// activity() called the function while its handler destroyed it.
TEST_F(AsyncJobs, AHandlerMayRemoveItselfWhenAnActivityAsksForWhatARunWaits) {
  const std::vector<std::int64_t> ids = leave_three();
  bool removes = false;
  RemoteRuns(*jobs).handle("away",
                           {.basic = {.begin = keeper().begin}, .held = [this, &removes, text = std::string(100, 'x')](std::int64_t) {
                              if (std::exchange(removes, false)) jobs->remove_handler("away");
                              return text;
                            }});
  jobs->start();
  for (const std::int64_t run : ids)
    ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run) && JobsView(*jobs).activity(run)->text == std::string(100, 'x'); }));
  removes = true;
  EXPECT_EQ(JobsView(*jobs).activity(ids.front())->text, std::string(100, 'x'));
  ASSERT_TRUE(all_ended());
}

/// check_again() used the ticket of a run that had ended.
TEST_F(AsyncJobs, AHandlerThatKillsAHeldRunAndRemovesItselfLeavesTheOthersWaitingForIt) {
  leave_three();
  jobs->wait_for_handlers("away", [](std::string_view) { return std::string{"no worker"}; });
  bool leaves = false;
  int asked = 0;
  RemoteRuns(*jobs).handle("away", {.basic = {.begin = keeper().begin}, .held = [&](std::int64_t run) -> std::string {
                                      ++asked;
                                      if (std::exchange(leaves, false)) {
                                        static_cast<void>(jobs->kill(run));
                                        jobs->remove_handler("away");
                                      }
                                      return "held";
                                    }});
  jobs->start();
  ASSERT_TRUE(becomes([&] { return asked == 3; }));
  leaves = true;
  RemoteRuns(*jobs).check_again("away");
  jobs->handle_async("away", keeper());
  ASSERT_TRUE(becomes([this] { return begun.size() == 2; }));
  for (const AsyncRun& run : begun) run.end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed"), "succeeded", "succeeded"));
}

TEST_F(AsyncJobs, AHandlerThatKillsAHeldRunWhenItIsAskedAboutItEndsThisRunAlone) {
  const std::vector<std::int64_t> ids = leave_three();
  bool kills = false;
  bool holds = true;
  RemoteRuns(*jobs).handle("away", {.basic = {.begin = keeper().begin}, .held = [&](std::int64_t run) -> std::string {
                                      if (std::exchange(kills, false)) static_cast<void>(jobs->kill(run));
                                      return holds ? "held" : "";
                                    }});
  jobs->start();
  for (const std::int64_t run : ids)
    ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run) && JobsView(*jobs).activity(run)->text == "held"; }));
  kills = true;
  holds = false;
  RemoteRuns(*jobs).check_again("away");
  ASSERT_EQ(begun.size(), 2U);
  for (const AsyncRun& run : begun) run.end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed"), "succeeded", "succeeded"));
}

/// The killed run was begun all the same.
TEST_F(AsyncJobs, AHandlerThatKillsTheRunAboutWhichItIsAskedDoesNotBeginIt) {
  bool kills = true;
  bool has_room = true;
  jobs->handle_async("away", {.begin = keeper().begin, .has_room = [&](std::int64_t run) {
                                if (kills && has_room) static_cast<void>(jobs->kill(run));
                                return has_room;
                              }});
  jobs->start();
  put({.name = "a", .handler = "away", .overlap = Overlap::Concurrent, .concurrency = 3});
  trigger("a");
  ASSERT_TRUE(all_ended());
  has_room = false;
  const std::int64_t second = trigger("a");
  const std::int64_t third = trigger("a");
  for (const std::int64_t run : {second, third})
    ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run)->text == "waits for room at the handler away"; }));
  has_room = true;
  jobs->has_room("away");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), testing::Each(HasSubstr("killed")));
  EXPECT_EQ(jobs->stats().running, 0U);
  EXPECT_TRUE(begun.empty());
  kills = false;
  trigger("a");
  EXPECT_TRUE(becomes([this] { return begun.size() == 1; })) << "the line is served";
}

/// serve_line() used the removed line, and began a run that had ended. A run that was about to begin waited in the line of no handler.
TEST_F(AsyncJobs, AHandlerThatRemovesItselfWhenItIsAskedForRoomLeavesNoRunInItsLine) {
  jobs->wait_for_handlers("command/", [](std::string_view) { return std::string{"no worker"}; });
  bool removes = false;
  bool has_room = false;
  const AsyncHandler handler{.begin = keeper().begin, .has_room = [this, &removes, &has_room](std::int64_t) {
                               const bool answer = has_room;
                               if (removes) jobs->remove_handler("command/backup");
                               return answer;
                             }};
  jobs->handle_async("command/backup", handler);
  jobs->start();
  put({.name = "a", .handler = "command/backup", .overlap = Overlap::Concurrent, .concurrency = 3});
  for (int i = 0; i < 2; ++i) {
    const std::int64_t run = trigger("a");
    ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(run)->text == "waits for room at the handler command/backup"; }));
  }
  removes = true;
  has_room = true;
  jobs->has_room("command/backup");
  EXPECT_EQ(jobs->stats().running, 0U);
  has_room = false;
  jobs->handle_async("command/backup", handler);
  trigger("a");
  ASSERT_TRUE(becomes([this] { return JobsView(*jobs).awaited_handlers().size() == 1 && jobs->stats().fired == 3; }));
  jobs->handle_async("command/backup", keeper());
  ASSERT_TRUE(becomes([this] { return begun.size() == 3; }));
  for (const AsyncRun& run : begun) run.end({});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), testing::Each(std::string{"succeeded"}));
}

/// The first one that threw kept the answer from the others.
TEST_F(AsyncJobs, AFunctionThatThrowsWhenAnEndIsStoredIsReportedAndTheOthersAreCalled) {
  std::vector<std::string> rejected;
  runtime->on_reject([&](std::string_view, const Change&, const Status& why) { rejected.push_back(why.to_string()); });
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "a", .handler = "away", .overlap = Overlap::Concurrent, .concurrency = 4});
  for (int i = 0; i < 4; ++i) trigger("a");
  ASSERT_TRUE(becomes([this] { return begun.size() == 4; }));
  for (const AsyncRun& run : begun) run.end({});  // The first one is stored alone, the others with one another.
  std::vector<std::string> answers;
  EXPECT_TRUE(jobs->when_stored(begun[1].run(), 0, [](const Status&) { throw std::runtime_error("no reader"); }));
  EXPECT_TRUE(jobs->when_stored(begun[2].run(), 0, {}));
  EXPECT_TRUE(jobs->when_stored(begun[3].run(), 0, [&answers](const Status& why) { answers.push_back(why.to_string()); }));
  ASSERT_TRUE(all_ended());
  ASSERT_TRUE(becomes([&] { return !answers.empty(); }));
  EXPECT_THAT(answers, ElementsAre(Status{}.to_string()));
  EXPECT_THAT(rejected, ElementsAre("internal: the function given to Jobs::when_stored() for run " + std::to_string(begun[1].run()) +
                                    " threw: no reader"));
}

/// A second function was called, too.
TEST_F(AsyncJobs, OneFunctionIsAskedToStopOnceInAnAttempt) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "a", .handler = "away"});
  const std::int64_t run = trigger("a");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  std::vector<int> calls;
  begun[0].on_stop([&calls] { calls.push_back(1); });
  begun[0].on_stop([&calls, this] {
    calls.push_back(2);
    begun[0].on_stop([&calls] { calls.push_back(3); });
  });
  ASSERT_TRUE(jobs->kill(run).ok());
  begun[0].on_stop([&calls] { calls.push_back(4); });
  ASSERT_TRUE(jobs->kill(run).ok());
  EXPECT_THAT(calls, ElementsAre(2));
  begun[0].end({});
  ASSERT_TRUE(all_ended());
}

TEST_F(AsyncJobs, RemovingAJobAsksItsRunToStopAndItsEndIsIgnored) {
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "copy", .handler = "away"});
  const std::int64_t run = trigger("copy");
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  EXPECT_NE(RemoteRuns(*jobs).find(run), nullptr);
  bool stopped = false;
  begun[0].on_stop([&stopped] { stopped = true; });
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->remove("copy", done); }).has_value());
  EXPECT_TRUE(stopped);
  EXPECT_EQ(RemoteRuns(*jobs).find(run), nullptr);
  begun[0].end({});
  EXPECT_EQ(jobs->stats().running, 0U);
}

/// The exception quarantined the source of all timeouts.
TEST_F(AsyncJobs, AStopFunctionThatThrowsIsReportedAndTheNextTimeoutsCome) {
  std::vector<std::string> reported;
  runtime->on_reject([&](std::string_view table, const Change& change, const Status& why) {
    if (change.verb() == "stop")
      reported.push_back(std::string{table} + " " + std::string{change.key()} + ": " + std::string{why.message()});
  });
  jobs->handle_async("away", keeper());
  jobs->start();
  put({.name = "bad", .handler = "away", .timeout = 20ms});
  const std::string run = std::to_string(trigger("bad"));
  ASSERT_TRUE(becomes([this] { return begun.size() == 1; }));
  begun[0].on_stop([] { throw std::runtime_error("cannot stop it"); });
  ASSERT_TRUE(becomes([&] { return !reported.empty(); }));
  const std::string text = "the function of AsyncRun::on_stop() for run " + run + " threw: cannot stop it";
  EXPECT_THAT(reported, ElementsAre("jobs bad#" + run + ": " + text));
  EXPECT_TRUE(begun[0].is_open());
  EXPECT_EQ(runtime->scheduler().stats().quarantined, 0U);
  put({.name = "good", .handler = "away", .timeout = 20ms});
  trigger("good");
  ASSERT_TRUE(becomes([this] { return begun.size() == 2 && begun[1].is_stop_requested(); }));
  for (const AsyncRun& one : begun) one.end({StatusCode::Cancelled, "stopped"});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("good"), ElementsAre(HasSubstr("timed-out the timeout of 20 ms has passed")));
}

}  // namespace
}  // namespace rondo::jobs
