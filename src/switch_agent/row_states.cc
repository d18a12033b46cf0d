#include "switch_agent/row_states.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "switch_agent/facts.h"
#include "switch_agent/fdb.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/lag_members.h"
#include "switch_agent/lags.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/ports.h"
#include "switch_agent/routes.h"
#include "switch_agent/vlan_members.h"
#include "switch_agent/vlans.h"
#include "switch_agent/vrfs.h"

namespace rondo::switch_agent {

RowStates::RowStates(Runtime& runtime, const Orchs& orchs) : runtime_(runtime) {
  add(
      "PORT_TABLE", [&ports = orchs.ports](std::string_view key, const Record*) { return ports.state_of(key); },
      [&ports = orchs.ports] { return ports.state_counts(); });
  add(
      "VRF_TABLE", [&vrfs = orchs.vrfs](std::string_view key, const Record*) { return vrfs.state_of(key); },
      [&vrfs = orchs.vrfs] { return vrfs.state_counts(); });
  add(
      "LAG_TABLE", [&lags = orchs.lags](std::string_view key, const Record*) { return lags.state_of(key); },
      [&lags = orchs.lags] { return lags.state_counts(); });
  add(
      "LAG_MEMBER_TABLE", [&members = orchs.lag_members](std::string_view key, const Record*) { return members.state_of(key); },
      [&members = orchs.lag_members] { return members.state_counts(); });
  add(
      "VLAN_TABLE", [&vlans = orchs.vlans](std::string_view key, const Record*) { return vlans.state_of(key); },
      [&vlans = orchs.vlans] { return vlans.state_counts(); });
  add(
      "VLAN_MEMBER_TABLE", [&members = orchs.vlan_members](std::string_view key, const Record*) { return members.state_of(key); },
      [&members = orchs.vlan_members] { return members.state_counts(); });
  add(
      "FDB_TABLE", [&fdb = orchs.fdb](std::string_view key, const Record*) { return fdb.state_of(key); },
      [&fdb = orchs.fdb] { return fdb.state_counts(); });
  add(
      "INTF_TABLE", [&interfaces = orchs.interfaces](std::string_view key, const Record*) { return interfaces.state_of(key); },
      [&interfaces = orchs.interfaces] { return interfaces.state_counts(); });
  add(
      "NEIGH_TABLE", [&neighbors = orchs.neighbors](std::string_view key, const Record*) { return neighbors.state_of(key); },
      [&neighbors = orchs.neighbors] { return neighbors.state_counts(); });
  add(
      "NEXTHOP_GROUP_TABLE",
      [&groups = orchs.nexthop_groups](std::string_view key, const Record*) { return groups.state_of_row(kNexthopGroup, key); },
      [&groups = orchs.nexthop_groups] { return groups.state_counts(kNexthopGroup); });
  add(
      "ROUTE_TABLE",
      [&routes = orchs.routes, &groups = orchs.nexthop_groups](std::string_view key, const Record* row) {
        RowInPlane in = routes.state_of(key, row);
        if (in.state != PlaneState::Installed) return in;
        const std::optional<Fact> group = routes.group_of(key);
        if (!group) return in;
        const std::string without = groups.state_of_row(group->kind, group->key).note;  // Next hops that it goes on without.
        in.note.append(in.note.empty() || without.empty() ? "" : "; ").append(without);
        return in;
      },
      [&routes = orchs.routes] { return routes.state_counts(); });
}

void RowStates::add(std::string_view table, Runtime::StateOf state_of, std::function<PlaneCounts()> counts) {
  auto with_audit = [audit = audit_, name = std::string{table}, state_of = std::move(state_of)](std::string_view key, const Record* row) {
    RowInPlane in = state_of(key, row);
    if (in.state != PlaneState::Installed || !audit->lost || !audit->lost(name, key)) return in;
    return RowInPlane{PlaneState::Lost, kLostWords, {}};
  };
  auto counts_with_audit = [audit = audit_, name = std::string{table}, counts = std::move(counts)] {
    PlaneCounts all = counts();
    const std::size_t lost = audit->lost_rows ? std::min<std::size_t>(audit->lost_rows(name), all.installed) : 0;
    all.lost += lost;
    all.installed -= lost;
    return all;
  };
  counts_.emplace(table, counts_with_audit);
  states_.emplace(table, with_audit);
  runtime_.explain_state(table, std::move(with_audit), std::move(counts_with_audit));
}

RowInPlane RowStates::state_of(std::string_view table, std::string_view key) const {
  const auto of_table = states_.find(table);
  return of_table == states_.end() ? RowInPlane{} : of_table->second(key, nullptr);
}

PlaneCounts RowStates::counts(std::string_view table) const {
  const auto of_table = counts_.find(table);
  return of_table == counts_.end() ? PlaneCounts{} : of_table->second();
}

}  // namespace rondo::switch_agent
