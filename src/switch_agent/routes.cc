#include "switch_agent/routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/counted.h"
#include "dataplane/kernel_status.h"
#include "orch/expect_settle.h"
#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"

namespace rondo::switch_agent {

namespace {
/// The interval at which sets that no route uses and no row waits for are dropped.
constexpr Duration kSetSweep = 10s;
static_assert(kSetSweep > kSlowestRefusedRetry, "the set of a refused route stays until the route is tried again");
/// Routes handled between two readings of the clock. All orders of a turn go to the kernel together anyway.
constexpr std::uint32_t kBatch = 32;

RouteId id_of(const Operation& operation) {
  if (const auto* const set = std::get_if<RouteSet>(&operation.order)) return {set->prefix, set->table};
  const auto& gone = std::get<RouteDelete>(operation.order);
  return {gone.prefix, gone.table};
}

std::string missing_group_words(const Fact& fact) {
  const std::string group = fact.kind == kNexthopGroup ? "NEXTHOP_GROUP_TABLE '" + fact.key + "'" : "the next hops " + fact.key;
  return "the data plane has lost " + group + ", which it had confirmed";
}

Duration retry_after(const Outcome& outcome) { return outcome.kind() == Outcome::Kind::RetryAfter ? outcome.delay() : kSoon; }
}  // namespace

/// Restores routes that the kernel dropped with their group. It is a source at the routes' priority and restores one batch a turn.
class Routes::PutBack final : public Source {
 public:
  explicit PutBack(Routes& routes)
      : Source("ROUTE_TABLE put back", kRoutes),
        routes_(routes),
        later_timer_("ROUTE_TABLE put back later", kRoutes, [this] { add_later_ones(); }) {
    routes_.runtime().scheduler().add(later_timer_);
  }

  void add(std::uint32_t group) {
    RouteMap::Group& g = routes_.routes_.group(group);
    if (!std::exchange(g.queued_for_put_back, true)) groups_.push_back(group);
    wake();
  }
  /// After a refusal, waits before it retries: an immediate retry of a full table would occupy the thread for nothing. All lost routes of
  /// a group are retried together, when the one refused most often is due.
  void add_later(std::uint32_t group, Duration after) {
    Instant& at = later_[group];
    at = std::max(at, routes_.runtime().scheduler().now() + after);
    arm_later(at);
  }
  /// Called when the group's number is given up.
  void forget(std::uint32_t group) {
    std::erase(groups_, group);
    later_.erase(group);
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    std::vector<Operation> operations;
    while (turn.items < budget.items && !groups_.empty() && routes_.programmer_.has_room()) {
      if (take_one(operations) && ++turn.items % limits::kItemsPerStep == 0 && time_is_up(budget)) break;
    }
    if (!operations.empty()) {
      routes_.counts_.put_back += operations.size();
      routes_.programmer_.submit(OrderLane::Bulk, std::move(operations), [this](std::span<Operation> done) { answered(done); });
    }
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }
  bool has_backlog() const override { return !groups_.empty() && routes_.programmer_.has_room(); }

  void answered(std::span<Operation> done) {
    for (const Operation& operation : done) routes_.routes_.prefetch(id_of(operation));
    for (const Operation& operation : done) {
      const RouteId id = id_of(operation);
      routes_.note_holder(id, operation.status);
      const std::uint32_t slot = routes_.routes_.find(id);
      if (slot == RouteMap::kNone) continue;
      routes_.routes_.set_restoring(slot, false);
      const Duration retry_after = routes_.retry_delay_of(slot, operation.status);
      if (operation.status.ok()) routes_.routes_.set_drifted(slot, false);
      if (operation.status.ok() || routes_.routes_[slot].busy) continue;
      routes_.mark_lost(slot, retry_after);
    }
  }

 private:
  bool take_one(std::vector<Operation>& operations) {
    RouteMap& map = routes_.routes_;
    RouteMap::Group& group = map.group(groups_.front());
    const bool usable = group.entry && group.entry->usable;
    if (!usable || group.head == RouteMap::kNone || map[group.head].losses == group.entry->losses) {
      group.queued_for_put_back = false;  // No lost route is left, or the group is lost again and its return queues it again.
      groups_.pop_front();
      return false;
    }
    const std::uint32_t slot = group.head;
    RouteMap::Route& route = map[slot];
    map.unlink(slot);
    route.losses = group.entry->losses;
    map.link(slot, groups_.front(), false);
    routes_.touch(route);
    if (!route.busy) {
      map.set_restoring(slot, true);
      operations.push_back({routes_.order_of(route), {}});
      std::get<RouteSet>(operations.back().order).create = true;
    }
    return true;
  }

