#include "rondo-demo/measurement/baseline.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/netlink/baseline.h"
#include "rondo-demo/measurement/verify.h"
#include "rondo-demo/testbed/testbed.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo::demo {

namespace {

using GroupNumbers = std::map<std::pair<feed::Family, unsigned>, NexthopId>;

/// Creates the same ports, addresses, next hops and groups as the real run.
Result<GroupNumbers> build_groups(DataPlane& plane, const feed::NextHopPlan& plan) {
  const auto links = plane.links();
  if (!links) return failure(links.error());
  std::map<std::string, IfIndex> ports;
  for (const LinkEvent& link : *links) ports[link.name] = link.port;
  GroupNumbers numbers;
  std::vector<Operation> operations;
  std::uint32_t next = 1;
  for (const feed::Family family : {feed::Family::V4, feed::Family::V6}) {
    for (unsigned p = 0; p < feed::kPorts; ++p) {
      const auto address = rondo::Prefix::parse_interface(feed::NextHopPlan::port_address(p, family));
      if (!address) return failure(address.error());
      operations.push_back({AddressSet{ports[plan.port_name(p)], *address}, {}});
    }
    for (unsigned g = 0; g < plan.groups(); ++g) {
      GroupSet group;
      for (unsigned k = g * feed::kHopsPerGroup; k < (g + 1) * feed::kHopsPerGroup; ++k) {
        const feed::NextHop hop = feed::NextHopPlan::hop(k, family);
        const auto gateway = IpAddress::parse(hop.address);
        if (!gateway) return failure(gateway.error());
        operations.push_back({NexthopSet{NexthopId{next}, *gateway, ports[plan.port_name(hop.port)]}, {}});
        group.members.push_back({NexthopId{next}, 1});
        ++next;
      }
      group.id = NexthopId{next++};
      numbers[{family, g}] = group.id;
      operations.push_back({std::move(group), {}});
    }
  }
  plane.apply(operations);
  for (const Operation& operation : operations) {
    if (!operation.status.ok()) return failure(operation.status);
  }
  return numbers;
}

Result<double> run_in_namespace(std::span<const feed::Route> routes, const feed::NextHopPlan& plan) {
  const auto testbed = Testbed::enter();
  if (!testbed) return failure(testbed.error());
  std::vector<std::string> names;
  for (unsigned p = 0; p < feed::kPorts; ++p) names.push_back(plan.port_name(p));
  if (Status made = testbed->make_ports(names); !made.ok()) return failure(std::move(made));
  auto plane = make_linux_dataplane({});
  if (!plane) return failure(plane.error());
  const auto numbers = build_groups(**plane, plan);
  if (!numbers) return failure(numbers.error());
  std::vector<std::pair<rondo::Prefix, NexthopId>> list;
  list.reserve(routes.size());
  // Uses the order in which rondod programs them: when a group becomes usable, all its routes become programmable together, in order of
  // arrival.
  std::vector<const feed::Route*> order;
  for (const feed::Route& route : routes) {
    if (!route.withdrawn) order.push_back(&route);
  }
  std::ranges::stable_sort(order, {}, [](const feed::Route* route) { return std::pair{route->prefix.family, route->group}; });
  for (const feed::Route* route : order) {
    list.emplace_back(to_dataplane(route->prefix), numbers->at({route->prefix.family, route->group}));
  }
  const auto result = netlink::run_netlink_baseline(list, {});
  if (!result) return failure(result.error());
  return result->routes_per_second();
}

}  // namespace

Result<double> measure_baseline(std::span<const feed::Route> routes, const feed::NextHopPlan& plan) {
  int ends[2];
  if (::pipe(ends) != 0) return failure(status_from_errno(errno, "pipe"));
  const pid_t child = ::fork();
  if (child < 0) return failure(status_from_errno(errno, "fork"));
  if (child == 0) {
    ::close(ends[0]);
    const auto rate = run_in_namespace(routes, plan);
    const std::string said = rate ? std::to_string(*rate) : "!" + rate.error().to_string();
    const bool whole = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (said.empty()) return failure(StatusCode::Internal, "the baseline measurement said nothing");
  if (said.front() == '!') return failure(StatusCode::Unavailable, said.substr(1));
  return std::stod(said);
}

}  // namespace rondo::demo
