// A recorded day of a program with jobs comes out the same, and neither uses the store of jobs nor calls a handler of a pool or an
// asynchronous one. Programs outside of the runtime, which a replay does not have, call Jobs and end asynchronous runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/sanitized.h"
#include "base/testing/temporary_folder.h"
#include "jobs/for_caller.h"
#include "jobs/remote_runs.h"
#include "rondo/jobs/jobs.h"
#include "rondo/jobs/limits.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/replay/replay.h"
#include "rondo/sched/timer.h"
#include "rondo/sim/world.h"

namespace rondo::swarm {
namespace {

using std::chrono::milliseconds;

/// A program whose jobs follow a table: a row defines a job, its field 'do' acts on it.
class JobTable final : public Orch {
 public:
  JobTable(Runtime& runtime, jobs::Jobs& jobs) : Orch(runtime, "job-table", Priority{30}), jobs_(jobs) {
    consume(
        "JOB", [this](std::string_view key, const Fields& fields) { return set(std::string{key}, fields); },
        [this](std::string_view key) {
          jobs_.remove(std::string{key});
          return Outcome::done();
        });
  }

 private:
  Outcome set(const std::string& name, const Fields& fields) {
    const std::string_view action = fields.find("do").value_or("define");
    if (action == "trigger") {
      jobs_.trigger(name);
    } else if (action == "stop") {
      jobs_.stop(name, "by the table");
    } else {
      jobs_.define({.name = name,
                    .handler = std::string{fields.find("handler").value_or("pool")},
                    .schedule = {.when = std::string{fields.find("when").value_or("manual")}},
                    .overlap = jobs::Overlap::Discard,
                    .retries = 1,
                    .backoff = 50ms,
                    .timeout = 150ms});
    }
    return Outcome::done();
  }
  jobs::Jobs& jobs_;
};

/// An asynchronous handler with room for two runs. A run begins elsewhere, ends within the call, is dropped there, throws, or is put back
/// within the call or later. Some runs that an earlier process left are held at first.
class Elsewhere {
 public:
  /// In a replay it is not there: nothing begins, and it makes no call.
  Elsewhere(Runtime& runtime, jobs::Jobs& jobs, int& calls, bool is_there)
      : jobs_(jobs), is_there_(is_there), timer_("elsewhere", Priority{40}, [this] { tick(); }), calls_(calls) {
    runtime.scheduler().add(timer_);
    timer_.arm_every(130ms, runtime.scheduler().now() + 130ms);
    add();
  }
  ~Elsewhere() {
    for (const jobs::AsyncRun& run : under_way_) run.leave();
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;
  void add() {
    jobs::RemoteRuns(jobs_).handle("elsewhere", {.basic = {.begin = [this](jobs::AsyncRun run) { begin(run); },
                                                           .has_room =
                                                               [this](std::int64_t run) {
                                                                 if (run % 5 == 0) call_back(run);
                                                                 return under_way_.size() < 2;
                                                               }},
                                                 .held = [this](std::int64_t run) {
                                                   if (run % 3 == 0) call_back(run);
                                                   return ticks_ < 4 && run % 2 == 0 ? "held" : "";
                                                 }});
  }
  void end_one(const std::string& note) {
    if (under_way_.empty()) return;
    const jobs::AsyncRun run = under_way_.front();
    under_way_.erase(under_way_.begin());
    if (run.run() % 14 == 4 && put_back_.insert(run.run()).second) return run.put_back();
    run.end(run.run() % 4 == 0 ? Status{StatusCode::Unavailable, "it broke"} : Status{}, note);
    jobs_.has_room("elsewhere");
    if (!calls_back) return;
    jobs_.when_stored(run.run(), run.attempt(), [this, id = run.run()](const Status&) {
      jobs_.has_room("elsewhere");
      if (id % 2 == 0) throw std::runtime_error("it cannot take this");
      jobs_.find_run(id, {});
    });
  }

  std::vector<std::int64_t> under_way() const {
    std::vector<std::int64_t> runs;
    for (const jobs::AsyncRun& run : under_way_) runs.push_back(run.run());
    return runs;
  }

  /// Its functions that Jobs asks, or informs, call Jobs.
  bool calls_back = false;

 private:
  void tick() {
    if (!is_there_) return;
    for (const jobs::AsyncRun& run : under_way_) {
      if (begins_later_.erase(run.run()) != 0) run.began_at(run.scheduled());
    }
    end_one("by a timer");
    if (++ticks_ <= 4) jobs::RemoteRuns(jobs_).check_again("elsewhere");
    jobs_.has_room("elsewhere");
  }
  void begin(const jobs::AsyncRun& run) {
    ++calls_;
    if (run.run() % 14 == 11 && put_back_.insert(run.run()).second) return run.put_back();
    if (run.run() % 7 == 0) return;  // Dropped.
    if (run.run() % 7 == 1) throw std::runtime_error("it cannot begin");
    if (run.run() % 7 == 2) return run.end({}, "at once");
    if (run.run() % 7 == 3) run.on_stop([this, id = run.run()] { stopped(id); });
    if (run.run() % 2 == 0) {
      run.begins_later("begins elsewhere");
      begins_later_.insert(run.run());
    }
    under_way_.push_back(run);
  }
  void stopped(std::int64_t id) {
    const auto found = std::ranges::find(under_way_, id, &jobs::AsyncRun::run);
    if (found == under_way_.end()) return;
    const jobs::AsyncRun run = *found;
    under_way_.erase(found);
    run.end({StatusCode::Cancelled, "stopped"});
    if (calls_back) jobs_.has_room("elsewhere");  // Also when the job was removed and the end counts no more.
  }
  /// Ends the run, or removes itself for a moment or until someone adds it again.
  void call_back(std::int64_t run) {
    if (!calls_back || !called_back_.insert(run).second) return;
    if (run % 4 < 2) return static_cast<void>(jobs_.kill(run));
    jobs_.remove_handler("elsewhere");
    if (run % 4 == 2) add();
  }
  jobs::Jobs& jobs_;
  const bool is_there_;
  std::vector<jobs::AsyncRun> under_way_;
  std::set<std::int64_t> put_back_;
  std::set<std::int64_t> begins_later_;
  std::set<std::int64_t> called_back_;
  int ticks_ = 0;
  TimerSource timer_;
  int& calls_;
};

struct Program {
  /// A replay gives no database: it needs none.
  Program(Runtime& runtime, const std::string& database, int& calls)
      : jobs(runtime, database.empty() ? nullptr : jobs::make_sqlite_job_store(database).value()),
        elsewhere(runtime, jobs, calls, !database.empty()),
        table(runtime, jobs) {
    jobs.handle("pool", [&calls](const jobs::JobContext& context) {
      ++calls;
      return context.run % 4 == 0 ? Status{StatusCode::Internal, "no"} : Status{};
    });
    jobs.handle_in_turn("turn", [](const jobs::JobContext& context) {
      return context.run % 5 == 0 ? Status{StatusCode::Internal, "no"} : Status{};
    });
    jobs.start();
  }
  jobs::Jobs jobs;
  Elsewhere elsewhere;
  JobTable table;
};

/// Its end begins with that of Jobs: it has no other source.
struct JobsAlone {
  JobsAlone(Runtime& runtime, const std::string& database, int& calls)
      : jobs(runtime, database.empty() ? nullptr : jobs::make_sqlite_job_store(database).value()) {
    jobs.wait_for_handlers("absent", [](std::string_view) { return "it is absent"; });
    jobs.handle_async("elsewhere", {.begin = [this, &calls](jobs::AsyncRun run) {
                        ++calls;
                        begun.push_back(std::move(run));
                      }});
    jobs.start();
  }
  std::vector<jobs::AsyncRun> begun;
  jobs::Jobs jobs;
};

/// A caller outside of the runtime: its call is no part of any Orch.
void call_from_outside(Program& program, const std::string& name, Random& random) {
  jobs::Jobs& jobs = program.jobs;
  switch (random.below(13)) {
    case 0: return jobs.define({.name = name, .handler = "elsewhere", .schedule = {.when = "every 120ms"}, .timeout = 400ms});
    case 1: return jobs.put({.name = name, .handler = "elsewhere", .schedule = {.when = "manual"}, .overlap = jobs::Overlap::Cover});
    case 2:
      return jobs.trigger(name, [&jobs](const Result<jobs::JobRun>& run) {
        if (run && run->id % 3 == 0) static_cast<void>(jobs.kill(run->id));
      });
    case 3: return jobs.start(name);
    case 4: return jobs.stop(name, "a note");
    case 5: return jobs.runs(name, INT64_MAX, 5, {});
    case 6: return jobs.remove_handler("elsewhere");
    case 7: return program.elsewhere.add();
    case 8: {  // Some instants of before the world.
      const WallTime from = WallTime::from_nanoseconds(1'000'000'000'000'000'000);
      return jobs.backfill(name, {.from = from, .to = from + 2s, .max = 50, .dry_run = random.chance(0.3)});
    }
    case 9: return jobs.trigger(name, {.parameters = "of \"this\" run"});
    case 10: return jobs.rerun(static_cast<std::int64_t>(1 + random.below(60)));
    default: program.elsewhere.end_one("from outside");
  }
}

class JobReplay : public ::testing::Test {
 protected:
  /// Lives the days of these seeds, and lives them again.
  void live_and_compare(const std::vector<std::uint64_t>& seeds) {
    for (const std::uint64_t seed : seeds) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      record(seed);
      days_with_calls += calls > 0 ? 1U : 0U;
      compare();
      if (HasFatalFailure()) return;
    }
  }
  template <class MadeProgram = Program>
  void compare() {
    calls = 0;
    for (unsigned run = 1;; ++run) {
      Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({journal()}, run);
      if (!opened) break;
      (*opened)->grant_tables();
      Runtime runtime((*opened)->runtime_options());
      MadeProgram program(runtime, {}, calls);
      const replay::ReplayReport report = (*opened)->run(runtime);
      ASSERT_TRUE(report.same) << "run " << run << ", record " << report.record << ": expected " << report.expected << ", came "
                               << report.came;
      records += report.records;
      ++replayed;
    }
    EXPECT_EQ(calls, 0) << "a replay calls no handler of a pool, and no asynchronous one";
    calls = 0;
  }
  /// Lives a day without faults, on which 'act' acts from outside just before the end, and lives it again.
  template <class MadeProgram>
  void live_and_compare(const std::function<void(sim::World& world, MadeProgram& program)>& act) {
    {
      sim::WorldOptions options{.seed = 1, .store = sim::StoreKind::Durable};
      options.make_observer = [this](const Clock& clock) { return std::move(Journal::open({.file = journal()}, clock).value()); };
      sim::World world(options);
      std::weak_ptr<MadeProgram> program;
      world.start([this, &program](Runtime& runtime) {
        const auto made = std::make_shared<MadeProgram>(runtime, (folder / "jobs.db").string(), calls);
        program = made;
        return made;
      });
      act(world, *program.lock());
      EXPECT_FALSE(world.violation()) << world.report();
    }
    compare<MadeProgram>();
    EXPECT_EQ(replayed, 1U);
  }
  void record(std::uint64_t seed) {
    std::filesystem::remove(journal());
    std::filesystem::remove(folder / "jobs.db");
    sim::WorldOptions options{.seed = seed, .store = sim::StoreKind::Durable};
    Random random(seed);
    if (random.chance(0.8)) options.faults = sim::FaultPlan::drawn(random);
    options.faults.crash_every = seed % 3 == 0 ? Duration{0} : Duration{3s};
    options.faults.operation_failures = {{StatusCode::Unavailable, "the database is locked"}};
    options.make_observer = [this](const Clock& clock) { return std::move(Journal::open({.file = journal()}, clock).value()); };
    sim::World world(options);
    std::weak_ptr<Program> program;
    world.start([this, &program](Runtime& runtime) {
      const auto made = std::make_shared<Program>(runtime, (folder / "jobs.db").string(), calls);
      made->elsewhere.calls_back = calls_back;
      program = made;
      return made;
    });
    world.set("JOB", "j0", {{"handler", "pool"}, {"when", "every 100ms"}});
    for (int i = 0; i < 60 && !world.violation(); ++i) {
      const std::string name = "j" + std::to_string(random.below(5));
      const std::string when = random.chance(0.5) ? "every " + std::to_string(random.between(50, 900)) + "ms" : "after 200ms";
      switch (random.below(6)) {
        case 0: world.set("JOB", name, {{"do", "trigger"}}); break;
        case 1: world.set("JOB", name, {{"do", "stop"}}); break;
        case 2: world.remove("JOB", name); break;
        default: world.set("JOB", name, {{"handler", kHandlers[random.below(kHandlers.size())]}, {"when", when}});
      }
      if (const auto here = program.lock(); here && random.chance(0.5)) call_from_outside(*here, name, random);
      world.run_for(milliseconds{random.below(400)});
    }
    EXPECT_FALSE(world.violation()) << world.report();
  }
  std::string journal() const { return (folder / "day.journal").string(); }