  void arm_later(Instant at) {
    if (later_timer_.is_armed() && later_at_ <= at) return;
    later_at_ = at;
    later_timer_.arm_at(at);
  }
  void add_later_ones() {
    const Instant now = routes_.runtime().scheduler().now();
    std::erase_if(later_, [&](const auto& later) {
      if (later.second > now) {
        arm_later(later.second);
        return false;
      }
      add(later.first);
      return true;
    });
  }

  Routes& routes_;
  std::deque<std::uint32_t> groups_;
  std::map<std::uint32_t, Instant> later_;  // By group, when it is due.
  TimerSource later_timer_;
  Instant later_at_;
};

void Routes::put_back_lost(std::uint32_t slot) { put_back_->add(lose(slot)); }
void Routes::put_back_answered(std::span<Operation> done) { put_back_->answered(done); }

Routes::Routes(Runtime& runtime, Programmer& programmer, NexthopSets& sets, const GroupIds& groups, const VrfTables& vrfs,
               std::uint32_t table, std::uint32_t retry_quota)
    : Orch(runtime, "routes", kRoutes),
      programmer_(programmer),
      sets_(sets),
      ids_(groups),
      vrfs_(vrfs),
      table_(table),
      nowhere_(routes_.add_group(std::make_shared<GroupIds::Entry>(GroupIds::Entry{.id = {}, .usable = true}))),
      put_back_(std::make_unique<PutBack>(*this)),
      sweep_timer_("unused next hops", kRoutes, [this] { sweep_sets(); }) {
  consumer_ = consume_batches("ROUTE_TABLE", [this](Batch& batch) { apply(batch); },
                              {.retry_quota = retry_quota, .batch_max = kBatch, .set_replaces_delete = true});
  runtime.scheduler().add(*put_back_);
  runtime.scheduler().add(sweep_timer_);
  sweep_timer_.arm_every(kSetSweep, runtime.scheduler().now() + kSetSweep);
  programmer_.on_room([this] {
    release(consumer_);
    if (put_back_->has_backlog()) put_back_->wake();
  });
  provide(kGroupUnused, [this](std::string_view name) { return routes_.find_group(kNexthopGroup, name) == RouteMap::kNone; });
  runtime.explain(kGroupUnused, [this](std::string_view name) {
    const std::uint32_t slot = routes_.find_group(kNexthopGroup, name);
    if (slot == RouteMap::kNone) return FactOrigin{};
    std::uint32_t uses = 0;
    std::string one;
    for (std::uint32_t other = slot; other != RouteMap::kNone; other = routes_.group(other).sibling) {
      const RouteMap::Group& group = routes_.group(other);
      uses += group.uses;
      if (group.head != RouteMap::kNone) one = ", " + row_key_of(routes_[group.head].id()) + " among them";
    }
    return FactOrigin{"", "", counted(uses, "route still uses", "routes still use") + " it" + one};
  });
  for (const FactKind kind : {kNexthopGroup, kNextHops}) {
    observe(kind, [this, kind](std::string_view name, bool usable) {
      for (std::uint32_t slot = routes_.find_group(kind, name); slot != RouteMap::kNone; slot = routes_.group(slot).sibling) {
        routes_.touch(slot);
        if (usable) put_back_->add(slot);
      }
      if (usable) return;
      refused_known_.forget_if([&](const RouteId& id) {  // The group explains why its routes are not there.
        const std::uint32_t route = routes_.find(id);
        if (route == RouteMap::kNone || routes_[route].group == RouteMap::kNone) return true;
        const Fact& fact = routes_.group(routes_[route].group).fact;
        return fact.kind == kind && fact.key == name;
      });
    });
  }
  provide_spellings();
  provide_vrf_facts();
}

Routes::~Routes() = default;

Routes::Counts Routes::counts() const {
  Counts counts = counts_;
  counts.routes = routes_.size();
  return counts;
}

// --- changes

void Routes::apply(Batch& batch) {
  places_.clear();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    places_.push_back(place_of(batch[i].key()));
    if (places_.back()) routes_.prefetch(places_.back()->id);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) apply(batch, i, places_[i]);
  submit();
  if (!programmer_.has_room()) hold(consumer_);
}

