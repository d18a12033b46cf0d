// Goal: the simulated kernel behaves like the kernel, also where no rule was written down. Method: both get random orders from a small
// world, from a seed. Each errno must be equal, and at the end everything that can be read back. Skipped where no namespace can be made.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dataplane/netlink/lab.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/simulated.h"

namespace rondo {
namespace {

// Draws orders on two ports, six next hops, three groups and ten prefixes, so that orders often meet the same objects. Ports are drawn as
// 0 and 1.
class Drawer {
 public:
  Drawer(std::uint32_t seed, std::vector<IfIndex> ports, IfIndex bridge) : random_(seed), ports_(std::move(ports)), bridge_(bridge) {}

  static constexpr std::uint32_t kStations = 4;

  Order draw() {
    if (below(8) == 0) return draw_of_bridge();
    switch (below(20)) {
      case 0: return LinkSet{.port = port(), .up = below(3) != 0};
      case 1: return AddressSet{.port = port(), .address = address()};
      case 2: return AddressDelete{.port = port(), .address = address()};
      case 3: return NeighborSet{.port = port(), .address = gateway(), .mac = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(below(4))}}};
      case 4: return NeighborDelete{.port = port(), .address = gateway()};
      case 5: return NexthopDelete{.id = below(3) == 0 ? group() : nexthop()};
      case 6:
      case 7:
      case 8: return NexthopSet{.id = below(10) == 0 ? group() : nexthop(), .gateway = gateway(), .port = port()};
      case 9:
      case 10:
      case 11: return draw_group();
      case 12:
      case 13: return RouteDelete{.prefix = destination(), .table = table()};
      case 14: return RouteSet{.prefix = destination(), .table = table(), .type = RouteType::Blackhole};
      default: return RouteSet{.prefix = destination(), .nexthop = below(2) == 0 ? group() : nexthop(), .table = table()};
    }
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  IfIndex port() { return ports_[below(2)]; }
  NexthopId nexthop() { return NexthopId{1001 + below(6)}; }
  NexthopId group() { return NexthopId{2001 + below(3)}; }
  std::uint32_t table() { return below(5) == 0 ? 1001 : kMainTable; }
  static IpAddress v6(std::uint8_t subnet, std::uint8_t host) {
    return IpAddress::v6({0x20, 0x01, 0x0d, 0xb8, 0, subnet, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
  }
  // Two subnets of each family; hosts 1 and 2 may be our own addresses, 3 to 5 are always others.
  Prefix address() {
    const auto subnet = static_cast<std::uint8_t>(below(2));
    const auto host = static_cast<std::uint8_t>(1 + below(2));
    if (below(2) == 0) return {IpAddress::v4(0x0a000000U + (static_cast<std::uint32_t>(subnet) << 8) + host), 24};
    return {v6(subnet, host), 64};
  }
  IpAddress gateway() {
    const auto subnet = static_cast<std::uint8_t>(below(2));
    const auto host = static_cast<std::uint8_t>(3 + below(3));
    return below(2) == 0 ? IpAddress::v4(0x0a000000U + (static_cast<std::uint32_t>(subnet) << 8) + host) : v6(subnet, host);
  }
  Prefix destination() {
    const std::uint32_t number = below(5);
    if (below(2) == 0) return {IpAddress::v4(0x14000000U + (number << 16)), 16};
    return {v6(static_cast<std::uint8_t>(0x80 + number), 0), 48};
  }
  Order draw_of_bridge() {
    const MacAddress station{{2, 0, 0, 0, 1, static_cast<std::uint8_t>(below(kStations))}};
    switch (below(4)) {
      case 0: return LinkSet{.port = port(), .master = below(3) == 0 ? IfIndex{} : bridge_};
      case 1: return FdbDelete{.port = port(), .mac = station};
      default: return FdbSet{.port = port(), .mac = station};
    }
  }
  Order draw_group() {
    GroupSet set{.id = below(10) == 0 ? nexthop() : group(), .members = {}};
    for (std::uint32_t i = 1 + below(3); i > 0; --i) {
      set.members.push_back({.nexthop = below(15) == 0 ? group() : nexthop(), .weight = static_cast<std::uint16_t>(1 + below(3))});
    }
    return set;
  }

  std::mt19937 random_;
  std::vector<IfIndex> ports_;
  const IfIndex bridge_;
};

std::vector<IfIndex> ports_of(DataPlane& plane) {
  std::vector<IfIndex> ports;
  const auto links = plane.links().value();
  for (const char* name : {"swp1", "swp2"}) {
    for (const LinkEvent& link : links) {
      if (link.name == name) ports.push_back(link.port);
    }
  }
  return ports;
}

// Everything that can be read back, as sorted lines. Ports appear by index, because the two kernels number them differently.
std::vector<std::string> state_of(DataPlane& plane) {
  const auto ports = ports_of(plane);
  const auto port_name = [&ports](IfIndex port) {
    const auto found = std::find(ports.begin(), ports.end(), port);
    return found == ports.end() ? std::string{"-"} : "swp" + std::to_string(found - ports.begin() + 1);
  };
  std::vector<std::string> lines;
  EXPECT_TRUE(plane
                  .routes([&lines](const RouteEntry& entry) {
                    lines.push_back(
                        to_string(RouteSet{.prefix = entry.prefix, .nexthop = entry.nexthop, .table = entry.table, .type = entry.type}));
                  })
                  .ok());
  const auto nexthops = plane.nexthops().value();
  for (const NexthopEntry& entry : nexthops) {
    if (!entry.members.empty()) {
      lines.push_back(to_string(GroupSet{.id = entry.id, .members = entry.members}));
    } else {
      lines.push_back("nexthop " + std::to_string(entry.id.value()) + " " + entry.gateway.to_string() + " " + port_name(entry.port));
    }
  }
  const auto neighbors = plane.neighbors().value();
  for (const NeighborEntry& entry : neighbors) {
    lines.push_back("neighbor " + entry.address.to_string() + " " + entry.mac.to_string() + " " + port_name(entry.port));
  }
  const auto addresses = plane.addresses().value();
  for (const AddressEntry& entry : addresses) {
    const std::string text = entry.address.to_string();
    if (port_name(entry.port) != "-" && text.rfind("fe80:", 0) != 0) lines.push_back("address " + text + " " + port_name(entry.port));
  }
  const auto entries = plane.fdb().value();
  for (const FdbEntry& entry : entries) lines.push_back("entry " + entry.mac.to_string() + " " + port_name(entry.port));
  const auto links = plane.links().value();
  for (const LinkEvent& link : links) {
    if (link.master) lines.push_back("in the bridge " + port_name(link.port));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

IfIndex bridge_of(DataPlane& plane) {
  const auto links = plane.links().value();
  const auto found = std::ranges::find(links, "br0", &LinkEvent::name);
  return found == links.end() ? IfIndex{} : found->port;
}

// Creates a bridge without carrier to the outside, so that only what it has itself is compared.
IfIndex add_bridge(DataPlane& plane) {
  Operation order{.order = BridgeSet{"br0"}, .status = {}};
  plane.apply({&order, 1});
  return bridge_of(plane);
}

void compare(std::uint32_t seed, const netlink::Lab& lab) {
  auto kernel = make_linux_dataplane({.network_namespace = lab.path()}).value();
  SimDataPlane simulated;
  simulated.add_port("swp1");
  simulated.add_port("swp2");
  Drawer kernel_drawer(seed, ports_of(*kernel), add_bridge(*kernel));
  Drawer simulated_drawer(seed, ports_of(simulated), add_bridge(simulated));
  constexpr int kOrders = 400;
  // Another control plane has an entry for the last station in each bridge.
  const MacAddress external{{2, 0, 0, 0, 1, Drawer::kStations - 1}};
  for (int i = 0; i < kOrders; ++i) {
    if (i == kOrders / 2) {
      for (DataPlane* const plane : {kernel.get(), static_cast<DataPlane*>(&simulated)}) {
        Operation enter{LinkSet{.port = ports_of(*plane)[0], .master = bridge_of(*plane)}};
        plane->apply({&enter, 1});
        ASSERT_TRUE(enter.status.ok()) << enter.status.to_string();
      }
      simulated.add_external_entry("swp1", external);
      ASSERT_TRUE(lab.bridge("fdb replace " + external.to_string() + " dev swp1 master static extern_learn"));
    }
    Operation real{.order = kernel_drawer.draw()};
    Operation fake{.order = simulated_drawer.draw()};
    kernel->apply({&real, 1});
    simulated.apply({&fake, 1});
    ASSERT_EQ(real.status.origin_errno(), fake.status.origin_errno())
        << "seed " << seed << ", order " << i << ": " << to_string(fake.order) << "\n kernel:    " << real.status.to_string()
        << "\n simulated: " << fake.status.to_string();
    ASSERT_EQ(real.status.code(), fake.status.code()) << real.status.to_string();
    if (i % 20 != 0 && i + 1 != kOrders) continue;
    ASSERT_EQ(state_of(*kernel), state_of(simulated)) << "seed " << seed << ", after order " << i;
  }
}

TEST(SimDataPlane, AgreesWithTheKernelOnRandomOrdersProperty) {
  for (std::uint32_t seed = 1; seed <= 32; ++seed) {
    auto lab = netlink::Lab::make();
    if (!lab) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << lab.error().to_string();
    ASSERT_TRUE((*lab)->add_port(1) && (*lab)->add_port(2));
    ASSERT_NO_FATAL_FAILURE(compare(seed, **lab));
  }
}

}  // namespace
}  // namespace rondo
