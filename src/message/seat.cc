#include "message/seat.h"

#include <utility>
#include <vector>

#include "message/core.h"
#include "rondo/base/assert.h"

namespace rondo::message {

std::unique_ptr<Seat> Seat::make(Agents& agents, std::string name, Priority priority) {
  Group group(agents);
  return std::make_unique<Seat>(group, std::move(name), priority);
}

void Seat::take(std::unique_ptr<Seat> seat, Agents& agents) {
  std::vector<std::unique_ptr<Agent>> all;
  all.push_back(std::move(seat));
  const Result<GroupId> added = agents.core_->add(all);
  RONDO_ASSERT(added.has_value());  // Refused only while the agents end.
}

}  // namespace rondo::message
