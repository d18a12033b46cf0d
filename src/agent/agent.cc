#include "agent/agent.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/interfaces.h"
#include "agent/neighbors.h"
#include "agent/priorities.h"

namespace rondo::agent {

namespace {

/// Where what is ordered and answered is written down, if it is.
OrderWatch* watch_of(Runtime& runtime) { return runtime.journal().on() ? &runtime.journal() : nullptr; }

/// How often the end of a restart is looked for.
constexpr Duration kLook = 100ms;
/// That many in a row must find every row handled.
constexpr unsigned kQuietLooks = 5;
/// Routes deleted between two of them: the making of the orders takes a turn well below a millisecond.
constexpr std::size_t kUnwantedOfLook = 8192;

Ports& add_upper_orchs(Runtime& runtime, Programmer& programmer, PortIds& ids) {
  Ports& ports = runtime.add<Ports>(programmer, ids);
  runtime.add<Interfaces>(programmer, ids);
  runtime.add<Neighbors>(programmer, ids);
  return ports;
}

}  // namespace

Agent::Agent(Runtime& runtime, DataPlane& plane, AgentOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      reconciler_(plane),
      programmer_(runtime.scheduler(), reconciler_,
                  {.mode = options_.mode,
                   .priority = kAnswers,
                   .ops_max = options_.orders_max,
                   .watch = watch_of(runtime),
                   .answers = options_.answers}),
      ports_(add_upper_orchs(runtime, programmer_, port_ids_)),
      nexthop_groups_(runtime.add<NexthopGroups>(programmer_, port_ids_, group_ids_)),
      routes_(runtime.add<Routes>(programmer_, group_ids_, options_.table, options_.retry_quota)),
      restart_timer_("restart", kRoutes, [this] { look_at_restart(); }) {
  runtime.scheduler().add(restart_timer_);
  runtime.journal().note("agent.table", std::to_string(options_.table));
  runtime.journal().note("agent.orders_max", std::to_string(options_.orders_max));
  runtime.journal().note("agent.retry_quota", std::to_string(options_.retry_quota));
}

Agent::~Agent() = default;

Status Agent::start() {
  if (Status pinned = programmer_.pin(options_.programmer_cpus); !pinned.ok()) return pinned.with_context("the programming thread");
  // Before the reading: what changes from then on is told.
  Result<std::unique_ptr<Source>> monitor = reconciler_.monitor(runtime_.scheduler(), kKernelEvents, [this](const LinkEvent& event) {
    runtime_.journal().link(event);
    if (!restarted_) reconciler_.link_event(event);
    ports_.link_event(event);
  });
  if (!monitor) return monitor.error().with_context("following link events");
  monitor_ = std::move(*monitor);
  if (Status read = reconciler_.read(); !read.ok()) return read.with_context("reading what an earlier run left");
  runtime_.journal().kernel_found(reconciler_.counts().found);
  nexthop_groups_.adopt(reconciler_.known_nexthops());
  started_ = runtime_.clock().now();
  if (reconciler_.counts().found == 0) {
    end_restart();
  } else {
    restart_timer_.arm_every(kLook, started_ + kLook);
  }
  return {};
}

void Agent::look_at_restart() {
  if (runtime_.clock().now() - started_ < options_.hold) return;
  if (options_.rows_have_come && !options_.rows_have_come()) return;
  // For a while: a row may be on its way through a store, or wait for a moment.
  if (quiet_looks_ < kQuietLooks) quiet_looks_ = rows_are_handled() ? quiet_looks_ + 1 : 0;
  if (quiet_looks_ >= kQuietLooks && programmer_.in_flight() == 0) delete_unwanted();
}

/// Nothing under way, and every row is programmed, refused or parked.
bool Agent::rows_are_handled() const {
  if (programmer_.in_flight() > 0) return false;
  return std::ranges::all_of(runtime_.consumers(), [](const ConsumerStats& stats) { return stats.queued == 0 && stats.in_flight == 0; });
}

/// A stage at a time, each looked at anew when nothing is under way: what was refused is tried again, and what a row asks for by then is
/// not among it. A row that comes later is ordered behind.
void Agent::delete_unwanted() {
  nexthop_groups_.end_adoption();
  reconciler_.distrust();
  Reconciler::Unwanted unwanted = reconciler_.unwanted(kUnwantedOfLook);
  const auto ignore = [](std::span<Operation>) {};
  if (!unwanted.neighbors.empty()) programmer_.submit(Lane::Urgent, std::move(unwanted.neighbors), ignore);
  for (std::vector<Operation>* const stage : {&unwanted.routes, &unwanted.groups, &unwanted.nexthops}) {
    if (stage->empty()) continue;
    programmer_.submit(stage == &unwanted.routes ? Lane::Bulk : Lane::Urgent, std::move(*stage), ignore);
    break;
  }
  if (programmer_.in_flight() == 0) end_restart();
}

void Agent::end_restart() {
  reconciler_.end();
  routes_.end_restart();
  restart_timer_.disarm();
  restarted_ = true;
}

}  // namespace rondo::agent
