#include "rondo/sched/source.h"

#include <utility>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

// Room for the first members of most derived classes: they begin before the fourth cache line ends.
static_assert(sizeof(Source) == 256);

Source::Source(std::string name, Priority priority) : priority_(priority), name_(std::move(name)) {}

Source::~Source() {
  RONDO_EXPECT(state_ != State::Running, "source '" + name_ + "' is destroyed in its own turn");
  if (Scheduler* owner = scheduler()) owner->remove(*this);
}

void Source::set_weight(std::uint32_t weight) {
  RONDO_EXPECT(weight >= 1 && weight <= limits::kWeightMost && scheduler() == nullptr,
               "source '" + name_ + "' is given the weight " + std::to_string(weight) + ", which is not from 1 to " +
                   std::to_string(limits::kWeightMost) + ", or after it was added");
  weight_ = weight;
}

void Source::wake() {
  Scheduler* const owner = scheduler();
  if (owner == nullptr) return;
  owner->expect_not_elsewhere(*this, "Source::wake");
  owner->wake(*this);
}

void Source::expect_here(std::string_view call) const {
  if (const Scheduler* owner = scheduler()) owner->expect_here(*this, call);
}

void Source::expect_not_elsewhere(std::string_view call) const {
  if (const Scheduler* owner = scheduler()) owner->expect_not_elsewhere(*this, call);
}

void Source::wake_from_any_thread() noexcept {
  if (Scheduler* owner = scheduler_.load(std::memory_order_acquire)) owner->wake_remote(*this);
}

bool Source::time_is_up(const Budget& budget) const {
  Scheduler* const owner = scheduler();
  return owner != nullptr && owner->time_is_up(budget);
}

Log2Histogram Source::waits() const { return waits_ != nullptr ? *waits_ : Log2Histogram{}; }

bool Source::turn_is_over(const Budget& budget, std::uint32_t items) const {
  Scheduler* const owner = scheduler();
  return owner != nullptr && owner->turn_is_over(budget, long_items_ || items % limits::kItemsPerStep == 0);
}

bool Source::should_yield() const {
  const Scheduler* owner = scheduler();
  return owner != nullptr && owner->should_yield();
}

}  // namespace rondo
