// VRFs with the real rondod on the real kernel. Where the kernel has VRF devices: a port, its address and a route are in the table of the
// VRF, and a restart changes nothing. Where it has none, that test skips itself, aloud; what a row says then is tested on every kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "../agent_lines.h"
#include "rondo/dataplane/dataplane.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
namespace json = boost::json;

class VrfOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (IsSkipped()) return;
    has_vrfs = lab->ip("link add VrfTried type vrf table 999") && lab->ip("link del VrfTried");
    start();
  }
  std::string answer(std::string_view command, const char* table, const char* key) {
    const auto told = client->call(command, {{"table", table}, {"key", key}});
    return told ? json::serialize(*told) : told.error().to_string();
  }
  bool says(std::string_view command, const char* table, const char* key, std::string_view words) {
    return becomes([&] { return answer(command, table, key).find(words) != std::string::npos; });
  }
  bool has_vrfs = false;
};

TEST_F(VrfOnLinux, ADeviceThatIsNoVrfHoldsTheNameAndAKernelWithoutVrfsIsNamed) {
  ASSERT_TRUE(lab->ip("link add Vrf1 type bridge"));
  set("VRF_TABLE", "Vrf1", {{"NULL", "NULL"}});
  ASSERT_TRUE(says("why", "VRF_TABLE", "Vrf1", "the device Vrf1 exists, and it is no VRF")) << answer("why", "VRF_TABLE", "Vrf1");
  set("ROUTE_TABLE", "Vrf1:10.9.0.0/16", {{"blackhole", "true"}});
  ASSERT_TRUE(says("why", "ROUTE_TABLE", "Vrf1:10.9.0.0/16", "the device Vrf1 exists, and it is no VRF"))
      << answer("why", "ROUTE_TABLE", "Vrf1:10.9.0.0/16");
  ASSERT_TRUE(lab->ip("link del Vrf1"));
  if (has_vrfs) {
    EXPECT_TRUE(says("get", "ROUTE_TABLE", "Vrf1:10.9.0.0/16", R"("plane":"installed")")) << log_text();
  } else {
    EXPECT_TRUE(says("why", "VRF_TABLE", "Vrf1", "this kernel has no VRFs")) << answer("why", "VRF_TABLE", "Vrf1");
    EXPECT_THAT(answer("get", "VRF_TABLE", "Vrf1"), HasSubstr("rejected"));
    EXPECT_TRUE(says("why", "ROUTE_TABLE", "Vrf1:10.9.0.0/16", "this kernel has no VRFs"));
    EXPECT_EQ(kernel_routes(), 0U) << "nothing is left of an attempt";
  }
}

// Every kernel has bridges: so the master of a port and the mark of a device are set and read back on each.
TEST_F(VrfOnLinux, TheMasterOfAPortAndTheMarkOfADeviceAreReadBack) {
  ASSERT_TRUE(lab->ip("link add br0 type bridge"));
  ASSERT_TRUE(lab->ip("link set br0 group 1919905481"));  // See device_group() in src/dataplane/netlink/encode.h.
  auto plane = make_linux_dataplane({.network_namespace = lab->path()}).value();
  const auto link = [&plane](std::string_view name) {
    const std::vector<LinkEvent> all = plane->links().value();
    const auto found = std::ranges::find(all, name, &LinkEvent::name);
    return found == all.end() ? LinkEvent{} : *found;
  };
  const IfIndex bridge = link("br0").port;
  EXPECT_TRUE(link("br0").ours);
  EXPECT_FALSE(link("swp1").ours);
  for (const IfIndex master : {bridge, IfIndex{}}) {
    Operation order{LinkSet{.port = link("swp1").port, .master = master}, {}};
    plane->apply({&order, 1});
    EXPECT_TRUE(order.status.ok()) << order.status.to_string();
    EXPECT_EQ(link("swp1").master, master);
  }
  Operation gone{DeviceDelete{bridge}, {}};
  plane->apply({&gone, 1});
  EXPECT_TRUE(gone.status.ok()) << gone.status.to_string();
  EXPECT_FALSE(link("br0").port);
}

TEST_F(VrfOnLinux, APortItsAddressAndItsRoutesAreInTheVrfAndARestartChangesNothing) {
  if (!has_vrfs) {
    std::cerr << "SKIPPED: this kernel has no VRF devices (CONFIG_NET_VRF)\n";
    GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: it has no VRF devices";
  }
  const auto write_rows = [this] {
    set("VRF_TABLE", "Vrf1", {{"NULL", "NULL"}});
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    set("INTF_TABLE", "swp1", {{"vrf_name", "Vrf1"}});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {});
    set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("ROUTE_TABLE", "Vrf1:10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
  };
  write_rows();
  ASSERT_TRUE(says("get", "ROUTE_TABLE", "Vrf1:10.9.0.0/16", R"("plane":"installed")")) << answer("why", "ROUTE_TABLE", "Vrf1:10.9.0.0/16");
  auto plane = make_linux_dataplane({.network_namespace = lab->path(), .metric = 201}).value();
  const auto lines = [&plane] {
    switch_agent::Lines all = switch_agent::lines_of(*plane);
    // The kernel adds these when it has noticed the carrier of their port.
    std::erase_if(all, [](const std::string& line) { return line.find(" fe80:") != std::string::npos; });
    return all;
  };
  const std::string last = "route ::/0 table 1001 metric 4278198272 unreachable";
  EXPECT_TRUE(becomes([&] { return std::ranges::count(lines(), last) == 1; })) << ::testing::PrintToString(lines());
  const switch_agent::Lines before = lines();
  EXPECT_THAT(before, Contains("port swp1 in Vrf1"));
  EXPECT_THAT(before, Contains("route 10.9.0.0/16 table 1001 via {swp1 10.0.0.2*1}"));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait();
  // It waits for rows longer than a busy machine stops this process, and then deletes what no row asks for.
  std::ofstream(file("rondod.toml"), std::ios::app) << "hold_s = 5\n";
  start();
  write_rows();
  EXPECT_TRUE(becomes([&] { return client->call("stats", {}).value().at("agent").at("restarted").as_bool(); }));
  EXPECT_EQ(client->call("stats", {}).value().at("agent").at("restart_changed").to_number<int>(), 0) << log_text();
  EXPECT_EQ(lines(), before);
}

}  // namespace
}  // namespace rondo
