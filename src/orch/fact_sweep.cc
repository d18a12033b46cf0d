#include "orch/fact_sweep.h"

#include <algorithm>
#include <utility>

#include "orch/limits.h"
#include "rondo/base/limits.h"

namespace rondo {

FactSweep::FactSweep(Scheduler& scheduler, FactIndex& index, OnFind on_find, OnThrow on_throw)
    : scheduler_(scheduler),
      index_(index),
      on_find_(std::move(on_find)),
      on_throw_(std::move(on_throw)),
      timer_("facts: sweep", Priority{0}, [this] { sweep(); }) {
  scheduler_.add(timer_);
  index_.on_first([this] {
    if (!timer_.is_armed()) timer_.arm_at(scheduler_.now() + limits::kFactSweepPeriod);
  });
}

void FactSweep::sweep() {
  if (next_ == 0) began_ = scheduler_.now();
  const std::uint32_t end = std::min(index_.limit(), next_ + limits::kFactSweepFacts);
  while (next_ < end) check(next_++);
  if (next_ < index_.limit()) {
    timer_.arm_at(scheduler_.now() + limits::kFactSweepPause);
    return;
  }
  next_ = 0;
  if (!index_.empty()) timer_.arm_at(std::max(began_ + limits::kFactSweepPeriod, scheduler_.now() + limits::kFactSweepPause));
}

void FactSweep::check(std::uint32_t slot) {
  const bool is_awaited = !index_.waiters(slot).empty();
  const bool is_depended_on = !index_.bound(slot).empty();
  if (!is_awaited && !is_depended_on) return;
  const Fact fact = index_.fact(slot);  // A copy: the calls below may free the slot.
  if (index_.is_foreign(fact.kind)) {
    if (is_awaited) index_.ask_again(fact);
    return;
  }
  bool holds = false;
  try {
    holds = index_.holds(fact);
  } catch (...) {
    on_throw_(fact, std::current_exception());
    return;
  }
  const bool is_suspect = holds ? is_awaited : is_depended_on && index_.is_provided(fact.kind);
  std::uint8_t& suspicions = index_.suspicions(slot);
  suspicions = is_suspect ? static_cast<std::uint8_t>(suspicions + 1) : std::uint8_t{0};
  if (suspicions == limits::kFactSweepPasses) on_find_(fact, holds);
}

}  // namespace rondo
