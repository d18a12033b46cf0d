// AgentThreads: agents with one thread for each priority in use, like SObjectizer's one_per_prio dispatcher. An agent stays on the thread
// of its priority. Any thread posts to it with the same call. Each thread has its own scheduler, so a slow handler delays only its own
// priority. Data that agents of two priorities share needs a lock in user code.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/message/agents.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/stall_watchdog.h"

namespace rondo {

/// Settings of one thread; see rondo/base/thread_settings.h.
struct AgentThreadSettings {
  int nice = 0;
  std::vector<unsigned> cpus = {};
  /// Checks from another thread whether each turn of the thread ends; see StallWatchdog.
  std::optional<StallWatchdogOptions> watchdog = {};
};

struct AgentThreadsOptions {
  AgentsOptions agents = {};
  /// Policy of each thread's scheduler. Must be valid (assert).
  PolicyOptions policy = StrictlyOrdered{};
  /// Called once for each priority, when its thread is made, on the thread that makes the first agent of the priority. It must not call
  /// functions of these Agents, which wait for its result. Without it the operating system treats the threads of all priorities alike.
  std::function<AgentThreadSettings(Priority)> settings = {};
  /// Threads are named "NAME-p7", the first 15 bytes of it.
  std::string name = "agents";
};

class AgentThreads {
 public:
  /// Starts no thread; the first agent of a priority starts one. If that fails, Agents::add of that group fails.
  explicit AgentThreads(AgentThreadsOptions options = {});
  /// Calls stop(); then every agent finishes on the calling thread, and waiting messages are dropped.
  ~AgentThreads();
  AgentThreads(const AgentThreads&) = delete;
  AgentThreads& operator=(const AgentThreads&) = delete;

  Agents& agents() noexcept;
  /// Waits until the threads are stopped: by Reaction::StopRuntime, Overflow::StopRuntime, or stop().
  void wait();
  /// Every thread ends after its current message. Any thread; permanent. From now on every post is refused (NotFound), also by an agent,
  /// and so is adding agents (FailedPrecondition). The destructor drops the waiting messages. O(agents).
  void stop() noexcept;
  /// Number of running threads.
  std::size_t size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
