// The states of NEIGH_TABLE rows in the data plane.
#include "switch_agent/facts.h"
#include "switch_agent/neighbors.h"

namespace rondo::switch_agent {

RowInPlane Neighbors::state_of(std::string_view key) const {
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!parsed) return {};
  if (const Status* const why = refusals_.why(neighbor_key(parsed->port, parsed->address))) {
    return {PlaneState::Refused, std::string{why->message()}, {}};
  }
  const auto it = neighbors_.find({parsed->port, parsed->address});
  if (it == neighbors_.end() || !it->second.applied || it->second.leaving) return {};
  if (!spellings_.may_act(neighbor_key(parsed->port, parsed->address), key, true)) return {};  // Another row has it.
  if (!it->second.refused_again.empty()) {
    return {PlaneState::Lost, "the kernel does not have it and refuses it: " + it->second.refused_again, {}};
  }
  if (is_present(parsed->port, it->second)) return {PlaneState::Installed, {}, {}};
  const Fact up{kAdminUp, parsed->port};
  if (holds(up)) return {PlaneState::Pending, {}, {}};
  return {PlaneState::Withdrawn, "the kernel drops the neighbours of a port that is down", {up}};
}

PlaneCounts Neighbors::state_counts() const {
  PlaneCounts counts{.refused = refusals_.count()};
  for (const auto& [port, present] : present_) {
    if (present.set_under == ids_.up_number(port)) counts.installed += present.neighbors;
  }
  return counts;
}

bool Neighbors::is_present(const std::string& port, const Neighbor& neighbor) const {
  return neighbor.set_under != 0 && neighbor.set_under == ids_.up_number(port);
}

void Neighbors::note_present(const std::string& port, Neighbor& neighbor) {
  const std::uint64_t now = ids_.up_number(port);
  if (neighbor.set_under == now) return;
  neighbor.set_under = now;
  if (now == 0) return;  // The kernel dropped it with the port a moment ago.
  Present& present = present_[port];
  if (present.set_under != now) present = {now, 0};
  ++present.neighbors;
}

void Neighbors::note_absent(const std::string& port, const Neighbor& neighbor) {
  const auto it = present_.find(port);
  if (it == present_.end() || neighbor.set_under != it->second.set_under) return;
  if (--it->second.neighbors == 0) present_.erase(it);
}

}  // namespace rondo::switch_agent
