#include "switch_agent/lag_members.h"

#include <cerrno>
#include <optional>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

/// Only the MTU of PORT_TABLE can be refused for good, and a port that has left has no row that could wait for it.
Outcome left(const Status& status) {
  Outcome outcome = outcome_of_delete(status);
  return outcome.kind() == Outcome::Kind::Reject ? Outcome::done() : outcome;
}

std::string row_key(const std::pair<std::string, std::string>& place) { return place.first + ":" + place.second; }

}  // namespace

LagMembers::LagMembers(Runtime& runtime, Programmer& programmer, PortIds& ids, MtuRows& mtus)
    : Orch(runtime, "lag members", kLagMembers),
      programmer_(programmer),
      ids_(ids),
      mtus_(mtus),
      freed_(runtime, "ports of no lag", kLagMembers, [this](const std::string& port) { free_port(port); }) {
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
  provide(kNoLagMemberNext, [this](std::string_view port) { return !next_.contains(port); });
  runtime().explain(kNoLagMemberNext, [this](std::string_view port) {
    const auto it = next_.find(port);
    if (it == next_.end()) return FactOrigin{};
    return FactOrigin{
        "", "",
        "LAG_MEMBER_TABLE " + *it->second.begin() + ":" + it->first + " waits for the port too, and has it before members of VLANs"};
  });
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

std::vector<Fact> LagMembers::find_missing(const Place& place) {
  const auto& [lag, port] = place;
  std::vector<Fact> missing;
  for (Fact& fact : std::vector<Fact>{{kLag, lag}, {kPort, port}, {kPortUnused, port}, {kInNoVlan, port}}) {
    if (!holds(fact)) missing.push_back(std::move(fact));
  }
  if (const std::string* const other = lag_of(port); other != nullptr && *other != lag) missing.push_back({kInNoLag, port});
  const bool is_new = !members_.contains(place);
  note_next(place, is_new && missing.size() == 1 && missing.front() == Fact{kPort, port});
  if (is_new && !holds({kNoInterfaceNext, port})) missing.push_back({kNoInterfaceNext, port});
  const PortIds::Use use{PortIds::Use::Kind::Lag, lag};
  if (is_new && ids_.is_left_in_another_use(port, use)) missing.push_back({kRowsCome, std::string{kDataPlane}});
  const Fact interfaces_first{kStandingRows, std::string{kInterfaceRows}};
  if (is_new && !holds(interfaces_first) && !ids_.is_left_in_use(port, use)) missing.push_back(interfaces_first);
  return missing;
}

void LagMembers::note_next(const Place& place, bool waits) {
  const auto& [lag, port] = place;
  if (waits) {
    std::set<std::string>& lags = next_[port];
    if (lags.insert(lag).second && lags.size() == 1) withdraw({kNoLagMemberNext, port});
  } else if (const auto it = next_.find(port); it != next_.end() && it->second.erase(lag) != 0 && it->second.empty()) {
    next_.erase(it);
    announce({kNoLagMemberNext, port});
  }
}

Outcome LagMembers::set(std::string_view key, const Fields& fields) {
  const Result<LagMemberKey> parsed = parse_lag_member_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Place place{parsed->lag, parsed->port};
  const Result<bool> enabled = parse_lag_member(fields);
  if (!enabled) {
    note_next(place, false);
    return Outcome::reject(enabled.error());
  }
  if (std::vector<Fact> missing = find_missing(place); !missing.empty()) return Outcome::wait_for(std::move(missing));
  if (!ids_.find(place.first)) return Outcome::retry_after(kSoon, device_changed(place.first));  // Its end is not announced yet.
  const Member& member = claim(place, *enabled);
  if (!*enabled) return disable(place, member);
  if (is_mtu_refused(place, member)) return refusals_.note(row_key(place), mtu_refused(place, member));
  program_all(programmer_, orders_to_enter(place, member),
              [this, place, devices = devices_of(place), ticket = current_ticket()](const Status& status) {
                settle(ticket, refusals_.note(row_key(place), answered(place, devices, status)));
              });
  return Outcome::staged();
}

LagMembers::Member& LagMembers::claim(const Place& place, bool enabled) {
  const auto [it, added] = members_.try_emplace(place);
  if (added) {
    if (of_lag_[place.first]++ == 0) withdraw({kLagMembersGone, place.first});
    lags_[place.second] = place.first;
    withdraw({kInNoLag, place.second});
    ids_.claimed(place.second);
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

/// A port that is in the bond already is not set down, and neither is one that may be, or that was refused: then the order alone tells
/// whether it can enter.
std::vector<Operation> LagMembers::orders_to_enter(const Place& place, const Member& member) const {
  const auto& [lag, port] = place;
  const Devices devices = devices_of(place);
  const LinkSet enter{devices.port, std::nullopt, std::nullopt, devices.bond};
  const bool wants_up = ids_.wanted_up(port).value_or(true);
  if (!ids_.is_in(port, lag)) {
    if (member.entered == devices || member.in_use == devices) return {{enter, {}}};
    return {{LinkSet{devices.port, false}, {}}, {enter, {}}, {LinkSet{devices.port, wants_up}, {}}};
  }
  std::vector<Operation> orders{{enter, {}}};
  if (wants_up != (ids_.up_number(port) != 0)) orders.push_back({LinkSet{devices.port, wants_up}, {}});
  return orders;
}

/// The same devices with the same MTU of the LAG would be refused again.
bool LagMembers::is_mtu_refused(const Place& place, const Member& member) const {
  return member.mtu_refused == devices_of(place) && member.refused_mtu == ids_.mtu(place.first) && !ids_.is_in(place.second, place.first);
}

Outcome LagMembers::mtu_refused(const Place& place, const Member& member) const {
  return Outcome::retry_after(
      kSoon, Status{StatusCode::FailedPrecondition, place.second + " may not support the MTU " + std::to_string(member.refused_mtu) +
                                                        " of " + place.first + ": lower the mtu of its row in LAG_TABLE"});
}

/// The bonding driver gives no text when the driver of the port refuses the MTU, and looks at it last. A device that is gone gets the same
/// answer: then its event changes the devices. A port that is in use is refused before the driver looks whether it is up.
Outcome LagMembers::refused(const Place& place, const Devices& devices, const Status& status) {
  Member& member = members_.find(place)->second;
  member.asked = true;  // The orders before the refused one were carried out.
  member.entered = member.in_use = {};
  Outcome outcome = outcome_of_set(status);
  if (outcome.kind() == Outcome::Kind::Reject && !member.applied) {
    release(place);
    return outcome;
  }
  if (devices != devices_of(place)) return outcome;
  if (status.origin_errno() == EBUSY) member.in_use = devices;
  if (status.origin_errno() != EINVAL || status.code() != StatusCode::FailedPrecondition) return outcome;
  member.mtu_refused = devices;
  member.refused_mtu = ids_.mtu(place.first);
  return mtu_refused(place, member);
}

/// The answer to the orders comes before the events: first the port is down, and then it is in the bond. The row is done when it is there.
Outcome LagMembers::answered(const Place& place, const Devices& devices, const Status& status) {
  const auto it = members_.find(place);
  if (it == members_.end()) return Outcome::done();
  Member& member = it->second;
  if (!status.ok()) return refused(place, devices, status);
  const Duration soon = std::exchange(member.asked, true) ? kSoon : kEventRetry;
  member.entered = devices;
  member.in_use = member.mtu_refused = {};
  if (ids_.find(place.second) != devices.port) return Outcome::retry_after(kSoon, device_changed(place.second));
  if (ids_.find(place.first) != devices.bond) return Outcome::retry_after(kSoon, device_changed(place.first));
  if (!ids_.is_in(place.second, place.first)) {
    return Outcome::retry_after(
        soon, Status{StatusCode::FailedPrecondition, "the kernel has not reported " + place.second + " in " + place.first});
  }
  member.applied = true;
  return Outcome::done_while({Fact{kLag, place.first}, Fact{kInDevice, place.second + ":" + place.first}});
}

/// The port belongs to the LAG, and is not in its bond.
Outcome LagMembers::disable(const Place& place, const Member& member) {
  program_all(programmer_, orders_to_leave(place, member), [this, place, ticket = current_ticket()](const Status& status) {
    Outcome outcome = left(status);
    if (const auto it = members_.find(place); it != members_.end() && outcome.kind() == Outcome::Kind::Done) {
      it->second.asked = false;
      it->second.entered = {};
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
  note_next(place, false);
  const auto it = members_.find(place);
  if (it == members_.end()) return Outcome::done();
  program_all(programmer_, orders_to_leave(place, it->second), [this, place, ticket = current_ticket()](const Status& status) {
    Outcome outcome = left(status);
    if (outcome.kind() == Outcome::Kind::Done) release(place);
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

/// The kernel may not have reported yet that the port is in the bond. Another program may have put it into another bond of ours, and an
/// earlier run into a bridge.
std::vector<Operation> LagMembers::orders_to_leave(const Place& place, const Member& member) const {
  const auto& [lag, port] = place;
  const IfIndex device = ids_.find(port);
  const IfIndex master = ids_.device(port).master;
  const PortIds::Device master_device = ids_.device(ids_.name(master));
  const bool may_be_in = (member.asked && !master) || (master_device.ours && (master_device.is_bond() || master_device.bridge));
  if (!device || (!ids_.is_in(port, lag) && !may_be_in)) return {};
  const bool is_up = ids_.up_number(port) != 0;
  std::vector<Operation> orders{{LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}},
                                {LinkSet{device, ids_.wanted_up(port).value_or(is_up)}, {}}};
  if (const MtuRows::Mtu mtu = mtus_.port_row(port)) orders.push_back({LinkSet{device, std::nullopt, mtu}, {}});
  return orders;
}

/// What an earlier run left: ports in the bonds that stay, and ports that the kernel has set down because their bond was deleted.
void LagMembers::end_restart() {
  restarted_ = true;
  ids_.for_each_device([&](const std::string& name, const PortIds::Device&) {
    if (is_left_in_bond(name)) left_.insert(name);
  });
  for (const std::string& port : std::exchange(left_, {})) free_port(port);
}

/// A port that no row puts into the bond of ours in which it is, or into another device.
bool LagMembers::is_left_in_bond(const std::string& port) const {
  const PortIds::Device bond = ids_.device(ids_.name(ids_.device(port).master));
  return bond.is_bond() && bond.ours && holds({kPort, port}) && lag_of(port) == nullptr && holds({kUntaggedFree, port});
}

/// A disabled member is not in the bond, so the kernel has set it down like a port of no LAG. An MTU that the driver refuses does not keep
/// the port down.
void LagMembers::free_port(const std::string& port) {
  const IfIndex device = ids_.find(port);
  const std::string* const lag = lag_of(port);
  const bool is_enabled = lag != nullptr && members_.find({*lag, port})->second.enabled;
  if (!device || is_enabled || !holds({kPort, port})) return;
  std::vector<Operation> orders;
  if (is_left_in_bond(port)) orders.push_back({LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}});
  if (const auto up = ids_.wanted_up(port)) orders.push_back({LinkSet{device, up}, {}});
  if (const MtuRows::Mtu mtu = mtus_.wanted(port)) orders.push_back({LinkSet{device, std::nullopt, mtu}, {}});
  program_all(programmer_, std::move(orders), [this, port](const Status& status) {
    if (!status.ok() && is_passing(status)) freed_.add(port, kForeignRetry);
  });
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
