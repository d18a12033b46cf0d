// Which readings a Reconciler still considers valid, and which objects it reports as unwanted, on the simulated kernel.
#include "dataplane/reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "rondo/dataplane/simulated.h"

namespace rondo {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const Prefix kRoute = Prefix::parse("20.0.0.0/24").value();
const IpAddress kGateway = IpAddress::parse("10.0.0.2").value();
const MacAddress kMac = MacAddress::parse("02:00:00:00:00:02").value();
const Prefix kAddress = Prefix::parse_interface("10.0.0.1/24").value();

class ReconcilerTest : public testing::Test {
 protected:
  /// Makes a port with an address and a neighbour, a group of one next hop, and a route on the group.
  void SetUp() override {
    port_ = plane_.add_port("A");
    must(plane_, {LinkSet{port_, true, 9000}, AddressSet{port_, kAddress}, NeighborSet{port_, kGateway, kMac},
                  NexthopSet{NexthopId{1}, kGateway, port_}, GroupSet{.id = NexthopId{100}, .members = {{NexthopId{1}, 1}}},
                  RouteSet{kRoute, NexthopId{100}}});
    ASSERT_TRUE(reconciler_.read().ok());
    EXPECT_EQ(reconciler_.counts().found, 5U);
    before_ = plane_.executed();
  }
  static std::vector<Operation> bulk_of(std::initializer_list<Order> orders) {
    std::vector<Operation> bulk;
    for (const Order& order : orders) bulk.push_back({order, {}});
    return bulk;
  }
  static std::vector<Operation> deletes_of(const std::vector<DeleteOrder>& deletes) {
    std::vector<Operation> bulk;
    for (const DeleteOrder& one : deletes) bulk.push_back({order_of(one), {}});
    return bulk;
  }
  static void must(DataPlane& plane, std::initializer_list<Order> orders) {
    std::vector<Operation> bulk = bulk_of(orders);
    plane.apply(bulk);
    for (const Operation& operation : bulk)
      ASSERT_TRUE(operation.status.ok()) << to_string(operation.order) << operation.status.to_string();
  }
  std::uint64_t executed() const { return plane_.executed() - before_; }

