// NexthopGroups: owns NEXTHOP_GROUP_TABLE, the groups of the sets of next hops that routes name themselves (NexthopSets), and the kernel's
// next-hop objects behind them. It keeps one shared object per (port, gateway), and one group per row and set. It stores desired and
// actual state separately. When a port loses its carrier, the kernel drops its next hops, removes them from their groups, and removes
// groups that become empty; it sends no events. This Orch computes the same result from the link event and restores the desired objects
// when the carrier returns. Routes refer to the group's number and are not changed.
//
// Every object has at most one order under way. A change meanwhile sets 'again': after the answer the members are compared anew.
// The event of a loss may arrive after the answer to an order that was carried out later. Therefore a group that changes all its members
// passes through both sets, so that it never disappears.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "switch_agent/drift.h"
#include "switch_agent/group_ids.h"
#include "switch_agent/nexthop_sets.h"
#include "switch_agent/number_space.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"
#include "switch_agent/schema.h"

namespace rondo {
struct FactOrigin;
}

namespace rondo::switch_agent {

class NexthopGroups final : public Orch {
 public:
  NexthopGroups(Runtime& runtime, Programmer& programmer, const PortIds& ports, NexthopSets& sets, GroupIds& groups, NumberSpace numbers);
  ~NexthopGroups() override;

  struct Counts {
    std::size_t nexthops = 0;  // That rows ask for.
    std::size_t present_nexthops = 0;
    std::size_t groups = 0;
    std::size_t usable_groups = 0;
    std::uint64_t group_replaces = 0;
  };
  Counts counts() const;
  /// Returns the state in the data plane of the group 'name' of a row (kNexthopGroup) or a set (kNextHops). O(members of the group).
  RowInPlane state_of_row(FactKind kind, std::string_view name) const;
  /// Returns the number of groups of 'kind' in each state. O(1).
  PlaneCounts state_counts(FactKind kind) const { return tallies_[tally_of(kind)]; }
  /// Calls 'visit' with each port that has next hops, until it returns false. O(ports * log(next hops)).
  void for_each_port(const std::function<bool(std::string_view port)>& visit) const;
  /// Calls 'visit' with each withdrawn group that has a next hop on 'port', until it returns false.
  void for_each_withdrawn(std::string_view port, const std::function<bool(const Fact& fact)>& visit) const;

  /// Next hops on ports that can be used, without which groups go on.
  struct LeftOut {
    std::size_t refused = 0;  // Refused by the data plane for good, or again and again.
    std::string first_refused;
    std::size_t unresolved = 0;  // Without a neighbour.
    std::string first_unresolved;
  };
  LeftOut left_out() const;
  /// Calls 'visit' with each neighbour ("port:address") that is missing: all those of a row or set that waits because none of its
  /// neighbours is there, and those without which groups go on, whose next hops join when they come. O(missing neighbours).
  void for_each_lacking(const std::function<void(std::string_view neighbor)>& visit) const;

  /// Adopts what an earlier run left in the kernel: an equal next hop or group gets the same number. If numbers follow from names, a group
  /// gets the number of its name, whatever its members were. Several groups with the same members each get their own number. Call before
  /// the first row.
  void adopt(const std::vector<NexthopEntry>& left);
  /// After this call no object gets a number of an object left by an earlier run.
  void end_adoption();

  /// Compares about 'limit' of the ordered next hops and groups with those read. Returns true at the end of both.
  bool compare(NexthopLook& look, std::size_t limit, Findings& findings) const;
  /// Orders again next hops and groups that another program deleted or changed. Each call costs O(all), so pass many.
  void program_again(DriftKind kind, std::span<const NexthopDelete> objects);
  /// Adds the next hops on 'port' that were ordered. The kernel drops with them the groups that become empty, and their routes. O(next hops
  /// of the port).
  void add_objects_on(std::string_view port, std::vector<DeleteOrder>& objects) const;
  /// The numbers of all next hops and groups, ordered or not. O(all).
  std::set<NexthopId> numbers() const;
  /// True if the number is in our part of the id space. O(1).
  bool may_have(const NexthopDelete& object) const noexcept {
    return object.id.value() >= numbers_.nexthops &&
           object.id.value() - numbers_.nexthops < numbers_.groups - numbers_.nexthops + numbers_.group_count;
  }

