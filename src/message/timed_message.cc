#include "rondo/message/timed_message.h"

#include "rondo/base/assert.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

class TimedMessage::Timer final : public TimerNode {
 public:
  Timer(Scheduler& scheduler, std::unique_ptr<Content> content, Duration period)
      : scheduler_(scheduler), content_(std::move(content)), period_(period) {}
  ~Timer() override {
    if (armed()) scheduler_.timers().cancel(*this);
  }
  void arm(Instant due) { scheduler_.timers().insert(*this, due); }
  void cancel() noexcept {
    if (armed()) scheduler_.timers().cancel(*this);
  }
  std::uint64_t missed = 0;
  std::uint64_t refused = 0;

 private:
  void on_due() override {
    if (period_ > Duration{0}) {
      const Duration late = scheduler_.now() - due();
      const std::int64_t skipped = late > Duration{0} ? late / period_ : 0;
      missed += static_cast<std::uint64_t>(skipped);
      arm(due() + period_ * (skipped + 1));
    }
    try {
      if (content_->post().ok()) return;
    } catch (...) {  // The copy for this time could not be made.
    }
    ++refused;
  }

  Scheduler& scheduler_;
  const std::unique_ptr<Content> content_;
  const Duration period_;
};

TimedMessage::TimedMessage() noexcept = default;
TimedMessage::TimedMessage(TimedMessage&&) noexcept = default;
TimedMessage& TimedMessage::operator=(TimedMessage&&) noexcept = default;
TimedMessage::~TimedMessage() = default;

TimedMessage::TimedMessage(Scheduler& scheduler, std::unique_ptr<Content> content, Duration delay, Duration period)
    : timer_(std::make_unique<Timer>(scheduler, std::move(content), period)) {
  timer_->arm(scheduler.clock().now() + delay);
}

void TimedMessage::cancel() noexcept {
  if (timer_ != nullptr) timer_->cancel();
}

bool TimedMessage::is_armed() const noexcept { return timer_ != nullptr && timer_->armed(); }
std::uint64_t TimedMessage::missed() const noexcept { return timer_ != nullptr ? timer_->missed : 0; }
std::uint64_t TimedMessage::refused() const noexcept { return timer_ != nullptr ? timer_->refused : 0; }

}  // namespace rondo