  SimDataPlane plane_;
  Reconciler reconciler_{plane_};
  IfIndex port_;
  std::uint64_t before_ = 0;
};

TEST_F(ReconcilerTest, OnlinkAndThePreferredSourceArePartOfWhatIsThere) {
  const RouteSet from{.prefix = kRoute, .nexthop = NexthopId{100}, .source = kAddress.address};
  const NexthopSet onlink{.id = NexthopId{1}, .gateway = kGateway, .port = port_, .onlink = true};
  const GroupSet group{.id = NexthopId{100}, .members = {{NexthopId{1}, 1}}};
  must(plane_, {onlink, from});
  ASSERT_TRUE(reconciler_.read().ok());
  before_ = plane_.executed();
  must(reconciler_, {onlink, group, from});
  EXPECT_EQ(executed(), 0U);
  ASSERT_TRUE(reconciler_.read().ok());
  must(reconciler_, {onlink, group, RouteSet{kRoute, NexthopId{100}}});
  EXPECT_EQ(executed(), 1U) << "without the source";
  EXPECT_EQ(plane_.route(kRoute)->source, IpAddress{});
  ASSERT_TRUE(reconciler_.read().ok());
  must(reconciler_, {NexthopSet{.id = NexthopId{1}, .gateway = kGateway, .port = port_}});
  EXPECT_EQ(executed(), 2U) << "without onlink";
}

TEST_F(ReconcilerTest, WhatIsThereIsNotOrderedAgain) {
  must(reconciler_, {LinkSet{port_, true, 9000}, AddressSet{port_, kAddress}, NeighborSet{port_, kGateway, kMac},
                     NexthopSet{NexthopId{1}, kGateway, port_}, GroupSet{.id = NexthopId{100}, .members = {{NexthopId{1}, 1}}},
                     RouteSet{kRoute, NexthopId{100}}});
  EXPECT_EQ(executed(), 0U);
  EXPECT_EQ(reconciler_.counts().kept, 6U);
  const Reconciler::Unwanted unwanted = reconciler_.unwanted();
  EXPECT_THAT(unwanted.routes, IsEmpty());
  EXPECT_THAT(unwanted.neighbors, IsEmpty());
  EXPECT_THAT(unwanted.groups, IsEmpty());
  EXPECT_THAT(unwanted.nexthops, IsEmpty());
  EXPECT_THAT(unwanted.addresses, IsEmpty());
}

TEST_F(ReconcilerTest, AnAddressThatNobodyAskedForIsUnwantedUntilItIsDeleted) {
  const Prefix other = Prefix::parse_interface("2001:db8::1/64").value();
  must(reconciler_, {AddressSet{port_, other}});
  std::vector<Operation> addresses = deletes_of(reconciler_.unwanted().addresses);
  ASSERT_THAT(addresses, SizeIs(1)) << "that of now is wanted";
  EXPECT_EQ(to_string(addresses[0].order), to_string(Order{AddressDelete{port_, kAddress}}));
  plane_.fail_nth(OrderKind::Address, 1, ENOBUFS);
  reconciler_.apply(addresses);
  EXPECT_FALSE(addresses[0].status.ok());
  addresses = deletes_of(reconciler_.unwanted().addresses);
  ASSERT_THAT(addresses, SizeIs(1)) << "it is still there";
  reconciler_.apply(addresses);
  EXPECT_THAT(reconciler_.unwanted().addresses, IsEmpty());
  EXPECT_THAT(plane_.addresses().value(), SizeIs(1));
}

TEST_F(ReconcilerTest, AnIPv6AddressThatIsAskedForWithAnotherLengthIsWanted) {
  must(plane_, {AddressSet{port_, Prefix::parse_interface("2001:db8::1/64").value()}});
  Reconciler reconciler(plane_);
  ASSERT_TRUE(reconciler.read().ok());
  EXPECT_THAT(reconciler.unwanted().addresses, SizeIs(2));
  must(reconciler, {AddressSet{port_, Prefix::parse_interface("2001:db8::1/48").value()}});
  ASSERT_THAT(reconciler.unwanted().addresses, SizeIs(1));
  EXPECT_EQ(to_string(order_of(reconciler.unwanted().addresses[0])), to_string(Order{AddressDelete{port_, kAddress}}));
}

TEST_F(ReconcilerTest, ARouteIsThereOnlyWhileItsGroupIs) {
  must(reconciler_, {RouteSet{kRoute, NexthopId{100}}});
  EXPECT_EQ(executed(), 1U) << "nobody has asked for the group yet";
}

TEST_F(ReconcilerTest, AGroupIsThereOnlyWhileItsMembersAre) {
  must(reconciler_, {GroupSet{.id = NexthopId{100}, .members = {{NexthopId{1}, 1}}}});
  EXPECT_EQ(executed(), 1U) << "nobody has asked for the next hop yet";
}

TEST_F(ReconcilerTest, AGroupThatIsReplacedKeepsItsRoutes) {
  must(reconciler_, {NexthopSet{NexthopId{2}, kGateway, port_}});
  must(reconciler_, {GroupSet{.id = NexthopId{100}, .members = {{NexthopId{2}, 1}}}});
  must(reconciler_, {RouteSet{kRoute, NexthopId{100}}});
  EXPECT_EQ(executed(), 2U) << "the next hop and the group";
  EXPECT_TRUE(plane_.route(kRoute).has_value());
}

TEST_F(ReconcilerTest, AGroupThatWentWithItsLastMemberTookItsRoutesWithIt) {
  must(reconciler_, {NexthopSet{NexthopId{2}, kGateway, port_}});
  must(reconciler_, {NexthopDelete{NexthopId{1}}});
  EXPECT_FALSE(plane_.route(kRoute).has_value());
  must(reconciler_, {GroupSet{.id = NexthopId{100}, .members = {{NexthopId{2}, 1}}}});
  must(reconciler_, {RouteSet{kRoute, NexthopId{100}}});
  EXPECT_TRUE(plane_.route(kRoute).has_value());
}

TEST_F(ReconcilerTest, WhatTheSameBulkChangedBeforeIsNotBelieved) {
  must(reconciler_, {NexthopSet{NexthopId{1}, kGateway, port_}, GroupSet{.id = NexthopId{100}, .members = {{NexthopId{1}, 1}}},
                     RouteDelete{kRoute}, RouteSet{kRoute, NexthopId{100}}});
  EXPECT_EQ(executed(), 2U);
  EXPECT_TRUE(plane_.route(kRoute).has_value());
}

TEST_F(ReconcilerTest, WhatWasRefusedIsStillUnwanted) {
  plane_.fail_nth(OrderKind::Route, 1, ENOBUFS);
  std::vector<Operation> bulk = bulk_of({RouteSet{kRoute, NexthopId{}, kMainTable, RouteType::Blackhole}});
  reconciler_.apply(bulk);
  EXPECT_FALSE(bulk[0].status.ok());
  EXPECT_THAT(reconciler_.unwanted().routes, SizeIs(1)) << "the old route is there";
  must(reconciler_, {RouteSet{kRoute, NexthopId{}, kMainTable, RouteType::Blackhole}});
  EXPECT_THAT(reconciler_.unwanted().routes, IsEmpty());
}

TEST_F(ReconcilerTest, ADeleteThatWasRefusedIsUnwantedAgain) {
  plane_.fail_nth(OrderKind::Route, 1, ENOBUFS);
  std::vector<Operation> routes = deletes_of(reconciler_.unwanted().routes);
  ASSERT_THAT(routes, SizeIs(1));
  reconciler_.apply(routes);
  EXPECT_THAT(reconciler_.unwanted().routes, SizeIs(1));
  routes = deletes_of(reconciler_.unwanted().routes);
  reconciler_.apply(routes);
  EXPECT_THAT(reconciler_.unwanted().routes, IsEmpty());
  EXPECT_FALSE(plane_.route(kRoute).has_value());
}

TEST_F(ReconcilerTest, NeighboursThatGoWithTheLastAddressAreNotBelieved) {
  must(reconciler_, {AddressDelete{port_, kAddress}, AddressSet{port_, kAddress}});
  EXPECT_THAT(plane_.neighbors().value(), IsEmpty()) << "the kernel drops them";
  must(reconciler_, {NeighborSet{port_, kGateway, kMac}});
  EXPECT_THAT(plane_.neighbors().value(), SizeIs(1));
}

TEST_F(ReconcilerTest, AfterAPortWasTakenDownNothingIsBelieved) {
  must(reconciler_, {LinkSet{port_, false, {}}, LinkSet{port_, true, {}}, AddressSet{port_, kAddress}, NeighborSet{port_, kGateway, kMac}});
  EXPECT_THAT(plane_.neighbors().value(), SizeIs(1));
}

/// Two bridges; the port is in the first one, which has a static entry on it.
class BridgedReconcilerTest : public ReconcilerTest {
 protected:
  void SetUp() override {
    ReconcilerTest::SetUp();
    must(plane_, {BridgeSet{"Vlan10"}, BridgeSet{"Vlan20"}});
    first_ = link("Vlan10").port;
    second_ = link("Vlan20").port;
    must(plane_, {LinkSet{port_, {}, {}, first_}, FdbSet{port_, kStation}});
    ASSERT_TRUE(bridged_.read().ok());
    before_ = plane_.executed();
  }
  LinkEvent link(std::string_view name) {
    const std::vector<LinkEvent> all = plane_.links().value();
    return *std::ranges::find(all, name, &LinkEvent::name);
  }
  void meddle(const LinkSet& order) {
    ASSERT_TRUE(plane_.meddle(order).ok());
    bridged_.link_event(link("A"));
  }
  /// The port gets its carrier and the group of the route, and loses both: the reconciler does not answer an order for the route.
  void loses_its_group_by(IfIndex port, Reconciler& reconciler) {
    ASSERT_TRUE(plane_.meddle(LinkSet{port, true, {}}).ok());
    reconciler.link_event(link("B"));
    must(reconciler, {AddressSet{port, Prefix::parse_interface("10.0.1.1/24").value()},
                      NexthopSet{NexthopId{2}, IpAddress::parse("10.0.1.2").value(), port},
                      GroupSet{.id = NexthopId{100}, .members = {{NexthopId{2}, 1}}}});
    plane_.set_carrier("B", false);
    reconciler.link_event(link("B"));
    ASSERT_FALSE(plane_.route(kRoute).has_value()) << "it went with the group";
    std::vector<Operation> bulk = bulk_of({RouteSet{kRoute, NexthopId{100}}});
    reconciler.apply(bulk);
    EXPECT_FALSE(bulk[0].status.ok()) << "it is not answered without the kernel";
  }
  static constexpr MacAddress kStation{{2, 0, 0, 0, 0, 0xaa}};
  Reconciler bridged_{plane_};
  IfIndex first_, second_;
};

TEST_F(BridgedReconcilerTest, APortThatAnotherProgramMovesAfterTheReadingIsPutBack) {
  must(bridged_, {LinkSet{port_, {}, {}, first_}, FdbSet{port_, kStation}});
  EXPECT_EQ(executed(), 0U);
  meddle(LinkSet{port_, {}, {}, second_});
  must(bridged_, {LinkSet{port_, {}, {}, first_}, FdbSet{port_, kStation}});
  EXPECT_EQ(executed(), 2U);
  EXPECT_EQ(link("A").master, first_);
  EXPECT_THAT(plane_.fdb().value(), SizeIs(1));
}

TEST_F(BridgedReconcilerTest, WhatAnotherProgramSetsAfterTheReadingIsSetAgain) {
  meddle(LinkSet{port_, {}, 1400});
  must(bridged_, {LinkSet{port_, true, 9000}});
  EXPECT_EQ(link("A").mtu, 9000U);
  must(bridged_, {FdbSet{port_, kStation}});
  EXPECT_EQ(executed(), 1U) << "the entry stayed";
}

TEST_F(BridgedReconcilerTest, AnEntryThatIsNotStickyIsSetAgain) {
  plane_.add_movable_entry("A", kStation);
  Reconciler reconciler(plane_);
  ASSERT_TRUE(reconciler.read().ok());
  EXPECT_THAT(reconciler.unwanted().fdb, SizeIs(1));
  before_ = plane_.executed();
  must(reconciler, {FdbSet{port_, kStation}});
  EXPECT_EQ(executed(), 1U);
  EXPECT_TRUE(plane_.fdb().value().at(0).is_sticky);
  EXPECT_THAT(reconciler.unwanted().fdb, IsEmpty());
}

TEST_F(BridgedReconcilerTest, APortThatGetsACarrierAfterTheReadingAndLosesItIsNoticed) {
  const IfIndex late = plane_.add_port("B");
  Reconciler reconciler(plane_);
  ASSERT_TRUE(reconciler.read().ok());
  loses_its_group_by(late, reconciler);
}

TEST_F(BridgedReconcilerTest, APortThatIsMadeAfterTheReadingAndLosesItsCarrierIsNoticed) {
  Reconciler reconciler(plane_);
  ASSERT_TRUE(reconciler.read().ok());
  loses_its_group_by(plane_.add_port("B"), reconciler);
}

TEST_F(BridgedReconcilerTest, AnEntryDoesNotMoveWithItsPort) {
  must(bridged_, {LinkSet{port_, {}, {}, second_}, FdbSet{port_, kStation}});
  const std::vector<FdbEntry> entries = plane_.fdb().value();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].bridge, second_);
  EXPECT_THAT(bridged_.unwanted().fdb, IsEmpty());
}

