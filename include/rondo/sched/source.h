// Source: anything that can need a turn, such as a table, a timer, a mailbox or a socket. A source is idle or ready; only the Scheduler
// gives turns. It has two stages, like SONiC's Select loop: collect() is cheap and only buffers; run() does at most its budget and then
// reports exactly whether there is more. Wakers (descriptors, time, other threads, other sources) never run a handler: they call wake().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;
template <class Rules>
class BasicReadySet;

/// What run() reports after a turn. Readiness depends on nothing else: More makes the source ready again, Empty makes it idle until it is
/// woken.
enum class Backlog : std::uint8_t { Empty, More };

/// How much a source may do in one turn. 'time' is for sources whose items can take long, because they call user code or touch much memory:
/// they check time_is_up() every few items. Other sources only count items.
struct Budget {
  std::uint32_t items = limits::kBatchItems;
  Duration time = limits::kTurnTime;
  /// For sources that number their items: an item with this arrival number or a later one waits for the next turn, because another source
  /// of the same priority has an older item. UINT64_MAX where the policy does not order by arrival.
  std::uint64_t before = UINT64_MAX;
};

/// What a source did in one turn.
struct Turn {
  std::uint32_t items = 0;  // Handled items; the policy charges them.
  Backlog backlog = Backlog::Empty;
};

/// Figures of one source. The scheduler's thread writes them; Scheduler::for_each_source reads them.
struct SourceStats {
  std::uint64_t wakes = 0;  // Times it became ready from idle.
  std::uint64_t turns = 0;
  std::uint64_t items = 0;
  Duration ran{0};  // Sum over all turns.
  Duration longest_turn{0};
  /// From ready to the start of the turn, since the source was added or the current policy began. Compare with Scheduler::bound().
  Duration longest_wait{0};
  /// CPU time of the thread during the longest turn, at most. If it is far below longest_turn, other threads had the CPU, or the handler
  /// waited.
  Duration longest_turn_cpu{0};
};

/// Base of everything that gets turns. Its user owns it. The user must not destroy it inside its own collect() or run(), or while another
/// thread may be inside its wake_from_any_thread(). Unless a comment says otherwise, functions may be called on the scheduler's thread
/// only (Scheduler::is_here). While the scheduler gives turns, waits or polls on another thread, these calls end the process with the name
/// of the source: wake(), the destructor of a source that belongs to it, Scheduler::add and remove, Reactor::watch, and arming or disarming
/// a TimerSource. While it does not, for example before its first turn, any one thread may make them.
class alignas(64) Source {
 public:
  Source(std::string name, Priority priority);
  /// Leaves the scheduler, if it was added to one.
  virtual ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Stage one. Called before the source becomes ready, when a watched descriptor is ready or another thread woke it. Must be cheap: move
  /// arrived data into a buffer, or only return. Returns whether run() would find something. The source is quarantined if collect() returns
  /// an error, throws, or finds nothing while the descriptor stays in error. So a source that outlives its descriptor unwatches it here.
  virtual Result<Backlog> collect() { return Backlog::More; }

  /// Stage two: handles at most 'budget.items' items, fewer when 'budget.time' is over (see Budget). An exception quarantines this source;
  /// other sources continue.
  virtual Turn run(const Budget& budget) = 0;

  /// True if run() would find something to do now. Called once when the source is added, and wakes it if true. Later the liveness sweep
  /// calls it, only while the source is idle. If it returns true while idle for half a sweep period, a wake-up was lost. The sweep then
  /// wakes the source and counts that fault (SchedulerStats::sweep_rescues). An exception leaves Scheduler::add, and quarantines the source
  /// in a sweep.
  virtual bool has_backlog() const { return false; }

  /// The arrival number (Scheduler::next_arrival) of the first item of the next turn. 0 if the source does not number its items: then the
  /// time when it became ready counts. Policies that order by arrival call it when the source becomes ready, and after a turn with
  /// Backlog::More. Only the source's own turn may change it in between. Must not throw. O(1).
  virtual std::uint64_t head_arrival() const { return 0; }

  /// Number of items that wait here, for display; 0 if the source does not count them. Must not throw. O(1).
  virtual std::size_t depth() const { return 0; }

  /// Number of items that were refused or dropped because the source was full, for display; 0 if it has no bound. Must not throw.
  /// O(1).
  virtual std::uint64_t turned_away() const { return 0; }

  /// Makes this source ready. Waking a ready source changes nothing; waking it inside its own run() counts as Backlog::More. No effect
  /// before it is added to a scheduler or while it is quarantined. O(1).
  void wake();

  /// The same from any thread; collect() is called before the first turn. A burst of wakes costs at most one write to the reactor, and none
  /// while the scheduler is awake. No effect before the source is added. The source must not move to another scheduler during the call.
  void wake_from_any_thread() noexcept;

