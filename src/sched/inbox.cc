#include "rondo/sched/inbox.h"

#include <bit>
#include <utility>

#include "base/pause.h"
#include "rondo/base/assert.h"
#include "rondo/sched/scheduler.h"
#include "sched/turn_observer.h"

namespace rondo {

namespace {
/// If more than one item arrives in each such interval, the loop lets items gather.
constexpr Duration kDense = 1us;
/// Readings of the clock while items gather; a clock that does not advance ends the loop after them.
constexpr unsigned kLooks = 512;
constexpr unsigned kPausesPerLook = 8;
}  // namespace

Inbox::~Inbox() {
  if (scheduler_ != nullptr) scheduler_->remove(*this);
}

// The first thread to mark does the steps C and D of Scheduler::poll_events(), so no item is lost. The other threads do not wait until
// their stores are visible, which would be slow. They wake a scheduler that is known to sleep, and rely on the first thread if it is just
// falling asleep.
bool Inbox::mark_anew(std::uint64_t before, std::uint64_t bit, const Scheduler& scheduler) noexcept {
  if (before != 0) {
    waiting_.store(before | bit, std::memory_order_release);
    return scheduler.sleeping_.load(std::memory_order_relaxed);
  }
  waiting_.store(bit, std::memory_order_seq_cst);
  return scheduler.sleeping_.load(std::memory_order_seq_cst);
}

void Scheduler::add(Inbox& inbox) noexcept {
  RONDO_ASSERT(inbox.scheduler_ == nullptr);
  inbox.scheduler_ = this;
  inbox.next_ = std::exchange(first_inbox_, &inbox);
}

void Scheduler::remove(Inbox& inbox) noexcept {
  RONDO_ASSERT(inbox.scheduler_ == this);
  Inbox** link = &first_inbox_;
  while (*link != &inbox) link = &(*link)->next_;
  *link = inbox.next_;
  inbox.scheduler_ = nullptr;
}

void Scheduler::check_inboxes() noexcept { end_sleep(); }

void Scheduler::hand_out() noexcept {
  std::uint64_t came = 0;
  for (Inbox* inbox = first_inbox_; inbox != nullptr; inbox = inbox->next_) {
    const std::uint64_t waiting = inbox->waiting();
    if (waiting == 0) continue;
    stats_.remote_wakes += static_cast<std::uint64_t>(std::popcount(waiting));
    came += inbox->hand_out();
  }
  const Instant last = std::exchange(handed_out_, now_);
  is_dense_ = may_gather_ && came > 1 && now_ - last < static_cast<std::int64_t>(came) * kDense;
}

/// True if 'inbox' has items.
bool Scheduler::has_news(const Inbox& inbox, const Source& running) const noexcept {
  std::uint64_t waiting = inbox.waiting();
  if (inbox.is_for(running)) waiting &= ~(1ULL << running.priority_.level());
  return policy_->could_prefer(waiting) && (!is_dense_ || is_hand_out_due(clock_.now()));
}

// Runs only while no source is ready, so it delays only events of descriptors and timers.
void Scheduler::let_gather() {
  for (unsigned looks = 0; looks < kLooks && !is_hand_out_due(now_); ++looks) {
    for (unsigned i = 0; i < kPausesPerLook; ++i) pause_briefly();
    now_ = clock_.now();
  }
  ++turns_since_poll_;  // It took as long as a short turn may.
  if (observer_ != nullptr) observer_->clock_read(now_);
  take_in(true);
}

}  // namespace rondo
