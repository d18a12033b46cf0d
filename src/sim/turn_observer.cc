#include "sim/turn_observer.h"

#include <algorithm>

#include "orch/consumer.h"
#include "rondo/sched/scheduler.h"

namespace rondo::sim {

namespace {
/// Waiting sources are checked once in this many turns: a source that is never picked would appear in no turn.
constexpr std::uint64_t kLook = 256;
}  // namespace

void TurnObserver::follow(Scheduler& scheduler, TurnWatch* journal) {
  scheduler_ = &scheduler;
  journal_ = journal;
  seats_.assign(1, Seat{});
  free_.clear();
  last_ = {};
  policy_since_ = {};
  scheduler.watch(this);
}

std::uint32_t TurnObserver::source_added(Source& source) {
  Seat seat{.source = &source, .consumer = dynamic_cast<const Consumer*>(&source)};
  if (journal_ != nullptr) seat.journal_number = journal_->source_added(source);  // May add other sources, which are seated first.
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(seats_.size()));
    seats_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  seats_[number] = seat;
  return number;
}

void TurnObserver::source_removed(std::uint32_t source) {
  Seat& seat = seats_[source];
  if (journal_ != nullptr && seat.journal_number != 0) journal_->source_removed(seat.journal_number);
  if (last_.source == seat.source) {
    last_.source = nullptr;
    last_.consumer = nullptr;
  }
  if (last_.overdue == seat.source) last_.overdue = nullptr;
  seat = {};
  free_.push_back(source);
}

void TurnObserver::policy_changed(const PolicySettings& settings) {
  if (journal_ != nullptr) journal_->policy_changed(settings);
  policy_since_ = scheduler_->now();
  for (Seat& seat : seats_) seat.bound = Duration{0};
}

void TurnObserver::looked(Instant now) {
  if (journal_ != nullptr) journal_->looked(now);
}

void TurnObserver::woken(std::uint32_t source) {
  if (journal_ != nullptr) journal_->woken(seats_[source].journal_number);
}

bool TurnObserver::timers_due() { return journal_ == nullptr || journal_->timers_due(); }

void TurnObserver::turn_begins(std::uint32_t source, Instant now) {
  Seat& seat = seats_[source];
  if (journal_ != nullptr) journal_->turn_begins(seat.journal_number, now);
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
Duration TurnObserver::waited(const Source& source, Instant now) const noexcept {
  return now - std::max(source.ready_since(), policy_since_);
}

void TurnObserver::look_for_overdue(Instant now) {
  for (Seat& seat : seats_) {
    if (seat.source == nullptr || !seat.source->is_ready() || waited(*seat.source, now) <= seat.bound) continue;
    seat.bound = scheduler_->bound(*seat.source);
    if (waited(*seat.source, now) > seat.bound) last_.overdue = seat.source;
  }
}

bool TurnObserver::time_is_up(bool by_clock) {
  const bool is_up = journal_ != nullptr ? journal_->time_is_up(by_clock) : by_clock;
  if (is_up && !was_told_) {
    was_told_ = true;
    told_ = clock_.now();
  }
  return is_up;
}

bool TurnObserver::should_yield(bool by_state) { return journal_ != nullptr ? journal_->should_yield(by_state) : by_state; }

void TurnObserver::turn_ends(const Turn& turn, Instant now) {
  if (journal_ != nullptr) journal_->turn_ends(turn, now);
  last_.turn = turn;
  last_.overstayed = was_told_ ? clock_.now() - told_ : Duration{0};
}

}  // namespace rondo::sim
