// Agent: the switch agent as one thing: its Orchs on a runtime, the programmer before a data plane, and the monitor of link events. Make it
// after the runtime and destroy it before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/programmer.h"
#include "rondo/dataplane/reconciler.h"
#include "rondo/dataplane/recorded_restart.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"
#include "switch_agent/audit.h"
#include "switch_agent/drift.h"
#include "switch_agent/group_ids.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/number_space.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/ports.h"
#include "switch_agent/routes.h"
#include "switch_agent/row_states.h"
#include "switch_agent/safety_stop.h"
#include "switch_agent/withdrawals.h"

namespace rondo::switch_agent {

class Interfaces;
class Neighbors;

struct SwitchAgentOptions {
  Programmer::Mode mode = Programmer::Mode::Thread;
  /// The kernel's table for routes of the default VRF.
  std::uint32_t table = kMainTable;
  /// Orders under way, at most. A microsecond each: what the data plane has to do while our thread is not given the processor.
  std::size_t orders_max = limits::kProgrammerOps;
  /// Routes that a turn may retry while new ones wait, too; 0 means half of the batch.
  std::uint32_t retry_quota = 0;
  /// The number of a next-hop group follows from its name, which a restart needs; false is for the replay of a day that was recorded
  /// before: from the order in which they came.
  bool groups_by_name = true;
  /// That of the data plane: next hops and groups have numbers that no other protocol's have.
  std::uint8_t protocol = kDefaultProtocol;
  /// Until the end of a restart a Delete takes a route that an earlier run left; false is for the replay of a day that was recorded before.
  bool delete_leftovers = true;
  /// CPUs of the programming thread; empty: any.
  std::vector<unsigned> programmer_cpus = {};
  /// What an earlier run left in the kernel, and no row asks for, stays at least so long after the start: the time that feeders need to
  /// come.
  Duration hold{0};
  /// And until this says so, if given. It always stays until the consumers have taken the standing rows of their tables.
  std::function<bool()> rows_have_come = {};
  /// When what no row asks for is so much of what an earlier run left that it stays.
  SafetyOptions safety = {};
  /// See Programmer::Options::on_refused.
  std::function<void(const Operation& refused)> on_refused = {};
  /// Told each link event, before the ports are.
  std::function<void(const LinkEvent& event)> on_link = {};
  /// Of a recorded run, in place of the data plane's; it must outlive the agent.
  RecordedAnswers* answers = nullptr;
  /// Likewise, in place of what an earlier run left in it and of what audits found.
  RecordedRestart* restart = nullptr;
  AuditOptions audit = {};
};

class Agent {
 public:
  /// 'runtime' and 'plane' must outlive it.
  Agent(Runtime& runtime, DataPlane& plane, SwitchAgentOptions options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Begins to follow link events and reads what an earlier run left behind (objects of our protocol number only). Rows that ask for what
  /// is there change nothing; what no row asked for is deleted when the rows that were there at first have been handled and the hold is
  /// over. Blocks while the kernel works. Call once, before the runtime runs.
  Status start();
  /// The restart is over: what an earlier run left is in use or gone.
  bool has_restarted() const noexcept { return restarted_; }
  Reconciler::Counts reconciled() const noexcept { return reconciler_.counts(); }
  /// Of deletions that no row orders.
  SafetyStop& safety() noexcept { return safety_; }

  /// Null in a replay, and before start().
  Audit* audit() const noexcept { return audit_.get(); }
  /// How ports differ from what their rows ask for. That is reported and not repaired: who takes a port down by hand may have a reason.
  std::vector<Drift> port_differences() const;

  const Ports& ports() const noexcept { return ports_; }
  const NexthopGroups& nexthop_groups() const noexcept { return nexthop_groups_; }
  const Routes& routes() const noexcept { return routes_; }
  const Programmer& programmer() const noexcept { return programmer_; }
  RowStates& row_states() noexcept { return row_states_; }
  const RowStates& row_states() const noexcept { return row_states_; }
  Withdrawals withdrawals() const { return switch_agent::withdrawals(ports_, nexthop_groups_, routes_); }

 private:
  void look_at_restart();
  bool rows_have_come();
  bool rows_are_handled() const;
  bool is_held();
  void delete_unwanted();
  std::vector<DeleteOrder> unwanted();
  void end_restart();
  Status begin_audits();
  void repair(DriftKind kind, std::span<const DeleteOrder> objects);
  void delete_objects(std::span<const DeleteOrder> objects);

  Runtime& runtime_;
  const SwitchAgentOptions options_;
  Reconciler reconciler_;
  Programmer programmer_;
  PortIds port_ids_;
  GroupIds group_ids_;
  Ports& ports_;
  Interfaces& interfaces_;
  Neighbors& neighbors_;
  NexthopGroups& nexthop_groups_;
  Routes& routes_;
  RowStates row_states_;
  std::unique_ptr<Audit> audit_;
  std::unique_ptr<Source> monitor_;
  std::unique_ptr<Source> object_monitor_;
  TimerSource restart_timer_;
  SafetyStop safety_;
  Instant started_;
  unsigned quiet_looks_ = 0;
  bool is_allowed_ = false;  // To delete what no row asks for.
  bool restarted_ = false;
};

}  // namespace rondo::switch_agent
