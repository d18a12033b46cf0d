#include "switch_agent/lags.h"

#include <optional>
#include <utility>
#include <vector>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

std::string mode_words(BondMode mode) {
  return mode == BondMode::Lacp ? "802.3ad" : mode == BondMode::Static ? "balance-xor" : "another one";
}

}  // namespace

Lags::Lags(Runtime& runtime, Programmer& programmer, const PortIds& ids, MtuRows& mtus)
    : Orch(runtime, "lags", kLags), programmer_(programmer), ids_(ids), mtus_(mtus) {
  consume("LAG_TABLE", this, &Lags::set, &Lags::remove, {.set_replaces_delete = true});
  provide(kLag, [this](std::string_view name) {
    const auto it = lags_.find(name);
    return it != lags_.end() && it->second.usable;
  });
  // A row that was rejected is not handled again when its device goes.
  observe(kDevice, [this](std::string_view name, bool begins) {
    if (const auto it = lags_.find(name); it != lags_.end() && !begins) note_device(it->first, it->second);
  });
  runtime.explain(kLag, [](std::string_view name) { return FactOrigin{"LAG_TABLE", std::string{name}, ""}; });
}

/// A row is handled again when its device goes. Another device may have the name by then.
void Lags::note_device(const std::string& name, Lag& lag) {
  if (!lag.usable || ids_.find(name) == lag.device) return;
  lag.usable = false;
  withdraw({kLag, name});
}

/// Why the device of this name cannot be used; empty if it can, or if there is none.
std::string Lags::find_trouble(const std::string& name, const LagRow& row) const {
  if (!ids_.find(name)) return {};
  const PortIds::Device found = ids_.device(name);
  if (!found.is_bond()) return "the device " + name + " exists, and it is no bond: rename or delete it";
  if (found.bond == row.mode || found.ours) return {};
  return "the bond " + name + " of another program has another mode: rename or delete it";
}

Outcome Lags::set(std::string_view key, const Fields& fields) {
  if (Status name = check_lag_name(key); !name.ok()) return Outcome::reject_key(std::move(name));
  const Result<LagRow> row = parse_lag(fields);
  if (!row) return Outcome::reject(row.error());
  const std::string name{key};
  Lag& lag = lags_[name];
  note_device(name, lag);
  lag.trouble = find_trouble(name, *row);
  lag.is_foreign = !lag.trouble.empty();
  if (lag.is_foreign) return Outcome::retry_after(kForeignRetry, Status{StatusCode::AlreadyExists, lag.trouble});
  const bool is_set_up = !lag.asked && row->admin_up && ids_.find(name) && ids_.up_number(name) == 0;
  const Asked asked{*row, mtus_.port_row(name), ids_.find(name), is_set_up};
  if (asked.device && ids_.device(name).bond != row->mode) return replace(name, lag);
  mtus_.set_port_row(name, row->mtu);
  std::vector<Operation> orders;
  if (!asked.device || !lag.asked) orders.push_back({BondSet{name, row->mode, row->min_links}, {}});
  if (asked.device) orders.push_back({LinkSet{asked.device, row->admin_up, mtus_.wanted(name)}, {}});
  program_all(programmer_, std::move(orders), [this, name, asked, ticket = current_ticket()](const Status& status) {
    const bool has_links = !asked.device || ids_.find(name) != asked.device ||
                           (ids_.device(name).min_links == asked.row.min_links && !ids_.device(name).altered);
    if (!status.ok() || has_links) return settle(ticket, answered(name, asked, status));
    // After the rest, which may be refused: a change that is rejected changes nothing.
    program(programmer_, BondSet{name, asked.row.mode, asked.row.min_links, asked.device},
            [this, name, asked, ticket](const Status& links) { settle(ticket, answered(name, asked, links)); });
  });
  return Outcome::staged();
}

/// Linux changes the mode only of a bond without ports, so another bond takes its place. The ports, the addresses and the VLANs of the LAG
/// follow as after the loss of a device.
Outcome Lags::replace(const std::string& name, Lag& lag) {
  if (std::exchange(lag.usable, false)) withdraw({kLag, name});
  lag.asked = false;
  delete_device(name, [this, ticket = current_ticket()](const Status& status) {
    Outcome gone = outcome_of_delete(status);
    if (gone.kind() != Outcome::Kind::Done) return settle(ticket, std::move(gone));
    settle(ticket, Outcome::retry_after(kEventRetry, Status{StatusCode::FailedPrecondition, "the mode of the LAG changes"}));
  });
  return Outcome::staged();
}

