// The forecast of a program's jobs is what the program then does. Method: random jobs, families, settings, stops and starts in simulated
// time; the forecast of what they are at a moment, with an outage; and then the rows of the runs, over this outage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "jobs/testing/simulated_jobs.h"
#include "rondo/base/random.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/forecast.h"

namespace rondo::jobs::test {
namespace {

/// Each run as "JOB SCHEDULED DUE band [skipped] +missed". The times of delays and of misfires contain the microseconds of turns.
class SeenRuns {
 public:
  explicit SeenRuns(const ForecastOptions& options) : options_(options) {}
  void add(const JobRun& run, bool is_delay) {
    WallTime due = run.due;
    for (const Outage& outage : options_.outages) {
      if (outage.from <= due && due < outage.to) due = outage.to;
    }
    if (due < options_.from || due >= options_.to) return;
    std::string text =
        is_delay ? run.job + " #" + std::to_string(++delays_[run.job]) : run.job + " " + calendar::format_rfc3339(run.scheduled);
    if (!is_delay && run.band != Band::Misfire) text += " " + calendar::format_rfc3339(due);
    text += " " + std::string{to_string(run.band)} + (run.state == RunState::Skipped ? " skipped" : "") + " +" + std::to_string(run.missed);
    texts_.insert(std::move(text));
  }
  std::size_t size() const { return texts_.size(); }
  std::vector<std::string> without(const SeenRuns& other) const {
    std::vector<std::string> rest;
    std::ranges::set_difference(texts_, other.texts_, std::back_inserter(rest));
    return rest;
  }

 private:
  const ForecastOptions& options_;
  std::map<std::string, unsigned> delays_;
  std::multiset<std::string> texts_;
};

class ForecastOfJobs {
 public:
  explicit ForecastOfJobs(std::uint64_t seed)
      : random_(seed),
        program_(seed, random_options(), [](Jobs& jobs) { jobs.handle_in_turn("ok", [](const JobContext&) { return Status{}; }); }) {
    for (int i = 0; i < 7; ++i) define_root("r" + std::to_string(i));
    for (int i = 0; i < 5; ++i) define_child("c" + std::to_string(i));
    program_.world.run_for(below(120) * 1s + 700ms);
    for (int i = 0; i < 4; ++i) stop_or_start();
    program_.world.run_for(below(60) * 1s + 100ms);
  }

  void expect_agreement() {
    // A forecast has its cycles from 'now' on, so let this be a moment after one of the program's.
    const Duration cycle = program_.jobs().options().cycle;
    program_.run_until(began_ + ((program_.now() - began_) / cycle + 1) * cycle + 1ms);
    ForecastOptions options = options_of_program();
    const WallTime down = options.from + below(400) * 1s + 450ms;
    options.outages = {{down, down + below(400) * 1s + 1s}};
    options.to = options.from + 15 * 60s + 333ms;
    SeenRuns expected(options);
    std::vector<JobRun> made;
    ASSERT_TRUE(forecast(program_.store().list({}, 1000).value(), options, [&](const JobRun& run) {
                  expected.add(run, delays_.contains(root_.at(run.job)));
                }).has_value());
    program_.run_until(down);
    program_.world.crash(options.outages[0].to - down);
    program_.run_until(options.to + 1s);
    SeenRuns found(options);
    for (const auto& [name, root] : root_) {
      for (const JobRun& run : program_.runs(name)) found.add(run, delays_.contains(root));
    }
    EXPECT_THAT(found.without(expected), testing::IsEmpty()) << "runs that were not expected";
    EXPECT_THAT(expected.without(found), testing::IsEmpty()) << "runs that were expected and are not there";
    EXPECT_GT(found.size(), 0U);
  }

 private:
  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(random_.below(bound)); }
  JobsOptions random_options() {
    const Duration window = (2 + below(8)) * 1s;
    return {.window = window, .grace = window + below(90) * 1s, .cycle = (1 + below(4)) * 250ms};
  }
  ForecastOptions options_of_program() {
    const JobsOptions& of = program_.jobs().options();
    ForecastOptions options{.from = program_.now(), .to = {}, .window = of.window, .grace = of.grace, .cycle = of.cycle};
    const std::vector<StoredJob> jobs = program_.store().list({}, 1000).value();
    for (const StoredJob& stored : jobs) {
      for (JobRun& run : program_.jobs().unfinished(stored.id)) options.runs.push_back(std::move(run));
    }
    return options;
  }
  /// Ids with gaps: the jitter of a job follows from its id.
  void skip_ids() {
    for (std::int64_t i = below(3); i > 0; --i) {
      program_.define({.name = "gone", .handler = "ok"});
      EXPECT_TRUE(program_.answer<StoredJob>([&](auto done) { program_.jobs().remove("gone", done); }).has_value());
    }
  }
  void define_root(const std::string& name) {
    skip_ids();
    const std::vector<ScheduleText> schedules{{.when = "every 7s"},
                                              {.when = "every 1min", .jitter = 50s},
                                              {.when = "cron * * * * *", .zone = "Europe/Berlin", .jitter = 4 * 60s},
                                              {.when = "cron */2 * * * *", .from = program_.now() + 200s},
                                              {.when = "after 33s"},
                                              {.when = "after 50s", .jitter = 20s},
                                              {.when = "every 90s", .until = program_.now() + 600s},
                                              {.when = "every 3min", .from = program_.now() + 77s, .jitter = 100s},
                                              {.when = "at " + calendar::format_rfc3339(program_.now() + 400s), .jitter = 60s},
                                              {}};
    const ScheduleText& schedule = schedules[random_.below(schedules.size())];
    if (schedule.when.starts_with("after")) delays_.insert(name);
    root_[name] = name;
    names_.push_back(name);
    program_.define({.name = name,
                     .handler = "ok",
                     .schedule = schedule,
                     .misfire = static_cast<Misfire>(random_.below(4)),
                     .misfire_runs = static_cast<std::uint32_t>(1 + random_.below(20))});
  }
  void define_child(const std::string& name) {
    skip_ids();
    std::vector<std::string> parents{names_[random_.below(names_.size())]};
    const std::string root = root_.at(parents[0]);
    const std::string other = names_[random_.below(names_.size())];
    if (other != parents[0] && root_.at(other) == root) parents.push_back(other);
    root_[name] = root;
    names_.push_back(name);
    program_.define({.name = name, .handler = "ok", .parents = parents});
  }
  void stop_or_start() {
    const std::string name = names_[random_.below(names_.size())];
    program_.stop(name);
    program_.world.run_for(below(40) * 1s);
    if (random_.below(2) == 0) program_.start(name);
  }

  Random random_;
  std::set<std::string> delays_;  // Roots.
  std::map<std::string, std::string> root_;
  std::vector<std::string> names_;
  SimulatedJobs program_;
  const WallTime began_ = program_.now();
};

TEST(ForecastProperty, IsWhatTheProgramThenDoesProperty) {
  for (std::uint64_t seed = 1; seed <= plain_or_sanitized(40U, 4U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ForecastOfJobs(seed).expect_agreement();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace rondo::jobs::test
