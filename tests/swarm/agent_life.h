// AgentLife: a random life of the whole switch agent compared with a plain model: rows in any order, ports that flap, disappear and
// return, failing orders, and all faults of a FaultPlan. When the world has calmed down, the kernel must match the model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../agent_lines.h"
#include "life.h"
#include "switch_agent/agent.h"

namespace rondo::swarm {

using switch_agent::DesiredState;
using switch_agent::Lines;

inline constexpr std::uint64_t kPorts = 4;
inline constexpr std::uint64_t kHosts = 3;  // Neighbours per family on a port.

/// The names of a port and of the objects on it, made once.
struct PortNames {
  using OfFamily = std::array<std::string, 2>;  // Indexed by whether it is IPv6.
  std::string port;
  std::array<OfFamily, 2> addresses;
  std::array<OfFamily, kHosts> gateways;

  explicit PortNames(std::uint64_t of) : port("Eth" + std::to_string(of)) {
    const std::string number = std::to_string(of + 1);
    const OfFamily subnet{"10." + number + ".0.", "2001:db8:" + number + "::"};
    for (std::size_t which = 0; which < addresses.size(); ++which) {
      const std::string host = std::to_string(which + 1);
      addresses[which] = {subnet[0] + host + "/24", subnet[1] + host + "/64"};
    }
    for (std::size_t which = 0; which < gateways.size(); ++which) {
      const std::string host = "1" + std::to_string(which);
      gateways[which] = {subnet[0] + host, subnet[1] + host};
    }
  }
  static const PortNames& of(std::uint64_t port) {
    static const std::array<PortNames, kPorts> kAll{PortNames{0}, PortNames{1}, PortNames{2}, PortNames{3}};
    return kAll[port];
  }
};

inline const std::string& port_name(std::uint64_t port) { return PortNames::of(port).port; }
inline const std::string& address_of(std::uint64_t port, std::uint64_t which, bool ipv6) {
  return PortNames::of(port).addresses[which][ipv6 ? 1 : 0];
}
inline const std::string& gateway_of(std::uint64_t port, std::uint64_t host, bool ipv6) {
  return PortNames::of(port).gateways[host][ipv6 ? 1 : 0];
}

class AgentLife final : public Life {
 public:
  /// The seed determines its world: the store, the faults, the policy.
  explicit AgentLife(std::uint64_t seed);
  static sim::WorldOptions drawn_world(std::uint64_t seed);
  /// True if other programs change the kernel and audits repair that.
  enum class Others { Leave, Meddle, MeddleWithVrfs, MeddleWithVlans, MeddleWithLags };
  AgentLife(std::uint64_t seed, sim::WorldOptions options, Others others = Others::Leave);

  sim::World& world() override { return *world_; }
  void act() override;
  void calm_down() override;
  /// Every port comes up, and then some are removed: the kernel must match the rows and the ports exactly.
  void end() override;

 private:
  struct Process;

  Status check() const;
  std::string told_wrong() const;
  bool has_unsettled() const;
  std::string waiting() const;

  // --- Ports and rows (agent_life_rows.cc).

