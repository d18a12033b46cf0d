#include "agent/nexthop_groups.h"

#include <algorithm>

#include "agent/answer.h"
#include "agent/facts.h"
#include "agent/priorities.h"
#include "agent/program.h"
#include "rondo/base/assert.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"

namespace rondo::agent {

namespace {

std::string neighbor_name(const std::string& port, const IpAddress& gateway) { return port + ":" + gateway.to_string(); }

std::uint32_t take_id(std::vector<std::uint32_t>& free, std::uint32_t& next) {
  if (free.empty()) return next++;
  const std::uint32_t id = free.back();
  free.pop_back();
  return id;
}

}  // namespace

NexthopGroups::NexthopGroups(Runtime& runtime, Programmer& programmer, const PortIds& ports, GroupIds& groups)
    : Orch(runtime, "nexthop-groups", kNexthopGroups),
      programmer_(programmer),
      ports_(ports),
      ids_(groups),
      retry_timer_("nexthop-groups retry", kNexthopGroups, [this] { retry(); }) {
  runtime.scheduler().add(retry_timer_);
  for (const auto& [table, kind] : {std::pair{"NEXTHOP_GROUP_TABLE", kNexthopGroup}, std::pair{"NEXTHOP_SET", kNexthopSet}}) {
    consume(
        table, [this, kind = kind](std::string_view name, const Fields& fields) { return set(kind, name, fields); },
        [this, kind = kind](std::string_view name) { return remove(kind, name); });
    provide(kind, [this, kind = kind](std::string_view name) {
      const auto entry = ids_.find(kind, name);
      return entry && entry->usable;
    });
    runtime.explain(kind, [this, table = std::string{table}, kind = kind](std::string_view name) {
      return FactOrigin{table, std::string{name}, state_of({kind, std::string{name}})};
    });
  }
  provide(kNeighborUnused, [this](std::string_view name) {
    return std::ranges::none_of(nexthops_, [&](const auto& n) { return neighbor_name(n.first.first, n.first.second) == name; });
  });
  runtime.explain(kNeighborUnused, [](std::string_view name) {
    return FactOrigin{"", "", "a next-hop group still has " + std::string{name} + " as a member"};
  });
  observe(kCarrier, [this](std::string_view port, bool up) { carrier(port, up); });
}

NexthopGroups::~NexthopGroups() = default;

NexthopGroups::Counts NexthopGroups::counts() const {
  Counts counts;
  counts.nexthops = nexthops_.size();
  counts.groups = groups_.size();
  counts.usable_groups = static_cast<std::size_t>(
      std::ranges::count_if(groups_, [](const auto& g) { return !g.second.in_kernel.empty(); }));
  counts.group_replaces = group_replaces_;
  return counts;
}

// --- rows

Outcome NexthopGroups::set(ConstraintKind kind, std::string_view name, const Fields& fields) {
  if (fields.contains("nexthop_group")) {
    return Outcome::reject(Status{Code::Unimplemented, "field 'nexthop_group': groups of groups are not supported"});
  }
  const Result<std::vector<Hop>> hops = parse_hops(fields);
  if (!hops) return Outcome::reject(hops.error());
  std::vector<Constraint> missing;
  for (const Hop& hop : *hops) {
    Constraint neighbor{kNeighbor, neighbor_name(hop.port, hop.gateway)};
    if (!holds(neighbor)) missing.push_back(std::move(neighbor));
  }
  if (!missing.empty()) return Outcome::wait_for(std::move(missing));
  Group& group = group_at({kind, std::string{name}});
  group.ticket = current_ticket();
  set_members(group, *hops);
  refresh(group);
  return Outcome::staged();
}

NexthopGroups::Group& NexthopGroups::group_at(const Constraint& fact) {
  const auto [it, first] = groups_.try_emplace({std::string{fact.kind.name()}, fact.key}, Group{fact, {}, {}, {}, {}, {}, false, false, false, {}});
  if (first) {
    it->second.id = NexthopId{take_id(free_group_ids_, next_group_id_)};
    ids_.at(fact).id = it->second.id;
  }
  return it->second;
}

void NexthopGroups::set_members(Group& group, const std::vector<Hop>& hops) {
  const std::vector<Member> before = std::move(group.members);
  group.members.clear();
  for (const Hop& hop : hops) {
    Nexthop& nexthop = nexthop_at({hop.port, hop.gateway});
    nexthop.users.insert(&group);
    group.members.push_back({&nexthop, hop.weight});
    if (!nexthop.present) ask(nexthop);
  }
  for (const Member& member : before) {
    const bool stays = std::ranges::any_of(group.members, [&](const Member& m) { return m.nexthop == member.nexthop; });
    if (!stays) group.leaving.push_back(member.nexthop);
  }
}

void NexthopGroups::release_leaving(Group& group) {
  // Only now: deleting the last member of a group that is in the kernel would take the group and its routes with it.
  for (Nexthop* nexthop : std::exchange(group.leaving, {})) {
    const bool came_back = std::ranges::any_of(group.members, [&](const Member& m) { return m.nexthop == nexthop; });
    if (!came_back) leave(*nexthop, group);
  }
}

Outcome NexthopGroups::remove(ConstraintKind kind, std::string_view name) {
  const auto it = groups_.find({std::string{kind.name()}, std::string{name}});
  if (it == groups_.end()) return Outcome::done();
  const Constraint unused{kind == kNexthopGroup ? kGroupUnused : kSetUnused, std::string{name}};
  if (!holds(unused)) return Outcome::wait_for(unused);
  Group& group = it->second;
  if (group.asking) return Outcome::retry_after(kSoon, Status{Code::FailedPrecondition, "an order for this group is under way"});
  // No route may take it up again: it ends before the order is given.
  become_unusable(group);
  ids_.forget(group.fact);
  group.deleting = true;
  program(programmer_, NexthopDelete{group.id}, [this, fact = group.fact, ticket = current_ticket()](const Status& status) {
    finish_remove(fact, ticket, status);
  });
  return Outcome::staged();
}

void NexthopGroups::finish_remove(const Constraint& fact, const Ticket& ticket, const Status& status) {
  const auto it = groups_.find({std::string{fact.kind.name()}, fact.key});
  RONDO_ASSERT(it != groups_.end());
  Outcome outcome = outcome_of_delete(status);
  if (outcome.kind() == Outcome::Kind::Done) {
    release_leaving(it->second);
    for (const Member& member : it->second.members) leave(*member.nexthop, it->second);
    free_group_ids_.push_back(it->second.id.value());
    groups_.erase(it);
  } else {
    it->second.deleting = false;
  }
  settle(ticket, std::move(outcome));
}

// --- next hops

NexthopGroups::Nexthop& NexthopGroups::nexthop_at(const HopKey& key) {
  const auto [it, first] = nexthops_.try_emplace(key);
  if (first) {
    it->second.key = key;
    it->second.id = NexthopId{take_id(free_nexthop_ids_, next_nexthop_id_)};
  }
  return it->second;
}

void NexthopGroups::ask(Nexthop& nexthop) {
  if (nexthop.asking) {
    nexthop.again = true;
    return;
  }
  if (!holds({kCarrier, nexthop.key.first})) return;
  nexthop.asking = true;
  program(programmer_, NexthopSet{nexthop.id, nexthop.key.second, ports_.find(nexthop.key.first)},
          [this, key = nexthop.key](const Status& status) { answered(key, status); });
}

void NexthopGroups::answered(const HopKey& key, const Status& status) {
  Nexthop& nexthop = nexthops_.at(key);
  nexthop.asking = false;
  if (nexthop.users.empty()) {
    nexthop.present = status.ok();
    drop(nexthop);
    return;
  }
  if (std::exchange(nexthop.again, false)) {
    ask(nexthop);
    return;
  }
  nexthop.present = status.ok();
  nexthop.failure = status.ok() || is_passing(status) ? Status{} : status;
  if (!status.ok() && is_passing(status)) retry_later();
  for (Group* group : nexthop.users) refresh(*group);
}

void NexthopGroups::leave(Nexthop& nexthop, Group& group) {
  nexthop.users.erase(&group);
  if (nexthop.users.empty() && !nexthop.asking) drop(nexthop);
}

void NexthopGroups::drop(Nexthop& nexthop) {
  const HopKey key = nexthop.key;
  const NexthopId id = nexthop.id;
  const bool present = nexthop.present;
  nexthops_.erase(key);
  announce({kNeighborUnused, neighbor_name(key.first, key.second)});
  if (!present) {
    free_nexthop_ids_.push_back(id.value());
    return;
  }
  // The number is free only when the kernel has let it go; what answer it gives is of no interest, gone is gone.
  program(programmer_, NexthopDelete{id}, [this, id](const Status&) { free_nexthop_ids_.push_back(id.value()); });
}

void NexthopGroups::lost(Nexthop& nexthop) {
  if (nexthop.asking) nexthop.again = true;
  nexthop.present = false;
  for (Group* group : nexthop.users) {
    if (group->asking) group->again = true;
    std::erase_if(group->in_kernel, [&](const GroupMember& member) { return member.nexthop == nexthop.id; });
    if (group->in_kernel.empty()) become_unusable(*group);
  }
}

// --- groups

void NexthopGroups::refresh(Group& group) {
  if (group.deleting) return;
  if (group.asking) {
    group.again = true;
    return;
  }
  std::vector<GroupMember> wanted;
  bool waiting = false;
  for (const Member& member : group.members) {
    if (member.nexthop->present) wanted.push_back({member.nexthop->id, member.weight});
    waiting = waiting || member.nexthop->asking;
  }
  if (waiting) return;  // One order with all of them instead of one for each: a replace is the slow call.
  if (wanted == group.in_kernel) {
    if (wanted.empty()) become_unusable(group);
    arrived(group);
    return;
  }
  if (wanted.empty()) {
    delete_empty(group);
    return;
  }
  group.asking = true;
  group.asked = wanted;
  ++group_replaces_;
  program(programmer_, GroupSet{group.id, std::move(wanted)}, [this, fact = group.fact](const Status& status) { answered(fact, status); });
}

void NexthopGroups::answered(const Constraint& fact, const Status& status) {
  Group& group = groups_.at({std::string{fact.kind.name()}, fact.key});
  group.asking = false;
  if (std::exchange(group.again, false)) {
    // A member came or went while the order was under way: what the kernel has now is not known. Order anew.
    group.in_kernel.clear();
    refresh(group);
    return;
  }
  if (status.ok()) {
    group.in_kernel = std::move(group.asked);
    become_usable(group);
    arrived(group);
    return;
  }
  if (is_passing(status)) {
    retry_later();
  } else {
    settle_group(group, Outcome::reject(status));
  }
}

void NexthopGroups::arrived(Group& group) {
  release_leaving(group);
  const auto refused = std::ranges::find_if(group.members, [](const Member& m) { return !m.nexthop->failure.ok(); });
  settle_group(group, refused == group.members.end() ? Outcome::done() : Outcome::reject(refused->nexthop->failure));
}

void NexthopGroups::delete_empty(Group& group) {
  // None of the wanted members can be used now, but old ones are in the kernel: those are not wanted any more.
  become_unusable(group);
  group.in_kernel.clear();
  group.asking = true;
  group.asked.clear();
  program(programmer_, NexthopDelete{group.id}, [this, fact = group.fact](const Status& status) {
    Group& g = groups_.at({std::string{fact.kind.name()}, fact.key});
    g.asking = false;
    if (!status.ok() && status.code() != Code::NotFound) retry_later();
    g.again = false;
    refresh(g);
  });
}

void NexthopGroups::become_usable(Group& group) {
  GroupIds::Entry& entry = ids_.at(group.fact);
  if (entry.usable || group.in_kernel.empty()) return;
  entry.id = group.id;
  entry.usable = true;
  announce(group.fact);
}

void NexthopGroups::become_unusable(Group& group) {
  GroupIds::Entry& entry = ids_.at(group.fact);
  if (!entry.usable) return;
  entry.usable = false;
  ++entry.losses;
  withdraw(group.fact);
}

void NexthopGroups::settle_group(Group& group, Outcome outcome) {
  if (group.ticket.consumer == nullptr) return;
  settle(std::exchange(group.ticket, Ticket{}), std::move(outcome));
}

// --- ports and time

void NexthopGroups::carrier(std::string_view port, bool up) {
  for (auto it = nexthops_.lower_bound({std::string{port}, IpAddress{}}); it != nexthops_.end() && it->first.first == port; ++it) {
    if (up) {
      ask(it->second);
    } else {
      lost(it->second);
    }
  }
}

void NexthopGroups::retry_later() {
  if (!retry_timer_.is_armed()) retry_timer_.arm_at(runtime().clock().now() + kSoon);
}

void NexthopGroups::retry() {
  for (auto& [key, nexthop] : nexthops_) {
    if (!nexthop.present && !nexthop.asking && nexthop.failure.ok()) ask(nexthop);
  }
  for (auto& [key, group] : groups_) refresh(group);
}

std::string NexthopGroups::state_of(const Constraint& fact) const {
  const auto it = groups_.find({std::string{fact.kind.name()}, fact.key});
  if (it == groups_.end()) return "";
  std::string note;
  for (const Member& member : it->second.members) {
    if (member.nexthop->present) continue;
    const auto& [port, gateway] = member.nexthop->key;
    note.append(note.empty() ? "" : "; ").append(gateway.to_string()).append(" on ").append(port).append(": ");
    if (!member.nexthop->failure.ok()) {
      note.append(member.nexthop->failure.message());
    } else {
      note.append(holds({kCarrier, port}) ? "being programmed" : "the port has no carrier");
    }
  }
  return note;
}

}  // namespace rondo::agent
