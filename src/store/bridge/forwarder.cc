#include "store/bridge/forwarder.h"

#include <algorithm>

#include "store/table_rules.h"

namespace rondo::store::bridge {

namespace {

/// Returns the bound of a Channel if it fits into the ring (with a gap before each event); the ring then enforces it. Otherwise the table
/// holds the events that do not fit.
std::size_t events_max(const ChangeRing& ring) {
  const std::size_t bound = queue_capacity(ring.spec);
  return ring.spec.kind == TableKind::Channel && 2 * bound <= ring.entries.capacity() ? bound : 0;
}

}  // namespace

Forwarder::Forwarder(std::string name, Priority priority, std::shared_ptr<ChangeRing> ring, std::unique_ptr<Subscription> far, Link& link)
    : Source(std::move(name), priority),
      ring_(std::move(ring)),
      far_(std::move(far)),
      link_(link),
      is_channel_(ring_->spec.kind == TableKind::Channel),
      events_max_(events_max(*ring_)) {}

void Forwarder::start() {
  note_caught_up();
  far_->on_ready([this] { wake(); });
}

void Forwarder::note_caught_up() const {
  if (ring_->standing_keys.load(std::memory_order_relaxed) != ChangeRing::kUnknown || !far_->caught_up()) return;
  ring_->standing_keys.store(keys_put_, std::memory_order_release);
}

bool Forwarder::has_backlog() const {
  note_caught_up();  // A remote store learns this without a change to move.
  // The sweep runs this twice a second, so the published depth stays current.
  ring_->far_depth.store(far_->depth(), std::memory_order_relaxed);
  const std::size_t free = ring_->entries.capacity() - ring_->entries.size();
  return !paused_ && !far_->empty() && free >= ring_->wake_room();
}

Turn Forwarder::run(const Budget& budget) {
  Turn turn;
  if (paused_) return turn;
  turn.items = is_channel_ ? move_events(budget.items) : move_changes(budget.items);
  ring_->far_depth.store(far_->depth(), std::memory_order_relaxed);
  ring_->dropped.store(far_->dropped() + dropped_here_, std::memory_order_relaxed);
  ring_->keys_put.store(keys_put_, std::memory_order_release);
  note_caught_up();
  if (ring_->entries.publish()) link_.inlet->wake_from_any_thread();
  turn.backlog = backlog();
  return turn;
}

Backlog Forwarder::backlog() {
  if (far_->empty() && !owes_gap_) return Backlog::Empty;
  if (ring_->entries.room(ChangeRing::kSlotsOfOne) >= ChangeRing::kSlotsOfOne) return Backlog::More;
  if (!ring_->entries.wait_for_room(ring_->wake_room())) return Backlog::More;
  ++link_.full_rings;
  return Backlog::Empty;
}

std::uint32_t Forwarder::move_changes(std::uint32_t max) {
  const std::size_t slots = ring_->spec.kind == TableKind::Staged ? 2 : 1;
  const std::size_t room = ring_->entries.room(max * slots) / slots;
  batch_.clear();
  far_->take(std::min<std::size_t>(max, room), batch_);
  put_changes();
  return static_cast<std::uint32_t>(batch_.size());
}

void Forwarder::put_changes() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const bool pair = ring_->spec.kind == TableKind::Staged && i + 1 < batch_.size() && batch_[i].op() == ChangeOp::Delete &&
                      batch_[i + 1].op() == ChangeOp::Set && batch_[i].key() == batch_[i + 1].key();
    const ChangeOp op = batch_[i].op();
    ring_->entries.put({std::move(batch_[i]).record(), op, pair ? Entry::Mark::WithNext : Entry::Mark::None});
    if (!pair) ++keys_put_;
  }
}

std::uint32_t Forwarder::move_events(std::uint32_t max) {
  std::uint32_t moved = 0;
  while (moved < max) {
    if (far_->take_gap()) owes_gap_ = true;
    if (owes_gap_ && !put_gap()) break;
    batch_.clear();
    const std::size_t room = events_max_ > 0 ? max : ring_->entries.room(max - moved);
    far_->take(std::min<std::size_t>(max - moved, room), batch_);
    if (batch_.empty()) break;
    for (Change& event : batch_) put_event(std::move(event));
    moved += static_cast<std::uint32_t>(batch_.size());
  }
  return moved;
}

void Forwarder::put_event(Change event) {
  if (events_max_ > 0) {
    const std::uint64_t waiting = keys_put_ - ring_->keys_taken.load(std::memory_order_acquire);
    if (waiting >= events_max_ || ring_->entries.room(ChangeRing::kSlotsOfOne) < ChangeRing::kSlotsOfOne) {
      ++dropped_here_;
      owes_gap_ = true;
      return;
    }
    if (owes_gap_) put_gap();
  }
  const ChangeOp op = event.op();
  ring_->entries.put({std::move(event).record(), op, Entry::Mark::None});
  gap_last_ = false;
  ++keys_put_;
}

bool Forwarder::put_gap() {
  if (!gap_last_) {
    if (ring_->entries.room() == 0) return false;
    ring_->entries.put({{}, ChangeOp::Event, Entry::Mark::Gap});
    gap_last_ = true;
  }
  owes_gap_ = false;
  return true;
}

}  // namespace rondo::store::bridge
