#include "dataplane/reconciler.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "dataplane/ip_hash.h"

namespace rondo {

namespace {

std::vector<GroupMember> sorted(std::vector<GroupMember> members) {
  std::ranges::sort(members, {}, [](const GroupMember& member) { return std::pair{member.nexthop.value(), member.weight}; });
  return members;
}

bool makes_device(const Order& order) noexcept {
  return std::holds_alternative<VrfSet>(order) || std::holds_alternative<BridgeSet>(order) ||
         std::holds_alternative<TaggedPortSet>(order) || std::holds_alternative<BondSet>(order);
}

/// A VRF or a bond takes its ports down.
bool is_port_owner(const LinkEvent& device) noexcept { return device.vrf_table != 0 || device.bond != BondMode::None; }

}  // namespace

/// The objects read from the kernel whose reading is still valid, and which of them no row has asked for.
struct Reconciler::Known {
  static constexpr std::size_t kSources = 64;
  struct RouteKey {
    Prefix prefix;
    std::uint32_t table = kMainTable;
    std::uint32_t metric = kOwnMetric;
    std::uint8_t tos = 0;
    friend bool operator==(const RouteKey&, const RouteKey&) = default;
  };
  struct RouteHash {
    using is_avalanching = void;
    std::size_t operator()(const RouteKey& key) const noexcept {
      return IpHash{}(key.prefix) ^ ((std::size_t{key.table} + key.tos + (std::size_t{~key.metric} << 32U)) * 0x9e3779b97f4a7c15);
    }
  };
  struct Route {
    NexthopId nexthop;
    RouteType type = RouteType::Unicast;
    bool believed : 1 = true;
    bool flawed : 1 = false;   // Another program changed it, or put one of its own before it.
    std::uint16_t source = 0;  // Into 'sources'.
  };
  struct Nexthop {
    NexthopEntry entry;
    bool wanted = false;
  };
  using Place = std::pair<std::uint32_t, IpAddress>;  // Port, address.

  boost::unordered_flat_map<RouteKey, Route, RouteHash> routes;  // Routes that no row has asked for.
  std::vector<IpAddress> sources{IpAddress{}};                   // Sources of routes: few, so that a route has only a number.
  std::map<NexthopId, Nexthop> nexthops;                         // Set by a reading; an order that changes one removes it.
  std::set<NexthopId> unwanted_nexthops;
  std::set<NexthopId> changing_groups;  // Groups that exist; it is unknown whether they have the old or the new members.
  struct Neighbor {
    MacAddress mac;
    bool wanted = false;
    bool believed = true;
  };
  std::map<Place, Neighbor> neighbors;  // Set by a reading; an order that changes one makes its reading invalid.
  using AddressKey = std::tuple<std::uint32_t, IpAddress, std::uint8_t>;  // Port, address, length.
  std::set<AddressKey> addresses;
  std::set<AddressKey> unwanted_addresses;  // Those with our protocol number.
  std::map<std::uint32_t, LinkEvent> links;
  std::map<std::string, LinkEvent, std::less<>> devices;  // Devices of an earlier run, by name.
  std::set<std::uint32_t> unwanted_devices;
  using FdbKey = std::pair<MacAddress, std::uint32_t>;  // Address, port.
  struct Fdb {
    IfIndex bridge;
    bool is_sticky = true;
    bool wanted = false;
    bool believed = true;
  };
  std::map<FdbKey, Fdb> fdb;  // The static entries as read; an order that changes one makes its reading invalid.

  /// Empty beyond as many sources as a number can name: their routes are ordered again.
  std::optional<std::uint16_t> number_of_source(const IpAddress& source) {
    if (source == IpAddress{}) return std::uint16_t{0};
    auto known = std::ranges::find(sources, source);
    if (known == sources.end()) {
      if (sources.size() > kSources) return std::nullopt;
      known = sources.insert(known, source);
    }
    return static_cast<std::uint16_t>(known - sources.begin());
  }

