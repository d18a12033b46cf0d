// The states of rows reported by the real rondod on the real kernel: a port loses its carrier, is renamed and deleted, and get, why,
// tables, ports and health must match the kernel. Without the right to create a namespace only the carrier changes, on the simulated data
// plane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <tuple>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RowStatesOnLinux : public SystemRondod {
 protected:
  void start_with_rows() {
    start();
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    set("INTF_TABLE", "swp1", {});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {});
    set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
    set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
    ASSERT_TRUE(becomes([&] { return plane("ROUTE_TABLE", "192.168.0.0/16") == "installed"; })) << log_text();
    ASSERT_EQ(kernel_routes(), lab ? 1U : 0U);
  }
  void set_carrier(bool up) {
    if (lab) {
      ASSERT_TRUE(lab->set_carrier(1, up));
    } else {
      ASSERT_TRUE(client->call("sim-carrier", {{"port", "swp1"}, {"up", up}}).has_value());
    }
  }
  std::string plane(std::string_view table, std::string_view key) {
    const auto row = client->call("get", {{"table", table}, {"key", key}});
    const json::value* const told = row ? row->if_contains("plane") : nullptr;
    return told == nullptr ? "" : std::string{told->as_string()};
  }
  /// Waits for it: the kernel has a change before the daemon has read that it has.
  bool shows(std::string_view table, std::string_view key, std::string_view expected) {
    return becomes([&] { return plane(table, key) == expected; });
  }
  std::string answer(std::string_view command, const json::object& arguments = {}) {
    const auto told = client->call(command, arguments);
    return told ? json::serialize(*told) : told.error().to_string();
  }
  std::string why_route() { return answer("why", {{"table", "ROUTE_TABLE"}, {"key", "192.168.0.0/16"}}); }
};

