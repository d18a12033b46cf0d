// kernel.cc: see the header. Error texts and errno are those of Linux 6.18, measured by the contract test.
#include "dataplane/simulated/kernel.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cerrno>
#include <utility>

#include "dataplane/kernel_status.h"
#include "rondo/base/assert.h"

namespace rondo {

namespace {

constexpr std::uint32_t kMtuMin = 68;
constexpr std::uint32_t kMtuMax = 65535;
constexpr Verdict kDone{};
constexpr Verdict kNoDevice{ENODEV, ""};
constexpr Verdict kV6ByV4{EINVAL, "IPv6 routes can not use an IPv4 nexthop"};

bool is_link_local(const IpAddress& address) noexcept {
  return address.is_v6() && address.bytes()[0] == 0xfe && (address.bytes()[1] & 0xc0U) == 0x80;
}

// IPv6 identifies an address by itself, IPv4 by the address and its length.
bool same_address(const Prefix& a, const Prefix& b) noexcept {
  return a.address == b.address && (a.address.is_v6() || a.length == b.length);
}

}  // namespace

Verdict SimKernel::execute(const Order& order) {
  return std::visit([this](const auto& what) { return apply(what); }, order);
}

// --- Routes.

Verdict SimKernel::apply(const RouteSet& order) {
  if (order.type == RouteType::Unicast) {
    const auto nexthop = nexthops_.find(order.nexthop);
    if (nexthop == nexthops_.end()) return {EINVAL, "Nexthop id does not exist"};
    if (order.prefix.address.is_v6() && has_v4_gateway(nexthop->second)) return kV6ByV4;
    if (order.has_source() && !has_address(order.source)) {
      return {EINVAL, order.source.is_v6() ? "Invalid source address" : "Invalid prefsrc address"};
    }
  }
  if (order.last_resort && !order.nexthop) {
    stray_routes_.insert_or_assign(RouteDelete{order.prefix, order.table, kLastResortMetric}, order.type);
    return kDone;
  }
  const RouteKey key{order.prefix, order.table};
  const RouteValue value{order.nexthop, order.type};
  if (const auto foreign = foreign_routes_.find(key); foreign != foreign_routes_.end()) {
    held_words_ = held_words(foreign->second) + former_number_words(foreign->second);
    if (order.create) return {EEXIST, held_words_.c_str()};
    foreign_routes_.erase(foreign);
  }
  const auto found = routes_.find(key);
  if (found != routes_.end()) {
    count_route(key, found->second, false);
    found->second = value;
  } else {
    if (routes_.size() >= capacity_.routes_max) return {ENOSPC, ""};
    routes_.emplace(key, value);
  }
  set_source(key, order.source);
  count_route(key, value, true);
  return kDone;
}

Verdict SimKernel::apply(const RouteDelete& order) {
  if (order.is_stray()) return stray_routes_.erase(order) != 0 ? kDone : Verdict{ESRCH, ""};
  const auto found = routes_.find(RouteKey{order.prefix, order.table});
  if (found == routes_.end()) return {ESRCH, ""};
  count_route(found->first, found->second, false);
  set_source(found->first, {});
  routes_.erase(found);
  return kDone;
}

bool SimKernel::has_address(const IpAddress& address) const {
  return std::ranges::any_of(ports_, [&address](const auto& port) {
    return std::ranges::any_of(port.second.addresses, [&address](const Prefix& one) { return one.address == address; });
  });
}

void SimKernel::set_source(const RouteKey& key, const IpAddress& source) {
  if (source != IpAddress{}) {
    sources_.insert_or_assign(key, source);
  } else if (!sources_.empty()) {
    sources_.erase(key);
  }
}

/// Linux drops the IPv4 routes that have the address as their source; IPv6 routes with a next-hop object stay.
void SimKernel::address_went(const Prefix& address) {
  if (address.address.is_v6() || has_address(address.address)) return;
  std::vector<RouteDelete> gone;
  for (const auto& [key, source] : sources_) {
    if (source == address.address) gone.push_back({key.prefix, key.table});
  }
  for (const RouteDelete& route : gone) apply(route);
}

bool SimKernel::add_foreign_route(const Prefix& prefix, std::uint32_t table, std::uint8_t protocol) {
  const bool replaced = apply(RouteDelete{prefix, table}).error_number == 0;
  foreign_routes_.insert_or_assign(RouteKey{prefix, table}, protocol);
  return replaced;
}

bool SimKernel::remove_foreign_route(const Prefix& prefix, std::uint32_t table) {
  return foreign_routes_.erase(RouteKey{prefix, table}) != 0;
}

void SimKernel::count_route(const RouteKey& key, const RouteValue& value, bool added) {
  if (!value.nexthop) return;
  Nexthop& nexthop = nexthops_.at(value.nexthop);
  const auto count = [added](std::size_t& counter) { added ? ++counter : --counter; };
  count(nexthop.routes);
  if (key.prefix.address.is_v6()) count(nexthop.v6_routes);
}

// --- Next hops.

bool SimKernel::has_v4_gateway(const Nexthop& nexthop) const {
  return nexthop.is_group() ? has_v4_gateway(nexthop.members) : !nexthop.gateway.is_v6();
}

bool SimKernel::has_v4_gateway(const std::vector<GroupMember>& members) const {
  return std::any_of(members.begin(), members.end(),
                     [this](const GroupMember& member) { return !nexthops_.at(member.nexthop).gateway.is_v6(); });
}

bool SimKernel::serves_v6_routes(NexthopId id) const {
  return std::any_of(nexthops_.begin(), nexthops_.end(), [id](const auto& entry) {
    const Nexthop& user = entry.second;
    const bool uses = entry.first == id || std::any_of(user.members.begin(), user.members.end(),
                                                       [id](const GroupMember& member) { return member.nexthop == id; });
    return uses && user.v6_routes > 0;
  });
}

Verdict SimKernel::check_gateway(const Port& port, const IpAddress& gateway, bool onlink) const {
  if (is_link_local(gateway) || gateway.is_any()) return kDone;
  bool covered = false;
  for (const Prefix& address : port.addresses) {
    if (gateway.is_v6() && address.address == gateway) return {EINVAL, "Gateway can not be a local address"};
    if (onlink && address.address == gateway) return {EINVAL, "Nexthop has invalid gateway"};
    covered = covered || address.network().contains(gateway);
  }
  if (covered || onlink) return kDone;
  return gateway.is_v6() ? Verdict{EHOSTUNREACH, ""} : Verdict{ENETUNREACH, "Nexthop has invalid gateway"};
}

Verdict SimKernel::apply(const NexthopSet& order) {
  const Port* const device = port(order.port);
  if (device == nullptr) return {EINVAL, "Invalid device index"};
  if (!device->admin_up) return {ENETDOWN, "Nexthop device is not up"};
  if (!device->signal) return {ENETDOWN, "Carrier for nexthop device is down"};
  if (const Verdict verdict = check_gateway(*device, order.gateway, order.onlink); verdict.error_number != 0) return verdict;
  const auto found = nexthops_.find(order.id);
  if (order.create && found != nexthops_.end() && found->second.foreign != 0) return held(found->second);
  if (found == nexthops_.end()) {
    if (singles_ >= capacity_.nexthops_max) return {ENOSPC, ""};
    ++singles_;
    nexthops_[order.id] = Nexthop{.gateway = order.gateway, .port = order.port, .onlink = order.onlink, .members = {}};
    return kDone;
  }
  if (found->second.is_group()) return {EINVAL, "Can not replace a nexthop group with a nexthop"};
  if (!order.gateway.is_v6() && serves_v6_routes(order.id)) return kV6ByV4;
  found->second.gateway = order.gateway;
  found->second.port = order.port;
  found->second.onlink = order.onlink;
  found->second.foreign = 0;
  return kDone;
}

Verdict SimKernel::check_members(const GroupSet& order) const {
  boost::container::small_vector<NexthopId, 16> ids;
  for (const GroupMember& member : order.members) ids.push_back(member.nexthop);
  std::ranges::sort(ids);
  if (std::ranges::adjacent_find(ids) != ids.end()) return {EINVAL, "Nexthop id can not be used twice in a group"};
  for (const GroupMember& member : order.members) {
    const auto found = nexthops_.find(member.nexthop);
    if (found == nexthops_.end()) return {EINVAL, "Invalid nexthop id"};
    if (found->second.is_group()) return {EINVAL, "Hash-threshold group can not be a nexthop within a group"};
  }
  return kDone;
}

Verdict SimKernel::apply(const GroupSet& order) {
  if (const Verdict verdict = check_members(order); verdict.error_number != 0) return verdict;
  const auto found = nexthops_.find(order.id);
  if (order.create && found != nexthops_.end() && found->second.foreign != 0) return held(found->second);
  if (found == nexthops_.end()) {
    if (order.update) return {ENOENT, ""};
    if (groups_ >= capacity_.groups_max) return {ENOSPC, ""};
    ++groups_;
    nexthops_[order.id] = Nexthop{.gateway = {}, .port = {}, .members = order.members};
    return kDone;
  }
  if (!found->second.is_group()) return {EINVAL, "Can not replace a nexthop with a nexthop group."};
  if (found->second.v6_routes > 0 && has_v4_gateway(order.members)) return kV6ByV4;
  found->second.members = order.members;
  found->second.foreign = 0;
  return kDone;
}

Verdict SimKernel::held(const Nexthop& nexthop) {
  held_words_ = held_nexthop_words(nexthop.foreign);
  return {EEXIST, held_words_.c_str()};
}

Verdict SimKernel::apply(const NexthopDelete& order) {
  const auto found = nexthops_.find(order.id);
  if (found == nexthops_.end()) return {ENOENT, ""};
  if (found->second.foreign != 0) return {ENOENT, held(found->second).words};
  remove_nexthops({order.id});
  return kDone;
}

void SimKernel::add_foreign_nexthop(NexthopId id, const IpAddress& gateway, IfIndex port, std::uint8_t protocol) {
  const bool is_new = nexthops_.try_emplace(id, Nexthop{.gateway = gateway, .port = port, .members = {}, .foreign = protocol}).second;
  RONDO_EXPECT(is_new, "the simulated kernel has a next hop of this number already");
  ++singles_;
}

bool SimKernel::remove_foreign_nexthop(NexthopId id) {
  const auto found = nexthops_.find(id);
  if (found == nexthops_.end() || found->second.foreign == 0) return false;
  remove_nexthops({id});
  return true;
}

// Removes the next hops from their groups. Groups that become empty are removed too, and so are the routes of all removed objects.
void SimKernel::remove_nexthops(std::set<NexthopId> gone) {
  bool has_single = false;
  for (const NexthopId id : gone) {
    const bool is_group = nexthops_.at(id).is_group();
    --(is_group ? groups_ : singles_);
    has_single = has_single || !is_group;
  }
  for (auto& [id, group] : nexthops_) {
    if (!has_single) break;  // Groups are not members of groups.
    if (!group.is_group() || gone.contains(id)) continue;
    std::erase_if(group.members, [&gone](const GroupMember& member) { return gone.contains(member.nexthop); });
    if (!group.members.empty()) continue;
    gone.insert(id);
    --groups_;
  }
  remove_routes_of(gone);
  for (const NexthopId id : gone) nexthops_.erase(id);
}

void SimKernel::remove_routes_of(const std::set<NexthopId>& gone) {
  const bool used = std::any_of(gone.begin(), gone.end(), [this](NexthopId id) { return nexthops_.at(id).routes > 0; });
  if (!used) return;
  boost::unordered::erase_if(routes_, [&gone](const auto& route) { return route.second.nexthop && gone.contains(route.second.nexthop); });
  boost::unordered::erase_if(sources_, [this](const auto& source) { return !routes_.contains(source.first); });
}

// --- Neighbours and addresses.

Verdict SimKernel::apply(const NeighborSet& order) {
  Port* const device = port(order.port);
  if (device == nullptr) return kNoDevice;
  const auto found = device->neighbors.find(order.address);
  if (found != device->neighbors.end()) {
    found->second = order.mac;
    return kDone;
  }
  if (neighbors_ >= capacity_.neighbors_max) return {ENOBUFS, ""};
  device->neighbors.emplace(order.address, order.mac);
  ++neighbors_;
  return kDone;
}

Verdict SimKernel::apply(const NeighborDelete& order) {
  Port* const device = port(order.port);
  if (device == nullptr) return kNoDevice;
  if (device->neighbors.erase(order.address) == 0) return {ENOENT, ""};
  --neighbors_;
  return kDone;
}

Verdict SimKernel::apply(const AddressSet& order) {
  Port* const device = port(order.port);
  if (device == nullptr) return kNoDevice;
  std::erase_if(device->addresses, [&order](const Prefix& address) { return same_address(address, order.address); });
  device->addresses.push_back(order.address);
  return kDone;
}

Verdict SimKernel::apply(const AddressDelete& order) {
  Port* const device = port(order.port);
  if (device == nullptr) return kNoDevice;
  const auto erased = std::erase_if(device->addresses, [&order](const Prefix& address) { return same_address(address, order.address); });
  const bool is_v6 = order.address.address.is_v6();
  if (erased == 0) return {EADDRNOTAVAIL, is_v6 ? "ipv6: address not found" : "ipv4: Address not found"};
  const bool has_v4 =
      std::any_of(device->addresses.begin(), device->addresses.end(), [](const Prefix& address) { return !address.address.is_v6(); });
  address_went(order.address);
  if (!is_v6 && !has_v4) neighbors_ -= std::erase_if(device->neighbors, [](const auto& entry) { return !entry.first.is_v6(); });
  return kDone;
}

// --- Ports.

Verdict SimKernel::apply(const LinkSet& order) {
  Port* const device = port(order.port);
  if (device == nullptr) return kNoDevice;
  if (order.mtu) {
    if (const Verdict verdict = check_mtu(order.port, *device, *order.mtu); verdict.error_number != 0) return verdict;
  }
  if (order.master) {
    if (const Verdict verdict = check_master(*device, *order.master); verdict.error_number != 0) return verdict;
  }
  device->mtu = order.mtu.value_or(device->mtu);
  device->has_own_mtu = device->has_own_mtu || order.mtu;
  if (order.mac) set_mac(order.port, *order.mac);
  device->has_own_mac = device->has_own_mac || order.mac;
  if (order.up) {
    if (const Verdict verdict = set_up(order.port, *order.up); verdict.error_number != 0) return verdict;
  }
  changed(order.port);
  if (order.mtu) lower_tagged_mtus(order.port);
  if (device->bond != BondMode::None) set_ports_of(order.port);
  if (bridge_of(order.port) != nullptr) follow_ports(device->master);
  if (order.master && *order.master != device->master) set_master(order.port, *order.master);
  return kDone;
}

/// A bond asks its ports, and passes on no text.
Verdict SimKernel::check_mtu(IfIndex index, const Port& device, std::uint32_t mtu) const {
  if (mtu < kMtuMin) return {EINVAL, "mtu less than device minimum"};
  if (mtu > device.mtu_max) return {EINVAL, "mtu greater than device maximum"};
  if (device.vlan != 0 && mtu > ports_.at(device.lower).mtu) return {ERANGE, ""};
  if (device.bond == BondMode::None) return kDone;
  const std::vector<IfIndex> ports = ports_of(index);
  return std::ranges::any_of(ports, [&](IfIndex port) { return mtu > ports_.at(port).mtu_max; }) ? Verdict{EINVAL, ""} : kDone;
}

/// The kernel drops all neighbours of a device whose address changes, the permanent ones among them (neigh_changeaddr()).
void SimKernel::set_mac(IfIndex index, const MacAddress& mac) {
  Port& device = ports_.at(index);
  if (std::exchange(device.mac, mac) == mac) return;
  neighbors_ -= device.neighbors.size();
  device.neighbors.clear();
}

Verdict SimKernel::check_master(const Port& port, IfIndex master) const {
  if (!master) return kDone;
  const auto found = ports_.find(master);
  if (found == ports_.end()) return {EINVAL, ""};
  if (found->second.bond != BondMode::None) return check_bond(port, found->second);
  if (found->second.bridge) return port.bridge ? Verdict{ELOOP, "Can not enslave a bridge to a bridge"} : kDone;
  if (found->second.vrf_table == 0) return {EOPNOTSUPP, ""};
  return port.vrf_table != 0 ? Verdict{EINVAL, "Can not enslave an L3 master device to a VRF"} : kDone;
}

/// Linux takes a port down and up again when it enters or leaves a VRF, but not for a bridge. It goes up in a bond, and down when it
/// leaves.
void SimKernel::set_master(IfIndex index, IfIndex master) {
  Port& device = ports_.at(index);
  const IfIndex before = std::exchange(device.master, master);
  const auto is_vrf = [this](IfIndex one) { return one && ports_.at(one).vrf_table != 0; };
  changed(index);
  if (is_bond(before)) leave_bond(index, before);
  if (is_bond(master)) enter_bond(index, master);
  if (before && ports_.at(before).bridge) {
    forget_stations(before, index, false);
    follow_ports(before);
  }
  if (Port* const bridge = bridge_of(index); bridge != nullptr) {
    // The address of the port is the bridge's own now.
    if (const auto entry = bridge->fdb.find(device.mac); entry != bridge->fdb.end()) {
      report_fdb(master, entry->first, entry->second, true);
      bridge->fdb.erase(entry);
    }
    follow_ports(master);
  }
  if (!device.admin_up || (!is_vrf(before) && !is_vrf(master))) return;
  for (const bool up : {false, true}) {
    set_up(index, up);
    changed(index);
  }
}

void SimKernel::went_down(IfIndex index) {
  Port& device = ports_.at(index);
  std::erase_if(device.addresses, [](const Prefix& address) { return address.address.is_v6(); });
  neighbors_ -= device.neighbors.size();
  device.neighbors.clear();
  lost_carrier(index);
}

Verdict SimKernel::apply(const VrfSet& order) {
  if (port_named(order.name) != ports_.end()) return {EEXIST, ""};
  add_vrf(order.name, order.table, true);
  return kDone;
}

IfIndex SimKernel::add_vrf(std::string name, std::uint32_t table, bool ours) {
  const IfIndex index = add_port(std::move(name));
  events_.pop_back();  // The device appears as it is when it is complete.
  Port& device = ports_.at(index);
  device.admin_up = true;
  device.ours = ours;
  device.vrf_table = table;
  device.mtu = kMtuMax;
  changed(index);
  return index;
}

Verdict SimKernel::apply(const DeviceDelete& order) {
  const auto found = ports_.find(order.device);
  if (found == ports_.end()) return kNoDevice;
  remove(found);
  return kDone;
}

void SimKernel::lost_carrier(IfIndex index) {
  std::set<NexthopId> gone;
  for (const auto& [id, nexthop] : nexthops_) {
    if (!nexthop.is_group() && nexthop.port == index) gone.insert(id);
  }
  if (!gone.empty()) remove_nexthops(std::move(gone));
}

IfIndex SimKernel::add_port(std::string name) {
  RONDO_EXPECT(port_named(name) == ports_.end(), "the simulated kernel has a port '" + name + "' already");
  const IfIndex index{++last_index_};
  Port device;
  device.name = std::move(name);
  device.mac.bytes = {0x02, 0, 0, 0, static_cast<std::uint8_t>(index.value() >> 8), static_cast<std::uint8_t>(index.value())};
  ports_.emplace(index, std::move(device));
  changed(index);
  return index;
}

void SimKernel::set_signal(std::string_view name, bool signal) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  found->second.signal = signal;
  if (!signal) lost_carrier(found->first);
  changed(found->first);
  carrier_changed(found->first);
}