  bool is_there(const Order& order) const {
    return std::visit([this](const auto& one) { return meets(one); }, order);
  }
  /// Called for an order that asks for the present state: the object is not unwanted any more.
  void asked_for(const Order& order) {
    std::visit([this](const auto& one) { take_up(one); }, order);
  }
  /// Called before an order is carried out: the reading of its object is no longer valid.
  void doubt(const Order& order) {
    std::visit([this](const auto& one) { disbelieve(one); }, order);
  }
  /// Called after an order was carried out: its object is not unwanted any more.
  void carried_out(const Order& order) {
    std::visit([this](const auto& one) { forget(one); }, order);
  }

  bool meets(const RouteSet& order) const {
    const auto found = routes.find(key_of(order));
    if (found == routes.end()) return false;
    const Route& route = found->second;
    if (!route.believed || route.flawed || route.type != order.type || route.nexthop != order.nexthop) return false;
    if (sources[route.source] != order.source) return false;
    return !order.nexthop || is_wanted(order.nexthop);
  }
  bool meets(const NexthopSet& order) const {
    const auto found = nexthops.find(order.id);
    return found != nexthops.end() && found->second.entry.members.empty() && found->second.entry.gateway == order.gateway &&
           found->second.entry.port == order.port && found->second.entry.onlink == order.onlink;
  }
  bool meets(const GroupSet& order) const {
    const auto found = nexthops.find(order.id);
    return found != nexthops.end() && sorted(found->second.entry.members) == sorted(order.members) &&
           std::ranges::all_of(order.members, [this](const GroupMember& member) { return is_wanted(member.nexthop); });
  }
  bool meets(const NeighborSet& order) const {
    const auto found = neighbors.find({order.port.value(), order.address});
    return found != neighbors.end() && found->second.believed && found->second.mac == order.mac;
  }
  bool meets(const AddressSet& order) const { return addresses.contains(key_of(order.port, order.address)); }
  bool meets(const LinkSet& order) const {
    const auto found = links.find(order.port.value());
    if (found == links.end()) return false;
    const LinkEvent& link = found->second;
    return (!order.up || *order.up == link.admin_up) && (!order.mtu || *order.mtu == link.mtu) &&
           (!order.master || *order.master == link.master) && (!order.mac || *order.mac == link.mac);
  }
  bool meets(const VrfSet& order) const {
    const auto found = devices.find(order.name);
    return found != devices.end() && found->second.vrf_table == order.table;
  }
  bool meets(const BridgeSet& order) const {
    const auto found = devices.find(order.name);
    return found != devices.end() && found->second.bridge && !order.device;
  }
  bool meets(const TaggedPortSet& order) const {
    const auto found = devices.find(order.name);
    if (found == devices.end()) return false;
    const LinkEvent& device = found->second;
    return device.vlan == order.vlan && device.lower == order.port && device.master == order.bridge;
  }
  /// An order without a device only creates, so a bond with other min_links meets it.
  bool meets(const BondSet& order) const {
    const auto found = devices.find(order.name);
    if (found == devices.end() || found->second.bond != order.mode) return false;
    return !order.device || (order.device == found->second.port && order.min_links == found->second.min_links && !found->second.altered);
  }
  bool meets(const FdbSet& order) const {
    const auto found = fdb.find(key_of(order));
    return found != fdb.end() && found->second.believed;
  }
  template <class Delete>
  bool meets(const Delete&) const {
    return false;
  }

  /// True if an earlier run left the route, and no other program touched it.
  bool is_whole(const RouteSet& order) const {
    const auto found = routes.find(key_of(order));
    return found != routes.end() && !found->second.flawed;
  }
  void take_up(const RouteSet& order) { forget_route(key_of(order)); }
  void take_up(const VrfSet& order) { forget(order); }
  void take_up(const BridgeSet& order) { forget(order); }
  void take_up(const TaggedPortSet& order) { forget(order); }
  void take_up(const BondSet& order) { forget(order); }
  void take_up(const FdbSet& order) { fdb.at(key_of(order)).wanted = true; }
  void take_up(const NexthopSet& order) { want(order.id); }
  void take_up(const GroupSet& order) { want(order.id); }
  void take_up(const NeighborSet& order) { neighbors.at({order.port.value(), order.address}).wanted = true; }
  void take_up(const AddressSet& order) { want(order); }
  template <class Other>
  void take_up(const Other&) {}

