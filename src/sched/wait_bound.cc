// The longest wait that a policy's settings and the longest turns allow. The formula and its proof are at the top of rondo/sched/policy.h.
#include "sched/wait_bound.h"

#include <algorithm>

#include "rondo/base/limits.h"
#include "rondo/sched/source.h"

namespace rondo {

namespace {

constexpr std::int64_t kInfinite = PolicySettings::kInfinite;

/// Nanoseconds that saturate at kInfinite.
class Sum {
 public:
  constexpr Sum() noexcept = default;
  constexpr explicit Sum(std::int64_t value) noexcept : value_(value) {}
  constexpr std::int64_t value() const noexcept { return value_; }
  constexpr bool is_infinite() const noexcept { return value_ == kInfinite; }
  friend constexpr Sum operator+(Sum a, Sum b) noexcept {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a.value_, b.value_, &sum) ? Sum{kInfinite} : Sum{sum};
  }
  friend constexpr Sum operator*(Sum a, Sum b) noexcept {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a.value_, b.value_, &product) ? Sum{kInfinite} : Sum{product};
  }

 private:
  std::int64_t value_ = 0;
};

/// S: the longest service of a priority in a frame, in nanoseconds.
Sum service(std::int64_t budget, bool in_items, const PriorityUse& use) {
  if (use.longest == Duration{0}) return {};  // Its turns take no time.
  if (budget == kInfinite) return Sum{kInfinite};
  if (in_items) return (Sum{budget} + Sum{use.overdraft}) * Sum{use.longest_item.count()};
  return Sum{budget} + Sum{use.longest.count() - 1};
}

/// B: the longest turns of the other sources of its priority before it, in turns, not yet in nanoseconds or items.
Sum turns_before(const PolicySettings& settings, const PriorityUse& use, std::uint32_t weight) {
  const std::int64_t others = use.sources > 1 ? use.sources - 1 : 0;
  if (settings.tie == Tie::Arrival && use.numbered && others > 0) return Sum{kInfinite};
  if (settings.tie != Tie::ConsumedTime || others == 0) return Sum{others};
  const auto weights = static_cast<std::int64_t>(use.weights) - weight;
  return Sum{others + (weights + weight - 1) / weight + 1};  // One more for rounding in the division of keys.
}

}  // namespace

Duration wait_bound(const PolicySettings& settings, const PriorityUses& uses, Priority priority, std::uint32_t weight) {
  const unsigned p = priority.level();
  const std::int64_t budget = settings.budgets[p];
  Sum others;   // O in policy.h.
  Sum higher;   // H in policy.h.
  Sum running;  // The longest turn of another priority.
  for (unsigned q = 0; q < limits::kPriorities; ++q) {
    if (q == p) continue;
    const Sum one = service(settings.budgets[q], settings.in_items, uses[q]);
    others = others + one;
    if (q > p) higher = higher + one;
    running = Sum{std::max(running.value(), std::int64_t{uses[q].longest.count()})};
  }
  if (settings.one_way) higher = Sum{};
  const PriorityUse& use = uses[p];
  const Sum before = turns_before(settings, use, weight);
  if (before.is_infinite()) return Duration::max();
  const Sum own = use.longest == Duration{0} ? Sum{} : before * Sum{use.longest.count()};
  Sum frames{1};  // j + 1: the number of frame ends during the wait.
  if (budget == kInfinite) {
    // The priority always has budget, so no frame ends while it waits: only the running turn and the higher priorities with budget delay
    // it.
    if (!settings.one_way) others = running;
  } else {
    // The charge of one turn: at most a full budget plus the debt limit.
    const std::int64_t most_debt = limits::kDebtFrames * budget;
    const std::int64_t turn = settings.in_items ? use.items : use.longest.count();
    const std::int64_t beyond = settings.in_items ? use.overdraft : std::max<std::int64_t>(use.longest.count() - 1, 0);
    const Sum used = before * Sum{std::min(turn, budget + most_debt)} + Sum{std::min(beyond, most_debt)};
    if (used.is_infinite()) return Duration::max();
    frames = Sum{used.value() / budget + 1};
  }
  const Sum bound = frames * others + higher + own;
  return bound.is_infinite() ? Duration::max() : Duration{bound.value()};
}

Duration Policy::bound(const Source& source) const { return wait_bound(settings(), uses(), source.priority(), source.weight()); }

}  // namespace rondo
