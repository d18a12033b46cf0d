// Scheduler: gives turns to sources; nothing else runs handlers. It gathers (reactor, wakes from other threads, timers) and lets its Policy
// pick the next ready source. It runs that source for a budget, and the source reports its backlog. One thread, the owner, calls its
// functions (see is_here()); other threads call Source::wake_from_any_thread.
//
// Gathering is amortised but bounded. Before a turn the scheduler polls the reactor in three cases: the last turn took longer than
// limits::kPollAfter, the last poll was limits::kPollPeriod ago, or there were limits::kTurnsWithoutPoll turns without a poll. So an urgent
// event waits for one turn of another source, plus at most 16 us of short turns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/sched/inbox.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo {

/// Figures of the whole scheduler.
struct SchedulerStats {
  std::uint64_t turns = 0;
  std::uint64_t polls = 0;          // Polls of the reactor, including those that wait.
  std::uint64_t remote_wakes = 0;   // Wakes from other threads, also by inboxes; a burst for one source counts once.
  std::uint64_t sweep_rescues = 0;  // Lost wake-ups found by the liveness sweep. Expected to stay 0.
  std::uint64_t quarantined = 0;
  Duration longest_turn{0};
  Duration longest_gap{0};            // Between two turns while a source was ready; it is spent in reactor polls.
  std::uint64_t long_turns = 0;       // Longer than limits::kLongTurn.
  std::uint64_t full_turns = 0;       // Turns that used all items of their budget.
  std::uint64_t timed_out_turns = 0;  // Turns that ended because their time was over.
  std::uint64_t due_polls = 0;        // Reactor polls between turns, because one was due.
  // Timer checks that left timers for the next one, because more than limits::kTimersPerTurn of a wheel were due.
  std::uint64_t timer_bursts = 0;
  Log2Histogram turn_ns;  // How long the turns took.
};

/// A turn that took longer than limits::kLongTurn: other sources waited for it.
struct LongTurn {
  std::string_view source;  // Its name; valid while the callback runs.
  Instant began;
  Duration ran{0};
  Duration on_cpu{0};  // CPU time of the thread during the turn, at most 0.25 ms too much. In the rest of 'ran' the thread was not running.
};

class ExecutorHost;
class TurnObserver;
class TurnOverrides;
class TurnRecord;

class Scheduler {
 public:
  /// 'clock' and 'reactor' must outlive the scheduler.
  Scheduler(const Clock& clock, Reactor& reactor, std::unique_ptr<Policy> policy);
  /// Every source must have been removed (or destroyed) before.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds a source: idle, or ready if it has a backlog. The source must not belong to a scheduler. O(1). Throws std::bad_alloc or what
  /// has_backlog() throws, and then has no effect. On another thread than the owner's (is_here()) it ends the process.
  void add(Source& source);
  /// Removes the source in any state, and unwatches its descriptors. Allowed inside any turn, also its own. O(1) amortised. While another
  /// thread gives turns, waits or polls, it ends the process.
  void remove(Source& source);

  /// From now on the scheduler hands out the posts in 'inbox' between turns. The inbox must not belong to a scheduler. O(1).
  void add(Inbox& inbox) noexcept;
  /// O(inboxes).
  void remove(Inbox& inbox) noexcept;
  /// Tells the scheduler that a post was left in an inbox while it slept. Any thread. At most one write to the reactor, and none while the
  /// scheduler is awake.
  void check_inboxes() noexcept;

  /// Uses 'policy' from now on; also allowed inside a turn. Ready sources stay ready: within a priority they are served in the order in
  /// which the previous policy would have picked them. The order of the last services is kept. Figures that belong to a policy
  /// (SourceStats::longest_wait) begin anew; the longest turns are kept. O(sources).
  void set_policy(std::unique_ptr<Policy> policy);

