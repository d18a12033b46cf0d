// Scheduler: the only thing that gives turns. It gathers (reactor, wakes from other threads, time), asks its Policy for the next ready
// source, runs it for a budget, and believes what it says about its backlog. One thread, its owner, calls its functions (see is_here());
// wake_from_any_thread is for the others.
//
// Gathering is amortised but bounded: before a turn the reactor is looked at when the last turn took longer than limits::kPollAfter, when
// the last look is limits::kPollPeriod ago, or after limits::kTurnsWithoutPoll turns. So an urgent arrival waits for one turn of somebody
// else, plus at most 16 us of short ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/sched/inbox.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "rondo/sched/turn_watch.h"

namespace rondo {

/// Figures of the whole scheduler.
struct SchedulerStats {
  std::uint64_t turns = 0;
  std::uint64_t polls = 0;          // Looks at the reactor, waiting ones included.
  std::uint64_t remote_wakes = 0;   // Wakes from other threads, by inboxes, too; a burst for one source counts once.
  std::uint64_t sweep_rescues = 0;  // Lost wake-ups found by the liveness sweep. Expected to stay 0.
  std::uint64_t quarantined = 0;
  Duration longest_turn{0};
  Duration longest_gap{0};            // Between two turns while somebody was ready: looks at the reactor.
  std::uint64_t long_turns = 0;       // Above limits::kLongTurn.
  std::uint64_t full_turns = 0;       // Turns that used all items of their budget.
  std::uint64_t timed_out_turns = 0;  // Turns that ended because their time was over.
  std::uint64_t due_polls = 0;        // Looks at the reactor between turns, because one was due.
  std::uint64_t timer_bursts = 0;     // Looks at the timers that left some for the next: limits::kTimersPerTurn of a wheel were due.
};

/// A turn that took longer than limits::kLongTurn: others waited behind it.
struct LongTurn {
  std::string_view source;  // Its name; valid while the callback runs.
  Instant began;
  Duration ran{0};
  Duration on_cpu{0};  // What the thread had of a CPU meanwhile, at most 0.25 ms too much; the rest it was not let run.
};

class ExecutorHost;

class Scheduler {
 public:
  /// 'clock' and 'reactor' must outlive the scheduler.
  Scheduler(const Clock& clock, Reactor& reactor, std::unique_ptr<Policy> policy);
  /// Every source must have been removed (or destroyed) before.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds a source, idle, or ready if it has a backlog. It must not belong to a scheduler yet. O(1). May throw std::bad_alloc, and has no
  /// effect then.
  void add(Source& source);
  /// Takes the source out, whatever its state, and forgets its descriptors. Allowed inside any turn, also its own. O(1) amortised.
  void remove(Source& source);

  /// From now on what is left in 'inbox' is handed out, between turns. It must not belong to a scheduler yet. O(1).
  void add(Inbox& inbox) noexcept;
  /// O(inboxes).
  void remove(Inbox& inbox) noexcept;
  /// Something has been left in an inbox while this slept. Any thread; costs a write to the reactor at most, and none while
  /// the scheduler is awake.
  void look_into_inboxes() noexcept;

  /// Gives turns by 'policy' from now on, also in the middle of a turn. Ready sources stay ready: within a priority they go on in the order
  /// in which the policy before would have picked them, and who was served longest ago is remembered. Figures that belong to a policy
  /// (SourceStats::longest_wait) begin anew; the longest turns seen stay. O(sources).
  void set_policy(std::unique_ptr<Policy> policy);

  /// Tells 'watch' of every turn and wake from now on; nullptr: nobody. Before sources are added: it names those that are added later. It
  /// must outlive the scheduler, or be taken away.
  void watch(TurnWatch* watch) noexcept { watch_ = watch; }
  /// What executors made from now on meet around them; nullptr: nothing. It must outlive them. For the runtime.
  void set_executor_host(ExecutorHost* host) noexcept { executor_host_ = host; }
  ExecutorHost* executor_host() const noexcept { return executor_host_; }

