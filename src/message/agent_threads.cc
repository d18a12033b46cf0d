// The threads of priorities: each with a reactor, a scheduler and a home. They are made under the lock of Core, when the first agent of a
// priority is, and live until the end.
#include "rondo/message/agent_threads.h"

#include <pthread.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "message/core.h"
#include "rondo/base/assert.h"
#include "rondo/base/clock.h"
#include "rondo/base/thread_settings.h"

namespace rondo {

namespace {

constexpr std::size_t kThreadNameBytes = 15;  // What Linux keeps.

std::unique_ptr<Policy> policy_of(const PolicyOptions& options) {
  Result<std::unique_ptr<Policy>> policy = make_policy(options);
  RONDO_ASSERT(policy.has_value());
  return std::move(*policy);
}

/// One thread with what it runs.
struct PriorityThread {
  PriorityThread(const Clock& clock, std::unique_ptr<Reactor> given, const PolicyOptions& policy)
      : reactor(std::move(given)), scheduler(clock, *reactor, policy_of(policy)) {}
  const std::unique_ptr<Reactor> reactor;
  Scheduler scheduler;
  std::thread thread;
};

Status prepare(const std::string& name, const AgentThreadSettings& settings) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, kThreadNameBytes).c_str());
  if (Status refused = pin_thread(::pthread_self(), settings.cpus); !refused.ok()) return refused;
  return settings.nice == 0 ? Status{} : set_thread_nice(settings.nice);
}

}  // namespace

struct AgentThreads::Parts {
  explicit Parts(AgentThreadsOptions given) : options(std::move(given)) {}
  Result<std::shared_ptr<message::Home>> home_for(Priority priority);
  void stop() noexcept;

  AgentThreadsOptions options;
  SystemClock clock;
  std::vector<std::unique_ptr<PriorityThread>> threads;  // Guarded by Core's lock.
  std::mutex stopping;
  std::condition_variable stopped;
  bool is_stopped = false;
  std::unique_ptr<Agents> agents;
  Agents::Core* core = nullptr;
};

AgentThreads::AgentThreads(AgentThreadsOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {
  Parts& p = *parts_;
  AgentsOptions inner = p.options.agents;
  inner.on_stop = [&p, theirs = p.options.agents.on_stop] { theirs ? theirs() : p.stop(); };
  auto core = std::make_unique<Agents::Core>(std::move(inner), [&p](Priority priority) { return p.home_for(priority); });
  p.core = core.get();
  p.agents = std::unique_ptr<Agents>(new Agents(std::move(core)));
}

AgentThreads::~AgentThreads() {
  stop();
  std::vector<std::unique_ptr<PriorityThread>> threads;
  {
    const std::lock_guard<std::mutex> guard(parts_->core->lock);
    parts_->core->closed = true;  // No thread is made from here on.
    threads.swap(parts_->threads);
  }
  for (const auto& one : threads) one->scheduler.stop();
  for (const auto& one : threads) one->thread.join();
  parts_->agents.reset();
}

Agents& AgentThreads::agents() noexcept { return *parts_->agents; }

Result<std::shared_ptr<message::Home>> AgentThreads::Parts::home_for(Priority priority) {
  const std::string name = options.name + "-p" + std::to_string(priority.level());
  Result<std::unique_ptr<Reactor>> reactor = make_epoll_reactor();
  if (!reactor) return failure(reactor.error().with_context("thread '" + name + "'"));
  auto made = std::make_unique<PriorityThread>(clock, std::move(*reactor), options.policy);
  auto home = std::make_shared<message::Home>(*core, made->scheduler);
  const AgentThreadSettings settings = options.settings ? options.settings(priority) : AgentThreadSettings{};
  threads.reserve(threads.size() + 1);
  core->homes.push_back(home);
  made->scheduler.add(home->life);
  std::promise<Status> promise;
  std::future<Status> settled = promise.get_future();
  Status status;
  try {
    made->thread = std::thread([&scheduler = made->scheduler, &name, &settings, &promise] {
      const Status prepared = prepare(name, settings);
      const bool goes_on = prepared.ok();
      promise.set_value(prepared);
      if (goes_on) scheduler.run();
    });
    status = settled.get();
    if (!status.ok()) made->thread.join();
  } catch (const std::system_error& error) {
    status = {Code::ResourceExhausted, std::string{"there is no thread: "} + error.what()};
  }
  if (!status.ok()) {
    home->life.close();
    core->homes.pop_back();
    return failure(status.with_context("thread '" + name + "'"));
  }
  threads.push_back(std::move(made));
  return home;
}

void AgentThreads::Parts::stop() noexcept {
  {
    const std::lock_guard<std::mutex> guard(core->lock);
    for (const auto& one : threads) one->scheduler.stop();
  }
  const std::lock_guard<std::mutex> guard(stopping);
  is_stopped = true;
  stopped.notify_all();
}

void AgentThreads::stop() noexcept { parts_->stop(); }

void AgentThreads::wait() {
  std::unique_lock<std::mutex> guard(parts_->stopping);
  parts_->stopped.wait(guard, [this] { return parts_->is_stopped; });
}

std::size_t AgentThreads::size() const {
  const std::lock_guard<std::mutex> guard(parts_->core->lock);
  return parts_->threads.size();
}

}  // namespace rondo
