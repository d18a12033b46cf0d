// Frames: the accounts of budgeted frames (rondo/sched/policy.h): which priorities have ready sources, which have budget left, and which
// is next. Scheduler's thread. No call allocates. Each is O(1) except the beginning of a frame, which visits the priorities with ready
// sources. The accounts of the others are updated when they get a ready source: a class stores the frame that its account is for.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
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
    one_way_ =
        settings.one_way && finite_ != 0;  // Without a finite budget no frame would end, and higher priorities would wait without limit.
  }

  /// Priorities with ready sources and budget left in this frame.
  std::uint64_t candidates() const noexcept { return candidates_; }

  /// No source is ready or running: the frame ends, whatever budget was left.
  void begin_anew() noexcept {
    ++frame_;
    cursor_ = kHighest;
  }

  /// The policy begins in the middle of a turn of 'priority'. A one-way cursor is set to that priority, as if this policy had given the
  /// turn. Otherwise the priorities above could run twice before a priority whose turn used up its budget.
  void go_on_at(unsigned priority) noexcept { cursor_ = priority; }

  /// fill(): 'priority' now has ready sources. drain(): it has none any more.
  void fill(unsigned priority) noexcept {
    catch_up(priority);
    ready_ |= 1ULL << priority;
    candidates_ = ready_ & funded_;
  }
  void drain(unsigned priority) noexcept {
    ready_ &= ~(1ULL << priority);
    candidates_ = ready_ & funded_;
  }

  /// Returns the priority that has the next turn. At least one has ready sources.
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

  /// Charges 'used' to the budget of 'priority'. Debt beyond that of limits::kDebtFrames is forgiven: a turn that the machine delayed for
  /// a minute must not keep its priority waiting for an hour.
  void charge(unsigned priority, std::int64_t used) noexcept {
    if ((finite_ & (1ULL << priority)) == 0) return;
    std::int64_t& left = classes_[priority].left;
    left = std::max(left - used, classes_[priority].lowest);
    if (left <= 0) {
      funded_ &= ~(1ULL << priority);
      candidates_ = ready_ & funded_;
    }
  }

  /// The budget that 'priority' has left; a negative value is its debt.
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

  /// Applies b = min(b, 0) + Q once for each frame that began since the account was last updated.
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

  /// Begins as many frames as it takes until a ready priority has budget.
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
  std::uint64_t funded_ = ~0ULL;  // Valid for the priorities with ready sources, and for the running one.
  std::uint64_t candidates_ = 0;  // The funded priorities with ready sources.
  std::uint64_t finite_ = 0;
  std::uint64_t frame_ = 0;
  unsigned cursor_ = kHighest;
  bool one_way_ = false;
  std::array<Class, limits::kPriorities> classes_;
};

}  // namespace rondo
