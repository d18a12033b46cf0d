// forecast(): firings, misfires after outages, and the load of each minute. It must agree with the planner cycle by cycle.
#include "rondo/jobs/forecast.h"
#include "base/testing/sanitized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "jobs/planner.h"
#include "rondo/base/random.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

WallTime at(std::string_view text) { return calendar::parse_rfc3339(text).value(); }

class ForecastTest : public ::testing::Test {
 protected:
  void add(Job job) {
    const auto id = static_cast<std::int64_t>(jobs.size() + 1);
    Planner planner({});
    job.handler = "h";
    const auto next = planner.first_after(job, id, options.from + Duration{-1});
    EXPECT_TRUE(next.has_value());
    jobs.push_back({.id = id, .job = std::move(job), .is_running = true, .next = *next});
  }
  /// Each run as "DUE JOB band [state] [+missed]".
  std::vector<std::string> runs() {
    std::vector<std::string> texts;
    const auto made = forecast(jobs, options, [&texts](const JobRun& run) {
      std::string text = calendar::format_rfc3339(run.due) + " " + run.job + " " + std::string{to_string(run.band)};
      if (run.state == RunState::Skipped) text += " skipped";
      if (run.missed > 0) text += " +" + std::to_string(run.missed);
      texts.push_back(std::move(text));
    });
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
    found = made.value_or(Forecast{});
    return texts;
  }
  ForecastOptions options{.from = at("2026-03-01T00:00:00Z"), .to = at("2026-03-01T01:00:00Z")};
  std::vector<StoredJob> jobs;
  Forecast found;
};

TEST_F(ForecastTest, FiringsOfAllJobsAreInTheOrderOfTime) {
  add({.name = "b", .schedule = {.when = "every 20min"}});
  add({.name = "a", .schedule = {.when = "cron 30 * * * *"}});
  add({.name = "once", .schedule = {.when = "at 2026-03-01T00:25:00Z"}});
  add({.name = "delay", .schedule = {.when = "after 50min"}});
  jobs.push_back({.id = 9, .job = {.name = "stopped", .handler = "h"}, .is_running = false, .next = at("2026-03-01T00:01:00Z")});
  EXPECT_THAT(runs(), ElementsAre("2026-03-01T00:00:00Z b ring", "2026-03-01T00:20:00Z b ring", "2026-03-01T00:25:00Z once ring",
                                  "2026-03-01T00:30:00Z a ring", "2026-03-01T00:40:00Z b ring", "2026-03-01T00:49:59.999Z delay ring"));
  EXPECT_EQ(found.firings, 6U);
  EXPECT_EQ(found.misfires, 0U);
}

TEST_F(ForecastTest, AJobWithParentsRunsWithItsRootAndCountsInTheLoad) {
  add({.name = "last", .parents = {"left", "right"}});
  add({.name = "left", .parents = {"root"}});
  add({.name = "right", .parents = {"root"}});
  add({.name = "root", .schedule = {.when = "every 30min"}, .misfire = Misfire::DoNothing});
  add({.name = "stopped", .parents = {"root"}});
  jobs.back().is_running = false;
  add({.name = "below", .parents = {"stopped"}});
  options.outages = {{at("2026-03-01T00:29:00Z"), at("2026-03-01T00:40:00Z")}};
  EXPECT_THAT(runs(), ElementsAre("2026-03-01T00:00:00Z root ring", "2026-03-01T00:00:00Z left ring", "2026-03-01T00:00:00Z right ring",
                                  "2026-03-01T00:00:00Z last ring", "2026-03-01T00:40:00Z root misfire skipped"));
  EXPECT_EQ(found.firings, 4U);
  ASSERT_THAT(found.peaks, SizeIs(1));
  EXPECT_EQ(found.peaks[0].firings, 4U);
  EXPECT_THAT(found.peaks[0].jobs, ElementsAre("root", "left", "right", "last"));
}

