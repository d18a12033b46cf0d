#include "switch_agent/interfaces.h"

#include <algorithm>
#include <utility>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {
std::string address_key(const std::string& port, const Prefix& address) { return port + ":" + address.to_string(); }
}  // namespace

std::string family_key(std::string_view port, bool ipv6) { return std::string{port} + (ipv6 ? ":ipv6" : ":ipv4"); }

Interfaces::Interfaces(Runtime& runtime, Programmer& programmer, const PortIds& ids)
    : Orch(runtime, "interfaces", kInterfaces),
      programmer_(programmer),
      ids_(ids),
      retry_(runtime, "interfaces restore again", kInterfaces, [this](const std::string& port) { restore(port, Restore::Absent); }) {
  consume("INTF_TABLE", this, &Interfaces::set, &Interfaces::remove, {.set_replaces_delete = true});
  provide(kInterface, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    return it != interfaces_.end() && static_cast<bool>(it->second.applied);
  });
  provide(kAddressed, [this](std::string_view key) { return addressed(key); });
  provide(kPortUnused, [this](std::string_view port) { return !interfaces_.contains(port); });
  provide(kInterfaceUnused, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    return it == interfaces_.end() || it->second.addresses.empty();
  });
  for (const ConstraintKind kind : {kDevice, kAdminUp}) {
    observe(kind, [this](std::string_view port, bool begins) {
      if (begins) restore(std::string{port}, Restore::All);
    });
  }
  provide(kAddressFree, [this](std::string_view key) {
    const Result<InterfaceKey> parsed = parse_interface_key(key);
    return !parsed || !parsed->address || is_free(parsed->port, *parsed->address);
  });
  provide(kRestartOver, [this](std::string_view) { return restarted_; });
  runtime.explain(kRestartOver, [](std::string_view) {
    return FactOrigin{"", "", "what an earlier run left in the data plane stays until the rows have been compared with it"};
  });
  provide(kAddressSpelling, [this](std::string_view key) {
    const Result<InterfaceKey> parsed = parse_interface_key(key);
    return !parsed || !parsed->address || !is_wanted(parsed->port, *parsed->address);
  });
  runtime.explain(kAddressSpelling, [this](std::string_view key) {
    return FactOrigin{"", "", spellings_.explain("address", "INTF_TABLE", key)};
  });
  observe(kNeighborsGone, [this](std::string_view key, bool) {
    const std::size_t colon = key.rfind(':');
    if (colon != std::string_view::npos) tell_free(std::string{key.substr(0, colon)}, key.substr(colon + 1) == "ipv6");
  });
  runtime.explain(kAddressFree, [](std::string_view key) {
    return FactOrigin{"", "", std::string{key} + " is the last address of its family, and the port still has neighbours of it"};
  });
  runtime.explain(kInterface, [](std::string_view port) { return FactOrigin{"INTF_TABLE", std::string{port}, ""}; });
  runtime.explain(kAddressed, [](std::string_view key) {
    const std::string port{key.substr(0, key.rfind(':'))};
    return FactOrigin{"", "",
                      "no address of that family on " + port + ": a row INTF_TABLE:" + port + ":<address>/<length> is missing or waits"};
  });
  runtime.explain(kPortUnused, [](std::string_view port) {
    return FactOrigin{"", "", "INTF_TABLE still has rows for " + std::string{port}};
  });
  runtime.explain(kInterfaceUnused, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    const bool has_one = it != interfaces_.end() && !it->second.addresses.empty();
    const std::string one = has_one ? ", " + it->second.addresses.begin()->first.to_string() + " among them" : "";
    return FactOrigin{"", "", std::string{port} + " still has addresses" + one};
  });
}

bool Interfaces::addressed(std::string_view key) const {
  const std::size_t colon = key.rfind(':');
  const auto it = interfaces_.find(key.substr(0, colon));
  const bool ipv6 = key.substr(colon + 1) == "ipv6";
  return it != interfaces_.end() && std::ranges::any_of(it->second.addresses, [&](const auto& entry) {
           const auto& [prefix, address] = entry;
           return address.applied && !address.leaving && prefix.address.is_v6() == ipv6;
         });
}

Outcome Interfaces::set(std::string_view key, const Fields& fields) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  return parsed->address ? set_address(key, parsed->port, *parsed->address) : set_base(parsed->port, fields);
}

