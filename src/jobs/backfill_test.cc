// Backfill: past instants without a run get one, once; which ranges and jobs are refused; and how the runs wait for each other and for the
// other runs of their job. Reruns: which runs run again, and as what. Triggers with parameters of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/testing/testbed.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

WallTime time_of(std::string_view text) { return calendar::parse_rfc3339(text).value(); }

BackfillRange hours(int from, int to) {
  const WallTime midnight = time_of("2020-01-01T00:00:00Z");
  return {.from = midnight + from * 3600s, .to = midnight + to * 3600s};
}

class BackfillTest : public JobsTestbed {
 protected:
  BackfillTest() { start(); }
  ~BackfillTest() override { stop(); }
  void start() {
    open();
    jobs->handle_async("keep", {.begin = [this](const AsyncRun& run) {
                         running.emplace(run.run(), run);
                         begun.push_back(name_of(run));
                         run.on_stop([this, id = run.run()] { end(id); });
                       }});
    jobs->start();
  }
  /// The process ends: what it carries out goes on without it.
  void stop() {
    for (const auto& [id, run] : running) run.leave();
    running.clear();
    close();
  }
  Job hourly(const std::string& name, Overlap overlap = Overlap::Serial) {
    return {.name = name,
            .handler = "keep",
            .schedule = {.when = "cron 0 * * * *"},
            .overlap = overlap,
            .concurrency = overlap == Overlap::Concurrent ? 2U : 1U};
  }
  /// Adds a stopped job.
  void put(const Job& job) {
    const auto stored = answer<StoredJob>([&](auto done) { jobs->put(job, done); });
    ASSERT_TRUE(stored.has_value()) << stored.error().to_string();
  }
  Result<std::vector<JobRun>> backfill(const std::string& name, const BackfillRange& range) {
    return answer<std::vector<JobRun>>([&](auto done) { jobs->backfill(name, range, done); });
  }
  std::string why_not(const std::string& name, const BackfillRange& range) {
    const auto refused = backfill(name, range);
    return refused ? "not refused" : refused.error().to_string();
  }
  /// "05" for the run of 05:00, "now" for one that was triggered.
  static std::string name_of(const AsyncRun& run) {
    const std::string text = calendar::format_rfc3339(run.scheduled());
    return text.starts_with("2020-01-01") ? text.substr(11, 2) : "now";
  }
  void end(std::int64_t id) {
    const auto run = running.extract(id);
    if (!run.empty()) run.mapped().end({});
  }
  /// Ends the oldest run that is under way, when there is one.
  void end_one() {
    ASSERT_TRUE(becomes([this] { return !running.empty(); }));
    end(running.begin()->first);
  }
  /// Lets the runs 9 to 20 begin. In the order of keys, "j#9" would be the last one.
  void begin_across_ten(Overlap overlap) {
    put(hourly("j", overlap));
    ASSERT_THAT(backfill("j", hours(0, 8)).value(), SizeIs(8));
    for (int i = 0; i < 8; ++i) end_one();
    ASSERT_TRUE(all_ended());
    begun.clear();
    ASSERT_THAT(backfill("j", hours(8, 20)).value(), SizeIs(12));
    for (int i = 0; i < 12; ++i) end_one();
    ASSERT_TRUE(all_ended());
    ASSERT_EQ(begun.size(), 12U);
  }
  bool has_begun(std::size_t runs) {
    return becomes([&] { return begun.size() >= runs; });
  }
  std::map<std::int64_t, AsyncRun> running;
  std::vector<std::string> begun;
};

TEST_F(BackfillTest, PastInstantsWithoutARunGetOneAndNoSecondOne) {
  put(hourly("j"));
  ASSERT_THAT(backfill("j", hours(1, 3)).value(), SizeIs(2));
  const auto added = backfill("j", hours(0, 5)).value();
  ASSERT_THAT(added, SizeIs(3)) << "those of 01:00 and 02:00 have a run";
  EXPECT_EQ(added.front().scheduled, hours(0, 1).from);
  EXPECT_EQ(added.back().scheduled, hours(4, 5).from);
  EXPECT_THAT(backfill("j", hours(0, 5)).value(), IsEmpty());
  for (int i = 0; i < 5; ++i) end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, ElementsAre("01", "02", "00", "03", "04"));
  EXPECT_THAT(runs("j"), ElementsAre("succeeded", "succeeded", "succeeded", "succeeded", "succeeded"));
  for (const JobRun& run : rows("j")) EXPECT_EQ(run.band, Band::Backfill);
}

