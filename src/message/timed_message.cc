#include "rondo/message/timed_message.h"

#include "rondo/sched/scheduler.h"

namespace rondo {

void TimedMessage::Timer::arm(Duration delay) { scheduler_.timers().insert(*this, scheduler_.clock().now() + delay); }

void TimedMessage::Timer::cancel() noexcept {
  if (armed()) scheduler_.timers().cancel(*this);
}

void TimedMessage::Timer::on_due() {
  if (period_ > Duration{0}) {
    const Duration late = scheduler_.now() - due();
    const std::int64_t skipped = late > Duration{0} ? late / period_ : 0;
    missed += static_cast<std::uint64_t>(skipped);
    scheduler_.timers().insert(*this, due() + period_ * (skipped + 1));
  }
  try {
    if (post().ok()) return;
  } catch (...) {  // The copy for this time could not be made.
  }
  ++refused;
}

}  // namespace rondo