  /// Reports every turn and wake to 'observer' from now on; nullptr stops it. Call it before sources are added: 'observer' numbers only
  /// sources that are added later. 'observer' must outlive the scheduler, or be replaced before it ends.
  void observe(TurnObserver* observer) noexcept { observer_ = observer; }
  /// Returns the record of the newest turns, for a caller that asks for them at 'now'; begins it if there is none. Its turns are numbered
  /// as SchedulerStats::turns counts them. It is independent of the observer. Throws std::bad_alloc.
  TurnRecord& record_turns(Instant now);
  /// Null while no turns are recorded: each turn then costs a branch.
  TurnRecord* turn_record() noexcept { return record_.get(); }
  void end_turn_record() noexcept;
  /// 'overrides' decides from now on; nullptr stops it. Call it before sources are added. 'overrides' must outlive the scheduler. For a
  /// replay.
  void set_overrides(TurnOverrides* overrides) noexcept { overrides_ = overrides; }
  /// Sets the host of executors that are made from now on; nullptr: none. It must outlive them. For the runtime.
  void set_executor_host(ExecutorHost* host) noexcept { executor_host_ = host; }
  ExecutorHost* executor_host() const noexcept { return executor_host_; }

  /// True if the calling thread may use what belongs to this scheduler. That is the owner: the thread that last gave a turn, waited or
  /// polled. Before the first such call it is the thread that made the scheduler. After stop(), any one thread may use it while no thread
  /// is in such a call; the program ensures that it is only one, for example by joining the owner. Any thread. O(1), about a nanosecond.
  bool is_here() const noexcept {
    return owner_.load(std::memory_order_relaxed) == __builtin_thread_pointer() ||
           (stopping() && inside_.load(std::memory_order_acquire) == 0);
  }
  /// Ends the process if it is a child that fork() or daemon(3) made after this scheduler: the child lacks the threads of its parent.
  /// 'call' is named. Any thread. One system call.
  void expect_same_process(std::string_view call) const;
  /// True if another thread gives turns now, or waits or polls. Any thread.
  bool runs_elsewhere() const noexcept {
    return owner_.load(std::memory_order_relaxed) != __builtin_thread_pointer() && inside_.load(std::memory_order_acquire) != 0;
  }
  /// Makes the calling thread the owner. No thread may be in a call that gives turns. The program ensures that all calls of the previous
  /// owner have ended, for example by joining it.
  void move_here() noexcept { owner_.store(__builtin_thread_pointer(), std::memory_order_relaxed); }

  /// Gathers if due and gives one turn. False when nothing was ready. Does not wait, with one exception: when many posts arrive by an
  /// inbox, it waits for limits::kPollAfter. Not inside a turn.
  bool turn();
  /// Gives turns until nothing is ready or 'max_turns' were given. Waits only as turn() does. Returns the number of turns.
  std::uint64_t run_until_idle(std::uint64_t max_turns = UINT64_MAX);
  /// Gives turns, and waits between them, until stop(). Returns immediately if stop() was called before.
  void run();
  /// Gives turns, and waits between them, until 'span' is over or stop() was called; returns the number of turns. It does not interrupt the
  /// current turn, and ready sources stay ready for the next call. With a span of 0 it does not wait: it gathers once and gives as many
  /// turns as sources are ready then; O(sources). A policy may give several of these turns to one source and none to another. With a span
  /// below 0 it does nothing. Not inside a turn.
  std::uint64_t run_for(Duration span);
  /// Gathers from the reactor, other threads and timers now; gives no turn. Not inside a turn.
  void poll();
  /// Waits until something becomes ready, at most until 'deadline' or stop(); gives no turn.
  void wait(Instant deadline);
  /// For a foreign event loop, which waits in place of run(). The loop calls this, waits until Reactor::wait_descriptor() is readable or
  /// the returned instant has passed, and calls run_until_idle(). From this call until then a wake by another thread makes the descriptor
  /// readable. Returns Instant{} when work is ready. Not inside a turn.
  Instant before_foreign_wait();
  /// Makes run() and wait() return after the current turn, permanently. Any thread; async-signal-safe. turn(), run_until_idle() and
  /// before_foreign_wait() are not affected. A program that gives turns with them must check stopping() after each call.
  /// Reaction::StopRuntime and Overflow::StopRuntime stop in the same way. Reactor::wait_descriptor() becomes readable, so a foreign loop
  /// wakes and can check.
  void stop() noexcept;
  bool stopping() const noexcept { return stop_.load(std::memory_order_relaxed); }

