#include "switch_agent/vlan_members.h"

#include <algorithm>
#include <optional>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

std::string vlan_member_key(std::string_view vlan, std::string_view port) { return std::string{vlan} + ":" + std::string{port}; }

VlanMembers::VlanMembers(Runtime& runtime, Programmer& programmer, PortIds& ids)
    : Orch(runtime, "vlan members", kVlanMembers),
      programmer_(programmer),
      ids_(ids),
      mtu_retries_(runtime, "vlan member mtu", kVlanMembers,
                   [this](const std::string& key) {
                     const Result<VlanMemberKey> parsed = parse_vlan_member_key(key);
                     const auto it = parsed ? members_.find({parsed->vlan, parsed->port}) : members_.end();
                     if (it != members_.end() && it->second.present) follow_mtu(it->first, it->second);
                   }),
      freed_(runtime, "ports of no vlan", kVlanMembers, [this](const std::string& port) { free_port(port); }) {
  consume("VLAN_MEMBER_TABLE", this, &VlanMembers::set, &VlanMembers::remove, {.set_replaces_delete = true});
  provide_facts();
  ids_.on_mtu([this](const std::string& port) {
    if (!of_port_.contains(port)) return;
    for (const auto& [place, member] : members_) {
      if (place.second == port) follow_mtu(place, member);
    }
  });
}

/// The kernel lowers the MTU of an 802.1Q device with that of its port, and never raises it. A transient refusal is retried; after another
/// one the device keeps what it has.
void VlanMembers::follow_mtu(const Place& place, const Member& member) {
  const std::string& port = place.second;
  const PortIds::Device device = ids_.device(member.device);
  if (!member.tagged || !device.ours || device.lower != ids_.find(port) || ids_.mtu(member.device) >= ids_.mtu(port)) return;
  program(programmer_, LinkSet{ids_.find(member.device), std::nullopt, ids_.mtu(port)}, [this, place](const Status& status) {
    if (!status.ok() && is_passing(status)) mtu_retries_.add(vlan_member_key(place.first, place.second));
  });
}

const VlanMembers::Member* VlanMembers::find(std::string_view key) const {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) return nullptr;
  const auto it = members_.find({std::string{key.substr(0, colon)}, std::string{key.substr(colon + 1)}});
  return it == members_.end() ? nullptr : &it->second;
}

void VlanMembers::provide_facts() {
  provide(kVlanMember, [this](std::string_view key) {
    const Member* const member = find(key);
    return member != nullptr && member->present;
  });
  provide(kTaggedMember, [this](std::string_view key) {
    const Member* const member = find(key);
    return member != nullptr && member->tagged;
  });
  provide(kVlanMembersGone, [this](std::string_view vlan) { return !of_vlan_.contains(vlan); });
  provide(kInNoVlan, [this](std::string_view port) { return !of_port_.contains(port); });
  provide(kUntaggedFree, [this](std::string_view port) { return !untagged_.contains(port); });
  runtime().explain(kVlanMember, [](std::string_view key) { return FactOrigin{"VLAN_MEMBER_TABLE", std::string{key}, ""}; });
  runtime().explain(kVlanMembersGone, [this](std::string_view vlan) {
    const auto one = members_.lower_bound({std::string{vlan}, {}});
    if (one == members_.end() || one->first.first != vlan) return FactOrigin{};
    return FactOrigin{"", "", "VLAN_MEMBER_TABLE " + vlan_member_key(vlan, one->first.second) + " is still a member"};
  });
  runtime().explain(kInNoVlan, [this](std::string_view port) {
    const auto one = std::ranges::find_if(members_, [port](const auto& entry) { return entry.first.second == port; });
    if (one == members_.end()) return FactOrigin{};
    return FactOrigin{"", "",
                      "VLAN_MEMBER_TABLE " + vlan_member_key(one->first.first, port) +
                          " has the port, and a member of a VLAN is in no LAG, and has no row of INTF_TABLE"};
  });
  runtime().explain(kUntaggedFree, [this](std::string_view port) {
    const std::string* const vlan = untagged_vlan(port);
    if (vlan == nullptr) return FactOrigin{};
    return FactOrigin{"", "", std::string{port} + " is an untagged member of " + *vlan + ", and a port can be that of one VLAN"};
  });
}

