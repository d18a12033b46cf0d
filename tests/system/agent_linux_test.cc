// The agent on the real kernel, in a separate namespace with veth ports: 2,000 routes of both families, pulled cables, ports that are
// taken down, a restart over the objects of an earlier run. The test reads the kernel's content and compares it. Skipped, with a message,
// where that is not permitted.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>

#include "../agent_lines.h"
#include "dataplane/netlink/lab.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/agent.h"

namespace rondo::switch_agent {
namespace {

constexpr int kPorts = 3;
constexpr int kRoutes = 2000;

std::string port_name(int port) { return "swp" + std::to_string(port); }

/// The agent on a data plane, with its runtime on the real clock.
struct Running {
  explicit Running(DataPlane& plane, std::function<bool()> rows_have_come = {})
      : agent(runtime, plane, {.rows_have_come = std::move(rows_have_come)}) {
    runtime.on_reject([](std::string_view, const Change&, const Status& why) { ADD_FAILURE() << why.to_string(); });
    EXPECT_TRUE(agent.start().ok());
  }
  Runtime runtime;
  SwitchAgent agent;
};

class AgentOnLinux : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = netlink::Lab::make();
    if (!made) skip(made.error());
    if (IsSkipped()) return;
    lab = std::move(*made);
    for (int port = 1; port <= kPorts; ++port) ASSERT_TRUE(lab->add_port(port));
    auto opened = make_linux_dataplane({.network_namespace = lab->path()});
    if (!opened) skip(opened.error());
    if (IsSkipped()) return;
    plane = std::move(*opened);
    auto own = make_linux_dataplane({.network_namespace = lab->path()});
    ASSERT_TRUE(own) << own.error().to_string();
    view = std::move(*own);
  }
  static void skip(const Status& why) {
    std::cerr << "SKIPPED: " << why.to_string() << '\n';
    GTEST_SKIP() << why.to_string();
  }

  void set(std::string_view table, std::string_view key, FieldList fields) {
    ASSERT_TRUE(running->runtime.table(table).set(key, fields).ok());
  }
  /// Writes rows in the worst order, and adds them to the model.
  void write_rows() {
    for (int i = 0; i < kRoutes; ++i) {
      const std::string number = std::to_string(i / 250);
      const std::string group = std::to_string(i % 4);
      const std::string v4 = "172." + std::to_string(16 + i / 250) + "." + std::to_string(i % 250) + ".0/24";
      const std::string v6 = "fd00:" + std::to_string(i + 1) + "::/32";
      if (i % 2 == 0)
        set("ROUTE_TABLE", v4, {{"nexthop_group", "4-" + group}});
      else
        set("ROUTE_TABLE", v6, {{"nexthop_group", "6-" + group}});
      desired.routes[i % 2 == 0 ? v4 : v6] = {(i % 2 == 0 ? "4-" : "6-") + group, {}};
    }
    for (int group = 0; group < 4; ++group) {
      for (const bool ipv6 : {false, true}) set_group(group, ipv6);
    }
    for (int port = 1; port <= kPorts; ++port) {
      for (const bool ipv6 : {false, true}) {
        set("NEIGH_TABLE", port_name(port) + ":" + gateway(port, ipv6), {{"neigh", "02:00:00:00:00:01"}});
        set("INTF_TABLE", port_name(port) + ":" + address(port, ipv6), {});
        desired.neighbors[{port_name(port), gateway(port, ipv6)}] = "02:00:00:00:00:01";
        desired.addresses.insert({port_name(port), address(port, ipv6)});
      }
      set("INTF_TABLE", port_name(port), {});
      set("PORT_TABLE", port_name(port), {{"admin_status", "up"}});
    }
  }
  void set_group(int group, bool ipv6) {
    // Group 0 is over port 1 only, the others are over port 1 and further ports.
    std::string gateways, ports;
    DesiredState::Hops hops;
    for (int port = 1; port <= (group == 0 ? 1 : kPorts); ++port) {
      gateways.append(port == 1 ? "" : ",").append(gateway(port, ipv6));
      ports.append(port == 1 ? "" : ",").append(port_name(port));
      hops.insert({port_name(port), gateway(port, ipv6), 1});
    }
    const std::string name = (ipv6 ? "6-" : "4-") + std::to_string(group);
    set("NEXTHOP_GROUP_TABLE", name, {{"nexthop", gateways}, {"ifname", ports}});
    desired.groups[name] = hops;
  }
  static std::string address(int port, bool ipv6) {
    return ipv6 ? "2001:db8:" + std::to_string(port) + "::1/64" : "10." + std::to_string(port) + ".0.1/24";
  }
  static std::string gateway(int port, bool ipv6) {
    return ipv6 ? "2001:db8:" + std::to_string(port) + "::2" : "10." + std::to_string(port) + ".0.2";
  }