void Routes::apply(Batch& batch, std::size_t index, const Result<Place>& place) {
  const Change& change = batch[index];
  if (!place && change.key() == "resync") {  // SONiC's mark around a full replay; changes are delivered anyway.
    batch.done(index);
  } else if (!place) {
    batch.answer(index, Outcome::reject_key(place.error()));
  } else if (change.op() == ChangeOp::Delete && place->id.table == 0) {
    batch.done(index);
  } else if (change.op() == ChangeOp::Delete) {
    order_delete(batch, index, *place, {});
  } else if (!place->vrf.empty() && !holds({kVrf, std::string{place->vrf}})) {
    batch.answer(index, Outcome::wait_for({kVrf, std::string{place->vrf}}));
  } else {
    order_set(batch, index, *place);
  }
}

void Routes::order_set(Batch& batch, std::size_t index, const Place& place) {
  const Result<RouteRow> row = parse_route(batch[index].fields());
  if (!row) {
    batch.answer(index, Outcome::reject(row.error()));
    return;
  }
  if (Status families = check_families(place.id.prefix, *row); !families.ok()) {
    batch.answer(index, Outcome::reject(std::move(families)));
    return;
  }
  if (row->not_ours) {
    order_delete(batch, index, place, {});  // A route of ours may exist under this key.
    return;
  }
  if (another_row_has(place, batch[index].key())) return wait_for_row(batch, index, place.id);
  const std::uint32_t slot = routes_.find(place.id);
  if (wait_if_busy(batch, index, slot)) return;
  if (!left_.empty()) left_.erase(place.id);
  std::uint32_t group = nowhere_;
  if (row->type == RouteType::Unicast && !find_group(batch, index, place, *row, group)) return forget_refusal(place.id);
  const GroupIds::Entry& entry = *routes_.group(group).entry;
  bool create = slot == RouteMap::kNone;
  if (slot != RouteMap::kNone) {
    RouteMap::Route& route = routes_[slot];
    create = is_dropped(route) || route.drifted;
    if (route.group == group && route.type == row->type && route.losses == entry.losses && !route.drifted) {
      if (route.restoring) return answer_restoring(batch, index);
      ++counts_.unchanged;
      batch.answer(index, outcome_of_present(place.id, group));
      return;
    }
    route.busy = true;
  }
  ++routes_.group(group).uses;
  if (operations_.empty()) reserve(batch.size());
  operations_.push_back({RouteSet{.prefix = place.id.prefix,
                                  .nexthop = entry.id,
                                  .table = place.id.table,
                                  .type = row->type,
                                  .create = create,
                                  .to_device = !entry.device.empty(),
                                  .source = row->source},
                         {}});
  use_table(place.id.table);
  if (!place.canonical) spellings_.take(row_key_of(place.id), batch[index].key());
  ordered_.push_back({batch.stage(index), group, entry.losses, false, place.canonical});
}

/// The ledger runs one change of a key at a time, but two keys can spell one prefix (2001:DB8::/32, 2001:db8::/32). The later row waits.
bool Routes::wait_if_busy(Batch& batch, std::size_t index, std::uint32_t slot) {
  if (slot == RouteMap::kNone || !routes_[slot].busy) return false;
  batch.answer(index, Outcome::retry_after(
                          kSoon, Status{StatusCode::FailedPrecondition, "a change of the same prefix, spelt otherwise, is under way"}));
  return true;
}

/// The row is done when the data plane has answered the order that restores the route.
void Routes::answer_restoring(Batch& batch, std::size_t index) {
  batch.answer(index,
               Outcome::retry_after(kSoon, Status{StatusCode::FailedPrecondition, "the kernel lost the route; it is being put back"}));
}

bool Routes::find_group(Batch& batch, std::size_t index, const Place& place, const RouteRow& row, std::uint32_t& group) {
  const FactKind kind = row.group.empty() ? kNextHops : kNexthopGroup;
  const std::string set_name = row.group.empty() ? name_of(row.hops) : std::string{};
  const std::string_view name = row.group.empty() ? std::string_view{set_name} : row.group;
  const std::uint32_t known = routes_.find_group(kind, name, row.source);
  const bool is_used = known != RouteMap::kNone && routes_.group(known).entry && routes_.group(known).entry->usable;
  const auto found = is_used ? nullptr : ids_.find(kind, name);
  const GroupIds::Entry* const entry = is_used ? routes_.group(known).entry.get() : found.get();
  const bool is_to_device = row.hops.size() == 1 && row.hops.front().is_to_device();
  if (is_to_device || (entry && (entry->of_others || !entry->device.empty()))) {
    const std::string& device = is_to_device ? row.hops.front().port : entry->device;
    if (leave(batch, index, place, {kind, std::string{name}}, entry && entry->of_others, device)) return false;
  }
  if (is_used) {
    group = known;
    return true;
  }
  if (!entry || !entry->usable) {
    wait_for_group(batch, index, {kind, std::string{name}}, row);
    return false;
  }
  const bool is_first = routes_.find_group(kind, name) == RouteMap::kNone;
  if (is_first && kind == kNextHops) {
    sets_.want(name, row.hops);  // Its group is still there, but it may have been dropped a moment ago.
    idle_sets_.erase(set_name);
  }
  group = routes_.group_at(kind, name, ids_, row.source);
  if (is_first && kind == kNexthopGroup) withdraw({kGroupUnused, std::string{name}});
  return true;
}

