// The states of NEXTHOP_GROUP_TABLE and NEXTHOP_SET rows in the data plane.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/nexthop_groups.h"

namespace rondo::switch_agent {

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

std::size_t NexthopGroups::tally_of(ConstraintKind kind) { return kind == kNexthopGroup ? 0 : 1; }

void NexthopGroups::count(Group& group, PlaneState state) {
  PlaneCounts& tally = tallies_[tally_of(group.fact.kind)];
  if (group.counted == PlaneState::Installed) --tally.installed;
  if (group.counted == PlaneState::Withdrawn) --tally.withdrawn;
  group.counted = state;
  if (state == PlaneState::Installed) ++tally.installed;
  if (state == PlaneState::Withdrawn) ++tally.withdrawn;
}

void NexthopGroups::for_each_port(const std::function<bool(std::string_view port)>& visit) const {
  for (auto it = nexthops_.begin(); it != nexthops_.end();) {
    const std::string& port = it->first.first;
    if (!visit(port)) return;
    it = nexthops_.lower_bound({port + '\0', IpAddress{}});
  }
}

void NexthopGroups::for_each_withdrawn(std::string_view port, const std::function<bool(const Constraint& fact)>& visit) const {
  for (auto it = nexthops_.lower_bound({std::string{port}, IpAddress{}}); it != nexthops_.end() && it->first.first == port; ++it) {
    for (const Group* const group : it->second.users) {
      if (group->counted == PlaneState::Withdrawn && !visit(group->fact)) return;
    }
  }
}

}  // namespace rondo::switch_agent
