// SwitchAgent: the whole switch agent: its Orchs on a runtime, the programmer in front of a data plane, and the monitor of link events.
// Create it after the runtime and destroy it before the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"
#include "dataplane/reconciler.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"
#include "switch_agent/audit.h"
#include "switch_agent/drift.h"
#include "switch_agent/fdb.h"
#include "switch_agent/group_ids.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/lag_members.h"
#include "switch_agent/lags.h"
#include "switch_agent/mtu_rows.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/nexthop_sets.h"
#include "switch_agent/number_space.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/ports.h"
#include "switch_agent/readings.h"
#include "switch_agent/routes.h"
#include "switch_agent/row_states.h"
#include "switch_agent/safety_stop.h"
#include "switch_agent/vlan_members.h"
#include "switch_agent/vlans.h"
#include "switch_agent/vrf_tables.h"
#include "switch_agent/vrfs.h"
#include "switch_agent/withdrawals.h"

namespace rondo::switch_agent {

class Interfaces;
class Neighbors;

struct SwitchAgentOptions {
  /// Orders are executed in turns, not on a thread: for simulation.
  bool in_line = false;
  /// The kernel's table for routes of the default VRF.
  std::uint32_t table = kMainTable;
  /// The most orders under way. Each takes about a microsecond: this is the data plane's work while our thread has no processor.
  std::size_t orders_max = limits::kProgrammerOps;
  /// Routes that one turn may retry while new routes wait too; 0: half of the batch.
  std::uint32_t retry_quota = 0;
  /// The protocol number of the data plane: next hops and groups have numbers that no other protocol uses.
  std::uint8_t protocol = kDefaultProtocol;
  /// The CPUs of the programming thread; empty: any CPU.
  std::vector<unsigned> programmer_cpus = {};
  /// Objects that an earlier run left in the kernel and that no row asks for stay at least this long after the start. This is the time
  /// that feeders need to connect and write.
  Duration hold{0};
  /// If given, those objects also stay until this function returns true. They always stay until the consumers have taken the rows that
  /// their tables had at the start.
  std::function<bool()> rows_have_come = {};
  /// True for a table whose rows never become objects and may take long, such as runs of jobs: those objects do not wait for its rows.
  std::function<bool(std::string_view table)> is_foreign_table = [](std::string_view) { return false; };
  /// The share of the objects left by an earlier run from which a deletion is held for an operator.
  SafetyOptions safety = {};
  /// See Programmer::Options::on_refused.
  std::function<void(const Operation& refused)> on_refused = {};
  /// Called with each link event before the ports handle it.
  std::function<void(const LinkEvent& event)> on_link = {};
  /// Called for each port, LAG and VLAN that was down when a start took over what an earlier run left, and that its row has set up.
  std::function<void(std::string_view port)> on_set_up = {};
  /// If set, the answers of a recorded run replace those of the data plane. It must outlive the agent.
  RecordedAnswers* answers = nullptr;
  /// If set, the recorded reading replaces what an earlier run left in the data plane and what audits found. It must outlive the agent.
  RecordedRestart* restart = nullptr;
  AuditOptions audit = {};
};

class SwitchAgent {
 public:
  /// 'runtime' and 'plane' must outlive it.
  SwitchAgent(Runtime& runtime, DataPlane& plane, SwitchAgentOptions options);
  ~SwitchAgent();
  SwitchAgent(const SwitchAgent&) = delete;
  SwitchAgent& operator=(const SwitchAgent&) = delete;

  /// Subscribes to link events and reads what an earlier run left behind (only objects of our protocol number). Rows that ask for objects
  /// found there change nothing. Objects that no row asked for are deleted after the rows present at the start have been handled and the
  /// hold is over. Blocks while the kernel works. Call once, before the runtime runs.
  Status start();
  /// True when the restart is over: everything that an earlier run left is in use or deleted.
  bool has_restarted() const noexcept { return restarted_; }
  Reconciler::Counts reconciled() const noexcept { return reconciler_.counts(); }
  /// The safety stop for deletions that no row orders.
  SafetyStop& safety() noexcept { return safety_; }

  /// Null in a replay, and before start().
  Audit* audit() const noexcept { return audit_.get(); }
  /// Returns how ports differ from what their rows ask for. The agent reports such a difference and does not repair it, because an
  /// operator who takes a port down by hand may have a reason.
  std::vector<Drift> port_differences() const;
  /// The same, and how the devices of VLANs and LAGs differ from their rows.
  std::vector<Drift> device_differences() const;

