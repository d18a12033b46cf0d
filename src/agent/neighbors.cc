#include "agent/neighbors.h"

#include <utility>
#include <vector>

#include "agent/answer.h"
#include "agent/facts.h"
#include "agent/interfaces.h"
#include "agent/priorities.h"
#include "agent/program.h"
#include "rondo/orch/runtime.h"

namespace rondo::agent {

namespace {

bool is_link_local(const IpAddress& address) noexcept {
  return address.is_v6() && address.bytes()[0] == 0xFE && (address.bytes()[1] & 0xC0) == 0x80;
}

}  // namespace

Neighbors::Neighbors(Runtime& runtime, Programmer& programmer, const PortIds& ids)
    : Orch(runtime, "neighbors", kNeighbors), programmer_(programmer), ids_(ids) {
  consume("NEIGH_TABLE", this, &Neighbors::set, &Neighbors::remove);
  provide(kNeighbor, [this](std::string_view key) { return neighbors_.contains(key); });
  provide(kNeighborsGone, [this](std::string_view port) { return !by_port_.contains(port); });
  observe(kAdminUp, [this](std::string_view port, bool up) {
    if (up) restore(port);
  });
  runtime.explain(kNeighbor, [](std::string_view key) { return FactOrigin{"NEIGH_TABLE", std::string{key}, ""}; });
  runtime.explain(kNeighborsGone, [this](std::string_view port) {
    const auto it = by_port_.find(port);
    const std::size_t left = it == by_port_.end() ? 0 : it->second;
    return FactOrigin{"", "", std::to_string(left) + " neighbours are left on " + std::string{port}};
  });
}

Outcome Neighbors::set(std::string_view key, const Fields& fields) {
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!parsed) return Outcome::reject(parsed.error());
  const Result<MacAddress> mac = parse_neighbor(*parsed, fields);
  if (!mac) return Outcome::reject(mac.error());
  std::vector<Constraint> missing;
  for (Constraint& fact : std::vector<Constraint>{{kInterface, parsed->port},
                                                  {kAddressed, addressed_key(parsed->port, parsed->address.is_v6())},
                                                  {kAdminUp, parsed->port}}) {
    if (fact.kind == kAddressed && is_link_local(parsed->address)) continue;  // Every IPv6 device has its own link-local subnet.
    if (!holds(fact)) missing.push_back(std::move(fact));
  }
  if (!missing.empty()) return Outcome::wait_for(std::move(missing));
  program(programmer_, NeighborSet{ids_.find(parsed->port), parsed->address, *mac},
          [this, ticket = current_ticket(), name = std::string{key}, neighbor = Neighbor{*parsed, *mac}](const Status& status) {
            if (status.ok()) {
              if (neighbors_.insert_or_assign(name, neighbor).second) ++by_port_[neighbor.key.port];
              announce({kNeighbor, name});
            }
            settle(ticket, outcome_of_set(status));
          });
  return Outcome::staged();
}

Outcome Neighbors::remove(std::string_view key) {
  const auto it = neighbors_.find(key);
  if (it == neighbors_.end()) return Outcome::done();
  const Constraint unused{kNeighborUnused, std::string{key}};
  if (!holds(unused)) return Outcome::wait_for(unused);
  // From here on nobody new may count on it: the fact ends before the order is given.
  const Neighbor neighbor = it->second;
  neighbors_.erase(it);
  withdraw({kNeighbor, std::string{key}});
  program(programmer_, NeighborDelete{ids_.find(neighbor.key.port), neighbor.key.address},
          [this, ticket = current_ticket(), neighbor](const Status& status) {
            const auto count = by_port_.find(neighbor.key.port);
            if (--count->second == 0) {
              by_port_.erase(count);
              announce({kNeighborsGone, neighbor.key.port});
            }
            settle(ticket, status.ok() || status.code() == Code::NotFound ? Outcome::done() : Outcome::reject(status));
          });
  return Outcome::staged();
}

void Neighbors::restore(std::string_view port) {
  for (const auto& [name, neighbor] : neighbors_) {
    if (neighbor.key.port != port) continue;
    program(programmer_, NeighborSet{ids_.find(port), neighbor.key.address, neighbor.mac}, [](const Status&) {});
  }
}

}  // namespace rondo::agent
