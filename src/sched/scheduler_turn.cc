// The check of a source in its turn whether the turn should end now; and who observes turns and records them.
#include "rondo/sched/scheduler.h"

#include <utility>

#include "sched/turn_observer.h"
#include "sched/turn_overrides.h"
#include "sched/turn_record.h"

namespace rondo {

void Scheduler::forget_in_observer(Source& source) {
  if (observer_ != nullptr && source.observed_number_ != 0) observer_->source_removed(std::exchange(source.observed_number_, 0));
}

TurnRecord& Scheduler::record_turns(Instant now) {
  if (record_ == nullptr) record_ = std::make_unique<TurnRecord>(stats_.turns, now);
  record_->asked(now);
  return *record_;
}

void Scheduler::end_turn_record() noexcept { record_.reset(); }

bool Scheduler::time_is_up(const Budget& budget) { return time_is_up(budget, clock_.now()); }

bool Scheduler::time_is_up(const Budget& budget, Instant now) {
  bool is_up = now - now_ >= budget.time;
  if (overrides_ != nullptr) is_up = overrides_->time_is_up();
  if (observer_ != nullptr) observer_->time_checked(is_up);
  time_was_up_ = time_was_up_ || is_up;
  return is_up;
}

bool Scheduler::decided_yield(bool by_state) const {
  const bool yields = overrides_ != nullptr ? overrides_->should_yield() : by_state;
  observer_->yield_checked(yields);
  return yields;
}

/// See Source::turn_is_over().
bool Scheduler::turn_is_over(const Budget& budget, bool checks_clock) {
  const bool may_yield = policy_->could_prefer_another();
  bool yields = policy_->prefers_another() || first_of_all_ != nullptr || (may_yield && running_ != nullptr && has_news(*running_));
  const Instant now = checks_clock ? clock_.now() : now_;
  if (checks_clock) yields = yields || (may_yield && now >= next_poll_);
  if (observer_ != nullptr) yields = decided_yield(yields);
  return yields || (checks_clock && time_is_up(budget, now));
}

}  // namespace rondo
