#include "rondo/orch/priority_workers.h"

#include <algorithm>
#include <functional>
#include <map>

#include "rondo/base/assert.h"
#include "rondo/base/clock.h"

namespace rondo {

struct PriorityWorkers::Impl {
  Impl(Runtime& its_home, Adjust given) : home(its_home), adjust(std::move(given)) {}
  ~Impl() {
    while (!workers.empty()) workers.erase(workers.begin());
  }
  struct OfPriority {
    std::unique_ptr<Worker> worker;
    Duration drain{0};
  };
  Runtime& home;
  const Adjust adjust;
  std::map<unsigned, OfPriority, std::greater<>> workers;
  bool started = false;
};

PriorityWorkers::PriorityWorkers(Runtime& home, Adjust adjust) : impl_(std::make_unique<Impl>(home, std::move(adjust))) {}

PriorityWorkers::~PriorityWorkers() { stop(); }

Worker& PriorityWorkers::at(Priority priority) {
  Impl& p = *impl_;
  if (const auto known = p.workers.find(priority.level()); known != p.workers.end()) return *known->second.worker;
  RONDO_EXPECT(!p.started, "the priority workers are running: a priority has no worker, and is too late for one");
  WorkerOptions options;
  options.name = "orchs-p" + std::to_string(priority.level());
  options.policy = StrictlyOrdered{};
  if (p.adjust) p.adjust(priority, options);
  const Duration drain = options.drain;
  auto worker = std::make_unique<Worker>(p.home, std::move(options));
  return *p.workers.emplace(priority.level(), Impl::OfPriority{std::move(worker), drain}).first->second.worker;
}

std::size_t PriorityWorkers::size() const noexcept { return impl_->workers.size(); }

void PriorityWorkers::check(const Orch& orch, Priority priority) {
  RONDO_EXPECT(orch.priority() == priority, "Orch '" + std::string{orch.name()} + "' says it has priority " +
                                                std::to_string(orch.priority().level()) + ", and is added to the worker of priority " +
                                                std::to_string(priority.level()));
}

Status PriorityWorkers::start() {
  Impl& p = *impl_;
  if (p.started) return {StatusCode::FailedPrecondition, "the priority workers were started before"};
  p.started = true;
  for (const auto& [level, of_priority] : p.workers) {
    Status status = of_priority.worker->start();
    if (status.ok()) continue;
    stop();
    return status;
  }
  return {};
}

void PriorityWorkers::stop() {
  const SystemClock clock;  // A clock of its own: the home runtime may have ended, and its workers with it.
  const Instant begin = clock.now();
  for (const auto& [level, of_priority] : impl_->workers) {
    const Duration left = begin + of_priority.drain - clock.now();
    of_priority.worker->stop(std::max(left, Duration{0}));
  }
}

}  // namespace rondo
