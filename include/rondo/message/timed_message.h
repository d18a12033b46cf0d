// TimedMessage: a message that is posted later, or periodically, while its handle lives. When due it is an ordinary message: it is queued,
// has its agent's priority, and is subject to its type's limit. One allocation each; a periodic one allocates nothing more. Accuracy is
// that of the timer wheel: never early, at most one tick (1 ms) late.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/time.h"
#include "rondo/message/address.h"
#include "rondo/message/message.h"

namespace rondo {

class Scheduler;

/// The handle. Destroying it, or cancel(), cancels the message if it was not posted yet. It may be made, moved and destroyed only on the
/// thread of 'scheduler', and not after the scheduler has been destroyed. The receiver may live on another thread.
class TimedMessage {
 public:
  /// An empty handle.
  TimedMessage() noexcept;
  TimedMessage(TimedMessage&&) noexcept;
  TimedMessage& operator=(TimedMessage&&) noexcept;
  ~TimedMessage();

  template <Message M>
  static TimedMessage once(Scheduler& scheduler, Address to, M value, Duration delay) {
    return TimedMessage{scheduler, std::make_unique<Once<M>>(std::move(to), std::move(value)), delay, Duration{0}};
  }
  /// Due at the first instant plus multiples of 'period', which must be positive (assert). Instants that passed while the thread was busy
  /// are skipped and counted. M must be copyable.
  template <Message M>
  static TimedMessage periodic(Scheduler& scheduler, Address to, M value, Duration period) {
    RONDO_EXPECT(period > Duration{0}, "a periodic message with a period of " + std::to_string(period.count()) + " ns; it is above 0");
    return TimedMessage{scheduler, std::make_unique<Again<M>>(std::move(to), std::move(value)), period, period};
  }

  void cancel() noexcept;
  /// Whether it will still be posted.
  bool is_armed() const noexcept;
  /// Of a periodic message: number of skipped instants, and of refused posts.
  std::uint64_t missed() const noexcept;
  std::uint64_t refused() const noexcept;

 private:
  class Content {
   public:
    virtual ~Content() = default;
    virtual Status post() = 0;
  };
  template <class M>
  class Once final : public Content {
   public:
    Once(Address to, M&& value) : to_(std::move(to)), value_(std::move(value)) {}
    Status post() override { return to_.post(std::move(value_)); }

   private:
    Address to_;
    M value_;
  };
  template <class M>
  class Again final : public Content {
   public:
    Again(Address to, M&& value) : to_(std::move(to)), value_(std::move(value)) {}
    Status post() override { return to_.post(value_); }

   private:
    Address to_;
    M value_;
  };
  class Timer;
  TimedMessage(Scheduler& scheduler, std::unique_ptr<Content> content, Duration delay, Duration period);
  std::unique_ptr<Timer> timer_;
};

}  // namespace rondo