TEST_F(BackfillTest, ADryRunStoresNothing) {
  put(hourly("j"));
  BackfillRange range = hours(0, 5);
  range.dry_run = true;
  const auto previewed = backfill("j", range).value();
  ASSERT_THAT(previewed, SizeIs(5));
  EXPECT_THAT(previewed, Each(testing::Field(&JobRun::id, 0)));
  EXPECT_THAT(rows("j"), IsEmpty());
  EXPECT_EQ(jobs->stats().pending, 0U);
}

TEST_F(BackfillTest, ARangeWithMoreInstantsThanTheLimitIsRefused) {
  put(hourly("j"));
  BackfillRange range = hours(0, 24);
  range.max = 23;
  EXPECT_THAT(why_not("j", range), HasSubstr("24 instants have no run, more than the limit of 23: shorten the range, or raise the limit"));
  range.max = limits::kBackfillRuns;
  range.to = range.from + 1001 * 3600s;
  EXPECT_THAT(why_not("j", range), HasSubstr("1001 instants have no run, more than the limit of 1000"));
  range.max = limits::kBackfillRuns + 1;
  EXPECT_THAT(why_not("j", range), HasSubstr("the limit is 1 to 1000"));
  range.max = 1;
  range.to = range.from + 10'001 * 3600s;
  EXPECT_THAT(why_not("j", range), HasSubstr("the range has more than 10000 instants: shorten it"));
  EXPECT_THAT(rows("j"), IsEmpty());
}

/// They ran a second time.
TEST_F(BackfillTest, InstantsWhoseRunsWereRemovedAreRefused) {
  put(hourly("j"));
  ASSERT_THAT(backfill("j", hours(1, 4)).value(), SizeIs(3));
  for (int i = 0; i < 3; ++i) end_one();
  ASSERT_TRUE(all_ended());
  stop();
  ASSERT_FALSE(make_sqlite_job_store(path()).value()->forget(SystemClock{}.wall_now() + 60s, 100).value());
  start();
  ASSERT_THAT(rows("j"), SizeIs(1)) << "the last one remains";
  const std::string why = why_not("j", hours(0, 5));
  EXPECT_THAT(why, HasSubstr("old runs of the job 'j' were removed, with instants from 2020-01-01T01:00:00Z to 2020-01-01T02:00:00Z"));
  EXPECT_THAT(why, HasSubstr("begin the range after 2020-01-01T02:00:00Z, or end it at 2020-01-01T01:00:00Z"));
  EXPECT_THAT(why_not("j", hours(2, 3)), HasSubstr("were removed"));
  EXPECT_THAT(backfill("j", hours(0, 1)).value(), SizeIs(1));
  EXPECT_THAT(backfill("j", hours(3, 5)).value(), SizeIs(1)) << "the run of 03:00 is there";
  for (int i = 0; i < 2; ++i) end_one();
  ASSERT_TRUE(all_ended());
}