  void disbelieve(const RouteSet& order) { disbelieve_route(key_of(order)); }
  void disbelieve(const RouteDelete& order) { disbelieve_route({order.prefix, order.table, order.metric, order.tos}); }
  void disbelieve(const NexthopSet& order) { nexthops.erase(order.id); }
  void disbelieve(const GroupSet& order) {
    if (nexthops.erase(order.id) != 0) changing_groups.insert(order.id);
  }
  /// The kernel drops a group with its last member, and the group's routes.
  void disbelieve(const NexthopDelete& order) {
    std::erase_if(nexthops, [&order](const auto& known) {
      return known.first == order.id ||
             std::ranges::any_of(known.second.entry.members, [&](const auto& m) { return m.nexthop == order.id; });
    });
    changing_groups.clear();
  }
  void disbelieve(const NeighborSet& order) { disbelieve_neighbor(order.port, order.address); }
  void disbelieve(const NeighborDelete& order) { disbelieve_neighbor(order.port, order.address); }
  void disbelieve(const AddressSet&) {}
  /// The kernel drops a port's neighbours with the last address of their family on it.
  void disbelieve(const AddressDelete& order) {
    addresses.erase(key_of(order.port, order.address));
    for (auto it = neighbors.lower_bound({order.port.value(), IpAddress{}}); it != neighbors.end(); ++it) {
      if (it->first.first != order.port.value()) break;
      if (it->first.second.is_v6() == order.address.address.is_v6()) it->second.believed = false;
    }
  }
  void disbelieve(const LinkSet& order) { disbelieve_link(order.port, order.master.has_value()); }
  void disbelieve(const VrfSet&) {}
  void disbelieve(const BridgeSet&) {}
  void disbelieve(const TaggedPortSet&) {}
  void disbelieve(const BondSet& order) {
    const auto found = devices.find(order.name);
    if (found == devices.end() || !order.device) return;
    found->second.min_links = order.min_links;
    found->second.altered = false;
  }
  void disbelieve(const FdbSet& order) {  // It may move the entry from another port.
    for (auto it = fdb.lower_bound({order.mac, 0}); it != fdb.end() && it->first.first == order.mac; ++it) it->second.believed = false;
  }
  void disbelieve(const FdbDelete& order) {
    const auto found = fdb.find(key_of(order));
    if (found != fdb.end()) found->second.believed = false;
  }
  void disbelieve(const DeviceDelete& order) {
    std::erase_if(devices, [&order](const auto& known) { return known.second.port == order.device; });
    std::erase_if(fdb, [&order](const auto& known) { return known.second.bridge == order.device; });
  }
  /// The kernel drops the neighbours of a device whose address changes.
  void disbelieve_neighbors(IfIndex port) {
    for (auto it = neighbors.lower_bound({port.value(), IpAddress{}}); it != neighbors.end() && it->first.first == port.value(); ++it) {
      it->second.believed = false;
    }
  }
  /// A port that leaves a bridge loses its entries there, and the same keys then name entries of another bridge. The audit after the
  /// restart finds those that stayed because the order was refused.
  void disbelieve_link(IfIndex port, bool is_moved) {
    links.erase(port.value());
    if (!is_moved) return;
    std::erase_if(fdb, [port](const auto& known) { return known.first.second == port.value(); });
    for (auto& [name, device] : devices) {
      if (device.port == port) device.master = {};
    }
  }

