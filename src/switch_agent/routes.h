// Routes: owns ROUTE_TABLE. A route waits for its group (a NEXTHOP_GROUP_TABLE row, or the shared NEXTHOP_SET row of its own next hops), is
// ordered in bulk and settled by the data plane's answer. It keeps which group each programmed route hangs on: per group a list, so that
// routes which the kernel dropped with their group are found without a search and put back in slices when the group returns. About 36 bytes
// a route and 12 of index.
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

#include "rondo/dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "rondo/sched/timer.h"
#include "switch_agent/answer.h"
#include "switch_agent/drift.h"
#include "switch_agent/group_ids.h"
#include "switch_agent/later.h"
#include "switch_agent/route_map.h"
#include "switch_agent/schema.h"
#include "switch_agent/spellings.h"

namespace rondo::switch_agent {

class Routes final : public Orch {
 public:
  /// 'table' is the kernel's table for the default VRF.
  /// 'retry_quota' as in ConsumeOptions.
  Routes(Runtime& runtime, Programmer& programmer, const GroupIds& groups, std::uint32_t table, std::uint32_t retry_quota);
  ~Routes() override;

  struct Counts {
    std::size_t routes = 0;        // Programmed, as far as we know.
    std::uint64_t programmed = 0;  // Orders answered with ok, ever.
    std::uint64_t refused = 0;
    std::uint64_t unchanged = 0;  // Changes that asked for what is there already.
    std::uint64_t put_back = 0;   // After the kernel dropped them with their group.
    Instant first_order;          // The first ever given.
    Instant last_answer;          // The latest.
  };
  Counts counts() const;

  /// Where the row 'key' of ROUTE_TABLE stands in the data plane; 'row' as in Runtime::StateOf. O(1).
  RowInPlane state_of(std::string_view key, const Record* row) const;
  /// How many rows stand where. O(1).
  PlaneCounts state_counts() const { return routes_.tally(); }
  /// Routes in whose place other programs have one of the same table, prefix and metric.
  struct HeldByOthers {
    std::size_t routes = 0;
    std::string first;  // The prefix and whose the other is.
  };
  HeldByOthers held_by_others() const;
  /// Routes on the group of 'fact'. O(1).
  std::size_t routes_of(const Constraint& fact) const;

  /// What an earlier run left is in use or gone. Until then the sets of next hops that it had asked for stay: routes on them may come.
  void end_restart() { restarted_ = true; }
  /// Until the end of the restart, a Delete is carried out although no row had the route: an earlier run may have left it.
  void delete_leftovers() { deletes_leftovers_ = true; }

  /// An audit begins, before anything is read: from here on a route that is ordered is noted. It ends with end_audit().
  void begin_audit() {
    auditing_ = true;
    audit_ = static_cast<std::uint8_t>((audit_ + 1) % 4);
  }
  void end_audit() { auditing_ = false; }
  /// Compares the routes that were ordered with those that were read, 'limit' of them. True at the end of both.
  bool compare(RouteLook& look, std::size_t limit, Findings& findings);
  /// Whether a row asks for it and it can be there.
  bool has(const RouteDelete& object);
  /// Whether it is in the data plane as far as we know, with no order under way.
  bool is_settled(const RouteDelete& object);
  /// Whether the route of this row is one of 'objects'.
  bool is_among(std::string_view key, const std::set<RouteDelete>& objects) const;
  /// Whether the route of a row is not in the data plane, or an order is under way.
  bool is_open(const RouteDelete& object);
  bool is_held_by_other(const RouteDelete& object) const { return object.table == table_ && held_by_others_.contains(object.prefix); }
  /// A route that is not in the data plane, for people.
  Drift missing(const RouteDelete& object);
  /// Orders routes again that another program deleted or changed. A missing one counts as lost from this call on.
  void program_again(DriftKind kind, std::span<const RouteDelete> objects);

