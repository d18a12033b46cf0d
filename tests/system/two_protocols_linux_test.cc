// Two switch agents in one network namespace, with different protocol numbers and groups of the same names: neither touches the other's
// objects. On the real kernel; skipped, with a message, where a namespace is not permitted.
#include <gtest/gtest.h>

#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "../agent_lines.h"
#include "dataplane/netlink/lab.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/agent.h"

namespace rondo::switch_agent {
namespace {

/// One of the two agents, with its own port.
struct Neighbour {
  Neighbour(const netlink::Lab& lab, std::uint8_t protocol, int port)
      : plane(make_linux_dataplane({.network_namespace = lab.path(), .protocol = protocol, .metric = protocol}).value()),
        view(make_linux_dataplane({.network_namespace = lab.path(), .protocol = protocol, .metric = protocol}).value()),
        agent(runtime, *plane, {.protocol = protocol}),
        name("swp" + std::to_string(port)),
        net("10." + std::to_string(port) + ".0.") {
    EXPECT_TRUE(agent.start().ok());
    set("PORT_TABLE", name, {{"admin_status", "up"}});
    set("INTF_TABLE", name, {});
    set("INTF_TABLE", name + ":" + net + "1/24", {});
    set("NEIGH_TABLE", name + ":" + net + "2", {{"neigh", "02:00:00:00:00:02"}});
    const std::string gateway = net + "2";
    set("NEXTHOP_GROUP_TABLE", "g", {{"nexthop", gateway}, {"ifname", name}});
    set("ROUTE_TABLE", "2" + std::to_string(port) + ".0.0.0/8", {{"nexthop_group", "g"}});
  }
  void set(std::string_view table, std::string_view key, FieldList fields) { ASSERT_TRUE(runtime.table(table).set(key, fields).ok()); }
  bool has_route() {
    bool found = false;
    const Lines lines = lines_of(*view);
    for (const std::string& line : lines) found = found || line.ends_with(" via {" + name + " " + net + "2*1}");
    return found;
  }
  void run_until_it_has_its_route() {
    for (const Instant end = runtime.clock().now() + 20s; !has_route() && runtime.clock().now() < end;) {
      runtime.scheduler().wait(runtime.clock().now() + 10ms);
      runtime.run_until_idle(10'000);
    }
  }

  std::unique_ptr<DataPlane> plane;  // The audit of the agent may read with it in a thread.
  std::unique_ptr<DataPlane> view;   // The test reads with it.
  Runtime runtime;
  SwitchAgent agent;
  std::string name;
  std::string net;
};

TEST(TwoProtocolsOnLinux, NeitherTouchesTheNextHopsOfTheOther) {
  auto lab = netlink::Lab::make();
  if (!lab) {
    std::cerr << "SKIPPED: " << lab.error().to_string() << '\n';
    GTEST_SKIP() << lab.error().to_string();
  }
  for (const int port : {1, 2}) ASSERT_TRUE((*lab)->add_port(port));
  Neighbour first(**lab, 201, 1);
  first.run_until_it_has_its_route();
  // The largest number: its objects have the last numbers of 32 bits.
  Neighbour second(**lab, 255, 2);
  second.run_until_it_has_its_route();
  EXPECT_TRUE(second.has_route()) << testing::PrintToString(lines_of(*second.view));
  EXPECT_TRUE(first.has_route()) << testing::PrintToString(lines_of(*first.view));
}

TEST(NumberSpace, NoProtocolHasNumbersOfAnother) {
  for (unsigned protocol = 0; protocol < 255; ++protocol) {
    const NumberSpace here = number_space(static_cast<std::uint8_t>(protocol));
    EXPECT_LT(here.nexthops, here.groups);
    const std::uint32_t last = here.groups + (here.group_count - 1);
    for (unsigned other = protocol + 1; other < 256; ++other) {
      const NumberSpace there = number_space(static_cast<std::uint8_t>(other));
      const std::uint32_t last_there = there.groups + (there.group_count - 1);
      EXPECT_TRUE(last < there.nexthops || last_there < here.nexthops) << protocol << " and " << other;
    }
  }
}

}  // namespace
}  // namespace rondo::switch_agent
