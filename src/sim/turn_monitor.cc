#include "sim/turn_monitor.h"

#include <algorithm>

#include "orch/consumer.h"
#include "rondo/sched/scheduler.h"

namespace rondo::sim {

namespace {
/// Waiting sources are checked once in this many turns: a source that is never picked would appear in no turn.
constexpr std::uint64_t kLook = 256;
}  // namespace

void TurnMonitor::follow(Scheduler& scheduler, TurnObserver* next) {
  scheduler_ = &scheduler;
  next_ = next;
  slots_.assign(1, Slot{});
  free_.clear();
  last_ = {};
  policy_since_ = {};
  scheduler.observe(this);
}

std::uint32_t TurnMonitor::source_added(Source& source) {
  Slot slot{.source = &source, .consumer = dynamic_cast<const Consumer*>(&source)};
  if (next_ != nullptr) slot.next_number = next_->source_added(source);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  slots_[number] = slot;
  return number;
}

void TurnMonitor::source_removed(std::uint32_t source) {
  Slot& slot = slots_[source];
  if (next_ != nullptr && slot.next_number != 0) next_->source_removed(slot.next_number);
  if (last_.source == slot.source) {
    last_.source = nullptr;
    last_.consumer = nullptr;
  }
  if (last_.overdue == slot.source) last_.overdue = nullptr;
  slot = {};
  free_.push_back(source);
}

void TurnMonitor::policy_changed(const PolicySettings& settings) {
  if (next_ != nullptr) next_->policy_changed(settings);
  policy_since_ = scheduler_->now();
  for (Slot& slot : slots_) slot.bound = Duration{0};
}

void TurnMonitor::clock_read(Instant now) {
  if (next_ != nullptr) next_->clock_read(now);
}

void TurnMonitor::woken(std::uint32_t source) {
  if (next_ != nullptr) next_->woken(slots_[source].next_number);
}

void TurnMonitor::timers_fire() {
  if (next_ != nullptr) next_->timers_fire();
}

void TurnMonitor::turn_begins(std::uint32_t source, Instant now) {
  Slot& slot = slots_[source];
  if (next_ != nullptr) next_->turn_begins(slot.next_number, now);
  const Source& whose = *slot.source;
  last_.source = slot.source;
  last_.consumer = slot.consumer;
  last_.number = whose.number();
  last_.budget = whose.goes_before_all() ? Budget{} : scheduler_->policy().budget(whose);
  last_.waited = waited(whose, now);
  if (last_.waited > slot.bound) slot.bound = scheduler_->bound(whose);
  last_.promised = slot.bound;
  was_notified_ = false;
  if (++turns_ % kLook == 0) check_overdue(now);
}

/// The wait under the present policy only, because a policy has no bound for earlier time.
Duration TurnMonitor::waited(const Source& source, Instant now) const noexcept {
  return now - std::max(source.ready_since(), policy_since_);
}

void TurnMonitor::check_overdue(Instant now) {
  for (Slot& slot : slots_) {
    if (slot.source == nullptr || !slot.source->is_ready() || waited(*slot.source, now) <= slot.bound) continue;
    slot.bound = scheduler_->bound(*slot.source);
    if (waited(*slot.source, now) > slot.bound) last_.overdue = slot.source;
  }
}

void TurnMonitor::time_checked(bool is_up) {
  if (next_ != nullptr) next_->time_checked(is_up);
  if (is_up && !was_notified_) {
    was_notified_ = true;
    notified_ = clock_.now();
  }
}

void TurnMonitor::yield_checked(bool yields) {
  if (next_ != nullptr) next_->yield_checked(yields);
}

void TurnMonitor::turn_ends(const Turn& turn, Instant now) {
  if (next_ != nullptr) next_->turn_ends(turn, now);
  last_.turn = turn;
  last_.overstayed = was_notified_ ? clock_.now() - notified_ : Duration{0};
}

}  // namespace rondo::sim
