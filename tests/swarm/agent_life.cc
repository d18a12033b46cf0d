#include "agent_life.h"

#include "agent/facts.h"
#include "orch/runtime_view.h"
#include "rondo/base/assert.h"

namespace rondo::swarm {

/// What belongs to one process beside its Orchs.
struct AgentLife::Process {
  Process(Runtime& runtime, DataPlane& plane) : agent(runtime, plane, {.mode = Programmer::Mode::Inline}) {}
  agent::Agent agent;
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

AgentLife::AgentLife(std::uint64_t seed, sim::WorldOptions options) : random_(seed * 7919 + 1) {
  options.seed = seed;
  world_ = std::make_unique<sim::World>(std::move(options));
  for (std::uint64_t port = 0; port < kPorts; ++port) add_device(port);
  world_->check_at_rest("kernel", [this] { return check(); });
  world_->start([this](Runtime& runtime) {
    runtime.on_reject([this](std::string_view, const Change&, const Status& why) { rejects_.push_back(why.to_string()); });
    auto process = std::make_shared<Process>(runtime, plane());
    const Status started = process->agent.start();
    RONDO_ASSERT(started.ok());
    return process;
  });
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

/// Nothing is owed for the key: neither under way to the table, nor in it, nor in the ledger.
bool AgentLife::is_settled(std::string_view table, std::string_view key) const {
  if (!world_->is_confirmed(table, key) || !world_->runtime().store().health().ok()) return false;
  const RuntimeView view(world_->runtime());
  const auto consumer = view.consumers().find(table);
  return consumer->second->stats().queued == 0 && consumer->second->ledger().find(key) == Ledger::kNone;
}

void AgentLife::calm_down() {
  for (std::uint64_t port = 0; port < kPorts; ++port) flap(port);
  world_->run_for(10ms);
  for (int kind = 0; kind < 6; ++kind) plane().fail_by_chance(static_cast<sim::OrderKind>(kind), 0.0, 0);
  for (std::uint64_t port = 0; port < kPorts; ++port) {
    if (!devices_.contains(port)) add_device(port);
    set_port(port, true);
  }
  world_->run_for(1s);  // What was planned has happened.
  close();
}

void AgentLife::end() {
  for (std::uint64_t port = 0; port < kPorts; ++port) plane().set_carrier(port_name(port), true);
  is_whole_ = true;
  world_->set_faults({});
  world_->run_for(30s);  // Sets of next hops that nobody uses are looked for every 10 s.
  if (!world_->come_to_rest()) return;
  for (std::uint64_t port = 0; port < kPorts; ++port) plane().set_carrier(port_name(port), random_.chance(0.5));
  world_->come_to_rest();
}

std::string AgentLife::waiting() const {
  std::string text;
  const Runtime& runtime = world_->runtime();
  for (const ConsumerStats& stats : runtime.consumers()) {
    for (const ParkedRow& row : runtime.parked_rows(stats.table, 5)) {
      text += "\n    " + row.table + ":" + row.key;
      for (const Constraint& fact : row.facts) text += " waits for " + fact.to_string();
      text += " " + row.why;
    }
  }
  return text;
}

/// A set of next hops that a route came to use again while its Delete was under way keeps that until the route goes: no row is owed by it.
bool AgentLife::owes() const {
  const Runtime& runtime = world_->runtime();
  for (const ConsumerStats& stats : runtime.consumers()) {
    for (const ParkedRow& row : runtime.parked_rows(stats.table, 1000)) {
      const bool is_used_set = row.table == "NEXTHOP_SET" && row.op == Op::Delete && row.facts.front().kind == agent::kSetUnused;
      if (!is_used_set) return true;
    }
  }
  return false;
}

/// With some ports without carrier a route that wants only those may keep what it was before; everything else is as it should be, and
/// whatever is owed waits for a fact. When every port has been up, nothing is owed and the kernel holds exactly what it should.
Status AgentLife::check() const {
  Lines wrong = agent::difference(agent::lines_of(world_->plane()), desired_.expected(world_->plane().links().value()));
  if (!is_whole_) std::erase_if(wrong, [](const std::string& line) { return !line.starts_with("- "); });
  if (!rejects_.empty()) return {Code::Internal, "rejected: " + rejects_.front()};
  if (wrong.empty() && (!is_whole_ || !owes())) return {};
  std::string text = "the kernel is not as the rows say:";
  for (const std::string& line : wrong) text += "\n    " + line;
  return {Code::Internal, text + waiting()};
}

}  // namespace rondo::swarm
