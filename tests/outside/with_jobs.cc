// A program that links rondo::jobs.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "rondo/admin/command.h"
#include "rondo/jobs/commands.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

int main() {
  const std::string file = "/tmp/rondo-with-jobs-" + std::to_string(::getpid());
  auto store = rondo::jobs::make_sqlite_job_store(file);
  if (!store) return 1;
  int runs = 0;
  {
    rondo::Runtime runtime;
    rondo::jobs::Jobs jobs(runtime, std::move(*store));
    rondo::CommandRegistry registry{"with_jobs", "1"};
    if (!rondo::jobs::add_job_commands(registry, jobs).ok()) return 1;
    jobs.handle_in_turn("count", [&](const rondo::jobs::JobContext&) {
      ++runs;
      runtime.stop();
      return rondo::Status{};
    });
    jobs.define({.name = "often", .handler = "count", .schedule = {.when = "every 10ms"}});
    jobs.start();
    runtime.run();
  }
  for (const char* const end : {"", "-wal", "-shm", "-lock"}) ::unlink((file + end).c_str());
  std::printf("%d\n", runs);
  return runs > 0 ? 0 : 1;
}
