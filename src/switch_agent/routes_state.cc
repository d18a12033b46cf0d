// The states of ROUTE_TABLE rows in the data plane.
#include <algorithm>

#include "dataplane/kernel_status.h"
#include "switch_agent/facts.h"
#include "switch_agent/routes.h"

namespace rondo::switch_agent {

namespace {
std::string rival_words(std::uint8_t protocol) {
  return "a route of " + protocol_words(protocol) + " in the same table has a better metric and decides the packets";
}
}  // namespace

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
    Held& held = held_by_others_[route];
    held.words = answer.message();
    ++held.times;
  } else if (answer.ok()) {
    held_by_others_.erase(route);
  }
}

Duration Routes::foreign_delay(const RouteId& route) const {
  const auto held = held_by_others_.find(route);
  return doubled(kForeignRetry, held == held_by_others_.end() ? 0 : held->second.times - 1, kSlowestForeignRetry);
}

void Routes::note_rival(const RouteId& route, std::uint8_t protocol) {
  if (protocol == 0) {
    rivals_.erase(route);
  } else {
    rivals_.insert_or_assign(route, protocol);
  }
}

Routes::Decided Routes::decided_by_others() const {
  if (rivals_.empty()) return {};
  const auto& [route, protocol] = *rivals_.begin();
  return {rivals_.size(), row_key_of(route) + ": " + rival_words(protocol)};
}

PlaneCounts Routes::state_counts() const {
  PlaneCounts counts = routes_.tally();
  counts.refused = refused_new_.count() + refused_known_.count();
  counts.pending -= std::min(counts.pending, refused_known_.count());
  return counts;
}

std::vector<Routes::OfFamily> Routes::families() const {
  std::vector<OfFamily> all;
  for (const auto& [table, counts] : routes_.families()) {
    for (const bool is_v6 : {false, true}) all.push_back({vrfs_.name(table), is_v6, counts[is_v6 ? 1 : 0]});
  }
  return all;
}

Routes::HeldByOthers Routes::held_by_others() const {
  if (held_by_others_.empty()) return {};
  return {held_by_others_.size(), held_by_others_.begin()->second.words};
}

RowInPlane Routes::state_of(std::string_view key, const Record* row) const {
  const Result<Place> place = place_of(key);
  if (!place || place->id.table == 0) return {};
  if (another_row_has(*place, key)) return {};
  const std::uint32_t slot = routes_.find(place->id);
  if (const auto held = held_by_others_.find(place->id); held != held_by_others_.end())
    return {PlaneState::Foreign, held->second.words, {}};
  if (slot == RouteMap::kNone) {
    if (const auto left = left_.find(place->id); left != left_.end()) return {PlaneState::Foreign, left->second.words, {}};
    if (const Status* const why = refused_new_.why(place->id)) return {PlaneState::Refused, std::string{why->message()}, {}};
    const Result<RouteRow> asked = row == nullptr ? failure(Status{StatusCode::NotFound, ""}) : parse_route(row->fields());
    if (!asked || !asked->not_ours) return {};
    return {PlaneState::Foreign, kOfOthers, {}};
  }
  const RouteMap::Route& route = routes_[slot];
  if (route.busy) return {PlaneState::Pending, {}, {}};
  const RouteMap::Group& group = routes_.group(route.group);
  if (group.entry->of_others) return {PlaneState::Foreign, kOfOthers, {}};
  if (!group.entry->usable) return {PlaneState::Withdrawn, "the kernel dropped it with its next hops", {group.fact}};
  if (const Status* const why = refused_known_.why(route.id())) return {PlaneState::Refused, std::string{why->message()}, {}};
  if (route.losses == group.entry->losses && !route.restoring) {
    if (route.drifted) return {PlaneState::Lost, kLostWords, {}};
    const auto rival = rivals_.find(route.id());
    return {PlaneState::Installed, rival == rivals_.end() ? std::string{} : rival_words(rival->second), {}};
  }
  return {PlaneState::Pending, "the kernel lost it; it is being put back", {}};
}

/// The route belongs to others: its ports are those of other software, or the kernel has the subnet from an address of the port. Which
/// facts decide that is kept, because they may change while the row does not.
bool Routes::leave(Batch& batch, std::size_t index, const Place& place, const Fact& group, bool of_others, const std::string& device) {
  Left left;
  if (of_others) {
    left.while_hold.push_back({kGroupLeads, with_port(group.key, "")});
    left.words = kOfOthers;
  } else if (const Fact subnet{kSubnet, with_port(row_key_of(place.id), device)}; holds(subnet)) {
    left.while_hold.push_back(subnet);
    left.words = "the kernel has this subnet itself, from an address of the port";
    if (group.kind == kNexthopGroup) left.while_hold.push_back({kGroupLeads, with_port(group.key, device)});
  } else {
    return false;
  }
  order_delete(batch, index, place, std::move(left));
  return true;
}

Outcome Routes::outcome_of_left(const RouteId& route) const {
  const auto left = left_.find(route);
  return left == left_.end() ? Outcome::done() : Outcome::done_while(left->second.while_hold);
}

/// A route to a device is left to the kernel from when the port has an address in it.
Outcome Routes::outcome_of_present(const RouteId& route, std::uint32_t group) const {
  const GroupIds::Entry& entry = *routes_.group(group).entry;
  if (entry.device.empty()) return Outcome::done();
  return Outcome::done_while({kNoSubnet, with_port(row_key_of(route), entry.device)});
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
