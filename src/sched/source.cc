#include "rondo/sched/source.h"

#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo {

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

bool Source::should_yield() const {
  const Scheduler* owner = scheduler();
  return owner != nullptr && owner->should_yield();
}

}  // namespace rondo
