// Source: anything that can need a turn - a table, a timer, a mailbox, a socket. A source is idle or ready; only the Scheduler gives turns.
// Two stages, as in seed 000 ("Two-Stage Mechanism"): collect() is cheap and only buffers; run() does at most its budget and then says,
// exactly, whether there is more. Wakers (descriptors, time, other threads, other sources) never run a handler: they call wake().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"

namespace rondo {

class Scheduler;

/// What a source knows after a turn, and the only word on readiness: More puts it back at once, Empty makes it idle until it is woken.
enum class Backlog : std::uint8_t { Empty, More };

/// How much a source may do in one turn.
struct Budget {
  std::uint32_t items = limits::kBatchItems;
};

/// What a source did in one turn.
struct Turn {
  std::uint32_t items = 0;  // Handled items, for the policy's accounts.
  Backlog backlog = Backlog::Empty;
};

/// Figures of one source. Written by the scheduler's thread; see Scheduler::for_each_source for reading.
struct SourceStats {
  std::uint64_t turns = 0;
  std::uint64_t items = 0;
  std::uint64_t wakes = 0;
  Duration ran{0};           // Sum over all turns.
  Duration longest_turn{0};
  Histogram wait_ns;         // From ready to the start of the turn, in nanoseconds.
};

/// Base of everything that is given turns. Owned by its user, who must not destroy it inside its own run(). Unless a function says
/// otherwise, it may be called on the scheduler's thread only.
class Source {
 public:
  Source(std::string name, Priority priority);
  /// Leaves the scheduler, if it was added to one.
  virtual ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Stage one. Called when a watched descriptor is ready or another thread woke this source, before it becomes ready. Must be cheap: move
  /// what arrived into a buffer, or just answer. The answer says whether run() would find something. An error quarantines the source.
  virtual Result<Backlog> collect() { return Backlog::More; }

  /// Stage two: handles at most 'budget.items' items. An exception quarantines the source and disturbs no other.
  virtual Turn run(Budget budget) = 0;

  /// For the liveness sweep: would run() find something to do now? Only consulted while idle. A source that answers true while idle
  /// had a lost wake-up: a fault that the sweep cures and counts (Scheduler::sweep_rescues).
  virtual bool has_backlog() const { return false; }

  /// Makes this source ready. A level: waking a ready source changes nothing; waking it inside its own run() counts as Backlog::More.
  /// No effect before it is added to a scheduler or while it is quarantined. O(1).
  void wake();

  /// The same from any thread; collect() is called before the first turn. A burst of wakes costs one write to the reactor at most.
  void wake_from_any_thread() noexcept;

  std::string_view name() const noexcept { return name_; }
  Priority priority() const noexcept { return priority_; }
  const SourceStats& stats() const noexcept { return stats_; }
  bool is_ready() const noexcept { return state_ == State::Ready; }
  /// Why the scheduler gives this source no more turns; ok if it does.
  const Status& quarantine() const noexcept { return quarantine_; }
  Scheduler* scheduler() const noexcept { return scheduler_; }

 private:
  friend class Scheduler;
  friend class ReadySet;

  enum class State : std::uint8_t { Detached, Idle, Ready, Running, Quarantined };

  std::string name_;
  Priority priority_;
  State state_ = State::Detached;
  bool woken_in_turn_ = false;
  Scheduler* scheduler_ = nullptr;
  // Hooks of the ready set; 'stamp_' orders equals (see sched/ready_set.h).
  Source* next_ = nullptr;
  Source* previous_ = nullptr;
  std::uint64_t stamp_ = 0;
  Instant ready_since_;
  // Hook of the list of sources woken by other threads.
  std::atomic<bool> remote_wake_{false};
  Source* remote_next_ = nullptr;
  SourceStats stats_;
  Status quarantine_;
};

}  // namespace rondo
