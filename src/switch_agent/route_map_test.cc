// RouteMap against a plain model: which prefixes exist, which group each is on, and that lost routes are first in their group's list.
#include "switch_agent/route_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "rondo/base/random.h"

namespace rondo::switch_agent {
namespace {

constexpr FactKind kKind{"nexthop-group"};

Prefix prefix_of(std::uint64_t number) { return Prefix::host(IpAddress::v4(static_cast<std::uint32_t>(0x0A000000U + number))); }

/// Returns the group's list from its head, and checks its back references.
std::vector<std::uint32_t> list_of(RouteMap& map, std::uint32_t group) {
  std::vector<std::uint32_t> slots;
  std::uint32_t before = RouteMap::kNone;
  for (std::uint32_t slot = map.group(group).head; slot != RouteMap::kNone; slot = map[slot].next) {
    EXPECT_EQ(map[slot].previous, before);
    EXPECT_EQ(map[slot].group, group);
    slots.push_back(slot);
    before = slot;
  }
  EXPECT_EQ(map.group(group).tail, before);
  return slots;
}

TEST(RouteMap, AGroupIsMadeOnceAndItsEntryIsLookedUpAgainWhenForgotten) {
  GroupIds ids;
  RouteMap map;
  ids.at({kKind, "7"}).id = NexthopId{1};
  const std::uint32_t slot = map.group_at(kKind, "7", ids);
  EXPECT_EQ(map.group_at(kKind, "7", ids), slot);
  EXPECT_EQ(map.group(slot).entry->id, NexthopId{1});
  ids.forget({kKind, "7"});
  ids.at({kKind, "7"}).id = NexthopId{2};
  EXPECT_EQ(map.group_at(kKind, "7", ids), slot);
  EXPECT_EQ(map.group(slot).entry->id, NexthopId{2});
  map.erase_group(slot);
  EXPECT_EQ(map.find_group(kKind, "7"), RouteMap::kNone);
}

TEST(RouteMap, RoutesAreCountedByTableAndFamily) {
  RouteMap map;
  const RouteId v6{Prefix::parse("2001:db8::/32").value(), 7};
  for (const RouteId& route : {RouteId{prefix_of(1)}, RouteId{prefix_of(2)}, v6, v6}) map.find_or_add(route);
  map.erase(map.find({prefix_of(1)}));
  std::map<std::uint32_t, RouteMap::Families> counted{{7, {0, 1}}, {kMainTable, {1, 0}}};
  EXPECT_EQ(map.families(), counted);
  map.erase(map.find(v6));
  counted.erase(7);
  EXPECT_EQ(map.families(), counted);
}

TEST(RouteMap, EqualNamesOfOtherKindsAreOtherGroups) {
  GroupIds ids;
  RouteMap map;
  const FactKind other{"next-hops"};
  ids.at({kKind, "7"});
  ids.at({other, "7"});
  EXPECT_NE(map.group_at(kKind, "7", ids), map.group_at(other, "7", ids));
}

/// Most routes have no source, so a route has no place for one.
TEST(RouteMap, RoutesWithAnotherSourceAreAGroupOfTheSameFact) {
  static_assert(sizeof(RouteMap::Route) == 40);
  GroupIds ids;
  RouteMap map;
  ids.at({kKind, "7"}).id = NexthopId{1};
  const IpAddress one = IpAddress::v4(1);
  const IpAddress two = IpAddress::v4(2);
  const std::uint32_t none = map.group_at(kKind, "7", ids);
  const std::uint32_t first = map.group_at(kKind, "7", ids, one);
  const std::uint32_t second = map.group_at(kKind, "7", ids, two);
  EXPECT_EQ(map.group_at(kKind, "7", ids, one), first);
  EXPECT_EQ(map.group(first).entry, map.group(none).entry);
  const auto all = [&] {
    std::set<std::uint32_t> slots;
    for (std::uint32_t slot = map.find_group(kKind, "7"); slot != RouteMap::kNone; slot = map.group(slot).sibling) slots.insert(slot);
    return slots;
  };
  EXPECT_EQ(all(), (std::set{none, first, second}));
  map.group(first).uses = 1;
  EXPECT_TRUE(map.has_source(one));
  EXPECT_FALSE(map.has_source(two)) << "no route uses it";
  for (const std::uint32_t gone : {first, none, second}) {
    map.erase_group(gone);
    EXPECT_FALSE(all().contains(gone));
  }
  EXPECT_EQ(map.find_group(kKind, "7"), RouteMap::kNone);
  EXPECT_FALSE(map.has_sources());
}

TEST(RouteMapModel, LinksAndUnlinksAsThePlainModelDoes) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random{seed};
    GroupIds ids;
    RouteMap map;
    std::uint32_t groups[3];
    std::vector<std::uint64_t> model[3];  // Prefix numbers, from the head.
    std::set<std::uint64_t> present;
    for (std::uint32_t i = 0; i < 3; ++i) {
      ids.at({kKind, std::to_string(i)});
      groups[i] = map.group_at(kKind, std::to_string(i), ids);
    }
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t number = random.below(60);
      std::uint32_t slot = map.find({prefix_of(number)});
      ASSERT_EQ(slot != RouteMap::kNone, present.contains(number));
      if (slot != RouteMap::kNone && random.chance(0.3)) {
        map.erase(slot);
        present.erase(number);
        for (auto& list : model) std::erase(list, number);
        continue;
      }
      if (slot == RouteMap::kNone) slot = map.find_or_add({prefix_of(number)});
      ASSERT_EQ(map.find_or_add({prefix_of(number)}), slot);
      present.insert(number);
      map.unlink(slot);
      for (auto& list : model) std::erase(list, number);
      const std::uint64_t group = random.below(4);
      const bool lost = random.chance(0.3);
      map.link(slot, group == 3 ? RouteMap::kNone : groups[group], lost);
      if (group < 3) model[group].insert(lost ? model[group].begin() : model[group].end(), number);
    }
    EXPECT_EQ(map.size(), present.size());
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<Prefix> expected;
      for (const std::uint64_t number : model[i]) expected.push_back(prefix_of(number));
      std::vector<Prefix> actual;
      for (const std::uint32_t slot : list_of(map, groups[i])) actual.push_back(map[slot].prefix);
      ASSERT_EQ(actual, expected);
    }
  }
}

