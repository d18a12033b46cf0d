#include "switch_agent/agent.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/counted.h"
#include "dataplane/missing_subnet.h"
#include "journal/recorder.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/schema.h"
#include "switch_agent/without_numbers.h"

namespace rondo::switch_agent {

namespace {

/// How often the agent checks whether the restart is over.
constexpr Duration kLook = 100ms;
/// This many checks in a row must find every row handled.
constexpr unsigned kQuietPolls = 5;
/// After this many of them, rows that ask for another use of a port than the data plane shows need not wait any more.
constexpr unsigned kPollsForRows = 3;
/// So long they wait at most: with a hold, a resend of zebra or many routes under way, the quiet checks may come much later.
constexpr Duration kWaitForRows = 60s;
/// Under this name the journal has the numbers of the ports that an earlier run used as interfaces.
constexpr std::string_view kInterfacesNote = "agent.addressed";
/// "1" under this name in the journal: standing rows of interfaces and LAG members came before new members of LAGs and VLANs.
constexpr std::string_view kStandingNote = "agent.standing";
/// How often the agent checks whether those rows are handled. Members wait for this, so it is short.
constexpr Duration kMembersLook = 10ms;
/// This many checks in a row must find them handled: the row of a device that was just made is tried again after kEventRetry.
constexpr unsigned kMembersPolls = 3;
static_assert((kMembersPolls - 1) * kMembersLook > kEventRetry);
/// The tables whose rows decide which port an interface has, and which one a LAG has.
constexpr std::array<std::string_view, 3> kInterfaceTables{"VRF_TABLE", "LAG_TABLE", "INTF_TABLE"};
constexpr std::array<std::string_view, 1> kLagMemberTables{"LAG_MEMBER_TABLE"};
/// Routes deleted per check: making their orders takes well below a millisecond of one turn.
constexpr std::size_t kUnwantedOfLook = 8192;

}  // namespace

SwitchAgent::SwitchAgent(Runtime& runtime, DataPlane& plane, SwitchAgentOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      readings_(JournalRecorder::of(runtime), options_.restart),
      reconciler_(plane),
      programmer_(runtime.scheduler(), reconciler_,
                  {.in_line = options_.in_line,
                   .priority = kAnswers,
                   .ops_max = options_.orders_max,
                   .observer = JournalRecorder::of(runtime),
                   .answers = options_.answers,
                   .on_refused = options_.on_refused,
                   .reword =
                       [this](const Status& error) {
                         return Status{error.code(), without_numbers(port_ids_.named(std::string{error.message()})), error.origin_errno()};
                       }}),
      ports_(runtime.add<Ports>(programmer_, port_ids_, mtu_rows_)),
      lags_(runtime.add<Lags>(programmer_, port_ids_, mtu_rows_)),
      lag_members_(runtime.add<LagMembers>(programmer_, port_ids_, mtu_rows_)),
      vlans_(runtime.add<Vlans>(programmer_, port_ids_, mtu_rows_)),
      vlan_members_(runtime.add<VlanMembers>(programmer_, port_ids_)),
      fdb_(runtime.add<Fdb>(programmer_, port_ids_)),
      vrfs_(runtime.add<Vrfs>(programmer_, port_ids_, vrf_tables_, options_.table)),
      interfaces_(runtime.add<Interfaces>(programmer_, port_ids_, mtu_rows_)),
      neighbors_(runtime.add<Neighbors>(programmer_, port_ids_)),
      nexthop_groups_(runtime.add<NexthopGroups>(programmer_, port_ids_, nexthop_sets_, group_ids_, number_space(options_.protocol))),
      routes_(runtime.add<Routes>(programmer_, nexthop_sets_, group_ids_, vrf_tables_, options_.table, options_.retry_quota)),
      row_states_(runtime,
                  {ports_, lags_, lag_members_, vlans_, vlan_members_, fdb_, vrfs_, interfaces_, neighbors_, nexthop_groups_, routes_}),
      restart_timer_("restart", kRoutes, [this] { look_at_restart(); }),
      standing_timer_("standing rows", kInterfaces, [this] { look_at_standing_rows(); }),
      safety_(runtime.clock(), options_.safety) {
  runtime.scheduler().add(restart_timer_);
  runtime.scheduler().add(standing_timer_);
  runtime.explain(kNeighbor, [this](std::string_view key) { return FactOrigin{"NEIGH_TABLE", std::string{key}, neighbor_words(key)}; });
  ports_.on_name_left([this](const std::string& port, IfIndex device) { clear_device(port, device); });
  interfaces_.on_address_gone([this](const IpAddress& address) {
    if (audit_ != nullptr) audit_->address_changed(address);
  });
  // The settings that decisions depend on.
  readings_.set("agent.table", options_.table);
  readings_.set("agent.orders_max", options_.orders_max);
  readings_.set("agent.retry_quota", options_.retry_quota);
  readings_.set("agent.protocol", options_.protocol);
}

/// Explains why a neighbour is missing. If it has a row, the row's own reason is used. Without a row, the kernel learns none on a port
/// that cannot be used.
std::string SwitchAgent::neighbor_words(std::string_view key) const {
  std::string words = interfaces_.own_address_words(key);
  const Result<NeighborKey> parsed = parse_neighbor_key(key);
  if (!words.empty() || !parsed || runtime_.row_state("NEIGH_TABLE", key).state != WhyLink::State::Absent) return words;
  words = ports_.trouble(parsed->port);
  if (!words.empty()) return words;
  if (is_link_local(parsed->address)) return unresolved_words_ ? unresolved_words_(key) : std::string{};
  words = interfaces_.no_subnet_words(parsed->port, parsed->address);
  if (words.empty() && left_neighbors_.contains({port_ids_.find(parsed->port), parsed->address})) {
    words =
        "an earlier run made it permanent, and it has no row now: the kernel learns it when what that run left is deleted, and 'rondo "
        "health' says for what that waits";
  }
  return words.empty() && unresolved_words_ ? unresolved_words_(key) : words;
}

SwitchAgent::~SwitchAgent() {
  row_states_.on_lost({});  // The runtime may outlive the audit.
}

Status SwitchAgent::start() {
  if (Status pinned = programmer_.pin(options_.programmer_cpus); !pinned.ok()) return pinned.with_context("the programming thread");
  // Subscribe before reading: the monitor then reports every change made after this point.
  Result<std::unique_ptr<Source>> monitor = reconciler_.monitor(runtime_.scheduler(), kKernelEvents, [this](const LinkEvent& event) {
    readings_.link(event);
    if (options_.on_link) options_.on_link(event);
    if (!restarted_) reconciler_.link_event(event);
    const bool has_new_mac = port_ids_.find(event.name) == event.port && port_ids_.device(event.name).mac != event.mac;
    ports_.link_event(event);
    if (has_new_mac && !event.removed) neighbors_.mac_changed(event.name);
    if (event.altered) restore_settings(event.name);
    // A device that was down, or whose MTU was too small for IPv6, has lost addresses.
    if (audit_ != nullptr) audit_->notice(ObjectKind::Address);
    if (audit_ != nullptr && event.removed && routes_.has_sources()) audit_->notice(ObjectKind::Route);  // Its addresses may be sources.
  });
  if (!monitor) return monitor.error().with_context("following link events");
  monitor_ = std::move(*monitor);
  reconciler_.copy_subnets_to(options_.table);
  Status read = watch_objects();
  if (read.ok()) read = reconciler_.read().with_context("reading what an earlier run left");
  if (!read.ok()) {
    object_monitor_.reset();
    monitor_.reset();  // Without it no device is known and all rows wait, so start() may be called again.
    return read;
  }
  ports_.begin();
  const Readings::Found found = readings_.found([this] {
    return Readings::Found{reconciler_.counts().found, reconciler_.known_nexthops()};
  });
  for (const NeighborEntry& left : reconciler_.known_neighbors()) left_neighbors_.emplace(left.port, left.address);
  if (found.objects > 0) begin_restart();
  nexthop_groups_.adopt(found.nexthops);
  started_ = runtime_.scheduler().now();
  await_standing_rows();
  begin_audits();
  if (found.objects == 0) {
    end_restart();
  } else {
    restart_timer_.arm_every(kLook, started_ + kLook);
  }
  return {};
}

/// The numbers of the ports that the data plane shows in use as interfaces, as text. A port may have no address: neighbours and next hops
/// with link-local addresses need none.
std::string SwitchAgent::read_interfaces() const {
  std::set<IfIndex> ports;
  for (const AddressEntry& entry : reconciler_.known_addresses()) {
    if (entry.ours || !is_link_local(entry.address.address)) ports.insert(entry.port);
  }
  for (const NeighborEntry& entry : reconciler_.known_neighbors()) ports.insert(entry.port);
  for (const NexthopEntry& entry : reconciler_.known_nexthops()) {
    if (entry.port) ports.insert(entry.port);
  }
  std::string text;
  for (const IfIndex port : ports) text.append(text.empty() ? "" : " ").append(std::to_string(port.value()));
  return text;
}

void SwitchAgent::begin_restart() {
  std::istringstream numbers{readings_.note(kInterfacesNote, [this] { return read_interfaces(); })};
  std::set<IfIndex> ports;
  for (std::uint32_t number = 0; numbers >> number;) ports.insert(IfIndex{number});
  port_ids_.begin_restart(std::move(ports));
  note_set_up(options_.on_set_up);
}

/// Sets again what rondod fixed on a device that it made for a row.
void SwitchAgent::restore_settings(const std::string& name) {
  vlans_.restore_settings(name);
  lags_.restore_settings(name);
}

void SwitchAgent::note_set_up(const std::function<void(std::string_view port)>& handler) {
  ports_.on_set_up(handler);
  lags_.on_set_up(handler);
  vlans_.on_set_up(handler);
}

/// Tables take turns, so without this the order of turns would decide between standing rows for one port.
void SwitchAgent::await_standing_rows() {
  const auto read = [this] { return are_handled(kInterfaceTables) && are_handled(kLagMemberTables) ? "" : "1"; };
  if (readings_.note(kStandingNote, read).empty()) return;
  interfaces_.await_standing_rows();
  standing_timer_.arm_every(kMembersLook, started_ + kMembersLook);
}

/// The rows of interfaces come first, and then those of LAG members. A table may be written all the time, so the wait is bounded.
void SwitchAgent::look_at_standing_rows() {
  const bool are_interfaces = !interfaces_.has_standing_rows(kInterfaceRows);
  const std::span<const std::string_view> tables =
      are_interfaces ? std::span<const std::string_view>{kLagMemberTables} : std::span<const std::string_view>{kInterfaceTables};
  const bool is_quiet = readings_.are_handled([&] { return are_handled(tables); });
  members_polls_ = is_quiet ? members_polls_ + 1 : 0;
  if (members_polls_ < kMembersPolls && runtime_.scheduler().now() - started_ < kWaitForRows) return;
  members_polls_ = 0;
  interfaces_.standing_rows_end(are_interfaces ? kLagMemberRows : kInterfaceRows);
  if (are_interfaces) standing_timer_.disarm();
}

/// True when every row that these tables had at the start has been handled, and no order for one is under way.
bool SwitchAgent::are_handled(std::span<const std::string_view> tables) const {
  return std::ranges::all_of(runtime_.consumers(), [tables](const ConsumerStats& stats) {
    return std::ranges::find(tables, stats.table) == tables.end() || (stats.caught_up && stats.queued == 0 && stats.in_flight == 0);
  });
}

void SwitchAgent::look_at_restart() {
  audit_while_waiting();
  const bool is_quiet = readings_.are_handled([this] { return rows_have_come() && rows_are_handled() && !deletions_are_held(); });
  // Several checks in a row: a row may be on its way through a store, or between two states.
  if (quiet_polls_ < kQuietPolls) quiet_polls_ = is_quiet ? quiet_polls_ + 1 : 0;
  if (quiet_polls_ == kPollsForRows || runtime_.scheduler().now() - started_ >= kWaitForRows) interfaces_.rows_have_come();
  if (quiet_polls_ >= kQuietPolls && programmer_.in_flight() == 0) delete_unwanted();
}

/// Audits what rows ask for while the start waits for zebra, the managers or the end of 'hold': others may change it meanwhile.
void SwitchAgent::audit_while_waiting() {
  if (audit_ == nullptr || audit_->has_begun()) return;
  const bool is_waiting = !rows_have_come() && rows_are_handled() && std::ranges::all_of(runtime_.consumers(), &ConsumerStats::caught_up);
  waiting_polls_ = is_waiting ? waiting_polls_ + 1 : 0;
  if (waiting_polls_ >= kQuietPolls) audit_->begin(true, false);
}

bool SwitchAgent::rows_have_come() {
  if (runtime_.scheduler().now() - started_ < options_.hold) return false;
  if (options_.rows_have_come && !options_.rows_have_come()) return false;
  return std::ranges::all_of(runtime_.consumers(), &ConsumerStats::caught_up);
}

/// True when no order is under way and every row is programmed, refused or parked.
bool SwitchAgent::rows_are_handled() const {
  if (programmer_.in_flight() > 0 || interfaces_.has_standing_rows(kLagMemberRows)) return false;
  return std::ranges::all_of(runtime_.consumers(), [this](const ConsumerStats& stats) {
    return (stats.queued == 0 && stats.in_flight == 0) || options_.is_foreign_table(stats.table);
  });
}

/// Called only after every check was quiet for long enough, so that rows under way are not missed. The record of the check contains the
/// answer.
bool SwitchAgent::deletions_are_held() {
  if (is_allowed_ || quiet_polls_ + 1 < kQuietPolls) return false;
  leave_foreign_entries();
  const Reconciler::UnwantedCounts counts = reconciler_.unwanted_counts();
  std::string parts;
  for (const auto& [count, one, many] :
       {std::tuple{counts.routes, "route", "routes"}, std::tuple{counts.nexthops, "next hop or group", "next hops and groups"},
        std::tuple{counts.neighbors, "neighbour", "neighbours"}, std::tuple{counts.addresses, "address", "addresses"},
        std::tuple{counts.devices, "device", "devices"}, std::tuple{counts.fdb, "entry of a VLAN", "entries of VLANs"}}) {
    if (count > 0) parts.append(parts.empty() ? "" : ", ").append(counted(count, one, many));
  }
  is_allowed_ = safety_.allows(kEarlierRun, counts.total(), reconciler_.counts().found, parts);
  // Meanwhile audits the rows that are programmed already.
  if (!is_allowed_ && audit_ != nullptr && !audit_->has_begun()) audit_->begin(true, false);
  return !is_allowed_;
}

/// Deletes one stage at a time, and computes each stage anew when no order is under way. So it retries what was refused, and skips what a
/// row asks for by then. The order of a row that arrives later is queued behind the deletion.
void SwitchAgent::delete_unwanted() {
  nexthop_groups_.end_adoption();
  reconciler_.distrust();
  leave_foreign_entries();
  const std::vector<DeleteOrder> deletes = readings_.unwanted([this] { return read_unwanted(); });
  std::vector<Operation> neighbors;
  std::vector<Operation> stage;
  for (const DeleteOrder& one : deletes) {
    (std::holds_alternative<NeighborDelete>(one) ? neighbors : stage).push_back({order_of(one), {}});
  }
  const auto ignore = [](std::span<Operation>) {};
  if (!neighbors.empty()) programmer_.submit(OrderLane::Urgent, std::move(neighbors), ignore);
  if (!stage.empty()) {
    const bool of_routes = std::holds_alternative<RouteDelete>(stage.front().order);
    programmer_.submit(of_routes ? OrderLane::Bulk : OrderLane::Urgent, std::move(stage), ignore);
  }
  if (programmer_.in_flight() == 0) end_restart();
}

void SwitchAgent::leave_foreign_entries() {
  reconciler_.leave_entries_if([this](const FdbEntry& entry) { return fdb_.is_foreign(entry); });
}

/// Returns the neighbours, and the objects of the first later stage that has any.
std::vector<DeleteOrder> SwitchAgent::read_unwanted() {
  Reconciler::Unwanted found = reconciler_.unwanted(kUnwantedOfLook);
  std::vector<DeleteOrder> orders = std::move(found.neighbors);
  for (std::vector<DeleteOrder>* const stage :
       {&found.routes, &found.groups, &found.nexthops, &found.addresses, &found.fdb, &found.devices}) {
    if (stage->empty()) continue;
    orders.insert(orders.end(), std::make_move_iterator(stage->begin()), std::make_move_iterator(stage->end()));
    break;
  }
  return orders;
}

void SwitchAgent::end_restart() {
  reconciler_.end();
  left_neighbors_.clear();
  note_set_up({});
  interfaces_.end_restart();
  lag_members_.end_restart();
  vlan_members_.end_restart();
  routes_.end_restart();
  restart_timer_.disarm();
  restarted_ = true;
  if (audit_ != nullptr) audit_->begin(reconciler_.counts().found > 0);
}

// --- audits

/// A replay reads nothing back.
bool SwitchAgent::has_audits() const { return !readings_.is_recorded() && options_.answers == nullptr; }

Status SwitchAgent::watch_objects() {
  if (!has_audits()) return {};
  Result<std::unique_ptr<Source>> monitor = reconciler_.watch_objects(runtime_.scheduler(), kKernelEvents, [this](const auto& event) {
    const auto* const entry = event ? std::get_if<FdbDelete>(&event->object) : nullptr;
    if (entry != nullptr && !event->is_set && !event->is_learned && fdb_.is_awaited(*entry))
      repair(DriftKind::Missing, std::array<DeleteOrder, 1>{*entry});
    const auto* const address = event && event->check ? std::get_if<AddressDelete>(&event->object) : nullptr;
    if (address != nullptr) interfaces_.note_check(*address, *event->check);
    audit_->notice(event);
  });
  if (!monitor) return monitor.error().with_context("following changes by other programs");
  object_monitor_ = std::move(*monitor);
  return {};
}

void SwitchAgent::begin_audits() {
  const auto repair_these = [this](DriftKind kind, std::span<const DeleteOrder> objects) { repair(kind, objects); };
  readings_.on_drift(repair_these);
  if (!has_audits()) return;
  const auto may_delete = [this](ObjectKind kind, std::uint64_t count, std::uint64_t total) {
    const std::string objects{to_string(kind)};
    return safety_.allows("unwanted " + objects, count, total, std::to_string(count) + " " + objects);
  };
  const auto none_unwanted = [this](ObjectKind kind) { safety_.forget("unwanted " + std::string{to_string(kind)}); };
  const AuditParts parts{interfaces_, neighbors_, nexthop_groups_, routes_, fdb_, programmer_, repair_these, may_delete, none_unwanted};
  audit_ = std::make_unique<Audit>(runtime_, reconciler_, parts, options_.audit, options_.in_line);
  row_states_.on_lost([this](std::string_view table, std::string_view key) { return audit_->differs(table, key); },
                      [this](std::string_view table) { return audit_->differing(table); });
}

void SwitchAgent::repair(DriftKind kind, std::span<const DeleteOrder> objects) {
  readings_.drifted(kind, objects);
  reconciler_.distrust();  // Otherwise a repair in a start that is held would be answered without being carried out.
  if (kind == DriftKind::Unwanted) return delete_objects(objects);
  std::vector<NexthopDelete> nexthops;
  std::vector<RouteDelete> routes;
  for (const DeleteOrder& object : objects) {
    if (const auto* const address = std::get_if<AddressDelete>(&object)) interfaces_.program_again(kind, *address);
    if (const auto* const neighbor = std::get_if<NeighborDelete>(&object)) neighbors_.program_again(*neighbor);
    if (const auto* const entry = std::get_if<FdbDelete>(&object)) fdb_.program_again(*entry);
    if (const auto* const nexthop = std::get_if<NexthopDelete>(&object)) nexthops.push_back(*nexthop);
    if (const auto* const route = std::get_if<RouteDelete>(&object)) routes.push_back(*route);
  }
  if (!nexthops.empty()) nexthop_groups_.program_again(kind, nexthops);
  if (!routes.empty()) routes_.program_again(kind, routes);
}

void SwitchAgent::delete_objects(std::span<const DeleteOrder> objects) {
  std::vector<Operation> routes;
  std::vector<Operation> others;
  for (const DeleteOrder& object : objects) {
    (std::holds_alternative<RouteDelete>(object) ? routes : others).push_back({order_of(object), {}});
  }
  const auto answered = [this](std::span<Operation> done) {
    if (audit_ != nullptr) audit_->deletes_answered(done);
  };
  if (!routes.empty()) programmer_.submit(OrderLane::Bulk, std::move(routes), answered);
  if (!others.empty()) programmer_.submit(OrderLane::Urgent, std::move(others), answered);
}

/// Called when a device loses the name of a port but may still exist. The kernel keeps the objects of a renamed device, and no row asks for
/// them under the new name. The orders are given before any other Orch handles the event: if the device gets its old name back, their
/// orders for the same objects are queued behind.
void SwitchAgent::clear_device(const std::string& port, IfIndex device) {
  std::erase_if(renamed_, [this](const auto& known) { return port_ids_.name(known.first).empty(); });
  if (port_ids_.device(port).ours) renamed_.insert_or_assign(device, port);
  std::vector<DeleteOrder> objects;
  nexthop_groups_.add_objects_on(port, objects);
  neighbors_.add_objects_on(port, device, objects);
  interfaces_.add_objects_on(port, device, objects);
  std::vector<Operation> operations;
  lag_members_.add_orders_for_renamed(port, device, operations);
  vlan_members_.add_orders_for_renamed(port, device, operations);
  if (objects.empty() && operations.empty()) return;
  for (const DeleteOrder& object : objects) operations.push_back({order_of(object), {}});
  programmer_.submit(OrderLane::Urgent, std::move(operations), [](std::span<Operation>) {});
  if (audit_ == nullptr) return;
  for (const ObjectKind kind : {ObjectKind::Address, ObjectKind::Neighbor, ObjectKind::Nexthop}) audit_->notice(kind);
}

std::vector<std::string> SwitchAgent::renamed() const {
  std::vector<std::string> all;
  for (const auto& [device, before] : renamed_) {
    const std::string name{port_ids_.name(device)};
    if (name.empty() || name == before || !port_ids_.device(name).ours) continue;
    const auto has_row = [&](std::string_view table) { return runtime_.row_state(table, name).plane == PlaneState::Installed; };
    if (has_row("VLAN_TABLE") || has_row("LAG_TABLE") || has_row("VRF_TABLE")) continue;
    all.push_back("the device " + name + " was " + before +
                  " of rondod until another program renamed it; it is left as it is until rondod starts again, which deletes it");
  }
  return all;
}

std::vector<std::string> SwitchAgent::missing_subnets() const {
  std::vector<std::string> all;
  for (const MissingSubnet& one : reconciler_.missing_subnets()) {
    const std::string name{port_ids_.name(one.port)};
    all.push_back("the connected subnet " + one.subnet.to_string() + " of " + (name.empty() ? std::to_string(one.port.value()) : name) +
                  " is not in table " + std::to_string(options_.table) +
                  ", so that a covering route there decides its packets if a rule prefers that table: " + std::string{one.why.message()});
  }
  return all;
}

std::string SwitchAgent::vrf_of_table(std::uint32_t table) const {
  if (const std::string_view name = vrf_tables_.name(table); !name.empty()) return std::string{name};
  std::string found;
  port_ids_.for_each_device([&](const std::string& name, const PortIds::Device& device) {
    if (device.vrf_table == table && table != 0 && check_vrf_name(name).ok()) found = name;
  });
  return found;
}

bool SwitchAgent::flush(std::vector<Operation> deletes, std::function<void()> answered) {
  // A station whose entry a row has just made static may still be known as a learned one.
  std::erase_if(deletes, [this](const Operation& operation) {
    const auto* const entry = std::get_if<FdbDelete>(&operation.order);
    return entry != nullptr && fdb_.has(*entry);
  });
  if (deletes.empty()) return false;
  const auto left = std::make_shared<std::size_t>(deletes.size());
  programmer_.submit(OrderLane::Urgent, std::move(deletes), [left, answered = std::move(answered)](std::span<Operation> done) {
    *left -= done.size();
    if (*left == 0) answered();
  });
  return true;
}

std::vector<Drift> SwitchAgent::port_differences() const { return ports_.differences(); }

std::vector<Drift> SwitchAgent::device_differences() const {
  std::vector<Drift> found = ports_.differences();
  lags_.add_differences(found);
  vlans_.add_differences(found);
  return found;
}

}  // namespace rondo::switch_agent
