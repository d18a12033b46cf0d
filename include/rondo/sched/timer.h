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

/// A place in the wheel. Intrusive: arming allocates nothing. The owner keeps it alive while armed; its destructor must find it disarmed
/// (TimerWheel::cancel).
class TimerNode {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  bool armed() const noexcept { return next_ != nullptr; }
  Instant due() const noexcept { return due_; }

 protected:
  ~TimerNode() = default;
  /// Called by the wheel when due, already disarmed. Must only mark and wake; may arm itself or others again.
  virtual void on_due() = 0;

 private:
  friend class TimerWheel;
  TimerNode* next_ = nullptr;
  TimerNode* previous_ = nullptr;
  Instant due_;
  std::uint16_t slot_ = 0;
};

/// Hashed hierarchical timing wheel (Varghese and Lauck 1987, scheme 7) with an occupancy bitmap per level, so that an idle wheel costs
/// nothing and the next expiry is found by counting zeros. Insert and cancel O(1); a timer moves down at most three times.
/// One thread. Timers beyond 2^32 ticks (49 days) wait in the last slot and are placed again.
class TimerWheel {
 public:
  explicit TimerWheel(Instant start);
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  /// Arms 'node' for 'due' (re-arms it if armed). A past 'due' is due at the next expire().
  void insert(TimerNode& node, Instant due);
  /// Disarms; no effect if it is not armed.
  void cancel(TimerNode& node) noexcept;
  /// Fires up to 'max' timers that are due at 'now', in order of their tick. Returns how many fired; call again while it returns 'max'.
  std::size_t expire(Instant now, std::size_t max);
  /// No timer fires before this instant; never() when the wheel is empty. May be earlier than the first timer (by a level's width).
  Instant next_expiry() const noexcept;
  std::size_t size() const noexcept;

 private:
  struct Levels;
  std::unique_ptr<Levels> levels_;
};

/// A timer that is a source: when due, its callback runs in a turn of its own priority. Armed once or periodically.
/// Periods are kept in phase: the next due time is the last one plus the period; missed periods are skipped and counted.
class TimerSource final : public Source, private TimerNode {
 public:
  using Callback = std::function<void()>;
  TimerSource(std::string name, Priority priority, Callback callback);
  ~TimerSource() override;

  /// Must have been added to a scheduler. Replaces an earlier arming.
  void arm_at(Instant due);
  void arm_every(Duration period, Instant first);
  void disarm() noexcept;
  bool is_armed() const noexcept { return TimerNode::armed() || fired_; }
  std::uint64_t missed() const noexcept { return missed_; }

  Turn run(Budget budget) override;
  bool has_backlog() const override { return fired_; }

 private:
  void on_due() override;
  Callback callback_;
  Duration period_{0};
  bool fired_ = false;
  std::uint64_t missed_ = 0;
};

}  // namespace rondo
