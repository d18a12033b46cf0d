// The MTU of a port may stand in its PORT_TABLE row and in its INTF_TABLE row. The interface's row overrides the port's, whichever was
// written last, and the state of both rows matches the kernel.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent_testbed.h"

namespace rondo::switch_agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MtuOfTwoRows : public ::testing::Test {
 protected:
  MtuOfTwoRows() {
    device = testbed.plane.add_port("A");
    testbed.start();
  }
  void set_port() { testbed.set("PORT_TABLE", "A", {{"admin_status", "up"}, {"mtu", "1500"}}); }
  void set_interface() { testbed.set("INTF_TABLE", "A", {{"mtu", "1400"}}); }
  std::uint32_t mtu() { return testbed.links().front().mtu; }
  std::string state(std::string_view table) { return std::string{to_string(testbed.runtime.row_state(table, "A").plane)}; }
  std::string note(std::string_view table) { return testbed.runtime.row_state(table, "A").note; }
  void expect_both_right() {
    EXPECT_EQ(mtu(), 1400U);
    EXPECT_EQ(state("PORT_TABLE"), "installed");
    EXPECT_EQ(state("INTF_TABLE"), "installed");
    EXPECT_THAT(note("PORT_TABLE"), HasSubstr("its MTU is set by INTF_TABLE A"));
    EXPECT_THAT(testbed.agent.port_differences(), IsEmpty());
  }
  AgentTestbed testbed;
  IfIndex device;
};

TEST_F(MtuOfTwoRows, TheInterfacesRowWinsWhateverTheOrderOfTheWrites) {
  set_port();
  testbed.run_for(1s);
  set_interface();
  testbed.run_for(1s);
  expect_both_right();
  set_port();
  testbed.run_for(1s);
  expect_both_right();
  set_interface();
  set_port();
  testbed.run_for(1s);
  expect_both_right();
}

TEST_F(MtuOfTwoRows, ThePortsRowAppliesAgainWithoutTheInterfaces) {
  set_port();
  set_interface();
  testbed.run_for(1s);
  ASSERT_TRUE(testbed.plane.meddle(LinkSet{device, {}, 1300}).ok());
  testbed.run_for(1s);
  testbed.remove("INTF_TABLE", "A");
  testbed.run_for(1s);
  EXPECT_EQ(mtu(), 1500U);
  EXPECT_EQ(state("PORT_TABLE"), "installed");
  EXPECT_THAT(note("PORT_TABLE"), IsEmpty());
  EXPECT_THAT(testbed.agent.port_differences(), IsEmpty());
  EXPECT_EQ(testbed.unsettled(), 0U);
}

TEST_F(MtuOfTwoRows, ThePortsRowAppliesAgainWhenTheInterfacesHasNoMtuAnyMore) {
  set_port();
  set_interface();
  testbed.run_for(1s);
  testbed.remove("INTF_TABLE", "A");
  testbed.set("INTF_TABLE", "A", {{"mpls", "disable"}});
  testbed.run_for(1s);
  EXPECT_EQ(mtu(), 1500U);
  EXPECT_THAT(testbed.agent.port_differences(), IsEmpty());
}

TEST_F(MtuOfTwoRows, ANewDeviceHasTheMtuOfTheInterfacesRow) {
  set_port();
  set_interface();
  testbed.run_for(1s);
  testbed.plane.remove_port("A");
  testbed.run_for(1s);
  testbed.plane.add_port("A");
  testbed.run_for(1s);
  expect_both_right();
}

TEST_F(MtuOfTwoRows, AnMtuThatTheKernelRefusesLeavesTheOther) {
  set_port();
  testbed.run_for(1s);
  testbed.plane.fail_nth(OrderKind::Link, 1, EINVAL);
  set_interface();
  testbed.run_for(1s);
  EXPECT_EQ(testbed.rejects.size(), 1U);
  EXPECT_EQ(mtu(), 1500U);
  EXPECT_THAT(testbed.agent.port_differences(), IsEmpty());
}

/// If another program changes the MTU, the row that names it is `lost`, like an administrative status; nothing repairs it unasked.
TEST_F(MtuOfTwoRows, AnMtuThatAnotherProgramChangedIsLost) {
  for (const bool of_interface : {false, true}) {
    const char* const table = of_interface ? "INTF_TABLE" : "PORT_TABLE";
    const std::string wanted = of_interface ? "1400" : "1500";
    of_interface ? set_interface() : set_port();
    testbed.run_for(1s);
    ASSERT_EQ(state(table), "installed") << table;
    ASSERT_TRUE(testbed.plane.meddle(LinkSet{device, {}, 1300}).ok());
    testbed.run_for(1s);
    EXPECT_EQ(state(table), "lost") << table;
    EXPECT_THAT(note(table), HasSubstr("another program changed the MTU of A to 1300, and its row asks for " + wanted));
    EXPECT_THAT(note(table), HasSubstr("'rondo set " + std::string{table} + " A mtu=" + wanted + "' sets it again"));
    EXPECT_EQ(testbed.stats(table).plane->lost, 1U) << table;
    const std::vector<Drift> differences = testbed.agent.port_differences();
    ASSERT_EQ(differences.size(), 1U);
    EXPECT_EQ(differences.front().table, table);
    EXPECT_EQ(mtu(), 1300U);
    EXPECT_EQ(state("PORT_TABLE"), of_interface ? "installed" : "lost") << "the mtu of the port's row does not apply beside the other";
    of_interface ? set_interface() : set_port();
    testbed.run_for(1s);
    EXPECT_EQ(state(table), "installed") << table;
    EXPECT_EQ(std::to_string(mtu()), wanted);
    EXPECT_EQ(testbed.stats(table).plane->lost, 0U) << table;
  }
}

}  // namespace
}  // namespace rondo::switch_agent