 private:
  struct Group;
  class SetQueue;
  /// Compares by number, not by address: orders must be given in the same order in every run.
  struct ById {
    template <class T>
    bool operator()(const T* a, const T* b) const noexcept {
      return a->id < b->id;
    }
  };
  struct Nexthop {
    HopKey key;
    NexthopId id;
    bool present = false;   // Present in the kernel, according to its last answer or event.
    bool resolved = false;  // Its neighbour has been in the kernel. Until then the next hop is not ordered.
    bool asking = false;
    bool again = false;
    bool ordered = false;  // Ordered at least once: the kernel may have it.
    bool made = false;     // The number is ours: an order replaces what has it.
    std::set<Group*, ById> users;
    Status failure;         // Why the kernel refused it; otherwise ok.
    bool refused = false;   // Refused permanently.
    RefusalCount refusals;  // Refusals that may be transient.
    Instant retry_at;       // Not ordered again by the timer before this time.
  };
  struct Member {
    Nexthop* nexthop = nullptr;
    std::uint16_t weight = 1;
  };
  struct Group {
    Fact fact;
    NexthopId id;
    std::vector<Member> members;       // The desired members.
    std::set<Nexthop*, ById> leaving;  // No longer desired, but possibly still in the kernel's group.
    /// The sets of members that the kernel may have. One set when 'sure'; more while an order is under way, and the last is the one
    /// ordered. An empty set: no group.
    std::vector<std::vector<GroupMember>> possible{{}};
    bool sure = true;
    bool asking = false;
    bool again = false;
    bool deleting = false;
    bool made = false;           // As of a Nexthop.
    bool awaits_kernel = false;  // Its row waits until the kernel accepts a next hop (kGroupAccepted).
    RefusalCount refusals;       // Of orders for the group itself.
    Instant retry_at;            // Not ordered again by the timer before this time.
    // The state under which it is counted in a tally: Installed, Withdrawn, Refused, or Unknown if not counted.
    PlaneState counted = PlaneState::Unknown;
    Ticket ticket;  // The row that waits for this group's first answer; its consumer is null if no row waits.
  };

  Outcome set(std::string_view name, const Fields& fields);
  Outcome remove(std::string_view name);
  void begin_delete(Group& group, const Ticket& ticket);
  std::optional<Fact> lacks(const Fact& fact, const std::vector<Hop>& hops);
  Group& group_at(const Fact& fact, const std::vector<Hop>& hops);
  NexthopId number_of_group(const Fact& fact, const std::vector<Hop>& hops);
  NexthopId take_left(std::uint32_t id);
  NexthopId free_number_from(std::uint32_t id) const;
  NexthopId number_of_nexthop(const HopKey& key);
  static bool is_taken(const Status& status) noexcept;
  void take_other_number(Nexthop& nexthop);
  void take_other_number(Group& group);
  void set_way(const Fact& fact, bool of_others, const std::string& device);
  void set_members(Group& group, const std::vector<Hop>& hops);

  Nexthop& nexthop_at(const HopKey& key);
  NexthopSet order_of(const Nexthop& nexthop) const;
  void ask(Nexthop& nexthop);
  void answered(const HopKey& key, const Status& status);
  void leave(Nexthop& nexthop, Group& group);
  void drop(Nexthop& nexthop);
  void delete_object(NexthopId id);
  bool may_come(const Nexthop& nexthop) const;
  bool has_port(const HopKey& key) const;
  void lost(Nexthop& nexthop);
  void lost(Group& group);

  void refresh(Group& group);
  void order(Group& group, std::vector<GroupMember> members);
  void answered(const Fact& fact, const Status& status);
  void arrived(Group& group);
  void release_leaving(Group& group);
  void order_delete(Group& group);
  void put_off(Group& group, const Status& status, Duration delay);
  void become_usable(Group& group);
  void become_unusable(Group& group);
  void settle_group(Group& group, const Outcome& outcome);
  void finish_remove(const Fact& fact, const Ticket& ticket, const Status& status);

