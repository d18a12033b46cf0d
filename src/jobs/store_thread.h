// StoreThread: the thread that uses the JobStore and the Planner. Works run one after the other, in the order in which they were submitted;
// those that were submitted with Commit::Together and wait beside each other are one transaction, because a commit may wait for a disk.
// 'done' is called in a turn of the scheduler. A journal records each work by its name, and its result; a replay gives the recorded result
// and does not use the store.
//
// Each answer has the difference of the clocks at that time. Jobs computes the wall time from it, so that a replay, which gets the same
// difference at the same place, makes the same decisions. Scheduler thread only.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/thrown.h"
#include "jobs/job_store.h"
#include "jobs/planner.h"
#include "jobs/store_results.h"
#include "rondo/base/clock.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/sched/executor.h"
#include "rondo/sched/scheduler.h"

namespace rondo::jobs {

/// Wall clock less monotonic clock.
inline Duration difference_of(const Clock& clock) noexcept {
  return clock.wall_now() - WallTime::from_nanoseconds(clock.now().nanoseconds());
}

enum class Commit : std::uint8_t {
  Alone,     // It may only read: its time is not one of commits().
  Writes,    // Alone.
  Together,  // For a work that fails only if the store does: its error undoes the works of the same transaction, which fail with it.
};

/// What a journal has of the answer to a work.
enum class Recorded : std::uint8_t {
  Result,
  Status,  // The reader is no part of a replay (ForCaller): the result would only fill the journal.
};

class StoreThread {
 public:
  /// 'scheduler' must outlive it. Its destructor runs the remaining works, without calling 'done'.
  /// 'on_clocks' receives the wall clock less the monotonic clock, before 'done' of a work is called. 'on_thrown' receives what a 'done'
  /// has thrown, with the name of its work: an exception that left the executor would end it.
  StoreThread(Scheduler& scheduler, std::shared_ptr<JobStore> store, PlannerOptions options, std::function<void(Duration)> on_clocks,
              std::function<void(const std::string&, const std::exception_ptr&)> on_thrown)
      : clock_(scheduler.clock()),
        store_(std::move(store)),
        planner_(options),
        on_clocks_(std::move(on_clocks)),
        on_thrown_(std::move(on_thrown)),
        executor_(scheduler, [this](std::span<Work> works) { apply(works); },
                  {.name = "jobs:store", .target = "the store of jobs", .priority = Priority{56}},
                  {.encode_order = [](const Work& work, std::string& to) { to += work.name; },
                   .encode_answer = [](const Work& work, std::string& to) { encode(work, to); },
                   .decode_answer = [](std::string_view from, Work& work) { return decode(from, work); }}) {}

  bool has_store() const noexcept { return store_ != nullptr; }
  /// JobStore::may_begin().
  bool may_begin(Instant now) const noexcept { return store_ == nullptr || store_->may_begin(now); }
  /// For how long the oldest work without an answer has waited.
  Duration silence(Instant now) const { return submitted_at_.empty() ? Duration{0} : now - submitted_at_.front(); }
  /// The work whose 'done' is being called, or was called last: works have numbers from 1 on, in the order in which they were submitted.
  std::uint64_t answered() const noexcept { return answered_; }
  /// How long the transactions took on the store's thread that succeeded: those of Commit::Writes and Commit::Together. Empty in a replay.
  const Log2Histogram& commits() const noexcept { return commits_; }

