// The check of a source in its turn whether the turn should end now.
#include "rondo/sched/scheduler.h"

namespace rondo {

bool Scheduler::time_is_up(const Budget& budget) { return time_is_up(budget, clock_.now()); }

bool Scheduler::time_is_up(const Budget& budget, Instant now) {
  const bool by_clock = now - now_ >= budget.time;
  const bool is_up = watch_ != nullptr ? watch_->time_is_up(by_clock) : by_clock;
  time_was_up_ = time_was_up_ || is_up;
  return is_up;
}

/// See Source::turn_is_over().
bool Scheduler::turn_is_over(const Budget& budget, bool looks_at_clock) {
  const bool may_yield = policy_->could_prefer_another();
  bool yields = policy_->prefers_another() || first_of_all_ != nullptr || (may_yield && running_ != nullptr && has_news(*running_));
  const Instant now = looks_at_clock ? clock_.now() : now_;
  if (looks_at_clock) yields = yields || (may_yield && now >= next_poll_);
  if (watch_ != nullptr) yields = watch_->should_yield(yields);
  return yields || (looks_at_clock && time_is_up(budget, now));
}

}  // namespace rondo
