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
  EXPECT_THAT(answer("get", "INTF_TABLE", kAddress), HasSubstr(R"("state":"parked")"));
  ASSERT_TRUE(lab->set_ipv6(1, true));
  expect_installed();
}

TEST_F(Ipv6OffOnLinux, InstalledRowsThatIpv6TookAwayComeBackWhenItIsOn) {
  set_v6_rows();
  expect_installed();
  ASSERT_TRUE(lab->set_ipv6(1, false));
  ASSERT_TRUE(says("why", "INTF_TABLE", kAddress, "IPv6 is switched off on swp1")) << answer("why", "INTF_TABLE", kAddress) << log_text();
  // The kernel dropped the neighbour and refuses it. A resync does not count it as repaired, and its state has the reason.
  EXPECT_TRUE(becomes([&] {
    const auto told = client->call("resync", {{"table", "NEIGH_TABLE"}});
    return told && told->at("not_repaired").to_number<int>() == 1 && told->at("repaired").to_number<int>() == 0;
  })) << log_text();
  EXPECT_TRUE(says("get", "NEIGH_TABLE", kNeighbor, "refuses it")) << answer("get", "NEIGH_TABLE", kNeighbor);
  ASSERT_TRUE(lab->set_ipv6(1, true));
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

}  // namespace
}  // namespace rondo