TEST_F(BridgedReconcilerTest, AnEntryGoesWithItsBridge) {
  must(bridged_, {DeviceDelete{first_}});
  EXPECT_THAT(bridged_.unwanted().fdb, IsEmpty());
  must(bridged_, {LinkSet{port_, {}, {}, second_}, FdbSet{port_, kStation}});
  EXPECT_THAT(plane_.fdb().value(), SizeIs(1));
}

/// Two bonds; the port is in the first one.
class BondedReconcilerTest : public ReconcilerTest {
 protected:
  void SetUp() override {
    ReconcilerTest::SetUp();
    must(plane_, {BondSet{.name = "PortChannel1", .min_links = 1}, BondSet{.name = "PortChannel2"}, LinkSet{port_, false, {}}});
    bond_ = link("PortChannel1").port;
    other_ = link("PortChannel2").port;
    must(plane_, {LinkSet{port_, {}, {}, bond_}, AddressSet{bond_, kOnBond}});
    ASSERT_TRUE(bonded_.read().ok());
    before_ = plane_.executed();
  }
  LinkEvent link(std::string_view name) {
    const std::vector<LinkEvent> all = plane_.links().value();
    return *std::ranges::find(all, name, &LinkEvent::name);
  }
  /// True if the reading of an address is still used.
  bool trusts() {
    const std::uint64_t executed = plane_.executed();
    must(bonded_, {AddressSet{bond_, kOnBond}});
    return plane_.executed() == executed;
  }
  const Prefix kOnBond = Prefix::parse_interface("10.0.2.1/24").value();
  Reconciler bonded_{plane_};
  IfIndex bond_, other_;
};