  const Nexthop* coming_member(const Group& group) const;
  const Status* refusal_of(const Group& group) const;
  void note_not_usable(Group& group);
  void tell_accepted(Group& group);

  static std::size_t tally_of(FactKind kind);
  void count(Group& group, PlaneState state);

  /// True if a next hop needs this neighbour.
  bool is_used(const NeighborKey& neighbor) const {
    const auto it = nexthops_.lower_bound({neighbor.port, neighbor.address});
    return it != nexthops_.end() && it->first.port == neighbor.port && it->first.gateway == neighbor.address;
  }
  std::optional<Fact> missing_neighbor(const std::vector<Hop>& hops);
  void forget_what_is_not_lacking();
  void expect(const std::string& neighbor);
  void give_up_expected();
  /// True if a row or a set waits for the neighbour.
  bool is_missed(const std::string& neighbor) const;
  /// The rows and the sets that wait for the neighbour are handled again.
  void handle_again(const std::string& neighbor);

  void follow_sets();
  void queue_set(const std::string& name);
  std::vector<FactOrigin> origins_of_set(std::string_view name) const;
  void update_set(const std::string& name);
  void end_wait(const std::string& name);
  bool is_unwanted_set(const Group& group) const;
  void handle_sets_again(std::string_view neighbor);
  void neighbor_came(std::string_view name);
  void port_went();
  void carrier(std::string_view port, bool up);
  void ipv6(std::string_view port, bool begins);
  void retry_later(Duration delay);
  void retry();
  std::string state_of(const Fact& fact) const;
  std::string users_of(std::string_view neighbor) const;
  void compare(const Nexthop& nexthop, NexthopLook& look, Findings& findings) const;
  void compare(const Group& group, NexthopLook& look, Findings& findings) const;
  bool was_lost(const Group& group) const;
  bool was_refused_in_use(const Nexthop& nexthop) const;
  void program_again(DriftKind kind, Nexthop& nexthop);
  void program_again(DriftKind kind, Group& group);

  Programmer& programmer_;
  const PortIds& ports_;
  NexthopSets& sets_;
  GroupIds& ids_;
  const NumberSpace numbers_;
  std::map<HopKey, Nexthop> nexthops_;
  std::map<std::pair<std::string, std::string>, Group> groups_;  // By kind and name of the fact.
  std::vector<std::uint32_t> free_nexthop_ids_;
  std::vector<NexthopId> undeleted_;  // Unused objects whose deletion was refused for now.
  std::uint32_t next_nexthop_id_ = numbers_.nexthops;
  std::set<std::uint32_t> group_ids_;  // Numbers of the groups in groups_.
  std::set<std::uint32_t> taken_ids_;  // Numbers that an earlier run or another program has used.
  std::map<std::tuple<IfIndex, IpAddress, bool>, NexthopId>
      left_nexthops_;  // Next hops of an earlier run that no row has adopted, by content.
  std::map<std::vector<std::pair<std::uint32_t, std::uint16_t>>, std::set<std::uint32_t>> left_groups_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint16_t>>> left_by_number_;  // The same groups, by number.
  /// By missing neighbour: the other neighbours that rows and sets wait for, but for which this one suffices. Some entries may be out of
  /// date.
  std::map<std::string, std::set<std::string>, std::less<>> lacking_;
  std::map<std::string, Instant, std::less<>> expected_;  // Neighbours that rows of several next hops wait for, and since when.
  std::set<std::string, std::less<>> overdue_;            // Those that were expected for kPatience and have not come.
  std::size_t look_through_at_ = 1024;                    // The size at which lacking_ is cleaned.
  std::uint64_t group_replaces_ = 0;
  std::array<PlaneCounts, 2> tallies_;                                      // By kind: groups, sets.
  std::map<std::string, std::string, std::less<>> set_waits_;               // By name of a set: the neighbour that it waits for.
  std::map<std::string, std::set<std::string>, std::less<>> waiting_sets_;  // The same by neighbour.
  std::set<std::string> changed_sets_;                                      // To handle.
  std::unique_ptr<Source> set_queue_;
  TimerSource patience_timer_;
  TimerSource retry_timer_;
  Instant retry_due_;  // Of the timer, while it is armed.
};

}  // namespace rondo::switch_agent
