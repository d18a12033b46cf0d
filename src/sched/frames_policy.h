// FramesPolicy: all policies, as settings of budgeted frames. It puts the accounts of the priorities (frames.h) over the order within each
// (ready_set.h), and remembers the longest turns, from which the bound follows. 'Rules' is FrameRules; a test breaks them on purpose.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "sched/frames.h"
#include "sched/ready_set.h"

namespace rondo {

template <class Rules>
class FramesPolicy final : public Policy {
 public:
  explicit FramesPolicy(const PolicySettings& settings)
      : settings_(settings),
        frames_(settings),
        set_(settings.tie),
        may_interrupt_(!settings.one_way),
        is_bounded_(std::ranges::any_of(settings.budgets, [](std::int64_t budget) { return budget != PolicySettings::kInfinite; })) {
    by_arrival_ = settings.tie == Tie::Arrival;
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

  void arrived(Source& source) override {
    if (is_bounded_ && set_.empty() && !turn_is_out_) frames_.begin_anew();
    set_.arrive(source, by_arrival_ ? key_of(source) : 0);
    const unsigned priority = source.priority().level();
    fill(priority);
    if (by_arrival_) overtaken_ = overtaken_ || priority == picked_;
  }

  Source* pick() override {
    if (set_.empty()) return nullptr;
    picked_ = is_bounded_ ? frames_.next() : 63U - static_cast<unsigned>(std::countl_zero(set_.occupied()));
    Source& source = set_.take(picked_);
    drain(picked_);
    above_ = may_interrupt_ ? ~((2ULL << picked_) - 1) : 0;
    overtaken_ = false;
    turn_is_out_ = true;
    return &source;
  }

  void served(Source& source, const Turn& turn, Duration took) override {
    turn_is_out_ = false;
    const unsigned priority = source.priority().level();
    PriorityUse& use = uses_[priority];
    if (took > use.longest) use.longest = took;
    if (settings_.in_items) {
      charge_items(priority, std::max<std::uint32_t>(turn.items, 1), took);
    } else if (is_bounded_) {
      frames_.charge(priority, took.count());
    }
    if (settings_.tie == Tie::ConsumedTime) set_.charge(source, took);
    if (turn.backlog == Backlog::More) {
      set_.return_served(source, by_arrival_ ? key_of(source) : 0);
      fill(priority);
    } else {
      set_.rest(source);
      if (is_bounded_) ready_ = frames_.funded();
    }
  }

  void removed(Source& source) override {
    set_.erase(source);
    drain(source.priority().level());
  }

  Budget budget(const Source& source) const override {
    const unsigned priority = source.priority().level();
    const std::int64_t whole = settings_.budgets[priority];
    Budget budget{.items = settings_.batch, .time = settings_.turn};
    if (settings_.in_items) {
      budget.items = static_cast<std::uint32_t>(std::min<std::int64_t>(budget.items, frames_.left(priority)));
    } else if (whole < budget.time.count()) {
      budget.time = Duration{whole};
    }
    if (by_arrival_) {
      budget.before = set_.next_key(priority);
      if (settings_.item_by_item && source.head_arrival() == 0) budget.items = 1;
    }
    return budget;
  }

  bool empty() const override { return set_.empty(); }
  const PolicySettings& settings() const noexcept override { return settings_; }
  const PriorityUses& uses() const noexcept override { return uses_; }
  std::string describe() const override { return rondo::describe(settings_); }

  void follow(const Policy& before) override {
    set_.follow(before.services());
    turn_is_out_ = before.turn_is_out();
    picked_ = before.picked().level();
    if (turn_is_out_ && may_interrupt_) above_ = ~((2ULL << picked_) - 1);
    keys_stay_ = by_arrival_ && before.settings().tie == Tie::Arrival;
    for (unsigned p = 0; p < limits::kPriorities; ++p) {
      const PriorityUse& seen = before.uses()[p];
      // Sources are counted as they join; what counts items begins anew, because turns were cut otherwise.
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
  // Without any budget there are no frames to keep.
  void fill(unsigned priority) noexcept {
    if (is_bounded_) frames_.fill(priority);
    ready_ = is_bounded_ ? frames_.funded() : set_.occupied();
  }
  void drain(unsigned priority) noexcept {
    if (is_bounded_ && (set_.occupied() & (1ULL << priority)) == 0) frames_.drain(priority);
    ready_ = is_bounded_ ? frames_.funded() : set_.occupied();
  }

  std::uint64_t key_of(const Source& source) {
    const std::uint64_t head = source.head_arrival();
    if (head == 0) return next_arrival();
    uses_[source.priority().level()].numbered = true;
    return head;
  }

  void charge_items(unsigned priority, std::uint32_t items, Duration took) {
    PriorityUse& use = uses_[priority];
    if (took > use.longest_item * items) use.longest_item = (took + Duration{items - 1}) / items;
    use.items = std::max<std::int64_t>(use.items, items);
    use.overdraft = std::max(use.overdraft, items - frames_.left(priority));
    frames_.charge(priority, items);
  }

  const PolicySettings settings_;
  Frames<Rules> frames_;
  BasicReadySet<Rules> set_;
  const bool may_interrupt_;
  const bool is_bounded_;
  bool keys_stay_ = false;
  PriorityUses uses_{};
  std::array<std::uint32_t, limits::kPriorities> members_{};
  std::array<std::uint64_t, limits::kPriorities> weights_{};
};

}  // namespace rondo