  /// Runs 'work(store, planner)', which returns a Result<T>, and then 'done(result)'. 'name' tells works apart; read_result() takes a T.
  template <class T>
  void submit(std::string name, std::function<Result<T>(JobStore&, Planner&)> work, std::function<void(Result<T>)> done,
              Commit commit = Commit::Alone, Recorded recorded = Recorded::Result) {
    auto result = std::make_shared<T>();
    std::vector<Work> works;
    works.push_back({.name = std::move(name),
                     .run = [work = std::move(work), result](JobStore& store, Planner& planner) -> Status {
                       Result<T> got = work(store, planner);
                       if (!got) return got.error();
                       *result = std::move(*got);
                       return {};
                     },
                     .write = [result](std::string& to) { write_result(*result, to); },
                     .read = [result](std::string_view from) { return read_result(from, *result); },
                     .commit = commit,
                     .recorded = recorded,
                     .status = {}});
    submitted_at_.push_back(clock_.now());
    executor_.submit(0, std::move(works), [this, result, number = ++submitted_, done = std::move(done)](std::span<Work> ended) {
      submitted_at_.pop_front();
      if (ended.front().clocks) on_clocks_(*ended.front().clocks);
      if (ended.front().commit_took) commits_.add(static_cast<std::uint64_t>(ended.front().commit_took->count()));
      if (!done) return;
      answered_ = number;
      try {
        done(ended.front().status.ok() ? Result<T>{std::move(*result)} : Result<T>{failure(ended.front().status)});
      } catch (...) {
        on_thrown_(ended.front().name, std::current_exception());
      }
    });
  }

 private:
  struct Work {
    std::string name;
    std::function<Status(JobStore&, Planner&)> run;
    std::function<void(std::string& to)> write;
    std::function<bool(std::string_view from)> read;
    Commit commit = Commit::Alone;
    Recorded recorded = Recorded::Result;
    std::optional<Duration> clocks = {};       // Wall clock less monotonic clock; empty for a work that was not run.
    std::optional<Duration> commit_took = {};  // The first work of a transaction has it. A journal has none.
    Status status;
  };
  void apply(std::span<Work> works) {
    const auto is_alone = [](const Work& work) { return work.commit != Commit::Together; };
    while (!works.empty()) {
      const auto together = static_cast<std::size_t>(std::ranges::find_if(works, is_alone) - works.begin());
      const std::size_t count = std::max<std::size_t>(together, 1);
      apply_transaction(works.first(count));
      works = works.subspan(count);
    }
  }
  /// An exception fails no other work of a batch than those of its transaction.
  void apply_transaction(std::span<Work> works) {
    const auto run = [&]() -> Status {
      for (Work& work : works) {
        work.clocks = difference_of(clock_);
        if (Status status = work.run(*store_, planner_); !status.ok()) return status;
      }
      return {};
    };
    const Instant start = clock_.now();
    const Status status = contained("the store of jobs", [&] { return works.size() == 1 ? run() : store_->atomically(run); });
    if (status.ok() && works.front().commit != Commit::Alone) works.front().commit_took = clock_.now() - start;
    for (Work& work : works) {
      if (!work.clocks) work.clocks = difference_of(clock_);
      work.status = status;
    }
  }

  /// The difference of the clocks in nanoseconds, and with Recorded::Result the result of a work that succeeded; empty for a work that was
  /// not run.
  static void encode(const Work& work, std::string& to) {
    if (!work.clocks) return;
    to += std::to_string(work.clocks->count()) + " ";
    if (work.status.ok() && work.recorded == Recorded::Result) work.write(to);
  }
  static bool decode(std::string_view from, Work& work) {
    if (from.empty()) return true;
    std::int64_t clocks = 0;
    const char* const end = from.data() + from.size();
    const auto [blank, error] = std::from_chars(from.data(), end, clocks);
    if (error != std::errc{} || blank == end || *blank != ' ') return false;
    work.clocks = Duration{clocks};
    const std::string_view result(blank + 1, static_cast<std::size_t>(end - blank - 1));
    if (result.empty()) work.recorded = Recorded::Status;  // The replay writes the same.
    return result.empty() || work.read(result);
  }

  std::uint64_t submitted_ = 0;
  std::deque<Instant> submitted_at_;  // Of the works without an answer, in their order.
  std::uint64_t answered_ = 0;
  Log2Histogram commits_;
  const Clock& clock_;
  std::shared_ptr<JobStore> store_;
  Planner planner_;
  const std::function<void(Duration)> on_clocks_;
  const std::function<void(const std::string&, const std::exception_ptr&)> on_thrown_;
  Executor<Work> executor_;
};

}  // namespace rondo::jobs
