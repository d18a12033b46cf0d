#include "message/parked_message.h"

#include "message/lane.h"

namespace rondo::message {

void ParkedMessage::enter(Instant due) noexcept {
  Cell& cell = *node_.agent;
  next_ = cell.parked;
  if (cell.parked != nullptr) cell.parked->previous_ = this;
  cell.parked = this;
  bump(cell.figures.parked);
  lane_.home().scheduler.timers().insert(*this, due);
}

void ParkedMessage::leave() noexcept {
  Cell& cell = *node_.agent;
  (previous_ != nullptr ? previous_->next_ : cell.parked) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  cell.figures.parked.store(read(cell.figures.parked) - 1, std::memory_order_relaxed);
  lane_.home().scheduler.timers().cancel(*this);
}

void ParkedMessage::on_due() { lane_.try_again(*this); }

}  // namespace rondo::message
