// Source: anything that can need a turn - a table, a timer, a mailbox, a socket. A source is idle or ready; only the Scheduler gives turns.
// Two stages, as in seed 000 ("Two-Stage Mechanism"): collect() is cheap and only buffers; run() does at most its budget and then says,
// exactly, whether there is more. Wakers (descriptors, time, other threads, other sources) never run a handler: they call wake().
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

/// What a source knows after a turn, and the only word on readiness: More puts it back at once, Empty makes it idle until it is woken.
enum class Backlog : std::uint8_t { Empty, More };

/// How much a source may do in one turn. The time is for those whose items can take long, because they call a user's code or touch much
/// memory: they ask time_is_up() every few items. Others are bounded by their items alone.
struct Budget {
  std::uint32_t items = limits::kBatchItems;
  Duration time = limits::kTurnTime;
  /// For sources that know the arrival numbers of their items: an item whose number is not below this waits for the next turn, because
  /// another source of the same priority has an older one. No bound where the policy does not order by arrival.
  std::uint64_t before = UINT64_MAX;
};

/// What a source did in one turn.
struct Turn {
  std::uint32_t items = 0;  // Handled items, for the policy's accounts.
  Backlog backlog = Backlog::Empty;
};

/// Figures of one source. Written by the scheduler's thread; see Scheduler::for_each_source for reading.
struct SourceStats {
  std::uint64_t wakes = 0;  // Times it became ready from idle.
  std::uint64_t turns = 0;
  std::uint64_t items = 0;
  Duration ran{0};  // Sum over all turns.
  Duration longest_turn{0};
  /// From ready to the start of the turn, since the source was added or the policy in force began. Beside it: Scheduler::bound().
  Duration longest_wait{0};
  /// What of the longest turn its thread had of a CPU, at most. Far less than the turn: the machine gave it to others, or the handler
  /// waited.
  Duration longest_turn_cpu{0};
};

/// Base of everything that is given turns. Owned by its user, who must not destroy it inside its own collect() or run(), nor while another
/// thread may be inside its wake_from_any_thread(). Unless a function says otherwise, it may be called on the scheduler's thread only.
class alignas(64) Source {
 public:
  Source(std::string name, Priority priority);
  /// Leaves the scheduler, if it was added to one.
  virtual ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Stage one. Called when a watched descriptor is ready or another thread woke this source, before it becomes ready. Must be cheap: move
  /// what arrived into a buffer, or just answer. The answer says whether run() would find something. An error, an exception, or finding
  /// nothing while the descriptor stays in error quarantines the source: a source that outlives its descriptor unwatches it here.
  virtual Result<Backlog> collect() { return Backlog::More; }

  /// Stage two: handles at most 'budget.items' items, fewer when 'budget.time' is over (see Budget). An exception quarantines the
  /// source and disturbs no other.
  virtual Turn run(const Budget& budget) = 0;

  /// Would run() find something to do now? Asked once when the source is added, which wakes it if so; afterwards by the liveness sweep and
  /// only while idle. A source that answers true while idle for half a sweep period had a lost wake-up: a fault that the sweep cures
  /// and counts (SchedulerStats::sweep_rescues).
  virtual bool has_backlog() const { return false; }

  /// The arrival number (Scheduler::next_arrival) of the item that the next turn begins with, or 0 where nobody knows: then the time when
  /// the source became ready counts. Asked when it becomes ready and after a turn with Backlog::More, by policies that order by arrival.
  /// Must not change in between but by this source's own turn. O(1).
  virtual std::uint64_t head_arrival() const { return 0; }

  /// Items known to wait here, for people; 0 where nobody counts them. O(1).
  virtual std::size_t depth() const { return 0; }

  /// Items that found no room here and were refused or dropped, for people; 0 where there is no such bound. O(1).
  virtual std::uint64_t turned_away() const { return 0; }

  /// Makes this source ready. A level: waking a ready source changes nothing; waking it inside its own run() counts as Backlog::More.
  /// No effect before it is added to a scheduler or while it is quarantined. O(1).
  void wake();

  /// The same from any thread; collect() is called before the first turn. A burst of wakes costs one write to the reactor at most, and none
  /// while the scheduler is awake. No effect before the source is added; it must not move to another scheduler during the call.
  void wake_from_any_thread() noexcept;