Outcome Interfaces::remove(std::string_view key) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  return parsed->address ? remove_address(key, parsed->port, *parsed->address) : remove_base(parsed->port);
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
  if (interfaces_.try_emplace(port).second) withdraw({kPortUnused, port});
  if (!row->mtu) {
    base_applied(port, std::nullopt);
    return Outcome::done();
  }
  const IfIndex id = ids_.find(port);
  program(programmer_, LinkSet{id, std::nullopt, row->mtu},
          [this, ticket = current_ticket(), port, id, mtu = row->mtu](const Status& status) {
            const bool same_device = ids_.find(port) == id;
            if (status.ok() && same_device) base_applied(port, mtu);
            Outcome outcome = outcome_of_set(same_device ? status : device_changed(port));
            if (outcome.kind() == Outcome::Kind::Reject) drop_if_empty(port);
            settle(ticket, outcome);
          });
  return Outcome::staged();
}

void Interfaces::base_applied(const std::string& port, std::optional<std::uint32_t> mtu) {
  Interface& interface = interfaces_[port];
  interface.applied.set(applied_);
  interface.mtu = mtu;
  if (mtu) mtus_.insert_or_assign(port, *mtu);
  announce({kInterface, port});
}

bool Interfaces::is_wanted(const std::string& port, const Prefix& address) const {
  const auto it = interfaces_.find(port);
  return it != interfaces_.end() && it->second.addresses.contains(address);
}

Outcome Interfaces::set_address(std::string_view key, const std::string& port, const Prefix& address) {
  const Constraint base{kInterface, port};
  if (!holds(base)) return Outcome::wait_for(base);
  const Constraint device{kDevice, port};
  if (!holds(device)) return Outcome::wait_for(device);
  const std::string canonical = address_key(port, address);
  if (!spellings_.may_act(canonical, key, is_wanted(port, address))) {
    spellings_.contest(canonical);
    return Outcome::wait_for({kAddressSpelling, canonical});
  }
  spellings_.take(canonical, key);
  Interface& interface = interfaces_[port];
  const bool is_first = interface.addresses.empty();
  Address& entry = interface.addresses[address];  // Recorded before the answer, so that an address dropped from now on is put back.
  if (is_first) withdraw({kInterfaceUnused, port});
  // This Set replaced a Delete that the kernel had deferred. The answer shows whether the address is present.
  if (std::exchange(entry.leaving, false)) entry.applied.clear();
  const IfIndex id = ids_.find(port);
  program(programmer_, AddressSet{id, address}, [this, ticket = current_ticket(), port, address, id](const Status& status) {
    settle(ticket, address_answered(port, address, id, status));
  });
  return Outcome::staged();
}

Outcome Interfaces::address_answered(const std::string& port, const Prefix& address, IfIndex id, const Status& status) {
  if (status.ok() && ids_.find(port) == id) {
    Address& entry = interfaces_[port].addresses[address];
    entry.applied.set(applied_);
    entry.present = true;
    announce({kAddressed, family_key(port, address.address.is_v6())});
    tell_free(port, address.address.is_v6());
    return Outcome::done();
  }
  const Status answer = status.ok() ? device_changed(port) : status;
  Outcome outcome = address.address.is_v6() ? outcome_of_ipv6_set(answer, port, ids_.mtu(port)) : outcome_of_set(answer);
  if (outcome.kind() == Outcome::Kind::Reject && !interfaces_[port].addresses[address].applied) address_gone(port, address);
  return outcome;
}

Outcome Interfaces::remove_address(std::string_view key, const std::string& port, const Prefix& address) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return remove_unknown(port, address);
  const auto entry = it->second.addresses.find(address);
  if (entry == it->second.addresses.end()) return remove_unknown(port, address);
  if (!spellings_.may_act(address_key(port, address), key, true)) return Outcome::done();  // Another row has the address.
  const bool ipv6 = address.address.is_v6();
  const Constraint free{kAddressFree, address_key(port, address)};
  if (!holds(free)) return Outcome::wait_for(free);
  // Withdraw the fact before ordering, so that no further row relies on it.
  entry->second.leaving = true;
  if (!addressed(family_key(port, ipv6))) withdraw({kAddressed, family_key(port, ipv6)});
  tell_free(port, ipv6);
  if (!ids_.find(port)) {
    address_gone(port, address);  // It went with its device.
    return Outcome::done();
  }
  program(programmer_, AddressDelete{ids_.find(port), address}, [this, ticket = current_ticket(), port, address](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (outcome.kind() == Outcome::Kind::Done) address_gone(port, address);
    settle(ticket, outcome);
  });
  return Outcome::staged();
}

