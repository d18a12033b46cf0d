// Timers that are sources: the wheel marks and wakes the source, and the callback runs in its turn. Scheduler's thread.
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo {

TimerSource::TimerSource(std::string name, Priority priority, Callback callback)
    : Source(std::move(name), priority), callback_(std::move(callback)) {}

TimerSource::~TimerSource() { disarm(); }

void TimerSource::arm_at(Instant due) {
  period_ = Duration{0};
  arm(due);
}

void TimerSource::arm_every(Duration period, Instant first) {
  RONDO_EXPECT(period > Duration{0}, "timer '" + std::string{name()} + "' is armed with a period that is not above 0");
  period_ = period;
  arm(first);
}

void TimerSource::arm(Instant due) {
  RONDO_EXPECT(scheduler() != nullptr, "timer '" + std::string{name()} + "' is armed before it was added to a scheduler");
  expect_here("TimerSource::arm_at or arm_every");
  disarm_node();
  fired_ = false;
  wheel_ = &scheduler()->timers();
  wheel_->insert(*this, due);
}

void TimerSource::disarm() noexcept {
  expect_not_elsewhere("TimerSource::disarm (or the destructor)");
  disarm_node();
  fired_ = false;
  period_ = Duration{0};
}

void TimerSource::disarm_node() noexcept {
  if (TimerNode::armed()) wheel_->cancel(*this);
}

void TimerSource::on_due() {
  fired_ = true;
  wake();
}

Turn TimerSource::run(const Budget&) {
  if (!fired_) return {};  // Disarmed between the expiry and the turn.
  fired_ = false;
  if (period_ > Duration{0}) {
    // Armed again before the callback, so that the callback can change or stop it.
    const Duration late = scheduler()->now() - due();
    const std::int64_t skipped = late > Duration{0} ? late / period_ : 0;
    missed_ += static_cast<std::uint64_t>(skipped);
    wheel_->insert(*this, due() + period_ * (skipped + 1));
  }
  callback_();
  return {.items = 1, .backlog = Backlog::Empty};
}

}  // namespace rondo
