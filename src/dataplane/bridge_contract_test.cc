// Goal: every implementation keeps the promises about bridges, the ports in them, and their forwarding databases. Method: that of
// dataplane_contract_test.cc.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>
#include <tuple>

#include "dataplane/testing/contract.h"

namespace rondo {
namespace {

using namespace contract;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BridgeContract : public DataPlaneContract {
 protected:
  void SetUp() override {
    DataPlaneContract::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    must(BridgeSet{.name = "Vlan10"});
    bridge_ = link("Vlan10").port;
  }
  std::vector<std::string> entries() {
    std::vector<std::string> texts;
    const auto read = plane().fdb().value();
    for (const FdbEntry& entry : read) {
      EXPECT_EQ(entry.bridge, bridge_);
      texts.push_back(entry.mac.to_string() + (entry.port == swp1_ ? " swp1" : " swp2"));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  /// Linux computes the carrier of a bridge, and what follows from it, a moment after that of its ports.
  template <class Condition>
  static bool becomes(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }
  IfIndex bridge_;
  static constexpr MacAddress kStation{{2, 0, 0, 0, 0, 0xaa}};
};

TEST_P(BridgeContract, ADeviceIsUpHasCarrierAndOurMarkAndItsNameIsTaken) {
  EXPECT_TRUE(link("Vlan10").admin_up);
  EXPECT_TRUE(link("Vlan10").carrier);
  EXPECT_TRUE(link("Vlan10").bridge);
  EXPECT_TRUE(link("Vlan10").ours);
  EXPECT_EQ(link("Vlan10").mtu, 1500U);
  EXPECT_FALSE(link("swp1").bridge);
  EXPECT_EQ(link("swp1").vlan, 0U);
  EXPECT_FALSE(link("swp1").lower);
  EXPECT_EQ(apply(BridgeSet{.name = "Vlan10"}).code(), StatusCode::AlreadyExists);
  EXPECT_EQ(apply(BridgeSet{.name = "swp1"}).code(), StatusCode::AlreadyExists);
  must(BridgeSet{.name = "Vlan20"});
  EXPECT_EQ(apply(LinkSet{.port = bridge_, .master = link("Vlan20").port}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(apply(LinkSet{.port = swp1_, .master = swp2_}).code(), StatusCode::Unimplemented);
  must(DeviceDelete{bridge_});
  EXPECT_FALSE(link("Vlan10").port);
}

TEST_P(BridgeContract, APortThatEntersAndLeavesKeepsItsAddressesNeighborsAndNexthops) {
  ASSERT_NO_FATAL_FAILURE(bring_up());
  const auto before = std::tuple{addresses(swp1_), plane().neighbors().value().size(), nexthop_ids()};
  const auto now = [&] { return std::tuple{addresses(swp1_), plane().neighbors().value().size(), nexthop_ids()}; };
  must(LinkSet{.port = swp1_, .master = bridge_});
  EXPECT_EQ(link("swp1").master, bridge_);
  EXPECT_EQ(now(), before);
  must(BridgeSet{.name = "Vlan20"});
  must(LinkSet{.port = swp1_, .master = link("Vlan20").port});
  EXPECT_EQ(link("swp1").master, link("Vlan20").port) << "it leaves the other bridge by itself";
  must(LinkSet{.port = swp1_, .master = IfIndex{}});
  EXPECT_FALSE(link("swp1").master);
  EXPECT_EQ(now(), before);
  must(LinkSet{.port = swp1_, .master = bridge_});
  must(DeviceDelete{bridge_});
  EXPECT_FALSE(link("swp1").master);
  EXPECT_EQ(now(), before);
}

TEST_P(BridgeContract, CarrierMtuAndAddressFollowThePortsUntilTheyAreSet) {
  must(LinkSet{.port = swp1_, .up = true, .mtu = 1400});
  must(LinkSet{.port = swp1_, .master = bridge_});
  EXPECT_EQ(link("Vlan10").mtu, 1400U);
  EXPECT_EQ(link("Vlan10").mac, link("swp1").mac);
  EXPECT_TRUE(becomes([&] { return link("Vlan10").carrier; }));
  must(AddressSet{.port = bridge_, .address = Prefix::parse_interface("10.7.0.1/24").value()});
  must(NexthopSet{.id = kOne, .gateway = ip("10.7.0.2"), .port = bridge_});
  must(LinkSet{.port = swp1_, .up = false});
  EXPECT_TRUE(link("Vlan10").admin_up);
  EXPECT_TRUE(becomes([&] { return !link("Vlan10").carrier; })) << "the last port went down";
  EXPECT_TRUE(becomes([&] { return nexthop_ids().empty(); }));
  EXPECT_THAT(addresses(bridge_), ElementsAre("10.7.0.1/24"));
  must(LinkSet{.port = swp1_, .up = true});
  EXPECT_TRUE(becomes([&] { return link("Vlan10").carrier; }));
  const MacAddress own{{2, 0, 0, 0, 0x10, 0x10}};
  must(LinkSet{.port = bridge_, .mtu = 9000, .mac = own});
  must(LinkSet{.port = swp1_, .mtu = 1300});
  must(LinkSet{.port = swp1_, .master = IfIndex{}});
  EXPECT_EQ(link("Vlan10").mtu, 9000U);
  EXPECT_EQ(link("Vlan10").mac, own);
  EXPECT_TRUE(becomes([&] { return !link("Vlan10").carrier; })) << "it has no port any more";
}

TEST_P(BridgeContract, AStaticEntryMovesBetweenPortsAndGoesWithItsPort) {
  EXPECT_EQ(apply(FdbSet{swp1_, kStation}).code(), StatusCode::FailedPrecondition) << "the port is in no bridge";
  EXPECT_EQ(apply(FdbDelete{swp1_, kStation}).code(), StatusCode::NotFound);
  for (const IfIndex port : {swp1_, swp2_}) must(LinkSet{.port = port, .up = true, .master = bridge_});
  must(FdbSet{swp1_, kStation});
  must(FdbSet{swp1_, kStation});
  EXPECT_THAT(entries(), ElementsAre("02:00:00:00:00:aa swp1"));
  must(FdbSet{swp2_, kStation});
  EXPECT_THAT(entries(), ElementsAre("02:00:00:00:00:aa swp2"));
  EXPECT_EQ(apply(FdbDelete{swp1_, kStation}).code(), StatusCode::NotFound) << "it is on the other port";
  must(LinkSet{.port = swp2_, .up = false});
  EXPECT_THAT(entries(), SizeIs(1)) << "a port that goes down keeps it";
  must(LinkSet{.port = swp2_, .master = IfIndex{}});
  EXPECT_THAT(entries(), IsEmpty());
  must(FdbSet{swp1_, kStation});
  must(FdbDelete{swp1_, kStation});
  EXPECT_THAT(entries(), IsEmpty());
  EXPECT_EQ(apply(FdbSet{swp1_, MacAddress{{1, 0, 0x5e, 0, 0, 1}}}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(apply(FdbSet{IfIndex{9999}, kStation}).code(), StatusCode::FailedPrecondition);
}

TEST_P(BridgeContract, AFrameFromTheStationDoesNotMoveAStaticEntry) {
  for (const IfIndex port : {swp1_, swp2_}) must(LinkSet{.port = port, .up = true, .master = bridge_});
  const MacAddress movable{{2, 0, 0, 0, 0, 0xbb}};
  rig_->add_movable_entry(1, movable);
  EXPECT_THAT(plane().fdb().value(), ElementsAre(::testing::Field(&FdbEntry::is_sticky, false)));
  must(FdbSet{swp1_, kStation});
  // Until the ports forward frames, nothing moves.
  ASSERT_TRUE(becomes([&] {
    rig_->hear(2, kStation);
    rig_->hear(2, movable);
    return entries() == std::vector<std::string>{"02:00:00:00:00:aa swp1", "02:00:00:00:00:bb swp2"};
  }));
  // An order makes an entry sticky that is on its port already.
  rig_->add_movable_entry(1, movable);
  must(FdbSet{swp1_, movable});
  EXPECT_THAT(plane().fdb().value(), Each(::testing::Field(&FdbEntry::is_sticky, true)));
  rig_->hear(2, movable);
  rig_->hear(2, kStation);
  EXPECT_THAT(entries(), ElementsAre("02:00:00:00:00:aa swp1", "02:00:00:00:00:bb swp1"));
}

TEST_P(BridgeContract, AnEntryToDeleteIsTheOneAfterTheOrdersBefore) {
  const MacAddress own = link("swp1").mac;
  std::vector<Operation> bulk;
  for (const Order& order :
       {Order{FdbDelete{swp1_, kStation}}, Order{LinkSet{.port = swp1_, .master = bridge_}}, Order{FdbDelete{swp1_, own}}}) {
    bulk.push_back({order, {}});
  }
  plane().apply(bulk);
  EXPECT_EQ(bulk[0].status.code(), StatusCode::NotFound);
  EXPECT_TRUE(bulk[1].status.ok()) << bulk[1].status.to_string();
  EXPECT_EQ(bulk[2].status.code(), StatusCode::NotFound) << "it is the address of a port of the bridge by then";
  EXPECT_THAT(std::string{bulk[2].status.message()}, HasSubstr("the address of a device of this bridge"));
}

TEST_P(BridgeContract, AnEntryOfAnotherControlPlaneAndTheAddressOfADeviceStay) {
  for (const IfIndex port : {swp1_, swp2_}) must(LinkSet{.port = port, .up = true, .master = bridge_});
  rig_->add_external_entry(1, kStation);
  for (const IfIndex port : {swp1_, swp2_}) {
    const Status refused = apply(FdbSet{port, kStation});
    EXPECT_EQ(refused.code(), StatusCode::AlreadyExists);
    EXPECT_THAT(std::string{refused.message()}, HasSubstr("an entry of another control plane"));
    EXPECT_EQ(apply(FdbDelete{port, kStation}).code(), StatusCode::NotFound);
  }
  EXPECT_THAT(entries(), IsEmpty());
  rig_->remove_external_entry(1, kStation);  // It was there.
  must(FdbSet{swp2_, kStation});
  EXPECT_THAT(entries(), ElementsAre("02:00:00:00:00:aa swp2"));
  rig_->add_external_entry(2, kStation);
  EXPECT_THAT(entries(), IsEmpty()) << "it is in the place of ours";
  const MacAddress own = link("swp1").mac;
  for (const IfIndex port : {swp1_, swp2_}) {
    const Status refused = apply(FdbSet{port, own});
    EXPECT_EQ(refused.code(), StatusCode::AlreadyExists);
    EXPECT_THAT(std::string{refused.message()}, HasSubstr("the address of a device of this bridge"));
    EXPECT_EQ(apply(FdbDelete{port, own}).code(), StatusCode::NotFound);
  }
}

TEST_P(BridgeContract, AStaticEntryTakesThePlaceOfALearnedOneInTheOrderOfTheOrders) {
  for (const IfIndex port : {swp1_, swp2_}) must(LinkSet{.port = port, .up = true, .master = bridge_});
  ASSERT_TRUE(becomes([&] {
    rig_->hear(1, kStation);
    Operation probe{FdbDelete{swp1_, kStation}, {}};
    plane().apply({&probe, 1});
    return probe.status.ok();
  }));
  rig_->hear(1, kStation);
  const MacAddress other{{2, 0, 0, 0, 0, 0xbb}};
  std::vector<Operation> bulk;
  for (const Order& order : {Order{FdbSet{swp2_, kStation}}, Order{FdbSet{swp1_, other}}, Order{FdbDelete{swp1_, other}},
                             Order{FdbSet{swp2_, other}}, Order{FdbDelete{swp1_, MacAddress{{2, 0, 0, 0, 0, 0xcc}}}}}) {
    bulk.push_back({order, {}});
  }
  plane().apply(bulk);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(bulk[i].status.ok()) << i << bulk[i].status.to_string();
  EXPECT_EQ(bulk[4].status.code(), StatusCode::NotFound);
  EXPECT_THAT(entries(), ElementsAre("02:00:00:00:00:aa swp2", "02:00:00:00:00:bb swp2"));
}

TEST_P(BridgeContract, ATaggedPortGoesUpAndDownWithItsPortAndGoesWithIt) {
  const TaggedPortSet order{.name = "swp1.10", .port = swp1_, .bridge = bridge_, .vlan = 10};
  const Status made = apply(order);
  if (made.code() == StatusCode::Unimplemented) {
    std::cerr << "SKIPPED: this kernel has no 802.1Q devices (CONFIG_VLAN_8021Q)\n";
    GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: it has no 802.1Q devices: " << made.to_string();
  }
  ASSERT_TRUE(made.ok()) << made.to_string();
  const IfIndex tagged = link("swp1.10").port;
  EXPECT_EQ(link("swp1.10").vlan, 10U);
  EXPECT_EQ(link("swp1.10").lower, swp1_);
  EXPECT_EQ(link("swp1.10").master, bridge_);
  EXPECT_TRUE(link("swp1.10").ours);
  EXPECT_EQ(apply(order).code(), StatusCode::AlreadyExists);
  EXPECT_EQ(apply(LinkSet{.port = tagged, .up = true}).code(), StatusCode::FailedPrecondition) << "its port is down";
  must(LinkSet{.port = swp1_, .up = true});
  EXPECT_TRUE(link("swp1.10").admin_up);
  EXPECT_TRUE(becomes([&] { return link("swp1.10").carrier; }));
  must(FdbSet{tagged, kStation});
  must(LinkSet{.port = swp1_, .up = false});
  EXPECT_FALSE(link("swp1.10").admin_up);
  rig_->remove_port(1);
  EXPECT_FALSE(link("swp1.10").port);
  EXPECT_THAT(plane().fdb().value(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, BridgeContract, ::testing::Values(Kind::Sim, Kind::Kernel), name_of);

}  // namespace
}  // namespace rondo
