// SimKernel: the state and the rules of the simulated data plane, without locks, time or failures. One function per rule; each is also a
// case of src/dataplane/dataplane_contract_test.cc, which compares it with Linux. Used only by plane.cc.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/ip_hash.h"
#include "dataplane/learned.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/simulated.h"

namespace rondo {

/// The kernel's answer: 0, or an errno and its text.
struct Verdict {
  int error_number = 0;
  const char* words = "";
};

class SimKernel {
 public:
  explicit SimKernel(const SimDataPlaneOptions& capacity) : capacity_(capacity) {}

  /// 'order' has passed check_order().
  Verdict execute(const Order& order);

  IfIndex add_port(std::string name);
  IfIndex add_vrf(std::string name, std::uint32_t table, bool ours);
  IfIndex add_bridge(std::string name, bool ours);
  IfIndex add_bond(std::string name, BondMode mode, std::uint16_t min_links, bool ours);
  /// A frame from the station arrives at the port: its bridge learns it.
  void hear(std::string_view port, const MacAddress& station);
  /// The kernel's ageing: the bridge forgets what it has learned.
  void age(std::string_view bridge, const MacAddress& station);
  /// Entries of other programs. They return the port of the entry, 0 if there is none.
  IfIndex add_external_entry(std::string_view port, const MacAddress& station) {
    return add_entry(port, station, Port::EntryKind::External);
  }
  IfIndex add_movable_entry(std::string_view port, const MacAddress& station) { return add_entry(port, station, Port::EntryKind::Movable); }
  IfIndex add_dynamic_entry(std::string_view port, const MacAddress& station) { return add_entry(port, station, Port::EntryKind::Learned); }
  IfIndex remove_external_entry(std::string_view bridge, const MacAddress& station);
  /// Returns true if it replaced a route of ours.
  bool add_foreign_route(const Prefix& prefix, std::uint32_t table, std::uint8_t protocol);
  void add_stray_route(const RouteDelete& route) { stray_routes_.insert_or_assign(route, RouteType::Blackhole); }
  bool remove_foreign_route(const Prefix& prefix, std::uint32_t table);
  void add_foreign_nexthop(NexthopId id, const IpAddress& gateway, IfIndex port, std::uint8_t protocol);
  bool remove_foreign_nexthop(NexthopId id);
  void set_signal(std::string_view name, bool signal);
  void set_mtu_max(std::string_view name, std::uint32_t mtu);
  void set_in_use(std::string_view name, bool in_use);
  void remove_port(std::string_view name);
  void rename_port(std::string_view name, std::string new_name);
  void alter(std::string_view name);

  std::vector<LinkEvent> links() const;
  std::vector<AddressEntry> addresses() const;
  std::vector<NeighborEntry> neighbors() const;
  std::vector<FdbEntry> fdb() const;
  /// What bridges have learned.
  std::vector<FdbEvent> learned() const;
  std::vector<NexthopEntry> nexthops() const;
  void routes(const std::function<void(const RouteEntry&)>& visit) const;
  std::size_t route_count() const noexcept { return routes_.size(); }
  std::optional<RouteEntry> route(const Prefix& prefix, std::uint32_t table) const;
  std::optional<NexthopEntry> nexthop(NexthopId id) const;

  /// The states of ports that changed since the last call, in order.
  std::vector<LinkEvent> take_events();
  /// What bridges learned and forgot since then, and the static entries that went with a port.
  std::vector<FdbEvent> take_fdb_events() { return std::exchange(fdb_events_, {}); }

 private:
  struct Port {
    std::string name;
    MacAddress mac;
    std::uint32_t mtu = 1500;
    std::uint32_t mtu_max = 65535;
    bool in_use = false;  // Another program has put a device on it, such as a macvlan, so that it can enter no bond.
    bool admin_up = false;
    bool signal = true;
    IfIndex master{};             // The VRF device, bridge or bond that it is in.
    std::uint32_t vrf_table = 0;  // Set for a VRF device.
    bool ours = false;            // Created by an order.
    bool bridge = false;
    bool has_own_mtu = false;  // Set for a bridge or a bond: an order has set it, so that it does not follow the ports.
    bool has_own_mac = false;
    enum class EntryKind : std::uint8_t { Static, Movable, Learned, External };  // Movable: static, but not sticky.
    struct Station {
      IfIndex port;
      EntryKind kind = EntryKind::Static;
    };
    std::map<MacAddress, Station> fdb;  // Entries of a bridge, without the addresses of its own ports.
    std::uint16_t vlan = 0;             // Set for an 802.1Q device.
    IfIndex lower{};
    BondMode bond = BondMode::None;
    std::uint16_t min_links = 0;  // Set for a bond.
    bool altered = false;         // See LinkEvent.
    /// What a port in a bond had before, and has again when it leaves.
    std::uint32_t own_mtu = 0;
    MacAddress own_mac;
    std::vector<Prefix> addresses;
    std::map<IpAddress, MacAddress> neighbors;
    bool carrier() const noexcept { return admin_up && signal; }
  };
  // A single next hop (members empty) or a group.
  struct Nexthop {
    IpAddress gateway;
    IfIndex port;
    bool onlink = false;
    std::vector<GroupMember> members;
    std::uint8_t foreign = 0;  // The protocol of another program that made it.
    std::size_t routes = 0;    // The number of routes that use it, so that an unused next hop is removed without a scan of the table.
    std::size_t v6_routes = 0;
    bool is_group() const noexcept { return !members.empty(); }
  };
  struct RouteKey {
    Prefix prefix;
    std::uint32_t table;
    friend bool operator==(const RouteKey&, const RouteKey&) = default;
  };
  struct RouteKeyHash {
    using is_avalanching = void;
    std::size_t operator()(const RouteKey& key) const noexcept { return IpHash{}(key.prefix) ^ (key.table * 0x9e3779b97f4a7c15U); }
  };
  struct RouteValue {
    NexthopId nexthop;
    RouteType type;
  };

