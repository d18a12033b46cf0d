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

/// The name under which the rows of one address compete. The kernel identifies an IPv6 address by its bits alone, so all its lengths have
/// the same name.
std::string shared_name(const std::string& port, const Prefix& address) {
  return address_key(port, address.address.is_v6() ? Prefix{address.address, 128} : address);
}
/// The name of a row in 'refusals_'.
std::string row_name(const InterfaceKey& key) { return key.address ? address_key(key.port, *key.address) : key.port; }

Fact row_of(const std::string& port) { return port.starts_with("Loopback") ? Fact{kDevice, port} : configured(port); }
}  // namespace

std::string family_key(std::string_view port, bool ipv6) { return std::string{port} + (ipv6 ? ":ipv6" : ":ipv4"); }

Interfaces::Interfaces(Runtime& runtime, Programmer& programmer, PortIds& ids, MtuRows& mtus)
    : Orch(runtime, "interfaces", kInterfaces),
      programmer_(programmer),
      ids_(ids),
      mtus_(mtus),
      retry_(runtime, "interfaces restore again", kInterfaces, [this](const std::string& port) { retry(port); }) {
  consume("INTF_TABLE", this, &Interfaces::set, &Interfaces::remove, {.set_replaces_delete = true});
  provide(kInterface, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    return it != interfaces_.end() && static_cast<bool>(it->second.applied);
  });
  provide_vrf_facts();
  provide_next();
  provide(kAddressed, [this](std::string_view key) { return addressed(key); });
  provide(kPortUnused, [this](std::string_view port) { return !interfaces_.contains(port); });
  provide(kInterfaceUnused, [this](std::string_view port) {
    const auto it = interfaces_.find(port);
    return it == interfaces_.end() || it->second.addresses.empty();
  });
  observe(kDevice, [this](std::string_view port, bool begins) {
    if (begins) restore(std::string{port}, Restore::All);
  });
  observe(kAdminUp, [this](std::string_view port, bool begins) {
    begins ? static_cast<void>(restore(std::string{port}, Restore::All)) : ipv6_dropped(std::string{port});
  });
  observe(kIpv6Mtu, [this](std::string_view port, bool begins) { ipv6_mtu(std::string{port}, begins); });
  provide(kIpv6, [this](std::string_view port) { return holds({kIpv6Mtu, std::string{port}}) && !ipv6_off_.contains(port); });
  runtime.explain(kIpv6, [this](std::string_view port) { return FactOrigin{"", "", ipv6_words(port)}; });
  provide(kAddressFree, [this](std::string_view key) {
    const Result<InterfaceKey> parsed = parse_interface_key(key);
    return !parsed || !parsed->address || is_free(parsed->port, *parsed->address);
  });
  provide(kRestartOver, [this](std::string_view) { return restarted_; });
  runtime.explain(kRestartOver, [](std::string_view) {
    return FactOrigin{"", "", "what an earlier run left in the data plane stays until the rows have been compared with it"};
  });
  provide(kRowsCome, [this](std::string_view) { return !ids_.awaits_rows(); });
  runtime.explain(kRowsCome, [](std::string_view) {
    return FactOrigin{"", "", "an earlier run used the port in another way, and the row that asks for that may still come"};
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
  runtime.explain(kAddressed, [this](std::string_view key) {
    const std::string_view port = key.substr(0, key.rfind(':'));
    return FactOrigin{"", "", no_address_words(port, key.ends_with(":ipv6"))};
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

/// The kernel makes no route for the subnet of one address.
bool Interfaces::has_subnet(std::string_view key) const {
  const std::size_t at = key.rfind(' ');
  const Result<RouteKey> route = parse_route_key(key.substr(0, at));
  const auto it = interfaces_.find(key.substr(at + 1));
  if (!route || it == interfaces_.end() || it->second.vrf != route->vrf) return false;
  return std::ranges::any_of(it->second.addresses, [&](const auto& entry) {
    const auto& [prefix, address] = entry;
    return address.applied && !address.leaving && prefix.length < prefix.address.size() * 8 && prefix.network() == route->prefix;
  });
}

/// Called when an address in the subnet has come or goes.
void Interfaces::tell_subnet(const std::string& port, const std::string& vrf, const Prefix& address) {
  const std::string key = with_port((vrf.empty() ? "" : vrf + ":") + address.network().to_string(), port);
  const bool has = has_subnet(key);
  withdraw({has ? kNoSubnet : kSubnet, key});
  announce({has ? kSubnet : kNoSubnet, key});
}

std::string Interfaces::no_address_words(std::string_view port, bool ipv6) const {
  if (addressed(family_key(port, ipv6))) return {};
  const std::string name{port};
  return "no address of that family on " + name + ": a row INTF_TABLE:" + name + ":<address>/<length> is missing or waits";
}

Outcome Interfaces::set(std::string_view key, const Fields& fields) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  Outcome outcome = parsed->address ? set_address(key, parsed->port, *parsed->address) : set_base(parsed->port, fields);
  if (outcome.kind() != Outcome::Kind::Staged) refusals_.forget(row_name(*parsed));
  if (parsed->address) return outcome;
  const bool waits = outcome.kind() == Outcome::Kind::WaitFor && outcome.facts().front() == row_of(parsed->port);
  note_next(parsed->port, waits && !interfaces_.contains(parsed->port));
  return outcome;
}

Outcome Interfaces::remove(std::string_view key) {
  const Result<InterfaceKey> parsed = parse_interface_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  refusals_.forget(row_name(*parsed));
  if (!parsed->address) note_next(parsed->port, false);
  return parsed->address ? remove_address(key, parsed->port, *parsed->address) : remove_base(parsed->port);
}

void Interfaces::provide_next() {
  provide(kNoInterfaceNext, [this](std::string_view port) { return !next_.contains(port); });
  runtime().explain(kNoInterfaceNext, [](std::string_view port) {
    return FactOrigin{"", "", "INTF_TABLE " + std::string{port} + " waits for the port too, and has it before members of LAGs and VLANs"};
  });
  provide(kStandingRows, [this](std::string_view table) { return !has_standing_rows(table); });
  runtime().explain(kStandingRows, [](std::string_view table) {
    return FactOrigin{"", "", "the rows that " + std::string{table} + " had at the start come first"};
  });
}

void Interfaces::note_next(const std::string& port, bool waits) {
  if (waits) {
    if (next_.insert(port).second) withdraw({kNoInterfaceNext, port});
  } else if (next_.erase(port) != 0) {
    announce({kNoInterfaceNext, port});
  }
}

Outcome Interfaces::set_base(const std::string& port, const Fields& fields) {
  const Result<InterfaceRow> row = parse_interface(fields);
  if (!row) return Outcome::reject(row.error());
  if (!row->vrf.empty()) {
    const Fact vrf{kVrf, row->vrf};
    if (!holds(vrf)) return Outcome::wait_for(vrf);
    if (!ids_.find(row->vrf)) return Outcome::retry_after(kSoon, device_changed(row->vrf));  // Its end is not announced yet.
  }
  if (Fact port_row = row_of(port); !holds(port_row)) return Outcome::wait_for(std::move(port_row));
  const Fact in_no_vlan{kInNoVlan, port};
  if (!holds(in_no_vlan)) return Outcome::wait_for(in_no_vlan);
  const Fact in_no_lag{kInNoLag, port};
  if (!holds(in_no_lag)) return Outcome::wait_for(in_no_lag);
  if (!interfaces_.contains(port) && ids_.is_left_in_another_use(port, {PortIds::Use::Kind::Interface}))
    return Outcome::wait_for({kRowsCome, std::string{kDataPlane}});
  if (interfaces_.try_emplace(port).second) withdraw({kPortUnused, port});
  ids_.claimed(port);
  const std::string vrf_before = interfaces_[port].vrf;
  const std::optional<IfIndex> master = master_to_order(port, row->vrf);
  set_vrf(port, interfaces_[port], row->vrf);
  const MtuRows::Mtu before = mtus_.interface_row(port);
  mtus_.set_interface_row(port, row->mtu);
  const MtuRows::Mtu wanted = row->mtu || before ? mtus_.wanted(port) : std::nullopt;  // Without an mtu here, the port's applies again.
  if (!wanted && !master) return base_applied(port);
  const LinkSet order{ids_.find(port), std::nullopt, wanted, master};
  program(programmer_, order, [this, ticket = current_ticket(), port, order, before, vrf_before](const Status& status) {
    const bool same_device = ids_.find(port) == order.port;
    Outcome outcome = outcome_of_set(same_device ? status : device_changed(port));
    if (outcome.kind() == Outcome::Kind::Done) {
      if (order.master) ids_.set_master(port, *order.master);
      outcome = base_applied(port);
    } else if (outcome.kind() == Outcome::Kind::Reject) {
      mtus_.set_interface_row(port, before);
      set_vrf(port, interfaces_[port], vrf_before);
      drop_if_empty(port);
    }
    settle(ticket, refusals_.note(port, std::move(outcome)));
  });
  return Outcome::staged();
}

/// A row in a VRF is handled again when the VRF's device goes, or when the port is taken out of it.
Outcome Interfaces::base_applied(const std::string& port) {
  Interface& interface = interfaces_[port];
  interface.applied.set(applied_);
  announce({kInterface, port});
  if (interface.vrf.empty()) return Outcome::done();
  return Outcome::done_while({Fact{kVrf, interface.vrf}, Fact{kInDevice, port + ":" + interface.vrf}});
}

bool Interfaces::is_wanted(const std::string& port, const Prefix& address) const {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return false;
  if (!address.address.is_v6()) return it->second.addresses.contains(address);
  const auto entry = it->second.addresses.lower_bound(Prefix{address.address, 0});
  return entry != it->second.addresses.end() && entry->first.address == address.address;
}

bool Interfaces::another_row_has(std::string_view key, const std::string& port, const Prefix& address) const {
  return !spellings_.may_act(shared_name(port, address), key, is_wanted(port, address));
}

Outcome Interfaces::set_address(std::string_view key, const std::string& port, const Prefix& address) {
  const Fact base{kInterface, port};
  if (!holds(base)) return Outcome::wait_for(base);
  const Fact device{kDevice, port};
  if (!holds(device)) return Outcome::wait_for(device);
  const Fact ipv6{kIpv6, port};
  if (address.address.is_v6() && !holds(ipv6)) return Outcome::wait_for(ipv6);
  const std::string name = shared_name(port, address);
  if (another_row_has(key, port, address)) {
    spellings_.contest(name);
    return Outcome::wait_for({kAddressSpelling, name});
  }
  spellings_.take(name, key);
  Interface& interface = interfaces_[port];
  const bool is_first = interface.addresses.empty();
  Address& entry = interface.addresses[address];  // Recorded before the answer, so that an address dropped from now on is put back.
  if (is_first) withdraw({kInterfaceUnused, port});
  // This Set replaced a Delete that the kernel had deferred. The answer shows whether the address is present.
  if (std::exchange(entry.leaving, false)) entry.applied.clear();
  const IfIndex id = ids_.find(port);
  program(programmer_, AddressSet{id, address}, [this, ticket = current_ticket(), port, address, id](const Status& status) {
    settle(ticket, refusals_.note(address_key(port, address), address_answered(port, address, id, status)));
  });
  return Outcome::staged();
}

Outcome Interfaces::address_answered(const std::string& port, const Prefix& address, IfIndex id, const Status& status) {
  if (status.ok() && ids_.find(port) == id) {
    Address& entry = interfaces_[port].addresses[address];
    entry.applied.set(applied_);
    entry.present = true;
    entry.trouble.clear();
    announce({kAddressed, family_key(port, address.address.is_v6())});
    tell_free(port, address.address.is_v6());
    tell_subnet(port, interfaces_[port].vrf, address);
    if (address.address.is_v6()) ipv6_is_on(port);
    return Outcome::done();
  }
  const Status answer = status.ok() ? device_changed(port) : status;
  if (address.address.is_v6() && is_ipv6_off(answer)) {
    ipv6_is_off(port);
    return Outcome::wait_for({kIpv6, port});
  }
  Outcome outcome = address.address.is_v6() ? outcome_of_ipv6_set(answer, port, ids_.mtu(port)) : outcome_of_set(answer);
  if (outcome.kind() == Outcome::Kind::Reject && !interfaces_[port].addresses[address].applied) address_gone(port, address);
  return outcome;
}

Outcome Interfaces::remove_address(std::string_view key, const std::string& port, const Prefix& address) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return remove_unknown(port, address);
  if (another_row_has(key, port, address)) return Outcome::done();
  const auto entry = it->second.addresses.find(address);
  if (entry == it->second.addresses.end()) return remove_unknown(port, address);
  const bool ipv6 = address.address.is_v6();
  const Fact free{kAddressFree, address_key(port, address)};
  if (!holds(free)) return Outcome::wait_for(free);
  // Withdraw the fact before ordering, so that no further row relies on it.
  entry->second.leaving = true;
  if (!addressed(family_key(port, ipv6))) withdraw({kAddressed, family_key(port, ipv6)});
  tell_free(port, ipv6);
  tell_subnet(port, it->second.vrf, address);
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
  const Fact over{kRestartOver, std::string{kDataPlane}};
  if (!holds(over)) return Outcome::wait_for(over);
  program(programmer_, AddressDelete{id, address},
          [this, ticket = current_ticket()](const Status& status) { settle(ticket, outcome_of_delete(status)); });
  return Outcome::staged();
}

void Interfaces::rows_have_come() {
  if (!ids_.awaits_rows()) return;
  ids_.rows_have_come();
  announce({kRowsCome, std::string{kDataPlane}});
}

void Interfaces::await_standing_rows() {
  for (const std::string_view table : {kInterfaceRows, kLagMemberRows}) {
    standing_.insert(table);
    withdraw({kStandingRows, std::string{table}});
  }
}

void Interfaces::standing_rows_end(std::string_view table) {
  if (standing_.erase(table) != 0) announce({kStandingRows, std::string{table}});
}

void Interfaces::end_restart() {
  rows_have_come();
  restarted_ = true;
  release_ports();
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
    const Fact free{kAddressFree, address_key(port, prefix)};
    is_free(port, prefix) ? announce(free) : withdraw(free);
  }
}

void Interfaces::address_gone(const std::string& port, const Prefix& address) {
  Interface& interface = interfaces_[port];
  interface.addresses.erase(address);
  if (on_address_gone_) on_address_gone_(address.address);
  const std::string name = shared_name(port, address);
  if (spellings_.release(name)) announce({kAddressSpelling, name});
  if (!interface.addresses.empty()) return;
  announce({kInterfaceUnused, port});
  drop_if_empty(port);
}

void Interfaces::drop_if_empty(const std::string& port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end() || it->second.applied || !it->second.addresses.empty()) return;
  set_vrf(port, it->second, {});
  interfaces_.erase(it);
  announce({kPortUnused, port});
}

