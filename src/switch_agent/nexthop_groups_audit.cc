// nexthop_groups_audit.cc: next hops and groups that differ from what was ordered, and their repair. The kernel drops a group with its
// last member, and routes with their group. So a missing next hop counts as lost, like one on a port without carrier.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

std::vector<GroupMember> sorted(std::vector<GroupMember> members) {
  std::ranges::sort(members, {}, [](const GroupMember& member) { return std::pair{member.nexthop, member.weight}; });
  return members;
}

std::string words_of(const NexthopEntry& entry) {
  return entry.members.empty() ? to_string(NexthopSet{entry.id, entry.gateway, entry.port, false, entry.onlink})
                               : to_string(GroupSet{.id = entry.id, .members = entry.members});
}

/// Finds the entry with this number and marks it as wanted.
const NexthopEntry* find(NexthopLook& look, NexthopId id) {
  const NexthopEntry* const entry = look.find(id, &NexthopEntry::id);
  if (entry != nullptr) look.want(*entry);
  return entry;
}

/// No table has the sets of next hops that routes name.
std::string table_of(const Fact& fact) { return fact.kind == kNexthopGroup ? "NEXTHOP_GROUP_TABLE" : ""; }

}  // namespace

bool NexthopGroups::compare(NexthopLook& look, std::size_t limit, Findings& findings) const {
  if (!look.walked_nexthops) {
    look.walked_nexthops =
        walk_slice(nexthops_, look.after_nexthop, limit, [&](const HopKey&, const Nexthop& one) { compare(one, look, findings); });
  }
  if (look.walked_nexthops && !look.walked) {
    look.walk(groups_, limit, [&](const auto&, const Group& one) { compare(one, look, findings); });
    for (const NexthopId id : undeleted_) find(look, id);
  }
  return look.add_unwanted(
      limit, findings, [](const NexthopEntry& entry) { return NexthopDelete{entry.id}; }, [](const NexthopEntry&) { return false; },
      [this](const NexthopEntry& entry) { return ports_.named(words_of(entry)); });
}

void NexthopGroups::compare(const Nexthop& nexthop, NexthopLook& look, Findings& findings) const {
  const NexthopEntry* const actual = find(look, nexthop.id);
  // A next hop that is present and unexpected has one of our numbers: another program created it, and orders for that number may be
  // refused.
  if (nexthop.asking || (!nexthop.present && actual == nullptr && !was_refused_in_use(nexthop))) return;
  // Perhaps it is of an earlier run: the kernel would delete its routes with it.
  if (!nexthop.present && actual != nullptr && !findings.with_unwanted()) return;
  const NexthopSet wanted = order_of(nexthop);
  const bool is_same = actual != nullptr && actual->members.empty() && actual->gateway == wanted.gateway && actual->port == wanted.port &&
                       actual->onlink == wanted.onlink;
  if (nexthop.present && is_same) return;
  const DriftKind kind = actual == nullptr ? DriftKind::Missing : DriftKind::Changed;
  findings.add(kind, NexthopDelete{nexthop.id}, [&] {
    const Group* const user = nexthop.users.empty() ? nullptr : *nexthop.users.begin();
    return Drift{.kind = kind,
                 .object = NexthopDelete{nexthop.id},
                 .table = user == nullptr ? std::string{} : table_of(user->fact),
                 .key = user == nullptr ? std::string{} : user->fact.key,
                 .wanted = nexthop.present || actual == nullptr ? ports_.named(to_string(wanted))
                                                                : "no nexthop " + std::to_string(nexthop.id.value()),
                 .actual = actual == nullptr ? std::string{} : ports_.named(words_of(*actual))};
  });
}

/// True if it was in the data plane and disappeared.
bool NexthopGroups::was_lost(const Group& group) const {
  const auto entry = ids_.find(group.fact.kind, group.fact.key);
  return entry && !entry->usable && entry->losses > 0;
}