  /// Returns the next arrival number, from 1 upwards: it orders the items of several sources (Source::head_arrival). Any thread. O(1).
  std::uint64_t next_arrival() noexcept { return arrivals_.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// A running source calls this between two items of its turn. True when another source must have the next turn under the current policy.
  /// Also true when a check is needed that could have this result: has_news(), whose wakes are read but not taken, or a due reactor poll. A
  /// poll is due after limits::kItemsWithoutPoll items, or after each item if they took longer than limits::kPollAfter in the source's last
  /// turn. Always false where the policy lets no source in before the turn's budget is used. O(1), a few nanoseconds.
  bool should_yield() const {
    const bool by_state =
        policy_->prefers_another() || first_of_all_ != nullptr ||
        (policy_->could_prefer_another() && ((running_ != nullptr && has_news(*running_)) || ++items_asked_ >= check_after_));
    return observer_ == nullptr ? by_state : decided_yield(by_state);
  }

  /// A running source calls this between two items that are too short for should_yield(). True if another thread has woken a source that
  /// could go before the next item of 'running', or has called stop(). Reads one cache line, and one for each inbox. Other threads write to
  /// these lines only when they wake a source, or post to an inbox without waiting posts. About a nanosecond; O(1) for each wake, over all
  /// calls.
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

  /// The time of the last poll or of the end of the last turn; inside a turn it is at most one turn old. For stamps that need no fresh
  /// clock reading. Never goes back.
  Instant now() const noexcept { return now_; }
  const Clock& clock() const noexcept { return clock_; }
  Reactor& reactor() noexcept { return reactor_; }
  TimerWheel& timers() noexcept { return timers_; }
  /// The wheel for timers in large numbers, such as those of rows that wait for a time. A burst of them cannot delay other timers. Each
  /// poll fires the same number of them in a live run and in a replay, because the count does not depend on other timers.
  TimerWheel& bulk_timers() noexcept { return bulk_timers_; }
  const Policy& policy() const noexcept { return *policy_; }
  /// The longest wait of 'source' for a turn, if no turn is longer than those seen and no sources are added. It is Policy::bound() and one
  /// reactor poll. For a source that goes before all others it is 2 n - 1 of the longest turns and polls. n is the largest number of such
  /// sources at a time. Duration::max() if there is no bound. O(priorities).
  Duration bound(const Source& source) const;
  const SchedulerStats& stats() const noexcept { return stats_; }

  /// For observers in other threads (StallWatchdog). The beat changes at the beginning and at the end of each turn and of each gathering.
  /// It is odd while neither is under way: the scheduler waits, or no thread runs it. Any thread.
  std::uint64_t beat() const noexcept { return beat_.load(std::memory_order_relaxed); }
  /// The source whose run() or collect() is under way, or null. The scheduler's thread, also in a signal handler.
  const Source* running() const noexcept { return running_ != nullptr ? running_ : collecting_; }

  /// Calls 'visit' for every source, in the order in which they were added. 'visit' must not add or remove sources.
  void for_each_source(const std::function<void(const Source&)>& visit) const;

  /// Called once for each source that is quarantined, with its error. The program should log it. A Runtime sets a callback that logs
  /// it (RuntimeOptions::log_rejects); otherwise there is none. The callback may remove or destroy the source. It must not throw: an
  /// exception ends the process.
  void on_quarantine(std::function<void(const Source&, const Status&)> callback);
  /// Called after each turn that took longer than limits::kLongTurn, before the next. It must not add, remove or wake sources, and must
  /// not throw: an exception ends the process.
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
  void forget_in_observer(Source& source);
  bool decided_yield(bool by_state) const;
  bool time_is_up(const Budget& budget);
  bool time_is_up(const Budget& budget, Instant now);
  bool turn_is_over(const Budget& budget, bool checks_clock);
  void wake(Source& source);
  void make_ready(Source& source);
  void wake_remote(Source& source) noexcept;
  void gather(Instant deadline);
  std::size_t poll_events(Instant deadline);
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
  /// When many posts arrive, they are handed out at most once in limits::kPollAfter.
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
  void sweep(Source& source);
  /// Asserts that this is the owner's thread, or for calls of objects that a program destroys when no thread runs the scheduler
  /// (expect_not_elsewhere) that no other thread gives turns. 'call' of 'source' is named. One comparison on the owner's thread.
  void expect_here(const Source& source, std::string_view call) const {
    if (!is_here()) [[unlikely]]
      called_elsewhere(source, call);
  }
  void expect_not_elsewhere(const Source& source, std::string_view call) const {
    if (runs_elsewhere()) [[unlikely]]
      called_elsewhere(source, call);
  }
  [[gnu::cold]] static void called_elsewhere(const Source& source, std::string_view call);
  void quarantine(Source& source, Status why);

  std::atomic<const void*> owner_{__builtin_thread_pointer()};  // The owner thread, identified by the address of its thread control block.
  std::atomic<unsigned> inside_{0};                             // Depth of nested calls of the owner that give turns.
  const int process_;                                           // The id of the process that made the scheduler.
  const Clock& clock_;
  Reactor& reactor_;
  std::unique_ptr<Policy> policy_;
  TurnObserver* observer_ = nullptr;
  TurnOverrides* overrides_ = nullptr;  // Only with an observer.
  std::unique_ptr<TurnRecord> record_;
  ExecutorHost* executor_host_ = nullptr;
  Instant now_;
  TimerWheel timers_;
  SchedulerStats stats_;
  Source* first_added_ = nullptr;
  Source* last_added_ = nullptr;
  std::uint64_t last_number_ = 0;
  std::vector<ReactorEvent> events_;
  std::uint32_t turns_since_poll_ = 0;  // At limits::kTurnsWithoutPoll a poll is due.
  Instant next_poll_;                   // From this time on a poll is due.
  bool gathering_ = false;
  // Of the current turn: number of should_yield() calls, and the number at which a poll is due.
  mutable std::uint32_t items_asked_ = 0;
  std::uint32_t check_after_ = 0;
  // Time before this is charged: the end of the last turn, or the time when the first source became ready after it.
  Instant charged_until_;
  Instant policy_since_;
  Source* first_of_all_ = nullptr;     // Ready sources that go before all others, in the order of arrival.
  std::uint32_t before_all_ = 0;       // Number of sources that go before all others.
  std::uint32_t most_before_all_ = 0;  // The largest number of them at a time.
  bool was_before_all_ = false;        // The last turn was given to such a source.
  Source* running_ = nullptr;
  bool time_was_up_ = false;  // Returned to the running source.
  Source* collecting_ = nullptr;
  Instant next_sweep_;
  // The thread's CPU time at its last reading. It is not read in every turn, because that costs more than a short turn.
  Duration cpu_time_{0};
  Instant next_cpu_time_;
  mutable const Source* seen_wake_ = nullptr;  // has_news() has checked the wakes up to this one.
  Source* remote_pending_ = nullptr;           // Wakes taken from remote_head_, oldest first.
  Inbox* first_inbox_ = nullptr;
  const bool may_gather_;  // Other threads can fill the inboxes while this thread waits.
  bool is_dense_ = false;  // At the last hand-out many posts had arrived in a short time.
  Instant handed_out_;
  TimerWheel bulk_timers_;
  std::function<void(const Source&, const Status&)> on_quarantine_;
  std::function<void(const LongTurn&)> on_long_turn_;
  std::atomic<std::uint64_t> beat_{1};  // Only the scheduler's thread writes it.

  // Other threads write these; they have a cache line of their own.
  alignas(64) std::atomic<Source*> remote_head_{nullptr};
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};

  // All threads that take arrival numbers write it; it has a cache line of its own.
  alignas(64) std::atomic<std::uint64_t> arrivals_{0};
};

}  // namespace rondo
