// FramesPolicy: all policies, as settings of budgeted frames. It combines the accounts of the priorities (frames.h) with the order within
// each (ready_set.h), and stores the longest turns, from which the bound is computed. 'Rules' is FrameRules; a test breaks them on purpose.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "rondo/base/limits.h"
#include "sched/frames.h"
#include "sched/ready_set.h"
#include "sched/wait_bound.h"

namespace rondo {

template <class Rules>
class FramesPolicy final : public Policy {
 public:
  explicit FramesPolicy(const PolicySettings& settings)
      : settings_(settings),
        frames_(settings),
        set_(settings.tie),
        interruptible_(settings.one_way ? 0 : ~0ULL),
        turns_alike_(!settings.in_items && settings.tie != Tie::Arrival) {
    by_arrival_ = settings.tie == Tie::Arrival;
    for (unsigned p = 0; p < limits::kPriorities; ++p) {
      budgets_[p] = {.items = settings.batch, .time = settings.turn};
      if (!settings.in_items) budgets_[p].time = std::min(settings.turn, Duration{settings.budgets[p]});
    }
  }

  void joined(Source& source) override {
    set_.join(source);
    const unsigned priority = source.priority().level();
    members_[priority] += 1;
    weights_[priority] += source.weight();
    uses_[priority].sources = std::max(uses_[priority].sources, members_[priority]);
    uses_[priority].weights = std::max(uses_[priority].weights, weights_[priority]);
  }
  void departed(const Source& source) override {
    set_.leave(source);
    members_[source.priority().level()] -= 1;
    weights_[source.priority().level()] -= source.weight();
  }

  [[gnu::always_inline]] void arrived(Source& source) override {
    const unsigned priority = source.priority().level();
    if (set_.has(priority) && !by_arrival_) return set_.arrive(source);
    arrived_first(source, priority);
  }

  [[gnu::always_inline]] Source* pick() override {
    if (set_.empty()) return nullptr;
    picked_ = frames_.next();
    Source& source = set_.take(picked_);
    if (!set_.has(picked_)) frames_.drain(picked_);
    ready_ = frames_.candidates();
    above_ = interruptible_ & ~((2ULL << picked_) - 1);
    overtaken_ = false;
    turn_is_out_ = true;
    return &source;
  }

  [[gnu::always_inline]] void served(Source& source, const Turn& turn, Duration took) override {
    turn_is_out_ = false;
    const unsigned priority = source.priority().level();
    PriorityUse& use = uses_[priority];
    if (took > use.longest) use.longest = took;
    if (settings_.in_items) {
      charge_items(priority, std::max<std::uint32_t>(turn.items, 1), took);
    } else {
      frames_.charge(priority, took.count());
    }
    if (settings_.tie == Tie::ConsumedTime) set_.charge(source, took);
    if (turn.backlog == Backlog::More) {
      goes_on(source, priority);
    } else {
      set_.rest(source);
    }
    ready_ = frames_.candidates();
  }

  void removed(Source& source) override {
    const unsigned priority = source.priority().level();
    set_.erase(source);
    if (!set_.has(priority)) frames_.drain(priority);
    ready_ = frames_.candidates();
  }

  [[gnu::always_inline]] Budget budget(const Source& source) const override {
    const unsigned priority = source.priority().level();
    return turns_alike_ ? budgets_[priority] : budget_now(source, priority);
  }

  bool empty() const override { return set_.empty(); }
  const PolicySettings& settings() const noexcept override { return settings_; }
  const PriorityUses& uses() const noexcept override { return uses_; }
  std::string describe() const override { return rondo::describe(settings_); }

  void follow(const Policy& before) override {
    set_.follow(before.services());
    turn_is_out_ = before.turn_is_out();
    picked_ = before.picked().level();
    if (turn_is_out_) {
      above_ = interruptible_ & ~((2ULL << picked_) - 1);
      frames_.go_on_at(picked_);
    }
    keys_stay_ = by_arrival_ && before.settings().tie == Tie::Arrival;
    for (unsigned p = 0; p < limits::kPriorities; ++p) {
      const PriorityUse& seen = before.uses()[p];
      // Sources are counted as they join. Item counts begin anew, because the old policy limited turns differently.
      uses_[p].longest = seen.longest;
    }
  }

  void resumed(Source& source) override {
    std::uint64_t key = 0;
    if (by_arrival_) key = keys_stay_ ? set_.key(source) : key_of(source);
    set_.resume(source, key);
    fill(source.priority().level());
  }

  std::uint64_t services() const noexcept override { return set_.services(); }

 private:
  /// The slow path of an arrival: its priority had no ready source, or its place depends on its items.
  [[gnu::noinline]] void arrived_first(Source& source, unsigned priority) {
    if (set_.empty() && !turn_is_out_) frames_.begin_anew();
    set_.arrive(source, by_arrival_ ? key_of(source) : 0);
    fill(priority);
    overtaken_ = overtaken_ || (by_arrival_ && priority == picked_);
  }
  [[gnu::noinline]] void goes_on(Source& source, unsigned priority) {
    set_.return_served(source, by_arrival_ ? key_of(source) : 0);
    fill(priority);
  }
  void fill(unsigned priority) noexcept {
    frames_.fill(priority);
    ready_ = frames_.candidates();
  }

  [[gnu::noinline]] Budget budget_now(const Source& source, unsigned priority) const {
    Budget budget = budgets_[priority];
    if (settings_.in_items) {
      budget.items = static_cast<std::uint32_t>(std::min<std::int64_t>(budget.items, frames_.left(priority)));
    }
    if (by_arrival_) {
      budget.before = set_.next_key(priority);
      if (settings_.item_by_item && source.head_arrival() == 0) budget.items = 1;
    }
    return budget;
  }

  std::uint64_t key_of(const Source& source) {
    const std::uint64_t head = source.head_arrival();
    if (head == 0) return next_arrival();
    uses_[source.priority().level()].numbered = true;
    return head;
  }

  [[gnu::noinline]] void charge_items(unsigned priority, std::uint32_t items, Duration took) {
    PriorityUse& use = uses_[priority];
    if (took > use.longest_item * items) use.longest_item = (took + Duration{items - 1}) / items;
    use.items = std::max<std::int64_t>(use.items, items);
    use.overdraft = std::max(use.overdraft, items - frames_.left(priority));
    frames_.charge(priority, items);
  }

  const PolicySettings settings_;
  Frames<Rules> frames_;
  BasicReadySet<Rules> set_;
  const std::uint64_t interruptible_;  // Priorities whose turns may be preempted.
  const bool turns_alike_;             // All turns of one priority have the same budget.
  std::array<Budget, limits::kPriorities> budgets_{};
  bool keys_stay_ = false;
  PriorityUses uses_{};
  std::array<std::uint32_t, limits::kPriorities> members_{};
  std::array<std::uint64_t, limits::kPriorities> weights_{};
};

}  // namespace rondo