const std::string* VlanMembers::untagged_vlan(std::string_view port) const {
  const auto it = untagged_.find(port);
  return it == untagged_.end() ? nullptr : &it->second;
}

bool VlanMembers::is_in_place(const Place& place, const Member& member) const {
  return holds({kVlan, place.first}) && ids_.is_in(member.device, place.first);
}

/// A row is handled again when its bridge goes, or when its device is taken out of it.
void VlanMembers::note_place(const Place& place, Member& member) {
  if (!member.present || is_in_place(place, member)) return;
  member.present = false;
  withdraw({kVlanMember, vlan_member_key(place.first, place.second)});
}

Outcome VlanMembers::set(std::string_view key, const Fields& fields) {
  const Result<VlanMemberKey> parsed = parse_vlan_member_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Result<bool> tagged = parse_tagged(fields);
  if (!tagged) return Outcome::reject(tagged.error());
  const Place place{parsed->vlan, parsed->port};
  const std::string device = *tagged ? tagged_port_name(place.second, parsed->number) : place.second;
  if (device.empty()) {
    return Outcome::reject(Status{StatusCode::InvalidArgument, "the name of the 802.1Q device, " + place.second + "." +
                                                                   std::to_string(parsed->number) + ", is longer than 15 characters"});
  }
  const auto known = members_.find(place);
  if (known != members_.end()) note_place(place, known->second);
  std::vector<Fact> missing;
  for (Fact& fact :
       std::vector<Fact>{{kVlan, place.first}, configured(place.second), {kPortUnused, place.second}, {kInNoLag, place.second}}) {
    if (!holds(fact)) missing.push_back(std::move(fact));
  }
  const std::string* const other = *tagged ? nullptr : untagged_vlan(place.second);
  if (other != nullptr && *other != place.first) missing.push_back({kUntaggedFree, place.second});
  const PortIds::Use use{PortIds::Use::Kind::Vlan, *tagged ? std::string_view{} : std::string_view{place.first}};
  for (const FactKind kind : {kNoInterfaceNext, kNoLagMemberNext}) {
    if (known == members_.end() && !holds({kind, place.second})) missing.push_back({kind, place.second});
  }
  if (known == members_.end() && ids_.is_left_in_another_use(place.second, use)) missing.push_back({kRowsCome, std::string{kDataPlane}});
  for (const std::string_view table : {kInterfaceRows, kLagMemberRows}) {
    Fact first{kStandingRows, std::string{table}};
    if (known == members_.end() && !holds(first) && !ids_.is_left_in_use(place.second, use)) missing.push_back(std::move(first));
  }
  if (!missing.empty()) return Outcome::wait_for(std::move(missing));
  if (!ids_.find(place.first)) return Outcome::retry_after(kSoon, device_changed(place.first));  // Its end is not announced yet.
  if (known != members_.end() && known->second.device != device) return change_mode(place);
  Member& member = claim(place, *tagged, device);
  member.trouble = *tagged ? find_trouble(place, parsed->number, device) : std::string{};
  if (!member.trouble.empty()) return Outcome::retry_after(kForeignRetry, Status{StatusCode::AlreadyExists, member.trouble});
  program_all(programmer_, orders_for(place, parsed->number, member),
              [this, place, device = ids_.find(device), bridge = ids_.find(place.first), ticket = current_ticket()](const Status& status) {
                settle(ticket, refusals_.note(vlan_member_key(place.first, place.second), answered(place, device, bridge, status)));
              });
  return Outcome::staged();
}

