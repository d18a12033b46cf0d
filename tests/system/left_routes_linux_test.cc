// Routes that are not rondod's on the real kernel: out of ports of other software, to connected subnets, and those that a better route of
// another program or an earlier protocol number decides. Routes to a device without a gateway. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace json = boost::json;

class LeftRoutesOnLinux : public SystemRondod {
 protected:
  LeftRoutesOnLinux() : SystemRondod(2) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (!IsSkipped()) start();
  }
  void set_ports() {
    for (const char* const port : {"swp1", "swp2"}) {
      set("PORT_TABLE", port, {{"admin_status", "up"}});
      set("INTF_TABLE", port, {});
    }
    set("INTF_TABLE", "swp1:10.1.0.1/24", {});
    set("NEIGH_TABLE", "swp1:10.1.0.2", {{"neigh", "02:00:00:00:00:02"}});
  }
  bool kernel_has(const std::string& words) { return lab->ip("route show | grep -q '" + words + "'"); }
  /// A route to a device has no "via" before the "dev".
  bool goes(const std::string& to, const std::string& words) {
    return lab->ip("route get " + to + " | grep -q '^" + to + " " + words + "'");
  }
  std::string call(const char* command) {
    const auto answer = client->call(command, {});
    return answer ? json::serialize(*answer) : answer.error().to_string();
  }
  std::string why(const char* key) {
    const auto answer = client->call("why", {{"table", "ROUTE_TABLE"}, {"key", key}});
    return answer ? json::serialize(*answer) : answer.error().to_string();
  }
};

TEST_F(LeftRoutesOnLinux, ARouteThatMovesToAPortOfOtherSoftwareIsWithdrawn) {
  ASSERT_TRUE(lab->ip("link add eth0 type veth peer name far0"));
  ASSERT_TRUE(lab->ip("addr add 10.99.0.1/24 dev eth0"));
  ASSERT_TRUE(lab->ip("link set eth0 up"));
  set_ports();
  set("NEXTHOP_GROUP_TABLE", "a", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  set("NEXTHOP_GROUP_TABLE", "b", {{"nexthop", "10.99.0.254"}, {"ifname", "eth0"}});
  set("ROUTE_TABLE", "0.0.0.0/0", {{"nexthop_group", "a"}});
  ASSERT_TRUE(becomes([this] { return kernel_routes() == 1; })) << log_text();
  set("ROUTE_TABLE", "0.0.0.0/0", {{"nexthop_group", "b"}});
  EXPECT_TRUE(becomes([this] { return kernel_routes() == 0; })) << why("0.0.0.0/0");
  EXPECT_TRUE(becomes([this] { return call("restart-check").find("\"ready\":true") != std::string::npos; })) << call("restart-check");
  EXPECT_THAT(why("0.0.0.0/0"), HasSubstr("left to other software"));
}

TEST_F(LeftRoutesOnLinux, ANextHopWithoutAGatewayIsTheDeviceAndAConnectedSubnetIsTheKernels) {
  set_ports();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  ASSERT_TRUE(becomes([this] { return goes("10.9.0.1", "via 10.1.0.2 "); })) << log_text();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "0.0.0.0"}, {"ifname", "swp2"}});
  set("ROUTE_TABLE", "2001:db8:9::/48", {{"nexthop", "::"}, {"ifname", "swp2"}});
  set("ROUTE_TABLE", "10.8.0.0/16", {{"nexthop", "0.0.0.0,10.1.0.2"}, {"ifname", "swp2,swp1"}});
  set("ROUTE_TABLE", "10.1.0.0/24", {{"nexthop", "0.0.0.0"}, {"ifname", "swp1"}});
  EXPECT_TRUE(becomes([this] { return kernel_has("10.9.0.0/16 nhid .*scope link") && goes("10.9.0.1", "dev swp2 "); }))
      << why("10.9.0.0/16");
  EXPECT_TRUE(becomes([this] { return kernel_routes() == 3; })) << why("10.8.0.0/16");
  EXPECT_TRUE(goes("2001:db8:9::1", "from :: dev swp2 "));
  EXPECT_TRUE(becomes([this] { return call("restart-check").find("\"ready\":true") != std::string::npos; })) << call("restart-check");
  EXPECT_THAT(why("10.1.0.0/24"), HasSubstr("the kernel has this subnet itself"));
  EXPECT_FALSE(kernel_has("10.1.0.0/24 .*proto 201")) << "beside the kernel's";
  // A gateway within a prefix that is on the link.
  set("INTF_TABLE", "swp2:10.2.0.1/24", {});
  set("NEIGH_TABLE", "swp2:10.9.0.7", {{"neigh", "02:00:00:00:02:07"}});
  set("ROUTE_TABLE", "10.7.0.0/16", {{"nexthop", "10.9.0.7"}, {"ifname", "swp2"}});
  EXPECT_TRUE(becomes([this] { return goes("10.7.0.1", "via 10.9.0.7 "); })) << why("10.7.0.0/16");
  EXPECT_TRUE(becomes([this] { return call("verify").find("\"differences\":0") != std::string::npos; })) << call("verify");
  // A new run finds everything as it asks for.
  ::kill(pid, SIGTERM);
  wait();
  start();
  set_ports();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "0.0.0.0"}, {"ifname", "swp2"}});
  EXPECT_TRUE(becomes([this] { return kernel_routes() == 1; })) << "what no row asks for is gone";
  EXPECT_TRUE(kernel_has("10.9.0.0/16 nhid .*scope link") && goes("10.9.0.1", "dev swp2 "));
}

