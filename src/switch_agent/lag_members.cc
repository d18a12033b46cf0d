#include "switch_agent/lag_members.h"

#include <optional>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

std::string row_key(const std::pair<std::string, std::string>& place) { return place.first + ":" + place.second; }

}  // namespace

LagMembers::LagMembers(Runtime& runtime, Programmer& programmer, const PortIds& ids, MtuRows& mtus)
    : Orch(runtime, "lag members", kLagMembers), programmer_(programmer), ids_(ids), mtus_(mtus) {
  consume("LAG_MEMBER_TABLE", this, &LagMembers::set, &LagMembers::remove, {.set_replaces_delete = true});
  provide_facts();
  observe(kInDevice, [this](std::string_view key, bool begins) {
    const std::string_view port = key.substr(0, key.find(':'));
    if (!begins && !restarted_ && is_lag_name(key.substr(port.size() + 1))) left_.emplace(port);
  });
}

void LagMembers::provide_facts() {
  provide(kLagMembersGone, [this](std::string_view lag) { return !of_lag_.contains(lag); });
  provide(kInNoLag, [this](std::string_view port) { return !lags_.contains(port); });
  runtime().explain(kLagMembersGone, [this](std::string_view lag) {
    const auto one = members_.lower_bound({std::string{lag}, {}});
    if (one == members_.end() || one->first.first != lag) return FactOrigin{};
    return FactOrigin{"", "", "LAG_MEMBER_TABLE " + row_key(one->first) + " is still a member"};
  });
  runtime().explain(kInNoLag, [this](std::string_view port) {
    const std::string* const lag = lag_of(port);
    if (lag == nullptr) return FactOrigin{};
    return FactOrigin{"", "",
                      "LAG_MEMBER_TABLE " + *lag + ":" + std::string{port} +
                          " has the port, and a member of a LAG is in no other LAG, in no VLAN, and has no row of INTF_TABLE"};
  });
}

const std::string* LagMembers::lag_of(std::string_view port) const {
  const auto it = lags_.find(port);
  return it == lags_.end() ? nullptr : &it->second;
}

std::vector<Constraint> LagMembers::find_missing(const Place& place) const {
  const auto& [lag, port] = place;
  std::vector<Constraint> missing;
  for (Constraint& fact : std::vector<Constraint>{{kLag, lag}, {kPort, port}, {kPortUnused, port}, {kInNoVlan, port}}) {
    if (!holds(fact)) missing.push_back(std::move(fact));
  }
  if (const std::string* const other = lag_of(port); other != nullptr && *other != lag) missing.push_back({kInNoLag, port});
  return missing;
}

Outcome LagMembers::set(std::string_view key, const Fields& fields) {
  const Result<LagMemberKey> parsed = parse_lag_member_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Result<bool> enabled = parse_lag_member(fields);
  if (!enabled) return Outcome::reject(enabled.error());
  const Place place{parsed->lag, parsed->port};
  if (std::vector<Constraint> missing = find_missing(place); !missing.empty()) return Outcome::wait_for(std::move(missing));
  if (!ids_.find(place.first)) return Outcome::retry_after(kSoon, device_changed(place.first));  // Its end is not announced yet.
  const Member& member = claim(place, *enabled);
  if (!*enabled) return disable(place, member);
  program_all(programmer_, orders_to_enter(place),
              [this, place, device = ids_.find(place.second), bond = ids_.find(place.first), ticket = current_ticket()](
                  const Status& status) { settle(ticket, refusals_.note(row_key(place), answered(place, device, bond, status))); });
  return Outcome::staged();
}

LagMembers::Member& LagMembers::claim(const Place& place, bool enabled) {
  const auto [it, added] = members_.try_emplace(place);
  if (added) {
    if (of_lag_[place.first]++ == 0) withdraw({kLagMembersGone, place.first});
    lags_[place.second] = place.first;
    withdraw({kInNoLag, place.second});
  }
  it->second.enabled = enabled;
  mtus_.set_in_lag(place.second, enabled);
  return it->second;
}

/// The port is not in the bond any more.
void LagMembers::release(const Place& place) {
  if (members_.erase(place) == 0) return;
  refusals_.forget(row_key(place));
  mtus_.set_in_lag(place.second, false);
  lags_.erase(place.second);
  announce({kInNoLag, place.second});
  const auto in_lag = of_lag_.find(place.first);
  if (--in_lag->second > 0) return;
  of_lag_.erase(in_lag);
  announce({kLagMembersGone, place.first});
}

/// A port that is in the bond already is not set down.
std::vector<Operation> LagMembers::orders_to_enter(const Place& place) const {
  const auto& [lag, port] = place;
  const IfIndex device = ids_.find(port);
  const LinkSet enter{device, std::nullopt, std::nullopt, ids_.find(lag)};
  const bool wants_up = ids_.wanted_up(port).value_or(true);
  if (!ids_.is_in(port, lag)) return {{LinkSet{device, false}, {}}, {enter, {}}, {LinkSet{device, wants_up}, {}}};
  std::vector<Operation> orders{{enter, {}}};
  if (wants_up != (ids_.up_number(port) != 0)) orders.push_back({LinkSet{device, wants_up}, {}});
  return orders;
}

