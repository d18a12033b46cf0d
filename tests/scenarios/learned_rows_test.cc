// Rows of NEIGH_TABLE about neighbours that the kernel has learned: the agent orders nothing for them, next hops rely on them, and a row
// may become an operator's and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kMac = "02:00:00:00:00:02";
constexpr const char* kOther = "02:00:00:00:00:99";
constexpr const char* kRow = "A:10.0.0.2";

class LearnedRows : public ::testing::Test {
 protected:
  LearnedRows() {
    testbed.plane.add_port("A");
    testbed.start();
    testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    testbed.set("INTF_TABLE", "A", {});
    testbed.set("INTF_TABLE", "A:10.0.0.1/24", {});
    testbed.set("ROUTE_TABLE", "20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
    testbed.run_for(1s);
  }
  void learn(const char* mac) {
    testbed.set("NEIGH_TABLE", kRow, {{"neigh", mac}, {"learned", mac}});
    testbed.run_for(1s);
  }
  void operator_sets(const char* mac) {
    testbed.set("NEIGH_TABLE", kRow, {{"neigh", mac}});
    testbed.run_for(1s);
  }
  Lines of(std::string_view kind) {
    Lines lines = testbed.actual();
    std::erase_if(lines, [kind](const std::string& line) { return !line.starts_with(kind); });
    return lines;
  }
  PlaneState state() { return testbed.runtime.row_state("NEIGH_TABLE", kRow).plane; }

  AgentTestbed testbed;
  const std::string route = "route 20.0.0.0/8 via {A 10.0.0.2*1}";
  const std::string permanent = std::string{"neighbor A 10.0.0.2 "} + kMac;
};

TEST_F(LearnedRows, ANextHopThatIsAnAddressOfThisMachineIsNamedSo) {
  testbed.set("ROUTE_TABLE", "30.0.0.0/8", {{"nexthop", "10.0.0.1"}, {"ifname", "A"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "30.0.0.0/8"), testing::HasSubstr("10.0.0.1 is an address of this machine itself, on A"));
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "20.0.0.0/8"), testing::Not(testing::HasSubstr("of this machine")));
}

/// The chain ended at the row of NEIGH_TABLE, which no program can write.
TEST_F(LearnedRows, WhyANeighbourCannotBeLearnedIsTheDeviceOrTheAddressThatIsMissing) {
  testbed.set("ROUTE_TABLE", "30.0.0.0/8", {{"nexthop", "10.7.0.2"}, {"ifname", "C"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "30.0.0.0/8"), testing::HasSubstr("the kernel has no device named 'C'"));
  const IfIndex c = testbed.plane.add_port("C");
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{c, true}).ok());
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "30.0.0.0/8"), testing::HasSubstr("no address of that family on C"));
  learn(kMac);
  EXPECT_THAT(testbed.why("NEIGH_TABLE", kRow), testing::Not(testing::HasSubstr("device")));
}

TEST_F(LearnedRows, WhyNamesAMissingSubnetAndWhatIsDoneToResolveANeighbour) {
  testbed.agent.explain_unresolved([](std::string_view key) { return std::string{key} + " is being resolved"; });
  testbed.set("ROUTE_TABLE", "30.0.0.0/8", {{"nexthop", "10.99.0.1"}, {"ifname", "A"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "30.0.0.0/8"), testing::HasSubstr("no address of A has a subnet with 10.99.0.1"));
  testbed.set("ROUTE_TABLE", "30.0.0.0/8", {{"nexthop", "10.0.0.9"}, {"ifname", "A"}});
  testbed.run_for(1s);
  EXPECT_THAT(testbed.why("ROUTE_TABLE", "30.0.0.0/8"), testing::HasSubstr("A:10.0.0.9 is being resolved"));
}

TEST_F(LearnedRows, NextHopsRelyOnARowForWhichNothingIsOrdered) {
  EXPECT_THAT(of("route "), IsEmpty());
  learn(kMac);
  EXPECT_THAT(of("neighbor "), IsEmpty());
  EXPECT_THAT(of("route "), ElementsAre(route));
  EXPECT_EQ(testbed.unsettled(), 0U);
  EXPECT_EQ(state(), PlaneState::Installed);
  testbed.run_for(10min);
  EXPECT_THAT(testbed.agent.audit()->standing(ObjectKind::Neighbor), IsEmpty()) << "an audit misses nothing";
  EXPECT_THAT(of("neighbor "), IsEmpty());
  learn(kOther);
  EXPECT_THAT(of("neighbor "), IsEmpty());
  EXPECT_THAT(of("route "), ElementsAre(route));
}

TEST_F(LearnedRows, ARowInUseStaysAndOneThatIsNotUsedGoes) {
  learn(kMac);
  testbed.remove("NEIGH_TABLE", kRow);
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), ElementsAre(route));
  EXPECT_EQ(testbed.stats("NEIGH_TABLE").parked, 1U);
  learn(kMac);
  EXPECT_EQ(testbed.unsettled(), 0U) << "learned again";
  testbed.remove("NEIGH_TABLE", kRow);
  testbed.remove("ROUTE_TABLE", "20.0.0.0/8");
  testbed.run_for(1s);
  EXPECT_EQ(testbed.unsettled(), 0U);
  testbed.remove("INTF_TABLE", "A:10.0.0.1/24");
  testbed.run_for(1s);
  EXPECT_THAT(testbed.actual(), IsEmpty());
}

TEST_F(LearnedRows, ARowBecomesAnOperatorsAndTheKernelsAgain) {
  learn(kOther);
  operator_sets(kMac);
  EXPECT_THAT(of("neighbor "), ElementsAre(permanent));
  learn(kOther);
  EXPECT_THAT(of("neighbor "), IsEmpty()) << "the kernel learns nothing beside a permanent neighbour";
  EXPECT_THAT(of("route "), ElementsAre(route));
  operator_sets(kMac);
  testbed.remove("ROUTE_TABLE", "20.0.0.0/8");
  testbed.remove("NEIGH_TABLE", kRow);
  testbed.run_for(1s);
  EXPECT_THAT(of("neighbor "), IsEmpty());
}

TEST_F(LearnedRows, AfterThePortWasDownTheRowIsDoneAgainWithoutAnOrder) {
  learn(kMac);
  testbed.set("PORT_TABLE", "A", {{"admin_status", "down"}});
  testbed.run_for(1s);
  EXPECT_THAT(of("route "), IsEmpty());
  testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}});
  testbed.run_for(1s);
  EXPECT_THAT(of("neighbor "), IsEmpty());
  EXPECT_THAT(of("route "), ElementsAre(route));
  EXPECT_EQ(testbed.unsettled(), 0U);
}

}  // namespace
}  // namespace rondo::switch_agent
