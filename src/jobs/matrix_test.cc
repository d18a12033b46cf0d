// The job matrix: each kind of schedule, misfire rule, overlap rule, result of the attempts and end of the process (testing/matrix.h). Each
// cell lives in simulated time: a process that ends as the cell says, an outage longer than the grace, and a second process that runs until
// all is done. The runs in the database and the order of the calls must be those of testing/matrix_model.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/testing/matrix.h"
#include "jobs/testing/matrix_model.h"
#include "jobs/testing/passing_job_store.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"
#include "rondo/jobs/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo::jobs::test {
namespace {

constexpr Duration kMillisecond = 1ms;

/// The store of a process that is killed at a step: from then on nothing that the process does has an effect.
class KilledStore final : public PassingJobStore {
 public:
  /// 'is_killed_before' and 'is_killed_after' are called around each transaction of a step, and return whether the process is dead.
  using IsKilled = std::function<bool(Step step)>;
  KilledStore(JobStore& store, IsKilled is_killed_before, IsKilled is_killed_after)
      : PassingJobStore(store), is_killed_before_(std::move(is_killed_before)), is_killed_after_(std::move(is_killed_after)) {}

  Status plan(std::span<Plan> plans) override {
    const bool has_runs = std::ranges::any_of(plans, [](const Plan& plan) { return !plan.runs.empty(); });
    return has_runs ? killed(Step::Plan, [&] { return store().plan(plans); }) : PassingJobStore::plan(plans);
  }
  Status add_runs(std::span<JobRun> runs) override {
    return killed(Step::Plan, [&] { return store().add_runs(runs); });
  }
  Status finish(std::span<const RunEnd> ends) override {
    return killed(Step::End, [&] { return store().finish(ends); });
  }

 private:
  template <class Transaction>
  Status killed(Step step, Transaction transaction) {
    const Status dead{StatusCode::Unavailable, "the process is dead"};
    if (is_killed_before_(step)) return dead;
    Status status = transaction();
    return is_killed_after_(step) ? dead : status;
  }
  const IsKilled is_killed_before_;
  const IsKilled is_killed_after_;
};

/// The database of all cells, one after the other.
class MatrixFile {
 public:
  MatrixFile() { open(); }
  MatrixFile(const MatrixFile&) = delete;
  MatrixFile& operator=(const MatrixFile&) = delete;
  JobStore& store() { return *store_; }
  /// Another, empty database.
  void lose() {
    store_.reset();
    ++losses_;
    open();
  }

 private:
  void open() { store_ = make_sqlite_job_store((folder_ / ("jobs-" + std::to_string(losses_) + ".db")).string()).value(); }
  TemporaryFolder folder_{TemporaryFolder::in_memory()};  // To close a database waits for the disk.
  unsigned losses_ = 0;
  std::shared_ptr<JobStore> store_;
};

/// The life of one cell.
class MatrixLife {
 public:
  MatrixLife(const MatrixCell& cell, MatrixFile& file) : cell_(cell), file_(file) {
    zero_ = world_.clock().wall_now() + 1s;
    world_.clock().advance(1s + kFirstBegins * kMillisecond);
    world_.start([this](Runtime& runtime) { return begin_process(runtime); });
    const bool is_at_step = MatrixModel::step_of(cell_.ending).has_value();
    run_until(is_at_step ? kSecondBegins : kQuietEnd);
    end_first();
    run_until(kUntil + kCycle);
    for (int seconds = 0; jobs_.lock()->stats().pending > 0 && seconds < 200; ++seconds) world_.run_for(1s);
  }
  ~MatrixLife() {
    is_over_ = true;
    leave_runs();
    world_.crash();
    static_cast<void>(file_.store().remove("j"));
  }
  MatrixLife(const MatrixLife&) = delete;
  MatrixLife& operator=(const MatrixLife&) = delete;

  std::vector<std::string> runs() {
    const std::vector<JobRun> all = file_.store().runs("j", INT64_MAX, 1000).value();
    std::vector<std::string> texts;
    for (const JobRun& run : all) {
      texts.insert(texts.begin(), text_of(instant_of(run.scheduled), run.band, run.state, run.missed, called_[run.id]));
    }
    return texts;
  }
  const std::vector<Ms>& calls() const { return calls_; }
  bool has_died() const { return has_died_; }

