#include "switch_agent/vrfs.h"

#include <algorithm>
#include <utility>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/limits.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"
#include "switch_agent/retries.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

namespace {

/// SONiC's first number.
constexpr std::uint32_t kFirstTable = 1001;

std::vector<Operation> last_resort_sets(std::uint32_t table) {
  std::vector<Operation> orders;
  for (const RouteDelete& route : last_resorts(table)) orders.push_back({last_resort_set(route), {}});
  return orders;
}

}  // namespace

std::vector<RouteDelete> last_resorts(std::uint32_t table) {
  return {RouteDelete{{IpAddress::v4(0), 0}, table, kLastResortMetric}, RouteDelete{{IpAddress::v6({}), 0}, table, kLastResortMetric}};
}

RouteSet last_resort_set(const RouteDelete& route) {
  return {.prefix = route.prefix, .table = route.table, .type = RouteType::Unreachable, .last_resort = true};
}

Vrfs::Vrfs(Runtime& runtime, Programmer& programmer, const PortIds& ids, VrfTables& tables, std::uint32_t main_table)
    : Orch(runtime, "vrfs", kVrfs), programmer_(programmer), ids_(ids), tables_(tables), main_table_(main_table) {
  consume("VRF_TABLE", this, &Vrfs::set, &Vrfs::remove, {.set_replaces_delete = true});
  provide(kVrf, [this](std::string_view name) {
    const auto it = vrfs_.find(name);
    return it != vrfs_.end() && it->second.usable;
  });
  runtime.explain(kVrf, [](std::string_view name) { return FactOrigin{"VRF_TABLE", std::string{name}, ""}; });
}

/// A row is handled again when its device goes or is set down. Another device may have the name by then.
void Vrfs::note_device(const std::string& name, Vrf& vrf) {
  if (!vrf.usable || (is_up(name) && ids_.find(name) == vrf.device)) return;
  vrf.usable = false;
  withdraw({kVrf, name});
}

bool Vrfs::is_up(std::string_view name) const { return holds({kAdminUp, std::string{name}}); }

Outcome Vrfs::set(std::string_view key, const Fields&) {
  if (Status name = check_vrf_name(key); !name.ok()) return Outcome::reject_key(std::move(name));
  const std::string name{key};
  Vrf& vrf = vrfs_[name];
  note_device(name, vrf);
  vrf.trouble = find_trouble(name);
  if (!vrf.trouble.empty()) return Outcome::retry_after(kForeignRetry, Status{StatusCode::AlreadyExists, vrf.trouble});
  const IfIndex device = ids_.find(name);
  const std::uint32_t known = device ? ids_.device(name).vrf_table : tables_.find(name);
  const std::uint32_t table = known != 0 ? known : free_table();
  if (table == 0) {
    vrf.trouble = "all " + std::to_string(limits::kVrfs) + " tables of VRFs are in use";
    return Outcome::retry_after(kTableRetry, Status{StatusCode::ResourceExhausted, vrf.trouble});
  }
  tables_.set(name, table);
  std::vector<Operation> orders;
  if (!device || !vrf.asked) orders.push_back({VrfSet{name, table}, {}});
  if (device && !is_up(name)) orders.push_back({LinkSet{device, true}, {}});
  if (orders.empty() && vrf.ended) return finish(name);
  program_all(programmer_, std::move(orders), [this, name, device, ticket = current_ticket()](const Status& status) {
    if (!status.ok()) return settle(ticket, refused(name, status));
    vrfs_[name].asked = true;
    if (!device) vrfs_[name].unreported.confirmed();
    vrfs_[name].ended ? settle(ticket, finish(name)) : end_lookup(name, ticket);
  });
  return Outcome::staged();
}

/// Why the VRF cannot be made; empty if it can.
std::string Vrfs::find_trouble(const std::string& name) const {
  if (!ids_.find(name)) return {};
  const std::uint32_t table = ids_.device(name).vrf_table;
  if (table == 0) return "the device " + name + " exists, and it is no VRF: rename or delete it";
  const std::string number = std::to_string(table);
  if (table == main_table_) return "the device " + name + " has table " + number + ", which is that of the default VRF";
  if (const std::string_view other = tables_.name(table); !other.empty() && other != name) {
    return "the device " + name + " has table " + number + ", which is that of " + std::string{other};
  }
  const std::uint32_t known = tables_.find(name);
  if (known != 0 && known != table && !holds({kVrfRoutesGone, name})) {
    return "the device " + name + " has table " + number + ", and the routes of its rows are in table " + std::to_string(known) +
           ": delete the device";
  }
  return {};
}

