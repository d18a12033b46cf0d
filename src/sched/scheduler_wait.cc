// How the scheduler waits while nobody is ready: a short look for what other threads bring, then sleep; and what ends it. See scheduler.cc
// for the rest.
#include <algorithm>
#include <utility>

#include "base/pause.h"
#include "rondo/base/assert.h"
#include "rondo/sched/scheduler.h"
#include "sched/scheduler_inside.h"

namespace rondo {

namespace {
/// Looks between two at the clock, together some 100 ns.
constexpr unsigned kLooksPerTime = 8;
/// A spin is tried after a sleep that another thread ended within this time, of which being woken takes 20 to 50 us,
constexpr Duration kShortSleep = 60us;
/// and when several were in vain, after as many such sleeps at the most.
constexpr unsigned kSpinsPassedOver = 63;

/// Readings of one and the same time after which a clock is taken to stand still, as a simulated one does. A coarse one repeats some.
constexpr unsigned kSameTimes = 16;

/// Until 'stop' says so, or 'end' has come, or the clock stands still.
template <class Stop>
void pause_until(const Clock& clock, Instant end, Stop stop) {
  Instant now = clock.now();
  for (unsigned same = 0; now < end && same < kSameTimes; ++same) {
    if (const Instant before = std::exchange(now, clock.now()); now != before) same = 0;
    for (unsigned looks = 0; looks < kLooksPerTime; ++looks) {
      if (stop()) return;
      pause_briefly();
    }
  }
}
}  // namespace

void Scheduler::poll() {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: a turn polls or waits; a handler returns, and wakes a source for what is to come");
  const Inside inside(*this);
  gather(Instant{});
}

void Scheduler::stop() noexcept {
  stop_.store(true, std::memory_order_seq_cst);
  reactor_.interrupt();
}

std::uint64_t Scheduler::count_ready() const noexcept {
  std::uint64_t ready = 0;
  for (const Source* source = first_added_; source != nullptr; source = source->added_next_) {
    if (source->is_ready()) ++ready;
  }
  return ready;
}

void Scheduler::wait(Instant deadline) {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: a turn polls or waits; a handler returns, and wakes a source for what is to come");
  const Inside inside(*this);
  while (!anybody_is_ready() && !stopping()) {
    const Instant until = std::min({deadline, next_sweep_, next_timer()});
    if (!spin(until)) fall_asleep(until);
    if (now_ >= deadline) return;
  }
}

void Scheduler::fall_asleep(Instant until) {
  const Instant asleep = now_;
  const std::uint64_t wakes = stats_.remote_wakes;
  gather(until);
  if (now_ - asleep > kShortSleep || stats_.remote_wakes == wakes || !has_other_processors()) return;
  spins_ = passed_over_ >= passes_over_;
  if (!spins_) ++passed_over_;
}

// Falling asleep and being woken costs the waker a system call and us 20 to 50 us: more than many a message takes. So a sleep that another
// thread ended almost at once is followed by a short look at the list of wakes alone before the next. After looks in vain more and more
// such sleeps pass without one. Who is woken seldom never looks, and pays nothing.
bool Scheduler::spin(Instant until) {
  if (!spins_) return false;
  ++stats_.spins;
  pause_until(clock_, std::min(until, now_ + limits::kSpinTime), [this] { return has_remote_wakes(); });
  if (!has_remote_wakes()) {
    ++stats_.spins_in_vain;
    spins_ = false;
    passes_over_ = std::min(2 * passes_over_ + 1, kSpinsPassedOver);
    passed_over_ = 0;
    return false;
  }
  passes_over_ = 0;
  // Where more than one came together the last time, more are on their way: two processors that hand each message over by itself are slower
  // than one.
  if (items_ > items_at_spin_ + 1) pause_until(clock_, clock_.now() + limits::kPollAfter, [] { return false; });
  items_at_spin_ = items_;
  now_ = clock_.now();
  if (watch_ != nullptr) watch_->looked(now_);
  take_in(true);
  return true;
}

// The steps A and B of look(), with the foreign loop's wait in place of ours.
Instant Scheduler::before_foreign_wait() {
  RONDO_EXPECT(running_ == nullptr && !gathering_,
               "Scheduler: a turn polls or waits; a handler returns, and wakes a source for what is to come");
  const Inside inside(*this);
  sleeping_.store(true, std::memory_order_seq_cst);
  const bool listed = remote_head_.load(std::memory_order_seq_cst) != nullptr || remote_pending_ != nullptr;
  if (listed || inboxes_have_any() || anybody_is_ready()) return Instant{};
  return std::min(next_sweep_, next_timer());
}

}  // namespace rondo
