// A test of jobs in simulated time: a week with an outage takes a second. The runtime, Jobs and the database are those of production.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

using namespace rondo;
using jobs::JobContext;

// region: program
/// What a process of the program has. The runs that began are in 'log', which outlives the process.
struct Program {
  Program(Runtime& runtime, const std::string& database, std::vector<WallTime>& log)
      : jobs(runtime, jobs::make_sqlite_job_store(database).value(), {.window = 50s, .grace = 50s, .cycle = 25s}) {
    jobs.handle("report", [&log](const JobContext& context) {
      log.push_back(context.scheduled);
      return Status{};
    });
    jobs.define({.name = "hourly", .handler = "report", .schedule = {.when = "every 1h"}, .misfire = jobs::Misfire::FireOnce});
    jobs.start();
  }
  jobs::Jobs jobs;
};
// endregion

// region: test
/// After an outage of ten hours one run makes up for the ones that were missed.
bool an_outage_has_one_late_run(const std::string& database) {
  std::vector<WallTime> log;
  sim::World world(1);
  world.start([&](Runtime& runtime) { return std::make_shared<Program>(runtime, database, log); });
  world.run_for(7 * 24h);  // Simulated time: a week takes a second.
  const std::size_t before = log.size();
  world.crash(10h);
  world.run_for(1min);
  return before == 7 * 24 && log.size() == before + 1;
}
// endregion

int main() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rondo-example-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const bool is_right = an_outage_has_one_late_run((folder / "jobs.db").string());
  std::filesystem::remove_all(folder);
  if (!is_right) std::fprintf(stderr, "the runs are not those of the schedule\n");
  return is_right ? 0 : 1;
}
