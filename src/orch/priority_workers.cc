#include "rondo/orch/priority_workers.h"

#include <functional>
#include <map>

#include "rondo/base/assert.h"

namespace rondo {

struct PriorityWorkers::Parts {
  Parts(Runtime& its_home, PriorityWorkersOptions given) : home(its_home), options(std::move(given)) {}
  ~Parts() {
    while (!workers.empty()) workers.erase(workers.begin());
  }
  Runtime& home;
  const PriorityWorkersOptions options;
  std::map<unsigned, std::unique_ptr<Worker>, std::greater<>> workers;
  bool started = false;
};

PriorityWorkers::PriorityWorkers(Runtime& home, PriorityWorkersOptions options)
    : parts_(std::make_unique<Parts>(home, std::move(options))) {}

PriorityWorkers::~PriorityWorkers() { stop(); }

Worker& PriorityWorkers::at(Priority priority) {
  Parts& p = *parts_;
  std::unique_ptr<Worker>& worker = p.workers[priority.level()];
  if (worker == nullptr) {
    RONDO_ASSERT(!p.started);
    WorkerOptions options;
    options.name = p.options.name + "-p" + std::to_string(priority.level());
    options.policy = p.options.policy;
    if (p.options.adjust) p.options.adjust(priority, options);
    worker = std::make_unique<Worker>(p.home, std::move(options));
  }
  return *worker;
}

std::size_t PriorityWorkers::size() const noexcept { return parts_->workers.size(); }

void PriorityWorkers::check(const Orch& orch, Priority priority) { RONDO_ASSERT(orch.priority() == priority); }

Status PriorityWorkers::start() {
  Parts& p = *parts_;
  if (p.started) return {Code::FailedPrecondition, "the workers of '" + p.options.name + "' were started before"};
  p.started = true;
  for (const auto& [level, worker] : p.workers) {
    Status status = worker->start();
    if (status.ok()) continue;
    stop();
    return status;
  }
  return {};
}

void PriorityWorkers::stop() {
  for (const auto& [level, worker] : parts_->workers) worker->stop();
}

}  // namespace rondo
