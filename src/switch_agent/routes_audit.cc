// routes_audit.cc: routes that differ from what was ordered, and their repair. The audit compares a full table against the existing index:
// each route carries two bits of what the audit under way knows about it (RouteMap::Mark).
#include <algorithm>
#include <utility>

#include "rondo/orch/runtime.h"
#include "switch_agent/program.h"
#include "switch_agent/routes.h"
#include "switch_agent/vrfs.h"

namespace rondo::switch_agent {

namespace {
/// The prefetch distance, in entries, so that cache misses overlap.
constexpr std::size_t kAhead = 16;

std::string in_words(const RouteEntry& actual) {
  std::string words = to_string(
      RouteSet{.prefix = actual.prefix, .nexthop = actual.nexthop, .table = actual.table, .type = actual.type, .source = actual.source});
  if (actual.metric != kOwnMetric) words.append(" metric ").append(std::to_string(actual.metric));
  if (actual.has_metrics) words.append(" with metrics");
  if (actual.is_outranked) words.append(" behind a route of another program, which decides the packets");
  if (actual.tos != 0) words.append(" tos ").append(std::to_string(unsigned{actual.tos}));
  return words;
}
}  // namespace

/// True if the route should be in the data plane, according to the last answers and events.
bool Routes::is_due(const RouteMap::Route& route) {
  if (route.busy || route.restoring) return false;
  const GroupIds::Entry* const entry = routes_.group(route.group).entry.get();
  return entry != nullptr && entry->usable && entry->losses == route.losses;
}

RouteSet Routes::order_of(const RouteMap::Route& route) {
  const RouteMap::Group& group = routes_.group(route.group);
  const GroupIds::Entry& entry = *group.entry;
  return {.prefix = route.prefix,
          .nexthop = entry.id,
          .table = route.table,
          .type = route.type,
          .to_device = !entry.device.empty(),
          .source = group.source};
}

Drift Routes::drift_of(DriftKind kind, const RouteMap::Route& route, const RouteEntry* actual) {
  Drift drift{.kind = kind,
              .object = RouteDelete{route.prefix, route.table},
              .table = "ROUTE_TABLE",
              .key = row_key_of(route.id()),
              .wanted = to_string(order_of(route)),
              .actual = {}};
  if (actual != nullptr) drift.actual = in_words(*actual);
  return drift;
}

bool Routes::compare(RouteLook& look, std::size_t limit, Findings& findings) {
  const std::size_t end = std::min(look.actual.size(), look.next_actual + limit);
  const auto prefetch_at = [&](std::size_t i) { routes_.prefetch({look.actual[i].prefix, look.actual[i].table}); };
  for (std::size_t i = look.next_actual; i < std::min(end, look.next_actual + kAhead); ++i) prefetch_at(i);
  for (; look.next_actual < end; ++look.next_actual, --limit) {
    if (look.next_actual + kAhead < end) prefetch_at(look.next_actual + kAhead);
    compare(look.actual[look.next_actual], findings);
    const RouteDelete object = look.actual[look.next_actual].gone();
    if (object.is_last_resort()) look.last_resorts.insert(object);
  }
  if (look.next_actual < look.actual.size()) return false;
  for (; look.next_slot < routes_.limit() && limit > 0; ++look.next_slot, --limit) compare(look.next_slot, findings);
  if (look.next_slot < routes_.limit()) return false;
  find_missing_last_resorts(look, findings);
  return true;
}

void Routes::find_missing_last_resorts(const RouteLook& look, Findings& findings) const {
  vrfs_.for_each_ended([&](std::uint32_t table) {
    for (const RouteDelete& object : last_resorts(table)) {
      if (look.last_resorts.contains(object)) continue;
      findings.add(DriftKind::Missing, object, [&] {
        return Drift{.kind = DriftKind::Missing,
                     .object = object,
                     .table = "VRF_TABLE",
                     .key = std::string{vrfs_.name(table)},
                     .wanted = to_string(last_resort_set(object)),
                     .actual = {}};
      });
    }
  });
}

bool Routes::has(const RouteDelete& object) {
  if (is_last_resort(object)) return true;
  const std::uint32_t slot = slot_of(object);
  return slot != RouteMap::kNone && (routes_[slot].busy || routes_[slot].restoring || is_due(routes_[slot]));
}

bool Routes::is_settled(const RouteDelete& object) {
  const std::uint32_t slot = slot_of(object);
  return slot != RouteMap::kNone && is_due(routes_[slot]);
}

bool Routes::is_open(const RouteDelete& object) {
  const std::uint32_t slot = slot_of(object);
  return slot != RouteMap::kNone && !is_due(routes_[slot]);
}

bool Routes::is_among(std::string_view key, const std::set<RouteDelete>& objects) const {
  if (objects.empty()) return false;
  const Result<Place> place = place_of(key);
  return place && objects.contains({place->id.prefix, place->id.table});
}

Drift Routes::missing(const RouteDelete& object) {
  return drift_of(DriftKind::Missing, routes_[routes_.find({object.prefix, object.table})], nullptr);
}

void Routes::add_unwanted(const RouteEntry& actual, Findings& findings) const {
  const RouteDelete object = actual.gone();
  findings.add(DriftKind::Unwanted, object, [&] {
    return Drift{.kind = DriftKind::Unwanted, .object = object, .table = {}, .key = {}, .wanted = {}, .actual = in_words(actual)};
  });
}

void Routes::compare(const RouteEntry& actual, Findings& findings) {
  if (is_last_resort(actual.gone())) return;
  const std::uint32_t slot = slot_of(actual.gone());
  if (slot == RouteMap::kNone) return add_unwanted(actual, findings);
  RouteMap::Route& route = routes_[slot];
  if (actual.rival != 0 || !rivals_.empty()) note_rival(route.id(), actual.rival);
  const RouteMap::Mark before = mark_of(route);
  if (before == RouteMap::Mark::Touched) return;
  if (!is_due(route)) {
    mark(route, RouteMap::Mark::Same);
    // A row that waits to be put back asks for it. Without its group the kernel dropped ours, and another program created this one.
    const auto& entry = routes_.group(route.group).entry;
    const bool is_withdrawn = entry == nullptr || !entry->usable;
    if (!route.busy && !route.restoring && is_withdrawn) add_unwanted(actual, findings);
    return;
  }
  const RouteMap::Group& group = routes_.group(route.group);
  const bool is_same = actual.type == route.type && actual.nexthop == group.entry->id && actual.source == group.source &&
                       !actual.has_metrics && !actual.is_outranked;
  const bool is_second = before == RouteMap::Mark::Same;  // Another program made a second one, with our number.
  if (is_same) {
    if (findings.look() == 1 && before == RouteMap::Mark::Suspect) return;
    mark(route, RouteMap::Mark::Same);
    if (!is_second) routes_.set_drifted(slot, false);
  } else if (findings.look() == 1) {
    mark(route, RouteMap::Mark::Suspect);
  } else if (before == RouteMap::Mark::Suspect || is_second) {
    mark(route, RouteMap::Mark::Same);
    routes_.set_drifted(slot, true);
    findings.confirm(DriftKind::Changed, RouteDelete{route.prefix, route.table},
                     [&] { return drift_of(DriftKind::Changed, route, &actual); });
  }
}

void Routes::compare(std::uint32_t slot, Findings& findings) {
  RouteMap::Route& route = routes_[slot];
  if (!route.live) return;
  const RouteMap::Mark before = mark_of(route);
  mark(route, RouteMap::Mark::None);
  if (before == RouteMap::Mark::Touched || before == RouteMap::Mark::Same || !is_due(route)) return;
  if (findings.look() == 1) {
    mark(route, RouteMap::Mark::Suspect);
    findings.suspect();
  } else if (before == RouteMap::Mark::Suspect) {
    routes_.set_drifted(slot, true);
    findings.confirm(DriftKind::Missing, RouteDelete{route.prefix, route.table},
                     [&] { return drift_of(DriftKind::Missing, route, nullptr); });
  }
}

/// Restores what is missing as after a loss of its group. It only creates, so that a route of another program in its place stays: the data
/// plane replaces one that has our protocol number.
void Routes::program_again(DriftKind kind, std::span<const RouteDelete> objects) {
  std::vector<Operation> operations;
  for (const RouteDelete& object : objects) {
    if (is_last_resort(object)) program(programmer_, last_resort_set(object), [](const Status&) {});
    const std::uint32_t slot = slot_of(object);
    if (slot == RouteMap::kNone || !is_due(routes_[slot])) continue;
    if (kind == DriftKind::Missing) {
      put_back_lost(slot);
      continue;
    }
    touch(routes_[slot]);
    routes_.set_restoring(slot, true);
    operations.push_back({order_of(routes_[slot]), {}});
    std::get<RouteSet>(operations.back().order).create = true;
  }
  if (operations.empty()) return;
  programmer_.submit(OrderLane::Bulk, std::move(operations), [this](std::span<Operation> done) { put_back_answered(done); });
}

}  // namespace rondo::switch_agent
