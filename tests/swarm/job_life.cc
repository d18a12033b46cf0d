#include "job_life.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/orch/runtime.h"

namespace rondo::swarm {

using std::chrono::milliseconds;

namespace {

constexpr std::array<const char*, 6> kNames{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"};

jobs::JobsOptions drawn_options(Random& random) {
  const auto window = std::chrono::seconds{random.between(1, 10)};
  return {.window = window,
          .grace = window + milliseconds{random.below(10'000)},
          .cycle = milliseconds{random.between(100, 500)},
          .fast = {.threads = static_cast<unsigned>(random.between(1, 4)), .runs_max = static_cast<std::size_t>(random.between(1, 8))},
          .slow = {.threads = 1, .runs_max = static_cast<std::size_t>(random.between(1, 4))},
          .slow_run = milliseconds{random.between(1, 500)},
          .slow_runs = static_cast<unsigned>(random.below(10)),
          .kept = std::chrono::hours{24 * 365}};
}

}  // namespace

struct JobLife::Process {
  Process(Runtime& runtime, std::shared_ptr<jobs::JobStore> store, const jobs::JobsOptions& options)
      : jobs(runtime, std::move(store), options) {}
  jobs::Jobs jobs;
};

sim::WorldOptions JobLife::drawn_world(Random& random, std::uint64_t seed) {
  sim::WorldOptions options;
  options.seed = seed;
  if (random.chance(0.9)) options.faults = sim::FaultPlan::drawn(random);
  // A JobStore that fails has done nothing, so no operation may be done and fail.
  options.faults.operation_failures = {{StatusCode::Unavailable, "the database is locked"}};
  options.policy = drawn_policy(random);
  return options;
}

JobLife::JobLife(std::uint64_t seed) : random_(seed * 7919 + 3) {
  std::string pattern = (std::filesystem::temp_directory_path() / "rondo-sim-jobs-XXXXXX").string();
  const char* const made = ::mkdtemp(pattern.data());
  RONDO_ASSERT(made != nullptr);
  folder_ = made;
  auto opened = jobs::make_sqlite_job_store((folder_ / "jobs.db").string());
  RONDO_ASSERT(opened.has_value());
  store_ = std::move(*opened);
  sim::WorldOptions options = drawn_world(random_, seed);
  faults_ = options.faults;
  const jobs::JobsOptions of_jobs = drawn_options(random_);
  world_ = std::make_unique<sim::World>(std::move(options));
  auto witness = std::make_unique<JobWitness>(*store_, world_->clock());
  witness_ = witness.get();
  world_->add(std::move(witness));
  world_->start([this, of_jobs](Runtime& runtime) -> std::shared_ptr<void> {
    auto process = std::make_shared<Process>(runtime, witness_->store_of_process(), of_jobs);
    process->jobs.handle("pool", [this](const jobs::JobContext& context) { return handle(context); });
    process->jobs.handle_in_turn("turn", [this](const jobs::JobContext& context) { return handle(context); });
    process->jobs.start();
    process_ = process;
    return process;
  });
}

JobLife::~JobLife() {
  world_.reset();
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Status JobLife::handle(const jobs::JobContext& context) {
  const std::uint64_t drawn = is_calm_ ? 9 : random_.below(10);
  witness_->called(context, drawn > 1);
  if (drawn == 0) throw std::runtime_error("thrown");
  return drawn == 1 ? Status{StatusCode::Internal, "failed"} : Status{};
}

std::string JobLife::drawn_schedule() {
  switch (random_.below(6)) {
    case 0: return "cron * * * * * *";
    case 1: return "cron */3 * * * * *";
    case 2: return "after " + std::to_string(random_.between(50, 2000)) + "ms";
    case 3: return "at " + calendar::format_rfc3339(world_->clock().wall_now() + milliseconds{random_.below(20'000)});
    case 4: return "manual";
    default: return "every " + std::to_string(random_.between(50, 3000)) + "ms";
  }
}

jobs::Job JobLife::drawn_job() {
  jobs::Job job{.name = kNames[random_.below(kNames.size())], .handler = random_.chance(0.6) ? "pool" : "turn"};
  if (random_.chance(0.05)) job.handler = "none";
  job.schedule.when = drawn_schedule();
  if (random_.chance(0.2)) job.schedule.jitter = milliseconds{random_.below(500)};
  if (random_.chance(0.2)) job.schedule.excluded = random_.chance(0.5) ? "SUN, TUE, THU" : "05-20..06-10, 2025-07-01";
  job.priority = Priority{static_cast<unsigned>(random_.below(4) * 16)};
  job.misfire = static_cast<jobs::Misfire>(random_.below(4));
  job.misfire_runs = static_cast<std::uint32_t>(random_.between(1, 20));
  job.overlap = static_cast<jobs::Overlap>(random_.below(4));
  job.concurrency = static_cast<std::uint32_t>(random_.between(1, 3));
  job.retries = static_cast<std::uint32_t>(random_.below(3));
  job.backoff = milliseconds{random_.between(1, 300)};
  if (random_.chance(0.3)) job.timeout = milliseconds{random_.between(1, 200)};
  if (random_.chance(0.3)) {  // Many of these families are refused.
    job.schedule = {};
    const std::size_t first = random_.below(kNames.size());
    job.parents = {kNames[first]};
    if (random_.chance(0.3)) job.parents.emplace_back(kNames[(first + 1) % kNames.size()]);
  }
  return job;
}

void JobLife::act() {
  if (std::exchange(is_calm_, false)) world_->set_faults(faults_);
  if (const auto process = process_.lock()) {
    jobs::Jobs& jobs = process->jobs;
    const std::string name = kNames[random_.below(kNames.size())];
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2: jobs.define(drawn_job()); break;
      case 3: jobs.put(drawn_job()); break;
      case 4:
      case 5: jobs.start(name); break;
      case 6: jobs.stop(name, "stopped by the life"); break;
      case 7:
      case 8:
      case 9: jobs.trigger(name); break;
      case 10:
        if (const std::int64_t run = witness_->unfinished_run(random_.next()); run != 0) {
          witness_->killed(run);
          static_cast<void>(jobs.kill(run));
        }
        break;
      default:
        if (random_.chance(0.3)) jobs.remove(name);
    }
  }
  world_->run_for(milliseconds{random_.below(random_.chance(0.1) ? 3000 : 300)});
}

void JobLife::calm_down() {
  is_calm_ = true;
  world_->set_faults({});
  world_->run_for(1s);  // A process that was down has begun.
  if (const auto process = process_.lock()) {
    for (const char* const name : kNames) process->jobs.stop(name, "the life is calm");
  }
  world_->run_for(30s);  // Longer than all retries.
}

}  // namespace rondo::swarm
