#include "switch_agent/neighbors.h"

#include <utility>
#include <vector>

#include "base/counted.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

bool is_link_local(const IpAddress& address) noexcept {
  return address.is_v6() && address.bytes()[0] == 0xFE && (address.bytes()[1] & 0xC0) == 0x80;
}

std::string neighbor_key(std::string_view port, const IpAddress& address) { return std::string{port} + ":" + address.to_string(); }

Neighbors::Neighbors(Runtime& runtime, Programmer& programmer, const PortIds& ids)
    : Orch(runtime, "neighbors", kNeighbors),
      programmer_(programmer),
      ids_(ids),
      dropped_(runtime, "dropped neighbors", kNeighbors, [this](const std::string& port) { mac_changed(port); }) {
  consume("NEIGH_TABLE", this, &Neighbors::set, &Neighbors::remove, {.set_replaces_delete = true});
  provide(kNeighbor, [this](std::string_view key) {
    const Result<NeighborKey> parsed = parse_neighbor_key(key);
    if (!parsed) return false;
    const auto it = neighbors_.find({parsed->port, parsed->address});
    return it != neighbors_.end() && it->second.applied && !it->second.leaving;
  });
  provide(kNeighborsGone, [this](std::string_view key) { return !counts_.contains(key); });
  provide(kNeighborSpelling, [this](std::string_view key) {
    const Result<NeighborKey> parsed = parse_neighbor_key(key);
    return !parsed || !neighbors_.contains({parsed->port, parsed->address});
  });
  runtime.explain(kNeighborSpelling, [this](std::string_view key) {
    return FactOrigin{"", "", spellings_.explain("neighbour", "NEIGH_TABLE", key)};
  });
  runtime.explain(kNeighborsGone, [this](std::string_view key) {
    const auto it = counts_.find(key);
    const std::size_t left = it == counts_.end() ? 0 : it->second;
    return FactOrigin{"", "", counted(left, "neighbour is", "neighbours are") + " left on " + std::string{key}};
  });
}

Outcome Neighbors::set(std::string_view key, const Fields& fields) {
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Result<NeighborRow> row = parse_neighbor(*parsed, fields);
  if (!row) return Outcome::reject(row.error());
  std::vector<Fact> missing;
  for (Fact& fact : std::vector<Fact>{
           {kInterface, parsed->port}, {kAddressed, family_key(parsed->port, parsed->address.is_v6())}, {kAdminUp, parsed->port}}) {
    if (fact.kind == kAddressed && is_link_local(parsed->address)) continue;  // Every IPv6 device has its own link-local subnet.
    if (!holds(fact)) missing.push_back(std::move(fact));
  }
  if (parsed->address.is_v6() && !holds({kIpv6, parsed->port})) missing.push_back({kIpv6, parsed->port});
  const Place place{parsed->port, parsed->address};
  const std::string canonical = neighbor_key(place.first, place.second);
  if (!missing.empty()) {
    refusals_.forget(canonical);
    if (const auto known = neighbors_.find(place); known != neighbors_.end() && place.second.is_v6() && !holds({kIpv6, place.first})) {
      note_absent(place.first, known->second);  // The kernel dropped it with the IPv6 of the port.
      known->second.set_under = 0;
    }
    if (may_remain(place)) return delete_remains(place);
    return Outcome::wait_for(std::move(missing));
  }
  if (!spellings_.may_act(canonical, key, neighbors_.contains(place))) {
    spellings_.contest(canonical);
    return Outcome::wait_for({kNeighborSpelling, canonical});
  }
  spellings_.take(canonical, key);
  const auto [it, first] = neighbors_.try_emplace(place);
  if (first) count(place, true);
  it->second.leaving = false;
  if (row->learned) return set_learned(place, row->mac);
  it->second.learned = false;
  ++it->second.orders;
  const IfIndex id = ids_.find(place.first);
  program(programmer_, NeighborSet{id, place.second, row->mac},
          [this, ticket = current_ticket(), place, id, mac = row->mac](const Status& status) {
            settle(ticket, refusals_.note(neighbor_key(place.first, place.second), set_answered(place, id, mac, status)));
          });
  return Outcome::staged();
}

/// The permanent neighbour of an earlier row goes first: the kernel learns nothing beside it.
Outcome Neighbors::set_learned(const Place& place, const MacAddress& mac) {
  Neighbor& neighbor = neighbors_.find(place)->second;
  if (neighbor.learned || (!neighbor.may_remain && neighbor.orders == 0)) return learned(place, mac);
  program(programmer_, NeighborDelete{ids_.find(place.first), place.second},
          [this, ticket = current_ticket(), place, mac](const Status& status) {
            const Outcome deleted = outcome_of_delete(status);
            settle(ticket, deleted.kind() == Outcome::Kind::Done ? learned(place, mac) : deleted);
          });
  return Outcome::staged();
}

