#include "message/figures.h"

#include <string>

namespace rondo::message {

void Figures::add(const Figures& other) noexcept {
  bump(served, read(other.served));
  bump(faults, read(other.faults));
  bump(refused, read(other.refused));
  bump(dropped, read(other.dropped));
  bump(coalesced, read(other.coalesced));
  wait.add(other.wait);
}

MessageFigures Figures::copy(std::string_view name, Priority priority) const {
  MessageFigures copied;
  copied.name = std::string{name};
  copied.priority = priority;
  copied.queued = waiting();
  copied.parked = read(parked);
  copied.served = read(served);
  copied.refused = read(refused);
  copied.dropped = read(dropped);
  copied.coalesced = read(coalesced);
  copied.faults = read(faults);
  copied.wait_ns = wait.copy();
  return copied;
}

}  // namespace rondo::message