  static constexpr std::array<const char*, 4> kHandlers{"pool", "turn", "elsewhere", "elsewhere"};
  TemporaryFolder folder;
  int calls = 0;
  bool calls_back = false;
  std::uint64_t records = 0;
  unsigned replayed = 0;
  unsigned days_with_calls = 0;
};

TEST_F(JobReplay, DaysWithJobsComeOutTheSameProperty) {
  constexpr unsigned kDays = plain_or_sanitized(30, 10);
  std::vector<std::uint64_t> seeds{104};  // A run that is put back while its line is served, and room again in the same turn.
  for (std::uint64_t seed = 1; seed <= kDays; ++seed) seeds.push_back(seed);
  live_and_compare(seeds);
  EXPECT_GT(days_with_calls, kDays / 2);
  EXPECT_GT(replayed, 2 * kDays);
  EXPECT_GT(records, 600U * kDays);
}

/// A replay made the calls of such functions at another place, or stopped there.
TEST_F(JobReplay, DaysWithFunctionsThatCallBackComeOutTheSameProperty) {
  calls_back = true;
  constexpr unsigned kDays = plain_or_sanitized(20, 6);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= kDays; ++seed) seeds.push_back(seed);
  live_and_compare(seeds);
  EXPECT_GT(days_with_calls, kDays / 2);
  EXPECT_GT(replayed, kDays);
}

TEST_F(JobReplay, ACallOfAHandlerThatIsAskedToStopARemovedRunComesOutTheSame) {
  live_and_compare<Program>([](sim::World& world, Program& program) {
    for (const char* const name : {"j1", "j2", "j3", "j4"}) {
      program.jobs.define({.name = name, .handler = "elsewhere"});
      program.jobs.trigger(name);
    }
    world.run_for(100ms);  // Before the first tick of the handler.
    ASSERT_EQ(program.elsewhere.under_way(), (std::vector<std::int64_t>{3, 4}));
    program.elsewhere.calls_back = true;
    program.jobs.remove("j3");
    world.run_for(20ms);
    EXPECT_EQ(program.elsewhere.under_way(), std::vector<std::int64_t>{4});
  });
}

/// Two functions that make calls follow one another in a turn: that which waits for a stored end, and a 'done'. Without their marks a
/// replay takes the calls of the one for those of the other.
TEST_F(JobReplay, TheCallsOfAFunctionThatWaitsForAStoredEndComeOutTheSame) {
  live_and_compare<JobsAlone>([](sim::World& world, JobsAlone& program) {
    program.jobs.define({.name = "a", .handler = "elsewhere"});
    program.jobs.trigger("a");
    world.run_for(100ms);
    ASSERT_EQ(program.begun.size(), 1U);
    int called = 0;
    program.begun[0].end({});
    ASSERT_TRUE(program.jobs.when_stored(1, 0, [&](const Status&) { called += 1, program.jobs.has_room("elsewhere"); }));
    program.jobs.find("a", [&](const Result<jobs::StoredJob>&) { called += 10, program.jobs.has_room("elsewhere"); });
    world.run_for(100ms);
    EXPECT_EQ(called, 11);
  });
}

/// The journal has what callers outside of the program asked, and that it was answered: the answers with the parameters would be more than
/// 2 MB.
TEST_F(JobReplay, WhatCallersReadIsNotInTheJournalAndComesOutTheSame) {
  live_and_compare<JobsAlone>([](sim::World& world, JobsAlone& program) {
    jobs::Jobs& jobs = program.jobs;
    const jobs::Job job{.name = "a", .handler = "elsewhere", .parameters = std::string(50'000, 'p')};
    jobs.define(job);
    jobs.trigger("a", {.parameters = job.parameters});
    world.run_for(100ms);
    int called = 0;
    const auto is_read = [&](const auto& answer) { called += answer.has_value() ? 1 : 0, jobs.has_room("elsewhere"); };
    for (int i = 0; i < 10; ++i) {
      jobs::ForCaller(jobs)->find("a", is_read);
      jobs::ForCaller(jobs)->list("", 10, [&](const Result<std::vector<jobs::StoredJob>>& page) {
        is_read(page);
        EXPECT_EQ(page->front().job.parameters.size(), 50'000U);
        jobs::ForCaller(jobs)->newest_ends("", 10, is_read);
      });
      jobs::ForCaller(jobs)->runs("a", INT64_MAX, 5, [&](const Result<std::vector<jobs::JobRun>>& runs) {
        is_read(runs);
        EXPECT_EQ(runs->front().parameters->size(), limits::kRunNote);
      });
      jobs::ForCaller(jobs)->find_run(1, is_read);
      jobs::ForCaller(jobs)->failures(WallTime{}, INT64_MAX, 5, "", is_read);
      jobs::ForCaller(jobs)->schedulers(is_read);
      world.run_for(20ms);
    }
    EXPECT_EQ(called, 70);
    int failed = 0;
    jobs::ForCaller(jobs)->find("none", [&](const Result<jobs::StoredJob>& stored) { failed += stored ? 0 : 1; });
    jobs::ForCaller(jobs)->put_all(std::vector<jobs::JobEdit>{{.job = job}}, true,
                                   [&](const Result<std::vector<jobs::StoredJob>>& put) { failed += put ? 1 : 0; });
    jobs.find("a", [&](const Result<jobs::StoredJob>& stored) { failed += stored ? 1 : 0; });
    world.run_for(100ms);
    EXPECT_EQ(failed, 3);
    ASSERT_EQ(program.begun.size(), 1U);
    program.begun[0].end({});
    world.run_for(100ms);
  });
  EXPECT_LT(std::filesystem::file_size(journal()), 800'000U);
}

/// The first end is being stored when the program ends, and the second one waits for that.
TEST_F(JobReplay, TheLastEndsOfAProgramComeOutTheSame) {
  live_and_compare<JobsAlone>([](sim::World& world, JobsAlone& program) {
    for (const char* const name : {"a", "b"}) {
      program.jobs.define({.name = name, .handler = "absent"});
      program.jobs.trigger(name);
    }
    world.run_for(100ms);
    EXPECT_TRUE(program.jobs.kill(1).ok());
    EXPECT_TRUE(program.jobs.kill(2).ok());
  });
}

}  // namespace
}  // namespace rondo::swarm
