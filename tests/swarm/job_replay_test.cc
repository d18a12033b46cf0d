// A recorded day of a program with jobs comes out the same, and neither uses the store of jobs nor calls a handler of a pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/jobs/jobs.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/replay/replay.h"
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

struct Program {
  Program(Runtime& runtime, const std::string& database, int& calls)
      : jobs(runtime, jobs::make_sqlite_job_store(database).value()), table(runtime, jobs) {
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
  JobTable table;
};

class JobReplay : public ::testing::Test {
 protected:
  JobReplay() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rondo-replay-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~JobReplay() override { std::filesystem::remove_all(folder); }

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
    world.start([this](Runtime& runtime) { return std::make_shared<Program>(runtime, (folder / "jobs.db").string(), calls); });
    for (int i = 0; i < 60 && !world.violation(); ++i) {
      const std::string name = "j" + std::to_string(random.below(5));
      const std::string when = random.chance(0.5) ? "every " + std::to_string(random.between(50, 900)) + "ms" : "after 200ms";
      switch (random.below(6)) {
        case 0: world.set("JOB", name, {{"do", "trigger"}}); break;
        case 1: world.set("JOB", name, {{"do", "stop"}}); break;
        case 2: world.remove("JOB", name); break;
        default: world.set("JOB", name, {{"handler", random.chance(0.5) ? "pool" : "turn"}, {"when", when}});
      }
      world.run_for(milliseconds{random.below(400)});
    }
    EXPECT_FALSE(world.violation()) << world.report();
  }
  std::string journal() const { return (folder / "day.journal").string(); }

  std::filesystem::path folder;
  int calls = 0;
};

TEST_F(JobReplay, DaysWithJobsComeOutTheSameProperty) {
  std::uint64_t records = 0;
  unsigned replayed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    record(seed);
    EXPECT_GT(calls, 0);
    calls = 0;
    for (unsigned run = 1;; ++run) {
      Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({journal()}, run);
      if (!opened) break;
      (*opened)->grant_tables();
      Runtime runtime((*opened)->runtime_options());
      Program program(runtime, (folder / "of-replay.db").string(), calls);
      const replay::ReplayReport report = (*opened)->run(runtime);
      ASSERT_TRUE(report.same) << "run " << run << ", record " << report.record << ": expected " << report.expected << ", came "
                               << report.came;
      records += report.records;
      ++replayed;
    }
    EXPECT_EQ(calls, 0) << "a replay calls no handler of a pool";
    calls = 0;
  }
  EXPECT_GT(replayed, 60U);
  EXPECT_GT(records, 20'000U);
}

}  // namespace
}  // namespace rondo::swarm
