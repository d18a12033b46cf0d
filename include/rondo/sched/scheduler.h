// Scheduler: the only thing that gives turns. It gathers (reactor, wakes from other threads, time), asks its Policy for the next ready
// source, runs it for a budget, and believes what it says about its backlog. One thread; see wake_from_any_thread for the others.
//
// Gathering is amortised but bounded: before a turn the reactor is looked at when the last turn took longer than limits::kPollAfter, or
// after limits::kTurnsWithoutPoll short ones. So an urgent arrival waits for one turn of somebody else, plus at most 32 us of short ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo {

/// Figures of the whole scheduler.
struct SchedulerStats {
  std::uint64_t turns = 0;
  std::uint64_t polls = 0;
  std::uint64_t sweep_rescues = 0;  // Lost wake-ups found by the liveness sweep. Expected to stay 0.
  std::uint64_t quarantined = 0;
  Duration longest_turn{0};
};

class Scheduler {
 public:
  /// 'clock' and 'reactor' must outlive the scheduler.
  Scheduler(const Clock& clock, Reactor& reactor, std::unique_ptr<Policy> policy);
  /// Every source must have been removed (or destroyed) before.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds an idle source. It must not belong to a scheduler yet.
  void add(Source& source);
  /// Takes the source out, whatever its state. Allowed inside any turn, also its own. O(1) amortised.
  void remove(Source& source);

  /// Gathers if due and gives one turn. False when nothing was ready; never waits.
  bool turn();
  /// Gives turns until nothing is ready. Does not wait for time or other threads. Returns the number of turns; stops after 'max_turns'.
  std::uint64_t run_until_idle(std::uint64_t max_turns = UINT64_MAX);
  /// Gives turns and waits in between until stop().
  void run();
  /// Waits (at most until 'deadline') for something to become ready, gives no turn.
  void wait(Instant deadline);
  /// Makes run() return after the current turn. Any thread; async-signal-safe.
  void stop() noexcept;
  bool stopping() const noexcept { return stop_.load(std::memory_order_relaxed); }

  /// The time read last, at most one turn old; for stamps that need no fresh reading.
  Instant now() const noexcept { return now_; }
  const Clock& clock() const noexcept { return clock_; }
  Reactor& reactor() noexcept { return reactor_; }
  TimerWheel& timers() noexcept { return timers_; }
  const Policy& policy() const noexcept { return *policy_; }
  const SchedulerStats& stats() const noexcept { return stats_; }

  /// Calls 'visit' for every source, in the order they were added.
  void for_each_source(const std::function<void(const Source&)>& visit) const;

  /// Called once for each source that is quarantined, with the named error. The app logs it; by default nobody is told.
  void on_quarantine(std::function<void(const Source&, const Status&)> callback);

 private:
  friend class Source;
  enum class Gather { Look, Wait };
  void wake(Source& source);
  void wake_remote(Source& source) noexcept;
  void gather(Instant deadline);
  void drain_remote_wakes();
  void collect(Source& source, bool descriptor_error);
  void sweep();
  void quarantine(Source& source, Status why);
  void give_turn(Source& source);

  const Clock& clock_;
  Reactor& reactor_;
  std::unique_ptr<Policy> policy_;
  TimerWheel timers_;
  Instant now_;
  SchedulerStats stats_;
  std::vector<Source*> sources_;
  std::vector<ReactorEvent> events_;
  std::uint32_t turns_since_poll_ = 0;
  bool poll_due_ = true;
  Source* running_ = nullptr;
  Instant next_sweep_;
  std::atomic<Source*> remote_head_{nullptr};
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::function<void(const Source&, const Status&)> on_quarantine_;
};

}  // namespace rondo
