// IPv6 that is switched off on a port, and an MTU that is too small for it, on the real kernel: IPv6 rows wait, `why` names the cause and
// the remedy, and the rows are programmed when the cause ends. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace json = boost::json;

class Ipv6OffOnLinux : public SystemRondod {
 protected:
  Ipv6OffOnLinux() : SystemRondod(2) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (IsSkipped()) return;
    start();
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}, {"mtu", "1500"}});
    set("INTF_TABLE", "swp1", {});
  }
  std::string answer(std::string_view command, const char* table, const char* key) {
    const auto told = client->call(command, {{"table", table}, {"key", key}});
    return told ? json::serialize(*told) : told.error().to_string();
  }
  bool says(std::string_view command, const char* table, const char* key, std::string_view words) {
    return becomes([&] { return answer(command, table, key).find(words) != std::string::npos; });
  }
  void set_v6_rows() {
    set("INTF_TABLE", kAddress, {});
    set("NEIGH_TABLE", kNeighbor, {{"neigh", "02:00:00:00:00:02"}});
    set("NEXTHOP_GROUP_TABLE", "6", {{"nexthop", "2001:db8:a::2"}, {"ifname", "swp1"}});
    set("ROUTE_TABLE", kRoute, {{"nexthop_group", "6"}});
  }
  void expect_installed() {
    for (const auto& [table, key] : {std::pair{"INTF_TABLE", kAddress}, std::pair{"NEIGH_TABLE", kNeighbor},
                                     std::pair{"NEXTHOP_GROUP_TABLE", "6"}, std::pair{"ROUTE_TABLE", kRoute}}) {
      EXPECT_TRUE(says("get", table, key, R"("plane":"installed")")) << answer("why", table, key) << log_text();
    }
    EXPECT_EQ(kernel_routes(), 1U);
  }
  static constexpr const char* kAddress = "swp1:2001:db8:a::1/64";
  static constexpr const char* kNeighbor = "swp1:2001:db8:a::2";
  static constexpr const char* kRoute = "2001:db8:9::/48";
};

TEST_F(Ipv6OffOnLinux, RowsWaitWhileIpv6IsSwitchedOffAndComeInWhenItIsOn) {
  ASSERT_TRUE(lab->set_ipv6(1, false));
  set_v6_rows();
  ASSERT_TRUE(says("why", "INTF_TABLE", kAddress, "IPv6 is switched off on swp1")) << answer("why", "INTF_TABLE", kAddress);
  EXPECT_THAT(answer("why", "INTF_TABLE", kAddress), HasSubstr("net.ipv6.conf.swp1.disable_ipv6 to 0"));
  EXPECT_TRUE(says("get", "INTF_TABLE", kAddress, R"("state":"parked")")) << "also while it is tried at an interval";
  ASSERT_TRUE(lab->set_ipv6(1, true));
  expect_installed();
}

TEST_F(Ipv6OffOnLinux, InstalledRowsThatIpv6TookAwayComeBackWhenItIsOn) {
  set_v6_rows();
  expect_installed();
  ASSERT_TRUE(lab->set_ipv6(1, false));
  ASSERT_TRUE(says("why", "INTF_TABLE", kAddress, "IPv6 is switched off on swp1")) << answer("why", "INTF_TABLE", kAddress) << log_text();
  EXPECT_TRUE(becomes([&] { return kernel_routes() == 0; })) << "the kernel would lose the packets of the route";
  EXPECT_TRUE(says("why", "ROUTE_TABLE", kRoute, "IPv6 is switched off on swp1")) << answer("why", "ROUTE_TABLE", kRoute);
  // The kernel dropped the neighbour and refuses it. Its row waits, and that is no difference from the rows.
  EXPECT_TRUE(says("get", "NEIGH_TABLE", kNeighbor, R"("plane":"waiting")")) << answer("get", "NEIGH_TABLE", kNeighbor) << log_text();
  EXPECT_TRUE(says("why", "NEIGH_TABLE", kNeighbor, "IPv6 is switched off on swp1")) << answer("why", "NEIGH_TABLE", kNeighbor);
  EXPECT_TRUE(becomes([&] {
    const auto told = client->call("verify", {});
    return told && told->at("differences").to_number<int>() == 0;
  })) << log_text();
  EXPECT_TRUE(becomes([&] { return client->call("health", {}).value().at("healthy").as_bool(); }))
      << json::serialize(client->call("health", {}).value());
  EXPECT_TRUE(becomes([&] {
    return json::serialize(client->call("health", {}).value())
               .find("1 route, 1 next-hop group, 1 interface row of swp1; IPv6 is switched off on swp1") != std::string::npos;
  })) << json::serialize(client->call("health", {}).value());
  ASSERT_TRUE(lab->set_ipv6(1, true));
  expect_installed();
}

