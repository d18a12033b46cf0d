// TimedMessage: a message that is posted later, or periodically, while its handle lives. When due it is an ordinary message: it is queued,
// has its agent's priority, and is subject to its type's limit. One allocation each; a periodic one allocates nothing more. Accuracy is
// that of the timer wheel: never early, at most one tick (1 ms) late.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
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
  TimedMessage(TimedMessage&& other) noexcept;
  TimedMessage& operator=(TimedMessage&& other) noexcept;
  ~TimedMessage();

  template <Message M>
  static TimedMessage once(Scheduler& scheduler, Address to, M value, Duration delay) {
    auto stored = message::stored<M>(std::move(value));
    return TimedMessage{scheduler, std::move(to), message::kType<M>, &stored, nullptr, delay};
  }
  /// Due at the first instant plus multiples of 'period', which must be positive (assert). Instants that passed while the thread was busy
  /// are skipped and counted. M must be copyable.
  template <Message M>
  static TimedMessage periodic(Scheduler& scheduler, Address to, M value, Duration period) {
    RONDO_EXPECT(period > Duration{0}, "a periodic message with a period of " + std::to_string(period.count()) + " ns; it is above 0");
    auto stored = message::stored<M>(std::move(value));
    const auto copy = [](void* to_place, void* from) {
      ::new (to_place) message::Stored<M>(message::stored<M>(std::as_const(message::value_of<M>(from))));
    };
    return TimedMessage{scheduler, std::move(to), message::kType<M>, &stored, copy, period};
  }

  void cancel() noexcept;
  /// True if it will still be posted.
  bool is_armed() const noexcept;
  /// Of a periodic message: number of skipped instants, and of refused posts.
  std::uint64_t missed() const noexcept;
  std::uint64_t refused() const noexcept;

 private:
  class Timer;
  /// Constructs the stored message of one post at 'to' from the one at 'from'.
  using Copy = void (*)(void* to, void* from);
  /// 'copy' is null for a message that is posted once. 'delay' is the period of the others.
  TimedMessage(Scheduler& scheduler, Address to, const message::MessageType& type, void* stored, Copy copy, Duration delay);
  static Status post(const Address& to, const message::MessageType& type, void* stored);

  std::unique_ptr<Timer> timer_;
};

}  // namespace rondo
