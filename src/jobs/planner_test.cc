// plan_job(): which scheduled instants become runs, in which band, and what becomes of those that were missed.
#include "jobs/planner.h"
#include "jobs/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

WallTime at(std::string_view text) { return calendar::parse_rfc3339(text).value(); }

class PlanTest : public ::testing::Test {
 protected:
  /// Plans a job whose next time is 'next', and returns each run as "TIME band state +missed".
  std::vector<std::string> plan(std::string_view next, std::string_view now) {
    StoredJob stored{.id = 3, .job = job, .is_running = true, .next = at(next)};
    const auto compiled = planner.compiled(job, 3);
    EXPECT_TRUE(compiled.has_value());
    const Plan plan = plan_job(stored, **compiled, at(now), options);
    next_time = plan.next ? calendar::format_rfc3339(*plan.next) : "never";
    std::vector<std::string> runs;
    for (const JobRun& run : plan.runs) {
      std::string text =
          calendar::format_rfc3339(run.scheduled) + " " + std::string{to_string(run.band)} + " " + std::string{to_string(run.state)};
      if (run.missed > 0) text += " +" + std::to_string(run.missed);
      runs.push_back(std::move(text));
    }
    return runs;
  }

  PlannerOptions options;
  Planner planner{options};
  Job job{.name = "j", .handler = "h", .schedule = {.when = "every 10s"}};
  std::string next_time;
};

TEST_F(PlanTest, AnInstantWithinTheWindowGoesIntoTheRing) {
  EXPECT_THAT(plan("2026-01-01T10:00:10Z", "2026-01-01T10:00:05Z"), ElementsAre("2026-01-01T10:00:10Z ring due"));
  EXPECT_EQ(next_time, "2026-01-01T10:00:20Z");
}

TEST_F(PlanTest, AnInstantBeyondTheWindowWaitsForALaterCycle) {
  EXPECT_THAT(plan("2026-01-01T10:00:10Z", "2026-01-01T10:00:04.999Z"), IsEmpty());
  EXPECT_EQ(next_time, "2026-01-01T10:00:10Z");
}

// The bands of the Orth scheduler: up to 5 s late normal, up to 10 s late direct, later a misfire.
TEST_F(PlanTest, TheBandFollowsFromTheLateness) {
  job.schedule.when = "every 1h";
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:05Z"), ElementsAre("2026-01-01T10:00:00Z ring due"));
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:05.001Z"), ElementsAre("2026-01-01T10:00:00Z direct due"));
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:10Z"), ElementsAre("2026-01-01T10:00:00Z direct due"));
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:10.001Z"), ElementsAre("2026-01-01T10:00:00Z misfire due"));
}

TEST_F(PlanTest, OfMissedInstantsTheNewestRunsOnceAndCountsTheOthers) {
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:01:02Z"),
              ElementsAre("2026-01-01T10:00:50Z misfire due +5", "2026-01-01T10:01:00Z ring due"));
  EXPECT_EQ(next_time, "2026-01-01T10:01:10Z");
}

TEST_F(PlanTest, WithDoNothingTheMissedInstantsAreOneSkippedRun) {
  job.misfire = Misfire::DoNothing;
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:01:02Z"),
              ElementsAre("2026-01-01T10:00:50Z misfire skipped +5", "2026-01-01T10:01:00Z ring due"));
}

TEST_F(PlanTest, OfMissedInstantsTheNewestOnesRunAndTheFirstCountsTheOthers) {
  job.misfire = Misfire::FireLast;
  job.misfire_runs = 3;
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:01:02Z"),
              ElementsAre("2026-01-01T10:00:30Z misfire due +3", "2026-01-01T10:00:40Z misfire due", "2026-01-01T10:00:50Z misfire due",
                          "2026-01-01T10:01:00Z ring due"));
  EXPECT_EQ(next_time, "2026-01-01T10:01:10Z");
  job.misfire_runs = 6;
  EXPECT_EQ(plan("2026-01-01T10:00:00Z", "2026-01-01T10:01:02Z").front(), "2026-01-01T10:00:00Z misfire due") << "all have a run";
}