Outcome Interfaces::remove_base(const std::string& port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return Outcome::done();
  const Fact unused{kInterfaceUnused, port};
  const Fact gone{kNeighborsGone, port};
  if (!holds(unused) || !holds(gone)) return Outcome::wait_for({unused, gone});
  it->second.applied.clear();
  withdraw({kInterface, port});
  const MtuRows::Mtu before = mtus_.interface_row(port);
  mtus_.set_interface_row(port, std::nullopt);
  const MtuRows::Mtu wanted = before ? mtus_.wanted(port) : std::nullopt;
  const IfIndex id = ids_.find(port);
  const std::optional<IfIndex> master = master_to_leave(port, it->second.vrf);
  if (!id || (!wanted && !master)) {
    drop_if_empty(port);
    return Outcome::done();
  }
  // The port's own MTU applies again. A refusal shows as a difference of the port.
  program(programmer_, LinkSet{id, std::nullopt, wanted, master}, [this, ticket = current_ticket(), port, master](const Status& status) {
    if (master && is_passing(status) && ids_.find(port)) return settle(ticket, Outcome::retry_after(kSoon, status));
    if (master && status.ok() && ids_.find(port)) ids_.set_master(port, *master);
    drop_if_empty(port);
    settle(ticket, Outcome::done());
  });
  return Outcome::staged();
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
    if (is_v6) ipv6_is_on(port);
  } else if (is_v6 && is_ipv6_off(status)) {
    ipv6_is_off(port);
  } else if (is_passing(status) && address->second.trouble.empty()) {
    retry_.add(port);
  }
}

