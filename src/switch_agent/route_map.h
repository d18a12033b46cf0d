// RouteMap: the programmed routes by prefix and table, and for each group and preferred source the list of its routes. A route stores the
// group's count of losses at the time of its order. If the group has been lost since, the kernel has dropped the route. Lost routes are
// first in their list. One thread only. O(1) expected.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/row_index.h"
#include "base/slab.h"
#include "dataplane/ip_hash.h"
#include "rondo/dataplane/op.h"
#include "rondo/orch/fact.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/group_ids.h"

namespace rondo::switch_agent {

/// What identifies a route: its prefix, and the table of its VRF.
struct RouteId {
  Prefix prefix;
  std::uint32_t table = kMainTable;
  friend auto operator<=>(const RouteId&, const RouteId&) = default;
};

class RouteMap {
 public:
  static constexpr std::uint32_t kNone = RowIndex::kNone;

  /// What the audit under way knows about a route.
  enum class Mark : std::uint8_t {
    None,
    Touched,  // Ordered since the audit began, so its reading is out of date.
    Same,     // Read, and equal to what was ordered.
    Suspect,  // The first reading found a difference.
  };
  struct Route {
    Prefix prefix;
    RouteType type = RouteType::Unicast;
    bool busy : 1 = false;       // A change of it is under way; other changes must wait.
    bool restoring : 1 = false;  // It was dropped with its group, and the order that restores it is under way.
    bool live : 1 = true;
    Mark mark : 2 = Mark::None;
    std::uint8_t audit : 2 = 0;  // The audit that the mark belongs to, modulo 4. Marks of another audit count as None.
    bool drifted : 1 = false;    // An audit found that the kernel's route differs from the order, and nothing has been ordered since.
    std::uint32_t table = kMainTable;
    std::uint32_t group = kNone;  // kNone for route types without next hops.
    std::uint32_t losses = 0;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    RouteId id() const noexcept { return {prefix, table}; }
    bool is(const RouteId& one) const noexcept { return prefix == one.prefix && table == one.table; }
  };
  struct Group {
    Fact fact;
    std::shared_ptr<const GroupIds::Entry> entry = nullptr;
    std::uint32_t uses = 0;  // Routes on it, and orders under way.
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    bool queued_for_put_back = false;
    // The group's part of the tally:
    std::uint32_t routes = 0;     // Linked routes.
    std::uint32_t there = 0;      // Linked routes that the kernel has not dropped since 'losses'.
    std::uint32_t restoring = 0;  // Linked routes whose restoring order is under way.
    std::uint32_t losses = 0;     // The entry's losses when the group was counted.
    bool is_down = false;
    IpAddress source{};             // Of its routes; 0.0.0.0: none. So a route itself has none.
    std::uint32_t sibling = kNone;  // The next group of the same fact, with another source.
  };

  std::uint32_t find(const RouteId& route) const {
    return by_id_.find(hash_of(route), [&](std::uint32_t slot) { return routes_[slot].is(route); });
  }
  /// Call before several finds, so that their cache misses overlap.
  void prefetch(const RouteId& route) const noexcept { by_id_.prefetch(hash_of(route)); }
  /// Finds the route, or adds one without a group.
  std::uint32_t find_or_add(const RouteId& route) {
    return by_id_.find_or_add(
        hash_of(route), [&](std::uint32_t slot) { return routes_[slot].is(route); },
        [&] {
          const std::uint32_t slot = routes_.take();
          routes_[slot] = Route{};
          routes_[slot].prefix = route.prefix;
          routes_[slot].table = route.table;
          ++of_family(route);
          return slot;
        });
  }
  void erase(std::uint32_t slot) {
    unlink(slot);
    --of_family(routes_[slot].id());
    if (const auto of = families_.find(routes_[slot].table); of->second == Families{}) families_.erase(of);
    by_id_.erase(hash_of(routes_[slot].id()), slot);
    routes_[slot].live = false;
    routes_.give_back(slot);
  }
  Route& operator[](std::uint32_t slot) noexcept { return routes_[slot]; }
  const Route& operator[](std::uint32_t slot) const noexcept { return routes_[slot]; }
  std::size_t size() const noexcept { return routes_.live(); }
  /// Every slot is below this number; some slots are not live.
  std::uint32_t limit() const noexcept { return routes_.limit(); }

