// Elsewhere: the pool behind Runtime::run_elsewhere. It is an executor whose operations are the callers' jobs, with a source for each
// priority that delivers their answers. Scheduler's thread.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/orch/elsewhere.h"
#include "rondo/sched/executor.h"

namespace rondo {

class Elsewhere {
 public:
  static constexpr std::string_view kName = "elsewhere";
  using OnThrown = std::function<void(const std::exception_ptr& thrown)>;

  /// 'on_thrown' receives the exceptions of callbacks. ResourceExhausted when a thread cannot be started.
  static Result<std::unique_ptr<Elsewhere>> make(Scheduler& scheduler, bool in_line, unsigned threads, OnThrown on_thrown);
  /// Requests the running jobs to stop, and waits for them.
  ~Elsewhere();
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

  /// ResourceExhausted when limits::kElsewhereTasks jobs have not been answered.
  Status run(std::unique_ptr<elsewhere::Job> job, Priority priority);

 private:
  struct Task {
    std::unique_ptr<elsewhere::Job> job;
    Priority priority;
    Status status = {};
  };
  class Answers;

  Elsewhere(Scheduler& scheduler, bool in_line, unsigned threads, OnThrown on_thrown);
  void answered(Task& task);

  Scheduler& scheduler_;
  OnThrown on_thrown_;
  std::size_t unanswered_ = 0;
  std::stop_source stop_;
  std::map<Priority, std::unique_ptr<Answers>> answers_;
  Executor<Task> executor_;
};

}  // namespace rondo