TEST_F(BondedReconcilerTest, AnOrderForTheBondOfAPortWhoseMtuChangedTakesNothingDown) {
  must(bonded_, {LinkSet{bond_, {}, 1400}});
  ASSERT_EQ(link("A").mtu, 1400U);
  bonded_.link_event(link("A"));
  must(bonded_, {LinkSet{port_, {}, {}, bond_}});
  EXPECT_EQ(executed(), 2U);
  EXPECT_TRUE(trusts());
}

TEST_F(BondedReconcilerTest, AnOrderForAnotherBondTakesThePortDown) {
  must(bonded_, {LinkSet{port_, {}, {}, other_}});
  EXPECT_FALSE(trusts());
}

TEST_F(BondedReconcilerTest, ABondWithOtherMinLinksIsNotCreatedAgain) {
  must(bonded_, {BondSet{.name = "PortChannel1", .min_links = 2}});
  EXPECT_EQ(executed(), 0U);
  must(bonded_, {BondSet{.name = "PortChannel1", .min_links = 2, .device = bond_}});
  EXPECT_EQ(executed(), 1U);
  EXPECT_EQ(link("PortChannel1").min_links, 2U);
}

TEST_F(BondedReconcilerTest, MinLinksThatAnotherProgramChangesAfterTheReadingAreSetAgain) {
  ASSERT_TRUE(plane_.meddle(BondSet{.name = "PortChannel1", .min_links = 0, .device = bond_}).ok());
  bonded_.link_event(link("PortChannel1"));
  must(bonded_, {BondSet{.name = "PortChannel1", .min_links = 1, .device = bond_}});
  EXPECT_EQ(link("PortChannel1").min_links, 1U);
  EXPECT_TRUE(trusts());
}

