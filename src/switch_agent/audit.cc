#include "switch_agent/audit.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "rondo/orch/runtime.h"
#include "rondo/sched/executor.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/facts.h"
#include "switch_agent/fdb.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/priorities.h"
#include "switch_agent/retries.h"
#include "switch_agent/routes.h"

namespace rondo::switch_agent {

namespace {

/// The time between the two readings: longer than an answer of the data plane or a link event takes to arrive.
constexpr Duration kBetweenLooks = 200ms;
/// The interval at which deletions wait for the orders under way. After all tries they are left to the next audit.
constexpr Duration kDeleteWait = 20ms;
constexpr unsigned kDeleteTries = 50;
/// The delay between a notice and its audit, so that a burst of notices costs one audit.
constexpr Duration kNoticeDelay = 50ms;
/// The least time between two audits that notices cause.
constexpr Duration kNoticePeriod = 1s;
constexpr Duration kSlowestNotices = 60s;
/// The delay between a repair and the audit that checks it.
constexpr Duration kFollowUp = 1s;
/// While differences of a kind with few objects stand.
constexpr Duration kStandingLook = 10s;
/// The most follow-up audits in a row. Differences that remain after them wait for the next period.
constexpr unsigned kFollowUps = 3;
/// Repairs of one kind that follow each other within this time are one streak: twice as long as the slowest notices. A streak counts as
/// contested from the sixth on.
constexpr Duration kContested = 130s;
constexpr unsigned kContestedLeast = 5;
/// Routes noticed in one round. If more are noticed, all routes are audited.
constexpr std::size_t kRoutesNoticed = 65536;
/// The most requests that may wait.
constexpr std::size_t kRequests = 16;
/// Next hops that one batch repairs.
constexpr std::size_t kTogether = 1024;
/// Objects deleted between two checks for orders under way: making their orders takes well below a millisecond of one turn.
constexpr std::size_t kDeletesOfTurn = 8192;
/// A deletion that the safety stop holds is checked again after this time, because its wait may be over.
constexpr Duration kHeldLook = 60s;
/// Objects compared between two readings of the clock.
constexpr std::uint32_t kSlice = 64;

std::size_t index_of(ObjectKind kind) noexcept { return static_cast<std::size_t>(kind); }

}  // namespace

Audit::Audit(Runtime& runtime, DataPlane& plane, AuditParts parts, AuditOptions options, bool in_line)
    : Source("audit", kAudit),
      runtime_(runtime),
      plane_(plane),
      parts_(std::move(parts)),
      options_(options),
      reader_(
          runtime.scheduler(),
          [this](std::span<Reading> readings) {
            for (Reading& one : readings) read(one);
          },
          {.name = "audit reader", .target = "the data plane", .in_line = in_line, .priority = kAudit, .at_end = ExecutorEnd::Drop},
          unrecorded_),
      period_timer_("audit period", kAudit, [this] { enqueue(kAllKinds); }),
      notice_timer_("audit notice", kAudit,
                    [this] {
                      last_notice_ = runtime_.scheduler().now();
                      enqueue(std::exchange(noticed_, {}));
                    }),
      look_timer_("audit look", kAudit, [this] { findings_->look() == 1 ? start_look(2) : end_deletes(); }),
      follow_timer_("audit follow-up", kAudit, [this] { enqueue(std::exchange(follow_, {})); }),
      round_timer_("audit round", kAudit, [this] { end_round(); }) {
  Scheduler& scheduler = runtime.scheduler();
  scheduler.add(*this);
  for (TimerSource* const timer : {&period_timer_, &notice_timer_, &look_timer_, &follow_timer_, &round_timer_}) scheduler.add(*timer);
  parts_.programmer.on_room([this] {
    if (comparing_) wake();
  });
}

Audit::~Audit() = default;

void Audit::begin(bool audits_now, bool with_unwanted) {
  begun_ = true;
  with_unwanted_ = with_unwanted;
  if (audits_now) enqueue(kAllKinds);
  if (options_.period > Duration::zero()) period_timer_.arm_every(options_.period, runtime_.scheduler().now() + options_.period);
}

Status Audit::request(const KindMask& kinds, OnDrift action, Done done, std::function<bool()> wanted) {
  if (!begun_)
    return Status{
        StatusCode::FailedPrecondition,
        "what an earlier run left in the data plane is not taken over yet, and 'rondo health' says what that waits for: try again later"};
  if (requests_.size() >= kRequests) {
    return Status{StatusCode::ResourceExhausted, std::to_string(kRequests) + " audits wait already: try again later"};
  }
  enqueue({.left = kinds, .action = action, .done = std::move(done), .wanted = std::move(wanted), .report = {}, .checks_repair = false});
  return {};
}

void Audit::look_at_held() {
  for (std::size_t i = 0; i < kObjectKinds; ++i) {
    if (held_[i]) follow(static_cast<ObjectKind>(i), kNoticeDelay);
  }
}

void Audit::notice(const std::optional<ObjectEvent>& event) {
  if (!event) {
    for (std::size_t i = 0; i < kObjectKinds; ++i) notice(static_cast<ObjectKind>(i));
    return;
  }
  const DeleteOrder& object = event->object;
  if (const auto* const route = std::get_if<RouteDelete>(&object)) return notice_route(*route);
  struct IsOurs {
    const AuditParts& parts;
    const ObjectEvent& event;
    bool operator()(const RouteDelete&) const { return false; }  // See notice_route().
    bool operator()(const NexthopDelete& one) const { return parts.nexthop_groups.may_have(one); }
    bool operator()(const NeighborDelete& one) const { return parts.neighbors.has(one); }
    bool operator()(const AddressDelete& one) const { return parts.interfaces.has(one); }
    bool operator()(const DeviceDelete&) const { return false; }  // Link events tell of devices.
    bool operator()(const FdbDelete& one) const { return parts.fdb.is_changed_by(one, event); }
  };
  const auto* const address = std::get_if<AddressDelete>(&object);
  if (address != nullptr) address_changed(address->address.address);
  if (!std::visit(IsOurs{parts_, *event}, object)) return;
  notice(kind_of(object));
  // The kernel drops the neighbours of a family with the last address of that family.
  if (kind_of(object) == ObjectKind::Address) notice(ObjectKind::Neighbor);
  if (event->drops_routes) notice(ObjectKind::Route);
}

/// The kernel drops IPv4 routes with the address that is their preferred source. Kernels before 6.6 do not report them.
void Audit::address_changed(const IpAddress& address) {
  if (parts_.routes.has_source(address)) notice(ObjectKind::Route);
}

void Audit::notice(ObjectKind kind) {
  if (!begun_) return;
  noticed_[index_of(kind)] = true;
  if (notice_timer_.is_armed()) return;
  const Instant now = runtime_.scheduler().now();
  notice_timer_.arm_at(std::max(now + kNoticeDelay, last_notice_ + notice_period(attempts_[index_of(kind)])));
}

/// Doubles the period with each attempt beyond kFollowUps, up to kSlowestNotices. So a program that keeps changing an object causes fewer
/// and fewer audits.
Duration Audit::notice_period(unsigned attempts) const {
  return doubled(kNoticePeriod, std::max(attempts, kFollowUps) - kFollowUps, kSlowestNotices);
}

void Audit::notice_route(const RouteDelete& route) {
  if (!begun_ || !parts_.routes.has(route)) return;
  if (options_.action == OnDrift::Report || routes_repaired_.size() + routes_noticed_.size() >= kRoutesNoticed) {
    return notice(ObjectKind::Route);
  }
  if (!round_timer_.is_armed()) round_timer_.arm_at(runtime_.scheduler().now() + kNoticePeriod);
  if (routes_repaired_.contains(route) || !parts_.routes.is_settled(route)) {
    routes_noticed_.insert(route);
  } else {
    repair_noticed({route});
  }
}

/// Marks the routes as lost immediately, so that a Set of the same row is not answered as unchanged.
void Audit::repair_noticed(const std::vector<DeleteOrder>& routes) {
  if (routes.empty()) return;
  for (const DeleteOrder& route : routes) routes_repaired_.insert(std::get<RouteDelete>(route));
  if (first_of_round_.empty()) first_of_round_.push_back(parts_.routes.missing(std::get<RouteDelete>(routes.front())));
  repaired_in_round_ += routes.size();
  figures_[index_of(ObjectKind::Route)].missing += routes.size();
  figures_[index_of(ObjectKind::Route)].repaired += routes.size();
  parts_.repair(DriftKind::Missing, routes);
}

void Audit::end_round() {
  const std::uint64_t repaired = std::exchange(repaired_in_round_, 0);
  const std::vector<Drift> first = std::exchange(first_of_round_, {});
  const auto is_held = [this](const RouteDelete& route) { return parts_.routes.is_held_by_other(route); };
  const auto held = std::min(repaired, static_cast<std::uint64_t>(std::ranges::count_if(routes_repaired_, is_held)));
  figures_[index_of(ObjectKind::Route)].repaired -= held;
  const AuditResult result{.kind = ObjectKind::Route,
                           .fresh = repaired,
                           .found = {repaired},
                           .repaired = repaired - held,
                           .held_by_others = held,
                           .attempt = rounds_,
                           .status = {}};
  if (repaired != 0) note_repair(ObjectKind::Route);
  if (repaired != 0 && on_result_) on_result_(result, first);
  routes_repaired_.clear();
  rounds_ = routes_noticed_.empty() ? 0 : rounds_ + 1;
  if (routes_noticed_.empty()) return;
  std::vector<DeleteOrder> due;
  std::erase_if(routes_noticed_, [&](const RouteDelete& route) {
    if (parts_.routes.is_settled(route)) due.emplace_back(route);
    return !parts_.routes.has(route) || parts_.routes.is_settled(route);
  });
  repair_noticed(due);
  round_timer_.arm_at(runtime_.scheduler().now() + notice_period(rounds_));
}

void Audit::enqueue(Request request) {
  // Of the requests without a caller, one that has not begun is enough.
  const auto same = std::find_if(requests_.begin() + (busy_ ? 1 : 0), requests_.end(),
                                 [&](const Request& other) { return !other.done && !request.done && other.action == request.action; });
  if (same != requests_.end()) {
    for (std::size_t i = 0; i < kObjectKinds; ++i) same->left[i] = same->left[i] || request.left[i];
  } else {
    requests_.push_back(std::move(request));
  }
  go_on();
}

void Audit::go_on() {
  while (!busy_ && !requests_.empty()) {
    Request& request = requests_.front();
    if (request.wanted && !request.wanted()) {
      requests_.pop_front();
      continue;
    }
    const auto next = std::ranges::find(request.left, true);
    if (next != request.left.end()) {
      *next = false;
      kind_ = static_cast<ObjectKind>(next - request.left.begin());
      busy_ = true;
      kind_began_ = runtime_.scheduler().now();
      findings_.emplace(with_unwanted_);
      ordered_ = 0;
      ordered_routes_.clear();
      refused_deletes_ = 0;
      may_delete_ = false;
      unwanted_.clear();
      start_look(1);
    } else {
      const Request ended = std::move(requests_.front());
      requests_.pop_front();
      if (ended.done) ended.done(ended.report);
    }
  }
}

void Audit::start_look(unsigned look) {
  findings_->begin_look(look);
  if (kind_ == ObjectKind::Route && look == 1) parts_.routes.begin_audit();
  std::vector<Reading> readings(1);
  readings.front() = {kind_, std::make_shared<PlaneSnapshot>(), {}};
  reader_.submit(0, std::move(readings), [this](std::span<Reading> done) {
    if (!done.front().status.ok()) return finish_kind(done.front().status);
    snapshot_ = std::move(done.front().snapshot);
    comparing_ = true;
    wake();
  });
}

void Audit::read(Reading& reading) { reading.status = read_objects(plane_, reading.kind, *reading.snapshot); }

Turn Audit::run(const Budget& budget) {
  Turn turn;
  while (comparing_ && can_go_on() && turn.items < budget.items) {
    const std::uint32_t slice = std::min(kSlice, budget.items - turn.items);
    const bool at_end = compare(slice);
    turn.items += slice;
    repair_confirmed(at_end);
    if (at_end) end_look();
    if (time_is_up(budget)) break;
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

bool Audit::compare(std::size_t limit) {
  switch (kind_) {
    case ObjectKind::Address: return parts_.interfaces.compare(snapshot_->addresses, limit, *findings_);
    case ObjectKind::Neighbor: return parts_.neighbors.compare(snapshot_->neighbors, limit, *findings_);
    case ObjectKind::Nexthop: return parts_.nexthop_groups.compare(snapshot_->nexthops, limit, *findings_);
    case ObjectKind::Route: return parts_.routes.compare(snapshot_->routes, limit, *findings_);
    case ObjectKind::Fdb: return parts_.fdb.compare(snapshot_->fdb, limit, *findings_);
  }
  return true;
}

void Audit::repair_confirmed(bool at_end) {
  for (const DriftKind kind : {DriftKind::Missing, DriftKind::Changed}) {
    const std::vector<DeleteOrder> objects = findings_->take_confirmed(kind);
    if (objects.empty() || !repairs()) continue;
    if (kind_ != ObjectKind::Nexthop) {
      repair(kind, objects);
      continue;
    }
    if (kind != to_repair_kind_) repair(to_repair_kind_, std::exchange(to_repair_, {}));
    to_repair_kind_ = kind;
    to_repair_.insert(to_repair_.end(), objects.begin(), objects.end());
  }
  if (at_end || to_repair_.size() >= kTogether) repair(to_repair_kind_, std::exchange(to_repair_, {}));
  const std::vector<DeleteOrder> unwanted = findings_->take_confirmed(DriftKind::Unwanted);
  unwanted_.insert(unwanted_.end(), unwanted.begin(), unwanted.end());
}

void Audit::repair(DriftKind kind, const std::vector<DeleteOrder>& objects) {
  if (objects.empty()) return;
  ordered_ += objects.size();
  for (const DeleteOrder& object : objects) {
    const auto* const route = std::get_if<RouteDelete>(&object);
    if (route != nullptr && kind != DriftKind::Unwanted) ordered_routes_.push_back(*route);
  }
  parts_.repair(kind, objects);
}

void Audit::end_look() {
  comparing_ = false;
  figures_[index_of(kind_)].objects = snapshot_->objects();
  snapshot_.reset();
  if (findings_->look() == 1 && findings_->has_suspects()) {
    look_timer_.arm_at(runtime_.scheduler().now() + kBetweenLooks);
    return;
  }
  deletes_left_ = kDeleteTries;
  held_[index_of(kind_)] = false;
  const std::uint64_t unwanted = findings_->count(DriftKind::Unwanted);
  if (unwanted == 0) parts_.none_unwanted(kind_);
  if (unwanted > 0 && repairs()) {
    may_delete_ = parts_.may_delete(kind_, unwanted, figures_[index_of(kind_)].objects);
    held_[index_of(kind_)] = !may_delete_;
  }
  end_deletes();
}

/// Deletes only while no order is under way: an order that creates one of the objects would otherwise be carried out before its Delete.
/// The audit's own orders take a moment, and the audit ends when they are answered.
void Audit::end_deletes() {
  const auto wait = [this] {
    if (deletes_left_ == 0) return false;
    --deletes_left_;
    look_timer_.arm_at(runtime_.scheduler().now() + kDeleteWait);
    return true;
  };
  const bool deletes = may_delete_ && !unwanted_.empty();
  const bool is_quiet = parts_.programmer.in_flight() == 0;
  const bool is_put_back = deletes_left_ < kDeleteTries;  // A later turn orders what was lost.
  if ((ordered_ != 0 || deletes) && !(is_quiet && is_put_back) && wait()) return;
  if (deletes && is_quiet) {
    while (!unwanted_.empty() && !delete_unwanted()) continue;
    deletes_left_ = kDeleteTries;
    if (wait()) return;
  }
  finish_kind({});
}

void Audit::deletes_answered(std::span<const Operation> deletes) {
  refused_deletes_ += static_cast<std::uint64_t>(
      std::ranges::count_if(deletes, [](const Operation& one) { return !one.status.ok() && one.status.code() != StatusCode::NotFound; }));
}

/// True if the Orch of the row considers the object present.
bool Audit::is_there(const Drift& drift) const {
  if (drift.table == "INTF_TABLE") return parts_.interfaces.state_of(drift.key).state == PlaneState::Installed;
  if (drift.table == "FDB_TABLE") return parts_.fdb.state_of(drift.key).state == PlaneState::Installed;
  if (drift.table == "NEIGH_TABLE") return parts_.neighbors.state_of(drift.key).state == PlaneState::Installed;
  const FactKind kind = drift.table.empty() ? kNextHops : kNexthopGroup;
  return parts_.nexthop_groups.state_of_row(kind, drift.key).state == PlaneState::Installed;
}

void Audit::count_repaired(AuditResult& result) {
  if (ordered_ == 0) return;
  result.not_repaired = refused_deletes_;
  for (const RouteDelete& route : ordered_routes_) {
    if (parts_.routes.is_held_by_other(route)) {
      ++result.held_by_others;
    } else if (parts_.routes.is_open(route)) {
      ++result.not_repaired;
    }
  }
  for (const Drift& drift : findings_->kept()) {
    if (kind_ == ObjectKind::Route || drift.kind == DriftKind::Unwanted || is_there(drift)) continue;
    const bool is_held = kind_ == ObjectKind::Fdb && parts_.fdb.state_of(drift.key).state == PlaneState::Foreign;
    ++(is_held ? result.held_by_others : result.not_repaired);
  }
  result.repaired = ordered_ - std::min(ordered_, result.held_by_others + result.not_repaired);
}

/// Deletes some of the unwanted objects, but none that a row has asked for since the comparison. Returns false if it ordered nothing.
bool Audit::delete_unwanted() {
  struct IsWanted {
    const AuditParts& parts;
    const std::set<NexthopId> nexthops;
    bool operator()(const RouteDelete& one) const { return parts.routes.has(one); }
    bool operator()(const NexthopDelete& one) const { return nexthops.contains(one.id); }
    bool operator()(const NeighborDelete& one) const { return parts.neighbors.has(one); }
    bool operator()(const AddressDelete& one) const { return parts.interfaces.has(one); }
    bool operator()(const DeviceDelete&) const { return true; }  // No audit finds one.
    bool operator()(const FdbDelete& one) const { return parts.fdb.has(one); }
  };
  const IsWanted is_wanted{parts_, kind_ == ObjectKind::Nexthop ? parts_.nexthop_groups.numbers() : std::set<NexthopId>{}};
  const std::size_t count = std::min(unwanted_.size(), kDeletesOfTurn);
  std::vector<DeleteOrder> deletes{unwanted_.end() - static_cast<std::ptrdiff_t>(count), unwanted_.end()};
  unwanted_.resize(unwanted_.size() - count);
  std::erase_if(deletes, [&](const DeleteOrder& one) { return std::visit(is_wanted, one); });
  repair(DriftKind::Unwanted, deletes);
  return !deletes.empty();
}

void Audit::finish_kind(Status status) {
  if (kind_ == ObjectKind::Route) parts_.routes.end_audit();
  AuditFigures& figures = figures_[index_of(kind_)];
  const Instant now = runtime_.scheduler().now();
  AuditResult result{.kind = kind_, .fresh = 0, .found = {}, .repaired = 0, .attempt = 0, .status = std::move(status)};
  if (result.status.ok()) count_repaired(result);
  figures.status = result.status;
  Request& request = requests_.front();
  if (result.status.ok()) {
    failures_[index_of(kind_)] = 0;
    for (std::size_t i = 0; i < result.found.size(); ++i) result.found[i] = findings_->count(static_cast<DriftKind>(i));
    ++figures.audits;
    figures.last = now;
    figures.took = now - kind_began_;
    figures.repaired += result.repaired;
    request.report.drifts.insert(request.report.drifts.end(), findings_->kept().begin(), findings_->kept().end());
    const std::uint64_t found = findings_->total();
    result.fresh = note_standing(result.repaired + result.held_by_others);
    follow_up(kind_, found);
    result.attempt = attempts_[index_of(kind_)];
  } else {
    ++figures.failed;
    follow(kind_, doubled(kForeignRetry, failures_[index_of(kind_)]++, kSlowestForeignRetry));
  }
  if (request.report.status.ok()) request.report.status = result.status;
  request.report.results[index_of(kind_)] = result;
  findings_.reset();
  busy_ = false;
  if (result.repaired != 0) note_repair(kind_);
  if (on_result_) on_result_(result, request.report.drifts);
  // The first repair is believed. After the others a reading decides, so that no row is lost that the data plane has.
  if (result.repaired != 0 && result.attempt > 1 && kind_ != ObjectKind::Route) check_repair(kind_);
  go_on();
}

void Audit::check_repair(ObjectKind kind) {
  Request check{.left = {}, .action = OnDrift::Report, .done = {}, .wanted = {}, .report = {}, .checks_repair = true};
  check.left[index_of(kind)] = true;
  requests_.push_front(std::move(check));
}

/// Counts the differences that remain, and does not count again those that the previous audit found.
std::uint64_t Audit::note_standing(std::uint64_t believed) {
  AuditFigures& figures = figures_[index_of(kind_)];
  if (requests_.front().checks_repair) {  // What the repairing audit found stays known, so that it counts and is logged once.
    figures.standing = findings_->total();
    rows_[index_of(kind_)] = std::move(findings_->rows());
    return 0;
  }
  std::vector<Drift>& standing = standing_[index_of(kind_)];
  std::set<std::string> known;
  for (const Drift& drift : standing) known.insert(object_name(drift.object) + std::string{to_string(drift.kind)});
  Found now;
  std::array<std::uint64_t, 3> again{};
  for (std::size_t i = 0; i < again.size(); ++i) now.counts[i] = findings_->count(static_cast<DriftKind>(i));
  now.kept = findings_->kept().size();
  for (const Drift& drift : findings_->kept()) {
    if (known.contains(object_name(drift.object) + std::string{to_string(drift.kind)})) ++again[static_cast<std::size_t>(drift.kind)];
  }
  const Found before = std::exchange(before_[index_of(kind_)], now);
  std::uint64_t fresh = 0;
  const std::array<std::uint64_t*, 3> totals{&figures.missing, &figures.changed, &figures.unwanted};
  for (std::size_t i = 0; i < again.size(); ++i) {
    // If there are more differences than the audit keeps, the names of the others are unknown. Then the rise in each kind of difference
    // counts as fresh.
    const bool is_cut = findings_->total() > now.kept;
    const std::uint64_t old = std::min(now.counts[i], is_cut ? std::max(before.counts[i], again[i]) : again[i]);
    *totals[i] += now.counts[i] - old;
    fresh += now.counts[i] - old;
  }
  // A repair counts as successful until the next audit, unless the previous audit repaired the same kind too.
  const bool is_believed = repairs() && attempts_[index_of(kind_)] == 0;
  figures.standing = findings_->total() - (is_believed ? std::min(believed, findings_->total()) : 0);
  standing = std::move(findings_->kept());
  rows_[index_of(kind_)] = figures.standing == 0 ? RowNames{} : std::move(findings_->rows());
  return fresh;
}

bool Audit::differs(std::string_view table, std::string_view key) const {
  if (table == "ROUTE_TABLE" && parts_.routes.is_among(key, routes_noticed_)) return true;
  return std::ranges::any_of(rows_, [&](const auto& rows) {
    const auto of_table = rows.find(table);
    return of_table != rows.end() && of_table->second.contains(key);
  });
}

std::size_t Audit::differing(std::string_view table) const {
  std::size_t count = table == "ROUTE_TABLE" ? routes_noticed_.size() : 0;
  for (const auto& rows : rows_) {
    const auto of_table = rows.find(table);
    if (of_table == rows.end()) continue;
    // The Orch itself counts the rows of FDB_TABLE whose repair was refused, and those without their membership.
    const auto is_counted = [&](const std::string& key) { return parts_.fdb.state_of(key).state == PlaneState::Installed; };
    const std::set<std::string, std::less<>>& keys = of_table->second;
    count += table == "FDB_TABLE" ? static_cast<std::size_t>(std::ranges::count_if(keys, is_counted)) : keys.size();
  }
  return count;
}

void Audit::note_repair(ObjectKind kind) {
  Streak& streak = streaks_[index_of(kind)];
  const Instant now = runtime_.scheduler().now();
  streak.repairs = now - streak.last <= kContested ? streak.repairs + 1 : 1;
  streak.last = now;
}

unsigned Audit::contested(ObjectKind kind) const noexcept {
  const Streak& streak = streaks_[index_of(kind)];
  const bool goes_on = streak.repairs > kContestedLeast && runtime_.scheduler().now() - streak.last <= kContested;
  return goes_on ? streak.repairs : 0;
}

void Audit::follow_up(ObjectKind kind, std::uint64_t found) {
  unsigned& attempts = attempts_[index_of(kind)];
  if (found == 0 && !requests_.front().checks_repair) attempts = 0;
  if (held_[index_of(kind)]) follow(kind, kHeldLook);
  if (found == 0) return;
  // So that a state of 'lost' ends soon after its cause. All routes are too many for this.
  if (kind != ObjectKind::Route) follow(kind, kStandingLook);
  // The kernel drops a group's routes with the group and reports none of them. A repair handles its routes; a report-only audit must read
  // them.
  if (kind == ObjectKind::Nexthop && options_.action == OnDrift::Report) follow(ObjectKind::Route, kFollowUp);
  if (!repairs()) return;
  if (++attempts > kFollowUps) return;
  follow(kind, kFollowUp);
  // The kernel drops neighbours with an address and reports none of them.
  if (kind == ObjectKind::Address) follow(ObjectKind::Neighbor, kFollowUp);
}

/// All kinds to follow are audited together, at the earliest of their times.
void Audit::follow(ObjectKind kind, Duration delay) {
  follow_[index_of(kind)] = true;
  const Instant due = runtime_.scheduler().now() + delay;
  if (follow_timer_.is_armed() && follow_due_ <= due) return;
  follow_due_ = due;
  follow_timer_.arm_at(due);
}

}  // namespace rondo::switch_agent
