// Timer and TimerWheel: time as a waker. The wheel holds a million timers. An expired timer wakes a source, which takes its turn like any
// other. Ticks of 1 ms, 4 levels of 256 slots. A timer never fires early. expire() fires it at most one tick late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/base/time.h"
#include "rondo/sched/source.h"

namespace rondo {

/// A link of a circular list. Private to the wheel; declared here because it is part of a node.
struct TimerHook {
  TimerHook* next = nullptr;
  TimerHook* previous = nullptr;
};

/// An entry of the wheel. Intrusive: arming allocates nothing. The owner keeps it alive while armed, and must disarm it
/// (TimerWheel::cancel) before its destructor runs.
class TimerNode : private TimerHook {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  bool armed() const noexcept { return next != nullptr; }
  Instant due() const noexcept { return due_; }

 protected:
  virtual ~TimerNode();
  /// Called by the wheel when due, already disarmed. It must only set a flag and wake a source; it may arm or cancel itself and other
  /// timers.
  virtual void on_due() = 0;

 private:
  friend class TimerWheel;
  std::uint16_t list_ = 0;  // Next to the links: cancel() reads nothing else.
  Instant due_;
};

/// Hashed hierarchical timing wheel (Varghese and Lauck 1987, scheme 7) with an occupancy bitmap per level. An idle wheel costs nothing,
/// and the next expiry is found by counting zeros. Insert and cancel are O(1); a timer moves down at most three times. One thread. Timers
/// in another span of 2^32 ticks (49 days) wait in a separate list and are placed when that span begins.
class TimerWheel {
 public:
  explicit TimerWheel(Instant start);
  /// Disarms the remaining timers.
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  /// Arms 'node' for 'due', and re-arms it if it is armed. A past 'due' fires at the next expire(), not at one that is under way.
  void insert(TimerNode& node, Instant due);
  /// Disarms; no effect if it is not armed.
  void cancel(TimerNode& node) noexcept;
  /// Fires timers that are due at 'now', in the order of their ticks. Timers of one tick, or armed for the past, fire in the order in which
  /// they were armed, regardless of other timers. Timers armed more than 2^32 ticks ahead are an exception. Fires at most 'max' timers and
  /// moves at most 16 times as many between levels. So a burst takes several calls, with other turns between them. More work is left
  /// exactly when next_expiry() <= now afterwards. Returns how many timers fired.
  std::size_t expire(Instant now, std::size_t max);
  /// No timer fires before this instant; never() when the wheel is empty. May be earlier than the first timer, by up to the width of a
  /// level.
  Instant next_expiry() const noexcept;
  std::size_t size() const noexcept;

 private:
  struct Levels;
  void advance(std::uint64_t until, std::size_t moves);
  std::unique_ptr<Levels> levels_;
};

/// A timer that is a source: when due, its callback runs in a turn of its own priority. Armed once or periodically. Periods stay in phase:
/// the next due time is the last one plus the period; missed periods are skipped and counted.
class TimerSource final : public Source, private TimerNode {
 public:
  using Callback = std::function<void()>;
  TimerSource(std::string name, Priority priority, Callback callback);
  ~TimerSource() override;

  /// The source must belong to a scheduler. Replaces an earlier arming. May be called inside the callback.
  void arm_at(Instant due);
  /// The same for 'first', 'first + period' and so on. The period must be positive.
  void arm_every(Duration period, Instant first);
  /// No callback until it is armed again, even if it was already due.
  void disarm() noexcept;
  bool is_armed() const noexcept { return TimerNode::armed() || fired_; }
  /// Periods that passed without a callback because an earlier one was still waiting for its turn.
  std::uint64_t missed() const noexcept { return missed_; }

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return fired_; }

 private:
  void on_due() override;
  void arm(Instant due);
  void disarm_node() noexcept;
  Callback callback_;
  TimerWheel* wheel_ = nullptr;  // The wheel in which it was last armed.
  Duration period_{0};
  bool fired_ = false;
  std::uint64_t missed_ = 0;
};

}  // namespace rondo
