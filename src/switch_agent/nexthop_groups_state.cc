// The states of next-hop groups in the data plane.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/nexthop_groups.h"

namespace rondo::switch_agent {

RowInPlane NexthopGroups::state_of_row(FactKind kind, std::string_view name) const {
  const Fact fact{kind, std::string{name}};
  const auto it = groups_.find({std::string{kind.name()}, fact.key});
  if (it == groups_.end()) return {};
  const Group& group = it->second;
  const auto entry = ids_.find(kind, name);
  if (entry && entry->of_others) return {PlaneState::Foreign, kOfOthers, {}};
  if (entry && entry->usable) return {PlaneState::Installed, state_of(fact), {}};
  if (const Status* const why = refusal_of(group)) return {PlaneState::Refused, std::string{why->message()}, {}};
  RowInPlane in{PlaneState::Pending, state_of(fact), {}};
  if (group.asking || group.deleting) return in;
  for (const Member& member : group.members) {
    const auto& [port, gateway, onlink] = member.nexthop->key;
    Fact lacks{kCarrier, port};
    if (holds(lacks) && gateway.is_v6()) lacks = {kIpv6, port};
    if (holds(lacks) || std::ranges::find(in.facts, lacks) != in.facts.end()) continue;
    in.state = PlaneState::Withdrawn;
    in.facts.push_back(std::move(lacks));
  }
  return in;
}

std::string NexthopGroups::users_of(std::string_view neighbor) const {
  const Result<NeighborKey> parsed = parse_neighbor_key(neighbor);
  const auto nexthop = parsed && is_used(*parsed) ? nexthops_.lower_bound({parsed->port, parsed->address}) : nexthops_.end();
  if (nexthop == nexthops_.end() || nexthop->second.users.empty()) return "an order for its next hop is under way";
  const std::set<Group*, ById>& users = nexthop->second.users;
  const std::string others = users.size() == 1 ? "" : ", and " + std::to_string(users.size() - 1) + " more,";
  return (*users.begin())->fact.to_string() + others + (users.size() == 1 ? " still has " : " still have ") + std::string{neighbor} +
         " as a member";
}

std::string NexthopGroups::state_of(const Fact& fact) const {
  const auto it = groups_.find({std::string{fact.kind.name()}, fact.key});
  if (it == groups_.end()) return "";
  std::string note;
  for (const Member& member : it->second.members) {
    if (member.nexthop->present) continue;
    const auto& [port, gateway, onlink] = member.nexthop->key;
    note.append(note.empty() ? "" : "; ").append(gateway.is_any() ? "" : gateway.to_string() + " on ").append(port).append(": ");
    if (is_of_others(port)) {
      note.append("the port is left to other software");
    } else if (!holds({kDevice, port})) {
      note.append("there is no such device");
    } else if (!holds({kAdminUp, port})) {
      note.append("the port is administratively down");
    } else if (!holds({kCarrier, port})) {
      note.append("the port has no carrier");
    } else if (gateway.is_v6() && !holds({kIpv6, port})) {
      note.append("the port has no IPv6");
    } else if (!member.nexthop->resolved) {
      note.append("its neighbour is not in the kernel");
    } else {
      note.append(member.nexthop->failure.ok() ? "being programmed" : member.nexthop->failure.message());
    }
  }
  const bool usable = !it->second.possible.front().empty();
  return note.empty() ? note : (usable ? "without " : "no usable member: ") + note;
}

/// O(next hops), and for those that are left out O(their groups).
NexthopGroups::LeftOut NexthopGroups::left_out() const {
  LeftOut all;
  for (const auto& [key, nexthop] : nexthops_) {
    if (nexthop.present || !has_port(key)) continue;
    const bool is_refused = nexthop.refused || nexthop.refusals.is_refused();
    if (nexthop.resolved && !is_refused) continue;
    if (std::ranges::none_of(nexthop.users, [](const Group* group) { return group->counted == PlaneState::Installed; })) continue;
    std::size_t& count = nexthop.resolved ? all.refused : all.unresolved;
    if (count++ != 0) continue;
    std::string words = key.gateway.to_string() + " on " + key.port;
    if (!nexthop.resolved) {
      all.first_unresolved = std::move(words);
    } else {
      all.first_refused = std::move(words) + ": " + std::string{nexthop.failure.message()};
    }
  }
  return all;
}

std::size_t NexthopGroups::tally_of(FactKind kind) { return kind == kNexthopGroup ? 0 : 1; }

void NexthopGroups::count(Group& group, PlaneState state) {
  PlaneCounts& tally = tallies_[tally_of(group.fact.kind)];
  if (group.counted == PlaneState::Installed) --tally.installed;
  if (group.counted == PlaneState::Withdrawn) --tally.withdrawn;
  if (group.counted == PlaneState::Refused) --tally.refused;
  group.counted = state;
  if (state == PlaneState::Installed) ++tally.installed;
  if (state == PlaneState::Withdrawn) ++tally.withdrawn;
  if (state == PlaneState::Refused) ++tally.refused;
}

void NexthopGroups::for_each_port(const std::function<bool(std::string_view port)>& visit) const {
  for (auto it = nexthops_.begin(); it != nexthops_.end();) {
    const std::string& port = it->first.port;
    if (!visit(port)) return;
    it = nexthops_.lower_bound({port + '\0'});
  }
}

void NexthopGroups::for_each_withdrawn(std::string_view port, const std::function<bool(const Fact& fact)>& visit) const {
  for (auto it = nexthops_.lower_bound({std::string{port}}); it != nexthops_.end() && it->first.port == port; ++it) {
    for (const Group* const group : it->second.users) {
      if (group->counted == PlaneState::Withdrawn && !visit(group->fact)) return;
    }
  }
}

}  // namespace rondo::switch_agent
