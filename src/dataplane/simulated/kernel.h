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
#include <vector>

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
  /// Returns true if it replaced a route of ours.
  bool add_foreign_route(const Prefix& prefix, std::uint32_t table, std::uint8_t protocol);
  void add_stray_route(const RouteDelete& route) { stray_routes_.insert_or_assign(route, RouteType::Blackhole); }
  bool remove_foreign_route(const Prefix& prefix, std::uint32_t table);
  void set_signal(std::string_view name, bool signal);
  void remove_port(std::string_view name);
  void rename_port(std::string_view name, std::string new_name);

  std::vector<LinkEvent> links() const;
  std::vector<AddressEntry> addresses() const;
  std::vector<NeighborEntry> neighbors() const;
  std::vector<NexthopEntry> nexthops() const;
  void routes(const std::function<void(const RouteEntry&)>& visit) const;
  std::size_t route_count() const noexcept { return routes_.size(); }
  std::optional<RouteEntry> route(const Prefix& prefix, std::uint32_t table) const;
  std::optional<NexthopEntry> nexthop(NexthopId id) const;

  /// The states of ports that changed since the last call, in order.
  std::vector<LinkEvent> take_events();

 private:
  struct Port {
    std::string name;
    MacAddress mac;
    std::uint32_t mtu = 1500;
    bool admin_up = false;
    bool signal = true;
    IfIndex master{};             // The VRF device that it is in.
    std::uint32_t vrf_table = 0;  // Of a VRF device.
    bool ours = false;            // Created by an order.
    std::vector<Prefix> addresses;
    std::map<IpAddress, MacAddress> neighbors;
    bool carrier() const noexcept { return admin_up && signal; }
  };
  // A single next hop (members empty) or a group.
  struct Nexthop {
    IpAddress gateway;
    IfIndex port;
    std::vector<GroupMember> members;
    std::size_t routes = 0;  // The number of routes that use it, so that an unused next hop is removed without a scan of the table.
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
  Verdict apply(const DeviceDelete& order);

  Port* port(IfIndex index);
  std::map<IfIndex, Port>::iterator port_named(std::string_view name);
  Verdict check_gateway(const Port& port, const IpAddress& gateway) const;
  Verdict check_members(const GroupSet& order) const;
  bool serves_v6_routes(NexthopId id) const;
  bool has_v4_gateway(const Nexthop& nexthop) const;
  bool has_v4_gateway(const std::vector<GroupMember>& members) const;
  void count_route(const RouteKey& key, const RouteValue& value, bool added);
  Verdict check_master(const Port& port, IfIndex master) const;
  void set_master(IfIndex index, IfIndex master);
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
  boost::unordered_flat_map<RouteKey, std::uint8_t, RouteKeyHash> foreign_routes_;  // Their protocols.
  std::map<RouteDelete, RouteType> stray_routes_;  // Routes without next hops that have another metric, those of last resort among them.
  std::string held_words_;                         // The text of the latest refusal.
  std::size_t singles_ = 0;
  std::size_t groups_ = 0;
  std::size_t neighbors_ = 0;
  std::uint32_t last_index_ = 0;
  std::vector<LinkEvent> events_;
};

}  // namespace rondo