  /// Runs until the kernel matches the model or a timeout expires; returns the remaining differences.
  Lines settle() {
    const SystemClock clock;
    const Instant end = clock.now() + 20s;
    Lines wrong;
    do {
      const Instant look = clock.now() + 100ms;
      while (clock.now() < look) {
        running->runtime.run_until_idle(10'000);
        running->runtime.scheduler().wait(look);
      }
      Lines actual = lines_of(*view);
      std::erase_if(actual, [](const std::string& line) {
        return line.starts_with("address lo ") || line.starts_with("address line") || line.find(" fe80:") != std::string::npos;
      });
      wrong = difference(actual, desired.expected(view->links().value()));
    } while (!wrong.empty() && clock.now() < end);
    return wrong;
  }

  /// Runs until the restart has ended, or a timeout expires.
  void finish_restart() const {
    const Instant end = running->runtime.clock().now() + 30s;
    while (!running->agent.has_restarted() || running->agent.programmer().in_flight() > 0) {
      ASSERT_LT(running->runtime.clock().now(), end);
      running->runtime.scheduler().wait(running->runtime.clock().now() + 10ms);
      running->runtime.run_until_idle();
    }
  }

  /// Our objects are deleted; those of another program stay.
  void restart_without_rows() {
    SCOPED_TRACE("restart without rows");
    running.reset();
    const auto another = make_linux_dataplane({.network_namespace = lab->path(), .protocol = 200});
    ASSERT_TRUE(another) << another.error().to_string();
    const Prefix foreign = Prefix::parse_interface("10.77.0.1/24").value();
    std::vector<Operation> orders{{AddressSet{view->links().value().back().port, foreign}, {}}};
    (*another)->apply(orders);
    ASSERT_TRUE(orders[0].status.ok()) << orders[0].status.to_string();
    running = std::make_unique<Running>(*plane);
    desired = {};
    ASSERT_NO_FATAL_FAILURE(finish_restart());
    std::size_t routes = 0;
    const Status read = view->routes([&](const RouteEntry&) { ++routes; });
    ASSERT_TRUE(read.ok()) << read.to_string();
    EXPECT_EQ(routes, 0U);
    EXPECT_TRUE(view->nexthops().value().empty());
    EXPECT_TRUE(view->neighbors().value().empty());
    const auto left = view->addresses().value();
    EXPECT_TRUE(std::ranges::none_of(left, [](const AddressEntry& entry) { return entry.ours; }));
    EXPECT_TRUE(std::ranges::any_of(left, [&foreign](const AddressEntry& entry) { return entry.address == foreign; }));
  }

  std::unique_ptr<netlink::Lab> lab;
  std::unique_ptr<DataPlane> plane;  // The audit of the agent may read with it in a thread.
  std::unique_ptr<DataPlane> view;   // The test reads with it.
  std::unique_ptr<Running> running;
  DesiredState desired;
};

TEST_F(AgentOnLinux, FollowsCablesPortsAndRestarts) {
  running = std::make_unique<Running>(*plane);
  write_rows();
  ASSERT_EQ(settle(), Lines{});
  {
    SCOPED_TRACE("cables");
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(lab->set_carrier(1 + i % kPorts, false));
      ASSERT_EQ(settle(), Lines{});
      ASSERT_TRUE(lab->set_carrier(1 + i % kPorts, true));
    }
    ASSERT_EQ(settle(), Lines{});
    for (int port = 1; port <= kPorts; ++port) ASSERT_TRUE(lab->set_carrier(port, false));
    ASSERT_EQ(settle(), Lines{});
    for (int port = 1; port <= kPorts; ++port) ASSERT_TRUE(lab->set_carrier(port, true));
    ASSERT_EQ(settle(), Lines{});
  }
  {
    SCOPED_TRACE("ports");
    set("PORT_TABLE", "swp1", {{"admin_status", "down"}});
    running->runtime.run_until_idle();
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    ASSERT_EQ(settle(), Lines{});
    ASSERT_TRUE(lab->remove_port(2));
    ASSERT_TRUE(lab->add_port(2));
    ASSERT_EQ(settle(), Lines{});
  }
  EXPECT_EQ(running->runtime.scheduler().stats().sweep_rescues, 0U);
  {
    SCOPED_TRACE("restart");
    running.reset();
    bool fed = false;
    running = std::make_unique<Running>(*plane, [&fed] { return fed; });
    std::size_t routes = 0;
    ASSERT_TRUE(view->routes([&](const RouteEntry&) { ++routes; }).ok());
    EXPECT_GT(routes, 0U) << "the kernel forwards on";
    desired = {};
    write_rows();
    ASSERT_EQ(settle(), Lines{});
    fed = true;
    ASSERT_NO_FATAL_FAILURE(finish_restart());
    ASSERT_EQ(settle(), Lines{});
    EXPECT_EQ(running->agent.reconciled().changed, 0U) << "needless orders";
    EXPECT_GE(running->agent.reconciled().kept, routes);
  }
  restart_without_rows();
}

}  // namespace
}  // namespace rondo::switch_agent
