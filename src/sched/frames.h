// Frames: the accounts of budgeted frames (rondo/sched/policy.h): which priorities have ready sources, which have budget left, and which is
// next. Scheduler's thread. Nothing allocates; each call O(1) but the beginning of a frame, which looks at the priorities that have ready
// sources. Those that have none are brought up to date when they get some: a class knows for which frame its account is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "rondo/base/assert.h"
#include "rondo/sched/policy.h"
#include "sched/ready_set.h"

namespace rondo {

template <class Rules>
class Frames {
 public:
  explicit Frames(const PolicySettings& settings) noexcept {
    for (unsigned p = 0; p < limits::kPriorities; ++p) {
      classes_[p].left = classes_[p].budget = settings.budgets[p];
      if (classes_[p].budget == PolicySettings::kInfinite) continue;
      finite_ |= 1ULL << p;
      classes_[p].lowest = -limits::kDebtFrames * classes_[p].budget;
    }
    one_way_ = settings.one_way && finite_ != 0;  // Where no budget ends no frame would, and who is above would wait for ever.
  }

  /// Priorities with ready sources and budget left in this frame.
  std::uint64_t candidates() const noexcept { return candidates_; }

  /// Nothing is ready or running: the frame was over, whatever was left of it.
  void begin_anew() noexcept {
    ++frame_;
    cursor_ = kHighest;
  }

  /// The policy has begun in the middle of a turn of 'priority': a cursor that goes down only stands there, as it would had this policy
  /// given the turn. Else those above could come twice before a priority whose turn used up its budget.
  void go_on_at(unsigned priority) noexcept { cursor_ = priority; }

  /// 'priority' has ready sources from now on, or none any more.
  void fill(unsigned priority) noexcept {
    catch_up(priority);
    ready_ |= 1ULL << priority;
    candidates_ = ready_ & funded_;
  }
  void drain(unsigned priority) noexcept {
    ready_ &= ~(1ULL << priority);
    candidates_ = ready_ & funded_;
  }

  /// The priority whose turn it is. Some have ready sources.
  unsigned next() noexcept {
    std::uint64_t candidates = one_way_ ? candidates_ & at_or_below(cursor_) : candidates_;
    if (candidates == 0 || (Rules::kFrameEndsEarly && (funded_ & (1ULL << highest(ready_))) == 0)) [[unlikely]] {
      begin_frame();
      candidates = candidates_;
      RONDO_ASSERT(candidates != 0);
    }
    cursor_ = highest(candidates);
    return cursor_;
  }

  /// A turn of 'priority' used so much of its budget. Debt beyond that of limits::kDebtFrames is forgiven: one turn that the machine held
  /// up for a minute must not keep its priority waiting for an hour.
  void charge(unsigned priority, std::int64_t used) noexcept {
    if ((finite_ & (1ULL << priority)) == 0) return;
    std::int64_t& left = classes_[priority].left;
    left = std::max(left - used, classes_[priority].lowest);
    if (left <= 0) {
      funded_ &= ~(1ULL << priority);
      candidates_ = ready_ & funded_;
    }
  }

  /// What 'priority' has left; below zero: its debt.
  std::int64_t left(unsigned priority) const noexcept { return classes_[priority].left; }

 private:
  static constexpr unsigned kHighest = limits::kPriorities - 1;

  struct Class {
    std::int64_t budget = 0;
    std::int64_t left = 0;
    std::int64_t lowest = 0;
    std::uint64_t frame = 0;
  };

  static unsigned highest(std::uint64_t mask) noexcept { return 63U - static_cast<unsigned>(std::countl_zero(mask)); }
  static std::uint64_t at_or_below(unsigned priority) noexcept { return (2ULL << priority) - 1; }

  /// b = min(b, 0) + Q, once for each frame that began since.
  void catch_up(unsigned priority) noexcept {
    Class& c = classes_[priority];
    const std::uint64_t frames = frame_ - c.frame;
    c.frame = frame_;
    if (frames == 0 || c.budget == PolicySettings::kInfinite) return;
    const std::int64_t debt = std::max<std::int64_t>(-c.left, 0);
    if constexpr (Rules::kCreditIsCarried) {
      c.left += c.budget * static_cast<std::int64_t>(std::min<std::uint64_t>(frames, 1000));
    } else if (static_cast<std::uint64_t>(debt / c.budget) + 2 <= frames) {
      c.left = c.budget;
    } else {
      c.left = std::min(c.budget * static_cast<std::int64_t>(frames) - debt, c.budget);
    }
    if (c.left > 0) {
      funded_ |= 1ULL << priority;
    } else {
      funded_ &= ~(1ULL << priority);
    }
  }

  /// As many frames as it takes until a ready priority has budget.
  [[gnu::noinline]] void begin_frame() noexcept {
    std::uint64_t frames = UINT64_MAX;
    for (std::uint64_t rest = ready_; rest != 0; rest &= rest - 1) {
      const Class& c = classes_[static_cast<unsigned>(std::countr_zero(rest))];
      frames = std::min(frames, c.left > 0 ? 1 : static_cast<std::uint64_t>(-c.left / c.budget) + 1);
    }
    frame_ += frames;
    for (std::uint64_t rest = ready_; rest != 0; rest &= rest - 1) catch_up(static_cast<unsigned>(std::countr_zero(rest)));
    candidates_ = ready_ & funded_;
    cursor_ = kHighest;
  }

  std::uint64_t ready_ = 0;
  std::uint64_t funded_ = ~0ULL;  // Right for the ready ones, and for the one that runs.
  std::uint64_t candidates_ = 0;  // Of the ready ones, those that are funded.
  std::uint64_t finite_ = 0;
  std::uint64_t frame_ = 0;
  unsigned cursor_ = kHighest;
  bool one_way_ = false;
  std::array<Class, limits::kPriorities> classes_;
};

}  // namespace rondo