VlanMembers::Member& VlanMembers::claim(const Place& place, bool tagged, std::string device) {
  const auto [it, added] = members_.try_emplace(place);
  if (added) {
    if (of_vlan_[place.first]++ == 0) withdraw({kVlanMembersGone, place.first});
    if (of_port_[place.second]++ == 0) withdraw({kInNoVlan, place.second});
    ids_.claimed(place.second);
  }
  it->second.tagged = tagged;
  it->second.device = std::move(device);
  if (!tagged && untagged_.try_emplace(place.second, place.first).second) withdraw({kUntaggedFree, place.second});
  return it->second;
}

/// The member has no device in the bridge any more.
void VlanMembers::release(const Place& place) {
  if (members_.erase(place) == 0) return;
  refusals_.forget(vlan_member_key(place.first, place.second));
  const auto untagged = untagged_.find(place.second);
  if (untagged != untagged_.end() && untagged->second == place.first) {
    untagged_.erase(untagged);
    announce({kUntaggedFree, place.second});
  }
  const auto in_vlan = of_vlan_.find(place.first);
  if (--in_vlan->second == 0) {
    of_vlan_.erase(in_vlan);
    announce({kVlanMembersGone, place.first});
  }
  const auto of_port = of_port_.find(place.second);
  if (--of_port->second > 0) return;
  of_port_.erase(of_port);
  announce({kInNoVlan, place.second});
}

/// The other device leaves the bridge first; then the row is handled again.
Outcome VlanMembers::change_mode(const Place& place) {
  Member& member = members_.find(place)->second;
  if (member.unreported.must_wait(ids_.find(member.device))) return Outcome::retry_after(kEventRetry, not_reported(member.device));
  if (std::exchange(member.present, false)) withdraw({kVlanMember, vlan_member_key(place.first, place.second)});
  program_all(programmer_, orders_to_leave(place, member), [this, place, ticket = current_ticket()](const Status& status) {
    Outcome left = outcome_of_delete(status);
    if (left.kind() != Outcome::Kind::Done) return settle(ticket, std::move(left));
    release(place);
    settle(ticket, Outcome::retry_after(kEventRetry, Status{StatusCode::FailedPrecondition, "the tagging mode changes"}));
  });
  return Outcome::staged();
}

/// Why the 802.1Q device cannot be made or used; empty if it can.
std::string VlanMembers::find_trouble(const Place& place, std::uint16_t number, const std::string& device) const {
  const std::string vlan = "VLAN " + std::to_string(number) + " on " + place.second;
  if (!ids_.find(device)) {
    const std::string other{ids_.tagged(ids_.find(place.second), number)};
    return other.empty() ? other : "the device " + other + " is that of " + vlan + " already: delete it, or rename it to " + device;
  }
  const PortIds::Device found = ids_.device(device);
  if (found.vlan == number && found.lower == ids_.find(place.second)) return {};
  return "the device " + device + " exists, and it is not that of " + vlan + ": rename or delete it";
}

std::vector<Operation> VlanMembers::orders_for(const Place& place, std::uint16_t number, const Member& member) const {
  const IfIndex bridge = ids_.find(place.first);
  const IfIndex device = ids_.find(member.device);
  if (!member.tagged) return {{LinkSet{device, std::nullopt, std::nullopt, bridge}, {}}};
  std::vector<Operation> orders;
  if (!device || !member.asked) orders.push_back({TaggedPortSet{member.device, ids_.find(place.second), bridge, number}, {}});
  if (!device) return orders;
  LinkSet link{device};
  if (!ids_.is_in(member.device, place.first)) link.master = bridge;
  if (ids_.up_number(member.device) == 0 && holds({kAdminUp, place.second})) link.up = true;  // Otherwise it goes up with the port.
  if (link.master || link.up) orders.push_back({link, {}});
  return orders;
}

