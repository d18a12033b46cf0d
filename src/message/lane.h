// Lane: the messages of all agents of one priority on one scheduler, in the order of their arrival, as one Source.
//
// The lane has two queues that are read as one. Posts of other threads go to a list among the arrivals of the scheduler. All its lanes
// share the lock of these lists, which is held for few instructions. The scheduler's own thread owns 'here_'. Between turns it takes the
// arrivals of all lanes together and appends them. Its own posts go to 'here_' without the lock, after it has taken any arrivals. So the
// order is that of arrival, the lock is taken once for many messages, and a message of an agent to itself needs no lock.
//
// Types with a limit take the lock at both ends, because a message over the limit must be found and taken out. That costs O(1) for a
// message that is still among the arrivals. A message that has left them can only be marked as dropped by another thread; these are at
// most as many as were in hand.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "message/arrivals.h"
#include "message/cell.h"
#include "message/home.h"
#include "message/node.h"
#include "message/parked_message.h"
#include "message/places.h"
#include "rondo/base/clock.h"
#include "rondo/sched/source.h"

namespace rondo::message {

class Lane final : public Source {
 public:
  Lane(std::shared_ptr<Home> home, Priority priority, std::size_t messages_max);
  ~Lane() override;

  /// Any thread. If the post is refused, the object at 'stored' still belongs to the caller.
  Status post(Cell& cell, const Handler& handler, void* stored);
  /// As post(), without an error text, so that a refusal allocates nothing.
  Code offer(Cell& cell, const Handler& handler, void* stored);
  /// The scheduler's thread: 'parked' is due and is appended to the queue.
  void try_again(ParkedMessage& parked) noexcept;
  /// The scheduler's thread: drops parked messages that newer ones have replaced.
  void drop_superseded() noexcept;
  /// The scheduler's thread: drops parked messages of 'cell', whose agent ends and accepts nothing any more.
  void discard_parked(Cell& cell) noexcept;
  /// The scheduler's thread: drops early messages of 'cell', whose agent will not start.
  void discard_early(Cell& cell) noexcept;
  /// The agent has started: merges its early messages into the queue by their arrival, so before most others.
  void put_in_order(NodeList& early) noexcept;
  /// Called by Agents::~Agents, on the scheduler's thread: refuses posts from now on and leaves the scheduler.
  void close() noexcept;
  /// Called after close(): drops all waiting messages.
  void discard_all() noexcept;
  /// Sets whether 'cell' accepts posts.
  void set_accepting(Cell& cell, bool accepting) noexcept;

  Home& home() const noexcept { return *home_; }
  Turn run(const Budget& budget) override;
  /// Takes the lock that posts take too: a post is seen here, or by the hand-out that it requests.
  bool has_backlog() const override;
  std::uint64_t head_arrival() const override { return here_.empty() ? 0 : here_.first->arrival; }
  std::size_t depth() const override;

  /// The scheduler's thread: appends the messages 'came' of other threads. The list is left empty.
  void accept(NodeList& came) noexcept;
  /// The scheduler's thread: adds the figures of an agent that has gone.
  void absorb(const Figures& figures) noexcept;

  /// Any thread: counts a message that is not stored inline and is about to be posted.
  void count_large() noexcept { large_.fetch_add(1, std::memory_order_relaxed); }
  /// Any thread: the figures of the queue, including those of agents that have gone.
  MessageFigures figures() const;

 private:
  enum class Verdict : std::uint8_t { Queue, Settled, Full, Gone, Reject, StopAgent, StopRuntime };
  /// The answer of a limit to one more message: its place, and whether that still has the message that is replaced.
  struct Admission {
    Verdict verdict = Verdict::Queue;
    Node* place = nullptr;
    bool replaces = false;
  };
  /// The result for a message whose handler was called.
  enum class Fate : std::uint8_t { Served, Parked, Superseded };
  static constexpr std::int64_t kNobodyWaits = INT64_MAX;

  std::mutex& lock() const noexcept { return arrivals_.lock(); }
  bool has_arrived() const noexcept { return arrivals_.has_any_for(level_); }
  std::unique_lock<std::mutex> lock_behind_arrivals() noexcept;
  Verdict decide(Cell& cell, const Handler& handler, void* stored) {
    return home_->is_here() ? post_here(cell, handler, stored) : post_from_elsewhere(cell, handler, stored);
  }
  static Code code_of(Verdict verdict) noexcept;
  Verdict post_here(Cell& cell, const Handler& handler, void* stored);
  Verdict post_here_limited(Cell& cell, const Handler& handler, void* stored, Instant now);
  Verdict post_from_elsewhere(Cell& cell, const Handler& handler, void* stored);
  Admission admit(Cell& cell, const Handler& handler, void* stored, bool is_here);
  Admission drop_oldest(Cell& cell, TypeLimit& limit, bool is_here) noexcept;
  void supersede(ParkedMessage& parked, Counter& counted) noexcept;
  Verdict refuse(Cell& cell, Verdict verdict) noexcept;
  Verdict act(Cell& cell, Verdict verdict);
  Status refusal(const Cell& cell, const Handler& handler, Verdict verdict) const;
  Node* place_here();
  void fill(Node& node, Cell& cell, const Handler& handler, Instant now, std::uint32_t batch) noexcept;
  bool take_from_limit(Node& node) noexcept;
  bool look_at_clock(Instant end) noexcept;
  bool handle(Node& node);
  bool has_to_wait(Node& node);
  bool starts_here_next(const Cell& cell) const noexcept;
  void tell_watch(const Cell& cell, const Handler& handler) noexcept;
  Fate failed(Node& node) noexcept;
  Fate park(Node& node) noexcept;
  void let_go(ParkedMessage& parked) noexcept;
  void end_of_items() noexcept;
  void discard(Node& node) noexcept;
  void free(Node& node) noexcept;
  void note_oldest() noexcept {
    oldest_here_.store(here_.empty() ? kNobodyWaits : here_.first->enqueued.nanoseconds(), std::memory_order_relaxed);
  }
  Instant time() const noexcept { return real_time_ ? system_clock_.now() : clock_->now(); }

  // Constant, and on its own cache line: posts of other threads read it while the scheduler's thread writes the members below. Those posts
  // must not read the scheduler's clock, because they may run after the scheduler is gone.
  alignas(64) const std::shared_ptr<Home> home_;
  Arrivals& arrivals_;
  const Priority level_;  // A copy: the source's own is on a line that each turn writes.
  MessageWatch* const watch_;
  const Clock* const clock_;
  const bool real_time_;
  const SystemClock system_clock_;

  // Used by the scheduler's thread.
  alignas(64) NodeList here_;
  PlacesInHand free_here_;
  Instant now_;
  bool running_ = false;
  bool long_items_ = false;        // One of the last limits::kItemsPerStep items took longer than limits::kPollAfter.
  std::uint32_t short_items_ = 0;  // The number of items after that one which did not.
  std::atomic<std::int64_t> oldest_here_{kNobodyWaits};
  Counter posted_here_{0};
  Counter gone_{0};  // Left the queue, without 'gone_in_turn_'.
  std::uint64_t gone_in_turn_ = 0;
  Counter cut_turns_{0};

  // Guarded by the lock of arrivals_.
  alignas(64) bool closed_ = false;
  Places places_;
  ParkedList superseded_;
  Counter posted_elsewhere_{0};
  // Posts that are about to wake the scheduler or to stop agents: the lane must not close meanwhile.
  std::atomic<std::uint32_t> wakers_{0};

  Counter large_{0};  // Written by any thread.

  Figures gone_agents_;
};

}  // namespace rondo::message