void SimKernel::set_mtu_max(std::string_view name, std::uint32_t mtu) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  found->second.mtu_max = mtu;
}

void SimKernel::set_in_use(std::string_view name, bool in_use) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  found->second.in_use = in_use;
}

void SimKernel::remove_port(std::string_view name) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  remove(found);
}

void SimKernel::remove(std::map<IfIndex, Port>::iterator device) {
  std::vector<IfIndex> above;
  for (const auto& [index, port] : ports_) {
    if (port.vlan != 0 && port.lower == device->first) above.push_back(index);
  }
  for (const IfIndex index : above) remove(ports_.find(index));
  for (const auto& [index, port] : ports_) {
    if (port.master == device->first) set_master(index, {});
  }
  if (bridge_of(device->first) != nullptr || is_bond(device->second.master)) set_master(device->first, {});
  device->second.admin_up = false;
  lost_carrier(device->first);
  neighbors_ -= device->second.neighbors.size();
  LinkEvent event = event_of(device->first, device->second);
  event.removed = true;
  events_.push_back(std::move(event));
  const std::vector<Prefix> addresses = std::move(device->second.addresses);
  ports_.erase(device);
  for (const Prefix& address : addresses) address_went(address);
}

void SimKernel::rename_port(std::string_view name, std::string new_name) {
  const auto found = port_named(name);
  RONDO_EXPECT(found != ports_.end(), "the simulated kernel has no port '" + std::string{name} + "'");
  RONDO_EXPECT(port_named(new_name) == ports_.end(), "the simulated kernel has a port '" + new_name + "' already");
  found->second.name = std::move(new_name);
  changed(found->first);
}

