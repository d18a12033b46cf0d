// AgentThreads: agents with a thread for each priority in use (seed 003, "Dispatcher With Dedicated Thread For Every Priority"). An agent
// lives on the thread of its priority for life; posting to it, from whatever thread, is the same call. Each thread has a scheduler of its
// own, so a slow handler delays its own priority alone. What two priorities share needs a lock of the user's.
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

/// What the system is told of one thread; see rondo/base/thread_settings.h.
struct AgentThreadSettings {
  int nice = 0;
  std::vector<unsigned> cpus = {};
  /// Looks from outside whether a turn of the thread ends; see StallWatchdog.
  std::optional<StallWatchdogOptions> watchdog = {};
};

struct AgentThreadsOptions {
  AgentsOptions agents = {};
  /// Of each thread's scheduler. Must be valid (assert).
  PolicyOptions policy = StrictlyOrdered{};
  /// Asked once for each priority, when its thread is made, on the thread that makes the first agent of the priority. Must not call
  /// functions of these Agents, which wait for its answer. A priority of ours says nothing to the system unless this does.
  std::function<AgentThreadSettings(Priority)> settings = {};
  /// Threads are named "NAME-p7", the first 15 bytes of it.
  std::string name = "agents";
};

class AgentThreads {
 public:
  /// Starts no thread; the first agent of a priority does. If that fails, so does its group (Agents::add).
  explicit AgentThreads(AgentThreadsOptions options = {});
  /// Stops; then every agent finishes on the calling thread, and what waits is dropped.
  ~AgentThreads();
  AgentThreads(const AgentThreads&) = delete;
  AgentThreads& operator=(const AgentThreads&) = delete;

  Agents& agents() noexcept;
  /// Waits until somebody stops the threads: Reaction::StopRuntime, Overflow::StopRuntime, or stop().
  void wait();
  /// Every thread ends after the message that it handles. Any thread; for good: from here on every post is refused (NotFound), also one of
  /// an agent, and so is whoever adds agents (FailedPrecondition). What waits is dropped when this ends. O(agents).
  void stop() noexcept;
  /// Threads that run.
  std::size_t size() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
