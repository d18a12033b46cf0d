#include "jobs/pools.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rondo::jobs {

void run_attempt(Attempt& attempt, const Clock& clock) {
  attempt.begun = clock.wall_now();
  if (attempt.begins) attempt.begins->store(attempt.begun.nanoseconds(), std::memory_order_relaxed);
  const Instant began = clock.now();
  try {
    attempt.status = (*attempt.handler)({.run = attempt.run,
                                         .job = attempt.job->name,
                                         .parameters = attempt.job->parameters,
                                         .scheduled = attempt.scheduled,
                                         .attempt = attempt.number,
                                         .is_recovered = attempt.is_recovered,
                                         .stop = attempt.stop});
  } catch (const std::exception& error) {
    attempt.status = {StatusCode::Internal, std::string{"the handler threw: "} + error.what()};
  } catch (...) {
    attempt.status = {StatusCode::Internal, "the handler threw something that is no std::exception"};
  }
  attempt.took = clock.now() - began;
}

namespace {

/// A journal records the run and the attempt, and when the handler began and how long it took. A replay does not call the handler.
OperationCodec<Attempt> attempt_codec() {
  return {.encode_order = [](const Attempt& attempt,
                             std::string& to) { to += std::to_string(attempt.run) + " " + std::to_string(attempt.number); },
          .encode_answer =
              [](const Attempt& attempt, std::string& to) {
                to += std::to_string(attempt.begun.nanoseconds()) + " " + std::to_string(attempt.took.count());
              },
          .decode_answer =
              [](std::string_view from, Attempt& attempt) {
                std::int64_t begun = 0;
                std::int64_t took = 0;
                const char* const end = from.data() + from.size();
                const auto [blank, no_begun] = std::from_chars(from.data(), end, begun);
                if (no_begun != std::errc{} || blank == end || *blank != ' ') return false;
                const auto [last, no_took] = std::from_chars(blank + 1, end, took);
                if (no_took != std::errc{} || last != end) return false;
                attempt.begun = WallTime::from_nanoseconds(begun);
                attempt.took = Duration{took};
                return true;
              }};
}

}  // namespace

Pools::Pools(Scheduler& scheduler, const Clock& clock, const JobsOptions& options, std::function<void(PoolKind)> on_room) {
  for (const PoolKind pool : kPools) {
    const bool is_fast = pool == PoolKind::Fast;
    const PoolOptions& of_pool = is_fast ? options.fast : options.slow;
    const std::string name = is_fast ? "JobsOptions::fast" : "JobsOptions::slow";
    RONDO_EXPECT(of_pool.threads >= 1 && of_pool.threads <= limits::kExecutorThreads,
                 name + ".threads is 1 to " + std::to_string(limits::kExecutorThreads) + ", not " + std::to_string(of_pool.threads));
    RONDO_EXPECT(of_pool.runs_max >= 1, name + ".runs_max is at least 1, not 0");
    const auto apply = [this, &clock](std::span<Attempt> attempts) {
      for (Attempt& attempt : attempts) run(attempt, clock);
    };
    auto& executor = executors_[static_cast<std::size_t>(pool)];
    executor = std::make_unique<Executor<Attempt>>(scheduler, apply,
                                                   ExecutorOptions{.name = is_fast ? "jobs:fast" : "jobs:slow",
                                                                   .target = "the handlers of jobs",
                                                                   .threads = of_pool.threads,
                                                                   .priority = Priority{56},
                                                                   .operations_max = of_pool.runs_max,
                                                                   .batch_max = 1,
                                                                   .at_end = ExecutorEnd::Drop},
                                                   attempt_codec());
    executor->on_room([on_room, pool] { on_room(pool); });
  }
}

void Pools::run(Attempt& attempt, const Clock& clock) {
  const std::string key = attempt.job->name + "#" + std::to_string(attempt.run);
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) return;  // Its result has no reader any more.
    under_way_.push_back(key);
  }
  run_attempt(attempt, clock);
  const std::lock_guard lock(mutex_);
  under_way_.erase(std::ranges::find(under_way_, key));
  has_returned_.notify_one();
}

void Pools::end(Duration patience, const std::function<void(const std::vector<std::string>&)>& report) {
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  const auto none_runs = [this] { return under_way_.empty(); };
  if (has_returned_.wait_for(lock, patience, none_runs)) return;
  const std::vector<std::string> left = under_way_;
  lock.unlock();
  report(left);
  lock.lock();
  has_returned_.wait(lock, none_runs);
}

void Pools::submit(PoolKind pool, Attempt attempt, Ended ended) {
  std::vector<Attempt> attempts;
  attempts.push_back(std::move(attempt));
  executor(pool).submit(0, std::move(attempts), [ended = std::move(ended)](std::span<Attempt> done) { ended(done.front()); });
}

}  // namespace rondo::jobs
