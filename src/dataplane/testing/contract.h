// contract.h: what the contract tests of data planes share: a testbed with two ports on the simulated kernel and on the real one, and the
// fixture whose cases run on both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/netlink/lab.h"
#include "dataplane/netlink/lab_frames.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/simulated.h"

namespace rondo::contract {

/// A testbed with two ports "swp1" and "swp2": the data plane, and control over its cables.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual DataPlane& plane() = 0;
  virtual void set_carrier(int number, bool up) = 0;
  virtual void remove_port(int number) = 0;
  /// Adds a route of another program, with our metric and protocol 4.
  virtual void add_foreign_route(const char* prefix) = 0;
  /// Adds a blackhole of another program, with our protocol and metric 5.
  virtual void add_stray_route(const char* prefix) = 0;
  /// Returns false if the route is absent.
  virtual bool remove_foreign_route(const char* prefix) = 0;
  /// Adds a next hop of another program on swp1, with protocol 4, and deletes it. Returns false if it is absent or of another protocol.
  virtual void add_foreign_nexthop(NexthopId id, const char* gateway) = 0;
  virtual bool remove_foreign_nexthop(NexthopId id) = 0;
  /// A frame from the station arrives at the port.
  virtual void hear(int number, const MacAddress& station) = 0;
  /// Another control plane sets an entry in the bridge of the port, and deletes it.
  virtual void add_external_entry(int number, const MacAddress& station) = 0;
  virtual void remove_external_entry(int number, const MacAddress& station) = 0;
  /// Another program sets a static entry that is not sticky.
  virtual void add_movable_entry(int number, const MacAddress& station) = 0;
};

class SimRig final : public Rig {
 public:
  SimRig() {
    plane_.add_port("swp1");
    plane_.add_port("swp2");
  }
  DataPlane& plane() override { return plane_; }
  void set_carrier(int number, bool up) override { plane_.set_carrier("swp" + std::to_string(number), up); }
  void remove_port(int number) override { plane_.remove_port("swp" + std::to_string(number)); }
  void add_foreign_route(const char* prefix) override { plane_.add_foreign_route(Prefix::parse(prefix).value(), 4); }
  void add_stray_route(const char* prefix) override { plane_.add_stray_route({.prefix = Prefix::parse(prefix).value(), .metric = 5}); }
  void hear(int number, const MacAddress& station) override { plane_.hear("swp" + std::to_string(number), station); }
  void add_external_entry(int number, const MacAddress& station) override {
    plane_.add_external_entry("swp" + std::to_string(number), station);
  }
  void add_movable_entry(int number, const MacAddress& station) override {
    plane_.add_movable_entry("swp" + std::to_string(number), station);
  }
  void remove_external_entry(int, const MacAddress& station) override { ASSERT_TRUE(plane_.remove_external_entry("Vlan10", station)); }
  bool remove_foreign_route(const char* prefix) override { return plane_.remove_foreign_route(Prefix::parse(prefix).value()); }
  void add_foreign_nexthop(NexthopId id, const char* gateway) override {
    const std::vector<LinkEvent> links = plane_.links().value();
    plane_.add_foreign_nexthop(id, IpAddress::parse(gateway).value(), std::ranges::find(links, "swp1", &LinkEvent::name)->port, 4);
  }
  bool remove_foreign_nexthop(NexthopId id) override { return plane_.remove_foreign_nexthop(id); }

 private:
  SimDataPlane plane_;
};

class KernelRig final : public Rig {
 public:
  static Result<std::unique_ptr<Rig>> make() {
    auto lab = netlink::Lab::make();
    if (!lab) return failure(std::move(lab.error()));
    if (!(*lab)->add_port(1) || !(*lab)->add_port(2)) return failure(StatusCode::PermissionDenied, "this machine has no veth ports");
    auto plane = make_linux_dataplane({.network_namespace = (*lab)->path(), .detect_duplicates = false});
    if (!plane) return failure(std::move(plane.error()));
    return std::unique_ptr<Rig>{new KernelRig(std::move(*lab), std::move(*plane))};
  }
  DataPlane& plane() override { return *plane_; }
  void set_carrier(int number, bool up) override { ASSERT_TRUE(lab_->set_carrier(number, up)); }
  void remove_port(int number) override { ASSERT_TRUE(lab_->remove_port(number)); }
  void add_foreign_route(const char* prefix) override {
    ASSERT_TRUE(lab_->ip(std::string{"route replace blackhole "} + prefix + " metric 201 proto static"));
  }
  void add_stray_route(const char* prefix) override {
    ASSERT_TRUE(lab_->ip(std::string{"route add blackhole "} + prefix + " metric 5 proto 201"));
  }
  void hear(int number, const MacAddress& station) override {
    const Status sent = netlink::send_frame(*lab_, number, station);
    ASSERT_TRUE(sent.ok()) << sent.to_string();
  }
  void add_external_entry(int number, const MacAddress& station) override {
    ASSERT_TRUE(lab_->bridge("fdb replace " + station.to_string() + " dev swp" + std::to_string(number) + " master static extern_learn"));
  }
  void add_movable_entry(int number, const MacAddress& station) override {
    ASSERT_TRUE(lab_->bridge("fdb replace " + station.to_string() + " dev swp" + std::to_string(number) + " master static"));
  }
  void remove_external_entry(int number, const MacAddress& station) override {
    ASSERT_TRUE(lab_->bridge("fdb del " + station.to_string() + " dev swp" + std::to_string(number) + " master"));
  }
  bool remove_foreign_route(const char* prefix) override {
    return lab_->ip(std::string{"route del blackhole "} + prefix + " metric 201 proto static");
  }
  void add_foreign_nexthop(NexthopId id, const char* gateway) override {
    ASSERT_TRUE(lab_->ip("nexthop add id " + std::to_string(id.value()) + " via " + gateway + " dev swp1 proto static"));
  }
  bool remove_foreign_nexthop(NexthopId id) override {
    const std::string number = std::to_string(id.value());
    return lab_->ip("nexthop show id " + number + " | grep -q 'proto static'") && lab_->ip("nexthop del id " + number);
  }

