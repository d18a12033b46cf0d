// The states of VLAN_MEMBER_TABLE rows in the data plane.
#include "switch_agent/facts.h"
#include "switch_agent/vlan_members.h"

namespace rondo::switch_agent {

RowInPlane VlanMembers::state_of(std::string_view key) const {
  const Result<VlanMemberKey> parsed = parse_vlan_member_key(key);
  if (!parsed) return {};
  if (const Status* const why = refusals_.why(key)) return {PlaneState::Refused, std::string{why->message()}, {}};
  const auto it = members_.find({parsed->vlan, parsed->port});
  if (it == members_.end()) return {};
  const Member& member = it->second;
  if (!member.trouble.empty()) return {PlaneState::Foreign, member.trouble, {}};
  if (!member.applied) return {};
  if (is_in_place(it->first, member)) return {PlaneState::Installed, member.tagged ? "by the device " + member.device : std::string{}, {}};
  if (!ids_.find(parsed->port)) return {PlaneState::Withdrawn, "it went with the device", {{kDevice, parsed->port}}};
  if (!holds({kVlan, parsed->vlan})) return {PlaneState::Withdrawn, "it went with its VLAN", {{kVlan, parsed->vlan}}};
  return {PlaneState::Pending, "another program took it out of " + parsed->vlan + "; it is being put back", {}};
}

PlaneCounts VlanMembers::state_counts() const {
  PlaneCounts counts{.refused = refusals_.count()};
  for (const auto& [place, member] : members_) {
    if (!member.trouble.empty() || !member.applied || refusals_.why(vlan_member_key(place.first, place.second)) != nullptr) continue;
    const bool has_gone = !ids_.find(place.second) || !holds({kVlan, place.first});
    ++(is_in_place(place, member) ? counts.installed : has_gone ? counts.withdrawn : counts.pending);
  }
  return counts;
}

}  // namespace rondo::switch_agent
