#include "agent/row_states.h"

#include <string>
#include <utility>

#include "agent/facts.h"
#include "agent/interfaces.h"
#include "agent/neighbors.h"
#include "agent/nexthop_groups.h"
#include "agent/ports.h"
#include "agent/routes.h"

namespace rondo::agent {

RowStates::RowStates(Runtime& runtime, const Orchs& orchs) : runtime_(runtime) {
  add("PORT_TABLE", [&ports = orchs.ports](std::string_view key, const Record*) { return ports.state_of(key); });
  add("INTF_TABLE", [&interfaces = orchs.interfaces](std::string_view key, const Record*) { return interfaces.state_of(key); });
  add("NEIGH_TABLE", [&neighbors = orchs.neighbors](std::string_view key, const Record*) { return neighbors.state_of(key); });
  for (const auto& [table, kind] : {std::pair{"NEXTHOP_GROUP_TABLE", kNexthopGroup}, std::pair{"NEXTHOP_SET", kNexthopSet}}) {
    add(table,
        [&groups = orchs.nexthop_groups, kind = kind](std::string_view key, const Record*) { return groups.state_of_row(kind, key); });
  }
  add("ROUTE_TABLE", [&routes = orchs.routes](std::string_view key, const Record* row) { return routes.state_of(key, row); });
}

void RowStates::add(std::string_view table, Runtime::StateOf state_of) {
  auto with_audit = [lost = lost_, name = std::string{table}, state_of = std::move(state_of)](std::string_view key, const Record* row) {
    RowInPlane in = state_of(key, row);
    if (in.state != PlaneState::Installed || !*lost || !(*lost)(name, key)) return in;
    return RowInPlane{PlaneState::Lost, "an audit found that the kernel does not have it as it was set", {}};
  };
  runtime_.explain_state(table, std::move(with_audit));
}

}  // namespace rondo::agent
