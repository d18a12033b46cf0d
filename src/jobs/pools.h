// Pools: the threads that run handlers: a fast pool, and a slow one for jobs whose runs take long, so that they do not hold up the others
// (Orth's adaptive pools). A pool takes only as many runs as it has room for; further ones wait in the order of their priority. Scheduler
// thread only.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/jobs/jobs.h"
#include "rondo/sched/executor.h"

namespace rondo::jobs {

/// One attempt of a run, with what its handler needs.
struct Attempt {
  std::shared_ptr<const Jobs::Handler> handler;
  std::shared_ptr<const Job> job;
  std::int64_t run = 0;
  WallTime scheduled;
  std::uint32_t number = 0;
  bool is_recovered = false;
  std::stop_token stop;
  /// Receives the nanoseconds of 'begun' as soon as the handler begins. Null: not needed.
  std::shared_ptr<std::atomic<std::int64_t>> begins = {};
  WallTime begun;
  std::optional<WallTime> ended = {};  // Empty: now.
  Duration took{0};
  Status status;
  std::string note = {};      // What the work returned.
  bool is_timed_out = false;  // The work exceeded its own time.
};

/// Calls the handler and sets status, begun and took. Exceptions become a status.
void run_attempt(Attempt& attempt, const Clock& clock);

enum class PoolKind : std::uint8_t { Fast, Slow };
inline constexpr std::array kPools{PoolKind::Fast, PoolKind::Slow};

class Pools {
 public:
  using Ended = std::function<void(Attempt& attempt)>;
  /// 'on_room' is called, in a turn, each time a pool that was full has room again.
  Pools(Scheduler& scheduler, const Clock& clock, const JobsOptions& options, std::function<void(PoolKind)> on_room);

  bool has_room(PoolKind pool) const noexcept { return executor(pool).has_room(); }
  void submit(PoolKind pool, Attempt attempt, Ended ended);
  /// No further handler begins. Waits until none runs; if that takes longer than 'patience', calls 'report' with the keys of their runs.
  void end(Duration patience, const std::function<void(const std::vector<std::string>&)>& report);

 private:
  /// Runs an attempt on a thread of a pool.
  void run(Attempt& attempt, const Clock& clock);
  Executor<Attempt>& executor(PoolKind pool) const noexcept { return *executors_[static_cast<std::size_t>(pool)]; }
  std::mutex mutex_;
  std::condition_variable has_returned_;
  std::vector<std::string> under_way_;  // The keys of the runs whose handler runs. Guarded by 'mutex_', as the next one.
  bool is_ending_ = false;
  std::array<std::unique_ptr<Executor<Attempt>>, kPools.size()> executors_;  // Last, because their threads use the members before it.
};

/// Which pool a job uses. It keeps the slow runs of the present minute, also of jobs that have no live run at the moment; only jobs with
/// slow runs use memory.
class PoolChoice {
 public:
  PoolKind pool(std::int64_t job, WallTime now, const JobsOptions& options) {
    renew(now);
    const auto found = slow_.find(job);
    return found != slow_.end() && found->second > options.slow_runs ? PoolKind::Slow : PoolKind::Fast;
  }
  void ended(std::int64_t job, WallTime now, Duration took, const JobsOptions& options) {
    renew(now);
    if (took > options.slow_run) ++slow_[job];
  }

 private:
  void renew(WallTime now) {
    const std::int64_t minute = now.nanoseconds() / 60'000'000'000;
    if (minute != minute_) slow_.clear();
    minute_ = minute;
  }
  std::int64_t minute_ = 0;
  std::unordered_map<std::int64_t, unsigned> slow_;  // By job id.
};

}  // namespace rondo::jobs