 private:
  KernelRig(std::unique_ptr<netlink::Lab> lab, std::unique_ptr<DataPlane> plane) : lab_(std::move(lab)), plane_(std::move(plane)) {}
  std::unique_ptr<netlink::Lab> lab_;
  std::unique_ptr<DataPlane> plane_;
};

enum class Kind { Sim, Kernel };

inline IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }
inline Prefix prefix(const char* text) { return Prefix::parse(text).value(); }
inline Prefix interface(const char* text) { return Prefix::parse_interface(text).value(); }
inline MacAddress mac(const char* text) { return MacAddress::parse(text).value(); }

inline constexpr NexthopId kOne{1'000'001};
inline constexpr NexthopId kTwo{1'000'002};
inline constexpr NexthopId kSix{1'000'006};
inline constexpr NexthopId kGroup{2'000'001};

class DataPlaneContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::Sim) {
      rig_ = std::make_unique<SimRig>();
    } else {
      auto rig = KernelRig::make();
      if (!rig) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: " << rig.error().to_string();
      rig_ = std::move(*rig);
    }
    const auto links = plane().links().value();
    for (const LinkEvent& link : links) {
      if (link.name == "swp1") swp1_ = link.port;
      if (link.name == "swp2") swp2_ = link.port;
    }
    ASSERT_TRUE(swp1_ && swp2_);
  }

  DataPlane& plane() { return rig_->plane(); }
  Status apply(Order order) {
    Operation op{.order = std::move(order), .status = {}};
    plane().apply({&op, 1});
    return std::move(op.status);
  }
  void must(Order order) {
    const Status status = apply(std::move(order));
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  // Both ports up with addresses, a next hop on each (10.0.0.2, 10.0.1.2), one for IPv6 on swp1, and a group of the first two.
  void bring_up() {
    must(LinkSet{.port = swp1_, .up = true});
    must(LinkSet{.port = swp2_, .up = true});
    must(AddressSet{.port = swp1_, .address = interface("10.0.0.1/24")});
    must(AddressSet{.port = swp2_, .address = interface("10.0.1.1/24")});
    must(AddressSet{.port = swp1_, .address = interface("2001:db8::1/64")});
    must(NexthopSet{.id = kOne, .gateway = ip("10.0.0.2"), .port = swp1_});
    must(NexthopSet{.id = kTwo, .gateway = ip("10.0.1.2"), .port = swp2_});
    must(NexthopSet{.id = kSix, .gateway = ip("2001:db8::2"), .port = swp1_});
    must(GroupSet{.id = kGroup, .members = {{.nexthop = kOne}, {.nexthop = kTwo, .weight = 3}}});
  }
  /// Without a number if there is no such device.
  LinkEvent link(std::string_view name) {
    const auto links = plane().links().value();
    const auto found = std::find_if(links.begin(), links.end(), [&](const LinkEvent& event) { return event.name == name; });
    return found == links.end() ? LinkEvent{} : *found;
  }
  std::vector<RouteEntry> routes() {
    std::vector<RouteEntry> entries;
    const Status status = plane().routes([&entries](const RouteEntry& entry) { entries.push_back(entry); });
    EXPECT_TRUE(status.ok()) << status.to_string();
    std::sort(entries.begin(), entries.end());
    return entries;
  }
  std::vector<std::string> route_texts() {
    std::vector<std::string> texts;
    for (const RouteEntry& entry : routes()) texts.push_back(entry.prefix.to_string());
    return texts;
  }
  std::vector<std::uint32_t> nexthop_ids() {
    std::vector<std::uint32_t> ids;
    const auto entries = plane().nexthops().value();
    for (const NexthopEntry& entry : entries) ids.push_back(entry.id.value());
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  std::optional<NexthopEntry> nexthop(NexthopId id) {
    const auto entries = plane().nexthops().value();
    for (const NexthopEntry& entry : entries) {
      if (entry.id == id) return entry;
    }
    return std::nullopt;
  }
  // Addresses of a port as texts, without the link-local ones that Linux adds.
  std::vector<std::string> addresses(IfIndex port) {
    std::vector<std::string> texts;
    const auto entries = plane().addresses().value();
    for (const AddressEntry& entry : entries) {
      const std::string text = entry.address.to_string();
      if (entry.port == port && text.rfind("fe80:", 0) != 0) texts.push_back(text);
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  std::unique_ptr<Rig> rig_;
  IfIndex swp1_;
  IfIndex swp2_;
};

inline std::string name_of(const ::testing::TestParamInfo<Kind>& info) { return info.param == Kind::Sim ? "Sim" : "Kernel"; }

}  // namespace rondo::contract