TEST_F(PlanTest, OfAllMissedInstantsTheNewestRunUpToTheLimit) {
  job.misfire = Misfire::FireAll;
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:42Z"),
              ElementsAre("2026-01-01T10:00:00Z misfire due", "2026-01-01T10:00:10Z misfire due", "2026-01-01T10:00:20Z misfire due",
                          "2026-01-01T10:00:30Z misfire due", "2026-01-01T10:00:40Z ring due"));
  job.schedule.when = "every 1min";
  const auto runs = plan("2026-01-01T00:00:00Z", "2026-01-02T00:00:30Z");
  ASSERT_EQ(runs.size(), limits::kMisfireRuns);
  EXPECT_EQ(runs.front(), "2026-01-01T07:21:00Z misfire due +441") << "1441 minutes were missed";
  EXPECT_EQ(runs.back(), "2026-01-02T00:00:00Z misfire due");
}

TEST_F(PlanTest, AfterAnOutageOfAYearTheNewestInstantsRun) {
  job.misfire = Misfire::FireLast;
  job.misfire_runs = 2;
  job.schedule.when = "every 10ms";
  auto runs = plan("2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
  EXPECT_EQ(runs[0], "2025-12-31T23:59:49.980Z misfire due +9998");
  EXPECT_EQ(runs[1], "2025-12-31T23:59:49.990Z misfire due");
  EXPECT_EQ(runs[2], "2025-12-31T23:59:50Z direct due");
  job.schedule.when = "cron * * * 1 6 *";  // All seconds of one day, long ago.
  job.schedule.dialect = "unix6";
  runs = plan("2025-06-01T00:00:00Z", "2026-01-01T00:00:00Z");
  EXPECT_EQ(runs[0], "2025-06-01T23:59:58Z misfire due +9998");
  EXPECT_EQ(runs[1], "2025-06-01T23:59:59Z misfire due");
  job.misfire = Misfire::FireAll;
  job.schedule = {.when = "every 10ms"};
  runs = plan("2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
  EXPECT_EQ(runs[0], "2025-12-31T23:59:40Z misfire due +9000");
  EXPECT_EQ(runs[limits::kMisfireRuns - 1], "2025-12-31T23:59:49.990Z misfire due");
  EXPECT_EQ(runs[limits::kMisfireRuns], "2025-12-31T23:59:50Z direct due");
}

TEST_F(PlanTest, TheLeadRecoversAfterASlowCycle) {
  job.schedule.when = "every 1s";
  EXPECT_THAT(plan("2026-01-01T10:00:01Z", "2026-01-01T10:00:04Z").size(), 9U) << "3 s late, and 5 s ahead";
  EXPECT_EQ(next_time, "2026-01-01T10:00:10Z");
}

TEST_F(PlanTest, AnOutageOfAYearOfAFrequentJobIsBounded) {
  job.schedule.when = "every 10ms";
  const auto runs = plan("2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
  EXPECT_EQ(runs.front(), "2025-12-31T23:59:49.990Z misfire due +9999") << "the newest one; the oldest ones are counted, up to the limit";
  EXPECT_EQ(runs.size(), limits::kRunsOfPlan + 1);
  EXPECT_THAT(runs[1], testing::StartsWith("2025-12-31T23:59:50Z direct"));
}

TEST_F(PlanTest, AnInstantThatComesOnceIsTheLastOne) {
  job.schedule.when = "at 2026-01-01T10:00:00Z";
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"), ElementsAre("2026-01-01T10:00:00Z ring due"));
  EXPECT_EQ(next_time, "never");
}

TEST_F(PlanTest, ADelayGoesOnAfterItsRunAndAlsoWhereNothingRan) {
  job.schedule.when = "after 30s";
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"), ElementsAre("2026-01-01T10:00:00Z ring due"));
  EXPECT_EQ(next_time, "never") << "until the run has ended";
  job.misfire = Misfire::DoNothing;
  EXPECT_THAT(plan("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z"), ElementsAre("2026-01-01T10:00:00Z misfire skipped"));
  EXPECT_EQ(next_time, "2026-01-01T10:05:30Z");
}

TEST_F(PlanTest, OnExcludedDaysNothingIsDue) {
  job.schedule = {.when = "cron 0 2 * * *", .zone = "Asia/Tokyo", .excluded = "SAT, SUN, 01-01"};
  // 2026-01-01 is a Thursday. In Tokyo it is 02:00 at 17:00 UTC of the day before.
  EXPECT_THAT(plan("2025-12-30T17:00:00Z", "2025-12-30T17:00:00Z"), ElementsAre("2025-12-30T17:00:00Z ring due"));
  EXPECT_EQ(next_time, "2026-01-01T17:00:00Z");
  EXPECT_THAT(plan("2026-01-01T17:00:00Z", "2026-01-05T17:00:00Z"),
              ElementsAre("2026-01-04T17:00:00Z misfire due +1", "2026-01-05T17:00:00Z ring due"))
      << "excluded days are not missed";
  job.schedule = {.when = "at 2026-01-03T12:00:00Z", .excluded = "SAT"};
  const auto compiled = planner.compiled(job, 5);
  ASSERT_TRUE(compiled.has_value());
  EXPECT_EQ(next_after(**compiled, at("2026-01-01T00:00:00Z")), std::nullopt);
}

TEST_F(PlanTest, AZoneThatDoesNotExistIsAnErrorWithItsName) {
  job.schedule = {.when = "cron 0 2 * * *", .zone = "Europe/Nowhere"};
  const auto compiled = planner.compiled(job, 4);
  ASSERT_FALSE(compiled.has_value());
  EXPECT_THAT(compiled.error().to_string(), testing::HasSubstr("Europe/Nowhere"));
}

/// A store whose jobs are all due: as many as the caller takes.
class AllDue final : public JobStore {
 public:
  Result<std::vector<StoredJob>> due(WallTime until, DuePlace, std::size_t max) override {
    std::vector<StoredJob> jobs;
    while (jobs.size() < std::min(max, due_jobs)) {
      jobs.push_back(
          {.id = static_cast<std::int64_t>(jobs.size()) + 1, .job = {.name = "j", .handler = "h"}, .is_running = true, .next = until});
    }
    return jobs;
  }
  Status plan(std::span<Plan> plans) override {
    planned += plans.size();
    if (!listed.empty()) {
      for (const Plan& plan : plans) listed.at(static_cast<std::size_t>(plan.job_id - 1)).next = plan.next;
    }
    return {};
  }
  Status atomically(const std::function<Status()>&) override { return {StatusCode::Unavailable, "not used"}; }
  Result<StoredJob> put(const Job&, std::optional<WallTime>) override { return failure(StatusCode::Unavailable, "not used"); }
  Status remove(std::string_view) override { return {StatusCode::Unavailable, "not used"}; }
  Status set_running(std::string_view, bool, std::optional<WallTime>, std::string_view) override {
    return {StatusCode::Unavailable, "not used"};
  }
  Result<StoredJob> find(std::string_view) override { return failure(StatusCode::Unavailable, "not used"); }
  Result<std::vector<StoredJob>> list(std::string_view after, std::size_t max) override {
    std::vector<StoredJob> page;
    for (const StoredJob& job : listed) {
      if (job.job.name > after && page.size() < max) page.push_back(job);
    }
    return page;
  }
  Result<std::vector<StoredJob>> children(std::string_view) override { return std::vector<StoredJob>{}; }
  Status add_runs(std::span<JobRun>) override { return {StatusCode::Unavailable, "not used"}; }
  Result<JobRun> run(std::int64_t) override { return failure(StatusCode::Unavailable, "not used"); }
  Status finish(std::span<const RunEnd>) override { return {StatusCode::Unavailable, "not used"}; }
  Result<std::vector<JobRun>> unfinished(std::int64_t, std::size_t) override { return failure(StatusCode::Unavailable, "not used"); }
  Result<std::vector<JobRun>> runs(std::string_view, std::int64_t, std::size_t) override {
    return failure(StatusCode::Unavailable, "not used");
  }
  Status remember(std::string_view, std::string_view) override { return {StatusCode::Unavailable, "not used"}; }
  Result<std::string> remembered(std::string_view) override { return failure(StatusCode::Unavailable, "not used"); }
  Result<std::vector<JobRun>> failures(WallTime, std::int64_t, std::size_t, std::string_view) override {
    return failure(StatusCode::Unavailable, "not used");
  }
  Result<std::optional<JobRun>> last_ended(std::string_view) override { return failure(StatusCode::Unavailable, "not used"); }
  Result<std::optional<JobRun>> last_succeeded(std::string_view) override { return failure(StatusCode::Unavailable, "not used"); }
  Result<std::vector<WallTime>> instants(std::int64_t, WallTime, WallTime, std::size_t) override {
    return failure(StatusCode::Unavailable, "not used");
  }
  Result<bool> forget(WallTime, std::size_t) override { return failure(StatusCode::Unavailable, "not used"); }
  Status note_worker(std::int64_t, std::string_view) override { return {StatusCode::Unavailable, "not used"}; }
  Status note_killed(std::int64_t) override { return {StatusCode::Unavailable, "not used"}; }
  Result<bool> forget_beyond(std::size_t, std::size_t) override { return false; }
  Result<std::optional<RemovedInstants>> removed_instants(std::int64_t) override { return std::nullopt; }

  std::size_t due_jobs = 0;
  std::vector<StoredJob> listed;  // In the order of their names; the ids begin at 1.
  std::size_t planned = 0;
};

TEST(Planner, ACycleHandlesTheLimitOfJobsAndSaysThatMoreAreDue) {
  AllDue store;
  store.due_jobs = limits::kJobsOfCycle + 1;
  Planner planner{PlannerOptions{}};
  const auto full = planner.run(store, at("2026-01-01T10:00:00Z"));
  ASSERT_TRUE(full.has_value());
  EXPECT_FALSE(full->is_complete);
  EXPECT_EQ(store.planned, limits::kJobsOfCycle);
  store.due_jobs = limits::kJobsOfCycle - 1;
  const auto rest = planner.run(store, at("2026-01-01T10:00:00Z"));
  ASSERT_TRUE(rest.has_value());
  EXPECT_TRUE(rest->is_complete);
}

TEST(Planner, ReplansInPagesAndOnlyWhatIsNotDueYet) {
  const WallTime now = at("2026-01-01T10:00:00Z");
  AllDue store;
  for (std::size_t i = 0; i <= limits::kJobsOfReplan; ++i) {
    const std::string name = std::to_string(10'000 + i);
    store.listed.push_back({.id = static_cast<std::int64_t>(i) + 1,
                            .job = {.name = name, .handler = "h", .schedule = {.when = "every 10s"}},
                            .is_running = true,
                            .next = at("2027-01-01T10:00:00Z")});
  }
  store.listed[0].next = at("2026-01-01T10:00:10Z");  // In order.
  store.listed[1].next = at("2026-01-01T09:59:50Z");  // Due: the bands decide.
  store.listed[2].next = at("2026-01-01T10:00:05Z");  // No instant of its schedule, as after an edit of its zone.
  Planner planner{PlannerOptions{}};
  const auto page = planner.replan(store, "", now);
  ASSERT_TRUE(page.has_value());
  EXPECT_FALSE(page->is_complete);
  EXPECT_EQ(page->last, store.listed[limits::kJobsOfReplan - 1].job.name);
  EXPECT_EQ(store.planned, limits::kJobsOfReplan - 2);
  EXPECT_EQ(store.listed[0].next, at("2026-01-01T10:00:10Z"));
  EXPECT_EQ(store.listed[1].next, at("2026-01-01T09:59:50Z"));
  EXPECT_EQ(store.listed[2].next, at("2026-01-01T10:00:10Z"));
  EXPECT_EQ(store.listed[3].next, at("2026-01-01T10:00:10Z"));
  EXPECT_EQ(store.listed.back().next, at("2027-01-01T10:00:00Z")) << "the next page has it";
  const auto rest = planner.replan(store, page->last, now);
  ASSERT_TRUE(rest.has_value());
  EXPECT_TRUE(rest->is_complete);
  EXPECT_EQ(store.listed.back().next, at("2026-01-01T10:00:10Z"));
}

TEST(Planner, KeepsTheLimitOfCompiledSchedules) {
  Planner planner{PlannerOptions{}};
  const Job job{.name = "j", .handler = "h", .schedule = {.when = "every 10s", .zone = "Europe/Berlin"}};
  // Compiles a schedule, and returns how many share its zone: the kept schedules, and the directory of zones.
  const auto sharers = [&](std::size_t id) {
    return static_cast<std::size_t>((*planner.compiled(job, static_cast<std::int64_t>(id)))->zone.use_count());
  };
  const std::size_t others = sharers(1) - 1;
  for (std::size_t id = 2; id < limits::kCompiledSchedules; ++id) sharers(id);
  EXPECT_EQ(sharers(limits::kCompiledSchedules), others + limits::kCompiledSchedules);
  EXPECT_EQ(sharers(limits::kCompiledSchedules + 1), others + 1) << "those before it are dropped";
}

std::vector<std::string> numbered_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("parent-" + std::to_string(i));
  return names;
}

TEST(JobCheck, AcceptsTheLimitsAndRefusesMore) {
  const Job largest{.name = std::string(limits::kJobName, 'n'),
                    .handler = "h",
                    .parameters = std::string(limits::kJobParameters, 'p'),
                    .misfire_runs = limits::kMisfireRuns,
                    .concurrency = limits::kJobConcurrency,
                    .retries = limits::kJobRetries,
                    .parents = numbered_names(limits::kJobParents),
                    .required_facts = std::vector<std::string>(limits::kJobFacts, "port:Ethernet0"),
                    .tags = numbered_names(limits::kJobTags)};
  EXPECT_TRUE(check(largest).ok());
  const auto message = [&largest](auto&& change) {
    Job job = largest;
    change(job);
    return check(job).to_string();
  };
  EXPECT_THAT(message([](Job& job) { job.name += 'n'; }), testing::HasSubstr("name: "));
  EXPECT_THAT(message([](Job& job) { job.parameters += 'p'; }), testing::HasSubstr("parameters: "));
  EXPECT_THAT(message([](Job& job) { ++job.concurrency; }), testing::HasSubstr("concurrency: "));
  EXPECT_THAT(message([](Job& job) { job.misfire_runs = limits::kMisfireRuns + 1; }), testing::HasSubstr("misfire_runs: "));
  EXPECT_THAT(message([](Job& job) { job.misfire_runs = 0; }), testing::HasSubstr("misfire_runs: "));
  EXPECT_THAT(message([](Job& job) { ++job.retries; }), testing::HasSubstr("retries: "));
  EXPECT_THAT(message([](Job& job) { job.parents.emplace_back("one more"); }), testing::HasSubstr("parents: more than"));
  EXPECT_THAT(message([](Job& job) { job.required_facts.emplace_back("a:b"); }), testing::HasSubstr("required_facts: more than"));
  EXPECT_THAT(message([](Job& job) { job.tags.emplace_back("one more"); }), testing::HasSubstr("tags: more than 64"));
  EXPECT_THAT(message([](Job& job) { job.tags.back() = job.tags.front(); }), testing::HasSubstr("tags: one is there twice"));
  EXPECT_THAT(message([](Job& job) { job.tags.back().clear(); }), testing::HasSubstr("tags: one is empty"));
}

/// What the store cannot keep is refused before it is stored: 500 microseconds became no timeout at all.
TEST(JobCheck, ValuesThatTheStoreCannotKeepAreRefused) {
  const auto message = [](auto&& change) {
    Job job{.name = "a", .handler = "h"};
    change(job);
    return check(job).to_string();
  };
  EXPECT_THAT(message([](Job& job) { job.timeout = 500us; }), testing::HasSubstr("timeout: it is not in whole milliseconds"));
  EXPECT_THAT(message([](Job& job) { job.backoff = 1ns; }), testing::HasSubstr("backoff: it is not in whole milliseconds"));
  EXPECT_THAT(message([](Job& job) { job.schedule.from = WallTime::from_nanoseconds(INT64_MIN); }), testing::HasSubstr("schedule.from"));
  EXPECT_THAT(message([](Job& job) { job.overlap = static_cast<Overlap>(77); }), testing::HasSubstr("overlap: "));
  EXPECT_THAT(message([](Job& job) { job.overlap_scope = static_cast<OverlapScope>(77); }), testing::HasSubstr("overlap_scope: "));
  EXPECT_THAT(message([](Job& job) { job.misfire = static_cast<Misfire>(77); }), testing::HasSubstr("misfire: "));
  EXPECT_THAT(message([](Job& job) { job.route = static_cast<Route>(77); }), testing::HasSubstr("route: "));
}

TEST(JobCheck, TextsAreUtf8AndHaveALimit) {
  const auto message = [](const Job& job) { return check(job).to_string(); };
  EXPECT_THAT(message({.name = "a", .handler = "h\xff"}), testing::HasSubstr("handler: it is not UTF-8"));
  EXPECT_THAT(message({.name = "a", .handler = "h\n\x1b[31m"}), testing::HasSubstr("handler: it has control characters"));
  EXPECT_THAT(message({.name = "a", .handler = "h", .parameters = "\xe4"}), testing::HasSubstr("parameters: it is not UTF-8"));
  Job job{.name = "a", .handler = "h"};
  job.note = std::string(limits::kJobText, 'n');
  EXPECT_TRUE(check(job).ok());
  job.note += "n";
  EXPECT_THAT(message(job), testing::HasSubstr("note: more than"));
  job.note =
      "Gesch\xe4"
      "ft";
  EXPECT_THAT(message(job), testing::HasSubstr("note: it is not UTF-8"));
}

/// A job due each 10 ms accepted a jitter of 10^11 ms, and then all of its runs waited.
TEST(JobCheck, AJitterHasALimit) {
  const auto message = [](std::string when, Duration jitter) {
    return check({.name = "a", .handler = "h", .schedule = {.when = std::move(when), .jitter = jitter}}).to_string();
  };
  EXPECT_THAT(message("manual", limits::kJitter), testing::HasSubstr("ok"));
  EXPECT_THAT(message("manual", limits::kJitter + 1ms), testing::HasSubstr("schedule.jitter: 86400001 ms are more than 24 h"));
  EXPECT_THAT(message("every 10ms", 10ms), testing::HasSubstr("ok"));
  EXPECT_THAT(message("every 10ms", 11ms),
              testing::HasSubstr("schedule.jitter: 11 ms are more than the 10 ms from one firing to the next"));
  EXPECT_THAT(message("cron 0 0 * * *", limits::kJitter), testing::HasSubstr("ok"));
  EXPECT_THAT(message("cron * * * * *", limits::kJitter), testing::HasSubstr("ok")) << "a day has 1,440 minutes";
  EXPECT_THAT(message("cron * * * * * *", 1s * static_cast<int>(limits::kJitterInstants - 1)), testing::HasSubstr("ok"));
  EXPECT_THAT(message("cron * * * * * *", 1s * static_cast<int>(limits::kJitterInstants)),
              testing::HasSubstr("schedule.jitter: 1500000 ms are more than the expression allows: it has more than 1500 instants"));
  const auto imported = job_from_json(R"({"name":"a","handler":"h","schedule":"every 10ms","jitter_ms":100000000000})");
  EXPECT_THAT(check(*imported).to_string(), testing::HasSubstr("schedule.jitter: 100000000000 ms"));
}

TEST(JobCheck, NamesTheFieldAndTheReason) {
  const auto message = [](const Job& job) { return check(job).to_string(); };
  EXPECT_THAT(message({.name = "a b", .handler = "h"}), testing::HasSubstr("name: "));
  for (const char* const name : {"", "/a", "a/", "a//b", "a/../b", "..", "./a"})
    EXPECT_THAT(message({.name = name, .handler = "h"}), testing::HasSubstr("name: ")) << name;
  EXPECT_TRUE(check({.name = "a/..b/c.", .handler = "h"}).ok());
  EXPECT_THAT(message({.name = "a", .handler = ""}), testing::HasSubstr("handler: "));
  EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = "every 9ms"}}), testing::HasSubstr("schedule"));
  EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = "every ten"}}), testing::HasSubstr("'ten' is no duration"));
  for (const char* const when : {"every 36501d", "every 106751d", "after 999999999999999999999s"})
    EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = when}}), testing::HasSubstr("is longer than 36500d")) << when;
  for (const char* const when : {"every 1h", "manual"})
    EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = when, .dialect = "unx"}}),
                testing::HasSubstr("schedule.dialect: 'unx' is none of"))
        << when;
  EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = "cron 61 * * * *"}}), testing::HasSubstr("column 1"));
  EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = "sometimes"}}), testing::HasSubstr("'sometimes' is none of"));
  const auto excluding = [&](std::string when, std::string excluded) {
    return message({.name = "a", .handler = "h", .schedule = {.when = std::move(when), .excluded = std::move(excluded)}});
  };
  EXPECT_THAT(excluding("every 1h", "SAT, SON"), testing::HasSubstr("schedule.excluded: column 6: none of"));
  for (const char* const when : {"every 1h", "after 1h", "cron 0 2 * * *"}) {
    EXPECT_THAT(excluding(when, "SUN,MON,TUE,WED,THU,FRI,SAT"), testing::HasSubstr("schedule.excluded: no day is left"));
    EXPECT_THAT(excluding(when, "01-01..12-31"), testing::HasSubstr("schedule.excluded: no day is left"));
    EXPECT_TRUE(check({.name = "a", .handler = "h", .schedule = {.when = when, .excluded = "MON,TUE,WED,THU,FRI,SAT"}}).ok());
  }
  EXPECT_THAT(excluding("cron 0 2 * * 6", "SAT"), testing::HasSubstr("schedule.excluded: no day is left"));
  EXPECT_THAT(message({.name = "a", .handler = "h", .concurrency = 0}), testing::HasSubstr("concurrency: "));
  EXPECT_THAT(message({.name = "a", .handler = "h", .parents = {"b", "b"}}), testing::HasSubstr("parents: 'b' is there twice"));
  EXPECT_THAT(message({.name = "a", .handler = "h", .parents = {"b c"}}), testing::HasSubstr("parents: 'b c' is no name"));
  EXPECT_THAT(message({.name = "a", .handler = "h", .schedule = {.when = "every 1s"}, .parents = {"b"}}),
              testing::HasSubstr("schedule.when: a job with parents"));
  for (const char* const fact : {"port", "port:", ":x"}) {
    EXPECT_THAT(message({.name = "a", .handler = "h", .required_facts = {fact}}), testing::HasSubstr("is not of the form kind:key"));
  }
  EXPECT_TRUE(check({.name = "a", .handler = "h"}).ok());
}