TEST_F(Ipv6OffOnLinux, AGroupGoesOnWithTheNextHopOfAnotherPort) {
  set("PORT_TABLE", "swp2", {{"admin_status", "up"}});
  set("INTF_TABLE", "swp2", {});
  set("INTF_TABLE", "swp2:2001:db8:b::1/64", {});
  set("NEIGH_TABLE", "swp2:2001:db8:b::2", {{"neigh", "02:00:00:00:00:02"}});
  set_v6_rows();
  set("NEXTHOP_GROUP_TABLE", "6", {{"nexthop", "2001:db8:a::2,2001:db8:b::2"}, {"ifname", "swp1,swp2"}});
  expect_installed();
  const auto is_without = [&](bool without) {
    return becomes([&] {
      const auto told = client->call("verify", {});  // Compares with the kernel, which has what the row's note says, and nothing else.
      const bool noted = answer("get", "NEXTHOP_GROUP_TABLE", "6").find("without 2001:db8:a::2 on swp1") != std::string::npos;
      return noted == without && told && told->at("differences").to_number<int>() == 0;
    });
  };
  EXPECT_TRUE(is_without(false));
  ASSERT_TRUE(lab->set_ipv6(1, false));
  EXPECT_TRUE(is_without(true)) << answer("get", "NEXTHOP_GROUP_TABLE", "6") << log_text();
  EXPECT_EQ(kernel_routes(), 1U);
  ASSERT_TRUE(lab->set_ipv6(1, true));
  EXPECT_TRUE(is_without(false)) << answer("get", "NEXTHOP_GROUP_TABLE", "6") << log_text();
  expect_installed();
}

TEST_F(Ipv6OffOnLinux, RowsWaitWhileTheMtuIsTooSmallAndComeInWhenItIsRaised) {
  set("PORT_TABLE", "swp1", {{"mtu", "1000"}});
  set_v6_rows();
  ASSERT_TRUE(says("why", "INTF_TABLE", kAddress, "the MTU of swp1 is 1000, and IPv6 needs 1280: raise it"))
      << answer("why", "INTF_TABLE", kAddress);
  set("PORT_TABLE", "swp1", {{"mtu", "1500"}});
  expect_installed();
}

TEST_F(Ipv6OffOnLinux, ManyAddressesWithoutIpv6AreTriedByOneAndTheLogStaysShort) {
  const auto key = [](int i) { return "swp1:2001:db8:a::" + std::to_string(i + 10) + "/64"; };
  set_v6_rows();
  for (int i = 0; i < 40; ++i) set("INTF_TABLE", key(i), {});
  expect_installed();
  const auto refused = [&] { return client->call("stats", {}).value().at("dataplane").at("failed").to_number<int>(); };
  ASSERT_TRUE(lab->set_ipv6(1, false));
  ASSERT_TRUE(says("why", "INTF_TABLE", key(39).c_str(), "IPv6 is switched off on swp1")) << log_text();
  ASSERT_TRUE(says("get", "INTF_TABLE", key(39).c_str(), R"("plane":"withdrawn")"));
  const int before = refused();
  int tried = 0;
  ASSERT_TRUE(becomes([&] {
    tried = refused() - before;
    return tried >= 2;
  })) << "one address is tried at an interval";
  EXPECT_LE(tried, 4);
  const std::string log = log_text();
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = log.find("refused an order", at)) != std::string::npos; ++at) ++lines;
  EXPECT_LE(lines, 15U) << log;
  ASSERT_TRUE(lab->set_ipv6(1, true));
  expect_installed();
  EXPECT_TRUE(says("get", "INTF_TABLE", key(39).c_str(), R"("plane":"installed")"));
}

TEST_F(Ipv6OffOnLinux, AnMtuThatIsTooSmallMakesInstalledRowsWaitUntilItIsRaised) {
  set_v6_rows();
  expect_installed();
  ASSERT_TRUE(lab->ip("link set swp1 mtu 1000"));
  ASSERT_TRUE(says("get", "NEIGH_TABLE", kNeighbor, R"("plane":"waiting")")) << answer("get", "NEIGH_TABLE", kNeighbor) << log_text();
  EXPECT_TRUE(says("get", "INTF_TABLE", kAddress, R"("plane":"withdrawn")")) << answer("get", "INTF_TABLE", kAddress);
  EXPECT_THAT(answer("why", "NEIGH_TABLE", kNeighbor), HasSubstr("the MTU of swp1 is 1000, and IPv6 needs 1280: raise it"));
  ASSERT_TRUE(lab->ip("link set swp1 mtu 1500"));
  expect_installed();
}

}  // namespace
}  // namespace rondo
