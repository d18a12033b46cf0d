#include "sim/executor_faults.h"

#include <algorithm>
#include <utility>

#include "rondo/sim/world.h"

namespace rondo::sim {

ExecutorFaults::ExecutorFaults(World& world, std::function<void(std::string_view)> happened, std::function<void(std::uint64_t)> mix)
    : world_(world), happened_(std::move(happened)), mix_(std::move(mix)), random_(world.seed() * 0x9E3779B97F4A7C15ULL + 2) {}

Duration ExecutorFaults::drawn(Duration high) noexcept {
  return Duration{static_cast<std::int64_t>(random_.between(0, static_cast<std::uint64_t>(std::max(high, Duration{0}).count())))};
}

void ExecutorFaults::later(Duration delay, void (ExecutorFaults::*what)()) {
  world_.after(delay, [this, number = plan_number_, what] {
    if (number == plan_number_) (this->*what)();
  });
}

void ExecutorFaults::follow(const FaultPlan& plan) {
  plan_ = plan;
  ++plan_number_;
  if (!has_room_) set_room(true);
  room_ends_again();
}

std::string ExecutorFaults::moving() const {
  for (const Slot& slot : slots_) {
    const std::size_t depth = slot.source->depth();
    if (depth > 0) return "the executor '" + std::string{slot.source->name()} + "' has " + std::to_string(depth) + " operations under way";
  }
  return {};
}

// --- Room

void ExecutorFaults::room_ends_again() {
  if (plan_.operation_room_ends_every > Duration{0}) later(drawn(2 * plan_.operation_room_ends_every), &ExecutorFaults::end_room);
}

void ExecutorFaults::end_room() {
  if (has_room_ && !slots_.empty()) {
    set_room(false);
    later(drawn(plan_.operation_room_ends_for), &ExecutorFaults::give_room);
  }
  room_ends_again();
}

void ExecutorFaults::give_room() {
  if (!has_room_) set_room(true);
}

void ExecutorFaults::set_room(bool has_room) {
  has_room_ = has_room;
  happened_(has_room ? "executors have room again" : "executors have no room");
  for (const Slot& slot : slots_) slot.source->wake_from_any_thread();
}

// --- Executors

void ExecutorFaults::joined(Source& source) {
  slots_.push_back({&source, ++joined_});
  if (!has_room_) source.wake_from_any_thread();
}

void ExecutorFaults::left(Source& source) {
  std::erase_if(slots_, [&](const Slot& slot) { return slot.source == &source; });
}

void ExecutorFaults::wake_at(const Source& source, Instant when) {
  if (when <= world_.now()) return;
  const auto slot = std::ranges::find(slots_, &source, &Slot::source);
  world_.after(when - world_.now(), [this, number = slot->number] {
    const auto found = std::ranges::find(slots_, number, &Slot::number);
    if (found != slots_.end()) found->source->wake_from_any_thread();
  });
}

ExecutorTrouble::Times ExecutorFaults::begin(Source& source, std::size_t operations) {
  mix_(operations);
  const Duration time = drawn(plan_.operation_time_high);
  const Instant applied = world_.now() + drawn(time);
  const Instant answered = world_.now() + time;
  wake_at(source, applied);
  if (answered != applied) wake_at(source, answered);
  return {applied, answered};
}

ExecutorTrouble::Failure ExecutorFaults::next_failure() {
  if (plan_.operation_fails <= 0 || !random_.chance(plan_.operation_fails)) return {};
  Failure failure{.status = {StatusCode::Unavailable, "the target is away"}, .is_applied = false};
  if (!plan_.operation_failures.empty()) failure.status = plan_.operation_failures[random_.below(plan_.operation_failures.size())];
  failure.is_applied = failure.status.code() == StatusCode::DeadlineExceeded && random_.chance(0.5);
  happened_("an operation fails: " + failure.status.to_string() + (failure.is_applied ? ", though it was applied" : ""));
  return failure;
}

std::size_t ExecutorFaults::applied_at_end(std::size_t operations) {
  if (!is_crashing_ || operations == 0) return operations;
  const std::size_t applied = random_.between(0, operations);
  happened_("of " + std::to_string(operations) + " operations " + std::to_string(applied) + " are applied");
  return applied;
}

}  // namespace rondo::sim