TEST_F(RowStatesOnLinux, ARouteThatTheKernelDroppedWithItsPortIsNotCalledDone) {
  ASSERT_NO_FATAL_FAILURE(start_with_rows());
  set_carrier(false);
  ASSERT_TRUE(becomes([&] { return plane("ROUTE_TABLE", "192.168.0.0/16") == "withdrawn"; })) << log_text();
  EXPECT_EQ(kernel_routes(), 0U);
  EXPECT_TRUE(shows("NEXTHOP_GROUP_TABLE", "1", "withdrawn"));
  EXPECT_TRUE(shows("NEIGH_TABLE", "swp1:10.0.0.2", "installed"));
  EXPECT_THAT(why_route(), AllOf(HasSubstr(R"("table":"PORT_TABLE","key":"swp1")"), HasSubstr("port swp1 has no carrier since 20")));
  EXPECT_THAT(answer("health"),
              AllOf(HasSubstr("withdrawn from the data plane: 1 route, 1 next-hop group; port swp1 has no carrier since 20"),
                    HasSubstr(": 1 route")));
  EXPECT_THAT(answer("tables"), HasSubstr(R"("withdrawn":1)"));
  const json::object group{{"table", "NEXTHOP_GROUP_TABLE"},
                           {"key", "2"},
                           {"fields", json::array{json::array{"nexthop", "10.0.0.2"}, json::array{"ifname", "swp1"}}},
                           {"wait_ms", 10'000}};
  EXPECT_THAT(answer("set", group), AllOf(HasSubstr(R"("state":"done")"), HasSubstr(R"("plane":"withdrawn")"), HasSubstr("no carrier")));
  set_carrier(true);
  ASSERT_TRUE(becomes([&] { return plane("ROUTE_TABLE", "192.168.0.0/16") == "installed"; })) << log_text();
  EXPECT_TRUE(becomes([&] { return kernel_routes() == (lab ? 1U : 0U); }));
  EXPECT_TRUE(becomes([&] { return answer("health").find("withdrawn") == std::string::npos; })) << answer("health");
}

/// A container that starts again causes this: rondod alone keeps the earlier namespace.
TEST_F(RowStatesOnLinux, ANamespaceThatIsMadeAgainUnderItsNameIsATrouble) {
  if (!lab) {
    std::cerr << "SKIPPED: needs a network namespace\n";
    GTEST_SKIP() << "needs a network namespace";
  }
  const std::string name = file("namespace");
  std::filesystem::create_symlink(lab->path(), name);
  std::ofstream(file("rondod.toml")) << "[admin]\nsocket = \"" << socket() << "\"\n[dataplane]\nnetwork_namespace = \"" << name << "\"\n";
  start();
  const auto says = [&](std::string_view words) { return becomes([&] { return answer("health").find(words) != std::string::npos; }); };
  EXPECT_TRUE(says(R"("healthy":true)")) << answer("health");
  std::filesystem::remove(name);
  EXPECT_TRUE(says("the network namespace '" + name + "' was removed")) << answer("health");
  std::filesystem::create_symlink("/proc/self/ns/net", name);
  EXPECT_TRUE(says("was made again")) << answer("health");
  EXPECT_THAT(log_text(), HasSubstr("must be started again"));
  std::filesystem::remove(name);
  std::filesystem::create_symlink(lab->path(), name);
  EXPECT_TRUE(says(R"("healthy":true)")) << answer("health");
}

TEST_F(RowStatesOnLinux, HealthNamesThePortOfWithdrawnAddresses) {
  ASSERT_NO_FATAL_FAILURE(start_with_rows());
  set("INTF_TABLE", "swp1:2001:db8::1/64", {});
  ASSERT_TRUE(becomes([&] { return plane("INTF_TABLE", "swp1:2001:db8::1/64") == "installed"; })) << log_text();
  set("PORT_TABLE", "swp1", {{"admin_status", "down"}});
  EXPECT_TRUE(becomes([&] { return answer("health").find("1 interface row of swp1; port swp1 is ") != std::string::npos; }))
      << answer("health");
}

TEST_F(RowStatesOnLinux, AGroupWithoutANextHopThatTheKernelRefusesSaysSoAndSoDoItsRoutes) {
  ASSERT_NO_FATAL_FAILURE(start_with_rows());
  set("NEIGH_TABLE", "swp1:9.9.9.9", {{"neigh", "02:00:00:00:00:09"}});
  set("NEXTHOP_GROUP_TABLE", "2", {{"nexthop", "10.0.0.2,9.9.9.9"}, {"ifname", "swp1,swp1"}});
  set("NEXTHOP_GROUP_TABLE", "3", {{"nexthop", "10.0.0.2,10.0.0.7"}, {"ifname", "swp1,swp1"}});
  set("ROUTE_TABLE", "193.168.0.0/16", {{"nexthop_group", "2"}});
  const auto told = [&](std::string_view table, std::string_view key) { return answer("get", {{"table", table}, {"key", key}}); };
  ASSERT_TRUE(becomes([&] { return plane("ROUTE_TABLE", "193.168.0.0/16") == "installed"; })) << log_text();
  // The group may go on with the first member before the second one is answered.
  EXPECT_TRUE(becomes([&] { return told("NEXTHOP_GROUP_TABLE", "2").find("Nexthop has invalid gateway") != std::string::npos; }));
  const auto refused = AllOf(HasSubstr("without 9.9.9.9 on swp1: "), HasSubstr("Nexthop has invalid gateway"));
  EXPECT_THAT(told("NEXTHOP_GROUP_TABLE", "2"), refused);
  EXPECT_THAT(told("ROUTE_TABLE", "193.168.0.0/16"), refused);
  EXPECT_THAT(answer("why", {{"table", "ROUTE_TABLE"}, {"key", "193.168.0.0/16"}}), refused);
  EXPECT_THAT(told("ROUTE_TABLE", "192.168.0.0/16"), HasSubstr(R"("note":"")"));
  EXPECT_TRUE(becomes([&] { return plane("NEXTHOP_GROUP_TABLE", "3") == "installed"; }));
  EXPECT_THAT(told("NEXTHOP_GROUP_TABLE", "3"), HasSubstr("without 10.0.0.7 on swp1: its neighbour is not in the kernel"));
  EXPECT_TRUE(becomes([&] { return answer("health").find("refused by the data plane: 1 next hop, without which") != std::string::npos; }));
  EXPECT_THAT(answer("health"), AllOf(HasSubstr(R"("healthy":false)"), HasSubstr("(the first: 9.9.9.9 on swp1: "),
                                      HasSubstr("1 next hop has no neighbour in the kernel"), HasSubstr("(the first: 10.0.0.7 on swp1)")));
  set("INTF_TABLE", "swp1:9.9.9.1/24", {});
  set("NEIGH_TABLE", "swp1:10.0.0.7", {{"neigh", "02:00:00:00:00:07"}});
  EXPECT_TRUE(becomes([&] { return told("ROUTE_TABLE", "193.168.0.0/16").find(R"("note":"")") != std::string::npos; }));
  EXPECT_TRUE(becomes([&] { return answer("health").find("next hop") == std::string::npos; })) << answer("health");
}

TEST_F(RowStatesOnLinux, DevicesThatWereTakenDownBetweenTwoRunsAreSetUpAndTheLogSaysSo) {
  ASSERT_NO_FATAL_FAILURE(start_with_rows());
  if (!lab) GTEST_SKIP() << "the simulated data plane ends with rondod";
  const bool has_bonds = lab->ip("link add tried type bond") && lab->ip("link del tried");
  if (!has_bonds) std::cerr << "SKIPPED: a LAG, because this kernel has no bonds\n";
  const auto set_devices = [&] {
    set("VLAN_TABLE", "Vlan10", {});
    if (has_bonds) set("LAG_TABLE", "PortChannel1", {});
    const auto is_in = [&](const char* table, const char* key) { return plane(table, key) == "installed"; };
    ASSERT_TRUE(becomes([&] { return is_in("VLAN_TABLE", "Vlan10") && (!has_bonds || is_in("LAG_TABLE", "PortChannel1")); }));
  };
  // The lines are made once a second.
  const auto is_logged = [&](const std::string& device) {
    return becomes([&] {
      const std::string text = log_text();
      std::size_t at = text.find("the start set up devices");
      for (; at != std::string::npos; at = text.find("the start set up devices", at + 1)) {
        if (text.substr(at, text.find('\n', at) - at).find(device) != std::string::npos) return true;
      }
      return false;
    });
  };
  ASSERT_NO_FATAL_FAILURE(set_devices());
  ASSERT_THAT(log_text(), ::testing::Not(HasSubstr("the start set up"))) << "the first start set up a new port";
  // Each further start waits for rows longer than a busy machine stops this process, and then deletes what no row asks for.
  std::ofstream(file("rondod.toml"), std::ios::app) << "hold_s = 5\n";
  const auto restart = [&] {
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    wait();
    start();
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    set("INTF_TABLE", "swp1", {});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {});
    ASSERT_NO_FATAL_FAILURE(set_devices());
    ASSERT_TRUE(becomes([&] { return answer("stats").find(R"("restarted":true)") != std::string::npos; })) << log_text();
  };
  ASSERT_NO_FATAL_FAILURE(restart());
  ASSERT_THAT(log_text(), ::testing::Not(HasSubstr("the start set up"))) << "it was up";
  ASSERT_TRUE(lab->ip("link set swp1 down"));
  ASSERT_TRUE(lab->ip("link set Vlan10 down"));
  ASSERT_TRUE(!has_bonds || lab->ip("link set PortChannel1 down"));
  ASSERT_NO_FATAL_FAILURE(restart());
  EXPECT_TRUE(becomes([&] { return log_text().find("the start set up devices that were down") != std::string::npos; })) << log_text();
  EXPECT_THAT(log_text(), HasSubstr("because their rows ask for it count="));
  for (const char* const device : {"swp1", "Vlan10", "PortChannel1"}) {
    const bool is_there = device != std::string_view{"PortChannel1"} || has_bonds;
    EXPECT_TRUE(!is_there || is_logged(device)) << device << log_text();
  }
}

TEST_F(RowStatesOnLinux, AnIpv6AddressOfAPortThatIsDownIsSaidToBeWhereTheKernelHasIt) {
  if (!lab) GTEST_SKIP() << "it is about the kernel: this needs the right to create a network namespace";
  start();
  const char* const key = "swp1:fd00::1/64";
  const auto is_in_kernel = [&] { return lab->ip("-6 addr show dev swp1 | grep -q fd00::1/64"); };
  const auto differences = [&] { return answer("verify"); };
  set("PORT_TABLE", "swp1", {{"admin_status", "down"}});
  set("INTF_TABLE", "swp1", {});
  set("INTF_TABLE", key, {});
  ASSERT_TRUE(becomes([&] { return plane("INTF_TABLE", key) == "installed"; })) << answer("get", {{"table", "INTF_TABLE"}, {"key", key}});
  EXPECT_TRUE(is_in_kernel());
  const auto why = [&] { return answer("why", {{"table", "INTF_TABLE"}, {"key", key}}); };
  EXPECT_TRUE(becomes([&] { return why().find("tentative: the port is down") != std::string::npos; })) << why();
  ASSERT_TRUE(lab->ip("addr del fd00::1/64 dev swp1"));
  EXPECT_TRUE(becomes(is_in_kernel)) << "repaired" << log_text();
  EXPECT_TRUE(becomes([&] { return differences().find(R"("differences":0)") != std::string::npos; })) << differences();
  set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  EXPECT_TRUE(becomes([&] { return answer("get", {{"table", "INTF_TABLE"}, {"key", key}}).find("tentative") == std::string::npos; }));
  EXPECT_TRUE(is_in_kernel());
  set("PORT_TABLE", "swp1", {{"admin_status", "down"}});
  EXPECT_TRUE(becomes([&] { return plane("INTF_TABLE", key) == "withdrawn"; })) << log_text();
  EXPECT_FALSE(is_in_kernel());
  EXPECT_TRUE(becomes([&] { return differences().find(R"("differences":0)") != std::string::npos; })) << differences();
  // A device that is made again, and is down.
  ASSERT_TRUE(lab->remove_port(1));
  ASSERT_TRUE(becomes([&] { return plane("INTF_TABLE", key) == "withdrawn"; }));
  ASSERT_TRUE(lab->add_port(1));
  EXPECT_TRUE(becomes([&] { return plane("INTF_TABLE", key) == "installed" && is_in_kernel(); })) << log_text();
}

TEST_F(RowStatesOnLinux, ARenamedAndADeletedPortAreToldOfAllThatWasOnThem) {
  ASSERT_NO_FATAL_FAILURE(start_with_rows());
  if (!lab) GTEST_SKIP() << "the simulated data plane renames no ports for a client";
  ASSERT_TRUE(lab->ip("link set swp1 down") && lab->ip("link set swp1 name other"));
  const auto is_gone = [&] { return why_route().find("the kernel has no device named 'swp1' since 20") != std::string::npos; };
  ASSERT_TRUE(becomes(is_gone)) << why_route();
  for (const auto& [table, key, expected] :
       {std::tuple{"PORT_TABLE", "swp1", "waiting"}, std::tuple{"INTF_TABLE", "swp1", "withdrawn"},
        std::tuple{"INTF_TABLE", "swp1:10.0.0.1/24", "withdrawn"}, std::tuple{"NEIGH_TABLE", "swp1:10.0.0.2", "waiting"},
        std::tuple{"NEXTHOP_GROUP_TABLE", "1", "withdrawn"}, std::tuple{"ROUTE_TABLE", "192.168.0.0/16", "withdrawn"}}) {
    EXPECT_TRUE(shows(table, key, expected)) << table << " " << key << ": " << plane(table, key);
  }
  EXPECT_THAT(answer("ports"), AllOf(HasSubstr(R"("name":"swp1")"), HasSubstr(R"("name":"other")")));
  ASSERT_TRUE(lab->ip("link del other"));
  EXPECT_TRUE(becomes([&] { return answer("ports").find("other") == std::string::npos; })) << answer("ports");
  ASSERT_TRUE(lab->add_port(1) && lab->ip("link set line1 up"));
  EXPECT_TRUE(becomes([&] { return kernel_routes() == 1; })) << why_route();
  EXPECT_TRUE(shows("ROUTE_TABLE", "192.168.0.0/16", "installed")) << why_route();
}

TEST_F(RowStatesOnLinux, AGroupThatTheKernelRefusesIsRefusedAndTheWaitEndsWithTheReason) {
  ASSERT_NO_FATAL_FAILURE(start_with_rows());
  if (!lab) GTEST_SKIP() << "only the real kernel shows its own refusals";
  set("NEIGH_TABLE", "swp1:9.9.9.9", {{"neigh", "02:00:00:00:00:09"}});
  const json::object bad{{"table", "NEXTHOP_GROUP_TABLE"},
                         {"key", "bad"},
                         {"fields", json::array{json::array{"nexthop", "9.9.9.9"}, json::array{"ifname", "swp1"}}},
                         {"wait_ms", 20'000}};
  EXPECT_THAT(answer("set", bad), AllOf(HasSubstr(R"("state":"refused")"), HasSubstr("Nexthop has invalid gateway")));
  EXPECT_TRUE(shows("NEXTHOP_GROUP_TABLE", "bad", "refused"));
  EXPECT_THAT(answer("health"),
              AllOf(HasSubstr("refused by the data plane"), HasSubstr("1 next-hop group"), HasSubstr(R"("healthy":false)")));
  set("INTF_TABLE", "swp1:9.9.9.1/24", {});
  EXPECT_TRUE(becomes([&] { return plane("NEXTHOP_GROUP_TABLE", "bad") == "installed"; }))
      << answer("why", {{"table", "NEXTHOP_GROUP_TABLE"}, {"key", "bad"}});
  EXPECT_TRUE(becomes([&] { return answer("health").find("refused by the data plane") == std::string::npos; })) << answer("health");
}

}  // namespace
}  // namespace rondo
