// Routes: owns ROUTE_TABLE. A route waits for its VRF, and for its group: a NEXTHOP_GROUP_TABLE row, or the set of its own next hops
// (NexthopSets). Routes are ordered in bulk, and the data plane's answer settles each. For each group this Orch keeps the list of its
// programmed routes. So it finds the routes that the kernel dropped with their group without a search, and restores them in slices when the
// group returns. Costs about 40 bytes a route and 12 of index.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/sched/timer.h"
#include "switch_agent/answer.h"
#include "switch_agent/drift.h"
#include "switch_agent/group_ids.h"
#include "switch_agent/nexthop_sets.h"
#include "switch_agent/refusals.h"
#include "switch_agent/route_map.h"
#include "switch_agent/schema.h"
#include "switch_agent/spellings.h"
#include "switch_agent/vrf_tables.h"

namespace rondo::switch_agent {

class Routes final : public Orch {
 public:
  /// 'table' is the kernel's table for the default VRF.
  /// 'retry_quota' as in ConsumeOptions.
  Routes(Runtime& runtime, Programmer& programmer, NexthopSets& sets, const GroupIds& groups, const VrfTables& vrfs, std::uint32_t table,
         std::uint32_t retry_quota);
  ~Routes() override;

  struct Counts {
    std::size_t routes = 0;        // Programmed, according to the last answers and events.
    std::uint64_t programmed = 0;  // Orders answered with ok since the start.
    std::uint64_t refused = 0;
    std::uint64_t unchanged = 0;  // Changes that asked for the present content.
    std::uint64_t put_back = 0;   // Routes restored after the kernel dropped them with their group.
    Instant first_order;          // The time of the first order.
    Instant last_answer;          // The time of the latest answer.
  };
  Counts counts() const;
  /// True if the data plane has answered that it has this route of the VRF (empty: the default one): on the group of this name
  /// with this preferred source, or one that drops packets.
  bool is_programmed(std::string_view vrf, const Prefix& prefix, std::string_view group, bool blackhole, const IpAddress& source) const;
  /// True if routes have this address as their preferred source: the kernel drops some of them with the address.
  bool has_source(const IpAddress& address) const { return routes_.has_source(address); }
  bool has_sources() const noexcept { return routes_.has_sources(); }
  /// Sets what is called after the data plane has answered orders for routes: a producer of routes may write more.
  void on_answers(std::function<void()> handler) { on_answers_ = std::move(handler); }

  /// Returns the state in the data plane of the row 'key' of ROUTE_TABLE; 'row' as in Runtime::StateOf. O(1).
  RowInPlane state_of(std::string_view key, const Record* row) const;
  /// Returns the number of rows in each state. O(1).
  PlaneCounts state_counts() const;
  struct OfFamily {
    std::string_view vrf;  // Empty: the default one.
    bool is_v6 = false;
    std::size_t routes = 0;
  };
  /// The routes that are in the data plane or on the way to it, by VRF and family. O(VRFs).
  std::vector<OfFamily> families() const;
  /// Routes of other programs in place of ours, with the same table, prefix and metric.
  struct HeldByOthers {
    std::size_t routes = 0;
    std::string first;  // The first such prefix and the owner of its route.
  };
  HeldByOthers held_by_others() const;
  /// Routes of ours beside which the last audit found one of another program with a better metric.
  struct Decided {
    std::size_t routes = 0;
    std::string first;
  };
  Decided decided_by_others() const;
  /// The group of the route that the row 'key' has in the data plane. O(1).
  std::optional<Fact> group_of(std::string_view key) const;
  /// The number of routes on the group of 'fact'. O(1).
  std::size_t routes_of(const Fact& fact) const;

  /// Called at the end of the restart. Until then a Delete is carried out even if no row had the route, because the earlier run may have
  /// left it.
  void end_restart() { restarted_ = true; }

