// nexthop_groups_numbers.cc: the numbers of next hops and groups. All programs share them: an earlier run has left some, and another
// program may have one that we choose.
#include <algorithm>
#include <utility>

#include "rondo/store/record.h"
#include "switch_agent/facts.h"
#include "switch_agent/nexthop_groups.h"

namespace rondo::switch_agent {

namespace {

std::uint32_t take_id(std::vector<std::uint32_t>& free, std::uint32_t& next, const std::set<std::uint32_t>& taken) {
  while (taken.contains(next)) ++next;
  if (free.empty()) return next++;
  const std::uint32_t id = free.back();
  free.pop_back();
  return id;
}

/// The number for a group if no other group has it; otherwise the group gets the next free number.
std::uint32_t first_choice(const NumberSpace& numbers, const Fact& fact) {
  const std::uint64_t hash = hash_key(std::string{fact.kind.name()} + ' ' + fact.key);
  return numbers.groups + static_cast<std::uint32_t>(hash % numbers.group_count);
}

/// True if a group with this number probably belongs to a name with this first choice. Taken numbers shift a group by a few, and builds
/// that did not number by name counted from the first number. Any other number belongs to another name.
bool may_be_of(const NumberSpace& numbers, std::uint32_t choice, std::uint32_t id) {
  constexpr std::uint32_t kMoves = 64;
  constexpr std::uint32_t kCounted = 1U << 16;
  const std::uint32_t moved = id >= choice ? id - choice : id + numbers.group_count - choice;
  return moved < kMoves || id - numbers.groups < kCounted;
}

std::uint32_t next_choice(const NumberSpace& numbers, std::uint32_t id) {
  return id + 1 == numbers.groups + numbers.group_count ? numbers.groups : id + 1;
}

}  // namespace

void NexthopGroups::adopt(const std::vector<NexthopEntry>& left) {
  for (const NexthopEntry& entry : left) {
    taken_ids_.insert(entry.id.value());
    if (entry.members.empty()) {
      left_nexthops_.emplace(std::tuple{entry.port, entry.gateway, entry.onlink}, entry.id);
      continue;
    }
    std::vector<std::pair<std::uint32_t, std::uint16_t>> members;
    for (const GroupMember& member : entry.members) members.emplace_back(member.nexthop.value(), member.weight);
    std::ranges::sort(members);
    left_by_number_.emplace(entry.id.value(), members);
    left_groups_[std::move(members)].insert(entry.id.value());
  }
}

void NexthopGroups::end_adoption() {
  left_nexthops_.clear();
  left_groups_.clear();
  left_by_number_.clear();
}

NexthopId NexthopGroups::number_of_nexthop(const HopKey& key) {
  const auto left = left_nexthops_.find({ports_.find(key.port), key.gateway, key.onlink});
  if (left == left_nexthops_.end()) return NexthopId{take_id(free_nexthop_ids_, next_nexthop_id_, taken_ids_)};
  const NexthopId id = left->second;
  left_nexthops_.erase(left);
  return id;
}

NexthopId NexthopGroups::take_left(std::uint32_t id) {
  const auto left = left_by_number_.find(id);
  const auto equal = left_groups_.find(left->second);
  equal->second.erase(id);
  if (equal->second.empty()) left_groups_.erase(equal);
  left_by_number_.erase(left);
  return NexthopId{id};
}

/// Chooses the number of a group. The kernel's group has only the members whose ports had a carrier. If a group with this name's number
/// exists, it is this group whatever its members were: the members are replaced, and its routes stay. Otherwise, of several groups with
/// these members, it is the one whose number this name would have reached first.
NexthopId NexthopGroups::number_of_group(const Fact& fact, const std::vector<Hop>& hops) {
  std::uint32_t id = first_choice(numbers_, fact);
  if (left_by_number_.contains(id)) return take_left(id);
  if (!left_groups_.empty()) {
    std::vector<std::pair<std::uint32_t, std::uint16_t>> members;
    for (const Hop& hop : hops) {
      if (holds({kCarrier, hop.port})) members.emplace_back(nexthop_at({hop.port, hop.gateway, hop.onlink}).id.value(), hop.weight);
    }
    std::ranges::sort(members);
    if (const auto left = left_groups_.find(members); left != left_groups_.end()) {
      const std::set<std::uint32_t>& ids = left->second;
      const auto from_here = ids.lower_bound(id);
      for (const auto nearest : {from_here == ids.end() ? ids.begin() : from_here, ids.begin()}) {
        if (may_be_of(numbers_, id, *nearest)) return take_left(*nearest);
      }
    }
  }
  return free_number_from(id);
}

NexthopId NexthopGroups::free_number_from(std::uint32_t id) const {
  while (group_ids_.contains(id) || taken_ids_.contains(id)) id = next_choice(numbers_, id);
  return NexthopId{id};
}

/// True if another program has an object of the number.
bool NexthopGroups::is_taken(const Status& status) noexcept { return status.code() == StatusCode::AlreadyExists; }

void NexthopGroups::take_other_number(Nexthop& nexthop) {
  taken_ids_.insert(nexthop.id.value());
  // Their sets are ordered by number.
  std::vector<Group*> leaves;
  for (Group* const group : nexthop.users) {
    if (group->leaving.erase(&nexthop) != 0) leaves.push_back(group);
  }
  nexthop.id = NexthopId{take_id(free_nexthop_ids_, next_nexthop_id_, taken_ids_)};
  nexthop.ordered = false;
  for (Group* const group : leaves) group->leaving.insert(&nexthop);
}

void NexthopGroups::take_other_number(Group& group) {
  std::set<Nexthop*, ById> nexthops = group.leaving;
  for (const Member& member : group.members) nexthops.insert(member.nexthop);
  for (Nexthop* const nexthop : nexthops) nexthop->users.erase(&group);
  group_ids_.erase(group.id.value());
  taken_ids_.insert(group.id.value());
  group.id = free_number_from(group.id.value());
  group_ids_.insert(group.id.value());
  ids_.at(group.fact).id = group.id;
  for (Nexthop* const nexthop : nexthops) nexthop->users.insert(&group);
}

}  // namespace rondo::switch_agent
