#include "rondo/message/timed_message.h"

#include <cstddef>

#include "rondo/message/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"

namespace rondo {

class TimedMessage::Timer final : public TimerNode {
 public:
  Timer(Scheduler& scheduler, Address to, const message::MessageType& type, void* stored, Copy copy, Duration period)
      : to_(std::move(to)), type_(type), copy_(copy), scheduler_(scheduler), period_(period) {
    type_.move(value_, stored);
  }
  ~Timer() override {
    cancel();
    destroy(value_);
  }
  void arm(Duration delay) { scheduler_.timers().insert(*this, scheduler_.clock().now() + delay); }
  void cancel() noexcept {
    if (armed()) scheduler_.timers().cancel(*this);
  }

  std::uint64_t missed = 0;
  std::uint64_t refused = 0;

 private:
  void on_due() override {
    if (copy_ != nullptr) {
      const Duration late = scheduler_.now() - due();
      const std::int64_t skipped = late > Duration{0} ? late / period_ : 0;
      missed += static_cast<std::uint64_t>(skipped);
      scheduler_.timers().insert(*this, due() + period_ * (skipped + 1));
    }
    try {
      if (post_due().ok()) return;
    } catch (...) {  // The copy for this time could not be made.
    }
    ++refused;
  }
  Status post_due() {
    if (copy_ == nullptr) return post(to_, type_, value_);
    alignas(16) std::byte copied[limits::kInlineMessageBytes];
    copy_(copied, value_);
    Status posted = post(to_, type_, copied);
    destroy(copied);
    return posted;
  }
  void destroy(void* stored) const noexcept {
    if (type_.destroy != nullptr) type_.destroy(stored);
  }

  const Address to_;
  const message::MessageType& type_;
  const Copy copy_;
  Scheduler& scheduler_;
  const Duration period_;
  alignas(16) std::byte value_[limits::kInlineMessageBytes];
};

TimedMessage::TimedMessage() noexcept = default;
TimedMessage::TimedMessage(TimedMessage&& other) noexcept = default;
TimedMessage& TimedMessage::operator=(TimedMessage&& other) noexcept = default;
TimedMessage::~TimedMessage() = default;

TimedMessage::TimedMessage(Scheduler& scheduler, Address to, const message::MessageType& type, void* stored, Copy copy, Duration delay)
    : timer_(std::make_unique<Timer>(scheduler, std::move(to), type, stored, copy, delay)) {
  timer_->arm(delay);
}

Status TimedMessage::post(const Address& to, const message::MessageType& type, void* stored) {
  return to.state_ == nullptr ? Address::nobody() : message::post(*to.state_, type, stored);
}

void TimedMessage::cancel() noexcept {
  if (timer_ != nullptr) timer_->cancel();
}
bool TimedMessage::is_armed() const noexcept { return timer_ != nullptr && timer_->armed(); }
std::uint64_t TimedMessage::missed() const noexcept { return timer_ != nullptr ? timer_->missed : 0; }
std::uint64_t TimedMessage::refused() const noexcept { return timer_ != nullptr ? timer_->refused : 0; }

}  // namespace rondo
