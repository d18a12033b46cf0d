#include "journal/plane_codec.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

namespace rondo::journal {

namespace {

enum class Deleted : std::uint8_t { Route = 1, Neighbor = 2, Nexthop = 3, Address = 4, StrayRoute = 5, Device = 6, Fdb = 7 };

/// Beside the port of a next hop, which has 32 bits.
constexpr std::uint64_t kOnlink = std::uint64_t{1} << 32U;

constexpr std::size_t kAddressBytes = 17;  // Includes its length.

void put(Encoder& to, const IpAddress& address) noexcept {
  to.text({reinterpret_cast<const char*>(address.bytes().data()), address.size()});
}

IpAddress read_address(Decoder& from) {
  const std::string_view bytes = from.text();
  std::array<std::uint8_t, 16> all{};
  if (bytes.size() != 4 && bytes.size() != all.size()) {
    from.refuse();
    return {};
  }
  std::ranges::copy(bytes, all.begin());
  if (bytes.size() == all.size()) return IpAddress::v6(all);
  return IpAddress::v4(std::uint32_t{all[0]} << 24U | std::uint32_t{all[1]} << 16U | std::uint32_t{all[2]} << 8U | all[3]);
}

std::uint32_t number32(Decoder& from) { return static_cast<std::uint32_t>(from.number()); }

/// Has no default, so that a kind of Delete without a form here does not compile.
struct PutDelete {
  Encoder& to;
  void operator()(const RouteDelete& route) const noexcept {
    to.byte(static_cast<std::uint8_t>(route.is_stray() ? Deleted::StrayRoute : Deleted::Route));
    to.number(route.table);
    put(to, route.prefix.address);
    to.byte(route.prefix.length);
    if (!route.is_stray()) return;
    to.number(route.metric);
    to.byte(route.tos);
  }
  void operator()(const NeighborDelete& neighbor) const noexcept {
    to.byte(static_cast<std::uint8_t>(Deleted::Neighbor));
    to.number(neighbor.port.value());
    put(to, neighbor.address);
  }
  void operator()(const NexthopDelete& nexthop) const noexcept {
    to.byte(static_cast<std::uint8_t>(Deleted::Nexthop));
    to.number(nexthop.id.value());
  }
  void operator()(const AddressDelete& address) const noexcept {
    to.byte(static_cast<std::uint8_t>(Deleted::Address));
    to.number(address.port.value());
    put(to, address.address.address);
    to.byte(address.address.length);
  }
  void operator()(const DeviceDelete& device) const noexcept {
    to.byte(static_cast<std::uint8_t>(Deleted::Device));
    to.number(device.device.value());
  }
  void operator()(const FdbDelete& entry) const noexcept {
    to.byte(static_cast<std::uint8_t>(Deleted::Fdb));
    to.number(entry.port.value());
    for (const std::uint8_t byte : entry.mac.bytes) to.byte(byte);
  }
};

DeleteOrder read_delete(Decoder& from) {
  switch (static_cast<Deleted>(from.byte())) {
    case Deleted::Route: {
      const std::uint32_t table = number32(from);
      const IpAddress address = read_address(from);
      return RouteDelete{.prefix = {address, from.byte()}, .table = table};
    }
    case Deleted::StrayRoute: {
      const std::uint32_t table = number32(from);
      const IpAddress address = read_address(from);
      const Prefix prefix{address, from.byte()};
      const std::uint32_t metric = number32(from);
      return RouteDelete{.prefix = prefix, .table = table, .metric = metric, .tos = from.byte()};
    }
    case Deleted::Neighbor: {
      const IfIndex port{number32(from)};
      return NeighborDelete{.port = port, .address = read_address(from)};
    }
    case Deleted::Nexthop: return NexthopDelete{.id = NexthopId{number32(from)}};
    case Deleted::Fdb: {
      FdbDelete entry{.port = IfIndex{number32(from)}, .mac = {}};
      for (std::uint8_t& byte : entry.mac.bytes) byte = from.byte();
      return entry;
    }
    case Deleted::Device: return DeviceDelete{.device = IfIndex{number32(from)}};
    case Deleted::Address: {
      const IfIndex port{number32(from)};
      const IpAddress address = read_address(from);
      return AddressDelete{.port = port, .address = {address, from.byte()}};
    }
  }
  from.refuse();
  return NexthopDelete{};
}

}  // namespace

std::size_t bound_of(const NexthopEntry& nexthop) noexcept {
  return 3 * kVarintBytes + kAddressBytes + 2 * kVarintBytes * nexthop.members.size();
}

std::size_t bound_of(std::span<const DeleteOrder> deletes) noexcept {
  return kVarintBytes + deletes.size() * (3 + 2 * kVarintBytes + kAddressBytes);
}

void encode(Encoder& to, const NexthopEntry& nexthop) noexcept {
  to.number(nexthop.id.value());
  to.number(nexthop.port.value() | (nexthop.onlink ? kOnlink : 0U));
  put(to, nexthop.gateway);
  to.number(nexthop.members.size());
  for (const GroupMember& member : nexthop.members) {
    to.number(member.nexthop.value());
    to.number(member.weight);
  }
}

void encode(Encoder& to, std::span<const DeleteOrder> deletes) noexcept {
  to.number(deletes.size());
  for (const DeleteOrder& one : deletes) std::visit(PutDelete{to}, one);
}

NexthopEntry read_nexthop(Decoder& from) {
  NexthopEntry nexthop;
  nexthop.id = NexthopId{number32(from)};
  const std::uint64_t port = from.number();
  nexthop.port = IfIndex{static_cast<std::uint32_t>(port)};
  nexthop.onlink = (port & kOnlink) != 0;
  nexthop.gateway = read_address(from);
  const std::uint64_t members = from.number();
  for (std::uint64_t i = 0; i < members && from.ok(); ++i) {
    const NexthopId member{number32(from)};
    nexthop.members.push_back({member, static_cast<std::uint16_t>(from.number())});
  }
  return nexthop;
}

namespace {
/// Beside min_links, which has 16 bits. A bridge with it is recorded with the mode of no bond.
constexpr std::uint32_t kAltered = 1U << 16U;
}  // namespace

std::size_t bound_of(const LinkEvent& event) noexcept {
  return 1 + 7 * kVarintBytes + kVarintBytes + event.name.size() + event.mac.bytes.size() + 8 + 1;
}

void encode(Encoder& to, const LinkEvent& event) noexcept {
  const bool has_vrf = event.master || event.vrf_table != 0;
  const bool has_vlan = event.vlan != 0;
  const bool is_bond = event.bond != BondMode::None || event.altered;
  to.byte(static_cast<std::uint8_t>((event.admin_up ? 1U : 0U) | (event.carrier ? 2U : 0U) | (event.removed ? 4U : 0U) |
                                    (event.ours ? 8U : 0U) | (has_vrf ? 16U : 0U) | (event.bridge ? 32U : 0U) | (has_vlan ? 64U : 0U) |
                                    (is_bond ? 128U : 0U)));
  to.number(event.port.value());
  to.number(event.mtu);
  to.text(event.name);
  for (const std::uint8_t byte : event.mac.bytes) to.byte(byte);
  to.fixed(static_cast<std::uint64_t>(event.seen.nanoseconds()));
  if (has_vrf) {
    to.number(event.master.value());
    to.number(event.vrf_table);
  }
  if (has_vlan) {
    to.number(event.vlan);
    to.number(event.lower.value());
  }
  if (!is_bond) return;
  to.byte(static_cast<std::uint8_t>(event.bond));
  to.number(event.min_links | (event.altered ? kAltered : 0U));
}

LinkEvent read_link(Decoder& from) {
  const std::uint8_t flags = from.byte();
  LinkEvent link;
  link.admin_up = (flags & 1U) != 0;
  link.carrier = (flags & 2U) != 0;
  link.removed = (flags & 4U) != 0;
  link.ours = (flags & 8U) != 0;
  link.bridge = (flags & 32U) != 0;
  link.port = IfIndex{number32(from)};
  link.mtu = number32(from);
  link.name = std::string{from.text()};
  for (std::uint8_t& byte : link.mac.bytes) byte = from.byte();
  link.seen = Instant::from_nanoseconds(static_cast<std::int64_t>(from.fixed()));
  if ((flags & 16U) != 0) {
    link.master = IfIndex{number32(from)};
    link.vrf_table = number32(from);
  }
  if ((flags & 64U) != 0) {
    link.vlan = static_cast<std::uint16_t>(from.number());
    link.lower = IfIndex{number32(from)};
  }
  if ((flags & 128U) != 0) {
    link.bond = static_cast<BondMode>(from.byte());
    const std::uint64_t links = from.number();
    link.min_links = static_cast<std::uint16_t>(links);
    link.altered = (links & kAltered) != 0;
  }
  return link;
}

std::vector<DeleteOrder> read_deletes(Decoder& from) {
  std::vector<DeleteOrder> deletes;
  const std::uint64_t count = from.number();
  // Each order has at least two bytes, so a false count ends soon.
  for (std::uint64_t i = 0; i < count && from.ok(); ++i) deletes.push_back(read_delete(from));
  return deletes;
}

DriftKind read_drift_kind(Decoder& from) {
  const std::uint8_t kind = from.byte();
  if (kind > static_cast<std::uint8_t>(DriftKind::Unwanted)) from.refuse();
  return static_cast<DriftKind>(kind);
}

}  // namespace rondo::journal
