// NexthopGroups: owns NEXTHOP_GROUP_TABLE and NEXTHOP_SET (the sets that routes with next hops of their own share), and the kernel's
// next-hop objects behind them. One object a (port, gateway), shared; one group a row. It keeps desired and actual state apart: a port that
// loses its carrier makes the kernel drop the objects on it, take them out of their groups and remove groups that become empty, all in
// silence; we take note without asking, and put back what is wanted when the carrier returns. Routes are not touched: they hang on the
// group's number.
//
// Every object has at most one order under way. What happens meanwhile sets 'again': the answer is then not believed but asked anew. News
// of a loss may come after the answer to an order that was carried out later, so a group that changes all its members passes through both
// sets: it never goes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/sched/timer.h"
#include "switch_agent/drift.h"
#include "switch_agent/group_ids.h"
#include "switch_agent/number_space.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/schema.h"

namespace rondo::switch_agent {

class NexthopGroups final : public Orch {
 public:
  NexthopGroups(Runtime& runtime, Programmer& programmer, const PortIds& ports, GroupIds& groups, bool by_name, NumberSpace numbers);
  ~NexthopGroups() override;

  struct Counts {
    std::size_t nexthops = 0;
    std::size_t groups = 0;
    std::size_t usable_groups = 0;
    std::uint64_t group_replaces = 0;
  };
  Counts counts() const;
  /// Where the row of the group 'name' stands in the data plane. O(members of the group).
  RowInPlane state_of_row(ConstraintKind kind, std::string_view name) const;
  /// How many rows of groups of 'kind' stand where. O(1).
  PlaneCounts state_counts(ConstraintKind kind) const { return tallies_[tally_of(kind)]; }
  /// Calls 'visit' with each port that has next hops, until it returns false. O(ports * log(next hops)).
  void for_each_port(const std::function<bool(std::string_view port)>& visit) const;
  /// Calls 'visit' with the groups that are withdrawn and have a next hop on 'port', until it returns false.
  void for_each_withdrawn(std::string_view port, const std::function<bool(const Constraint& fact)>& visit) const;

  /// What an earlier run left in the kernel: an equal next hop or group gets the same number, and, if numbers follow from names, a group
  /// gets its own whatever its members were, and of groups with the same members each its own. Before the first row.
  void adopt(const std::vector<NexthopEntry>& left);
  /// From here on nothing gets a number of what is left.
  void end_adoption();

  /// Compares the next hops and groups that were ordered with those that were read, about 'limit' of them. True at the end of both.
  bool compare(NexthopLook& look, std::size_t limit, Findings& findings) const;
  /// Orders next hops and groups again that another program deleted or changed. O(all) for a call, so give it many.
  void program_again(DriftKind kind, std::span<const NexthopDelete> objects);
  /// Of all next hops and groups, ordered or not. O(all).
  std::set<NexthopId> numbers() const;
  /// Whether the number is in our part of the id space. O(1).
  bool may_have(const NexthopDelete& object) const noexcept {
    return object.id.value() >= numbers_.nexthops &&
           object.id.value() - numbers_.nexthops < numbers_.groups - numbers_.nexthops + numbers_.group_count;
  }

 private:
  using HopKey = std::pair<std::string, IpAddress>;  // Port, gateway.
  struct Group;
  /// Not by their addresses: the order in which orders are given must be the same in every run.
  struct ById {
    template <class T>
    bool operator()(const T* a, const T* b) const noexcept {
      return a->id < b->id;
    }
  };
  struct Nexthop {
    HopKey key;
    NexthopId id;
    bool present = false;   // In the kernel, as far as we know.
    bool resolved = false;  // Its neighbour has been in the kernel. Until then it is not asked for.
    bool asking = false;
    bool again = false;
    bool ordered = false;  // At least once: the kernel may have it.
    std::set<Group*, ById> users;
    Status failure;        // Why the kernel refused it; ok otherwise.
    bool refused = false;  // For good.
  };
  struct Member {
    Nexthop* nexthop = nullptr;
    std::uint16_t weight = 1;
  };
  struct Group {
    Constraint fact;
    NexthopId id;
    std::vector<Member> members;       // Wanted.
    std::set<Nexthop*, ById> leaving;  // Not wanted any more, but perhaps still in the kernel's group.
    /// What the kernel may have: one set of members when 'sure', more while an order is under way (the last is what it asks for). Empty: no
    /// group.
    std::vector<std::vector<GroupMember>> possible{{}};
    bool sure = true;
    bool asking = false;
    bool again = false;
    bool deleting = false;
    PlaneState counted = PlaneState::Unknown;  // In a tally: Installed, Withdrawn or not at all.
    Ticket ticket;                             // Of the row that waits for this group's first answer; consumer is null when none does.
  };