  using Families = std::array<std::size_t, 2>;  // The number of routes: {IPv4, IPv6}.
  /// The tables that have routes.
  const std::map<std::uint32_t, Families>& families() const noexcept { return families_; }
  /// The number of routes in each state. O(1). touch(), link() and unlink() update it after a change of a group.
  PlaneCounts tally() const noexcept {
    const std::size_t there = routes_.live() - linked_ + there_ - restoring_;
    const std::size_t lost = std::min(drifted_, there);
    return {.installed = there - lost, .pending = linked_ - there_ - withdrawn_ + restoring_, .withdrawn = withdrawn_, .lost = lost};
  }
  /// Called when an audit finds a difference, or finds that none is left. A new order clears the flag.
  void set_drifted(std::uint32_t slot, bool drifted) noexcept {
    Route& route = routes_[slot];
    if (route.drifted == drifted) return;
    route.drifted = drifted;
    drifted ? ++drifted_ : --drifted_;
  }
  /// Called when the group became usable or the kernel dropped it.
  void touch(std::uint32_t slot) {
    Group& group = groups_[slot];
    const Counting counting(*this, group);
  }

  /// Called when the order that restores the route is given or answered. The route must be linked.
  void set_restoring(std::uint32_t slot, bool restoring) {
    Route& route = routes_[slot];
    if (route.group == kNone || route.restoring == restoring) return;
    Group& group = groups_[route.group];
    const Counting counting(*this, group);
    route.restoring = restoring;
    if (route.losses != group.losses) return;  // It was lost again meanwhile.
    restoring ? ++group.restoring : --group.restoring;
  }

  /// Adds the route at the end of the group's list (programmed) or at its start (lost).
  void link(std::uint32_t slot, std::uint32_t group, bool lost) {
    Route& route = routes_[slot];
    route.group = group;
    if (group == kNone) return;
    Group& g = groups_[group];
    const Counting counting(*this, g);
    ++g.routes;
    if (route.losses == g.losses) ++g.there;
    route.previous = lost ? kNone : g.tail;
    route.next = lost ? g.head : kNone;
    (route.previous == kNone ? g.head : routes_[route.previous].next) = slot;
    (route.next == kNone ? g.tail : routes_[route.next].previous) = slot;
  }
  void unlink(std::uint32_t slot) {
    Route& route = routes_[slot];
    set_drifted(slot, false);
    if (route.group == kNone) return;
    Group& g = groups_[route.group];
    const Counting counting(*this, g);
    --g.routes;
    if (route.losses == g.losses) {
      --g.there;
      if (route.restoring) --g.restoring;
    }
    route.restoring = false;
    (route.previous == kNone ? g.head : routes_[route.previous].next) = route.next;
    (route.next == kNone ? g.tail : routes_[route.next].previous) = route.previous;
    route.next = route.previous = kNone;
    route.group = kNone;
  }