  Verdict apply(const RouteSet& order);
  Verdict apply(const RouteDelete& order);
  Verdict apply(const GroupSet& order);
  Verdict apply(const NexthopSet& order);
  Verdict apply(const NexthopDelete& order);
  Verdict apply(const NeighborSet& order);
  Verdict apply(const NeighborDelete& order);
  Verdict apply(const AddressSet& order);
  Verdict apply(const AddressDelete& order);
  Verdict apply(const LinkSet& order);
  Verdict apply(const VrfSet& order);
  Verdict apply(const BridgeSet& order);
  Verdict apply(const BondSet& order);
  Verdict apply(const TaggedPortSet& order);
  Verdict apply(const DeviceDelete& order);
  Verdict apply(const FdbSet& order);
  Verdict apply(const FdbDelete& order);

  Port* port(IfIndex index);
  std::map<IfIndex, Port>::iterator port_named(std::string_view name);
  Verdict check_gateway(const Port& port, const IpAddress& gateway, bool onlink) const;
  Verdict check_members(const GroupSet& order) const;
  bool has_address(const IpAddress& address) const;
  void set_source(const RouteKey& key, const IpAddress& source);
  void address_went(const Prefix& address);
  Verdict held(const Nexthop& nexthop);
  static NexthopEntry entry_of(NexthopId id, const Nexthop& nexthop);
  bool serves_v6_routes(NexthopId id) const;
  bool has_v4_gateway(const Nexthop& nexthop) const;
  bool has_v4_gateway(const std::vector<GroupMember>& members) const;
  void count_route(const RouteKey& key, const RouteValue& value, bool added);
  Verdict check_master(const Port& port, IfIndex master) const;
  void set_master(IfIndex index, IfIndex master);
  Verdict set_up(IfIndex index, bool up);
  void carrier_changed(IfIndex port);
  void follow_ports(IfIndex bridge);
  void lower_tagged_mtus(IfIndex port);
  void forget_stations(IfIndex bridge, IfIndex port, bool learned_only);
  void report_fdb(IfIndex bridge, const MacAddress& mac, const Port::Station& station, bool removed);
  IfIndex add_entry(std::string_view port, const MacAddress& station, Port::EntryKind kind);
  Port* bridge_of(IfIndex port);
  bool is_own_address(IfIndex bridge, const MacAddress& mac) const;
  const char* holder_of(IfIndex bridge, const MacAddress& mac) const;
  Verdict check_bond(const Port& port, const Port& bond) const;
  Verdict check_mtu(IfIndex index, const Port& device, std::uint32_t mtu) const;
  void set_mac(IfIndex index, const MacAddress& mac);
  bool is_bond(IfIndex device) const;
  std::vector<IfIndex> ports_of(IfIndex bond) const;
  void enter_bond(IfIndex port, IfIndex bond);
  void leave_bond(IfIndex port, IfIndex bond);
  void set_ports_of(IfIndex bond);
  void follow_members(IfIndex bond);
  void went_down(IfIndex index);
  void lost_carrier(IfIndex index);
  void remove(std::map<IfIndex, Port>::iterator device);
  void remove_nexthops(std::set<NexthopId> gone);
  void remove_routes_of(const std::set<NexthopId>& gone);
  LinkEvent event_of(IfIndex index, const Port& port) const;
  void changed(IfIndex index) { events_.push_back(event_of(index, ports_.at(index))); }

  const SimDataPlaneOptions& capacity_;
  std::map<IfIndex, Port> ports_;
  std::map<NexthopId, Nexthop> nexthops_;
  boost::unordered_flat_map<RouteKey, RouteValue, RouteKeyHash> routes_;
  boost::unordered_flat_map<RouteKey, IpAddress, RouteKeyHash> sources_;            // Sources of the routes that have one.
  boost::unordered_flat_map<RouteKey, std::uint8_t, RouteKeyHash> foreign_routes_;  // Their protocols.
  std::map<RouteDelete, RouteType> stray_routes_;  // Routes without next hops that have another metric, those of last resort among them.
  std::string held_words_;                         // The text of the latest refusal.
  std::size_t singles_ = 0;
  std::size_t groups_ = 0;
  std::size_t neighbors_ = 0;
  std::uint32_t last_index_ = 0;
  std::uint8_t last_made_mac_ = 0;
  std::vector<LinkEvent> events_;
  std::vector<FdbEvent> fdb_events_;
};

}  // namespace rondo
