#include "agent/interfaces.h"

#include <algorithm>
#include <utility>

#include "agent/answer.h"
#include "agent/facts.h"
#include "agent/priorities.h"
#include "agent/program.h"
#include "rondo/orch/runtime.h"

namespace rondo::agent {

std::string addressed_key(std::string_view port, bool ipv6) { return std::string{port} + (ipv6 ? ":ipv6" : ":ipv4"); }

Interfaces::Interfaces(Runtime& runtime, Programmer& programmer, const PortIds& ids)
    : Orch(runtime, "interfaces", kInterfaces), programmer_(programmer), ids_(ids) {
  consume("INTF_TABLE", this, &Interfaces::set, &Interfaces::remove);
  provide(kInterface, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    return it != interfaces_.end() && it->second.applied;
  });
  provide(kAddressed, [this](std::string_view key) { return addressed(key); });
  provide(kPortUnused, [this](std::string_view port) { return !interfaces_.contains(port); });
  provide(kInterfaceUnused, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    return it == interfaces_.end() || it->second.addresses.empty();
  });
  observe(kAdminUp, [this](std::string_view port, bool up) {
    if (up) restore(port);
  });
  runtime.explain(kInterface, [](std::string_view port) { return FactOrigin{"INTF_TABLE", std::string{port}, ""}; });
  runtime.explain(kAddressed, [](std::string_view key) {
    const std::string port{key.substr(0, key.rfind(':'))};
    return FactOrigin{"", "", "no address of that family on " + port + ": a row INTF_TABLE:" + port + ":<address>/<length> is missing or waits"};
  });
  runtime.explain(kPortUnused, [](std::string_view port) {
    return FactOrigin{"", "", "INTF_TABLE still has rows for " + std::string{port}};
  });
  runtime.explain(kInterfaceUnused, [](std::string_view port) {
    return FactOrigin{"", "", std::string{port} + " still has addresses"};
  });
}

bool Interfaces::addressed(std::string_view key) const {
  const std::size_t colon = key.rfind(':');
  const auto it = interfaces_.find(key.substr(0, colon));
  const bool ipv6 = key.substr(colon + 1) == "ipv6";
  return it != interfaces_.end() &&
         std::ranges::any_of(it->second.addresses, [&](const Prefix& prefix) { return prefix.address.is_v6() == ipv6; });
}

Outcome Interfaces::set(std::string_view key, const Fields& fields) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return Outcome::reject(parsed.error());
  return parsed->address ? set_address(parsed->port, *parsed->address) : set_base(parsed->port, fields);
}

Outcome Interfaces::remove(std::string_view key) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return Outcome::reject(parsed.error());
  return parsed->address ? remove_address(parsed->port, *parsed->address) : remove_base(parsed->port);
}

Outcome Interfaces::set_base(const std::string& port, const Fields& fields) {
  const Result<InterfaceRow> row = parse_interface(fields);
  if (!row) return Outcome::reject(row.error());
  if (!row->vrf.empty()) {
    const Constraint vrf{kVrf, row->vrf};
    if (!holds(vrf)) return Outcome::wait_for(vrf);
  }
  const Constraint configured{kPort, port};
  if (!holds(configured)) return Outcome::wait_for(configured);
  const auto applied = [this, port] {
    interfaces_[port].applied = true;
    announce({kInterface, port});
  };
  if (!row->mtu) {
    applied();
    return Outcome::done();
  }
  program(programmer_, LinkSet{ids_.find(port), std::nullopt, row->mtu}, [this, ticket = current_ticket(), applied](const Status& status) {
    if (status.ok()) applied();
    settle(ticket, outcome_of_set(status));
  });
  return Outcome::staged();
}

Outcome Interfaces::set_address(const std::string& port, const Prefix& address) {
  const Constraint base{kInterface, port};
  if (!holds(base)) return Outcome::wait_for(base);
  const Constraint device{kDevice, port};
  if (!holds(device)) return Outcome::wait_for(device);
  program(programmer_, AddressSet{ids_.find(port), address}, [this, ticket = current_ticket(), port, address](const Status& status) {
    if (status.ok()) {
      interfaces_[port].addresses.insert(address);
      announce({kAddressed, addressed_key(port, address.address.is_v6())});
    }
    settle(ticket, outcome_of_set(status));
  });
  return Outcome::staged();
}

Outcome Interfaces::remove_address(const std::string& port, const Prefix& address) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end() || !it->second.addresses.contains(address)) return Outcome::done();
  const Constraint gone{kNeighborsGone, port};
  if (!holds(gone)) return Outcome::wait_for(gone);
  program(programmer_, AddressDelete{ids_.find(port), address}, [this, ticket = current_ticket(), port, address](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (outcome.kind() == Outcome::Kind::Done) {
      Interface& interface = interfaces_[port];
      interface.addresses.erase(address);
      if (!addressed(addressed_key(port, address.address.is_v6()))) withdraw({kAddressed, addressed_key(port, address.address.is_v6())});
      if (interface.addresses.empty()) announce({kInterfaceUnused, port});
    }
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

Outcome Interfaces::remove_base(const std::string& port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return Outcome::done();
  const Constraint unused{kInterfaceUnused, port};
  const Constraint gone{kNeighborsGone, port};
  if (!holds(unused) || !holds(gone)) return Outcome::wait_for({unused, gone});
  interfaces_.erase(it);
  withdraw({kInterface, port});
  announce({kPortUnused, port});
  return Outcome::done();
}

void Interfaces::restore(std::string_view port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return;
  for (const Prefix& address : it->second.addresses) {
    program(programmer_, AddressSet{ids_.find(port), address}, [](const Status&) {});
  }
}

}  // namespace rondo::agent
