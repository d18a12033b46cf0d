// Lane: the messages of all agents of one priority on one scheduler, in the order of their arrival, as one Source.
//
// Two queues that are read as one. Posts of other threads go to a list among the arrivals of the scheduler, under a lock for a handful of
// instructions that all its lanes share. The scheduler's own thread owns 'here_': it takes what has arrived for all lanes at once, between
// turns, behind what they have, and its own posts go there without the lock, after such a taking if anything has arrived. So the order is
// that of arrival, the lock is taken once for all that came, and a message that an agent sends itself meets no lock at all.
//
// Types with a limit take the lock at both ends: what is over the limit has to be found and taken out. That is done in O(1) for what is
// among the arrivals still; of what is not, another thread can only mark that it is dropped, at most as many as were in hand.
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

  /// Any thread. What is left at 'stored' is the caller's.
  Status post(Cell& cell, const Handler& handler, void* stored);
  /// The same without words, and so without asking for memory where it is refused.
  Code offer(Cell& cell, const Handler& handler, void* stored);
  /// The scheduler's thread: 'parked' is due, and goes behind what waits.
  void try_again(ParkedMessage& parked) noexcept;
  /// The scheduler's thread: takes away parked messages that newer ones have taken the place of.
  void drop_superseded() noexcept;
  /// The scheduler's thread: the agent of 'cell' ends, and accepts nothing any more.
  void discard_parked(Cell& cell) noexcept;
  /// The scheduler's thread: the agent of 'cell' does not start any more.
  void discard_early(Cell& cell) noexcept;
  /// The agent has started: what came too early is handled where its arrival puts it, so before nearly all else.
  void put_in_order(NodeList& early) noexcept;
  /// Agents::~Agents, on the scheduler's thread: refuses posts from now on and leaves the scheduler.
  void close() noexcept;
  /// Then: drops what waits.
  void discard_all() noexcept;
  /// From now on 'cell' accepts posts, or does not.
  void set_accepting(Cell& cell, bool accepting) noexcept;

  Home& home() const noexcept { return *home_; }
  Turn run(const Budget& budget) override;
  /// Under the lock, which posts take, too: so a post is seen here, or by the hand-out that it asks for.
  bool has_backlog() const override;
  std::uint64_t head_arrival() const override { return here_.empty() ? 0 : here_.first->arrival; }
  std::size_t depth() const override;

  /// The scheduler's thread: 'came' has been posted by others, and goes behind what waits. The list is left empty.
  void accept(NodeList& came) noexcept;
  /// The scheduler's thread: an agent has gone.
  void absorb(const Figures& figures) noexcept;

  /// Any thread: a message that does not travel inline is about to be posted.
  void count_large() noexcept { large_.fetch_add(1, std::memory_order_relaxed); }
  /// Any thread: of the queue, with what its agents counted that have gone.
  MessageFigures figures() const;

 private:
  enum class Verdict : std::uint8_t { Queue, Settled, Full, Gone, Reject, StopAgent, StopRuntime };
  /// What a limit says of one more message: its place, and whether that still has the message which it takes the place of.
  struct Admission {
    Verdict verdict = Verdict::Queue;
    Node* place = nullptr;
    bool replaces = false;
  };
  /// What became of a message whose handler was called.
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

  // Never changed, and on a line of its own: the posts of other threads read it while the scheduler's thread works on what follows. They
  // must not ask the scheduler for its clock: they may come when that has gone.
  alignas(64) const std::shared_ptr<Home> home_;
  Arrivals& arrivals_;
  const Priority level_;  // A copy: its source's own is where each turn writes.
  MessageWatch* const watch_;
  const Clock* const clock_;
  const bool real_time_;
  const SystemClock system_clock_;

  // The scheduler's thread.
  alignas(64) NodeList here_;
  PlacesInHand free_here_;
  Instant now_;
  bool running_ = false;
  bool long_items_ = false;        // Of the last limits::kItemsPerStep items one took longer than limits::kPollAfter,
  std::uint32_t short_items_ = 0;  // and so many after it did not.
  std::atomic<std::int64_t> oldest_here_{kNobodyWaits};
  Counter posted_here_{0};
  Counter gone_{0};  // Left the queue, but for 'gone_in_turn_'.
  std::uint64_t gone_in_turn_ = 0;
  Counter cut_turns_{0};

  // Guarded by the lock of arrivals_.
  alignas(64) bool closed_ = false;
  Places places_;
  ParkedList superseded_;
  Counter posted_elsewhere_{0};
  std::atomic<std::uint32_t> wakers_{
      0};  // Posts that are about to tell the scheduler, or to stop somebody: the lane must not close meanwhile.

  Counter large_{0};  // Of anybody.

  Figures gone_agents_;
};

}  // namespace rondo::message