TEST_F(BackfillTest, WhatHasNoPastInstantsIsRefused) {
  put({.name = "hand", .handler = "keep"});
  put({.name = "delay", .handler = "keep", .schedule = {.when = "after 1h"}});
  put(hourly("j"));
  put({.name = "below", .handler = "keep", .parents = {"j"}});
  EXPECT_THAT(why_not("hand", hours(0, 1)), HasSubstr("the schedule 'manual' has no instants in the past"));
  EXPECT_THAT(why_not("delay", hours(0, 1)), HasSubstr("the schedule 'after 1h' has no instants in the past"));
  EXPECT_THAT(why_not("below", hours(0, 1)), HasSubstr("the job 'below' runs after its parents: backfill the job above them"));
  EXPECT_THAT(why_not("j", hours(2, 2)), HasSubstr("the range ends before it begins"));
  EXPECT_THAT(why_not("j", {.from = WallTime::from_nanoseconds(INT64_MIN), .to = hours(0, 1).to}), HasSubstr("begins before 1970"));
  EXPECT_THAT(why_not("j", {.from = hours(0, 1).from, .to = SystemClock{}.wall_now() + 60s}), HasSubstr("the range ends in the future"));
  EXPECT_THAT(why_not("none", hours(0, 1)), HasSubstr("no job 'none'"));
}

TEST_F(BackfillTest, RunsBeginOneByOneWhateverTheOverlapRuleAndConcurrentOnesUpToTheirCap) {
  for (const Overlap overlap : {Overlap::Serial, Overlap::Discard, Overlap::Cover, Overlap::Concurrent}) {
    const std::string name{to_string(overlap)};
    SCOPED_TRACE(name);
    const std::size_t most = overlap == Overlap::Concurrent ? 2 : 1;
    put(hourly(name, overlap));
    ASSERT_THAT(backfill(name, hours(0, 4)).value(), SizeIs(4));
    for (std::size_t ended = 0; ended < 4; ++ended) {
      ASSERT_TRUE(has_begun(std::min<std::size_t>(ended + most, 4)));
      run_a_while(10ms);
      EXPECT_LE(running.size(), most);
      end_one();
    }
    ASSERT_TRUE(all_ended());
    EXPECT_THAT(runs(name), ElementsAre("succeeded", "succeeded", "succeeded", "succeeded"));
    EXPECT_THAT(begun, ElementsAre("00", "01", "02", "03"));
    begun.clear();
  }
}

TEST_F(BackfillTest, RunsBeginInTheOrderOfTheirInstants) {
  begin_across_ten(Overlap::Serial);
  EXPECT_TRUE(std::ranges::is_sorted(begun)) << testing::PrintToString(begun);
}

TEST_F(BackfillTest, SeveralAtATimeBeginInTheOrderOfTheirInstants) {
  begin_across_ten(Overlap::Concurrent);
  // Two runs whose predecessors end together begin together: no other order is one of the instants.
  std::vector<std::string> sorted = begun;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto place = std::ranges::find(begun, sorted[i]) - begun.begin();
    EXPECT_LE(std::abs(place - static_cast<std::ptrdiff_t>(i)), 1) << testing::PrintToString(begun);
  }
}

TEST_F(BackfillTest, AnotherRunOfTheJobGoesBeforeThoseThatWait) {
  put(hourly("j"));
  ASSERT_THAT(backfill("j", hours(0, 3)).value(), SizeIs(3));
  ASSERT_TRUE(has_begun(1));
  trigger("j");
  run_a_while();
  for (int i = 0; i < 4; ++i) end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, ElementsAre("00", "now", "01", "02"));
}

TEST_F(BackfillTest, ARunThatCoversStopsTheOneThatRunsAndLeavesThoseThatWait) {
  put(hourly("j", Overlap::Cover));
  ASSERT_THAT(backfill("j", hours(0, 3)).value(), SizeIs(3));
  ASSERT_TRUE(has_begun(1));
  run_a_while();
  trigger("j");
  ASSERT_TRUE(has_begun(2));
  for (int i = 0; i < 3; ++i) end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, ElementsAre("00", "now", "01", "02"));
  EXPECT_THAT(runs("j"), ElementsAre(HasSubstr("killed covered by"), "succeeded", "succeeded", "succeeded"));
}

TEST_F(BackfillTest, TheJobsBelowRunAfterEachRun) {
  define(hourly("j"));
  define({.name = "below", .handler = "keep", .parents = {"j"}});
  EXPECT_THAT(backfill("j", hours(0, 2)).value(), SizeIs(2)) << "the runs of the job itself";
  for (int i = 0; i < 4; ++i) end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("below"), ElementsAre("succeeded", "succeeded"));
  BackfillRange range = hours(2, 503);
  range.max = limits::kBackfillRuns;
  EXPECT_THAT(why_not("j", range), HasSubstr("501 instants have no run, more than the limit of 500: shorten the range"));
}