Outcome Neighbors::learned(const Place& place, const MacAddress& mac) {
  const auto it = neighbors_.find(place);
  if (it == neighbors_.end())
    return Outcome::retry_after(kSoon, Status{StatusCode::Unavailable, "a row that spells the address otherwise was deleted"});
  it->second.learned = true;
  it->second.may_remain = false;
  refusals_.forget(neighbor_key(place.first, place.second));
  return done(place, it->second, mac);
}

Outcome Neighbors::done(const Place& place, Neighbor& neighbor, const MacAddress& mac) {
  neighbor.applied = true;
  neighbor.refused_again.clear();
  note_present(place.first, neighbor);
  neighbor.mac = mac;
  announce({kNeighbor, neighbor_key(place.first, place.second)});
  // The kernel drops the neighbours of a device that goes down, and those of IPv6 with the IPv6 of the device.
  const Fact up{kAdminUp, place.first};
  if (!place.second.is_v6()) return Outcome::done_while(up);
  return Outcome::done_while(std::vector<Fact>{up, {kIpv6, place.first}});
}

/// The kernel drops the neighbours of a device that goes down, but accepts one that comes after that.
bool Neighbors::may_remain(const Place& place) const {
  const auto known = neighbors_.find(place);
  return known != neighbors_.end() && known->second.may_remain && ids_.find(place.first) && !holds({kAdminUp, place.first});
}

Outcome Neighbors::delete_remains(const Place& place) {
  neighbors_.find(place)->second.may_remain = false;
  program(programmer_, NeighborDelete{ids_.find(place.first), place.second}, [this, ticket = current_ticket(), place](const Status&) {
    settle(ticket, Outcome::wait_for({kAdminUp, place.first}));
  });
  return Outcome::staged();
}

Outcome Neighbors::set_answered(const Place& place, IfIndex id, const MacAddress& mac, const Status& status) {
  const auto it = neighbors_.find(place);
  if (it == neighbors_.end())
    return Outcome::retry_after(kSoon, Status{StatusCode::Unavailable, "a row that spells the address otherwise was deleted"});
  Neighbor& neighbor = it->second;
  if (neighbor.orders > 0) --neighbor.orders;
  if (status.ok() && ids_.find(place.first) == id) {
    neighbor.may_remain = true;
    Outcome outcome = done(place, neighbor, mac);
    if (neighbor.orders == 0 && std::exchange(neighbor.is_dropped, false)) program_again(NeighborDelete{id, place.second});
    return outcome;
  }
  const Status answer = status.ok() ? device_changed(place.first) : status;
  Outcome outcome = place.second.is_v6() ? outcome_of_ipv6_set(answer, place.first, ids_.mtu(place.first)) : outcome_of_set(answer);
  if (outcome.kind() == Outcome::Kind::Reject && !neighbor.applied) gone(place);
  return outcome;
}

Outcome Neighbors::remove(std::string_view key) {
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Place place{parsed->port, parsed->address};
  refusals_.forget(neighbor_key(place.first, place.second));
  const auto it = neighbors_.find(place);
  if (it == neighbors_.end()) return Outcome::done();
  if (!spellings_.may_act(neighbor_key(place.first, place.second), key, true)) return Outcome::done();  // Another row has the neighbour.
  const std::string name = neighbor_key(place.first, place.second);
  const Fact unused{kNeighborUnused, name};
  if (!holds(unused)) return Outcome::wait_for(unused);
  // Withdraw the fact before ordering, so that no further row relies on it.
  it->second.leaving = true;
  withdraw({kNeighbor, name});
  if (!ids_.find(place.first) || it->second.learned) {
    gone(place);  // It went with its device, or is the kernel's.
    return Outcome::done();
  }
  program(programmer_, NeighborDelete{ids_.find(place.first), place.second},
          [this, ticket = current_ticket(), place](const Status& status) {
            Outcome outcome = outcome_of_delete(status);
            if (outcome.kind() == Outcome::Kind::Done) gone(place);
            settle(ticket, outcome);
          });
  return Outcome::staged();
}

void Neighbors::gone(const Place& place) {
  if (const auto it = neighbors_.find(place); it != neighbors_.end()) {
    note_absent(place.first, it->second);
    neighbors_.erase(it);
    count(place, false);
    if (!counts_.contains(place.first)) present_.erase(place.first);
  }
  const std::string name = neighbor_key(place.first, place.second);
  if (spellings_.release(name)) announce({kNeighborSpelling, name});
}

void Neighbors::count(const Place& place, bool more) {
  std::vector<std::string> keys{place.first};
  if (!is_link_local(place.second)) keys.push_back(family_key(place.first, place.second.is_v6()));
  for (const std::string& key : keys) {
    std::size_t& number = counts_[key];
    more ? ++number : --number;
    if (more && number == 1) withdraw({kNeighborsGone, key});
    if (number != 0) continue;
    counts_.erase(key);
    announce({kNeighborsGone, key});
  }
}

}  // namespace rondo::switch_agent