 private:
  class PutBack;
  /// What was ordered for one change, until the answer.
  struct Ordered {
    Ticket ticket;
    std::uint32_t group = RouteMap::kNone;  // Holds a use of it.
    std::uint32_t losses = 0;               // Of the group when the order was given.
    bool is_delete = false;
    bool canonical = true;  // The row's key is.
  };
  struct Bulk {
    std::vector<Ordered> ordered;
    std::size_t answered = 0;
  };

  void apply(Batch& batch);
  void apply(Batch& batch, std::size_t index, const Result<RouteKey>& key);
  void order_set(Batch& batch, std::size_t index, const RouteKey& key);
  void order_delete(Batch& batch, std::size_t index, const RouteKey& key);
  bool another_row_has(const RouteKey& key, std::string_view spelt) const;
  void wait_for_row(Batch& batch, std::size_t index, const Prefix& prefix);
  void provide_spellings();
  void tell_free(const Prefix& prefix);
  Outcome outcome_of_answer(const Ordered& ordered, const Prefix& prefix);
  bool wait_if_busy(Batch& batch, std::size_t index, std::uint32_t slot);
  bool find_group(Batch& batch, std::size_t index, const RouteRow& row, std::uint32_t& group);
  void wait_for_group(Batch& batch, std::size_t index, const Constraint& fact, const RouteRow& row);
  void reserve(std::size_t changes);
  void submit();
  void answered(Bulk& bulk, std::span<Operation> operations);
  void set_answered(const Ordered& ordered, const Operation& operation);
  void delete_answered(const Ordered& ordered, const Operation& operation);
  void release_group(std::uint32_t group);
  void mark_lost(std::uint32_t route, Duration put_back_after = kSoon);
  /// The route is not in the data plane. Returns its group, to be put back.
  std::uint32_t lose(std::uint32_t route);
  static void answer_restoring(Batch& batch, std::size_t index);
  /// The kernel dropped it with its group, so another program may have taken its place.
  bool is_dropped(const RouteMap::Route& route);
  /// Another program has a route in place of ours, or has it no longer.
  void note_holder(const Prefix& prefix, const Status& answer) {
    if (!held_by_others_.empty() || answer.code() == Code::AlreadyExists) keep_holder(prefix, answer);
  }
  void keep_holder(const Prefix& prefix, const Status& answer);
  Status write_set(Change change);
  void write_set_again(const std::string& name);
  bool removed_if_unused(const std::string& name);
  void wake_if_in_vain(const std::string& name);
  void sweep_sets();
  void put_back_lost(std::uint32_t slot);
  void put_back_answered(std::span<Operation> done);
  bool is_due(const RouteMap::Route& route);
  std::uint32_t slot_of(const RouteDelete& object) const {
    return object.table == table_ && !object.is_stray() ? routes_.find(object.prefix) : RouteMap::kNone;
  }
  RouteSet order_of(const RouteMap::Route& route);
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
  const GroupIds& ids_;
  const std::uint32_t table_;
  Consumer* consumer_ = nullptr;
  RouteMap routes_;
  const std::uint32_t nowhere_;  // The group of the routes without next hops: there always.
  Spellings spellings_;
  std::map<Prefix, std::string> held_by_others_;  // And the words of the data plane.
  std::vector<Result<RouteKey>> keys_;            // Of the batch being handled, like the next two.
  std::vector<Operation> operations_;             // Of the batch being handled.
  std::vector<Ordered> ordered_;
  /// NEXTHOP_SET rows written for routes that still wait. Empty: one that may be there, because a write of it went wrong.
  std::map<std::string, Record, std::less<>> requested_sets_;
  std::set<std::string, std::less<>> orphan_sets_;  // Rows that were there, and no route has asked for.
  bool restarted_ = false;
  bool deletes_leftovers_ = false;
  bool auditing_ = false;
  std::uint8_t audit_ = 0;
  std::unique_ptr<PutBack> put_back_;
  TimerSource sweep_timer_;
  Later sets_again_;
  Counts counts_;
};

}  // namespace rondo::switch_agent