/// Handles the Delete of an address that no row had: an earlier run may have set it. It has no protocol number if the kernel stores none
/// for addresses.
Outcome Interfaces::remove_unknown(const std::string& port, const Prefix& address) {
  const IfIndex id = ids_.find(port);
  if (!id) return Outcome::done();
  const Constraint over{kRestartOver, std::string{kDataPlane}};
  if (!holds(over)) return Outcome::wait_for(over);
  program(programmer_, AddressDelete{id, address},
          [this, ticket = current_ticket()](const Status& status) { settle(ticket, outcome_of_delete(status)); });
  return Outcome::staged();
}

void Interfaces::end_restart() {
  restarted_ = true;
  announce({kRestartOver, std::string{kDataPlane}});
}

/// True if no neighbour of its family is left, or another address of the family stays.
bool Interfaces::is_free(const std::string& port, const Prefix& address) const {
  const bool ipv6 = address.address.is_v6();
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end() || holds({kNeighborsGone, family_key(port, ipv6)})) return true;
  return std::ranges::any_of(it->second.addresses, [&](const auto& other) {
    return other.first != address && other.second.applied && other.second.present && !other.second.leaving &&
           other.first.address.is_v6() == ipv6;
  });
}

/// Called after a change that decides which addresses of a family are free. Announces those that are free and withdraws the others.
void Interfaces::tell_free(const std::string& port, bool ipv6) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return;
  for (const auto& [prefix, address] : it->second.addresses) {
    if (prefix.address.is_v6() != ipv6) continue;
    const Constraint free{kAddressFree, address_key(port, prefix)};
    is_free(port, prefix) ? announce(free) : withdraw(free);
  }
}

void Interfaces::address_gone(const std::string& port, const Prefix& address) {
  Interface& interface = interfaces_[port];
  interface.addresses.erase(address);
  const std::string canonical = address_key(port, address);
  if (spellings_.release(canonical)) announce({kAddressSpelling, canonical});
  if (!interface.addresses.empty()) return;
  announce({kInterfaceUnused, port});
  drop_if_empty(port);
}

void Interfaces::drop_if_empty(const std::string& port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end() || it->second.applied || !it->second.addresses.empty()) return;
  interfaces_.erase(it);
  announce({kPortUnused, port});
}

Outcome Interfaces::remove_base(const std::string& port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return Outcome::done();
  const Constraint unused{kInterfaceUnused, port};
  const Constraint gone{kNeighborsGone, port};
  if (!holds(unused) || !holds(gone)) return Outcome::wait_for({unused, gone});
  it->second.applied.clear();
  withdraw({kInterface, port});
  drop_if_empty(port);
  return Outcome::done();
}

void Interfaces::restored(const std::string& port, const Prefix& prefix, const Status& status) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return;
  const auto address = it->second.addresses.find(prefix);
  if (address == it->second.addresses.end()) return;
  const bool is_v6 = prefix.address.is_v6();
  address->second.trouble = is_v6 ? ipv6_trouble(status, port, ids_.mtu(port)) : std::string{};
  if (status.ok()) {
    address->second.present = true;
    tell_free(port, is_v6);
  } else if (!address->second.trouble.empty()) {
    retry_.add(port, kIpv6OffRetry);
  } else if (is_passing(status)) {
    retry_.add(port);
  }
}

void Interfaces::restore(const std::string& port, Restore what) {
  const auto it = interfaces_.find(port);
  const IfIndex id = ids_.find(port);
  if (it == interfaces_.end() || !id) return;
  if (it->second.mtu) {
    program(programmer_, LinkSet{id, std::nullopt, it->second.mtu}, [this, port](const Status& status) {
      if (!status.ok() && is_passing(status)) retry_.add(port);
    });
  }
  for (auto& [prefix, address] : it->second.addresses) {
    if (address.leaving || (what == Restore::Absent && address.present)) continue;
    address.present = false;
    program(programmer_, AddressSet{id, prefix}, [this, port, prefix = prefix](const Status& status) { restored(port, prefix, status); });
  }
}

}  // namespace rondo::switch_agent
