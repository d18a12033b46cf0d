// Jobs in a program of one's own: three lines define a job, and each firing is a stored run. The second process repeats a run that the
// first one did not end. Here both processes are runtimes of one program, one after the other.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

using namespace rondo;
using jobs::JobContext;

/// Runs a job every 100 ms until it has run five times.
bool first_life(const std::string& path) {
  Runtime runtime;
  // region: jobs
  Result<std::shared_ptr<jobs::JobStore>> store = jobs::make_sqlite_job_store(path);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().to_string().c_str());
    return false;
  }
  jobs::Jobs jobs(runtime, std::move(*store));
  int cleaned = 0;
  jobs.handle_in_turn("clean", [&](const JobContext& context) {  // Short work; handle() is for work that blocks.
    std::printf("%s runs with '%s'\n", context.job.c_str(), context.parameters.c_str());
    if (++cleaned == 5) runtime.stop();
    return Status{};
  });
  jobs.define({.name = "clean-cache", .handler = "clean", .parameters = "older than 1 h", .schedule = {.when = "every 100ms"}});
  jobs.start();
  runtime.run();
  // endregion
  return cleaned == 5;
}

/// The job is still there, and an edit of its schedule is one call.
bool second_life(const std::string& path) {
  Runtime runtime;
  Result<std::shared_ptr<jobs::JobStore>> store = jobs::make_sqlite_job_store(path);
  if (!store) return false;
  jobs::Jobs jobs(runtime, std::move(*store));
  jobs.handle_in_turn("clean", [](const JobContext&) { return Status{}; });
  jobs.start();
  bool is_right = false;
  // region: edit
  jobs.define({.name = "clean-cache",
               .handler = "clean",
               .parameters = "older than 1 h",
               .schedule = {.when = "cron 30 2 * * MON-FRI", .zone = "Europe/Berlin"}},
              [&](Result<jobs::StoredJob> stored) {
                is_right = stored.has_value() && stored->is_running && stored->next.has_value();
                runtime.stop();
              });
  // endregion
  runtime.run();
  return is_right;
}

int main() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rondo-example-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const std::string path = (folder / "jobs.db").string();
  const bool is_right = first_life(path) && second_life(path);
  std::filesystem::remove_all(folder);
  return is_right ? 0 : 1;
}