TEST_F(ForecastTest, AfterAnOutageMisfireDecides) {
  options.outages = {{at("2026-03-01T00:10:30Z"), at("2026-03-01T00:20:00Z")}, {at("2026-03-01T00:15:00Z"), at("2026-03-01T00:30:30Z")}};
  add({.name = "fires", .schedule = {.when = "every 10min"}});
  add({.name = "not", .schedule = {.when = "every 10min"}, .misfire = Misfire::DoNothing});
  add({.name = "soon", .schedule = {.when = "cron 30 * * * *"}});
  EXPECT_THAT(runs(), ElementsAre("2026-03-01T00:00:00Z fires ring", "2026-03-01T00:00:00Z not ring", "2026-03-01T00:10:00Z fires ring",
                                  "2026-03-01T00:10:00Z not ring", "2026-03-01T00:30:30Z fires misfire +1",
                                  "2026-03-01T00:30:30Z not misfire skipped +1", "2026-03-01T00:30:30Z soon misfire",
                                  "2026-03-01T00:40:00Z fires ring", "2026-03-01T00:40:00Z not ring", "2026-03-01T00:50:00Z fires ring",
                                  "2026-03-01T00:50:00Z not ring"));
  EXPECT_EQ(found.misfires, 2U);
  EXPECT_EQ(found.skipped, 1U);
  EXPECT_EQ(found.missed, 2U);
}

TEST_F(ForecastTest, WhatWasPlannedBeforeAnOutageRunsAtItsEnd) {
  options.outages = {{at("2026-03-01T00:09:59Z"), at("2026-03-01T00:30:30Z")}};
  add({.name = "planned", .schedule = {.when = "at 2026-03-01T00:10:00Z"}});
  EXPECT_THAT(runs(), ElementsAre("2026-03-01T00:30:30Z planned ring"));
}

TEST_F(ForecastTest, PeaksAreNamed) {
  for (int i = 0; i < 8; ++i) add({.name = "hourly-" + std::to_string(i), .schedule = {.when = "cron 15 * * * *"}});
  add({.name = "often", .schedule = {.when = "every 30s"}});
  options.peaks = 2;
  runs();
  ASSERT_THAT(found.peaks, SizeIs(2));
  EXPECT_EQ(calendar::format_rfc3339(found.peaks[0].minute), "2026-03-01T00:15:00Z");
  EXPECT_EQ(found.peaks[0].firings, 10U);
  EXPECT_THAT(found.peaks[0].jobs, ElementsAre("often", "hourly-0", "hourly-1", "hourly-2", "hourly-3"));
  EXPECT_EQ(found.peaks[1].firings, 2U);
  EXPECT_EQ(found.minutes.size(), 60U);
  EXPECT_EQ(found.minutes[15], 10U);
}

/// It named no job: none of them has an instant in that minute.
TEST_F(ForecastTest, ThePeakAfterAnOutageIsNamedWithTheJobsThatRunThen) {
  options.outages = {{at("2026-03-01T00:10:00Z"), at("2026-03-01T00:40:30Z")}};
  options.peaks = 1;
  add({.name = "once", .schedule = {.when = "cron 20 * * * *"}, .misfire = Misfire::FireOnce});
  add({.name = "all", .schedule = {.when = "every 10min"}, .misfire = Misfire::FireAll});
  static_cast<void>(runs());
  ASSERT_THAT(found.peaks, SizeIs(1));
  EXPECT_EQ(calendar::format_rfc3339(found.peaks[0].minute), "2026-03-01T00:40:00Z");
  EXPECT_THAT(found.peaks[0].jobs, ElementsAre("all", "once"));
}

TEST_F(ForecastTest, WrongTimesAreRefused) {
  const auto refusal = [this] { return forecast(jobs, options, {}).error().to_string(); };
  options.to = options.from;
  EXPECT_THAT(refusal(), HasSubstr("not after"));
  options.to = options.from + limits::kForecastSpan + 1ns;
  EXPECT_THAT(refusal(), HasSubstr("at most 3660 days"));
  const WallTime from = std::exchange(options.from, WallTime::from_nanoseconds(INT64_MIN));
  options.to = WallTime::from_nanoseconds(INT64_MAX);
  EXPECT_THAT(refusal(), HasSubstr("at most 3660 days"));
  options.from = from;
  options.to = from + 1h;
  const Duration cycle = std::exchange(options.cycle, Duration{});
  EXPECT_THAT(refusal(), HasSubstr("a cycle above 0"));
  options.cycle = cycle;
  options.outages = {{options.from, options.from}};
  EXPECT_THAT(refusal(), HasSubstr("an outage"));
}