  /// Returns the group of a fact and a source; creates it if absent. Its entry is looked up again if it was forgotten.
  std::uint32_t group_at(FactKind kind, std::string_view name, const GroupIds& ids, const IpAddress& source = {}) {
    std::uint32_t slot = find_group(kind, name, source);
    if (slot == kNone) {
      slot = groups_.take();
      groups_[slot] = Group{{kind, std::string{name}}};
      groups_[slot].source = source;
      groups_[slot].sibling = find_group(kind, name);
      names_of(kind).insert_or_assign(std::string{name}, slot);
      if (source != IpAddress{}) ++with_source_;
    }
    Group& group = groups_[slot];
    if (!group.entry || group.entry->forgotten) group.entry = ids.find(kind, name);
    touch(slot);
    return slot;
  }
  /// Adds a group that no fact names. It counts as used, so it is never freed.
  std::uint32_t add_group(std::shared_ptr<const GroupIds::Entry> entry) {
    const std::uint32_t slot = groups_.take();
    groups_[slot] = Group{.fact = {FactKind{}, ""}, .entry = std::move(entry), .uses = 1};
    return slot;
  }
  /// The group of a fact and a source.
  std::uint32_t find_group(FactKind kind, std::string_view name, const IpAddress& source) const {
    std::uint32_t slot = find_group(kind, name);
    while (slot != kNone && groups_[slot].source != source) slot = groups_[slot].sibling;
    return slot;
  }
  /// True if routes have this source. O(groups) if any has a source.
  bool has_source(const IpAddress& source) const {
    if (with_source_ == 0) return false;
    for (std::uint32_t slot = 0; slot < groups_.limit(); ++slot) {
      if (groups_[slot].uses > 0 && groups_[slot].source == source) return true;
    }
    return false;
  }
  bool has_sources() const noexcept { return with_source_ != 0; }
  /// The first group of a fact; 'sibling' leads to the others.
  std::uint32_t find_group(FactKind kind, std::string_view name) const {
    for (const auto& [of, names] : by_fact_) {
      if (of != kind) continue;
      const auto it = names.find(name);
      return it == names.end() ? kNone : it->second;
    }
    return kNone;
  }
  void erase_group(std::uint32_t slot) {
    Group& group = groups_[slot];
    Names& names = names_of(group.fact.kind);
    const auto first = names.find(group.fact.key);
    if (first->second == slot && group.sibling == kNone) {
      names.erase(first);
    } else {
      std::uint32_t* link = &first->second;
      while (*link != slot) link = &groups_[*link].sibling;
      *link = group.sibling;
    }
    if (group.source != IpAddress{}) --with_source_;
    group.uses = 0;
    group.entry.reset();
    groups_.give_back(slot);
  }
  Group& group(std::uint32_t slot) noexcept { return groups_[slot]; }
  const Group& group(std::uint32_t slot) const noexcept { return groups_[slot]; }

 private:
  /// Removes a group from the tally while it changes, updates its counters, and adds it again in its destructor.
  class Counting {
   public:
    Counting(RouteMap& map, Group& group) : map_(map), group_(group) {
      add(std::minus<>{});
      if (!group.entry || group.losses != group.entry->losses) group.there = group.restoring = 0;
      group.losses = group.entry ? group.entry->losses : 0;
      group.is_down = !group.entry || !group.entry->usable;
    }
    ~Counting() { add(std::plus<>{}); }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;

   private:
    template <class Change>
    void add(Change change) {
      map_.linked_ = change(map_.linked_, std::size_t{group_.routes});
      map_.there_ = change(map_.there_, std::size_t{group_.there});
      map_.restoring_ = change(map_.restoring_, std::size_t{group_.restoring});
      map_.withdrawn_ = change(map_.withdrawn_, std::size_t{group_.is_down ? group_.routes - group_.there : 0});
    }
    RouteMap& map_;
    Group& group_;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>{}(name); }
  };
  using Names = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;
  Names& names_of(FactKind kind) {
    for (auto& [of, names] : by_fact_) {
      if (of == kind) return names;
    }
    return by_fact_.emplace_back(kind, Names{}).second;
  }

  std::size_t& of_family(const RouteId& route) { return families_[route.table][route.prefix.address.is_v6() ? 1 : 0]; }
  std::size_t hash_of(const RouteId& route) const noexcept { return hash_(route.prefix) ^ (std::size_t{route.table} * 0x9e3779b97f4a7c15); }

  IpHash hash_;
  RowIndex by_id_;
  Slab<Route> routes_;
  std::map<std::uint32_t, Families> families_;  // By table.
  // Group contains a Fact, which has no default constructor, so a place starts with an empty Fact.
  struct GroupPlace : Group {
    GroupPlace() : Group{{FactKind{}, ""}} {}
    GroupPlace& operator=(Group group) {
      Group::operator=(std::move(group));
      return *this;
    }
  };
  Slab<GroupPlace> groups_;
  std::vector<std::pair<FactKind, Names>> by_fact_;  // Two kinds; one lookup per route.
  std::size_t linked_ = 0;                           // Routes on groups.
  std::size_t there_ = 0;                            // Routes on groups that are in the kernel.
  std::size_t restoring_ = 0;                        // Routes on groups whose restoring order is under way.
  std::size_t drifted_ = 0;
  std::size_t with_source_ = 0;  // Groups with a source.
  std::size_t withdrawn_ = 0;    // Routes on unusable groups that are not in the kernel.
};

}  // namespace rondo::switch_agent