/// The event of a device that was just made may still be on its way.
Outcome VlanMembers::answered(const Place& place, IfIndex device, IfIndex bridge, const Status& status) {
  const auto it = members_.find(place);
  if (it == members_.end()) return Outcome::done();
  Member& member = it->second;
  if (!status.ok()) {
    const bool has_none = member.tagged && status.code() == StatusCode::Unimplemented;
    Outcome outcome = outcome_of_set(has_none ? status.with_context("this kernel has no 802.1Q devices") : status);
    if (outcome.kind() == Outcome::Kind::Reject && !member.applied) release(place);
    return outcome;
  }
  const Duration soon = std::exchange(member.asked, true) ? kSoon : kEventRetry;
  if (!device) member.unreported.confirmed();
  if (!device || ids_.find(member.device) != device) return Outcome::retry_after(soon, not_reported(member.device));
  if (ids_.find(place.first) != bridge) return Outcome::retry_after(kSoon, device_changed(place.first));
  member.unreported.reported();
  ids_.set_master(member.device, bridge);
  member.applied = true;
  follow_mtu(place, member);
  const std::string key = vlan_member_key(place.first, place.second);
  if (!std::exchange(member.present, true)) announce({kVlanMember, key});
  return Outcome::done_while({Fact{kVlan, place.first}, Fact{kInDevice, member.device + ":" + place.first}});
}

Outcome VlanMembers::remove(std::string_view key) {
  const Result<VlanMemberKey> parsed = parse_vlan_member_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Place place{parsed->vlan, parsed->port};
  const auto it = members_.find(place);
  if (it == members_.end()) return Outcome::done();
  Member& member = it->second;
  if (member.unreported.must_wait(ids_.find(member.device))) return Outcome::retry_after(kEventRetry, not_reported(member.device));
  // Withdraw the fact before ordering, so that no further row relies on it.
  if (std::exchange(member.present, false)) withdraw({kVlanMember, vlan_member_key(place.first, place.second)});
  program_all(programmer_, orders_to_leave(place, member), [this, place, ticket = current_ticket()](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (outcome.kind() == Outcome::Kind::Done) release(place);
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

/// A device of another program stays, without the bridge.
std::vector<Operation> VlanMembers::orders_to_leave(const Place& place, const Member& member) const {
  const IfIndex device = ids_.find(member.device);
  if (!device) return {};
  if (member.tagged && member.trouble.empty() && ids_.device(member.device).ours) return {{DeviceDelete{device}, {}}};
  if (!ids_.is_in(member.device, place.first)) return {};
  return {{LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}}};
}

void VlanMembers::end_restart() {
  ids_.for_each_device([this](const std::string& name, const PortIds::Device&) { free_port(name); });
}

/// A port that no row puts into the bridge of ours in which it is, or into another bridge or a bond: that row's own order moves it.
bool VlanMembers::is_left_in_bridge(const std::string& port) const {
  const PortIds::Device device = ids_.device(port);
  const std::string_view master = ids_.name(device.master);
  const PortIds::Device bridge = ids_.device(master);
  if (!bridge.bridge || !bridge.ours || device.vlan != 0 || !holds(configured(port))) return false;
  return untagged_vlan(port) == nullptr && holds({kInNoLag, port});
}

void VlanMembers::free_port(const std::string& port) {
  if (!is_left_in_bridge(port)) return;
  // A row of INTF_TABLE may be about to put the port into its VRF.
  if (!holds({kPortUnused, port}) && !holds({kInterface, port})) return freed_.add(port, kForeignRetry);
  program(programmer_, LinkSet{ids_.find(port), std::nullopt, std::nullopt, IfIndex{}}, [this, port](const Status& status) {
    if (!status.ok() && is_passing(status)) freed_.add(port, kForeignRetry);
  });
}

void VlanMembers::add_orders_for_renamed(std::string_view port, IfIndex device, std::vector<Operation>& orders) const {
  const std::string* const vlan = untagged_vlan(port);
  if (vlan != nullptr && ids_.is_in(port, *vlan)) orders.push_back({LinkSet{device, std::nullopt, std::nullopt, IfIndex{}}, {}});
}

}  // namespace rondo::switch_agent
