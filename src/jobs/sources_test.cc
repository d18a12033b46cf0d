// The sources of a Jobs: a replay gives each the number of its record, so it expects them in the same order. A journal of an earlier
// version of the program would not be replayed after a change of the order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"
#include "sched/turn_observer.h"

namespace rondo::jobs {
namespace {

class SourceNames final : public TurnObserver {
 public:
  std::uint32_t source_added(Source& source) override {
    names.emplace_back(source.name());
    return static_cast<std::uint32_t>(names.size());
  }
  void source_removed(std::uint32_t) override {}
  void policy_changed(const PolicySettings&) override {}
  void clock_read(Instant) override {}
  void woken(std::uint32_t) override {}
  void timers_fire() override {}
  void turn_begins(std::uint32_t, Instant) override {}
  void time_checked(bool) override {}
  void yield_checked(bool) override {}
  void turn_ends(const Turn&, Instant) override {}

  std::vector<std::string> names;
};

TEST(SourcesOfJobs, AreAddedInTheOrderThatJournalsHave) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("rondo-sources-" + std::to_string(::getpid()));
  SourceNames sources;
  {
    Runtime runtime;
    runtime.scheduler().observe(&sources);
    const Jobs jobs(runtime, make_sqlite_job_store(file.string()).value());
  }
  for (const char* const end : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(file.string() + end);
  std::erase_if(sources.names, [](const std::string& name) { return !name.starts_with("jobs:"); });
  EXPECT_THAT(sources.names, testing::ElementsAre("jobs:store", "jobs:fast", "jobs:slow", "jobs:planner", "jobs:ring", "jobs:timeouts",
                                                  "jobs:lines", "jobs:drain"));
}

}  // namespace
}  // namespace rondo::jobs
