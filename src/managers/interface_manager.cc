#include "managers/interface_manager.h"

#include <vector>

#include "managers/config_rows.h"
#include "managers/facts.h"
#include "managers/priorities.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {
constexpr std::string_view kLoopbacks = "LOOPBACK_INTERFACE";
constexpr std::string_view kVlans = "VLAN_INTERFACE";
constexpr std::string_view kLags = "PORTCHANNEL_INTERFACE";

/// The table that has the row of the interface.
std::string_view table_of(std::string_view port) {
  if (port.starts_with("Loopback")) return kLoopbacks;
  if (switch_agent::is_vlan_name(port)) return kVlans;
  return switch_agent::is_lag_name(port) ? kLags : "INTERFACE";
}

/// The row of CONFIG_DB that the interface waits for.
Fact configured(const std::string& port) {
  if (switch_agent::is_vlan_name(port)) return {kConfigVlan, port};
  return {switch_agent::is_lag_name(port) ? kConfigLag : kConfigPort, port};
}

Target target_of(const ConfigInterfaceKey& key) {
  return {"INTF_TABLE", key.address ? key.port + ":" + key.address->to_string() : key.port};
}
}  // namespace

InterfaceManager::InterfaceManager(Runtime& runtime, ManagedRows& rows, Subnets& subnets)
    : Manager(runtime, "interface-manager", kManagers, rows), subnets_(subnets) {
  for (const std::string& table : {std::string{"INTERFACE"}, std::string{kVlans}, std::string{kLags}, std::string{kLoopbacks}}) {
    consume(
        table, [this, table](std::string_view key, const Fields& fields) { return set(table, key, fields); },
        [this, table](std::string_view key) { return remove(table, key); }, {.kind = TableKind::Watched});
    explain_made(table, [](std::string_view key) -> std::optional<Target> {
      const Result<ConfigInterfaceKey> parsed = parse_config_interface_key(key);
      return parsed ? std::optional{target_of(*parsed)} : std::nullopt;
    });
  }
  provide(kConfigInterface, [this](std::string_view port) { return written_.contains(port); });
  provide(kConnected, [this](std::string_view gateway) { return !subnets_.port_of(Gateway::of(gateway)).empty(); });
  runtime.explain(kConfigInterface, [](std::string_view port) { return FactOrigin{std::string{table_of(port)}, std::string{port}, ""}; });
  runtime.explain(kConnected, [](std::string_view gateway) {
    const auto [vrf, address] = Gateway::of(gateway);
    const std::string where = vrf.empty() ? std::string{} : " in " + vrf;
    return FactOrigin{"", "", "no row of INTERFACE has a subnet with " + address.to_string() + where + ", and the route names no port"};
  });
}

Outcome InterfaceManager::set(const std::string& table, std::string_view key, const Fields& fields) {
  const std::string source = table + "|" + std::string{key};
  if (auto waits = begin(source)) return *waits;
  const Result<ConfigInterfaceKey> parsed = parse_config_interface_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  if (parsed->address) return set_address(source, parsed->port, *parsed->address);
  return set_base(source, parsed->port, table == kLoopbacks, fields);
}

Outcome InterfaceManager::set_base(const std::string& source, const std::string& port, bool is_loopback, const Fields& fields) {
  const auto row = switch_agent::parse_interface(fields);
  if (!row) return Outcome::reject(row.error());
  set_vrf(port, row->vrf);
  const Fact row_of_port = configured(port);
  if (!is_loopback && !holds(row_of_port)) return Outcome::wait_for(row_of_port);
  const std::vector<Field> wanted{fields.begin(), fields.end()};
  return put(source, {"INTF_TABLE", port}, wanted, [this, port] {
    if (written_.insert(port).second) announce({kConfigInterface, port});
    return Outcome::done();
  });
}

Outcome InterfaceManager::set_address(const std::string& source, const std::string& port, const Prefix& address) {
  // Known from now on, also while the row waits: a static route that an earlier process made must not go meanwhile.
  subnets_.add(port, address);
  notify_gateways(port, address, true);
  const Fact base{kConfigInterface, port};
  if (!holds(base)) return Outcome::wait_for(base);
  const Field wanted[] = {{"scope", "global"}, {"family", address.address.is_v6() ? "IPv6" : "IPv4"}};
  return put(source, target_of({port, address}), wanted, [] { return Outcome::done(); });
}

Outcome InterfaceManager::remove(const std::string& table, std::string_view key) {
  const std::string source = table + "|" + std::string{key};
  const Result<ConfigInterfaceKey> parsed = parse_config_interface_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  return source_deleted(source, target_of(*parsed), [this, port = parsed->port, address = parsed->address] {
    if (address) {
      subnets_.remove(port, *address);
      notify_gateways(port, *address, false);
    } else {
      set_vrf(port, {});
      if (written_.erase(port) != 0) withdraw({kConfigInterface, port});
    }
    return Outcome::done();
  });
}

/// Known from now on, as the addresses are: the subnets of the port move to the other VRF.
void InterfaceManager::set_vrf(const std::string& port, const std::string& vrf) {
  if (subnets_.vrf_of(port) == vrf) return;
  const std::vector<Prefix> addresses = subnets_.addresses_of(port);
  for (const Prefix& address : addresses) notify_gateways(port, address, false);
  subnets_.set_vrf(port, vrf);
  for (const Prefix& address : addresses) notify_gateways(port, address, true);
}

/// The routes of these gateways are handled again: another subnet may contain them, too.
void InterfaceManager::notify_gateways(const std::string& port, const Prefix& address, bool begins) {
  for (const Gateway& gateway : subnets_.gateways_in(subnets_.vrf_of(port), address)) {
    const Fact fact{kConnected, gateway.name()};
    begins ? announce(fact) : withdraw(fact);
  }
}

}  // namespace rondo::managers
