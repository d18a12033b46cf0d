// Where rows of NEIGH_TABLE stand in the data plane.
#include <algorithm>

#include "agent/facts.h"
#include "agent/neighbors.h"

namespace rondo::agent {

RowInPlane Neighbors::state_of(std::string_view key) const {
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!parsed) return {};
  const auto it = neighbors_.find({parsed->port, parsed->address});
  if (it == neighbors_.end() || !it->second.applied || it->second.leaving) return {};
  const Constraint up{kAdminUp, parsed->port};
  if (holds(up)) return {PlaneState::Installed, {}, {}};
  return {PlaneState::Withdrawn, "the kernel drops the neighbours of a port that is down", {up}};
}

PlaneCounts Neighbors::state_counts() const {
  std::size_t down = 0;
  for (const auto& [key, number] : counts_) {
    const bool is_port = key.find(':') == std::string::npos;
    if (is_port && !holds({kAdminUp, key})) down += number;
  }
  return {.installed = applied_ - std::min(applied_, down)};
}

}  // namespace rondo::agent