/// Returns 0 if none is free.
std::uint32_t Vrfs::free_table() const {
  for (std::uint32_t table = kFirstTable; table < kFirstTable + limits::kVrfs; ++table) {
    if (table != main_table_ && tables_.name(table).empty() && !ids_.has_vrf_table(table)) return table;
  }
  return 0;
}

/// The last step: from now on the table answers for every destination.
void Vrfs::end_lookup(const std::string& name, const Ticket& ticket) {
  program_all(programmer_, last_resort_sets(tables_.find(name)), [this, name, ticket](const Status& status) {
    if (!status.ok()) return settle(ticket, refused(name, status));
    vrfs_[name].ended = true;
    tables_.set_ended(name, true);
    settle(ticket, finish(name));
  });
}

Outcome Vrfs::refused(const std::string& name, const Status& status) {
  Vrf& vrf = vrfs_[name];
  Outcome outcome = outcome_of_set(status.code() == StatusCode::Unimplemented ? status.with_context("this kernel has no VRFs") : status);
  vrf.trouble = outcome.kind() == Outcome::Kind::Done ? std::string{} : std::string{outcome.why().message()};
  if (outcome.kind() != Outcome::Kind::Reject || vrf.ended) return outcome;
  tables_.erase(name);
  vrfs_.erase(name);
  return outcome;
}

/// The event of a device that was just made may still be on its way. Or the device went while the orders were under way, so the row must
/// not wait for that event.
Outcome Vrfs::finish(const std::string& name) {
  const Fact up{kAdminUp, name};
  if (!holds(up)) {
    return Outcome::retry_after(kEventRetry, not_reported(name));
  }
  if (ids_.device(name).vrf_table != tables_.find(name)) return Outcome::retry_after(kSoon, device_changed(name));
  Vrf& vrf = vrfs_[name];
  vrf.unreported.reported();
  vrf.device = ids_.find(name);
  if (!std::exchange(vrf.usable, true)) announce({kVrf, name});
  return Outcome::done_while(up);
}

Outcome Vrfs::remove(std::string_view key) {
  const auto it = vrfs_.find(key);
  if (it == vrfs_.end()) return Outcome::done();
  const std::string name{key};
  Vrf& vrf = it->second;
  note_device(name, vrf);
  const Fact ports{kVrfPortsGone, name};
  const Fact routes{kVrfRoutesGone, name};
  if (!holds(ports) || !holds(routes)) return Outcome::wait_for({ports, routes});
  if (vrf.unreported.must_wait(ids_.find(name))) return Outcome::retry_after(kEventRetry, not_reported(name));
  if (std::exchange(vrf.usable, false)) withdraw({kVrf, name});
  const std::uint32_t table = tables_.find(name);
  std::vector<Operation> orders;
  if (std::exchange(vrf.ended, false)) {
    for (const RouteDelete& route : last_resorts(table)) orders.push_back({route, {}});
  }
  tables_.set_ended(name, false);
  vrf.asked = false;
  // Otherwise it belongs to another program.
  if (ids_.device(name).ours && ids_.device(name).vrf_table == table) orders.push_back({DeviceDelete{ids_.find(name)}, {}});
  program_all(programmer_, std::move(orders), [this, name, ticket = current_ticket()](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (outcome.kind() == Outcome::Kind::Done) {
      tables_.erase(name);
      vrfs_.erase(name);
    }
    settle(ticket, outcome);
  });
  return Outcome::staged();
}

RowInPlane Vrfs::state_of(std::string_view key) const {
  const auto it = vrfs_.find(key);
  if (it == vrfs_.end()) return {};
  const Vrf& vrf = it->second;
  if (!vrf.trouble.empty()) {
    const bool is_foreign = ids_.find(key) && !vrf.usable && !vrf.ended;
    return {is_foreign ? PlaneState::Foreign : PlaneState::Refused, vrf.trouble, {}};
  }
  if (!vrf.ended) return {};
  if (vrf.usable) return {PlaneState::Installed, "table " + std::to_string(tables_.find(key)), {}};
  return {PlaneState::Pending, "its device went or was set down; it is made again", {}};
}

PlaneCounts Vrfs::state_counts() const {
  PlaneCounts counts;
  for (const auto& [name, vrf] : vrfs_) {
    if (!vrf.trouble.empty() && (vrf.ended || !ids_.find(name))) ++counts.refused;
    if (!vrf.trouble.empty() || !vrf.ended) continue;
    ++(vrf.usable ? counts.installed : counts.pending);
  }
  return counts;
}

}  // namespace rondo::switch_agent