bool Interfaces::restore(const std::string& port, Restore what) {
  const auto it = interfaces_.find(port);
  const IfIndex id = ids_.find(port);
  if (it == interfaces_.end() || !id) return false;
  bool has_ordered_v6 = false;
  for (auto& [prefix, address] : it->second.addresses) {
    const bool is_v6 = prefix.address.is_v6();
    if (address.leaving || (what == Restore::Absent && address.present)) continue;
    if (is_v6 && (!holds({kIpv6Mtu, port}) || (has_ordered_v6 && ipv6_off_.contains(port)))) continue;
    address.present = false;
    has_ordered_v6 = has_ordered_v6 || is_v6;
    order_again(port, id, prefix);
  }
  return has_ordered_v6;
}

void Interfaces::order_again(const std::string& port, IfIndex device, const Prefix& prefix) {
  program(programmer_, AddressSet{device, prefix}, [this, port, prefix](const Status& status) { restored(port, prefix, status); });
}

void Interfaces::retry(const std::string& port) {
  if (restore(port, Restore::Absent) || !ipv6_off_.contains(port)) return;
  ipv6_is_on(port);  // No address is left to try: the rows that wait find out.
}

// --- IPv6 of a port

/// The kernel drops the IPv6 addresses of a device whose MTU becomes too small.
void Interfaces::ipv6_mtu(const std::string& port, bool begins) {
  if (begins) {
    if (!ipv6_off_.contains(port)) announce({kIpv6, port});
    if (small_mtu_.erase(port) != 0) restore(port, Restore::Absent);
    return;
  }
  if (ids_.find(port)) small_mtu_.insert(port);
  ipv6_off_.erase(port);
  withdraw({kIpv6, port});
  ipv6_dropped(port);
}

/// The kernel has dropped the IPv6 addresses of a device. It keeps those that are set while the device is down.
void Interfaces::ipv6_dropped(const std::string& port) {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return;
  for (auto& [prefix, address] : it->second.addresses) {
    if (prefix.address.is_v6()) address.present = false;
  }
  tell_free(port, true);
}

/// The kernel sends no event when IPv6 is switched on, so one address of the port is tried at an interval.
void Interfaces::ipv6_is_off(const std::string& port) {
  if (ipv6_off_.insert(port).second) withdraw({kIpv6, port});
  retry_.add(port, kIpv6OffRetry);
}

void Interfaces::ipv6_is_on(const std::string& port) {
  if (ipv6_off_.erase(port) == 0) return;
  announce({kIpv6, port});
  restore(port, Restore::Absent);
}

std::string Interfaces::ipv6_words(std::string_view port) const {
  const std::uint32_t mtu = ids_.mtu(port);
  if (mtu != 0 && mtu < kIpv6LeastMtu) return small_mtu_words(port, mtu);
  return ipv6_off_.contains(port) ? ipv6_off_words(port) : std::string{};
}

}  // namespace rondo::switch_agent