  void forget(const RouteSet& order) { forget_route(key_of(order)); }
  void forget(const VrfSet& order) { want_device(order.name); }
  void forget(const BridgeSet& order) { want_device(order.name); }
  void forget(const TaggedPortSet& order) { want_device(order.name); }
  void forget(const BondSet& order) { want_device(order.name); }
  void forget(const FdbSet& order) { fdb.erase(key_of(order)); }
  void forget(const FdbDelete& order) { fdb.erase(key_of(order)); }
  void forget(const DeviceDelete& order) { unwanted_devices.erase(order.device.value()); }
  void forget(const RouteDelete& order) { forget_route({order.prefix, order.table, order.metric, order.tos}); }
  void forget(const NexthopSet& order) { unwanted_nexthops.erase(order.id); }
  /// A replaced group never disappears, so the routes that refer to its number remain.
  void forget(const GroupSet& order) {
    unwanted_nexthops.erase(order.id);
    if (changing_groups.erase(order.id) == 0) return;
    Nexthop changed{.entry = {}, .wanted = true};
    changed.entry.id = order.id;
    changed.entry.members = order.members;
    nexthops.insert_or_assign(order.id, std::move(changed));
  }
  void forget(const NexthopDelete& order) { unwanted_nexthops.erase(order.id); }
  void forget(const NeighborSet& order) { neighbors.erase({order.port.value(), order.address}); }
  void forget(const NeighborDelete& order) { neighbors.erase({order.port.value(), order.address}); }
  void forget(const AddressSet& order) { want(order); }
  void forget(const AddressDelete& order) { unwanted_addresses.erase(key_of(order.port, order.address)); }
  template <class Other>
  void forget(const Other&) {}

  static RouteKey key_of(const RouteSet& order) { return {order.prefix, order.table, order.last_resort ? kLastResortMetric : kOwnMetric}; }
  static FdbKey key_of(const FdbSet& order) { return {order.mac, order.port.value()}; }
  static FdbKey key_of(const FdbDelete& order) { return {order.mac, order.port.value()}; }
  static AddressKey key_of(IfIndex port, const Prefix& address) { return {port.value(), address.address, address.length}; }

