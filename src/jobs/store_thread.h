// StoreThread: the thread that uses the JobStore and the Planner. Works run one after the other, in the order in which they were submitted;
// 'done' is called in a turn of the scheduler. Scheduler thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "jobs/planner.h"
#include "rondo/base/result.h"
#include "rondo/jobs/job_store.h"
#include "rondo/sched/executor.h"

namespace rondo::jobs {

class StoreThread {
 public:
  /// 'scheduler' must outlive it. Its destructor runs the remaining works, without calling 'done'.
  StoreThread(Scheduler& scheduler, std::unique_ptr<JobStore> store, PlannerOptions options)
      : store_(std::move(store)),
        planner_(options),
        executor_(scheduler, [this](std::span<Work> works) { apply(works); },
                  {.name = "jobs:store", .target = "the store of jobs", .priority = Priority{56}}) {}

  /// Runs 'work(store, planner)', which returns a Result<T>, and then 'done(result)'.
  template <class T>
  void submit(std::function<Result<T>(JobStore&, Planner&)> work, std::function<void(Result<T>)> done) {
    auto result = std::make_shared<Result<T>>(failure(StatusCode::Cancelled, "the store of jobs was closed"));
    std::vector<Work> works;
    works.push_back({[work = std::move(work), result](JobStore& store, Planner& planner) { *result = work(store, planner); }, {}});
    executor_.submit(0, std::move(works), [result, done = std::move(done)](std::span<Work> ended) {
      // An exception of the work, such as a lack of memory, is the operation's status.
      if (done) done(ended.front().status.ok() ? std::move(*result) : Result<T>{failure(ended.front().status)});
    });
  }

 private:
  struct Work {
    std::function<void(JobStore&, Planner&)> run;
    Status status;
  };
  void apply(std::span<Work> works) {
    for (Work& work : works) work.run(*store_, planner_);
  }

  std::unique_ptr<JobStore> store_;
  Planner planner_;
  Executor<Work> executor_;
};

}  // namespace rondo::jobs