/// True if it was refused permanently while a group that was already present needs it: the obstacle may have gone.
bool NexthopGroups::was_refused_in_use(const Nexthop& nexthop) const {
  return nexthop.refused && holds({kCarrier, nexthop.key.port}) &&
         std::ranges::any_of(nexthop.users, [this](const Group* group) { return was_lost(*group); });
}

void NexthopGroups::compare(const Group& group, NexthopLook& look, Findings& findings) const {
  const NexthopEntry* const actual = find(look, group.id);
  if (group.asking || group.deleting) return;
  std::vector<GroupMember> wanted = group.possible.front();
  if (!group.sure || (wanted.empty() && was_lost(group))) {  // An order was refused, and no retry is pending.
    wanted.clear();
    for (const Member& member : group.members) {
      if (member.nexthop->present) wanted.push_back({member.nexthop->id, member.weight});
    }
  }
  if (wanted.empty() && (actual == nullptr || !findings.with_unwanted())) return;
  if (actual != nullptr && !wanted.empty() && sorted(actual->members) == sorted(wanted)) return;
  const DriftKind kind = actual == nullptr ? DriftKind::Missing : DriftKind::Changed;
  findings.add(kind, NexthopDelete{group.id}, [&] {
    return Drift{
        .kind = kind,
        .object = NexthopDelete{group.id},
        .table = table_of(group.fact),
        .key = group.fact.key,
        .wanted = wanted.empty() ? "no group " + std::to_string(group.id.value()) : to_string(GroupSet{.id = group.id, .members = wanted}),
        .actual = actual == nullptr ? std::string{} : ports_.named(words_of(*actual))};
  });
}

void NexthopGroups::add_objects_on(std::string_view port, std::vector<DeleteOrder>& objects) const {
  for (auto it = nexthops_.lower_bound({std::string{port}}); it != nexthops_.end() && it->first.port == port; ++it) {
    if (it->second.ordered) objects.emplace_back(NexthopDelete{it->second.id});
  }
}

std::set<NexthopId> NexthopGroups::numbers() const {
  std::set<NexthopId> all{undeleted_.begin(), undeleted_.end()};
  for (const auto& [key, nexthop] : nexthops_) all.insert(nexthop.id);
  for (const auto& [key, group] : groups_) all.insert(group.id);
  return all;
}

void NexthopGroups::program_again(DriftKind kind, std::span<const NexthopDelete> objects) {
  std::set<NexthopId> ids;
  for (const NexthopDelete& object : objects) ids.insert(object.id);
  // Repair next hops first: otherwise a group that lost one would be ordered twice.
  for (auto& [key, nexthop] : nexthops_) {
    if (ids.contains(nexthop.id)) program_again(kind, nexthop);
  }
  for (auto& [key, group] : groups_) {
    if (ids.contains(group.id)) program_again(kind, group);
  }
}

void NexthopGroups::program_again(DriftKind kind, Nexthop& nexthop) {
  if (nexthop.asking) return;
  if (kind == DriftKind::Missing) {
    // The number stays ours: another program may have replaced the object, which is missing among those of our protocol.
    const bool made = nexthop.made;
    lost(nexthop);
    nexthop.made = made;
  }
  nexthop.refused = false;
  if (kind == DriftKind::Changed && !nexthop.present) {
    program(programmer_, NexthopDelete{nexthop.id}, [](const Status&) {});
  }
  ask(nexthop);
}

void NexthopGroups::program_again(DriftKind kind, Group& group) {
  if (group.asking || group.deleting) return;
  if (kind == DriftKind::Missing) {
    group.made = false;  // Another program may have made one with this number, and an update does not change its protocol.
    return lost(group);
  }
  if (group.possible.front().empty()) {
    program(programmer_, NexthopDelete{group.id}, [](const Status&) {});
  } else {
    group.sure = false;
  }
  refresh(group);
}

}  // namespace rondo::switch_agent
