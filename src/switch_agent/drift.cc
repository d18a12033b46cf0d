#include "switch_agent/drift.h"

#include <algorithm>
#include <tuple>
#include <variant>

namespace rondo::switch_agent {

namespace {

/// The fields that identify an object among those of its kind.
std::tuple<std::size_t, std::uint32_t, IpAddress, std::uint8_t, std::uint32_t, std::uint8_t> identity(const DeleteOrder& object) noexcept {
  struct Visit {
    std::size_t kind;
    using Identity = std::tuple<std::size_t, std::uint32_t, IpAddress, std::uint8_t, std::uint32_t, std::uint8_t>;
    Identity operator()(const RouteDelete& one) const {
      return {kind, one.table, one.prefix.address, one.prefix.length, one.metric, one.tos};
    }
    Identity operator()(const NexthopDelete& one) const { return {kind, one.id.value(), {}, 0, 0, 0}; }
    Identity operator()(const NeighborDelete& one) const { return {kind, one.port.value(), one.address, 0, 0, 0}; }
    Identity operator()(const DeviceDelete& one) const { return {kind, one.device.value(), {}, 0, 0, 0}; }
    Identity operator()(const FdbDelete& one) const {
      std::array<std::uint8_t, 16> mac{};
      std::ranges::copy(one.mac.bytes, mac.begin());
      return {kind, one.port.value(), IpAddress::v6(mac), 0, 0, 0};
    }
    Identity operator()(const AddressDelete& one) const { return {kind, one.port.value(), one.address.address, one.address.length, 0, 0}; }
  };
  return std::visit(Visit{object.index()}, object);
}

template <class Entry, class Look, class Key>
Status read_sorted(Result<std::vector<Entry>> read, Look& look, Key key) {
  if (!read) return std::move(read).error();
  look.actual = std::move(*read);
  std::ranges::sort(look.actual, {}, key);
  look.wanted.resize(look.actual.size());
  return {};
}

}  // namespace

bool Findings::ByObject::operator()(const Difference& a, const Difference& b) const noexcept {
  return std::pair{a.first, identity(a.second)} < std::pair{b.first, identity(b.second)};
}

void add_difference(std::vector<Drift>& found, const char* table, const std::string& device, std::initializer_list<Setting> settings) {
  Drift drift{.kind = DriftKind::Changed, .object = {}, .table = table, .key = device};
  for (const Setting& one : settings) {
    if (one.wanted == one.actual) continue;
    drift.wanted.append(drift.wanted.empty() ? "" : ", ").append(one.wanted);
    drift.actual.append(drift.actual.empty() ? "" : ", ").append(one.actual);
  }
  if (!drift.wanted.empty()) found.push_back(std::move(drift));
}

std::string_view to_string(ObjectKind kind) noexcept {
  switch (kind) {
    case ObjectKind::Address: return "addresses";
    case ObjectKind::Neighbor: return "neighbors";
    case ObjectKind::Nexthop: return "nexthops";
    case ObjectKind::Route: return "routes";
    case ObjectKind::Fdb: return "fdb";
  }
  return "unknown";
}

ObjectKind kind_of(const DeleteOrder& object) noexcept {
  struct Visit {
    ObjectKind operator()(const RouteDelete&) const { return ObjectKind::Route; }
    ObjectKind operator()(const NexthopDelete&) const { return ObjectKind::Nexthop; }
    ObjectKind operator()(const NeighborDelete&) const { return ObjectKind::Neighbor; }
    ObjectKind operator()(const AddressDelete&) const { return ObjectKind::Address; }
    ObjectKind operator()(const FdbDelete&) const { return ObjectKind::Fdb; }
    ObjectKind operator()(const DeviceDelete&) const { return ObjectKind::Address; }  // No audit reads devices: link events report them.
  };
  return std::visit(Visit{}, object);
}

std::size_t PlaneSnapshot::objects() const noexcept {
  const auto ours = std::ranges::count_if(addresses.actual, &AddressEntry::ours);
  return static_cast<std::size_t>(ours) + neighbors.actual.size() + nexthops.actual.size() + routes.actual.size() + fdb.actual.size();
}

Status read_objects(DataPlane& plane, ObjectKind kind, PlaneSnapshot& snapshot) {
  const auto place_of = [](const auto& entry) { return std::pair{entry.port, entry.address}; };
  switch (kind) {
    case ObjectKind::Address: return read_sorted(plane.addresses(), snapshot.addresses, place_of);
    case ObjectKind::Neighbor: return read_sorted(plane.neighbors(), snapshot.neighbors, place_of);
    case ObjectKind::Nexthop: return read_sorted(plane.nexthops(), snapshot.nexthops, &NexthopEntry::id);
    case ObjectKind::Fdb:
      return read_sorted(plane.fdb(), snapshot.fdb, [](const FdbEntry& entry) { return std::pair{entry.bridge, entry.mac}; });
    case ObjectKind::Route: return plane.routes([&snapshot](const RouteEntry& entry) { snapshot.routes.actual.push_back(entry); });
  }
  return {};
}

}  // namespace rondo::switch_agent
