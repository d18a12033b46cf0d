// Where rows of NEXTHOP_GROUP_TABLE and NEXTHOP_SET stand in the data plane.
#include <algorithm>

#include "agent/facts.h"
#include "agent/nexthop_groups.h"

namespace rondo::agent {

RowInPlane NexthopGroups::state_of_row(ConstraintKind kind, std::string_view name) const {
  const Constraint fact{kind, std::string{name}};
  const auto it = groups_.find({std::string{kind.name()}, fact.key});
  if (it == groups_.end()) return {};
  const Group& group = it->second;
  const auto entry = ids_.find(kind, name);
  if (entry && entry->usable) return {PlaneState::Installed, state_of(fact), {}};
  RowInPlane in{PlaneState::Pending, state_of(fact), {}};
  if (group.asking || group.deleting) return in;
  for (const Member& member : group.members) {
    Constraint carrier{kCarrier, member.nexthop->key.first};
    if (holds(carrier) || std::ranges::find(in.facts, carrier) != in.facts.end()) continue;
    in.state = PlaneState::Withdrawn;
    in.facts.push_back(std::move(carrier));
  }
  return in;
}

}  // namespace rondo::agent
