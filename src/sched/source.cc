#include "rondo/sched/source.h"

#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo {

// Ten thousand of them, with what their derived classes add, fit the second level of most processors' caches and tables of pages.
static_assert(sizeof(Source) <= 240);

Source::Source(std::string name, Priority priority) : priority_(priority), name_(std::move(name)) {}

Source::~Source() {
  RONDO_ASSERT(state_ != State::Running);
  if (Scheduler* owner = scheduler()) owner->remove(*this);
}

void Source::set_weight(std::uint32_t weight) {
  RONDO_ASSERT(weight >= 1 && weight <= limits::kWeightMost && scheduler() == nullptr);
  weight_ = weight;
}

void Source::wake() {
  if (Scheduler* owner = scheduler()) owner->wake(*this);
}

void Source::wake_from_any_thread() noexcept {
  if (Scheduler* owner = scheduler_.load(std::memory_order_acquire)) owner->wake_remote(*this);
}

bool Source::time_is_up(const Budget& budget) const {
  Scheduler* const owner = scheduler();
  return owner != nullptr && owner->time_is_up(budget);
}

Log2Histogram Source::waits() const {
  const Scheduler* const owner = scheduler();
  return owner != nullptr ? owner->waits(*this) : Log2Histogram{};
}

bool Source::should_yield() const {
  const Scheduler* owner = scheduler();
  return owner != nullptr && owner->should_yield();
}

}  // namespace rondo