  /// Whether the calling thread may touch what belongs to this scheduler. That is the owner: the thread that gave the last turn, waited or
  /// polled, and before the first such call the thread that made the scheduler. Once stop() was called, any one thread may when no thread
  /// is in such a call: the program sees to it that it is one, as by joining the owner. Any thread. O(1), about a nanosecond.
  bool is_here() const noexcept {
    return owner_.load(std::memory_order_relaxed) == __builtin_thread_pointer() ||
           (stopping() && inside_.load(std::memory_order_acquire) == 0);
  }
  /// The calling thread is the owner from now on. No thread is in a call that gives turns, and the program sees to it that the calls of the
  /// owner before have ended, as by joining it.
  void move_here() noexcept { owner_.store(__builtin_thread_pointer(), std::memory_order_relaxed); }

  /// Gathers if due and gives one turn. False when nothing was ready; waits for nothing but, where much comes by an inbox,
  /// for limits::kPollAfter. Not inside a turn.
  bool turn();
  /// Gives turns until nothing is ready. Waits as turn() does, for nothing else. Returns the number of turns; stops after 'max_turns'.
  std::uint64_t run_until_idle(std::uint64_t max_turns = UINT64_MAX);
  /// Gives turns and waits in between until stop(). Returns at once if stop() was called before.
  void run();
  /// Gives turns and waits in between until 'span' is over or stop() was called; returns the number of turns. A turn that is under way then
  /// is not interrupted, and what is ready still stays so for the next call. Of 0 it waits for nothing: it looks once at what has come and
  /// gives as many turns as sources are ready then; O(sources). A policy may give one of them several and another none. Of
  /// less than 0 it does nothing. Not inside a turn.
  std::uint64_t run_for(Duration span);
  /// Looks at the reactor, other threads and time now, gives no turn. Not inside a turn.
  void poll();
  /// Waits (at most until 'deadline', or until stop()) for something to become ready, gives no turn.
  void wait(Instant deadline);
  /// For a foreign event loop, which waits in place of run(): it calls this, waits until Reactor::wait_descriptor() is readable or the
  /// returned instant has come, and calls run_until_idle(). From this call on until then a wake by another thread makes the descriptor
  /// readable. Instant{} when there is something to do already. Not inside a turn.
  Instant before_foreign_wait();
  /// Makes run() and wait() return after the current turn. Any thread; async-signal-safe. For good: turn() and run_until_idle() go on
  /// working, and before_foreign_wait() says what it said. Whoever gives turns by these must ask stopping() after each, or each round of
  /// them: it is how Reaction::StopRuntime and Overflow::StopRuntime stop, too. Reactor::wait_descriptor() becomes readable, so a foreign
  /// loop that waits comes to ask.
  void stop() noexcept;
  bool stopping() const noexcept { return stop_.load(std::memory_order_relaxed); }

