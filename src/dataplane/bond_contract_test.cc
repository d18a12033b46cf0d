// Goal: every implementation keeps the promises about bonds and the ports in them. Method: that of dataplane_contract_test.cc. A kernel
// without the bonding driver runs one case only: what it answers.
#include <gmock/gmock.h>

#include <iostream>

#include "dataplane/testing/contract.h"

namespace rondo {
namespace {

using namespace contract;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BondContract : public DataPlaneContract {
 protected:
  void SetUp() override {
    DataPlaneContract::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Status made = apply(BondSet{.name = "PortChannel1", .mode = BondMode::Lacp, .min_links = 1});
    if (made.code() == StatusCode::Unimplemented) {
      EXPECT_THAT(made.message(), HasSubstr("Unknown device type"));
      std::cerr << "SKIPPED: this kernel has no bonding driver (CONFIG_BONDING)\n";
      GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: it has no bonding driver: " << made.to_string();
    }
    ASSERT_TRUE(made.ok()) << made.to_string();
    bond_ = link("PortChannel1").port;
  }
  IfIndex bond_;
};

TEST_P(BondContract, ADeviceIsUpWithoutCarrierHasOurMarkAndItsNameIsTaken) {
  const LinkEvent bond = link("PortChannel1");
  EXPECT_TRUE(bond.admin_up && bond.ours && !bond.carrier);
  EXPECT_EQ(bond.bond, BondMode::Lacp);
  EXPECT_EQ(bond.min_links, 1U);
  EXPECT_EQ(link("swp1").bond, BondMode::None);
  EXPECT_EQ(apply(BondSet{.name = "PortChannel1"}).code(), StatusCode::AlreadyExists);
  EXPECT_EQ(apply(BondSet{.name = "PortChannel2", .mode = BondMode::Other}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(apply(BondSet{.name = {}, .mode = BondMode::Static, .min_links = 1}).code(), StatusCode::InvalidArgument);
  must(BondSet{.name = {}, .min_links = 2, .device = bond_});
  EXPECT_EQ(link("PortChannel1").min_links, 2U);
  EXPECT_EQ(apply(BondSet{.name = {}, .min_links = 2, .device = IfIndex{9999}}).code(), StatusCode::FailedPrecondition);
  must(DeviceDelete{bond_});
  EXPECT_FALSE(link("PortChannel1").port);
}

TEST_P(BondContract, APortEntersOnlyWhileItIsDownAndIsAsTheBondThen) {
  const MacAddress own = link("swp1").mac;
  must(LinkSet{.port = bond_, .mtu = 1400});
  must(LinkSet{.port = swp1_, .up = true});
  const Status refused = apply(LinkSet{.port = swp1_, .master = bond_});
  EXPECT_EQ(refused.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("Device can not be enslaved while up"));
  EXPECT_FALSE(link("swp1").master);
  must(LinkSet{.port = swp1_, .up = false});
  must(LinkSet{.port = swp1_, .master = bond_});
  EXPECT_EQ(link("swp1").master, bond_);
  EXPECT_TRUE(link("swp1").admin_up);
  EXPECT_EQ(link("swp1").mtu, 1400U);
  EXPECT_EQ(link("PortChannel1").mac, own) << "that of its first port";
  must(LinkSet{.port = swp2_, .master = bond_});
  EXPECT_EQ(link("swp2").mac, own);
  must(LinkSet{.port = bond_, .mtu = 1300});
  EXPECT_EQ(link("swp1").mtu, 1300U);
  must(LinkSet{.port = swp1_, .master = IfIndex{}});
  EXPECT_FALSE(link("swp1").admin_up);
  EXPECT_EQ(link("swp1").mtu, 1500U);
  EXPECT_EQ(link("swp1").mac, own);
  must(DeviceDelete{bond_});
  EXPECT_FALSE(link("swp2").master);
  EXPECT_FALSE(link("swp2").admin_up);
  EXPECT_NE(link("swp2").mac, own);
}

TEST_P(BondContract, CarrierAndNextHopsFollowTheNumberOfActivePorts) {
  if (GetParam() != Kind::Sim) GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: it needs partners that speak LACP";
  for (const IfIndex port : {swp1_, swp2_}) must(LinkSet{.port = port, .master = bond_});
  must(AddressSet{.port = bond_, .address = interface("10.7.0.1/24")});
  EXPECT_TRUE(link("PortChannel1").carrier);
  must(NexthopSet{.id = kOne, .gateway = ip("10.7.0.2"), .port = bond_});
  rig_->set_carrier(1, false);
  EXPECT_TRUE(link("PortChannel1").carrier);
  EXPECT_EQ(nexthop_ids().size(), 1U);
  must(BondSet{.name = {}, .min_links = 2, .device = bond_});
  EXPECT_FALSE(link("PortChannel1").carrier);
  EXPECT_THAT(nexthop_ids(), IsEmpty());
  must(BondSet{.name = {}, .min_links = 0, .device = bond_});
  EXPECT_TRUE(link("PortChannel1").carrier);
  rig_->remove_port(2);
  EXPECT_FALSE(link("PortChannel1").carrier);
  EXPECT_TRUE(link("PortChannel1").admin_up);
}

TEST_P(BondContract, APortMovesFromOneBondToAnotherAndABondEntersABridgeAndNoBond) {
  must(BondSet{.name = "PortChannel2", .mode = BondMode::Static});
  const IfIndex other = link("PortChannel2").port;
  EXPECT_EQ(link("PortChannel2").bond, BondMode::Static);
  must(LinkSet{.port = swp1_, .master = bond_});
  must(LinkSet{.port = swp1_, .master = other});
  EXPECT_EQ(link("swp1").master, other);
  EXPECT_TRUE(link("swp1").admin_up);
  EXPECT_TRUE(link("PortChannel2").carrier);
  must(BridgeSet{.name = "Vlan10"});
  must(LinkSet{.port = other, .master = link("Vlan10").port});
  EXPECT_EQ(link("PortChannel2").master, link("Vlan10").port);
  EXPECT_FALSE(apply(LinkSet{.port = bond_, .master = bond_}).ok());
}

INSTANTIATE_TEST_SUITE_P(All, BondContract, ::testing::Values(Kind::Sim, Kind::Kernel), name_of);

TEST(KernelWithoutBonding, RefusesABond) {
  SimDataPlane plane{{.spend = {}, .bonding = false}};
  Operation bond{BondSet{.name = "PortChannel1"}, {}};
  plane.apply({&bond, 1});
  EXPECT_EQ(bond.status.code(), StatusCode::Unimplemented);
  EXPECT_TRUE(plane.links().value().empty());
}

}  // namespace
}  // namespace rondo