  std::string_view name() const noexcept { return name_; }
  Priority priority() const noexcept { return priority_; }
  /// Its share of the time of its priority, against the weights of the others, under Tie::ConsumedTime. From 1 to limits::kWeightMost.
  std::uint32_t weight() const noexcept { return weight_; }
  /// Before it is added to a scheduler.
  void set_weight(std::uint32_t weight);
  /// It goes before all others, whatever the policy: for what must not be starved and comes seldom, such as starts and ends. While others
  /// wait every second turn at most is of such sources; they are told apart from the bound of the others, which counts them as a look at
  /// the reactor.
  bool goes_before_all() const noexcept { return before_all_; }
  const SourceStats& stats() const noexcept { return stats_; }
  /// How long it waited from ready to the start of each turn, in nanoseconds, since it was added; empty while it is not. O(buckets).
  Log2Histogram waits() const;
  bool is_ready() const noexcept { return state_ == State::Ready; }
  bool is_running() const noexcept { return state_ == State::Running; }
  /// Of a ready source: since when it has waited for its turn. Of one that is not idle: since when it has had something to do without a
  /// break; nothing that waits in it is older, as long as it is the first to be handled.
  Instant ready_since() const noexcept { return ready_since_; }
  Instant busy_since() const noexcept { return goes_on_ ? busy_since_ : ready_since_; }
  /// Ascending in the order in which a scheduler's sources were added; none has the number of another. 0 before.
  std::uint64_t number() const noexcept { return number_; }
  /// Why the scheduler gives this source no more turns; ok if it does. To try again, remove it and add it anew.
  const Status& quarantine() const noexcept { return quarantine_; }
  Scheduler* scheduler() const noexcept { return scheduler_.load(std::memory_order_relaxed); }

 protected:
  /// See goes_before_all(). Before it is added to a scheduler.
  void go_before_all() noexcept { before_all_ = true; }
  /// In run(): whether the turn has lasted for budget.time. One reading of the clock. A source without a scheduler has all the time.
  bool time_is_up(const Budget& budget) const;
  /// In run(), between two items: whether the turn should end now, with More, because somebody else must be next. A few nanoseconds; see
  /// Scheduler::should_yield. A source without a scheduler need not.
  bool should_yield() const;
  /// Both, for sources that call a handler for each item, after the 'items'th of the turn: so who is more urgent waits for one handler. At
  /// the clock it looks every few items, after each where those of the last turn were long; a look at the reactor that is due by then
  /// (limits::kPollPeriod) ends the turn, too, where the policy lets anybody in.
  bool turn_is_over(const Budget& budget, std::uint32_t items) const;

 private:
  friend class Scheduler;
  template <class Rules>
  friend class BasicReadySet;

  enum class State : std::uint8_t { Detached, Idle, Ready, Running, Quarantined };

  // What being woken touches is in the first cache line, up to stats_.wakes, and what a turn touches besides in the second, but for
  // busy_since_, which is written once while it stays ready: many sources outgrow the cache.
  std::atomic<Scheduler*> scheduler_{nullptr};  // Atomic for the sake of wake_from_any_thread.
  // Hooks of the ready set; 'stamp_' orders equals (see sched/ready_set.h).
  Source* next_ = nullptr;
  Source* previous_ = nullptr;
  std::uint64_t stamp_ = 0;
  Instant ready_since_;
  State state_ = State::Detached;
  Priority priority_;
  bool before_all_ = false;
  bool in_fresh_ = false;  // In the ready set's list of fresh sources, else in the list of old ones.
  bool woken_in_turn_ = false;
  bool goes_on_ : 1 = false;    // Since it became ready from idle it had a turn, before which busy_since_ was ready_since_.
  bool suspected_ : 1 = false;  // The last sweep found it idle with a backlog.
  bool long_items_ = false;     // An item of the last turn took longer than limits::kPollAfter, on average.
  SourceStats stats_;
  std::uint32_t watch_number_ = 0;  // By which the scheduler's TurnWatch knows it.
  Instant busy_since_;
  // Under the other ties: its place in the order and in the heap.
  std::uint64_t key_ = 0;
  std::uint32_t place_ = 0;
  std::uint32_t weight_ = 1;
  std::uint32_t key_rest_ = 0;            // What the weight's division of consumed time left.
  std::unique_ptr<Log2Histogram> waits_;  // While it belongs to a scheduler.
  std::atomic<bool> remote_wake_{false};  // In the list of sources woken by other threads, or about to be.
  Source* remote_next_ = nullptr;
  // Hooks of the list of all sources, in the order they were added.
  Source* added_next_ = nullptr;
  Source* added_previous_ = nullptr;
  std::uint64_t number_ = 0;
  std::string name_;
  Status quarantine_;
};

}  // namespace rondo