 private:
  Ms now() { return (world_.clock().wall_now() - zero_) / kMillisecond; }
  /// The scheduled instant of a run without the microseconds that turns take. A trigger has the time of the turn before it.
  Ms instant_of(WallTime scheduled) const {
    const Ms unit = cell_.kind == ScheduleKind::TriggerOnly ? kPeriod : 10;
    return ((scheduled - zero_) / kMillisecond + kPeriod + unit / 2) / unit * unit - kPeriod;
  }

  Job job() const {
    ScheduleText text{.until = zero_ + kUntil * kMillisecond};
    switch (cell_.kind) {
      case ScheduleKind::TriggerOnly: break;
      case ScheduleKind::Cron: text.when = "cron * * * * * *"; break;
      case ScheduleKind::FixedRate: text.when = "every 1s"; break;
      case ScheduleKind::FixedDelay: text.when = "after 500ms"; break;
      case ScheduleKind::OneShot: text.when = "at " + calendar::format_rfc3339(zero_ + kOneShot * kMillisecond); break;
    }
    EXPECT_EQ(compile(text, 1)->when.index(), static_cast<std::size_t>(cell_.kind));
    return {.name = "j",
            .handler = "work",
            .schedule = text,
            .misfire = cell_.misfire,
            .misfire_runs = kFireLast,
            .overlap = cell_.overlap,
            .concurrency = cell_.overlap == Overlap::Concurrent ? kConcurrency : 1,
            .retries = cell_.attempts == Attempts::Fail ? 1U : 0U,
            .backoff = kBackoff * kMillisecond};
  }

  // --- The processes
  std::shared_ptr<void> begin_process(Runtime& runtime) {
    is_dead_ = false;
    if (++process_ == 2 && cell_.ending == Ending::KilledAndLostFile) file_.lose();
    const auto is_dead = [this] { return is_dead_; };
    auto killed = std::make_unique<KilledStore>(
        file_.store(),
        [this, is_dead](Step step) {
          if (!is_dead() && is_killed_before_ending()) reach(step);
          return is_dead();
        },
        [this, is_dead](Step step) {
          if (!is_dead() && !is_killed_before_ending()) reach(step);
          return is_dead();
        });
    const JobsOptions options{.window = kWindow * kMillisecond, .grace = kGrace * kMillisecond, .cycle = kCycle * kMillisecond};
    auto made = std::make_shared<Jobs>(runtime, std::move(killed), options);
    made->handle_async("work", {.begin = [this](const AsyncRun& run) { begin_run(run); }});
    made->start();
    if (!is_over_) made->define(job());
    jobs_ = made;
    return made;
  }
  bool is_killed_before_ending() const {
    return cell_.ending == Ending::KilledBeforePlan || cell_.ending == Ending::KilledBeforeCall || cell_.ending == Ending::KilledBeforeEnd;
  }
  void reach(Step step) {
    if (has_died_ || MatrixModel::step_of(cell_.ending) != step || ++steps_ < killed_firing(cell_.kind)) return;
    has_died_ = is_dead_ = true;
  }
  void run_until(Ms until) {
    while (!is_dead_ && now() < until) {
      const Ms left = kPeriod - (now() + 10 * kPeriod) % kPeriod;  // To the next trigger.
      world_.run_for(std::min<Ms>({left, until - now(), 10}) * kMillisecond);
      if (cell_.kind == ScheduleKind::TriggerOnly && !is_dead_ && now() % kPeriod == 0 && now() < kUntil) jobs_.lock()->trigger("j");
    }
  }
  void end_first() {
    is_dead_ = is_dead_ || cell_.ending == Ending::KilledAndLostFile;
    leave_runs();
    if (cell_.ending == Ending::KilledAndLostFile) {
      called_.clear();
      calls_.clear();
    }
    world_.crash((kSecondBegins - now()) * kMillisecond);
  }

  // --- The handler
  void begin_run(const AsyncRun& run) {
    if (!is_dead_ && is_killed_before_ending()) reach(Step::Call);
    open_.emplace(run.run(), run);
    if (is_dead_) return;
    ++called_[run.run()];
    calls_.push_back(instant_of(run.scheduled()));
    if (!is_killed_before_ending()) reach(Step::Call);
    world_.after(kTakes * kMillisecond, [this, id = run.run(), process = process_] {
      if (process == process_) end_run(id, cell_.attempts == Attempts::Fail ? Status{StatusCode::Unavailable, "fails"} : Status{});
    });
    run.on_stop([this, id = run.run()] { end_run(id, {StatusCode::Cancelled, "asked to stop"}); });
  }
  void end_run(std::int64_t id, const Status& status) {
    const auto run = open_.extract(id);
    if (!run.empty()) run.mapped().end(status);
  }
  /// The work of a process goes with it.
  void leave_runs() {
    for (const auto& [id, run] : open_) run.leave();
    open_.clear();
  }