  /// A number above all that were given before, from 1: the order of arrival among items of several sources (Source::head_arrival). Any
  /// thread. O(1).
  std::uint64_t next_arrival() noexcept { return arrivals_.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// To be asked by a running source between two items of its turn: true when, under the policy in force, somebody else must have the next
  /// turn, or when there is something to look at that could make it so: has_news(), whose wakes are seen and not taken, or a look at
  /// the reactor that is due. That is after limits::kItemsWithoutPoll items, or after each if they took longer than limits::kPollAfter in
  /// the source's last turn. False at all times where the policy lets nobody in before the turn's budget is used. O(1), a few nanoseconds.
  bool should_yield() const {
    const bool by_state =
        policy_->prefers_another() || first_of_all_ != nullptr ||
        (policy_->could_prefer_another() && ((running_ != nullptr && has_news(*running_)) || ++items_asked_ >= look_after_));
    return watch_ != nullptr ? watch_->should_yield(by_state) : by_state;
  }

  /// To be asked by a running source between two items that are too short for should_yield(): another thread has woken somebody who could
  /// go before the next item of 'running', or called stop(). Looks at one cache line, and one for each inbox, which are written to only
  /// when a thread wakes somebody or leaves something where nothing was. About a nanosecond; O(1) for each wake, over all calls.
  bool has_news(const Source& running) const noexcept {
    const Source* const newest = remote_head_.load(std::memory_order_acquire);
    if (newest == seen_wake_) [[likely]]
      return inboxes_have_news(running) || stopping();
    for (const Source* woken = newest; woken != nullptr && woken != seen_wake_; woken = woken->remote_next_) {
      if (woken != &running && (woken->before_all_ || policy_->could_prefer(woken->priority_))) return true;
    }
    seen_wake_ = newest;
    return inboxes_have_news(running) || stopping();
  }

  /// The clock at the last poll or at the end of the last turn, so at most one turn old inside a turn; for stamps that need no fresh
  /// reading. Never goes back.
  Instant now() const noexcept { return now_; }
  const Clock& clock() const noexcept { return clock_; }
  Reactor& reactor() noexcept { return reactor_; }
  TimerWheel& timers() noexcept { return timers_; }
  /// For timers that come by the thousand, as those of rows that wait for a time. A burst of them does not hold up the others. Nor do the
  /// others decide how many of a burst one look fires, so it is the same in a replay, which has the rows and not all of the others.
  TimerWheel& bulk_timers() noexcept { return bulk_timers_; }
  const Policy& policy() const noexcept { return *policy_; }
  /// The longest that 'source' can wait for a turn, as long as no turn is longer than those seen and no more sources come: Policy::bound()
  /// and one look at the reactor; of a source that goes before all 2 n - 1 of the longest turns and looks, n the most of such sources at a
  /// time. Duration::max(): there is no bound. O(priorities).
  Duration bound(const Source& source) const;
  const SchedulerStats& stats() const noexcept { return stats_; }

  /// For those who watch from outside (StallWatchdog). The beat changes at the beginning and at the end of each turn, and of each look at
  /// what has come; it is odd while neither is under way: the scheduler waits, or nobody runs it. Any thread.
  std::uint64_t beat() const noexcept { return beat_.load(std::memory_order_relaxed); }
  /// The source whose run() or collect() is under way, if any. The scheduler's thread, also in a signal handler.
  const Source* running() const noexcept { return running_ != nullptr ? running_ : collecting_; }

  /// Calls 'visit' for every source, in the order they were added. 'visit' must not add or remove any.
  void for_each_source(const std::function<void(const Source&)>& visit) const;

  /// Called once for each source that is quarantined, with the named error. The app logs it; by default nobody is told.
  /// The callback may remove or destroy the source.
  void on_quarantine(std::function<void(const Source&, const Status&)> callback);
  /// Called after each turn that took longer than limits::kLongTurn, before the next. It must not add, remove or wake sources.
  void on_long_turn(std::function<void(const LongTurn&)> callback);

 private:
  friend class Source;
  friend class Inbox;
  class Inside;
  bool step();
  std::uint64_t count_ready() const noexcept;
  Source* next();
  void give_turn(Source& source);
  void count_wait(Source& source) noexcept;
  void account(Source& source, const Turn& turn, Instant start);
  bool gather_if_due();
  bool find_others(bool saw_all);
  bool anybody_is_ready() const;
  void put_first(Source& source) noexcept;
  void take_out(Source& source);
  void forget_in_watch(Source& source);
  bool time_is_up(const Budget& budget);
  bool time_is_up(const Budget& budget, Instant now);
  bool turn_is_over(const Budget& budget, bool looks_at_clock);
  void wake(Source& source);
  void make_ready(Source& source);
  void wake_remote(Source& source) noexcept;
  void gather(Instant deadline);
  std::size_t look(Instant deadline);
  void dispatch(std::size_t count);
  bool collect(Source& source);
  void begin_beat() noexcept { beat_.store((beat_.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_relaxed); }
  void end_beat() noexcept { beat_.store(beat_.load(std::memory_order_relaxed) | 1, std::memory_order_relaxed); }
  bool has_remote_wakes() const noexcept {
    return remote_pending_ != nullptr || remote_head_.load(std::memory_order_relaxed) != nullptr || inboxes_have_any();
  }
  bool inboxes_have_any() const noexcept {
    for (const Inbox* inbox = first_inbox_; inbox != nullptr; inbox = inbox->next_) {
      if (inbox->waiting_.load(std::memory_order_seq_cst) != 0) return true;
    }
    return false;
  }
  bool inboxes_have_news(const Source& running) const noexcept {
    for (const Inbox* inbox = first_inbox_; inbox != nullptr; inbox = inbox->next_) {
      if (inbox->waiting() != 0 && has_news(*inbox, running)) [[unlikely]]
        return true;
    }
    return false;
  }
  bool has_news(const Inbox& inbox, const Source& running) const noexcept;
  /// Where much comes, what has come is handed out in steps of limits::kPollAfter.
  bool is_hand_out_due(Instant now) const noexcept { return !is_dense_ || now - handed_out_ >= limits::kPollAfter; }
  void end_sleep() noexcept;
  void hand_out() noexcept;
  void let_gather();
  void take_in(bool at_once);
  void take_remote_wakes() noexcept;
  void drain_remote_wakes();
  void forget_remote_wake(Source& source) noexcept;
  Instant next_timer() const noexcept { return std::min(timers_.next_expiry(), bulk_timers_.next_expiry()); }
  void expire_timers();
  void sweep();
  void quarantine(Source& source, Status why);

  std::atomic<const void*> owner_{__builtin_thread_pointer()};  // A thread, by an address that only it has.
  std::atomic<unsigned> inside_{0};                             // Calls of the owner that give turns, one within another.
  const Clock& clock_;
  Reactor& reactor_;
  std::unique_ptr<Policy> policy_;
  TurnWatch* watch_ = nullptr;
  ExecutorHost* executor_host_ = nullptr;
  Instant now_;
  TimerWheel timers_;
  SchedulerStats stats_;
  Source* first_added_ = nullptr;
  Source* last_added_ = nullptr;
  std::uint64_t last_number_ = 0;
  std::vector<ReactorEvent> events_;
  std::uint32_t turns_since_poll_ = 0;  // At limits::kTurnsWithoutPoll a look is due,
  Instant next_poll_;                   // and from then on.
  bool gathering_ = false;
  // Of the turn under way: how often should_yield() was asked, and at which number a look is due.
  mutable std::uint32_t items_asked_ = 0;
  std::uint32_t look_after_ = 0;
  Instant charged_until_;  // The time before is paid for: the end of the last turn, or when the first source became ready after it.
  Instant policy_since_;
  Source* first_of_all_ = nullptr;     // Ready sources that go before all others, first come first served.
  std::uint32_t before_all_ = 0;       // Such sources,
  std::uint32_t most_before_all_ = 0;  // and the most at a time.
  bool was_before_all_ = false;        // The last turn was of such a source.
  Source* running_ = nullptr;
  bool time_was_up_ = false;  // Told to the running source.
  Source* collecting_ = nullptr;
  Instant next_sweep_;
  // The thread's CPU time when it was read last: not in every turn, because that costs more than a short one.
  Duration cpu_time_{0};
  Instant next_cpu_time_;
  mutable const Source* seen_wake_ = nullptr;  // Who was woken after this one, has_news() has not looked at.
  Source* remote_pending_ = nullptr;           // Wakes taken from remote_head_, oldest first.
  Inbox* first_inbox_ = nullptr;
  const bool may_gather_;  // Others can fill the inboxes while this thread waits.
  bool is_dense_ = false;  // When they were handed out last, much had come in a short time.
  Instant handed_out_;
  TimerWheel bulk_timers_;
  std::function<void(const Source&, const Status&)> on_quarantine_;
  std::function<void(const LongTurn&)> on_long_turn_;
  std::atomic<std::uint64_t> beat_{1};  // Written by the scheduler's thread alone.

  // Written by other threads; on a cache line of their own.
  alignas(64) std::atomic<Source*> remote_head_{nullptr};
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};

  // Written by all threads that number what they bring; on a cache line of its own.
  alignas(64) std::atomic<std::uint64_t> arrivals_{0};
};

}  // namespace rondo