TEST_F(BackfillTest, AfterARestartTheRunsOfAStoppedJobGoOnWithTheSameIds) {
  put(hourly("j"));
  const auto added = backfill("j", hours(0, 3)).value();
  ASSERT_TRUE(has_begun(1));
  stop();
  start();
  for (int i = 0; i < 3; ++i) end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, ElementsAre("00", "00", "01", "02"));
  EXPECT_EQ(rows("j").back().id, added.front().id);
  EXPECT_THAT(runs("j"), ElementsAre("succeeded", "succeeded", "succeeded"));
}

/// Ends what is under way as failed, and reruns it.
class RerunTest : public BackfillTest {
 protected:
  void fail_one() {
    ASSERT_TRUE(becomes([this] { return !running.empty(); }));
    parameters.push_back(running.begin()->second.job().parameters);
    running.extract(running.begin()).mapped().end({StatusCode::Internal, "broken"});
    ASSERT_TRUE(all_ended());
  }
  Result<JobRun> rerun(std::int64_t run) {
    return answer<JobRun>([&](auto done) { jobs->rerun(run, done); });
  }
  std::string refusal(std::int64_t run) {
    const auto refused = rerun(run);
    return refused ? "not refused" : refused.error().to_string();
  }
  JobRun trigger_with(const std::string& name, const TriggerOptions& with) {
    const auto run = answer<JobRun>([&](auto done) { jobs->trigger(name, with, done); });
    EXPECT_TRUE(run.has_value()) << run.error().to_string();
    return run.value_or(JobRun{});
  }
  /// The first attempt of two fails.
  void fail_retry() {
    const std::size_t before = begun.size();
    ASSERT_TRUE(becomes([this] { return !running.empty(); }));
    parameters.push_back(running.begin()->second.job().parameters);
    running.extract(running.begin()).mapped().end({StatusCode::Internal, "broken"});
    ASSERT_TRUE(has_begun(std::max(before, begun.size()) + 1));
  }
  std::vector<std::string> parameters;
};

TEST_F(RerunTest, AFailedRunRunsAgainForItsOwnInstant) {
  put(hourly("j"));
  const std::int64_t first = backfill("j", hours(1, 2)).value().front().id;
  fail_one();
  const auto again = rerun(first);
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->scheduled, hours(1, 2).from);
  EXPECT_EQ(again->rerun_of, first);
  EXPECT_NE(again->id, first);
  end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, ElementsAre("01", "01"));
  EXPECT_THAT(runs("j"), ElementsAre("failed broken", "succeeded"));
  EXPECT_THAT(backfill("j", hours(1, 2)).value(), IsEmpty()) << "the instant has its run";
}

TEST_F(RerunTest, ARerunMayFailAndRunAgain) {
  put(hourly("j"));
  std::int64_t last = backfill("j", hours(1, 2)).value().front().id;
  for (int i = 0; i < 3; ++i) {
    fail_one();
    const auto again = rerun(last);
    ASSERT_TRUE(again.has_value()) << again.error().to_string();
    EXPECT_EQ(again->rerun_of, last);
    last = again->id;
  }
  end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(begun, ElementsAre("01", "01", "01", "01"));
}

TEST_F(RerunTest, AKilledRunRunsAgain) {
  put(hourly("j"));
  const std::int64_t first = trigger("j").id;
  ASSERT_TRUE(has_begun(1));
  ASSERT_TRUE(jobs->kill(first).ok());
  ASSERT_TRUE(all_ended());
  ASSERT_TRUE(rerun(first).has_value());
  end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("j"), ElementsAre("killed killed by a user", "succeeded"));
}