TEST(RouteMapModel, TheTallyIsWhatAWalkCounts) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random{seed};
    GroupIds ids;
    RouteMap map;
    const auto entry_of = [&ids](std::uint64_t group) -> GroupIds::Entry& { return ids.at({kKind, std::to_string(group)}); };
    std::uint32_t groups[3];
    for (std::uint64_t i = 0; i < 3; ++i) {
      entry_of(i).usable = true;
      groups[i] = map.group_at(kKind, std::to_string(i), ids);
    }
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t group = random.below(4);
      if (group < 3 && random.chance(0.1)) {
        GroupIds::Entry& entry = entry_of(group);
        entry.usable = !entry.usable;
        if (!entry.usable) ++entry.losses;
        if (random.chance(0.5)) map.touch(groups[group]);  // The event arrives later than the loss.
      }
      const Prefix prefix = prefix_of(random.below(60));
      if (random.chance(0.2) && map.find({prefix}) != RouteMap::kNone) {
        map.erase(map.find({prefix}));
        continue;
      }
      const std::uint32_t slot = map.find_or_add({prefix});
      map.unlink(slot);
      const bool lost = group < 3 && random.chance(0.3);
      if (group < 3) map[slot].losses = entry_of(group).losses - (lost ? 1 : 0);
      map.link(slot, group == 3 ? RouteMap::kNone : groups[group], lost);
      if (!lost && random.chance(0.3)) map.set_restoring(slot, true);
      const std::uint32_t answered = map.find({prefix_of(random.below(60))});
      if (answered != RouteMap::kNone && random.chance(0.3)) map.set_restoring(answered, false);
    }
    PlaneCounts expected;
    std::size_t linked = 0;
    for (std::uint64_t i = 0; i < 3; ++i) {
      map.touch(groups[i]);
      for (const std::uint32_t slot : list_of(map, groups[i])) {
        ++linked;
        const bool there = map[slot].losses == entry_of(i).losses;
        const bool is_pending = there ? map[slot].restoring : entry_of(i).usable;
        ++(is_pending ? expected.pending : there ? expected.installed : expected.withdrawn);
      }
    }
    expected.installed += map.size() - linked;
    EXPECT_EQ(map.tally().installed, expected.installed);
    EXPECT_EQ(map.tally().pending, expected.pending);
    EXPECT_EQ(map.tally().withdrawn, expected.withdrawn);
  }
}

}  // namespace
}  // namespace rondo::switch_agent