void Routes::wait_for_group(Batch& batch, std::size_t index, const Fact& fact, const RouteRow& row) {
  if (fact.kind == kNextHops && routes_.find_group(fact.kind, fact.key) == RouteMap::kNone) {
    sets_.want(fact.key, row.hops);
    idle_sets_.try_emplace(fact.key);
  }
  batch.answer(index, Outcome::wait_for(fact));
}

void Routes::order_delete(Batch& batch, std::size_t index, const Place& place, Left left) {
  if (another_row_has(place, batch[index].key())) {
    batch.done(index);
    return;
  }
  const std::uint32_t slot = routes_.find(place.id);
  if (wait_if_busy(batch, index, slot)) return;
  if (!held_by_others_.empty()) held_by_others_.erase(place.id);
  refused_new_.forget(place.id);
  if (!left_.empty()) left_.erase(place.id);
  if (!left.while_hold.empty()) left_.emplace(place.id, std::move(left));
  const bool may_be_there = slot != RouteMap::kNone || !restarted_;
  if (!may_be_there) {
    batch.answer(index, outcome_of_left(place.id));
    return;
  }
  if (slot != RouteMap::kNone) routes_[slot].busy = true;
  operations_.push_back({RouteDelete{place.id.prefix, place.id.table}, {}});
  ordered_.push_back({batch.stage(index), RouteMap::kNone, 0, true, place.canonical});
}

/// Makes one allocation per batch instead of eight, because the submission takes both vectors.
void Routes::reserve(std::size_t changes) {
  operations_.reserve(changes);
  ordered_.reserve(changes);
}

void Routes::submit() {
  if (operations_.empty()) return;
  if (counts_.first_order == Instant{}) counts_.first_order = runtime().clock().now();
  auto bulk = std::make_shared<Bulk>();
  bulk->ordered = std::move(ordered_);
  programmer_.submit(OrderLane::Bulk, std::move(operations_),
                     [this, bulk](std::span<Operation> operations) { answered(*bulk, operations); });
  operations_ = {};
  ordered_ = {};
}

// --- answers

void Routes::answered(Bulk& bulk, std::span<Operation> operations) {
  for (const Operation& operation : operations) routes_.prefetch(id_of(operation));
  const auto tickets = std::span{bulk.ordered}.subspan(bulk.answered, operations.size());
  for (unsigned step = 0; step < kExpectSteps; ++step) {
    for (const Ordered& ordered : tickets) expect_settle(ordered.ticket, step);
  }
  for (const Operation& operation : operations) {
    const Ordered& ordered = bulk.ordered[bulk.answered++];
    if (ordered.is_delete) {
      delete_answered(ordered, operation);
    } else {
      set_answered(ordered, operation);
    }
  }
  counts_.last_answer = runtime().clock().now();
  if (on_answers_) on_answers_();
}

