#include "message/parked_message.h"

#include <memory>
#include <new>

namespace rondo::message {

bool ParkedMessage::park(Lane& lane, Node& node, Instant due) noexcept {
  auto* const parked = new (std::nothrow) ParkedMessage(lane, node);
  if (parked == nullptr) return false;
  Cell& cell = *node.agent;
  parked->next_ = cell.parked;
  if (cell.parked != nullptr) cell.parked->previous_ = parked;
  cell.parked = parked;
  bump(cell.figures.parked);
  lane.home().scheduler.timers().insert(*parked, due);
  return true;
}

void ParkedMessage::leave() noexcept {
  Cell& cell = *node_.agent;
  (previous_ != nullptr ? previous_->next_ : cell.parked) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  cell.figures.parked.store(read(cell.figures.parked) - 1, std::memory_order_relaxed);
}

void ParkedMessage::on_due() {
  const std::unique_ptr<ParkedMessage> self(this);
  leave();
  lane_.put_back(node_);
}

void ParkedMessage::discard_all(Cell& cell) noexcept {
  while (cell.parked != nullptr) {
    const std::unique_ptr<ParkedMessage> parked(cell.parked);
    parked->leave();
    cell.lane->home().scheduler.timers().cancel(*parked);
    cell.lane->discard(parked->node_);
  }
}

}  // namespace rondo::message