SimKernel::Port* SimKernel::port(IfIndex index) {
  const auto found = ports_.find(index);
  return found == ports_.end() ? nullptr : &found->second;
}

std::map<IfIndex, SimKernel::Port>::iterator SimKernel::port_named(std::string_view name) {
  return std::find_if(ports_.begin(), ports_.end(), [name](const auto& entry) { return entry.second.name == name; });
}

LinkEvent SimKernel::event_of(IfIndex index, const Port& port) const {
  return LinkEvent{.port = index,
                   .name = port.name,
                   .admin_up = port.admin_up,
                   .carrier = port.carrier(),
                   .removed = false,
                   .mtu = port.mtu,
                   .mac = port.mac,
                   .seen = {},
                   .master = port.master,
                   .vrf_table = port.vrf_table,
                   .ours = port.ours,
                   .bridge = port.bridge,
                   .vlan = port.vlan,
                   .lower = port.lower,
                   .bond = port.bond,
                   .min_links = port.min_links,
                   .altered = port.altered && port.ours};
}

std::vector<LinkEvent> SimKernel::take_events() { return std::exchange(events_, {}); }

// --- Reading back.

std::vector<LinkEvent> SimKernel::links() const {
  std::vector<LinkEvent> entries;
  for (const auto& [index, port] : ports_) entries.push_back(event_of(index, port));
  return entries;
}

