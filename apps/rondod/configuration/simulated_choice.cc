#include "rondod/configuration/simulated_choice.h"

#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "rondod/configuration/simulated_section.h"
#include "switch_agent/schema.h"

namespace rondo::daemon {

namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::array kKinds{OrderKind::Route,   OrderKind::Group, OrderKind::Nexthop, OrderKind::Neighbor,
                            OrderKind::Address, OrderKind::Link,  OrderKind::Fdb};

std::size_t room(std::int64_t most) { return most == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(most); }

}  // namespace

void read_simulated_ports(SectionReader& s, std::vector<std::string>& ports) {
  s.texts("simulated_ports", ports);
  std::set<std::string_view> names;
  for (const std::string& port : ports) {
    if (Status name = switch_agent::check_port_key(port); !name.ok())
      s.complain("simulated_ports", "names a port that cannot be: " + std::string{name.message()});
    if (!names.insert(port).second) s.complain("simulated_ports", "names '" + port + "' twice");
  }
}

void read_simulated(SectionReader s, SimulatedChoice& simulated) {
  s.integer("routes", 0, kBillion, simulated.routes);
  s.integer("nexthops", 0, kBillion, simulated.nexthops);
  s.integer("groups", 0, kBillion, simulated.groups);
  s.integer("neighbors", 0, kBillion, simulated.neighbors);
  s.integer("route_us", 0, kSecondUs, simulated.route_us);
  s.integer("group_us", 0, kSecondUs, simulated.group_us);
  s.integer("other_us", 0, kSecondUs, simulated.other_us);
  s.share("failure_share", simulated.failure_share);
  s.integer("seed", 0, std::numeric_limits<std::int64_t>::max(), simulated.seed);
}

toml::table simulated_table(const SimulatedChoice& simulated) {
  return toml::table{{"routes", simulated.routes},       {"nexthops", simulated.nexthops},           {"groups", simulated.groups},
                     {"neighbors", simulated.neighbors}, {"route_us", simulated.route_us},           {"group_us", simulated.group_us},
                     {"other_us", simulated.other_us},   {"failure_share", simulated.failure_share}, {"seed", simulated.seed}};
}

std::unique_ptr<SimDataPlane> make_simulated(const SimulatedChoice& simulated) {
  SimDataPlaneOptions options{.seed = static_cast<std::uint64_t>(simulated.seed),
                              .spend = {},
                              .route_cost = Duration{1us} * simulated.route_us,
                              .group_cost = Duration{1us} * simulated.group_us,
                              .other_cost = Duration{1us} * simulated.other_us,
                              .routes_max = room(simulated.routes),
                              .nexthops_max = room(simulated.nexthops),
                              .groups_max = room(simulated.groups),
                              .neighbors_max = room(simulated.neighbors)};
  if (simulated.route_us + simulated.group_us + simulated.other_us != 0) {
    // The thread stands still as in a system call that programs a switch.
    options.spend = [](Duration time) { std::this_thread::sleep_for(time); };
  }
  auto plane = std::make_unique<SimDataPlane>(std::move(options));
  if (simulated.failure_share > 0) {
    for (const OrderKind kind : kKinds) plane->fail_by_chance(kind, simulated.failure_share, ENOBUFS);
  }
  return plane;
}

}  // namespace rondo::daemon