// --- instants by the zone and by 'from'

std::string first_of(const ScheduleText& schedule, std::string_view after) {
  Planner planner({});
  const auto first = planner.first_after({.name = "j", .handler = "h", .schedule = schedule}, 3, at(after));
  if (!first) return first.error().to_string();
  return *first ? calendar::format_rfc3339(**first) : "never";
}

TEST(ScheduleText, AFixedRateIsInPhaseWithFrom) {
  const ScheduleText weekly{.when = "every 7d", .from = at("2026-03-02T09:00:00Z")};
  EXPECT_EQ(first_of(weekly, "2026-03-01T00:00:00Z"), "2026-03-02T09:00:00Z");
  EXPECT_EQ(first_of(weekly, "2026-03-02T09:00:00Z"), "2026-03-09T09:00:00Z");
  EXPECT_EQ(first_of({.when = "every 1h"}, "2026-03-02T09:00:00Z"), "2026-03-02T10:00:00Z");
}

TEST(ScheduleText, ATimeWithoutAnOffsetIsALocalTimeOfTheZone) {
  const auto in_berlin = [](std::string time, std::string dst = {}) {
    return ScheduleText{.when = "at " + std::move(time), .zone = "Europe/Berlin", .dst = std::move(dst)};
  };
  EXPECT_EQ(first_of(in_berlin("2026-12-24T18:00:00"), "2026-01-01T00:00:00Z"), "2026-12-24T17:00:00Z");
  EXPECT_EQ(first_of(in_berlin("2026-07-24 18:00"), "2026-01-01T00:00:00Z"), "2026-07-24T16:00:00Z");
  EXPECT_EQ(first_of(in_berlin("2026-07-24T18:00:00"), "2026-07-24T16:00:00Z"), "never");
  EXPECT_EQ(first_of(in_berlin("2026-07-24T18:00:00+05:00"), "2026-01-01T00:00:00Z"), "2026-07-24T13:00:00Z");
  // Once, also where the zone skips the time or repeats it.
  EXPECT_EQ(first_of(in_berlin("2026-03-29T02:30:00", "spring"), "2026-01-01T00:00:00Z"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(first_of(in_berlin("2026-10-25T02:30:00", "spring"), "2026-01-01T00:00:00Z"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(first_of(in_berlin("2026-10-25T02:30:00", "spring"), "2026-10-25T00:30:00Z"), "never");
  EXPECT_THAT(first_of({.when = "at 2026-12-24T18:00:00"}, "2026-01-01T00:00:00Z"), testing::HasSubstr("has no offset"));
  EXPECT_THAT(first_of(in_berlin("2026-02-30T18:00:00"), "2026-01-01T00:00:00Z"), testing::HasSubstr("not an instant"));
}

}  // namespace
}  // namespace rondo::jobs