  /// Begins an audit, before anything is read: from now on every ordered route is marked. end_audit() ends it.
  void begin_audit() {
    auditing_ = true;
    audit_ = static_cast<std::uint8_t>((audit_ + 1) % 4);
  }
  void end_audit() { auditing_ = false; }
  /// Compares 'limit' of the ordered routes with those read. Returns true at the end of both.
  bool compare(RouteLook& look, std::size_t limit, Findings& findings);
  /// True if the route is in the data plane, or an order for it is under way.
  bool has(const RouteDelete& object);
  /// True if the route is in the data plane, according to the last answers, and no order for it is under way.
  bool is_settled(const RouteDelete& object);
  /// True if the route of this row is one of 'objects'.
  bool is_among(std::string_view key, const std::set<RouteDelete>& objects) const;
  /// True if a row's route is not in the data plane, or an order for it is under way.
  bool is_open(const RouteDelete& object);
  bool is_held_by_other(const RouteDelete& object) const { return held_by_others_.contains({object.prefix, object.table}); }
  /// Describes a route that is not in the data plane, for operators.
  Drift missing(const RouteDelete& object);
  /// Orders again routes that another program deleted or changed. A missing route counts as lost from this call on.
  void program_again(DriftKind kind, std::span<const RouteDelete> objects);

 private:
  class PutBack;
  /// The order for one change, kept until its answer.
  struct Ordered {
    Ticket ticket;
    std::uint32_t group = RouteMap::kNone;  // The order holds one use of the group.
    std::uint32_t losses = 0;               // The group's losses when the order was given.
    bool is_delete = false;
    bool canonical = true;  // The row's key is canonical.
  };
  /// A parsed key, and the table of its VRF: 0 if the VRF is unknown.
  struct Place {
    std::string_view vrf;  // A view into the key. Empty: the default VRF.
    RouteId id;
    bool canonical = true;
  };
  struct Bulk {
    std::vector<Ordered> ordered;
    std::size_t answered = 0;
  };

