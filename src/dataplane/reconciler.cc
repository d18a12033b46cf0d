#include "rondo/dataplane/reconciler.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace rondo {

namespace {

std::vector<GroupMember> sorted(std::vector<GroupMember> members) {
  std::ranges::sort(members, {}, [](const GroupMember& member) { return std::pair{member.nexthop.value(), member.weight}; });
  return members;
}

}  // namespace

/// What was read and is still believed, and what of it nobody has asked for yet.
struct Reconciler::Known {
  struct RouteKey {
    Prefix prefix;
    std::uint32_t table = kMainTable;
    friend bool operator==(const RouteKey&, const RouteKey&) = default;
  };
  struct RouteHash {
    using is_avalanching = void;
    std::size_t operator()(const RouteKey& key) const noexcept {
      return IpHash{}(key.prefix) ^ (std::size_t{key.table} * 0x9e3779b97f4a7c15);
    }
  };
  struct Route {
    NexthopId nexthop;
    RouteType type = RouteType::Unicast;
  };
  struct Nexthop {
    NexthopEntry entry;
    bool wanted = false;
  };
  using Place = std::pair<std::uint32_t, IpAddress>;  // Port, address.

  boost::unordered_flat_map<RouteKey, Route, RouteHash> routes;  // That nobody asked for.
  std::map<NexthopId, Nexthop> nexthops;                         // As read: an order that changes one takes it out.
  std::set<NexthopId> unwanted_nexthops;
  struct Neighbor {
    MacAddress mac;
    bool wanted = false;
  };
  std::map<Place, Neighbor> neighbors;  // As the next hops.
  std::set<std::tuple<std::uint32_t, IpAddress, std::uint8_t>> addresses;
  std::map<std::uint32_t, LinkEvent> links;

  bool is_there(const Order& order) {
    return std::visit([this](const auto& one) { return meets(one); }, order);
  }

  bool meets(const RouteSet& order) {
    const auto found = routes.find({order.prefix, order.table});
    if (found == routes.end()) return false;
    const Route route = found->second;
    routes.erase(found);
    if (route.type != order.type || route.nexthop != order.nexthop) return false;
    return !order.nexthop || is_wanted(order.nexthop);
  }
  bool meets(const RouteDelete& order) {
    routes.erase({order.prefix, order.table});
    return false;
  }
  bool meets(const NexthopSet& order) {
    return keeps(order.id, [&order](const NexthopEntry& entry) {
      return entry.members.empty() && entry.gateway == order.gateway && entry.port == order.port;
    });
  }
  bool meets(const GroupSet& order) {
    return keeps(order.id, [this, &order](const NexthopEntry& entry) {
      return sorted(entry.members) == sorted(order.members) &&
             std::ranges::all_of(order.members, [this](const GroupMember& member) { return is_wanted(member.nexthop); });
    });
  }
  bool meets(const NexthopDelete& order) {
    nexthops.erase(order.id);
    unwanted_nexthops.erase(order.id);
    return false;
  }
  bool meets(const NeighborSet& order) {
    const auto found = neighbors.find({order.port.value(), order.address});
    if (found == neighbors.end()) return false;
    if (found->second.mac != order.mac) {
      neighbors.erase(found);
      return false;
    }
    found->second.wanted = true;
    return true;
  }
  bool meets(const NeighborDelete& order) {
    neighbors.erase({order.port.value(), order.address});
    return false;
  }
  bool meets(const AddressSet& order) { return addresses.contains({order.port.value(), order.address.address, order.address.length}); }
  bool meets(const AddressDelete& order) {
    addresses.erase({order.port.value(), order.address.address, order.address.length});
    return false;
  }
  bool meets(const LinkSet& order) {
    const auto found = links.find(order.port.value());
    if (found == links.end()) return false;
    const bool same = (!order.up || *order.up == found->second.admin_up) && (!order.mtu || *order.mtu == found->second.mtu);
    if (!same) links.erase(found);
    return same;
  }

