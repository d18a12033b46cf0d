#include "orch/elsewhere.h"

#include <deque>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

/// Delivers the answers of one priority's jobs, in the order in which they ended.
class Elsewhere::Answers final : public Source {
 public:
  Answers(Elsewhere& owner, Priority priority) : Source("elsewhere answers", priority), owner_(owner) {}

  void push(Task task) {
    tasks_.push_back(std::move(task));
    wake();
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items && !tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      --owner_.unanswered_;
      ++turn.items;
      answer(task);
      if (turn_is_over(budget, turn.items)) break;
    }
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }
  bool has_backlog() const override { return !tasks_.empty(); }
  std::size_t depth() const override { return tasks_.size(); }

 private:
  void answer(Task& task) {
    if (task.job->has_owner && task.job->owner.expired()) return;
    try {
      task.job->answer(std::move(task.status));
    } catch (...) {
      owner_.on_thrown_(std::current_exception());
    }
  }

  Elsewhere& owner_;
  std::deque<Task> tasks_;
};

Result<std::unique_ptr<Elsewhere>> Elsewhere::make(Scheduler& scheduler, bool in_line, unsigned threads, OnThrown on_thrown) {
  try {
    return std::unique_ptr<Elsewhere>{new Elsewhere(scheduler, in_line, threads, std::move(on_thrown))};
  } catch (const std::system_error& refused) {
    return failure(StatusCode::ResourceExhausted, std::string{"starting a thread for run_elsewhere: "} + refused.what());
  }
}

Elsewhere::Elsewhere(Scheduler& scheduler, bool in_line, unsigned threads, OnThrown on_thrown)
    : scheduler_(scheduler),
      on_thrown_(std::move(on_thrown)),
      executor_(scheduler,
                [stop = stop_.get_token()](std::span<Task> tasks) {
                  // After a stop request, jobs that have not begun are dropped. That includes the next job of a thread whose present job
                  // the stop has ended.
                  for (Task& task : tasks) task.status = stop.stop_requested() ? Status{StatusCode::Cancelled, ""} : task.job->run(stop);
                },
                {.name = std::string{kName},
                 .target = "the work",
                 .in_line = in_line,
                 .threads = threads,
                 .operations_max = limits::kElsewhereTasks,
                 .batch_max = 1,  // Thus a job waits for a free thread and not behind another job.
                 .at_end = ExecutorEnd::Drop},
                {.encode_order = [](const Task&, std::string&) {},
                 .encode_answer = [](const Task& task, std::string& to) { task.job->encode(to); },
                 .decode_answer = [](std::string_view from, Task& task) { return !task.status.ok() || task.job->decode(from); }}) {}

Elsewhere::~Elsewhere() { stop_.request_stop(); }

Status Elsewhere::run(std::unique_ptr<elsewhere::Job> job, Priority priority) {
  if (unanswered_ >= limits::kElsewhereTasks) {
    return {StatusCode::ResourceExhausted, std::to_string(unanswered_) + " works of run_elsewhere are not answered"};
  }
  ++unanswered_;
  std::vector<Task> tasks;
  tasks.push_back({.job = std::move(job), .priority = priority});
  executor_.submit(0, std::move(tasks), [this](std::span<Task> ended) {
    for (Task& task : ended) answered(task);
  });
  return {};
}

void Elsewhere::answered(Task& task) {
  const Priority priority = task.priority;
  auto [found, is_new] = answers_.try_emplace(priority);
  if (is_new) {
    found->second = std::make_unique<Answers>(*this, priority);
    scheduler_.add(*found->second);
  }
  found->second->push(std::move(task));
}

}  // namespace rondo
