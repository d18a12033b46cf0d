// The states of ROUTE_TABLE rows in the data plane.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/routes.h"

namespace rondo::switch_agent {

bool Routes::is_dropped(const RouteMap::Route& route) const {
  const RouteMap::Group& group = routes_.group(route.group);
  return !group.entry->usable || route.losses != group.entry->losses;
}

bool Routes::is_programmed(std::string_view vrf, const Prefix& prefix, std::string_view group, bool blackhole,
                           const IpAddress& source) const {
  const std::uint32_t slot = routes_.find({prefix, vrf.empty() ? table_ : vrfs_.find(vrf)});
  if (slot == RouteMap::kNone) return false;
  const RouteMap::Route& route = routes_[slot];
  if (route.busy || route.restoring || route.drifted || route.group == RouteMap::kNone) return false;
  if (blackhole) return route.type == RouteType::Blackhole;
  const RouteMap::Group& known = routes_.group(route.group);
  return route.type == RouteType::Unicast && known.fact.kind == kNexthopGroup && known.fact.key == group && known.source == source &&
         !is_dropped(route);
}

void Routes::keep_holder(const RouteId& route, const Status& answer) {
  if (answer.code() == StatusCode::AlreadyExists) {
    held_by_others_.insert_or_assign(route, std::string{answer.message()});
  } else if (answer.ok()) {
    held_by_others_.erase(route);
  }
}

PlaneCounts Routes::state_counts() const {
  PlaneCounts counts = routes_.tally();
  counts.refused = refused_new_.count() + refused_known_.count();
  counts.pending -= std::min(counts.pending, refused_known_.count());
  return counts;
}

Routes::HeldByOthers Routes::held_by_others() const {
  if (held_by_others_.empty()) return {};
  return {held_by_others_.size(), held_by_others_.begin()->second};
}

RowInPlane Routes::state_of(std::string_view key, const Record* row) const {
  const Result<Place> place = place_of(key);
  if (!place || place->id.table == 0) return {};
  if (another_row_has(*place, key)) return {};
  const std::uint32_t slot = routes_.find(place->id);
  if (const auto held = held_by_others_.find(place->id); held != held_by_others_.end()) return {PlaneState::Foreign, held->second, {}};
  if (slot == RouteMap::kNone) {
    if (const Status* const why = refused_new_.why(place->id)) return {PlaneState::Refused, std::string{why->message()}, {}};
    const Result<RouteRow> asked = row == nullptr ? failure(Status{StatusCode::NotFound, ""}) : parse_route(row->fields());
    if (!asked || !asked->not_ours) return {};
    return {PlaneState::Foreign, "out of a device that is left to other software", {}};
  }
  const RouteMap::Route& route = routes_[slot];
  if (route.busy) return {PlaneState::Pending, {}, {}};
  const RouteMap::Group& group = routes_.group(route.group);
  if (!group.entry->usable) return {PlaneState::Withdrawn, "the kernel dropped it with its next hops", {group.fact}};
  if (const Status* const why = refused_known_.why(route.id())) return {PlaneState::Refused, std::string{why->message()}, {}};
  if (route.losses == group.entry->losses && !route.restoring) {
    if (route.drifted) return {PlaneState::Lost, kLostWords, {}};
    return {PlaneState::Installed, {}, {}};
  }
  return {PlaneState::Pending, "the kernel lost it; it is being put back", {}};
}

std::optional<Fact> Routes::group_of(std::string_view key) const {
  const Result<Place> place = place_of(key);
  const std::uint32_t slot = place ? routes_.find(place->id) : RouteMap::kNone;
  if (slot == RouteMap::kNone || routes_[slot].group == RouteMap::kNone) return std::nullopt;
  return routes_.group(routes_[slot].group).fact;
}

std::size_t Routes::routes_of(const Fact& fact) const {
  std::size_t count = 0;
  for (std::uint32_t slot = routes_.find_group(fact.kind, fact.key); slot != RouteMap::kNone; slot = routes_.group(slot).sibling) {
    count += routes_.group(slot).routes;
  }
  return count;
}

}  // namespace rondo::switch_agent
