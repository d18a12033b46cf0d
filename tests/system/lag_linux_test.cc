// LAGs with the real rondod on the real kernel. A kernel without the bonding driver rejects the row of the LAG with that reason, and
// nothing else suffers. Where the kernel has the driver, the bond, its member, and what another program does to them are tested instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
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
namespace json = boost::json;

class LagOnLinux : public SystemRondod {
 protected:
  LagOnLinux() : SystemRondod(2) {}
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (IsSkipped()) return;
    auto opened = make_linux_dataplane({.network_namespace = lab->path(), .metric = 201});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    plane = std::move(*opened);
    start();
    set("INTF_TABLE", "PortChannel1", {});
    set("LAG_MEMBER_TABLE", "PortChannel1:swp1", {{"status", "enabled"}});
    set("LAG_TABLE", "PortChannel1", {{"static", "true"}, {"mtu", "1400"}});
    for (const char* const port : {"swp1", "swp2"}) set("PORT_TABLE", port, {{"admin_status", "up"}});
    set("INTF_TABLE", "swp2", {});
    set("INTF_TABLE", "swp2:10.0.0.1/24", {});
  }
  std::string answer(std::string_view command, const char* table, const char* key) {
    const auto told = client->call(command, {{"table", table}, {"key", key}});
    return told ? json::serialize(*told) : told.error().to_string();
  }
  bool says(std::string_view command, const char* table, const char* key, std::string_view words) {
    return becomes([&] { return answer(command, table, key).find(words) != std::string::npos; });
  }
  bool is_installed(const char* table, const char* key) { return says("get", table, key, R"("plane":"installed")"); }
  LinkEvent link(std::string_view name) {
    const std::vector<LinkEvent> all = plane->links().value();
    const auto found = std::ranges::find(all, name, &LinkEvent::name);
    return found == all.end() ? LinkEvent{} : *found;
  }
  bool has_bonding() const { return lab->ip("link add tried type bond") && lab->ip("link del tried"); }
  std::unique_ptr<DataPlane> plane;
};

TEST_F(LagOnLinux, AKernelWithoutBondingRejectsTheLagWithTheReasonAndNothingElseSuffers) {
  if (has_bonding()) GTEST_SKIP() << "this kernel has the bonding driver";
  EXPECT_TRUE(says("why", "LAG_TABLE", "PortChannel1", "this kernel has no bonding driver")) << answer("why", "LAG_TABLE", "PortChannel1");
  EXPECT_TRUE(says("why", "LAG_MEMBER_TABLE", "PortChannel1:swp1", "LAG_TABLE"));
  EXPECT_TRUE(says("why", "INTF_TABLE", "PortChannel1", "LAG_TABLE"));
  EXPECT_TRUE(is_installed("INTF_TABLE", "swp2:10.0.0.1/24")) << answer("why", "INTF_TABLE", "swp2:10.0.0.1/24");
  EXPECT_TRUE(becomes([&] { return link("swp1").admin_up; }));
  set("INTF_TABLE", "swp1", {});
  EXPECT_TRUE(is_installed("INTF_TABLE", "swp1")) << "its LAG does not exist, so it is no member";
}

TEST_F(LagOnLinux, TheBondIsAsItsRowsAskAndIsMadeAgain) {
  if (!has_bonding()) {
    std::cerr << "SKIPPED: this kernel has no bonding driver (CONFIG_BONDING)\n";
    GTEST_SKIP() << "NOT RUN ON THE REAL KERNEL: it has no bonding driver";
  }
  const auto is_whole = [this] {
    const LinkEvent bond = link("PortChannel1");
    const LinkEvent port = link("swp1");
    return bond.bond == BondMode::Static && bond.ours && bond.admin_up && bond.mtu == 1400 && port.master == bond.port && port.admin_up;
  };
  EXPECT_TRUE(becomes(is_whole)) << answer("why", "LAG_MEMBER_TABLE", "PortChannel1:swp1");
  for (const char* const deed : {"link set swp1 nomaster", "link del PortChannel1"}) {
    ASSERT_TRUE(lab->ip(deed)) << deed;
    EXPECT_TRUE(becomes(is_whole)) << deed << log_text();
    EXPECT_TRUE(is_installed("LAG_MEMBER_TABLE", "PortChannel1:swp1")) << answer("why", "LAG_MEMBER_TABLE", "PortChannel1:swp1");
  }
  EXPECT_THAT(switch_agent::lines_of(*plane), Contains("port swp1 in PortChannel1"));
}

}  // namespace
}  // namespace rondo