  void apply(Batch& batch);
  void apply(Batch& batch, std::size_t index, const Result<Place>& place);
  void order_set(Batch& batch, std::size_t index, const Place& place);
  /// A route that the data plane is not to have, although its row asks for it: other software or the kernel itself has it.
  struct Left {
    std::vector<Fact> while_hold;  // Empty: a Delete, or what the row alone decides.
    const char* words = "";
  };
  /// Answers the row of a route that is left to others, and returns true.
  bool leave(Batch& batch, std::size_t index, const Place& place, const Fact& group, bool of_others, const std::string& device);
  Outcome outcome_of_left(const RouteId& route) const;
  Outcome outcome_of_present(const RouteId& route, std::uint32_t group) const;
  void order_delete(Batch& batch, std::size_t index, const Place& place, Left left);
  Result<Place> place_of(std::string_view key) const;
  /// The canonical key of the row of a route.
  std::string row_key_of(const RouteId& route) const;
  void provide_vrf_facts();
  void use_table(std::uint32_t table);
  void release_table(std::uint32_t table);
  void forget_vrf(std::string_view vrf);
  bool another_row_has(const Place& place, std::string_view spelt) const;
  void wait_for_row(Batch& batch, std::size_t index, const RouteId& route);
  void provide_spellings();
  void tell_free(const RouteId& route);
  Outcome outcome_of_answer(const Ordered& ordered, const RouteId& route);
  bool wait_if_busy(Batch& batch, std::size_t index, std::uint32_t slot);
  /// False if the row is answered.
  bool find_group(Batch& batch, std::size_t index, const Place& place, const RouteRow& row, std::uint32_t& group);
  void wait_for_group(Batch& batch, std::size_t index, const Fact& fact, const RouteRow& row);
  void reserve(std::size_t changes);
  void submit();
  void answered(Bulk& bulk, std::span<Operation> operations);
  void set_answered(const Ordered& ordered, const Operation& operation);
  void delete_answered(const Ordered& ordered, const Operation& operation);
  /// 'is_tried_again': the route will be ordered again soon, so that its set of next hops stays.
  void release_group(std::uint32_t group, bool is_tried_again = false);
  Duration retry_delay_of(std::uint32_t route, const Status& answer);
  void mark_lost(std::uint32_t route, Duration put_back_after = kSoon);
  /// Records that the route is not in the data plane. Returns its group, which must be queued for restoring.
  std::uint32_t lose(std::uint32_t route);
  static void answer_restoring(Batch& batch, std::size_t index);
  /// True if the kernel dropped it with its group, so that another program's route may be in its place.
  bool is_dropped(const RouteMap::Route& route) const;
  /// Records from 'answer' whether another program has a route in place of ours.
  void note_holder(const RouteId& route, const Status& answer) {
    if (!held_by_others_.empty() || answer.code() == StatusCode::AlreadyExists) keep_holder(route, answer);
  }
  void keep_holder(const RouteId& route, const Status& answer);
  /// When a route is ordered again whose place another program has: the delay doubles with each such answer.
  Duration foreign_delay(const RouteId& route) const;
  void note_rival(const RouteId& route, std::uint8_t protocol);
  /// The refusals of the route in 'slot', or of a route that is not in the map.
  Refusals<RouteId>& refusals_of(std::uint32_t slot) { return slot == RouteMap::kNone ? refused_new_ : refused_known_; }
  void forget_refusal(const RouteId& route) {
    refused_new_.forget(route);
    refused_known_.forget(route);
  }
  void sweep_sets();
  void put_back_lost(std::uint32_t slot);
  void put_back_answered(std::span<Operation> done);
  bool is_due(const RouteMap::Route& route);
  std::uint32_t slot_of(const RouteDelete& object) const {
    return object.is_stray() ? RouteMap::kNone : routes_.find({object.prefix, object.table});
  }
  RouteSet order_of(const RouteMap::Route& route);
  /// True if the route ends the lookup in the table of a VRF that has a row.
  bool is_last_resort(const RouteDelete& object) const { return object.is_last_resort() && !vrfs_.name(object.table).empty(); }
  void find_missing_last_resorts(const RouteLook& look, Findings& findings) const;
  Drift drift_of(DriftKind kind, const RouteMap::Route& route, const RouteEntry* actual);
  void compare(const RouteEntry& actual, Findings& findings);
  void add_unwanted(const RouteEntry& actual, Findings& findings) const;
  void compare(std::uint32_t slot, Findings& findings);
  void touch(RouteMap::Route& route) {
    if (auditing_) mark(route, RouteMap::Mark::Touched);
  }
  void mark(RouteMap::Route& route, RouteMap::Mark mark) const {
    route.mark = mark;
    route.audit = audit_ & 0x3;
  }
  RouteMap::Mark mark_of(const RouteMap::Route& route) const { return route.audit == audit_ ? route.mark : RouteMap::Mark::None; }

  Programmer& programmer_;
  NexthopSets& sets_;
  const GroupIds& ids_;
  const VrfTables& vrfs_;
  const std::uint32_t table_;
  ConsumerHandle consumer_;
  RouteMap routes_;
  const std::uint32_t nowhere_;  // The group of the routes without next hops; it always exists.
  Spellings spellings_;
  struct Held {
    std::string words;   // Of the data plane's answer.
    unsigned times = 0;  // Such answers in a row.
  };
  std::map<RouteId, Held> held_by_others_;
  std::map<RouteId, std::uint8_t> rivals_;           // See RouteEntry::rival.
  std::map<RouteId, Left> left_;                     // Those that facts decide.
  Refusals<RouteId> refused_new_;                    // Of routes that are not in the map.
  Refusals<RouteId> refused_known_;                  // Of routes in the map: those to change or to restore.
  std::map<std::uint32_t, std::size_t> table_uses_;  // Routes, and orders under way that set one, by table of a VRF.
  std::vector<Result<Place>> places_;                // Of the current batch.
  std::vector<Operation> operations_;                // The orders of the current batch.
  std::vector<Ordered> ordered_;
  std::map<std::string, bool> idle_sets_;  // Those that no route uses. True: of a refused route, since the last sweep.
  bool restarted_ = false;
  bool auditing_ = false;
  std::uint8_t audit_ = 0;
  std::unique_ptr<PutBack> put_back_;
  TimerSource sweep_timer_;
  Counts counts_;
  std::function<void()> on_answers_;
};

}  // namespace rondo::switch_agent