  Outcome set(ConstraintKind kind, std::string_view name, const Fields& fields);
  Outcome remove(ConstraintKind kind, std::string_view name);
  Group& group_at(const Constraint& fact, const std::vector<Hop>& hops);
  NexthopId number_of_group(const Constraint& fact, const std::vector<Hop>& hops);
  NexthopId take_left(std::uint32_t id);
  NexthopId number_of_nexthop(const HopKey& key);
  void set_members(Group& group, const std::vector<Hop>& hops);

  Nexthop& nexthop_at(const HopKey& key);
  void ask(Nexthop& nexthop);
  void answered(const HopKey& key, const Status& status);
  void leave(Nexthop& nexthop, Group& group);
  void drop(Nexthop& nexthop);
  void delete_object(NexthopId id);
  bool may_come(const Nexthop& nexthop) const;
  void lost(Nexthop& nexthop);

  void refresh(Group& group);
  void order(Group& group, std::vector<GroupMember> members);
  void answered(const Constraint& fact, const Status& status);
  void arrived(Group& group);
  void release_leaving(Group& group);
  void order_delete(Group& group);
  void put_off(Group& group, const Status& status);
  void become_usable(Group& group);
  void become_unusable(Group& group);
  void settle_group(Group& group, const Outcome& outcome);
  void forget_set(ConstraintKind kind, std::string_view name);
  void finish_remove(const Constraint& fact, const Ticket& ticket, const Status& status);

  static std::size_t tally_of(ConstraintKind kind);
  void count(Group& group, PlaneState state);

  std::optional<Constraint> missing_neighbor(const std::vector<Hop>& hops);
  void forget_what_is_not_lacking();
  void neighbor_came(std::string_view name);
  void port_went();
  void carrier(std::string_view port, bool up);
  void retry_later(Duration delay);
  void retry();
  std::string state_of(const Constraint& fact) const;
  std::string users_of(std::string_view neighbor) const;
  void compare(const Nexthop& nexthop, NexthopLook& look, Findings& findings) const;
  void compare(const Group& group, NexthopLook& look, Findings& findings) const;
  bool was_lost(const Group& group) const;
  bool was_refused_in_use(const Nexthop& nexthop) const;
  void program_again(DriftKind kind, Nexthop& nexthop);
  void program_again(DriftKind kind, Group& group);

  Programmer& programmer_;
  const PortIds& ports_;
  GroupIds& ids_;
  const bool by_name_;  // SwitchAgentOptions::groups_by_name.
  const NumberSpace numbers_;
  std::map<HopKey, Nexthop> nexthops_;
  std::set<std::string, std::less<>> sets_;  // Names of the NEXTHOP_SET rows that there are, whether their group is in the kernel or not.
  std::map<std::pair<std::string, std::string>, Group> groups_;  // By kind and name of the fact.
  std::vector<std::uint32_t> free_nexthop_ids_;
  std::vector<NexthopId> undeleted_;  // Objects that nobody wants and whose deletion was refused for now.
  std::uint32_t next_nexthop_id_ = numbers_.nexthops;
  std::vector<std::uint32_t> free_group_ids_;  // This and the next without names.
  std::uint32_t next_group_id_ = numbers_.groups;
  std::set<std::uint32_t> group_ids_;                                 // Of groups_, by name.
  std::set<std::uint32_t> left_ids_;                                  // Numbers of what an earlier run left.
  std::map<std::pair<IfIndex, IpAddress>, NexthopId> left_nexthops_;  // What of it nobody has adopted, by what it is.
  std::map<std::vector<std::pair<std::uint32_t, std::uint16_t>>, std::set<std::uint32_t>> left_groups_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint16_t>>> left_by_number_;  // The same, by number.
  /// By neighbour that a row lacks: what the rows are parked on of which this neighbour alone would do. Some of it may be over.
  std::map<std::string, std::set<std::string>, std::less<>> lacking_;
  std::size_t look_through_at_ = 1024;  // At this size it is.
  std::uint64_t group_replaces_ = 0;
  std::array<PlaneCounts, 2> tallies_;  // By kind: groups, sets.
  TimerSource retry_timer_;
};

}  // namespace rondo::switch_agent
