#include "agent_life.h"

#include <algorithm>
#include <map>

#include "orch/parked.h"
#include "orch/runtime_view.h"
#include "rondo/base/assert.h"
#include "switch_agent/facts.h"
#include "switch_agent/refusals.h"

namespace rondo::swarm {

/// The objects of one process besides its Orchs.
struct AgentLife::Process {
  Process(Runtime& runtime, DataPlane& plane, switch_agent::AuditOptions audit)
      : agent(runtime, plane, {.in_line = true, .audit = audit}) {}
  switch_agent::SwitchAgent agent;
};

sim::WorldOptions AgentLife::drawn_world(std::uint64_t seed) {
  Random random(seed * 104'729 + 5);
  sim::WorldOptions options;
  options.store = static_cast<sim::StoreKind>(random.below(3));
  if (random.chance(0.7)) options.faults = sim::FaultPlan::drawn(random);
  options.policy = drawn_policy(random);
  return options;
}

AgentLife::AgentLife(std::uint64_t seed) : AgentLife(seed, drawn_world(seed)) {}

AgentLife::AgentLife(std::uint64_t seed, sim::WorldOptions options, Others others) : random_(seed * 7919 + 1), others_(others) {
  options.seed = seed;
  // A route or an address whose order was refused is done for its row: only a timer of its Orch tells that it is ordered again.
  options.rest = switch_agent::kSlowestRefusedRetry + 1s;
  world_ = std::make_unique<sim::World>(std::move(options));
  for (std::uint64_t port = 0; port < kPorts; ++port) add_device(port);
  world_->check_at_rest("kernel", [this] { return check(); });
  world_->start([this](Runtime& runtime) {
    runtime.on_reject([this](std::string_view, const Change&, const Status& why) { rejects_.push_back(why.to_string()); });
    const Duration period = others_ != Others::Leave ? Duration{5s} : Duration{0};
    auto process = std::make_shared<Process>(runtime, plane(), switch_agent::AuditOptions{.period = period});
    agent_ = &process->agent;
    const Status started = process->agent.start();
    RONDO_ASSERT(started.ok());
    return process;
  });
  if (others_ == Others::MeddleWithVrfs) set_vrf();
  if (others_ == Others::MeddleWithVlans) begin_vlans();
  if (others_ == Others::MeddleWithLags) begin_lags();
  for (std::uint64_t port = 0; port < kPorts; ++port) {
    set_port(port, true);
    set_base(port);
    for (const bool ipv6 : {false, true}) set_address(port, 0, ipv6);
  }
}

void AgentLife::act() {
  is_whole_ = false;
  for (std::uint64_t i = 0, count = random_.between(1, 4); i < count; ++i) operate();
}

/// True if nothing is pending for the key: no change is on its way to the table, in it, or in the ledger.
bool AgentLife::is_settled(std::string_view table, std::string_view key) const {
  if (!world_->is_confirmed(table, key) || !world_->runtime().store().health().ok()) return false;
  const RuntimeView view(world_->runtime());
  const auto consumer = view.consumers().find(table);
  return consumer->second->stats().queued == 0 && consumer->second->ledger().find(key) == Ledger::kNone;
}

void AgentLife::calm_down() {
  for (std::uint64_t port = 0; port < kPorts; ++port) flap(port);
  world_->run_for(10ms);
  for (int kind = 0; kind < 7; ++kind) plane().fail_by_chance(static_cast<OrderKind>(kind), 0.0, 0);
  for (std::uint64_t port = 0; port < kPorts; ++port) {
    if (!devices_.contains(port)) add_device(port);
    set_port(port, true);
  }
  // All planned faults have happened, and each order that was refused has been retried.
  world_->run_for(1s + switch_agent::kSlowestRefusedRetry);
  close();
  if (others_ != Others::Leave) world_->run_for(12s);  // Two periods of the audit, and its follow-ups.
}

void AgentLife::end() {
  for (std::uint64_t port = 0; port < kPorts; ++port) plane().set_carrier(port_name(port), true);
  raise_lag_ports();
  is_whole_ = true;
  world_->set_faults({});
  world_->run_for(30s);  // Unused sets of next hops are swept every 10 s.
  if (!world_->come_to_rest()) return;
  for (std::uint64_t port = 0; port < kPorts; ++port) plane().set_carrier(port_name(port), random_.chance(0.5));
  world_->come_to_rest();
}

std::string AgentLife::waiting() const {
  std::string text;
  const Runtime& runtime = world_->runtime();
  for (const ConsumerStats& stats : runtime.consumers()) {
    for (const ParkedRow& row : parked_rows(runtime, stats.table, 5)) {
      text += "\n    " + row.table + ":" + row.key;
      for (const Fact& fact : row.facts) text += " waits for " + fact.to_string();
      text += " " + row.why;
    }
  }
  return text;
}

bool AgentLife::has_unsettled() const {
  const Runtime& runtime = world_->runtime();
  return std::ranges::any_of(runtime.consumers(),
                             [&](const ConsumerStats& stats) { return !parked_rows(runtime, stats.table, 1).empty(); });
}

/// Returns the first row whose reported state is wrong. An installed row must be in the kernel, a withdrawn one must not, and the counts
/// must match the kernel. Empty if there is none.
std::string AgentLife::told_wrong() const {
  const Lines lines = switch_agent::lines_of(world_->plane());
  const auto has = [&lines](const std::string& begin) {
    const auto at = std::ranges::lower_bound(lines, begin);
    return at != lines.end() && at->starts_with(begin);
  };
  const auto is_wrong = [&](std::string_view table, std::string_view key, bool is_there) {
    const PlaneState state = world_->runtime().row_state(table, key).plane;
    return state == PlaneState::Installed ? !is_there : state == PlaneState::Withdrawn && is_there;
  };
  for (const auto& [prefix, route] : desired_.routes) {
    const std::string line = "route " + DesiredState::shown(prefix);
    if (is_wrong("ROUTE_TABLE", prefix, has(line + " via ") || has(line + " blackhole")))
      return "the state of route " + prefix + " is wrong";
  }
  for (const auto& [place, mac] : desired_.neighbors) {
    const std::string line = "neighbor " + place.first + " " + place.second + " ";
    if (is_wrong("NEIGH_TABLE", place.first + ":" + place.second, has(line))) return "the state of " + line + "is wrong";
  }
  for (const auto& [port, prefix] : desired_.addresses) {
    const std::string line = "address " + port + " " + prefix;
    if (is_wrong("INTF_TABLE", port + ":" + prefix, has(line))) return "the state of " + line + " is wrong";
  }
  const auto count = [&lines](std::string_view what) {
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.starts_with(what) && line.find(" metric ") == std::string::npos; }));
  };
  std::map<std::string, std::size_t> installed;
  std::size_t neighbors_owed = 0;  // A neighbour whose Delete waits may be present or not: a flap of its port may have removed it.
  for (const ConsumerStats& stats : world_->runtime().consumers()) {
    installed[stats.table] = stats.plane ? stats.plane->installed : 0;
    if (stats.table == "NEIGH_TABLE") neighbors_owed = stats.queued + stats.parked + stats.in_flight;
  }
  if (installed["ROUTE_TABLE"] != count("route "))
    return "routes are counted wrong: " + std::to_string(installed["ROUTE_TABLE"]) + " of " + std::to_string(count("route "));
  if (neighbors_owed == 0 && installed["NEIGH_TABLE"] != count("neighbor "))
    return "neighbours are counted wrong: " + std::to_string(installed["NEIGH_TABLE"]) + " of " + std::to_string(count("neighbor "));
  const std::size_t groups = installed["NEXTHOP_GROUP_TABLE"] + agent_->nexthop_groups().state_counts(switch_agent::kNextHops).installed;
  if (groups != count("group "))
    return "next-hop groups are counted wrong: " + std::to_string(groups) + " of " + std::to_string(count("group "));
  return {};
}

/// While some ports have no carrier, a route with only those ports may keep its earlier state. Everything else is as expected, and every
/// unsettled row waits for a fact. When every port has been up, nothing is unsettled and the kernel has exactly the expected content.
Status AgentLife::check() const {
  Lines wrong = switch_agent::difference(switch_agent::lines_of(world_->plane()), desired_.expected(world_->plane().links().value()));
  if (!is_whole_) std::erase_if(wrong, [](const std::string& line) { return !line.starts_with("- "); });
  if (!rejects_.empty()) return {StatusCode::Internal, "rejected: " + rejects_.front()};
  // While faults continue, a repair may have to wait for the next audit.
  const bool is_repaired = others_ == Others::Leave || is_whole_;
  if (const std::string lie = is_repaired ? told_wrong() : std::string{}; !lie.empty()) return {StatusCode::Internal, lie};
  if (wrong.empty() && (!is_whole_ || !has_unsettled())) return {};
  std::string text = "the kernel is not as the rows say:";
  for (const std::string& line : wrong) text += "\n    " + line;
  return {StatusCode::Internal, text + waiting()};
}

}  // namespace rondo::swarm