std::vector<AddressEntry> SimKernel::addresses() const {
  std::vector<AddressEntry> entries;
  for (const auto& [index, port] : ports_) {
    for (const Prefix& address : port.addresses) entries.push_back({.port = index, .address = address, .ours = true});
  }
  return entries;
}

std::vector<NeighborEntry> SimKernel::neighbors() const {
  std::vector<NeighborEntry> entries;
  for (const auto& [index, port] : ports_) {
    for (const auto& [address, mac] : port.neighbors) entries.push_back({.port = index, .address = address, .mac = mac});
  }
  return entries;
}

NexthopEntry SimKernel::entry_of(NexthopId id, const Nexthop& nexthop) {
  return {.id = id, .gateway = nexthop.gateway, .port = nexthop.port, .members = nexthop.members, .onlink = nexthop.onlink};
}

std::vector<NexthopEntry> SimKernel::nexthops() const {
  std::vector<NexthopEntry> entries;
  for (const auto& [id, nexthop] : nexthops_) {
    if (nexthop.foreign != 0) continue;
    entries.push_back(entry_of(id, nexthop));
  }
  return entries;
}

std::optional<NexthopEntry> SimKernel::nexthop(NexthopId id) const {
  const auto found = nexthops_.find(id);
  if (found == nexthops_.end()) return std::nullopt;
  return entry_of(id, found->second);
}

void SimKernel::routes(const std::function<void(const RouteEntry&)>& visit) const {
  for (const auto& [key, value] : routes_) {
    const auto source = sources_.find(key);
    visit({.prefix = key.prefix,
           .nexthop = value.nexthop,
           .table = key.table,
           .type = value.type,
           .source = source == sources_.end() ? IpAddress{} : source->second});
  }
  for (const auto& [stray, type] : stray_routes_) {
    visit({.prefix = stray.prefix, .nexthop = {}, .table = stray.table, .type = type, .tos = stray.tos, .metric = stray.metric});
  }
}

std::optional<RouteEntry> SimKernel::route(const Prefix& prefix, std::uint32_t table) const {
  const auto found = routes_.find(RouteKey{prefix, table});
  if (found == routes_.end()) return std::nullopt;
  const auto source = sources_.find(found->first);
  return RouteEntry{.prefix = prefix,
                    .nexthop = found->second.nexthop,
                    .table = table,
                    .type = found->second.type,
                    .source = source == sources_.end() ? IpAddress{} : source->second};
}

}  // namespace rondo