TEST_F(RerunTest, RunsThatSucceededHaveNotEndedOrAreUnknownAreRefused) {
  put(hourly("j"));
  const std::int64_t done = trigger("j").id;
  EXPECT_THAT(refusal(done), HasSubstr("failed-precondition: the run 1 has not ended"));
  end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(refusal(done), HasSubstr("failed-precondition: the run 1 has succeeded"));
  EXPECT_THAT(refusal(99), HasSubstr("not-found: no run 99: it never was"));
  const std::int64_t failed = trigger("j").id;
  fail_one();
  ASSERT_TRUE(answer<StoredJob>([&](auto answered) { jobs->remove("j", answered); }).has_value());
  EXPECT_THAT(refusal(failed), HasSubstr("not-found: no run 2"));
  put(hourly("j"));
  EXPECT_THAT(refusal(failed), HasSubstr("not-found: no run 2")) << "a new job of the same name";
}

TEST_F(RerunTest, ARerunStopsNoRunOfItsJob) {
  put(hourly("j", Overlap::Cover));
  const std::int64_t first = trigger("j").id;
  fail_one();
  trigger("j");
  ASSERT_TRUE(has_begun(2));
  ASSERT_TRUE(rerun(first).has_value());
  run_a_while();
  EXPECT_EQ(begun.size(), 2U) << "the rerun waits";
  end_one();
  end_one();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("j"), ElementsAre("failed broken", "succeeded", "succeeded"));
}

TEST_F(RerunTest, TheJobsBelowRunAfterIt) {
  put(hourly("top"));
  define({.name = "below", .handler = "keep", .parents = {"top"}});
  const std::int64_t first = backfill("top", hours(1, 2)).value().front().id;
  fail_one();
  ASSERT_THAT(runs("below"), ElementsAre(HasSubstr("skipped")));
  const auto again = rerun(first);
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  end_one();
  end_one();
  ASSERT_TRUE(all_ended());
  const JobRun below = rows("below").front();
  EXPECT_EQ(below.state, RunState::Succeeded);
  EXPECT_EQ(below.scheduled, hours(1, 2).from);
  EXPECT_THAT(below.parents, ElementsAre(again->id));
}

TEST_F(RerunTest, ParametersOfATriggerHoldForItsRunItsRetriesAndItsReruns) {
  Job job = hourly("j");
  job.parameters = "of the job";
  job.retries = 1;
  job.backoff = 1ms;
  put(job);
  const std::int64_t first = trigger_with("j", {.parameters = "of the run"}).id;
  ASSERT_TRUE(has_begun(1));
  parameters.push_back(running.begin()->second.job().parameters);
  stop();
  start();  // The attempt begins again.
  ASSERT_TRUE(has_begun(2));
  parameters.push_back(running.begin()->second.job().parameters);
  running.extract(running.begin()).mapped().end({StatusCode::Internal, "broken"});
  ASSERT_TRUE(has_begun(3));
  fail_one();
  ASSERT_TRUE(rerun(first).has_value());
  fail_retry();
  fail_one();
  trigger("j");
  fail_retry();
  fail_one();
  EXPECT_THAT(parameters, ElementsAre("of the run", "of the run", "of the run", "of the run", "of the run", "of the job", "of the job"));
}

TEST_F(RerunTest, ParametersOfATriggerAreAsLongAsThoseOfAJob) {
  put(hourly("j"));
  const auto refused = [this](const std::string& text) {
    const auto run = answer<JobRun>([&](auto done) { jobs->trigger("j", {.parameters = text}, done); });
    return run ? "not refused" : run.error().to_string();
  };
  EXPECT_THAT(refused(std::string(limits::kJobParameters + 1, 'x')), HasSubstr("parameters: more than 65536 bytes"));
  EXPECT_THAT(refused("\xff"), HasSubstr("parameters: it is not UTF-8"));
  EXPECT_THAT(rows("j"), IsEmpty());
  trigger_with("j", {.parameters = std::string(limits::kJobParameters, 'x')});
  fail_one();
  EXPECT_EQ(parameters.front().size(), limits::kJobParameters);
  EXPECT_EQ(rows("j").front().parameters->size(), limits::kJobParameters);
}

}  // namespace
}  // namespace rondo::jobs::test
