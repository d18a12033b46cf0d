#include "store/bridge/pump.h"

#include <algorithm>

#include "store/table_rules.h"

namespace rondo::store::bridge {

namespace {

/// Returns the bound of a Channel if it fits into the lane (with a gap before each event); the lane then enforces it. Otherwise the table
/// holds the events that do not fit.
std::size_t events_max(const Lane& lane) {
  const std::size_t bound = queue_capacity(lane.spec);
  return lane.spec.kind == TableKind::Channel && 2 * bound <= lane.ring.capacity() ? bound : 0;
}

}  // namespace

Pump::Pump(std::string name, Priority priority, std::shared_ptr<Lane> lane, std::unique_ptr<Subscription> far, Link& link)
    : Source(std::move(name), priority),
      lane_(std::move(lane)),
      far_(std::move(far)),
      link_(link),
      is_channel_(lane_->spec.kind == TableKind::Channel),
      events_max_(events_max(*lane_)) {}

void Pump::start() {
  note_caught_up();
  far_->on_ready([this] { wake(); });
}

void Pump::note_caught_up() const {
  if (lane_->standing_keys.load(std::memory_order_relaxed) != Lane::kUnknown || !far_->caught_up()) return;
  lane_->standing_keys.store(keys_put_, std::memory_order_release);
}

bool Pump::has_backlog() const {
  note_caught_up();  // A remote store learns this without a change to move.
  // The sweep runs this twice a second, so the published depth stays current.
  lane_->far_depth.store(far_->depth(), std::memory_order_relaxed);
  const std::size_t free = lane_->ring.capacity() - lane_->ring.size();
  return !paused_ && !far_->empty() && free >= lane_->wake_room();
}

Turn Pump::run(const Budget& budget) {
  Turn turn;
  if (paused_) return turn;
  turn.items = is_channel_ ? move_events(budget.items) : move_changes(budget.items);
  lane_->far_depth.store(far_->depth(), std::memory_order_relaxed);
  lane_->dropped.store(far_->dropped() + dropped_here_, std::memory_order_relaxed);
  lane_->keys_put.store(keys_put_, std::memory_order_release);
  note_caught_up();
  if (lane_->ring.publish()) link_.inlet->wake_from_any_thread();
  turn.backlog = backlog();
  return turn;
}

Backlog Pump::backlog() {
  if (far_->empty() && !owes_gap_) return Backlog::Empty;
  if (lane_->ring.room(Lane::kSlotsOfOne) >= Lane::kSlotsOfOne) return Backlog::More;
  if (!lane_->ring.wait_for_room(lane_->wake_room())) return Backlog::More;
  ++link_.full_lanes;
  return Backlog::Empty;
}

std::uint32_t Pump::move_changes(std::uint32_t max) {
  const std::size_t slots = lane_->spec.kind == TableKind::Staged ? 2 : 1;
  const std::size_t room = lane_->ring.room(max * slots) / slots;
  batch_.clear();
  far_->take(std::min<std::size_t>(max, room), batch_);
  put_changes();
  return static_cast<std::uint32_t>(batch_.size());
}

void Pump::put_changes() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const bool pair = lane_->spec.kind == TableKind::Staged && i + 1 < batch_.size() && batch_[i].op() == ChangeOp::Delete &&
                      batch_[i + 1].op() == ChangeOp::Set && batch_[i].key() == batch_[i + 1].key();
    const ChangeOp op = batch_[i].op();
    lane_->ring.put({std::move(batch_[i]).record(), op, pair ? Entry::Mark::WithNext : Entry::Mark::None});
    if (!pair) ++keys_put_;
  }
}

std::uint32_t Pump::move_events(std::uint32_t max) {
  std::uint32_t moved = 0;
  while (moved < max) {
    if (far_->take_gap() == Gap::Possible) owes_gap_ = true;
    if (owes_gap_ && !put_gap()) break;
    batch_.clear();
    const std::size_t room = events_max_ > 0 ? max : lane_->ring.room(max - moved);
    far_->take(std::min<std::size_t>(max - moved, room), batch_);
    if (batch_.empty()) break;
    for (Change& event : batch_) put_event(std::move(event));
    moved += static_cast<std::uint32_t>(batch_.size());
  }
  return moved;
}

void Pump::put_event(Change event) {
  if (events_max_ > 0) {
    const std::uint64_t waiting = keys_put_ - lane_->keys_taken.load(std::memory_order_acquire);
    if (waiting >= events_max_ || lane_->ring.room(Lane::kSlotsOfOne) < Lane::kSlotsOfOne) {
      ++dropped_here_;
      owes_gap_ = true;
      return;
    }
    if (owes_gap_) put_gap();
  }
  const ChangeOp op = event.op();
  lane_->ring.put({std::move(event).record(), op, Entry::Mark::None});
  gap_last_ = false;
  ++keys_put_;
}

bool Pump::put_gap() {
  if (!gap_last_) {
    if (lane_->ring.room() == 0) return false;
    lane_->ring.put({{}, ChangeOp::Event, Entry::Mark::Gap});
    gap_last_ = true;
  }
  owes_gap_ = false;
  return true;
}

}  // namespace rondo::store::bridge