TEST_F(BondedReconcilerTest, ABridgeThatIsMadeAfterTheReadingTakesNoPortDown) {
  const IfIndex late = plane_.add_port("B");
  bonded_.link_event(link("B"));
  must(bonded_, {BridgeSet{"Vlan30"}});
  bonded_.link_event(link("Vlan30"));
  must(bonded_, {LinkSet{late, {}, {}, link("Vlan30").port}, DeviceDelete{link("Vlan30").port}});
  EXPECT_TRUE(trusts());
}

TEST_F(BondedReconcilerTest, AVrfThatIsMadeAfterTheReadingTakesItsPortsDown) {
  const IfIndex late = plane_.add_port("B");
  must(bonded_, {VrfSet{"Vrf1", 1001}});
  bonded_.link_event(link("Vrf1"));
  EXPECT_TRUE(trusts());
  must(bonded_, {LinkSet{late, {}, {}, link("Vrf1").port}});
  EXPECT_FALSE(trusts());
}

TEST_F(BondedReconcilerTest, APortThatLeavesAVrfAfterTheReadingGoesDown) {
  const IfIndex late = plane_.add_port("B");
  must(plane_, {VrfSet{"Vrf1", 1001}});
  must(plane_, {LinkSet{late, {}, {}, link("Vrf1").port}});
  bonded_.link_event(link("B"));
  bonded_.link_event(link("Vrf1"));
  must(bonded_, {LinkSet{late, {}, {}, IfIndex{}}});
  EXPECT_FALSE(trusts());
}

TEST_F(ReconcilerTest, AfterTheEndEverythingPassesThrough) {
  reconciler_.end();
  must(reconciler_, {NexthopSet{NexthopId{1}, kGateway, port_}});
  EXPECT_EQ(executed(), 1U);
  EXPECT_THAT(reconciler_.unwanted().nexthops, IsEmpty());
}

}  // namespace
}  // namespace rondo