  SimDataPlane& plane() { return world_->plane(); }
  bool is_settled(std::string_view table, std::string_view key) const;
  void add_device(std::uint64_t port);
  void later(std::function<void()> what) { world_->after(Duration{static_cast<std::int64_t>(random_.below(400'000))}, std::move(what)); }

  /// A deleted row is set again only when its Delete is handled: until then the Set waits behind it.
  bool may_set(std::string_view table, std::string_view key);
  void erase(std::string_view table, const std::string& key);
  void set_port(std::uint64_t port, bool up);
  void set_base(std::uint64_t port);
  void set_address(std::uint64_t port, std::uint64_t which, bool ipv6);
  void erase_address(const std::pair<std::string, std::string>& address);
  void set_neighbor(std::uint64_t port, std::uint64_t host, bool ipv6);
  void erase_neighbor(const std::pair<std::string, std::string>& place);
  DesiredState::Hops random_hops(bool ipv6);
  struct HopFields {
    std::string gateways, ports, weights;
  };
  static HopFields fields_of(const DesiredState::Hops& hops);
  void set_group(std::uint64_t group);
  void erase_group(const std::string& name);
  /// Odd numbers are IPv6.
  static std::string route_of(std::uint64_t number);
  void set_route(std::uint64_t number, const char* vrf = "");
  void erase_route(const std::string& prefix);
  template <class Container>
  auto any_of(const Container& container) {
    return std::next(container.begin(), static_cast<std::ptrdiff_t>(random_.below(container.size())));
  }

  void operate();
  void flap(std::uint64_t port);
  void replace_device(std::uint64_t port);
  static constexpr std::array<NexthopId, 2> kForeign{NexthopId{7}, NexthopId{8}};  // Indexed by whether it is IPv6.
  static bool is_ipv6(const NexthopEntry& one, const std::vector<NexthopEntry>& all);
  /// Another program changes an object, or creates one with our number. Changes that the kernel refuses have no effect.
  void meddle();
  void meddle(const Order& order);
  void trouble();
  /// Deletes rows that refer to missing rows, from the top down.
  void close();
  bool has_address(const std::string& port, const std::string& gateway) const;

  // --- VRFs (agent_life_vrfs.cc).

  void set_vrf();
  void set_vrf_of(const std::string& port, const std::string& vrf);
  void operate_vrfs();
  void meddle_with_vrfs(const std::string& port);
  /// Without the VRF, no row may name it.
  void close_vrfs();

  // --- VLANs (agent_life_vlans.cc): of ports of their own, because the others are interfaces of the router.

  static constexpr std::array kVlanNames{"Vlan10", "Vlan20"};
  static constexpr std::array kVlanPortNames{"V0", "V1"};
  static constexpr const char* kVlanAddress = "10.77.0.1/24";  // Address of the first VLAN.
  static constexpr std::uint64_t kStations = 4;
  static std::string station(std::uint64_t number) { return "02:00:00:00:77:0" + std::to_string(number); }

  void begin_vlans();
  void set_vlan(const std::string& vlan);
  void set_vlan_interface();
  /// operate() may have deleted the address alone.
  void erase_vlan_interface();
  /// A port is an untagged member of one VLAN at most.
  void set_member(const std::string& vlan, const std::string& port, bool tagged);
  void erase_member(const std::pair<std::string, std::string>& place);
  void erase_entry(const std::pair<std::string, std::string>& place);
  void operate_vlans();
  void meddle_with_vlans(const std::string& vlan, const std::string& port, const std::string& mac);
  bool has_device(const std::string& name);
  bool is_in(const std::string& port, const std::string& vlan);
  /// Without its VLAN or its port there is no member, and without the member no entry. Entries of another control plane go.
  void close_vlans();

  // --- LAGs (agent_life_lags.cc): of ports of their own, too. The first one has an address, a neighbour and a route.

  static constexpr std::array kLagNames{"PortChannel1", "PortChannel2"};
  static constexpr std::array kLagPortNames{"L0", "L1", "L2"};
  static constexpr const char* kLagAddress = "10.78.0.1/24";
  static constexpr const char* kLagNeighbor = "10.78.0.2";
  static constexpr const char* kLagRoute = "172.16.0.0/12";

  void begin_lags();
  void set_lag(const std::string& lag);
  void set_lag_interface();
  void erase_lag_interface();
  void erase_lag_member(const std::string& port);
  void operate_lags();
  void meddle_with_lags(const std::string& lag, const std::string& port);
  /// Without its LAG there is no member, and without a member no carrier and so no interface.
  void close_lags();
  /// A port without a row that another program puts into a bond of ours stays there until the next restart (docs/guide/from-sonic.md).
  /// The other program takes it out, and sets it up again.
  void take_out_strange_ports();
  void raise_lag_ports();

  const switch_agent::SwitchAgent* agent_ = nullptr;  // The one of the process that runs.
  std::unique_ptr<sim::World> world_;
  Random random_;
  const Others others_;
  Lines rejects_;
  DesiredState desired_;
  std::set<std::uint64_t> devices_;
  std::set<std::uint64_t> bases_;
  bool has_lag_interface_ = false;                                          // The row of the first LAG in INTF_TABLE.
  bool has_vlan_interface_ = false;                                         // The row of the first VLAN in INTF_TABLE.
  std::map<std::string_view, std::set<std::string, std::less<>>> deleted_;  // Keys by table.
  bool is_whole_ = false;                                                   // Every port has been up since the last change.
};

}  // namespace rondo::swarm