void Routes::set_answered(const Ordered& ordered, const Operation& operation) {
  const RouteType type = std::get<RouteSet>(operation.order).type;
  const RouteId id = id_of(operation);
  note_holder(id, operation.status);
  if (operation.status.ok()) {
    forget_refusal(id);
    ++counts_.programmed;
    const std::size_t known = routes_.size();
    const std::uint32_t slot = routes_.find_or_add(id);
    if (routes_.size() == known) release_table(id.table);  // Otherwise the route takes over the use of its order.
    RouteMap::Route& route = routes_[slot];
    const std::uint32_t before = route.group;
    routes_.unlink(slot);
    route.type = type;
    route.losses = ordered.losses;
    touch(route);
    route.busy = false;
    const bool lost = routes_.group(ordered.group).entry->losses != ordered.losses;
    routes_.link(slot, ordered.group, lost);
    if (lost) put_back_->add(ordered.group);
    if (before != RouteMap::kNone) release_group(before);
    settle(ordered.ticket, outcome_of_answer(ordered, id));
    return;
  }
  ++counts_.refused;
  // PutBack may have skipped the earlier route while this order was under way.
  const bool is_foreign = operation.status.code() == StatusCode::AlreadyExists;  // Another program has a route there.
  const std::uint32_t slot = routes_.find(id);
  // If the group is known to be gone, the row waits for it, and is parked before the group is given up, so that a set which only this route
  // uses counts as awaited and stays. Otherwise the kernel may have dropped the group a moment ago, and the event is still on its way; or
  // another program deleted it, and audits only report.
  const RouteMap::Group& group = routes_.group(ordered.group);
  const bool has_no_source = operation.status.message().find(kNoSource) != std::string_view::npos;
  const bool has_no_group = operation.status.code() == StatusCode::FailedPrecondition && ordered.group != nowhere_ && !has_no_source;
  const bool group_gone = has_no_group && !group.entry->usable;
  const Status why = has_no_group ? operation.status.with_context(missing_group_words(group.fact)) : operation.status;
  const Outcome outcome = is_foreign   ? Outcome::retry_after(foreign_delay(id), operation.status)
                          : group_gone ? Outcome::wait_for(group.fact)
                                       : refusals_of(slot).note(id, outcome_of_set(why));
  if (is_foreign || group_gone) forget_refusal(id);
  if (slot == RouteMap::kNone) {
    tell_free(id);
  } else {
    mark_lost(slot, retry_after(outcome));
  }
  settle(ordered.ticket, outcome);
  release_table(id.table);
  release_group(ordered.group, outcome.kind() == Outcome::Kind::RetryAfter);
}

void Routes::delete_answered(const Ordered& ordered, const Operation& operation) {
  const RouteId id = id_of(operation);
  const std::uint32_t slot = routes_.find(id);
  Outcome outcome = refusals_of(slot).note(id, outcome_of_delete(operation.status));
  const bool is_deleted = outcome.kind() == Outcome::Kind::Done;
  if (is_deleted && !rivals_.empty()) rivals_.erase(id);
  if (slot != RouteMap::kNone) {
    if (is_deleted) {
      const std::uint32_t group = routes_[slot].group;
      routes_.erase(slot);
      release_group(group);
      release_table(id.table);
      tell_free(id);
    } else if (outcome.kind() == Outcome::Kind::RetryAfter) {
      routes_[slot].busy = false;  // Lost, so that a Set orders it, but not put back: the Delete is tried again.
      lose(slot);
    } else {
      mark_lost(slot);
    }
  }
  settle(ordered.ticket, is_deleted ? outcome_of_left(id) : std::move(outcome));
}

/// When the order that restores the route is given again, after this answer.
Duration Routes::retry_delay_of(std::uint32_t slot, const Status& answer) {
  if (answer.code() == StatusCode::AlreadyExists) return foreign_delay(routes_[slot].id());
  return retry_after(refused_known_.note(routes_[slot].id(), outcome_of_set(answer)));
}

void Routes::mark_lost(std::uint32_t slot, Duration put_back_after) {
  routes_[slot].busy = false;
  put_back_->add_later(lose(slot), put_back_after);
}

std::uint32_t Routes::lose(std::uint32_t slot) {
  RouteMap::Route& route = routes_[slot];
  touch(route);
  const std::uint32_t group = route.group;
  routes_.unlink(slot);
  route.losses = routes_.group(group).entry->losses - 1;
  routes_.link(slot, group, true);
  return group;
}

void Routes::release_group(std::uint32_t slot, bool is_tried_again) {
  RouteMap::Group& group = routes_.group(slot);
  RONDO_ASSERT(group.uses > 0);
  if (--group.uses > 0) return;
  const Fact fact = group.fact;
  put_back_->forget(slot);
  routes_.erase_group(slot);
  if (routes_.find_group(fact.kind, fact.key) != RouteMap::kNone) return;  // Routes with another source use it.
  if (fact.kind == kNexthopGroup) {
    announce({kGroupUnused, fact.key});
  } else if (is_tried_again || is_awaited(fact)) {
    idle_sets_[fact.key] = is_tried_again;  // Rows wait for the set to become usable.
  } else {
    sets_.drop(fact.key);
  }
}

/// A row that waited for a set may have been deleted or changed meanwhile, and nothing tells that.
void Routes::sweep_sets() {
  for (auto set = idle_sets_.begin(); set != idle_sets_.end();) {
    if (std::exchange(set->second, false) || is_awaited({kNextHops, set->first})) {
      ++set;
      continue;
    }
    sets_.drop(set->first);
    set = idle_sets_.erase(set);
  }
}

}  // namespace rondo::switch_agent
