#include "agent/agent.h"

#include <utility>
#include <vector>

#include "agent/interfaces.h"
#include "agent/neighbors.h"
#include "agent/priorities.h"

namespace rondo::agent {

namespace {

Ports& add_upper_orchs(Runtime& runtime, Programmer& programmer, PortIds& ids) {
  Ports& ports = runtime.add<Ports>(programmer, ids);
  runtime.add<Interfaces>(programmer, ids);
  runtime.add<Neighbors>(programmer, ids);
  return ports;
}

}  // namespace

Agent::Agent(Runtime& runtime, DataPlane& plane, AgentOptions options)
    : runtime_(runtime),
      plane_(plane),
      programmer_cpus_(std::move(options.programmer_cpus)),
      programmer_(runtime.scheduler(), plane, {.mode = options.mode, .priority = kAnswers, .ops_max = options.orders_max}),
      ports_(add_upper_orchs(runtime, programmer_, port_ids_)),
      nexthop_groups_(runtime.add<NexthopGroups>(programmer_, port_ids_, group_ids_)),
      routes_(runtime.add<Routes>(programmer_, group_ids_, options.table, options.retry_quota)) {}

Agent::~Agent() = default;

Status Agent::start() {
  if (Status pinned = programmer_.pin(programmer_cpus_); !pinned.ok()) return pinned.with_context("the programming thread");
  if (Status cleared = clear_leftovers(); !cleared.ok()) return cleared.with_context("clearing what an earlier run left");
  Result<std::unique_ptr<Source>> monitor =
      plane_.monitor(runtime_.scheduler(), kKernelEvents, [this](const LinkEvent& event) { ports_.link_event(event); });
  if (!monitor) return monitor.error().with_context("following link events");
  monitor_ = std::move(*monitor);
  return {};
}

Status Agent::clear_leftovers() {
  std::vector<Operation> operations;
  const Status read = plane_.routes([&](const RouteEntry& route) { operations.push_back({RouteDelete{route.prefix, route.table}, {}}); });
  if (!read.ok()) return read;
  const Result<std::vector<NexthopEntry>> nexthops = plane_.nexthops();
  if (!nexthops) return nexthops.error();
  // Groups before what they are made of.
  for (const bool groups : {true, false}) {
    for (const NexthopEntry& entry : *nexthops) {
      if (entry.members.empty() != groups) operations.push_back({NexthopDelete{entry.id}, {}});
    }
  }
  const Result<std::vector<NeighborEntry>> neighbors = plane_.neighbors();
  if (!neighbors) return neighbors.error();
  for (const NeighborEntry& entry : *neighbors) operations.push_back({NeighborDelete{entry.port, entry.address}, {}});
  plane_.apply(operations);
  for (const Operation& operation : operations) {
    if (!operation.status.ok() && operation.status.code() != Code::NotFound) return operation.status;
  }
  return {};
}

}  // namespace rondo::agent
