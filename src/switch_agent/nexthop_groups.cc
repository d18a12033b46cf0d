#include "switch_agent/nexthop_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "orch/ask_again.h"
#include "rondo/base/assert.h"
#include "rondo/dataplane/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"
#include "switch_agent/tables.h"

namespace rondo::switch_agent {

NexthopGroups::NexthopGroups(Runtime& runtime, Programmer& programmer, const PortIds& ports, NexthopSets& sets, GroupIds& groups,
                             NumberSpace numbers)
    : Orch(runtime, "nexthop-groups", kNexthopGroups),
      programmer_(programmer),
      ports_(ports),
      sets_(sets),
      ids_(groups),
      numbers_(numbers),
      patience_timer_("nexthop-groups neighbors", kNexthopGroups, [this] { give_up_expected(); }),
      retry_timer_("nexthop-groups retry", kNexthopGroups, [this] { retry(); }) {
  runtime.scheduler().add(patience_timer_);
  runtime.scheduler().add(retry_timer_);
  consume(
      "NEXTHOP_GROUP_TABLE", [this](std::string_view name, const Fields& fields) { return set(name, fields); },
      [this](std::string_view name) { return remove(name); }, {.set_replaces_delete = true});
  provide(kNexthopGroup, [this](std::string_view name) {
    const auto entry = ids_.find(kNexthopGroup, name);
    return entry && entry->usable;
  });
  runtime.explain(kNexthopGroup, [this](std::string_view name) {
    return FactOrigin{"NEXTHOP_GROUP_TABLE", std::string{name}, state_of({kNexthopGroup, std::string{name}})};
  });
  provide(kGroupAccepted, [this](std::string_view name) {
    const auto it = groups_.find({std::string{kNexthopGroup.name()}, std::string{name}});
    return it == groups_.end() || !it->second.awaits_kernel;
  });
  runtime.explain(kGroupAccepted, [this](std::string_view name) {
    return FactOrigin{"", "", state_of({kNexthopGroup, std::string{name}})};
  });
  follow_sets();
  provide(kGroupLeads, [this](std::string_view key) {
    const std::size_t blank = key.rfind(' ');
    const auto entry = ids_.find(kNexthopGroup, key.substr(0, blank));
    const std::string_view port = key.substr(blank + 1);
    return entry && (port.empty() ? entry->of_others : entry->device == port);
  });
  provide(kNeighborUnused, [this](std::string_view name) {
    const Result<NeighborKey> parsed = parse_neighbor_key(name);
    return !parsed || !is_used(*parsed);
  });
  runtime.explain(kNeighborUnused, [this](std::string_view name) { return FactOrigin{"", "", users_of(name)}; });
  observe(kNeighbor, [this](std::string_view name, bool begins) {
    if (begins) neighbor_came(name);
  });
  observe(kAdminUp, [this](std::string_view, bool up) {
    if (!up) port_went();
  });
  observe(kCarrier, [this](std::string_view port, bool up) { carrier(port, up); });
  observe(kIpv6, [this](std::string_view port, bool begins) { ipv6(port, begins); });
}

NexthopGroups::~NexthopGroups() = default;

NexthopGroups::Counts NexthopGroups::counts() const {
  Counts counts;
  counts.nexthops = nexthops_.size();
  counts.present_nexthops = static_cast<std::size_t>(std::ranges::count_if(nexthops_, [](const auto& n) { return n.second.present; }));
  counts.groups = groups_.size();
  counts.usable_groups =
      static_cast<std::size_t>(std::ranges::count_if(groups_, [](const auto& g) { return !g.second.possible.front().empty(); }));
  counts.group_replaces = group_replaces_;
  return counts;
}

// --- rows

Outcome NexthopGroups::set(std::string_view name, const Fields& fields) {
  if (fields.contains("nexthop_group")) {
    return Outcome::reject(Status{StatusCode::Unimplemented, "field 'nexthop_group': groups of groups are not supported"});
  }
  const Result<std::vector<Hop>> hops = parse_group(fields);
  if (!hops) return Outcome::reject(hops.error());
  const Fact fact{kNexthopGroup, std::string{name}};
  if (std::optional<Fact> missing = lacks(fact, *hops)) return Outcome::wait_for(std::move(*missing));
  Group& group = group_at(fact, *hops);
  group.ticket = current_ticket();
  set_members(group, *hops);
  refresh(group);
  return Outcome::staged();
}

/// Notes where the group leads, and returns the neighbour that it has to wait for.
std::optional<Fact> NexthopGroups::lacks(const Fact& fact, const std::vector<Hop>& hops) {
  const bool of_others = std::ranges::all_of(hops, [](const Hop& hop) { return is_of_others(hop.port); });
  set_way(fact, of_others, !of_others && hops.size() == 1 && hops.front().is_to_device() ? hops.front().port : std::string{});
  return of_others ? std::nullopt : missing_neighbor(hops);
}

NexthopGroups::Group& NexthopGroups::group_at(const Fact& fact, const std::vector<Hop>& hops) {
  const auto [it, first] = groups_.try_emplace({std::string{fact.kind.name()}, fact.key}, Group{});
  if (first) {
    it->second.fact = fact;
    it->second.id = number_of_group(fact, hops);
    group_ids_.insert(it->second.id.value());
    ids_.at(fact).id = it->second.id;
  }
  return it->second;
}

/// Records where the group leads. Routes that were left to others for that, and routes that wait for the group, are handled again.
void NexthopGroups::set_way(const Fact& fact, bool of_others, const std::string& device) {
  const auto known = ids_.find(fact.kind, fact.key);
  const bool was_of_others = known && known->of_others;
  const std::string device_before = known ? known->device : std::string{};
  if (was_of_others == of_others && device_before == device) return;
  GroupIds::Entry& entry = ids_.at(fact);
  entry.of_others = of_others;
  entry.device = device;
  if (fact.kind != kNexthopGroup) return;  // The name of a set says where it leads.
  if (was_of_others || !device_before.empty()) withdraw({kGroupLeads, with_port(fact.key, device_before)});
  if (of_others || !device.empty()) announce({kGroupLeads, with_port(fact.key, device)});
  AskAgain::rows_that_wait_for(*this, fact);
}

void NexthopGroups::set_members(Group& group, const std::vector<Hop>& hops) {
  const std::vector<Member> before = std::move(group.members);
  group.members.clear();
  for (const Hop& hop : hops) {
    Nexthop& nexthop = nexthop_at({hop.port, hop.gateway, hop.onlink});
    nexthop.users.insert(&group);
    nexthop.resolved = nexthop.resolved || hop.is_to_device() || holds({kNeighbor, neighbor_key(hop.port, hop.gateway)});
    group.members.push_back({&nexthop, hop.weight});
    if (!nexthop.present) ask(nexthop);
  }
  for (const Member& member : before) {
    const bool stays = std::ranges::any_of(group.members, [&](const Member& m) { return m.nexthop == member.nexthop; });
    if (!stays) group.leaving.insert(member.nexthop);
  }
}

void NexthopGroups::release_leaving(Group& group) {
  // Delete them only now: deleting the last member of a group in the kernel would delete the group and its routes too.
  for (Nexthop* nexthop : std::exchange(group.leaving, {})) {
    const bool came_back = std::ranges::any_of(group.members, [&](const Member& m) { return m.nexthop == nexthop; });
    if (!came_back) leave(*nexthop, group);
  }
}

Outcome NexthopGroups::remove(std::string_view name) {
  const auto it = groups_.find({std::string{kNexthopGroup.name()}, std::string{name}});
  if (it == groups_.end()) return Outcome::done();
  const Fact unused{kGroupUnused, std::string{name}};
  Group& group = it->second;
  if (!group.deleting && !holds(unused)) return Outcome::wait_for(unused);
  if (group.asking) return Outcome::retry_after(kSoon, Status{StatusCode::FailedPrecondition, "an order for this group is under way"});
  begin_delete(group, current_ticket());
  return Outcome::staged();
}

/// Withdraws the fact before it orders the deletion, so that no route uses the group again.
void NexthopGroups::begin_delete(Group& group, const Ticket& ticket) {
  set_way(group.fact, false, {});
  become_unusable(group);
  count(group, PlaneState::Pending);
  ids_.forget(group.fact);
  group.deleting = true;
  program(programmer_, NexthopDelete{group.id},
          [this, fact = group.fact, ticket](const Status& status) { finish_remove(fact, ticket, status); });
}

void NexthopGroups::finish_remove(const Fact& fact, const Ticket& ticket, const Status& status) {
  const auto it = groups_.find({std::string{fact.kind.name()}, fact.key});
  RONDO_ASSERT(it != groups_.end());
  const Outcome outcome = outcome_of_delete(status);
  if (outcome.kind() == Outcome::Kind::Done) {
    release_leaving(it->second);
    for (const Member& member : it->second.members) leave(*member.nexthop, it->second);
    group_ids_.erase(it->second.id.value());
    ids_.forget(fact);
    groups_.erase(it);
  } else if (outcome.kind() == Outcome::Kind::Reject || fact.kind == kNextHops) {
    it->second.deleting = false;
    it->second.sure = false;
  }
  if (fact.kind == kNexthopGroup) return settle(ticket, outcome);
  if (outcome.kind() != Outcome::Kind::Done) return put_off(it->second, status, refused_delay(it->second.refusals.note(status)));
  if (sets_.find(fact.key) != nullptr) queue_set(fact.key);  // A route wants it again.
}

// --- next hops

NexthopGroups::Nexthop& NexthopGroups::nexthop_at(const HopKey& key) {
  const auto [it, first] = nexthops_.try_emplace(key);
  if (first) {
    it->second.key = key;
    it->second.id = number_of_nexthop(key);
    withdraw({kNeighborUnused, neighbor_key(key.port, key.gateway)});
  }
  return it->second;
}

void NexthopGroups::ask(Nexthop& nexthop) {
  if (nexthop.asking) {
    nexthop.again = true;
    return;
  }
  if (!nexthop.resolved || !has_port(nexthop.key)) return;
  nexthop.asking = true;
  nexthop.ordered = true;
  program(programmer_, order_of(nexthop), [this, key = nexthop.key](const Status& status) { answered(key, status); });
}

void NexthopGroups::answered(const HopKey& key, const Status& status) {
  Nexthop& nexthop = nexthops_.at(key);
  nexthop.asking = false;
  if (status.ok()) nexthop.made = !nexthop.again;
  if (is_taken(status)) {
    take_other_number(nexthop);
    nexthop.again = true;
  }
  if (nexthop.users.empty()) {
    drop(nexthop);
    return;
  }
  const bool believed = !std::exchange(nexthop.again, false);
  if (!believed) ask(nexthop);
  if (nexthop.asking) return;
  nexthop.present = believed && status.ok();
  const std::string trouble = key.gateway.is_v6() ? ipv6_trouble(status, key.port, ports_.mtu(key.port)) : std::string{};
  nexthop.failure = trouble.empty() ? status : status.with_context(trouble);
  const unsigned refusals = nexthop.refusals.note(trouble.empty() ? status : Status{});
  nexthop.refused = believed && !status.ok() && !is_passing(status) && trouble.empty();
  if (may_come(nexthop) && !nexthop.present) {
    const Duration delay = trouble.empty() ? refused_delay(refusals) : kIpv6OffRetry;
    nexthop.retry_at = runtime().scheduler().now() + delay;
    retry_later(delay);
  }
  const std::vector<Group*> users{nexthop.users.begin(), nexthop.users.end()};
  for (Group* group : users) refresh(*group);  // This may delete the next hop.
}

NexthopSet NexthopGroups::order_of(const Nexthop& nexthop) const {
  return {nexthop.id, nexthop.key.gateway, ports_.find(nexthop.key.port), !nexthop.made, nexthop.key.onlink};
}

/// True if the next hop is absent although every fact it needs holds, so that a retry may help.
bool NexthopGroups::may_come(const Nexthop& nexthop) const { return nexthop.resolved && !nexthop.refused && has_port(nexthop.key); }

/// True if the port of a next hop is usable for its family.
bool NexthopGroups::has_port(const HopKey& key) const {
  return !is_of_others(key.port) && holds({kCarrier, key.port}) && (!key.gateway.is_v6() || holds({kIpv6, key.port}));
}

void NexthopGroups::leave(Nexthop& nexthop, Group& group) {
  nexthop.users.erase(&group);
  if (nexthop.users.empty() && !nexthop.asking) drop(nexthop);
}

void NexthopGroups::drop(Nexthop& nexthop) {
  const HopKey key = nexthop.key;
  const NexthopId id = nexthop.id;
  const bool ordered = nexthop.ordered;
  nexthops_.erase(key);
  if (!is_used({key.port, key.gateway})) announce({kNeighborUnused, neighbor_key(key.port, key.gateway)});
  if (ordered) {
    delete_object(id);  // Delete it even if we believe that it is absent: the order is cheap, and a leaked object would stay.
  } else {
    free_nexthop_ids_.push_back(id.value());
  }
}

void NexthopGroups::delete_object(NexthopId id) {
  // The number becomes free only after the kernel has released it.
  program(programmer_, NexthopDelete{id}, [this, id](const Status& status) {
    if (status.ok() || !is_passing(status) || status.code() == StatusCode::NotFound) {
      free_nexthop_ids_.push_back(id.value());
    } else {
      undeleted_.push_back(id);
      retry_later(kSoon);
    }
  });
}

void NexthopGroups::lost(Nexthop& nexthop) {
  if (nexthop.asking) nexthop.again = true;
  nexthop.present = false;
  nexthop.made = false;
  nexthop.refused = false;
  nexthop.refusals = {};
  nexthop.retry_at = {};
  for (Group* group : nexthop.users) {
    if (group->asking) group->again = true;
    bool emptied = false;
    for (std::vector<GroupMember>& members : group->possible) {
      const auto erased = std::erase_if(members, [&](const GroupMember& member) { return member.nexthop == nexthop.id; });
      emptied = emptied || (erased > 0 && members.empty());
    }
    if (emptied) group->made = false;
    if (emptied && !group->deleting) become_unusable(*group);
    group->refusals = {};
    group->retry_at = {};
    if (group->counted == PlaneState::Refused) note_not_usable(*group);
    tell_accepted(*group);
  }
}

// --- groups

/// The kernel has it no more, and dropped its routes with it.
void NexthopGroups::lost(Group& group) {
  group.possible.assign(1, {});
  group.sure = true;
  become_unusable(group);
  refresh(group);
}

void NexthopGroups::refresh(Group& group) {
  if (group.deleting) return;
  if (group.asking) {
    group.again = true;
    return;
  }
  if (is_unwanted_set(group)) return begin_delete(group, {});
  std::vector<GroupMember> wanted;
  const Nexthop* coming = nullptr;
  for (const Member& member : group.members) {
    if (member.nexthop->asking) return;  // Give one order with all members instead of one for each: a replace is the slow call.
    if (member.nexthop->present) {
      wanted.push_back({member.nexthop->id, member.weight});
    } else if (may_come(*member.nexthop)) {
      coming = member.nexthop;
    }
  }
  const std::vector<GroupMember>& actual = group.possible.front();
  if (group.sure && wanted == actual) {
    become_usable(group);  // Also a group whose deletion was refused: it had been given up and is wanted again.
    arrived(group);
  } else if (!wanted.empty()) {
    // All members change, so pass through both sets. If the old members disappeared a moment ago, this order is refused, and we learn that
    // the group was lost with them.
    const auto stays = [&](const GroupMember& a) {
      return std::ranges::any_of(wanted, [&](const GroupMember& w) { return w.nexthop == a.nexthop; });
    };
    const bool all_change = !actual.empty() && std::ranges::none_of(actual, stays);
    if (all_change && wanted.size() + actual.size() <= limits::kGroupMembers) wanted.insert(wanted.end(), actual.begin(), actual.end());
    order(group, std::move(wanted));
  } else if (coming != nullptr && ids_.at(group.fact).usable) {
    const Duration delay = std::max(retry_delay(coming->failure), refused_delay(coming->refusals.times()));
    put_off(group, coming->failure, delay);  // Make before break: the old members stay until the first new one is there.
  } else {
    order_delete(group);  // The kernel's group has old members that are no longer wanted, and no new member is usable.
  }
}

void NexthopGroups::order(Group& group, std::vector<GroupMember> members) {
  group.asking = true;
  group.possible.push_back(members);
  ++group_replaces_;
  program(programmer_, GroupSet{group.id, !group.made, group.made, std::move(members)},
          [this, fact = group.fact](const Status& status) { answered(fact, status); });
}

void NexthopGroups::order_delete(Group& group) {
  become_unusable(group);
  group.asking = true;
  group.possible.emplace_back();
  program(programmer_, NexthopDelete{group.id},
          [this, fact = group.fact](const Status& status) { answered(fact, status.code() == StatusCode::NotFound ? Status{} : status); });
}

void NexthopGroups::answered(const Fact& fact, const Status& status) {
  Group& group = groups_.at({std::string{fact.kind.name()}, fact.key});
  group.asking = false;
  if (status.code() == StatusCode::NotFound) {  // Another program deleted the group that was to be changed.
    group.made = group.again = false;
    return lost(group);
  }
  if (is_taken(status)) {
    take_other_number(group);
    group.again = true;
  }
  const unsigned refusals = group.refusals.note(status);
  if (status.ok()) {
    group.made = !group.possible.back().empty() && !group.again;
    group.retry_at = {};
    group.possible.erase(group.possible.begin(), group.possible.end() - 1);
    group.sure = !group.again;
  } else {
    // A refusal changes nothing. After a broken socket, a lost answer or an exception, the order may or may not have been carried out.
    const StatusCode code = status.code();
    const bool open = code == StatusCode::Unavailable || code == StatusCode::DeadlineExceeded || code == StatusCode::DataLoss ||
                      code == StatusCode::Internal;
    if (!open) group.possible.pop_back();
    if (open || is_taken(status)) group.sure = false;
  }
  if (std::exchange(group.again, false)) {
    refresh(group);  // A member appeared or disappeared while the order was under way.
  } else if (status.ok()) {
    become_usable(group);
    refresh(group);
  } else if (is_passing(status) || group.fact.kind == kNextHops) {  // No row could say that it is rejected.
    put_off(group, status, refused_delay(refusals));
  } else {
    tell_accepted(group);
    settle_group(group, Outcome::reject(status));
  }
}

void NexthopGroups::arrived(Group& group) {
  release_leaving(group);
  const auto refused = std::ranges::find_if(group.members, [](const Member& m) { return m.nexthop->refused; });
  const bool is_usable = ids_.at(group.fact).usable;
  if (!is_usable) note_not_usable(group);
  if (refused != group.members.end()) {
    tell_accepted(group);
    return settle_group(group, Outcome::reject(refused->nexthop->failure));
  }
  if (!is_usable && group.fact.kind == kNexthopGroup && coming_member(group) != nullptr) {
    const Fact accepted{kGroupAccepted, group.fact.key};
    if (!std::exchange(group.awaits_kernel, true)) withdraw(accepted);
    return settle_group(group, Outcome::wait_for(accepted));
  }
  tell_accepted(group);
  settle_group(group, Outcome::done());
}

void NexthopGroups::become_usable(Group& group) {
  GroupIds::Entry& entry = ids_.at(group.fact);
  if (entry.usable || group.possible.front().empty()) return;
  entry.id = group.id;
  entry.usable = true;
  count(group, PlaneState::Installed);
  announce(group.fact);
  tell_accepted(group);
}

void NexthopGroups::become_unusable(Group& group) {
  GroupIds::Entry& entry = ids_.at(group.fact);
  if (!entry.usable) return;
  entry.usable = false;
  ++entry.losses;
  count(group, PlaneState::Withdrawn);
  withdraw(group.fact);
}

void NexthopGroups::settle_group(Group& group, const Outcome& outcome) {
  if (group.ticket.consumer == nullptr) return;
  settle(std::exchange(group.ticket, Ticket{}), outcome);
}

// --- ports and time

void NexthopGroups::carrier(std::string_view port, bool up) {
  for (auto it = nexthops_.lower_bound({std::string{port}}); it != nexthops_.end() && it->first.port == port; ++it) {
    Nexthop& nexthop = it->second;
    if (!up) {
      lost(nexthop);
    } else if (!nexthop.present && !nexthop.asking) {
      ask(nexthop);
    }
  }
}

/// The kernel keeps IPv6 next hops while IPv6 is off, and loses the packets that it sends to them. So they are deleted, with the same
/// effect on groups and routes as the loss of the carrier. If the data plane refuses that, the audit finds them.
void NexthopGroups::ipv6(std::string_view port, bool begins) {
  const bool has_carrier = holds({kCarrier, std::string{port}});  // Without it the kernel has dropped them.
  for (auto it = nexthops_.lower_bound({std::string{port}}); it != nexthops_.end() && it->first.port == port; ++it) {
    Nexthop& nexthop = it->second;
    if (!it->first.gateway.is_v6()) continue;
    if (!begins && has_carrier && (nexthop.present || nexthop.asking)) {
      lost(nexthop);
      program(programmer_, NexthopDelete{nexthop.id}, [](const Status&) {});
    }
    if (begins && !nexthop.present && !nexthop.asking) ask(nexthop);
    for (Group* const group : std::vector<Group*>{nexthop.users.begin(), nexthop.users.end()}) tell_accepted(*group);
  }
}

}  // namespace rondo::switch_agent