  /// Devices of ours that another program has renamed and that no row names now, as text for operators. They stay. O(such devices).
  std::vector<std::string> renamed() const;
  /// Connected subnets that the kernel did not let us copy into the table of the routes (DataPlane::copy_subnets_to), as text for
  /// operators.
  std::vector<std::string> missing_subnets() const;
  const Ports& ports() const noexcept { return ports_; }
  const VrfTables& vrf_tables() const noexcept { return vrf_tables_; }
  /// The VRF that has the table of the kernel: by its row of VRF_TABLE, or by a device with the name of a VRF. Empty if there is none.
  std::string vrf_of_table(std::uint32_t table) const;
  const PortIds& port_ids() const noexcept { return port_ids_; }
  /// Makes bridges forget stations that they have learned. Does not wait: 'answered' is called when they have. Returns false if there is
  /// nothing to order.
  bool flush(std::vector<Operation> deletes, std::function<void()> answered);
  const Interfaces& interfaces() const noexcept { return interfaces_; }
  const Fdb& fdb() const noexcept { return fdb_; }
  const NexthopGroups& nexthop_groups() const noexcept { return nexthop_groups_; }
  const Routes& routes() const noexcept { return routes_; }
  /// See Routes::on_answers.
  void on_route_answers(std::function<void()> handler) { routes_.on_answers(std::move(handler)); }
  /// Sets the function that describes, for `why`, how a neighbour ("port:address") without a row is being resolved. It returns an empty
  /// text if nothing is under way. An empty function ends this.
  void explain_unresolved(std::function<std::string(std::string_view key)> words) { unresolved_words_ = std::move(words); }
  const Programmer& programmer() const noexcept { return programmer_; }
  RowStates& row_states() noexcept { return row_states_; }
  const RowStates& row_states() const noexcept { return row_states_; }
  Withdrawals withdrawals() const { return switch_agent::withdrawals(ports_, interfaces_, nexthop_groups_, routes_); }

 private:
  std::string neighbor_words(std::string_view key) const;
  std::string read_interfaces() const;
  void begin_restart();
  void restore_settings(const std::string& name);
  void note_set_up(const std::function<void(std::string_view port)>& handler);
  void await_standing_rows();
  void look_at_standing_rows();
  bool are_handled(std::span<const std::string_view> tables) const;
  void look_at_restart();
  void audit_while_waiting();
  bool rows_have_come();
  bool rows_are_handled() const;
  bool deletions_are_held();
  void delete_unwanted();
  void leave_foreign_entries();
  std::vector<DeleteOrder> read_unwanted();
  void end_restart();
  bool has_audits() const;
  Status watch_objects();
  void begin_audits();
  void repair(DriftKind kind, std::span<const DeleteOrder> objects);
  void delete_objects(std::span<const DeleteOrder> objects);
  void clear_device(const std::string& port, IfIndex device);

  Runtime& runtime_;
  const SwitchAgentOptions options_;
  Readings readings_;
  Reconciler reconciler_;
  Programmer programmer_;
  PortIds port_ids_;
  VrfTables vrf_tables_;
  MtuRows mtu_rows_;
  GroupIds group_ids_;
  NexthopSets nexthop_sets_;
  Ports& ports_;
  Lags& lags_;
  LagMembers& lag_members_;
  Vlans& vlans_;
  VlanMembers& vlan_members_;
  Fdb& fdb_;
  Vrfs& vrfs_;
  Interfaces& interfaces_;
  Neighbors& neighbors_;
  NexthopGroups& nexthop_groups_;
  Routes& routes_;
  RowStates row_states_;
  std::unique_ptr<Audit> audit_;
  std::unique_ptr<Source> monitor_;
  std::unique_ptr<Source> object_monitor_;
  std::function<std::string(std::string_view key)> unresolved_words_;
  TimerSource restart_timer_;
  TimerSource standing_timer_;
  SafetyStop safety_;
  std::set<std::pair<IfIndex, IpAddress>> left_neighbors_;  // What an earlier run left; empty after the start.
  std::map<IfIndex, std::string> renamed_;                  // Devices of ours that have lost the name, with the name.
  Instant started_;
  unsigned quiet_polls_ = 0;
  unsigned waiting_polls_ = 0;
  unsigned members_polls_ = 0;
  bool is_allowed_ = false;  // The agent may delete objects that no row asks for.
  bool restarted_ = false;
};

}  // namespace rondo::switch_agent
