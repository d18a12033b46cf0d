// The threads of priorities, each with a reactor, a scheduler and a context. A thread is made under the lock of Agents, with the first
// agent of its priority, and runs until the end.
#include "rondo/message/agent_threads.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "message/agents_impl.h"
#include "rondo/base/assert.h"
#include "rondo/base/clock.h"
#include "rondo/base/thread_settings.h"

namespace rondo {

namespace {

constexpr std::size_t kThreadNameBytes = 15;  // Linux keeps this many.

std::unique_ptr<Policy> policy_of(const PolicyOptions& options) {
  Result<std::unique_ptr<Policy>> policy = make_policy(options);
  RONDO_EXPECT(policy.has_value(), "AgentThreads was given a policy that cannot be: " + policy.error().to_string());
  return std::move(*policy);
}

/// One thread and the objects that it runs.
struct PriorityThread {
  PriorityThread(Priority level, const Clock& clock, std::unique_ptr<Reactor> given, const PolicyOptions& policy)
      : priority(level), reactor(std::move(given)), scheduler(clock, *reactor, policy_of(policy)) {}
  const Priority priority;
  const std::unique_ptr<Reactor> reactor;
  Scheduler scheduler;
  std::shared_ptr<message::SchedulerContext> context;  // Destroyed before the scheduler.
  Status started;                                      // Written by the thread before 'has_begun'.
  std::atomic<bool> has_begun{false};
  std::thread thread;
};

Status prepare(const std::string& name, const AgentThreadSettings& settings) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, kThreadNameBytes).c_str());
  if (Status refused = pin_thread(::pthread_self(), settings.cpus); !refused.ok()) return refused;
  return settings.nice == 0 ? Status{} : set_thread_nice(settings.nice);
}

Status watch(const Scheduler& scheduler, const StallWatchdogOptions& options, std::unique_ptr<StallWatchdog>& watchdog) {
  Result<std::unique_ptr<StallWatchdog>> made = StallWatchdog::start(scheduler, options);
  if (!made) return std::move(made.error());
  watchdog = std::move(*made);
  return {};
}

/// Returns when the thread runs its scheduler, or with the error if it could not be started.
Status start(PriorityThread& made, const std::string& name, const AgentThreadSettings& settings) {
  try {
    made.thread = std::thread([&made, &name, &settings] {
      std::unique_ptr<StallWatchdog> watchdog;
      try {
        made.started = prepare(name, settings);
        if (made.started.ok() && settings.watchdog) made.started = watch(made.scheduler, *settings.watchdog, watchdog);
      } catch (const std::bad_alloc&) {
        made.started = Status::out_of_memory();
      }
      const bool goes_on = made.started.ok();
      made.has_begun = true;  // From here on 'name' and 'settings' may be gone.
      made.has_begun.notify_one();
      if (goes_on) made.scheduler.run();
    });
  } catch (const std::system_error& error) {
    return {StatusCode::ResourceExhausted, std::string{"there is no thread: "} + error.what()};
  }
  made.has_begun.wait(false);
  if (!made.started.ok()) made.thread.join();
  return std::move(made.started);
}

}  // namespace

struct AgentThreads::Impl {
  explicit Impl(AgentThreadsOptions given) : options(std::move(given)) {}
  Result<std::shared_ptr<message::SchedulerContext>> context_for(Priority priority);
  void stop() noexcept;

  AgentThreadsOptions options;
  SystemClock clock;
  std::vector<std::unique_ptr<PriorityThread>> threads;  // Guarded by the lock of Agents.
  std::mutex stopping;
  std::condition_variable stopped;
  bool is_stopped = false;
  std::unique_ptr<Agents> agents;
  Agents* known_agents = nullptr;  // Points to the agents. Agents that finish may use it while the agents are being destroyed.
  Agents::Impl* core = nullptr;
};

AgentThreads::AgentThreads(AgentThreadsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  Impl& p = *impl_;
  AgentsOptions inner = p.options.agents;
  inner.on_stop = [&p, theirs = p.options.agents.on_stop] { theirs ? theirs() : p.stop(); };
  auto core = std::make_unique<Agents::Impl>(std::move(inner), [&p](Priority priority) { return p.context_for(priority); });
  p.core = core.get();
  p.agents = std::unique_ptr<Agents>(new Agents(std::move(core)));
  p.known_agents = p.agents.get();
}

AgentThreads::~AgentThreads() {
  stop();
  std::vector<std::unique_ptr<PriorityThread>> threads;
  {
    const std::lock_guard<std::mutex> guard(impl_->core->lock);
    threads.swap(impl_->threads);  // No further thread is made.
  }
  for (const auto& one : threads) one->thread.join();
  impl_->agents.reset();
}

Agents& AgentThreads::agents() noexcept { return *impl_->known_agents; }

Result<std::shared_ptr<message::SchedulerContext>> AgentThreads::Impl::context_for(Priority priority) {
  const std::string name = options.name + "-p" + std::to_string(priority.level());
  for (const auto& one : threads) {
    if (one->priority == priority) return one->context;  // Made earlier, for a queue whose allocation then failed.
  }
  Result<std::unique_ptr<Reactor>> reactor = make_epoll_reactor();
  if (!reactor) return failure(reactor.error().with_context("thread '" + name + "'"));
  auto made = std::make_unique<PriorityThread>(priority, clock, std::move(*reactor), options.policy);
  made->context = std::make_shared<message::SchedulerContext>(*core, made->scheduler);
  const AgentThreadSettings settings = options.settings ? options.settings(priority) : AgentThreadSettings{};
  threads.reserve(threads.size() + 1);
  core->contexts.reserve(core->contexts.size() + 1);
  made->context->enter();
  const Status status = start(*made, name, settings);
  if (!status.ok()) return failure(status.with_context("thread '" + name + "'"));
  // Nothing after this fails.
  core->contexts.push_back(made->context);
  threads.push_back(std::move(made));
  return threads.back()->context;
}

void AgentThreads::Impl::stop() noexcept {
  core->accept_no_more();
  {
    const std::lock_guard<std::mutex> guard(core->lock);
    for (const auto& one : threads) one->scheduler.stop();
  }
  const std::lock_guard<std::mutex> guard(stopping);
  is_stopped = true;
  stopped.notify_all();
}

void AgentThreads::stop() noexcept { impl_->stop(); }

void AgentThreads::wait() {
  std::unique_lock<std::mutex> guard(impl_->stopping);
  impl_->stopped.wait(guard, [this] { return impl_->is_stopped; });
}

std::size_t AgentThreads::size() const {
  const std::lock_guard<std::mutex> guard(impl_->core->lock);
  return impl_->threads.size();
}

}  // namespace rondo
