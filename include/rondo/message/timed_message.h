// TimedMessage: a message that is posted later, or periodically, while its handle lives. When due it is an ordinary message: it is queued,
// has its agent's priority, and is subject to its type's limit. One allocation each; a periodic one allocates nothing more. Accuracy is
// that of the timer wheel: never early, at most one tick (1 ms) late.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/time.h"
#include "rondo/message/address.h"
#include "rondo/message/message.h"
#include "rondo/sched/timer.h"

namespace rondo {

class Scheduler;

/// The handle. Destroying it, or cancel(), cancels the message if it was not posted yet. It may be made, moved and destroyed only on the
/// thread of 'scheduler', and not after the scheduler has been destroyed. The receiver may live on another thread.
class TimedMessage {
 public:
  /// An empty handle.
  TimedMessage() noexcept = default;

  template <Message M>
  static TimedMessage once(Scheduler& scheduler, Address to, M value, Duration delay) {
    return TimedMessage{std::make_unique<Post<M, true>>(scheduler, std::move(to), Duration{0}, std::move(value)), delay};
  }
  /// Due at the first instant plus multiples of 'period', which must be positive (assert). Instants that passed while the thread was busy
  /// are skipped and counted. M must be copyable.
  template <Message M>
  static TimedMessage periodic(Scheduler& scheduler, Address to, M value, Duration period) {
    RONDO_EXPECT(period > Duration{0}, "a periodic message with a period of " + std::to_string(period.count()) + " ns; it is above 0");
    return TimedMessage{std::make_unique<Post<M, false>>(scheduler, std::move(to), period, std::move(value)), period};
  }

  void cancel() noexcept {
    if (timer_ != nullptr) timer_->cancel();
  }
  /// True if it will still be posted.
  bool is_armed() const noexcept { return timer_ != nullptr && timer_->armed(); }
  /// Of a periodic message: number of skipped instants, and of refused posts.
  std::uint64_t missed() const noexcept { return timer_ != nullptr ? timer_->missed : 0; }
  std::uint64_t refused() const noexcept { return timer_ != nullptr ? timer_->refused : 0; }

 private:
  class Timer : public TimerNode {
   public:
    Timer(Scheduler& scheduler, Address to, Duration period) : to_(std::move(to)), scheduler_(scheduler), period_(period) {}
    ~Timer() override { cancel(); }
    void arm(Duration delay);
    void cancel() noexcept;
    std::uint64_t missed = 0;
    std::uint64_t refused = 0;

   protected:
    const Address to_;

   private:
    void on_due() override;
    virtual Status post() = 0;
    Scheduler& scheduler_;
    const Duration period_;  // 0: once.
  };
  template <class M, bool kIsOnce>
  class Post final : public Timer {
   public:
    Post(Scheduler& scheduler, Address to, Duration period, M&& value)
        : Timer(scheduler, std::move(to), period), value_(std::move(value)) {}

   private:
    Status post() override {
      if constexpr (kIsOnce) {
        return this->to_.post(std::move(value_));
      } else {
        return this->to_.post(value_);
      }
    }
    M value_;
  };
  TimedMessage(std::unique_ptr<Timer> timer, Duration delay) : timer_(std::move(timer)) { timer_->arm(delay); }
  std::unique_ptr<Timer> timer_;
};

}  // namespace rondo