/// The kernel sets down the ports that are still in the bond, also those that another program has put into it.
std::vector<Operation> Lags::orders_to_free(const std::string& name) const {
  std::vector<Operation> orders;
  ids_.for_each_device([&](const std::string& port, const PortIds::Device&) {
    if (!ids_.is_in(port, name) || !holds({kPort, port})) return;
    const IfIndex device = ids_.find(port);
    const MtuRows::Mtu wanted = mtus_.wanted(port);
    orders.push_back({LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}});
    orders.push_back({LinkSet{device, ids_.wanted_up(port).value_or(ids_.up_number(port) != 0)}, {}});
    if (const MtuRows::Mtu mtu = wanted ? wanted : mtus_.port_row(port)) orders.push_back({LinkSet{device, std::nullopt, mtu}, {}});
  });
  return orders;
}

void Lags::delete_device(const std::string& name, std::function<void(const Status&)> then) {
  program_all(programmer_, orders_to_free(name), [this, device = ids_.find(name), then = std::move(then)](const Status& freed) {
    if (!freed.ok() && is_passing(freed)) return then(freed);
    program(programmer_, DeviceDelete{device}, then);
  });
}

/// The event of a device that was just made may still be on its way; what the row asks for is set when it has come.
Outcome Lags::answered(const std::string& name, const Asked& asked, const Status& status) {
  if (!status.ok()) return refused(name, asked, status);
  Lag& lag = lags_[name];
  const Duration soon = std::exchange(lag.asked, true) ? kSoon : kEventRetry;
  if (!asked.device) {
    lag.unreported.confirmed();
    return Outcome::retry_after(soon, not_reported(name));
  }
  if (ids_.find(name) != asked.device) return Outcome::retry_after(kSoon, device_changed(name));
  if (asked.is_set_up && on_set_up_) on_set_up_(name);
  lag.unreported.reported();
  lag.wanted_up = asked.row.admin_up;
  lag.min_links = asked.row.min_links;
  lag.mode = asked.row.mode;
  lag.applied = true;
  use(name, lag, asked.device);
  return Outcome::done_while({kDevice, name});
}

/// A bond that works stays in use, and is still that of the row.
Outcome Lags::refused(const std::string& name, const Asked& asked, const Status& status) {
  Lag& lag = lags_[name];
  Outcome outcome =
      outcome_of_set(status.code() == StatusCode::Unimplemented ? status.with_context("this kernel has no bonding driver") : status);
  lag.trouble = std::string{outcome.why().message()};
  if (outcome.kind() != Outcome::Kind::Reject) return outcome;
  mtus_.set_port_row(name, asked.mtu_before);
  const bool is_there = asked.device && ids_.find(name) == asked.device && ids_.device(name).bond == asked.row.mode;
  if (is_there) {
    lag.asked = true;
    use(name, lag, asked.device);
  } else if (!lag.applied) {
    lags_.erase(name);
  }
  return outcome;
}

void Lags::use(const std::string& name, Lag& lag, IfIndex device) {
  lag.device = device;
  if (!std::exchange(lag.usable, true)) announce({kLag, name});
}

Outcome Lags::remove(std::string_view key) {
  const auto it = lags_.find(key);
  if (it == lags_.end()) return Outcome::done();
  const std::string name{key};
  Lag& lag = it->second;
  note_device(name, lag);
  std::vector<Fact> left;
  for (Fact& fact : std::vector<Fact>{{kLagMembersGone, name}, {kInNoVlan, name}, {kPortUnused, name}}) {
    if (!holds(fact)) left.push_back(std::move(fact));
  }
  if (!left.empty()) return Outcome::wait_for(std::move(left));
  if (lag.unreported.must_wait(ids_.find(name))) return Outcome::retry_after(kEventRetry, not_reported(name));
  if (std::exchange(lag.usable, false)) withdraw({kLag, name});
  lag.asked = false;
  const auto gone = [this, name, ticket = current_ticket()](const Status& status) { settle(ticket, deleted(name, status)); };
  if (const PortIds::Device device = ids_.device(name); device.ours && device.is_bond()) {
    delete_device(name, gone);
  } else {
    gone({});  // It belongs to another program.
  }
  return Outcome::staged();
}

