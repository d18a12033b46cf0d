#include "rondod/managers/state_db.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/counted.h"
#include "rondod/stores/registry.h"
#include "switch_agent/priorities.h"

namespace rondo::daemon {

namespace {

/// The stations that one turn of a flush checks: well below a millisecond of the turn and of the programming thread.
constexpr std::size_t kStationsTogether = 256;

/// The state of any device, or only of a port with a row of PORT_TABLE.
std::optional<managers::PortState> state_of(const switch_agent::Ports& ports, std::string_view name, bool is_port) {
  const switch_agent::Ports::Port* const port = ports.find(name);
  if (port == nullptr || !port->exists || (is_port && !port->has_row)) return std::nullopt;
  return managers::PortState{.admin_up = port->admin_up, .carrier = port->carrier, .mtu = port->mtu};
}

/// True if every row of ports and interfaces that APPL_DB and CONFIG_DB had at the start has been handled.
bool is_settled(const Runtime& runtime, const switch_agent::SwitchAgent& agent, const managers::Managers& managers) {
  if (!agent.has_restarted() || !managers.has_read_config()) return false;
  const std::vector<ConsumerStats> consumers = runtime.consumers();
  return std::ranges::all_of(consumers, [](const ConsumerStats& consumer) {
    constexpr std::array kTables{"PORT_TABLE",        "LAG_TABLE", "LAG_MEMBER_TABLE", "VLAN_TABLE",
                                 "VLAN_MEMBER_TABLE", "VRF_TABLE", "INTF_TABLE"};
    const bool counts = std::ranges::find(kTables, consumer.table) != kTables.end();
    return !counts || (consumer.caught_up && consumer.queued == 0 && consumer.in_flight == 0);
  });
}

}  // namespace

managers::ManagersOptions managers_options(const RedisWatch& redis, switch_agent::SafetyStop& safety) {
  constexpr std::string_view kHeld = "rows that CONFIG_DB no longer has";
  return {.may_begin = [&redis] { return !redis.waits_for_lease(); },
          .may_delete =
              [&safety, kHeld](std::uint64_t stale, std::uint64_t total) {
                if (stale == 0) safety.forget(kHeld);
                return stale == 0 || safety.allows(kHeld, stale, total, counted(stale, "row"));
              }};
}

Result<std::unique_ptr<StateDb>> StateDb::open(const ManagersChoice& choice, Runtime& runtime, const switch_agent::SwitchAgent& agent,
                                               const managers::Managers& managers, RedisWatch& redis) {
  if (choice.state_db.empty()) return std::unique_ptr<StateDb>{};
  std::unique_ptr<StateDb> state{new StateDb};
  StoreHooks hooks;
  hooks.redis = redis.hooks();
  hooks.redis.on_failover = [told = std::move(hooks.redis.on_failover), state = state.get()](const std::string& where,
                                                                                             std::uint64_t epoch) {
    told(where, epoch);
    if (state->rows_ != nullptr) state->rows_->write_again();
  };
  const Result<StoreMaker> maker = make_store(sonic_place(choice.state_db), hooks);
  if (!maker) return failure(maker.error());
  Result<std::unique_ptr<Store>> store = (*maker)(runtime.scheduler());
  if (!store) return failure(store.error());
  state->store_ = std::move(*store);
  auto rows =
      managers::StateRows::open(runtime, *state->store_,
                                {.port = [&agent](std::string_view name) { return state_of(agent.ports(), name, true); },
                                 .device = [&agent](std::string_view name) { return state_of(agent.ports(), name, false); },
                                 .vrf = [&agent](std::string_view port) { return agent.interfaces().vrf_of(port); },
                                 .learned = [state = state.get()](std::string_view station) { return state->fdb_.port_of(station); },
                                 .is_settled = [&runtime, &agent, &managers] { return is_settled(runtime, agent, managers); },
                                 .may_write = [&redis] { return !redis.waits_for_lease(); }});
  if (!rows) return failure(rows.error());
  state->rows_ = std::move(*rows);
  auto vlans = runtime.tap("VLAN_TABLE", [state = state.get()](const RowEvent& event) {
    if (event.what == RowEvent::What::Done) state->fdb_.set_row(event.key, event.op != ChangeOp::Delete);
  });
  if (!vlans) return failure(vlans.error());
  state->vlan_rows_ = std::move(*vlans);
  state->scheduler_ = &runtime.scheduler();
  state->redis_ = &redis;
  return state;
}

Status StateDb::start(Runtime& runtime, DataPlane& plane, switch_agent::SwitchAgent& agent) {
  auto watch = plane.watch_fdb(runtime.scheduler(), switch_agent::kKernelEvents, [this](const FdbEvent& event) { fdb_.fdb_event(event); });
  if (!watch) return watch.error();
  fdb_watch_ = std::move(*watch);
  const auto flush = [this, &agent](managers::FlushWalk& walk, std::function<void()> answered) {
    return agent.flush(fdb_.to_flush(walk, kStationsTogether), std::move(answered));
  };
  auto flushes = managers::FlushChannel::open(
      *scheduler_, *store_, [redis = redis_] { return !redis->waits_for_lease(); }, flush);
  if (flushes) flushes_ = std::move(*flushes);
  return flushes ? Status{} : flushes.error();
}

Status StateDb::answer_restart_checks(managers::RestartChannel::Answer answer) {
  auto channel = managers::RestartChannel::open(
      *scheduler_, *store_, [redis = redis_] { return !redis->waits_for_lease(); }, std::move(answer));
  if (channel) restart_checks_ = std::move(*channel);
  return channel ? Status{} : channel.error();
}

}  // namespace rondo::daemon