/// The answer to the orders comes before the events: first the port is down, and then it is in the bond. The row is done when it is there.
Outcome LagMembers::answered(const Place& place, IfIndex device, IfIndex bond, const Status& status) {
  const auto it = members_.find(place);
  if (it == members_.end()) return Outcome::done();
  Member& member = it->second;
  if (!status.ok()) {
    Outcome outcome = outcome_of_set(status);
    if (outcome.kind() == Outcome::Kind::Reject && !member.applied) release(place);
    return outcome;
  }
  const Duration soon = std::exchange(member.asked, true) ? kSoon : kEventRetry;
  if (ids_.find(place.second) != device) return Outcome::retry_after(kSoon, device_changed(place.second));
  if (ids_.find(place.first) != bond) return Outcome::retry_after(kSoon, device_changed(place.first));
  if (!ids_.is_in(place.second, place.first)) {
    return Outcome::retry_after(
        soon, Status{StatusCode::FailedPrecondition, "the kernel has not reported " + place.second + " in " + place.first});
  }
  member.applied = true;
  return Outcome::done_while({Constraint{kLag, place.first}, Constraint{kInDevice, place.second + ":" + place.first}});
}

/// The port belongs to the LAG, and is not in its bond.
Outcome LagMembers::disable(const Place& place, const Member& member) {
  program_all(programmer_, orders_to_leave(place, member), [this, place, ticket = current_ticket()](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (const auto it = members_.find(place); it != members_.end() && outcome.kind() == Outcome::Kind::Done) {
      it->second.asked = false;
      it->second.applied = true;
    }
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

Outcome LagMembers::remove(std::string_view key) {
  const Result<LagMemberKey> parsed = parse_lag_member_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Place place{parsed->lag, parsed->port};
  const auto it = members_.find(place);
  if (it == members_.end()) return Outcome::done();
  program_all(programmer_, orders_to_leave(place, it->second), [this, place, ticket = current_ticket()](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (outcome.kind() == Outcome::Kind::Done) release(place);
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

/// The kernel may not have reported yet that the port is in the bond, or another program may have put it into another bond of ours.
std::vector<Operation> LagMembers::orders_to_leave(const Place& place, const Member& member) const {
  const auto& [lag, port] = place;
  const IfIndex device = ids_.find(port);
  const IfIndex master = ids_.device(port).master;
  const PortIds::Device bond = ids_.device(ids_.name(master));
  const bool may_be_in = (member.asked && !master) || (bond.ours && bond.is_bond());
  if (!device || (!ids_.is_in(port, lag) && !may_be_in)) return {};
  const bool is_up = ids_.up_number(port) != 0;
  return {{LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}},
          {LinkSet{device, ids_.wanted_up(port).value_or(is_up), mtus_.port_row(port)}, {}}};
}

/// What an earlier run left: ports in the bonds that stay, and ports that the kernel has set down because their bond was deleted.
void LagMembers::end_restart() {
  restarted_ = true;
  std::vector<Operation> orders;
  ids_.for_each_device([&](const std::string& name, const PortIds::Device& device) {
    const std::string_view master = ids_.name(device.master);
    const PortIds::Device bond = ids_.device(master);
    if (!bond.is_bond() || !bond.ours || !holds({kPort, name}) || lag_of(name) != nullptr) return;
    orders.push_back({LinkSet{ids_.find(name), std::nullopt, std::nullopt, IfIndex{}}, {}});
    left_.insert(name);
  });
  for (const std::string& port : std::exchange(left_, {})) {
    const IfIndex device = ids_.find(port);
    if (device && lag_of(port) == nullptr && ids_.wanted_up(port)) {
      orders.push_back({LinkSet{device, ids_.wanted_up(port), mtus_.wanted(port)}, {}});
    }
  }
  program_all(programmer_, std::move(orders), [](const Status&) {});
}

void LagMembers::add_orders_for_renamed(std::string_view port, IfIndex device, std::vector<Operation>& orders) const {
  const std::string* const lag = lag_of(port);
  if (lag == nullptr || !ids_.is_in(port, *lag)) return;
  orders.push_back({LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}});
  orders.push_back({LinkSet{device, ids_.up_number(port) != 0}, {}});
}

RowInPlane LagMembers::state_of(std::string_view key) const {
  const Result<LagMemberKey> parsed = parse_lag_member_key(key);
  if (!parsed) return {};
  if (const Status* const why = refusals_.why(key)) return {PlaneState::Refused, std::string{why->message()}, {}};
  const auto& [lag, port] = *parsed;
  const auto it = members_.find({lag, port});
  if (it == members_.end() || !it->second.applied) return {};
  if (!it->second.enabled) return {PlaneState::Installed, "it is disabled, so the port is not in the bond", {}};
  if (ids_.is_in(port, lag)) return {PlaneState::Installed, holds({kCarrier, port}) ? std::string{} : port + " has no carrier", {}};
  if (!ids_.find(port)) return {PlaneState::Withdrawn, "it went with the device", {{kDevice, port}}};
  if (!holds({kLag, lag})) return {PlaneState::Withdrawn, "it went with its LAG", {{kLag, lag}}};
  return {PlaneState::Pending, "another program took it out of " + lag + "; it is being put back", {}};
}

PlaneCounts LagMembers::state_counts() const {
  PlaneCounts counts{.refused = refusals_.count()};
  for (const auto& [place, member] : members_) {
    if (!member.applied || refusals_.why(row_key(place)) != nullptr) continue;
    const bool is_in_place = !member.enabled || ids_.is_in(place.second, place.first);
    const bool has_gone = !ids_.find(place.second) || !holds({kLag, place.first});
    ++(is_in_place ? counts.installed : has_gone ? counts.withdrawn : counts.pending);
  }
  return counts;
}

}  // namespace rondo::switch_agent