Outcome Lags::deleted(const std::string& name, const Status& status) {
  Outcome outcome = outcome_of_delete(status);
  if (outcome.kind() != Outcome::Kind::Done) return outcome;
  mtus_.set_port_row(name, std::nullopt);
  lags_.erase(name);
  return outcome;
}

/// With the min_links that the bond has: a change of these is reported.
void Lags::restore_settings(const std::string& name) {
  const auto it = lags_.find(name);
  if (it == lags_.end() || !it->second.usable || it->second.device != ids_.find(name)) return;
  program(programmer_, BondSet{name, it->second.mode, ids_.device(name).min_links, it->second.device}, [](const Status&) {});
}

/// What another program changed of what the row asks for, and how to set it again; empty if it changed nothing.
std::string Lags::find_loss(const std::string& name, const Lag& lag) const {
  const auto changed = [&name](const std::string& what, const std::string& field, const std::string& wanted) {
    return "another program " + what + "; 'rondo set LAG_TABLE " + name + " " + field + "=" + wanted + "' sets it to " + wanted + " again";
  };
  const bool is_up = ids_.up_number(name) != 0;
  if (is_up != lag.wanted_up) return changed("set it " + std::string{is_up ? "up" : "down"}, "admin_status", lag.wanted_up ? "up" : "down");
  const std::uint16_t links = ids_.device(name).min_links;
  if (links != lag.min_links) return changed("set its min_links to " + std::to_string(links), "min_links", std::to_string(lag.min_links));
  const BondMode mode = ids_.device(name).bond;
  if (mode != lag.mode) return changed("set its mode to " + mode_words(mode), "static", lag.mode == BondMode::Static ? "true" : "false");
  if (ids_.device(name).altered) return "another program changed its hash policy or its miimon; they are being set again";
  return mtus_.interface_row(name) ? std::string{} : mtus_.trouble(name);
}

void Lags::add_differences(std::vector<Drift>& found) const {
  for (const auto& [name, lag] : lags_) {
    if (!lag.applied || !lag.usable || !lag.trouble.empty()) continue;
    const PortIds::Device device = ids_.device(name);
    const bool is_of_interface = mtus_.interface_row(name).has_value();
    add_difference(found, "LAG_TABLE", name,
                   {{lag.wanted_up ? "up" : "down", ids_.up_number(name) != 0 ? "up" : "down"},
                    {"min_links " + std::to_string(lag.min_links), "min_links " + std::to_string(device.min_links)},
                    {"mode " + mode_words(lag.mode), "mode " + mode_words(device.bond)},
                    {"hash layer3+4, miimon 100", device.altered ? "another hash or miimon" : "hash layer3+4, miimon 100"},
                    is_of_interface ? Setting{} : mtus_.setting(name)});
    if (is_of_interface) add_difference(found, "INTF_TABLE", name, {mtus_.setting(name)});
  }
}

RowInPlane Lags::state_of(std::string_view key) const {
  const auto it = lags_.find(key);
  if (it == lags_.end()) return {};
  const auto& [name, lag] = *it;
  if (!lag.trouble.empty()) return {lag.is_foreign ? PlaneState::Foreign : PlaneState::Refused, lag.trouble, {}};
  if (!lag.applied) return {};
  if (!lag.usable) return {PlaneState::Pending, "its device went; it is made again", {}};
  if (std::string loss = find_loss(name, lag); !loss.empty()) return {PlaneState::Lost, std::move(loss), {}};
  if (ids_.up_number(name) == 0) return {PlaneState::Installed, "the device is set down", {}};
  return {PlaneState::Installed, holds({kCarrier, name}) ? std::string{} : "it has no carrier: too few of its members are active", {}};
}

PlaneCounts Lags::state_counts() const {
  PlaneCounts counts;
  for (const auto& [name, lag] : lags_) {
    if (!lag.trouble.empty() && !lag.is_foreign) ++counts.refused;
    if (!lag.trouble.empty() || !lag.applied) continue;
    ++(!lag.usable ? counts.pending : !find_loss(name, lag).empty() ? counts.lost : counts.installed);
  }
  return counts;
}

}  // namespace rondo::switch_agent
