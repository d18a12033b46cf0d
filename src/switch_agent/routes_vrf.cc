// The VRFs of routes: in which table a row's route is, and when a VRF has no routes left.
#include "base/counted.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/facts.h"
#include "switch_agent/routes.h"

namespace rondo::switch_agent {

Result<Routes::Place> Routes::place_of(std::string_view key) const {
  const Result<RouteKey> parsed = parse_route_key(key);
  if (!parsed) return failure(parsed.error());
  return Place{parsed->vrf, {parsed->prefix, parsed->vrf.empty() ? table_ : vrfs_.find(parsed->vrf)}, parsed->canonical};
}

std::string Routes::row_key_of(const RouteId& route) const {
  const std::string prefix = route.prefix.to_string();
  return route.table == table_ ? prefix : std::string{vrfs_.name(route.table)} + ":" + prefix;
}

void Routes::provide_vrf_facts() {
  provide(kVrfRoutesGone, [this](std::string_view vrf) { return !table_uses_.contains(vrfs_.find(vrf)); });
  runtime().explain(kVrfRoutesGone, [this](std::string_view vrf) {
    const auto uses = table_uses_.find(vrfs_.find(vrf));
    return FactOrigin{
        "", "",
        uses == table_uses_.end() ? std::string{} : counted(uses->second, "route is", "routes are") + " still in " + std::string{vrf}};
  });
  observe(kVrf, [this](std::string_view vrf, bool begins) {
    if (!begins) forget_vrf(vrf);
  });
}

/// Called for each route and each order that sets one. Costs one branch in the default VRF.
void Routes::use_table(std::uint32_t table) {
  if (table == table_) return;
  if (table_uses_[table]++ == 0) withdraw({kVrfRoutesGone, std::string{vrfs_.name(table)}});
}

void Routes::release_table(std::uint32_t table) {
  if (table == table_) return;
  const auto uses = table_uses_.find(table);
  if (--uses->second > 0) return;
  table_uses_.erase(uses);
  announce({kVrfRoutesGone, std::string{vrfs_.name(table)}});
}

/// Rows that are tried again in vain wait for the VRF next. Its table may be unknown by now.
void Routes::forget_vrf(std::string_view vrf) {
  const auto is_of_it = [&](const RouteId& id) {
    const std::string_view name = vrfs_.name(id.table);
    return id.table != table_ && (name.empty() || name == vrf);
  };
  std::erase_if(held_by_others_, [&](const auto& held) { return is_of_it(held.first); });
  std::erase_if(left_, [&](const auto& left) { return is_of_it(left.first); });
  refused_new_.forget_if(is_of_it);
}

}  // namespace rondo::switch_agent