TEST_F(LeftRoutesOnLinux, ABetterRouteOfAnotherProgramIsSaidToDecide) {
  set_ports();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  ASSERT_TRUE(becomes([this] { return why("10.9.0.0/16").find("\"installed\"") != std::string::npos; })) << why("10.9.0.0/16");
  ASSERT_EQ(kernel_routes(), 1U) << log_text();
  ASSERT_TRUE(lab->ip("route add 10.9.0.0/16 via 10.1.0.4 metric 20 proto static"));
  EXPECT_TRUE(becomes([this] { return call("verify").find("\"differences\":0") != std::string::npos; }))
      << "rondod's route is as it should be";
  const char* const words = "a route of protocol static (4) in the same table has a better metric and decides the packets";
  EXPECT_THAT(why("10.9.0.0/16"), testing::AllOf(HasSubstr("\"installed\""), HasSubstr(words)));
  EXPECT_THAT(call("health"), HasSubstr(std::string{"decide the packets of 1 row: 10.9.0.0/16: "} + words));
  ASSERT_TRUE(lab->ip("route del 10.9.0.0/16 metric 20"));
  EXPECT_TRUE(becomes([this] { return call("verify").find("\"differences\":0") != std::string::npos; }));
  EXPECT_THAT(why("10.9.0.0/16"), Not(HasSubstr("decides the packets")));
  EXPECT_THAT(call("health"), Not(HasSubstr("decide the packets")));
}

TEST_F(LeftRoutesOnLinux, RoutesOfAnEarlierProtocolNumberNameTheRemedyAndItWorks) {
  for (const char* const family : {"-4", "-6"}) {
    const std::string prefix = family == std::string{"-4"} ? "10.9.0.0/16" : "2001:db8:9::/48";
    ASSERT_TRUE(lab->ip(std::string{family} + " route add blackhole " + prefix + " metric 201 proto 202"));
    set("ROUTE_TABLE", prefix, {{"blackhole", "true"}});
  }
  ASSERT_TRUE(lab->ip("nexthop add id 77 blackhole proto 202"));
  const char* const words =
      "set protocol = 202 again, or remove what it left: 'ip route flush table all proto 202', the same of 'ip -6', and 'ip nexthop flush "
      "proto 202'";
  EXPECT_TRUE(becomes([&] { return why("10.9.0.0/16").find(words) != std::string::npos; })) << why("10.9.0.0/16");
  EXPECT_THAT(call("health"), HasSubstr("if that was rondod's own number before [dataplane] protocol was changed"));
  ASSERT_TRUE(lab->ip("route flush table all proto 202"));
  ASSERT_TRUE(lab->ip("-6 route flush table all proto 202"));
  ASSERT_TRUE(lab->ip("nexthop flush proto 202"));
  EXPECT_TRUE(becomes([this] { return kernel_routes() == 2; })) << why("10.9.0.0/16");
}

TEST_F(LeftRoutesOnLinux, APortThatIsGoneIsATrouble) {
  set_ports();
  ASSERT_TRUE(becomes([this] { return call("health").find("\"healthy\":true") != std::string::npos; })) << call("health");
  ASSERT_TRUE(lab->ip("link del swp2"));
  EXPECT_TRUE(becomes([this] { return call("health").find("1 row of PORT_TABLE has no device in the kernel: swp2") != std::string::npos; }))
      << call("health");
}

}  // namespace
}  // namespace rondo