TEST_F(ForecastTest, AJobThatCannotBePlannedIsNamed) {
  jobs.push_back({.id = 1,
                  .job = {.name = "bad", .handler = "h", .schedule = {.when = "every 1h", .zone = "Nowhere/None"}},
                  .is_running = true,
                  .next = options.from});
  EXPECT_THAT(runs(), IsEmpty());
  ASSERT_THAT(found.troubles, SizeIs(1));
  EXPECT_THAT(found.troubles[0], HasSubstr("job 'bad'"));
}

/// What a planner that looks each second fires must be what the forecast says.
TEST_F(ForecastTest, AgreesWithThePlannerCycleByCycleProperty) {
  const std::vector<std::string> schedules{"every 7s", "every 250ms", "cron */5 * * * *", "every 1min", "cron 0-10 0 * * *"};
  for (std::uint64_t seed = 1; seed <= plain_or_sanitized(30U, 10U); ++seed) {
    Random random(seed);
    jobs.clear();
    options.outages.clear();
    for (const std::string& when : schedules) {
      add({.name = "j" + std::to_string(jobs.size()),
           .schedule = {.when = when},
           .misfire = static_cast<Misfire>(random.below(4)),
           .misfire_runs = static_cast<std::uint32_t>(1 + random.below(20))});
    }
    const auto second = [&](std::uint64_t below) { return static_cast<std::int64_t>(random.below(below)) * 1s; };
    const WallTime down = options.from + 1min + second(600);
    options.outages = {{down, down + 1s + second(900)}};
    std::map<std::string, std::uint64_t> fired;
    ASSERT_TRUE(forecast(jobs, options, [&fired](const JobRun& run) {
                  fired[run.job + " " + calendar::format_rfc3339(run.scheduled)]++;
                }).has_value());
    std::map<std::string, std::uint64_t> expected;
    Planner planner({});
    std::vector<StoredJob> live = jobs;
    for (WallTime now = options.from; now < options.to; now = now + 1s) {
      if (now >= options.outages[0].from && now < options.outages[0].to) continue;
      for (StoredJob& job : live) {
        while (job.next && *job.next <= now + 5s) {
          const Plan plan = plan_job(job, **planner.compiled(job.job, job.id), now, {});
          job.next = plan.next;
          for (const JobRun& run : plan.runs) {
            if (run.due < options.to) expected[run.job + " " + calendar::format_rfc3339(run.scheduled)]++;
          }
        }
      }
    }
    ASSERT_EQ(fired, expected) << "seed " << seed;
  }
}

TEST_F(ForecastTest, AYearOfAThousandJobsTakesSecondsLarge) {
  constexpr int kJobs = plain_or_sanitized(1000, 100);
  options.to = options.from + 365 * 24h;
  const std::vector<std::string> schedules{"cron 30 2 * * *", "cron 0 * * * *", "cron 0 9 * * MON-FRI", "every 6h", "cron 0 0 1 * *"};
  for (int i = 0; i < kJobs; ++i)
    add({.name = "j" + std::to_string(i), .schedule = {.when = schedules[static_cast<std::size_t>(i) % 5], .zone = "Europe/Berlin"}});
  options.outages = {{at("2026-06-01T00:00:00Z"), at("2026-06-02T00:00:00Z")}};
  const auto began = std::chrono::steady_clock::now();
  const auto made = forecast(jobs, options, {});
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began).count();
  ASSERT_TRUE(made.has_value());
  std::printf("%llu firings in %lld ms\n", static_cast<unsigned long long>(made->firings), static_cast<long long>(took));
  EXPECT_GT(made->firings, 2000U * kJobs);
  EXPECT_FALSE(made->cut_short);
}

TEST_F(ForecastTest, AForecastOfTooManyRunsIsCutShort) {
  EXPECT_EQ(options.runs_max, limits::kForecastRuns);
  options.runs_max = 100'000;
  options.to = options.from + 365 * 24h;
  add({.name = "j", .schedule = {.when = "every 10ms"}});
  const auto made = forecast(jobs, options, {});
  ASSERT_TRUE(made.has_value());
  EXPECT_TRUE(made->cut_short);
  EXPECT_EQ(made->firings, options.runs_max);
}

}  // namespace
}  // namespace rondo::jobs
