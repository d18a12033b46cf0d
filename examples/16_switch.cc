// The switch agent in a program of one's own: its rows become addresses, neighbours and routes of a data plane. Without an argument that is
// the simulated one. With --kernel it is the kernel of this network namespace, which needs CAP_NET_ADMIN and the two ports:
//   unshare --net sh -c 'ip link add swp1 type veth peer name swp2; ip link set swp2 up; ./16_switch --kernel; ip route'
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "rondo/switch_agent/switch.h"

using namespace rondo;

constexpr std::uint8_t kProtocol = 77;  // Marks what this program makes. Two programs of one namespace need two numbers.

Result<std::unique_ptr<DataPlane>> open_plane(bool in_kernel) {
  // region: plane
  if (in_kernel) return make_linux_dataplane({.protocol = kProtocol, .metric = kProtocol});
  auto simulated = std::make_unique<SimDataPlane>();
  simulated->add_port("swp1");
  return std::unique_ptr<DataPlane>{std::move(simulated)};
  // endregion
}

int main(int argc, char** argv) {
  const auto plane = open_plane(argc > 1 && std::string_view{argv[1]} == "--kernel");
  if (!plane) {
    std::fprintf(stderr, "%s\n", plane.error().to_string().c_str());
    return 1;
  }
  // region: switch
  Runtime runtime;
  // The tables of this runtime are in memory, so the rows are written again after each start: until then an earlier run's routes stay.
  Switch agent(runtime, **plane, {.protocol = kProtocol, .hold = 10s});
  if (const Status started = agent.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n",
                 started.to_string().c_str());  // For example "already-exists: ... pid 4711 (rondod, user root) programs ..."
    return 1;
  }
  const bool is_written = runtime.table("PORT_TABLE").set("swp1", {{"admin_status", "up"}}).ok() &&
                          runtime.table("INTF_TABLE").set("swp1", {}).ok() &&
                          runtime.table("INTF_TABLE").set("swp1:10.0.0.1/24", {}).ok() &&
                          runtime.table("NEIGH_TABLE").set("swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}}).ok() &&
                          runtime.table("ROUTE_TABLE").set("20.0.0.0/8", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}}).ok();
  const auto is_installed = [&runtime] { return runtime.row_state("ROUTE_TABLE", "20.0.0.0/8").plane == PlaneState::Installed; };
  for (int i = 0; i < 500 && is_written && !is_installed(); ++i) runtime.scheduler().run_for(10ms);
  // endregion
  std::printf("%s: 20.0.0.0/8 is %s\n", (*plane)->describe().c_str(), is_installed() ? "installed" : "not installed");
  return is_installed() ? 0 : 1;
}
