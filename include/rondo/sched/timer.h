// Timer and TimerWheel: time as a waker. The wheel holds a million timers; an expiry wakes a source, which takes its turn like any other
// ("nothing escapes the scheduler"). 1 ms ticks, 4 levels of 256 slots; a timer never fires early and at most one tick late by design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/base/time.h"
#include "rondo/sched/source.h"

namespace rondo {

/// A link of a circular list. Private to the wheel; it stands here because it is part of a node.
struct TimerHook {
  TimerHook* next = nullptr;
  TimerHook* previous = nullptr;
};

/// A place in the wheel. Intrusive: arming allocates nothing. The owner keeps it alive while armed; its destructor must find it disarmed
/// (TimerWheel::cancel).
class TimerNode : private TimerHook {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  bool armed() const noexcept { return next != nullptr; }
  Instant due() const noexcept { return due_; }

 protected:
  virtual ~TimerNode();
  /// Called by the wheel when due, already disarmed. Must only mark and wake; may arm or cancel itself and others.
  virtual void on_due() = 0;

 private:
  friend class TimerWheel;
  std::uint16_t list_ = 0;  // Beside the hooks: cancel() needs no more than these.
  Instant due_;
};

/// Hashed hierarchical timing wheel (Varghese and Lauck 1987, scheme 7) with an occupancy bitmap per level, so that an idle wheel costs
/// nothing and the next expiry is found by counting zeros. Insert and cancel O(1); a timer moves down at most three times.
/// One thread. Timers in another span of 2^32 ticks (49 days) wait in a list apart and are placed when that span begins.
class TimerWheel {
 public:
  explicit TimerWheel(Instant start);
  /// Disarms what is left.
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  /// Arms 'node' for 'due' (re-arms it if armed). A past 'due' is due at the next expire(), not at one that is under way.
  void insert(TimerNode& node, Instant due);
  /// Disarms; no effect if it is not armed.
  void cancel(TimerNode& node) noexcept;
  /// Fires timers that are due at 'now', in order of their tick, and those of one tick, or armed for the past, in the order they were
  /// armed, whatever others there are (but for those that were armed more than 2^32 ticks ahead). Fires at most 'max' and moves at most 16
  /// times as many between levels, so that a burst takes several calls with others' turns in between: there is more to do exactly when
  /// next_expiry() <= now afterwards. Returns how many fired.
  std::size_t expire(Instant now, std::size_t max);
  /// No timer fires before this instant; never() when the wheel is empty. May be earlier than the first timer (by a level's width).
  Instant next_expiry() const noexcept;
  std::size_t size() const noexcept;

 private:
  struct Levels;
  void advance(std::uint64_t until, std::size_t moves);
  std::unique_ptr<Levels> levels_;
};

/// A timer that is a source: when due, its callback runs in a turn of its own priority. Armed once or periodically.
/// Periods are kept in phase: the next due time is the last one plus the period; missed periods are skipped and counted.
class TimerSource final : public Source, private TimerNode {
 public:
  using Callback = std::function<void()>;
  TimerSource(std::string name, Priority priority, Callback callback);
  ~TimerSource() override;

  /// Must have been added to a scheduler. Replaces an earlier arming. May be called inside the callback.
  void arm_at(Instant due);
  /// The same for 'first', 'first + period' and so on. The period must be positive.
  void arm_every(Duration period, Instant first);
  /// No callback until it is armed again, even if it was due already.
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
  TimerWheel* wheel_ = nullptr;  // Where it was armed last.
  Duration period_{0};
  bool fired_ = false;
  std::uint64_t missed_ = 0;
};

}  // namespace rondo