  /// An entry that is as asked for counts as wanted; another one is not believed any more.
  template <class Same>
  bool keeps(NexthopId id, const Same& same) {
    unwanted_nexthops.erase(id);
    const auto found = nexthops.find(id);
    if (found == nexthops.end()) return false;
    if (!same(found->second.entry)) {
      nexthops.erase(found);
      return false;
    }
    found->second.wanted = true;
    return true;
  }
  bool is_wanted(NexthopId id) const {
    const auto found = nexthops.find(id);
    return found != nexthops.end() && found->second.wanted;
  }
};

Reconciler::Reconciler(DataPlane& plane) : plane_(plane), known_(std::make_unique<Known>()) {}
Reconciler::~Reconciler() = default;

Status Reconciler::read() {
  Known& known = *known_;
  const Status routes = plane_.routes([&known](const RouteEntry& route) {
    known.routes.emplace(Known::RouteKey{route.prefix, route.table}, Known::Route{route.nexthop, route.type});
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
  for (const AddressEntry& entry : *addresses) known.addresses.emplace(entry.port.value(), entry.address.address, entry.address.length);
  const auto links = plane_.links();
  if (!links) return links.error();
  for (const LinkEvent& link : *links) known.links.emplace(link.port.value(), link);
  ports_ = *links;
  found_ = known.routes.size() + known.nexthops.size() + known.neighbors.size();
  return {};
}

const std::vector<NexthopEntry>& Reconciler::known_nexthops() const noexcept { return nexthops_; }

void Reconciler::distrust() noexcept { trusts_.store(false, std::memory_order_relaxed); }

void Reconciler::link_event(const LinkEvent& event) {
  const auto before = std::ranges::find(ports_, event.port, &LinkEvent::port);
  if (before == ports_.end()) return;
  if ((before->carrier && !event.carrier) || (before->admin_up && !event.admin_up) || event.removed) distrust();
}

Reconciler::Unwanted Reconciler::unwanted() const {
  Unwanted unwanted;
  if (known_ == nullptr) return unwanted;
  unwanted.routes.reserve(known_->routes.size());
  for (const auto& [key, route] : known_->routes) unwanted.routes.push_back({RouteDelete{key.prefix, key.table}, {}});
  for (const auto& [place, neighbor] : known_->neighbors) {
    if (!neighbor.wanted) unwanted.neighbors.push_back({NeighborDelete{IfIndex{place.first}, place.second}, {}});
  }
  for (const NexthopEntry& entry : nexthops_) {
    if (!known_->unwanted_nexthops.contains(entry.id)) continue;
    (entry.members.empty() ? unwanted.nexthops : unwanted.groups).push_back({NexthopDelete{entry.id}, {}});
  }
  return unwanted;
}

void Reconciler::end() {
  known_.reset();
  nexthops_ = {};
  ports_ = {};
}

Reconciler::Counts Reconciler::counts() const noexcept {
  return {found_, kept_.load(std::memory_order_relaxed), changed_.load(std::memory_order_relaxed)};
}

void Reconciler::apply(std::span<Operation> ops) {
  if (known_ == nullptr) return plane_.apply(ops);
  const bool trusts = trusts_.load(std::memory_order_relaxed);
  rest_.clear();
  places_.clear();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    // Asked in any case, so that what is asked for is not unwanted.
    if (known_->is_there(ops[i].order) && trusts) {
      ops[i].status = Status{};
      continue;
    }
    rest_.push_back(std::move(ops[i]));
    places_.push_back(i);
  }
  if (!rest_.empty()) plane_.apply(rest_);
  for (std::size_t i = 0; i < places_.size(); ++i) ops[places_[i]] = std::move(rest_[i]);
  kept_.fetch_add(ops.size() - rest_.size(), std::memory_order_relaxed);
  changed_.fetch_add(rest_.size(), std::memory_order_relaxed);
}

}  // namespace rondo