  /// Frees the table with its last route, on the programming thread: for a million routes that takes milliseconds, too long for a turn.
  void forget_route(const RouteKey& key) {
    if (routes.erase(key) != 0 && routes.empty()) routes = {};
  }
  void disbelieve_route(const RouteKey& key) {
    const auto found = routes.find(key);
    if (found != routes.end()) found->second.believed = false;
  }
  void disbelieve_neighbor(IfIndex port, const IpAddress& address) {
    const auto found = neighbors.find({port.value(), address});
    if (found != neighbors.end()) found->second.believed = false;
  }
  /// IPv6 identifies an address by its bits alone: an address set with another length is the one already present.
  void want(const AddressSet& order) {
    const IpAddress& address = order.address.address;
    const auto key = [&](std::uint8_t length) { return AddressKey{order.port.value(), address, length}; };
    unwanted_addresses.erase(key(order.address.length));
    if (address.is_v6()) unwanted_addresses.erase(unwanted_addresses.lower_bound(key(0)), unwanted_addresses.upper_bound(key(128)));
  }
  void want_device(const std::string& name) {
    const auto found = devices.find(name);
    if (found != devices.end()) unwanted_devices.erase(found->second.port.value());
  }
  void want(NexthopId id) {
    nexthops.at(id).wanted = true;
    unwanted_nexthops.erase(id);
  }
  bool is_wanted(NexthopId id) const {
    const auto found = nexthops.find(id);
    return found != nexthops.end() && found->second.wanted;
  }
};

Reconciler::Reconciler(DataPlane& plane) : plane_(plane), known_(std::make_unique<Known>()) {}
Reconciler::~Reconciler() = default;

Status Reconciler::read() {
  known_ = std::make_unique<Known>();  // An earlier call may have failed half way.
  seen_.clear();
  Known& known = *known_;
  const Status routes = plane_.routes([&known](const RouteEntry& route) {
    const std::optional<std::uint16_t> source = known.number_of_source(route.source);
    known.routes.emplace(Known::RouteKey{route.prefix, route.table, route.metric, route.tos},
                         Known::Route{.nexthop = route.nexthop,
                                      .type = route.type,
                                      .believed = source.has_value(),
                                      .flawed = route.has_metrics || route.is_outranked,
                                      .source = source.value_or(0)});
  });
  if (!routes.ok()) return routes;
  auto nexthops = plane_.nexthops();
  if (!nexthops) return nexthops.error();
  for (const NexthopEntry& entry : *nexthops) {
    known.nexthops.emplace(entry.id, Known::Nexthop{entry, false});
    known.unwanted_nexthops.insert(entry.id);
  }
  nexthops_ = std::move(*nexthops);
  const auto neighbors = plane_.neighbors();
  if (!neighbors) return neighbors.error();
  for (const NeighborEntry& entry : *neighbors)
    known.neighbors.emplace(Known::Place{entry.port.value(), entry.address}, Known::Neighbor{entry.mac});
  const auto addresses = plane_.addresses();
  if (!addresses) return addresses.error();
  for (const AddressEntry& entry : *addresses) {
    known.addresses.insert(Known::key_of(entry.port, entry.address));
    if (entry.ours) known.unwanted_addresses.insert(Known::key_of(entry.port, entry.address));
  }
  const auto links = plane_.links();
  if (!links) return links.error();
  for (const LinkEvent& link : *links) {
    known.links.emplace(link.port.value(), link);
    if (!link.ours) continue;
    known.devices.emplace(link.name, link);
    known.unwanted_devices.insert(link.port.value());
  }
  ports_ = *links;
  for (const LinkEvent& link : ports_) seen_.emplace(link.port, Seen{.last = link});
  const auto entries = plane_.fdb();
  if (!entries) return entries.error();
  for (const FdbEntry& entry : *entries)
    known.fdb.emplace(Known::FdbKey{entry.mac, entry.port.value()},
                      Known::Fdb{.bridge = entry.bridge, .is_sticky = entry.is_sticky, .believed = entry.is_sticky});
  found_ = known.routes.size() + known.nexthops.size() + known.neighbors.size() + known.unwanted_addresses.size() +
           known.unwanted_devices.size() + known.fdb.size();
  return {};
}

const std::vector<NexthopEntry>& Reconciler::known_nexthops() const noexcept { return nexthops_; }

std::vector<AddressEntry> Reconciler::known_addresses() const {
  std::vector<AddressEntry> entries;
  if (known_ == nullptr) return entries;
  for (const Known::AddressKey& key : known_->addresses) {
    const auto& [port, address, length] = key;
    entries.push_back({IfIndex{port}, {address, length}, known_->unwanted_addresses.contains(key)});
  }
  return entries;
}

std::vector<NeighborEntry> Reconciler::known_neighbors() const {
  std::vector<NeighborEntry> entries;
  if (known_ == nullptr) return entries;
  for (const auto& [place, neighbor] : known_->neighbors) entries.push_back({IfIndex{place.first}, place.second, neighbor.mac});
  return entries;
}

void Reconciler::distrust() noexcept { trusts_.store(false, std::memory_order_relaxed); }

void Reconciler::link_event(const LinkEvent& event) {
  const auto it = seen_.find(event.port);
  if (it == seen_.end()) {
    const std::lock_guard lock(mutex_);
    const auto known = made_.find(event.port);
    const Device last = known == made_.end() ? Device{} : known->second;
    const bool is_lost = (last.carrier && !event.carrier) || (last.admin_up && !event.admin_up) || (event.removed && known != made_.end());
    if (is_lost && !event.ours) distrust();  // A new bridge of ours has a carrier for a moment, before anything is on it.
    if (event.removed)
      made_.erase(event.port);
    else
      made_.insert_or_assign(event.port, Device{event.master, is_port_owner(event), event.admin_up, event.carrier});
    return;
  }
  Seen& seen = it->second;
  const LinkEvent before = std::exchange(seen.last, event);
  const bool is_renamed = before.name != event.name;  // Its objects are deleted under the old name.
  if ((before.carrier && !event.carrier) || (before.admin_up && !event.admin_up) || event.removed || is_renamed) distrust();
  const bool is_moved = before.master != event.master;
  const bool has_new_mac = before.mac != event.mac;
  const bool has_new_links = before.min_links != event.min_links || before.altered != event.altered;
  const bool is_changed = has_new_links || before.admin_up != event.admin_up || before.mtu != event.mtu || has_new_mac;
  // Each kind of doubt once; the last event has the current settings of a bond.
  if (!has_new_links && !(is_moved && !seen.is_moved) && !(has_new_mac && !seen.has_new_mac) && !(is_changed && !seen.is_doubted)) return;
  // Without trust only a move counts: the entries that were read on the port are not those of the other bridge, so they are not deleted.
  if (!is_moved && !trusts_.load(std::memory_order_relaxed)) return;
  seen.is_moved = seen.is_moved || is_moved;
  seen.has_new_mac = seen.has_new_mac || has_new_mac;
  seen.is_doubted = true;
  const std::lock_guard lock(mutex_);
  doubts_.push_back({event.port, is_moved, has_new_mac, event.min_links, event.altered});
  has_doubts_.store(true, std::memory_order_relaxed);
}

/// Events that were handled before an order was submitted are known here before it is carried out.
void Reconciler::take_doubts() {
  if (!has_doubts_.load(std::memory_order_relaxed)) return;
  std::vector<Doubt> doubts;
  {
    const std::lock_guard lock(mutex_);
    doubts.swap(doubts_);
    has_doubts_.store(false, std::memory_order_relaxed);
  }
  for (const Doubt& doubt : doubts) {
    known_->disbelieve_link(doubt.port, doubt.is_moved);
    if (doubt.has_new_mac) known_->disbelieve_neighbors(doubt.port);
    for (auto& [name, device] : known_->devices) {
      if (device.port != doubt.port) continue;
      device.min_links = doubt.min_links;
      device.altered = doubt.altered;
    }
  }
}

Reconciler::Unwanted Reconciler::unwanted(std::size_t max_routes) const {
  Unwanted unwanted;
  if (known_ == nullptr) return unwanted;
  for (const auto& [key, route] : known_->routes) {
    if (unwanted.routes.size() >= max_routes) break;
    unwanted.routes.push_back(RouteDelete{key.prefix, key.table, key.metric, key.tos});
  }
  for (const auto& [place, neighbor] : known_->neighbors) {
    if (!neighbor.wanted) unwanted.neighbors.push_back(NeighborDelete{IfIndex{place.first}, place.second});
  }
  for (const NexthopEntry& entry : nexthops_) {
    if (!known_->unwanted_nexthops.contains(entry.id)) continue;
    (entry.members.empty() ? unwanted.nexthops : unwanted.groups).push_back(NexthopDelete{entry.id});
  }
  for (const auto& [port, address, length] : known_->unwanted_addresses)
    unwanted.addresses.push_back(AddressDelete{IfIndex{port}, {address, length}});
  for (const auto& [key, entry] : known_->fdb) {
    if (!entry.wanted) unwanted.fdb.push_back(FdbDelete{IfIndex{key.second}, key.first});
  }
  for (const std::uint32_t device : known_->unwanted_devices) unwanted.devices.push_back(DeviceDelete{IfIndex{device}});
  return unwanted;
}

Reconciler::UnwantedCounts Reconciler::unwanted_counts() const {
  if (known_ == nullptr) return {};
  const auto neighbors = std::ranges::count_if(known_->neighbors, [](const auto& known) { return !known.second.wanted; });
  return {.routes = known_->routes.size(),
          .neighbors = static_cast<std::uint64_t>(neighbors),
          .nexthops = known_->unwanted_nexthops.size(),
          .addresses = known_->unwanted_addresses.size(),
          .devices = known_->unwanted_devices.size(),
          .fdb = static_cast<std::uint64_t>(std::ranges::count_if(known_->fdb, [](const auto& known) { return !known.second.wanted; }))};
}

void Reconciler::leave_entries_if(const std::function<bool(const FdbEntry&)>& is_foreign) {
  if (known_ == nullptr) return;
  std::erase_if(known_->fdb, [&](const auto& known) {
    const auto& [key, entry] = known;
    return is_foreign({entry.bridge, IfIndex{key.second}, key.first, entry.is_sticky});
  });
}

void Reconciler::end() {
  known_.reset();
  nexthops_ = {};
  ports_ = {};
  seen_ = {};
  const std::lock_guard lock(mutex_);
  made_ = {};
}

Reconciler::Counts Reconciler::counts() const noexcept {
  return {found_, kept_.load(std::memory_order_relaxed), changed_.load(std::memory_order_relaxed)};
}

/// A device that no reading and no event has reported is assumed to take its ports down.
Reconciler::Device Reconciler::device(IfIndex index) {
  if (const auto known = std::ranges::find(ports_, index, &LinkEvent::port); known != ports_.end())
    return {.master = known->master, .takes_ports_down = is_port_owner(*known)};
  const std::lock_guard lock(mutex_);
  const auto made = made_.find(index);
  return made == made_.end() ? Device{.master = {}, .takes_ports_down = true} : made->second;
}

/// True if the kernel drops the objects on a port: it goes down, enters or leaves a VRF, or leaves a bond. An order for the master that the
/// port has does nothing. Another program that moved the port meanwhile took it down, which link_event() reported.
bool Reconciler::takes_port_down(const Order& order) {
  if (const auto* const gone = std::get_if<DeviceDelete>(&order)) return device(gone->device).takes_ports_down;
  const auto* const link = std::get_if<LinkSet>(&order);
  if (link == nullptr) return false;
  if (link->up == false) return true;
  if (!link->master) return false;
  const IfIndex before = device(link->port).master;
  const IfIndex after = *link->master;
  return before != after && ((before && device(before).takes_ports_down) || (after && device(after).takes_ports_down));
}

void Reconciler::apply(std::span<Operation> ops) {
  if (known_ == nullptr) return plane_.apply(ops);
  take_doubts();
  rest_.clear();
  places_.clear();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (trusts_.load(std::memory_order_relaxed) && known_->is_there(ops[i].order)) {
      known_->asked_for(ops[i].order);
      ops[i].status = Status{};
      continue;
    }
    // An earlier run left it.
    if (auto* const route = std::get_if<RouteSet>(&ops[i].order); route != nullptr && known_->is_whole(*route)) route->create = false;
    if (auto* const nexthop = std::get_if<NexthopSet>(&ops[i].order); nexthop != nullptr && known_->nexthops.contains(nexthop->id))
      nexthop->create = false;
    if (auto* const group = std::get_if<GroupSet>(&ops[i].order); group != nullptr && known_->nexthops.contains(group->id))
      group->create = false;
    known_->doubt(ops[i].order);
    if (takes_port_down(ops[i].order)) distrust();
    rest_.push_back(std::move(ops[i]));
    places_.push_back(i);
  }
  if (!rest_.empty()) plane_.apply(rest_);
  std::size_t in_vain = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    // A refused order may have left its object unchanged. A permanently refused Delete need not be ordered again.
    Operation& operation = ops[places_[i]] = std::move(rest_[i]);
    // A Delete of a route that no row had, given in case an earlier run left one.
    if (operation.status.code() == StatusCode::NotFound && std::holds_alternative<RouteDelete>(operation.order)) {
      operation.status = Status{};
      ++in_vain;
    }
    const StatusCode code = operation.status.code();
    const bool for_good = code == StatusCode::NotFound || code == StatusCode::InvalidArgument || code == StatusCode::Unimplemented ||
                          code == StatusCode::PermissionDenied;
    const bool is_device = code == StatusCode::AlreadyExists && makes_device(operation.order);
    if (operation.status.ok() || is_device || (for_good && is_delete(operation.order))) known_->carried_out(operation.order);
  }
  kept_.fetch_add(ops.size() - rest_.size(), std::memory_order_relaxed);
  changed_.fetch_add(rest_.size() - in_vain, std::memory_order_relaxed);
}

}  // namespace rondo
