#include "dataplane/order_digest.h"

#include <cstring>
#include <variant>

#include "rondo/dataplane/op.h"

namespace rondo {

namespace {

/// Multiply and shift, word by word. Not safe against hostile input; its input is the runtime's own orders.
class Digest {
 public:
  void add(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15ULL;
    value_ ^= value_ >> 29U;
  }
  void add(const IpAddress& address) noexcept {
    std::uint64_t words[2];
    std::memcpy(words, address.bytes().data(), sizeof words);
    add(words[0]);
    if (address.is_v6()) add(words[1] + 1);
  }
  void add(const Prefix& prefix) noexcept {
    add(prefix.address);
    add(prefix.length);
  }
  void add(const MacAddress& mac) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, mac.bytes.data(), mac.bytes.size());
    add(word);
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

void add(Digest& to, const RouteSet& route) {
  to.add(route.prefix);
  to.add(std::uint64_t{route.nexthop.value()} << 32U | route.table);
  to.add(static_cast<std::uint64_t>(route.type) | (route.last_resort ? 0x100U : 0U));
  if (route.has_source()) to.add(route.source);
}
void add(Digest& to, const RouteDelete& route) {
  to.add(route.prefix);
  to.add(route.table);
  if (route.is_stray()) to.add(std::uint64_t{route.metric} << 8U | route.tos);
}
void add(Digest& to, const GroupSet& group) {
  to.add(group.id.value());
  for (const GroupMember& member : group.members) to.add(std::uint64_t{member.nexthop.value()} << 32U | member.weight);
}
void add(Digest& to, const NexthopSet& nexthop) {
  to.add(std::uint64_t{nexthop.id.value()} << 32U | nexthop.port.value());
  to.add(nexthop.gateway);
  if (nexthop.onlink) to.add(1);
}
void add(Digest& to, const NexthopDelete& nexthop) { to.add(nexthop.id.value()); }
void add(Digest& to, const NeighborSet& neighbor) {
  to.add(neighbor.port.value());
  to.add(neighbor.address);
  to.add(neighbor.mac);
}
void add(Digest& to, const NeighborDelete& neighbor) {
  to.add(neighbor.port.value());
  to.add(neighbor.address);
}
void add(Digest& to, const AddressSet& address) {
  to.add(address.port.value());
  to.add(address.address);
  if (address.subnet_metric != 0) to.add(address.subnet_metric);
}
void add(Digest& to, const AddressDelete& address) {
  to.add(address.port.value());
  to.add(address.address);
}
void add(Digest& to, const LinkSet& link) {
  to.add(std::uint64_t{link.port.value()} << 2U | (link.up ? 2U : 0U) | (link.up.value_or(false) ? 1U : 0U));
  to.add(link.mtu ? std::uint64_t{*link.mtu} + 1 : 0);
  if (link.master) to.add(std::uint64_t{link.master->value()} + 1);
  if (link.mac) to.add(*link.mac);
}
void add(Digest& to, const std::string& name) {
  for (const char c : name) to.add(static_cast<unsigned char>(c));
}
void add(Digest& to, const VrfSet& vrf) {
  add(to, vrf.name);
  to.add(vrf.table);
}
void add(Digest& to, const BridgeSet& bridge) {
  add(to, bridge.name);
  if (bridge.device) to.add(bridge.device.value());
}
void add(Digest& to, const TaggedPortSet& tagged) {
  add(to, tagged.name);
  to.add(std::uint64_t{tagged.port.value()} << 32U | tagged.bridge.value());
  to.add(tagged.vlan);
}
void add(Digest& to, const FdbSet& entry) {
  to.add(entry.port.value());
  to.add(entry.mac);
}
void add(Digest& to, const FdbDelete& entry) {
  to.add(entry.port.value());
  to.add(entry.mac);
}
void add(Digest& to, const BondSet& bond) {
  add(to, bond.name);
  to.add(std::uint64_t{bond.device.value()} << 32U | static_cast<std::uint64_t>(bond.mode) << 16U | bond.min_links);
}
void add(Digest& to, const DeviceDelete& device) { to.add(device.device.value()); }

}  // namespace

std::uint64_t digest_of(std::span<const Operation> ops) noexcept {
  Digest digest;
  for (const Operation& op : ops) {
    digest.add(op.order.index() + 1);
    std::visit([&](const auto& order) { add(digest, order); }, op.order);
  }
  return digest.value();
}

}  // namespace rondo
