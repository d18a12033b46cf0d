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
  seats_.assign(1, Seat{});
  free_.clear();
  last_ = {};
  policy_since_ = {};
  scheduler.observe(this);
}

std::uint32_t TurnMonitor::source_added(Source& source) {
  Seat seat{.source = &source, .consumer = dynamic_cast<const Consumer*>(&source)};
  if (next_ != nullptr) seat.next_number = next_->source_added(source);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(seats_.size()));
    seats_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  seats_[number] = seat;
  return number;
}

void TurnMonitor::source_removed(std::uint32_t source) {
  Seat& seat = seats_[source];
  if (next_ != nullptr && seat.next_number != 0) next_->source_removed(seat.next_number);
  if (last_.source == seat.source) {
    last_.source = nullptr;
    last_.consumer = nullptr;
  }
  if (last_.overdue == seat.source) last_.overdue = nullptr;
  seat = {};
  free_.push_back(source);
}

void TurnMonitor::policy_changed(const PolicySettings& settings) {
  if (next_ != nullptr) next_->policy_changed(settings);
  policy_since_ = scheduler_->now();
  for (Seat& seat : seats_) seat.bound = Duration{0};
}

void TurnMonitor::clock_read(Instant now) {
  if (next_ != nullptr) next_->clock_read(now);
}

void TurnMonitor::woken(std::uint32_t source) {
  if (next_ != nullptr) next_->woken(seats_[source].next_number);
}

void TurnMonitor::timers_fire() {
  if (next_ != nullptr) next_->timers_fire();
}

void TurnMonitor::turn_begins(std::uint32_t source, Instant now) {
  Seat& seat = seats_[source];
  if (next_ != nullptr) next_->turn_begins(seat.next_number, now);
  const Source& whose = *seat.source;
  last_.source = seat.source;
  last_.consumer = seat.consumer;
  last_.number = whose.number();
  last_.budget = whose.goes_before_all() ? Budget{} : scheduler_->policy().budget(whose);
  last_.waited = waited(whose, now);
  if (last_.waited > seat.bound) seat.bound = scheduler_->bound(whose);
  last_.promised = seat.bound;
  was_told_ = false;
  if (++turns_ % kLook == 0) look_for_overdue(now);
}

/// The wait under the present policy only, because a policy has no bound for earlier time.
Duration TurnMonitor::waited(const Source& source, Instant now) const noexcept {
  return now - std::max(source.ready_since(), policy_since_);
}

void TurnMonitor::look_for_overdue(Instant now) {
  for (Seat& seat : seats_) {
    if (seat.source == nullptr || !seat.source->is_ready() || waited(*seat.source, now) <= seat.bound) continue;
    seat.bound = scheduler_->bound(*seat.source);
    if (waited(*seat.source, now) > seat.bound) last_.overdue = seat.source;
  }
}

void TurnMonitor::time_checked(bool is_up) {
  if (next_ != nullptr) next_->time_checked(is_up);
  if (is_up && !was_told_) {
    was_told_ = true;
    told_ = clock_.now();
  }
}

void TurnMonitor::yield_checked(bool yields) {
  if (next_ != nullptr) next_->yield_checked(yields);
}

void TurnMonitor::turn_ends(const Turn& turn, Instant now) {
  if (next_ != nullptr) next_->turn_ends(turn, now);
  last_.turn = turn;
  last_.overstayed = was_told_ ? clock_.now() - told_ : Duration{0};
}

}  // namespace rondo::sim