  std::string_view name() const noexcept { return name_; }
  Priority priority() const noexcept { return priority_; }
  /// Its share of the time of its priority, relative to the weights of the others, under Tie::ConsumedTime. From 1 to limits::kWeightMost.
  std::uint32_t weight() const noexcept { return weight_; }
  /// Only before it is added to a scheduler.
  void set_weight(std::uint32_t weight);
  /// True if this source goes before all others in every policy. For rare work that must not starve, such as starts and ends. While other
  /// sources wait, at most every second turn goes to such sources. The bound of the others does not include these turns; it counts them
  /// like reactor polls.
  bool goes_before_all() const noexcept { return before_all_; }
  const SourceStats& stats() const noexcept { return stats_; }
  /// Histogram of the waits from ready to the start of each turn, in nanoseconds, since it was added; empty while it belongs to no
  /// scheduler. O(buckets).
  Log2Histogram waits() const;
  bool is_ready() const noexcept { return state_ == State::Ready; }
  bool is_running() const noexcept { return state_ == State::Running; }
  /// ready_since(): when a ready source began to wait for its turn. busy_since(): since when a source that is not idle has had work without
  /// a break. No waiting item of the source is older, if the source handles its oldest item first.
  Instant ready_since() const noexcept { return ready_since_; }
  Instant busy_since() const noexcept { return goes_on_ ? busy_since_ : ready_since_; }
  /// Sources have ascending numbers in the order in which they were added to a scheduler; no two have the same. 0 before.
  std::uint64_t number() const noexcept { return number_; }
  /// Why the scheduler gives this source no more turns; ok if it does. To resume it, remove it and add it again.
  const Status& quarantine() const noexcept { return quarantine_; }
  /// True if quarantine() is not ok. Any thread.
  bool is_quarantined() const noexcept { return is_quarantined_.load(std::memory_order_relaxed); }
  Scheduler* scheduler() const noexcept { return scheduler_.load(std::memory_order_relaxed); }

 protected:
  /// See goes_before_all(). Only before it is added to a scheduler.
  void go_before_all() noexcept { before_all_ = true; }
  /// In run(): whether the turn has lasted for budget.time. Reads the clock once. Always false for a source without a scheduler.
  bool time_is_up(const Budget& budget) const;
  /// In run(), between two items: whether the turn should end now, with More, because another source must be next. A few nanoseconds; see
  /// Scheduler::should_yield. Always false for a source without a scheduler.
  bool should_yield() const;
  /// Both checks, for sources that call a handler for each item; call it after each item, with the number of 'items' so far. A more urgent
  /// source then waits for at most one handler. It reads the clock every few items, or after each item if the items of the last turn were
  /// long. A reactor poll that is due (limits::kPollPeriod) also ends the turn, if the policy lets other sources in.
  bool turn_is_over(const Budget& budget, std::uint32_t items) const;
  /// Asserts that this is the thread of its scheduler (Scheduler::is_here), if it has one. 'call' is named.
  void expect_here(std::string_view call) const;
  /// The same, and allowed on every thread while none gives turns: for destructors.
  void expect_not_elsewhere(std::string_view call) const;

 private:
  friend class Reactor;
  friend class Scheduler;
  template <class Rules>
  friend class BasicReadySet;

  enum class State : std::uint8_t { Detached, Idle, Ready, Running, Quarantined };

  // The order of members keeps the cache footprint small when there are many sources. A wake touches the first cache line, up to
  // stats_.wakes. A turn also touches the second. An exception is busy_since_, which is written once while the source stays ready.
  std::atomic<Scheduler*> scheduler_{nullptr};  // Atomic because wake_from_any_thread() reads it.
  // Links of the ready set; 'stamp_' orders sources of equal rank (see sched/ready_set.h).
  Source* next_ = nullptr;
  Source* previous_ = nullptr;
  std::uint64_t stamp_ = 0;
  Instant ready_since_;
  State state_ = State::Detached;
  Priority priority_;
  bool before_all_ = false;
  bool in_fresh_ = false;  // In the ready set's list of fresh sources, otherwise in the list of old ones.
  bool woken_in_turn_ = false;
  bool goes_on_ : 1 = false;    // It has had a turn since it became ready from idle; busy_since_ has the value that ready_since_ had then.
  bool suspected_ : 1 = false;  // The last sweep found it idle with a backlog.
  bool long_items_ = false;     // On average the items of the last turn took longer than limits::kPollAfter each.
  SourceStats stats_;
  std::uint32_t observed_number_ = 0;  // Its number at the scheduler's TurnObserver.
  Instant busy_since_;
  // Under the other ties: its sort key, and its position in the heap.
  std::uint64_t key_ = 0;
  std::uint32_t place_ = 0;
  std::uint32_t weight_ = 1;
  std::uint32_t key_rest_ = 0;            // Remainder of dividing consumed time by the weight.
  std::unique_ptr<Log2Histogram> waits_;  // Only while it belongs to a scheduler.
  std::atomic<bool> remote_wake_{false};  // In the list of sources woken by other threads, or about to be inserted.
  std::atomic<bool> is_quarantined_{false};
  Source* remote_next_ = nullptr;
  // Links of the list of all sources, in the order in which they were added.
  Source* added_next_ = nullptr;
  Source* added_previous_ = nullptr;
  std::uint64_t number_ = 0;
  std::string name_;
  Status quarantine_;
};

}  // namespace rondo
