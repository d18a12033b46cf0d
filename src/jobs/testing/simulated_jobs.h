// SimulatedJobs: a program with jobs in simulated time, over an SQLite database that outlives its processes. Tests only; one thread.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "jobs/testing/passing_job_store.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo::jobs::test {

class SimulatedJobs {
 public:
  /// 'prepare' sets the handlers of each process, and may set Jobs::on_end().
  SimulatedJobs(std::uint64_t seed, const JobsOptions& options, std::function<void(Jobs&)> prepare) : world(seed) {
    world.start([this, options, prepare = std::move(prepare)](Runtime& runtime) {
      auto made = std::make_shared<Jobs>(runtime, std::make_unique<PassingJobStore>(*store_), options);
      prepare(*made);
      made->start();
      jobs_ = made;
      return made;
    });
  }
  SimulatedJobs(const SimulatedJobs&) = delete;
  SimulatedJobs& operator=(const SimulatedJobs&) = delete;

  /// Of the present process.
  Jobs& jobs() { return *jobs_.lock(); }
  JobStore& store() { return *store_; }
  WallTime now() { return world.clock().wall_now(); }
  void run_until(WallTime time) {
    if (time > now()) world.run_for(time - now());
  }
  template <class T>
  Result<T> answer(const std::function<void(Jobs::Done<T>)>& call) {
    std::optional<Result<T>> got;
    call([&got](Result<T> result) { got = std::move(result); });
    for (int i = 0; i < 1000 && !got; ++i) world.run_for(1ms);
    return got ? std::move(*got) : failure(StatusCode::DeadlineExceeded, "no answer");
  }
  /// Defines a job, which must be accepted.
  StoredJob define(const Job& job) {
    const auto stored = answer<StoredJob>([&](auto done) { jobs().define(job, done); });
    EXPECT_TRUE(stored.has_value()) << stored.error().to_string();
    return stored.value_or(StoredJob{});
  }
  void start(const std::string& name) {
    EXPECT_TRUE(answer<StoredJob>([&](auto done) { jobs().start(name, done); }).has_value());
  }
  void stop(const std::string& name) {
    EXPECT_TRUE(answer<StoredJob>([&](auto done) { jobs().stop(name, {}, done); }).has_value());
  }
  /// The rows of a job, the oldest first.
  std::vector<JobRun> runs(const std::string& name) {
    std::vector<JobRun> all = store_->runs(name, INT64_MAX, 100'000).value();
    std::ranges::reverse(all);
    return all;
  }

 private:
  const TemporaryFolder folder_;
  const std::shared_ptr<JobStore> store_ = make_sqlite_job_store((folder_ / "jobs.db").string()).value();
  std::weak_ptr<Jobs> jobs_;

 public:
  sim::World world;  // Uses the store, also in its destructor.
};

}  // namespace rondo::jobs::test