  const MatrixCell cell_;
  MatrixFile& file_;
  sim::World world_{1};
  WallTime zero_;
  std::weak_ptr<Jobs> jobs_;
  std::map<std::int64_t, AsyncRun> open_;
  std::map<std::int64_t, unsigned> called_;  // By run.
  std::vector<Ms> calls_;
  unsigned process_ = 0;
  unsigned steps_ = 0;
  bool is_dead_ = false;
  bool has_died_ = false;
  bool is_over_ = false;
};

class JobMatrixModel : public testing::TestWithParam<Ending> {
 protected:
  MatrixFile file_;
};

class JobMatrixCapModel : public testing::Test {
 protected:
  MatrixFile file_;
};

TEST_P(JobMatrixModel, EachCellHasTheRunsOfThePlainModel) {
  for (const MatrixCell& cell : cells_of(GetParam())) {
    SCOPED_TRACE(cell.name());
    const MatrixModel expected(cell);
    MatrixLife life(cell, file_);
    EXPECT_THAT(life.runs(), testing::ElementsAreArray(expected.runs()));
    EXPECT_THAT(life.calls(), testing::ElementsAreArray(expected.calls()));
    EXPECT_EQ(life.has_died(), MatrixModel::step_of(cell.ending).has_value()) << "the step was not reached";
    EXPECT_EQ(expected.has_died(), life.has_died());
  }
}

// 1,200 instants are missed, more than a cycle runs.
TEST_F(JobMatrixCapModel, FireAllRunsTheNewestInstantsUpToItsCapWithEachOverlap) {
  for (const Overlap overlap : named_values<Overlap>()) {
    SCOPED_TRACE(to_string(overlap));
    sim::World world{1};
    const WallTime until = world.clock().wall_now() + 15s;
    std::vector<WallTime> called;
    world.start([&](Runtime& runtime) {
      auto jobs = std::make_shared<Jobs>(runtime, std::make_unique<PassingJobStore>(file_.store()),
                                         JobsOptions{.window = 1s, .grace = 2s, .cycle = 500ms});
      jobs->handle_in_turn("work", [&called](const JobContext& context) {
        called.push_back(context.scheduled);
        return Status{};
      });
      jobs->start();
      jobs->define({.name = "j",
                    .handler = "work",
                    .schedule = {.when = "every 10ms", .until = until},
                    .misfire = Misfire::FireAll,
                    .overlap = overlap});
      return jobs;
    });
    world.run_for(100ms);
    called.clear();
    world.crash(15s);
    world.run_for(2s);
    std::vector<JobRun> runs = file_.store().runs("j", INT64_MAX, 10'000).value();
    std::uint64_t missed = 0;
    for (const JobRun& run : runs) {
      EXPECT_EQ(run.state, RunState::Succeeded);
      missed += run.missed;
    }
    EXPECT_EQ(missed + runs.size(), 1499U) << "each instant has a run, or is counted";
    EXPECT_TRUE(std::ranges::is_sorted(called));
    std::erase_if(runs, [](const JobRun& run) { return run.band != Band::Misfire; });
    ASSERT_EQ(runs.size(), limits::kMisfireRuns);
    EXPECT_EQ(runs.front().scheduled - runs.back().scheduled, 10ms * (limits::kMisfireRuns - 1)) << "the newest ones";
    ASSERT_TRUE(file_.store().remove("j").ok());
  }
}

std::vector<Ending> all_endings() {
  std::vector<Ending> endings;
  for (std::size_t ending = 0; ending < kEndings.size(); ++ending) endings.push_back(static_cast<Ending>(ending));
  return endings;
}

INSTANTIATE_TEST_SUITE_P(Process, JobMatrixModel, testing::ValuesIn(all_endings()),
                         [](const auto& of) { return std::string{kEndings[static_cast<std::size_t>(of.param)]}; });

}  // namespace
}  // namespace rondo::jobs::test
