// Audit: finds out whether the data plane still is as the Orchs ordered it, and has differences repaired. It reads all objects of one kind
// back on a thread of its own, compares them in slices of the scheduler thread, and does both again 200 ms later before it believes a
// difference. It runs once a period, soon after the data plane reports a change that did not come from us, and when asked.
//
// A route that another program deleted or replaced is repaired in the turn of the notice, without an audit: reading a full table of 634,000
// costs what bench/audit.py prints. Noticed again within a second, it waits for the end of that second, then of two, four, ...
//
// A source of low priority: a comparison waits for rows and admin commands. Scheduler's thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/dataplane/programmer.h"
#include "rondo/sched/executor.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "switch_agent/drift.h"

namespace rondo {
class Runtime;
}  // namespace rondo

namespace rondo::switch_agent {

class Interfaces;
class Neighbors;
class NexthopGroups;
class Routes;

enum class OnDrift : std::uint8_t { Repair, Report };

struct AuditOptions {
  /// Time between two audits of everything; 0: only after changes that the data plane reports, and when asked.
  Duration period{0};
  OnDrift action = OnDrift::Repair;
};

/// The Orchs whose objects are audited, and who repairs.
struct AuditParts {
  Interfaces& interfaces;
  Neighbors& neighbors;
  NexthopGroups& nexthop_groups;
  Routes& routes;
  Programmer& programmer;
  std::function<void(DriftKind kind, std::span<const DeleteOrder> objects)> repair;
  /// Whether so many unwanted objects of so many may be deleted now.
  std::function<bool(ObjectKind kind, std::uint64_t count, std::uint64_t total)> may_delete;
  /// Nothing of this kind is unwanted now.
  std::function<void(ObjectKind kind)> none_unwanted;
};

/// Which kinds, by number.
using KindMask = std::array<bool, kObjectKinds>;
inline constexpr KindMask kAllKinds{true, true, true, true};

/// What the audits of one kind have found.
struct AuditFigures {
  std::uint64_t audits = 0;   // That came to their end.
  std::uint64_t failed = 0;   // The data plane could not be read.
  std::uint64_t objects = 0;  // Read by the last one.
  std::uint64_t missing = 0;  // Ever. A difference that one audit after the other finds counts once.
  std::uint64_t changed = 0;
  std::uint64_t unwanted = 0;
  std::uint64_t repaired = 0;  // Ordered again or deleted, and the data plane carried that out.
  std::uint64_t standing = 0;  // Found by the last one, and not repaired by it or found in spite of a repair.
  Instant last;                // Its end; zero before the first.
  Duration took{0};            // From its first reading to its end.
  Status status;               // Of its reading.
};

/// The end of an audit of one kind.
struct AuditResult {
  ObjectKind kind = ObjectKind::Address;
  std::uint64_t fresh = 0;               // Differences that the audit before did not find.
  std::array<std::uint64_t, 3> found{};  // By DriftKind.
  std::uint64_t repaired = 0;            // Ordered again or deleted, and the data plane carried that out.
  std::uint64_t held_by_others = 0;      // Not, because another program has a route there.
  std::uint64_t not_repaired = 0;        // Not, because the data plane refused it or has not answered.
  unsigned attempt = 0;                  // Audits in a row, this one included, that repaired and found more to repair.
  Status status;
};

class Audit final : public Source {
 public:
  /// All must outlive it. 'plane' is read only.
  Audit(Runtime& runtime, DataPlane& plane, AuditParts parts, AuditOptions options, ExecutorMode mode);
  ~Audit() override;

  /// From here on it runs, and never before. 'looks_now': also a first time now, since what changed before was not noticed.
  /// 'with_unwanted': what no row asks for is a difference. Called without while what an earlier run left is held, and again when that is
  /// over.
  void begin(bool looks_now, bool with_unwanted = true);

  /// What a request found, kind by kind.
  struct Report {
    std::array<AuditResult, kObjectKinds> results;
    std::vector<Drift> drifts;  // kDriftsKept of each kind at most.
    Status status;              // The first failure to read.
  };
  using Done = std::function<void(const Report&)>;
  /// Audits these kinds once, from now on: what changes before this call is seen. FailedPrecondition before begin(), ResourceExhausted when
  /// kRequests wait.
  /// 'wanted', if given, is asked before it begins: false drops the request without an answer.
  Status request(const KindMask& kinds, OnDrift action, Done done, std::function<bool()> wanted = {});
  /// What the safety stop held may go on: kinds with such deletions are audited soon.
  void look_at_held();
  /// The data plane reports a change that did not come from us: its kind is audited within a second. A route is repaired, now or at the end
  /// of the round. Nothing: of all kinds.
  void notice(const std::optional<DeleteOrder>& object);
  /// The same of a kind.
  void notice(ObjectKind kind);
  /// The data plane answered orders that delete unwanted objects.
  void deletes_answered(std::span<const Operation> deletes);

  /// Called at the end of each audit of a kind.
  void on_result(std::function<void(const AuditResult&, std::span<const Drift>)> handler) { on_result_ = std::move(handler); }

  const AuditFigures& figures(ObjectKind kind) const noexcept { return figures_[static_cast<std::size_t>(kind)]; }
  /// The differences that the last audit found and that stand.
  std::span<const Drift> standing(ObjectKind kind) const noexcept { return standing_[static_cast<std::size_t>(kind)]; }
  /// Whether what the row asks for differed at the last audit and is not repaired: of the kDriftsKept that are kept of each kind. O(log).
  bool differs(std::string_view table, std::string_view key) const;
  /// How many rows of 'table' do. O(kinds).
  std::size_t differing(std::string_view table) const;
  bool has_begun() const noexcept { return begun_; }
  const AuditOptions& options() const noexcept { return options_; }

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return comparing_ && can_go_on(); }

 private:
  /// One reading of one kind, for the thread.
  struct Reading {
    ObjectKind kind = ObjectKind::Address;
    std::shared_ptr<PlaneSnapshot> snapshot;
    Status status{};
  };
  struct Request {
    KindMask left{};
    OnDrift action = OnDrift::Repair;
    Done done;
    std::function<bool()> wanted;
    Report report;
  };
  struct Found {
    std::array<std::uint64_t, 3> counts{};
    std::uint64_t kept = 0;
  };

  void enqueue(Request request);
  void go_on();
  void start_look(unsigned look);
  void read(Reading& reading);
  bool compare(std::size_t limit);
  void repair_confirmed(bool at_end);
  void repair(DriftKind kind, const std::vector<DeleteOrder>& objects);
  void end_look();
  void end_deletes();
  bool delete_unwanted();
  bool is_there(const Drift& drift) const;
  void count_repaired(AuditResult& result);
  void finish_kind(Status status);
  std::uint64_t note_standing(std::uint64_t believed);
  void follow_up(ObjectKind kind, std::uint64_t found);
  void follow(ObjectKind kind, Duration delay);
  void notice_route(const RouteDelete& route);
  void end_round();
  void repair_noticed(const std::vector<DeleteOrder>& routes);
  Duration notice_period(unsigned attempts) const;
  void enqueue(const KindMask& kinds) { enqueue({.left = kinds, .action = options_.action, .done = {}, .wanted = {}, .report = {}}); }
  bool repairs() const noexcept { return requests_.front().action == OnDrift::Repair; }
  bool can_go_on() const { return parts_.programmer.has_room(); }

  Runtime& runtime_;
  DataPlane& plane_;
  const AuditParts parts_;
  const AuditOptions options_;
  Executor<Reading> reader_;
  TimerSource period_timer_;
  TimerSource notice_timer_;
  TimerSource look_timer_;
  TimerSource follow_timer_;
  /// Ends the round of noticed routes, which begins with the first.
  TimerSource round_timer_;
  std::set<RouteDelete> routes_repaired_;  // In this round.
  std::set<RouteDelete> routes_noticed_;   // Again in this round, or while an order was under way: repaired at its end.
  std::uint64_t repaired_in_round_ = 0;
  std::vector<Drift> first_of_round_;
  unsigned rounds_ = 0;  // In a row that left something to repair.
  KindMask noticed_{};
  KindMask follow_{};
  Instant follow_due_;
  std::array<unsigned, kObjectKinds> attempts_{};  // Audits in a row that found differences.
  Instant last_notice_;
  std::deque<Request> requests_;  // The first is under way if 'busy_'.
  bool begun_ = false;
  bool with_unwanted_ = false;
  bool busy_ = false;
  bool comparing_ = false;
  ObjectKind kind_ = ObjectKind::Address;
  std::optional<Findings> findings_;
  std::shared_ptr<PlaneSnapshot> snapshot_;
  Instant kind_began_;
  std::uint64_t ordered_ = 0;                      // Repairs, by the audit under way.
  std::vector<RouteDelete> ordered_routes_;        // Of these: routes ordered again.
  std::uint64_t refused_deletes_ = 0;              // Of these, too.
  bool may_delete_ = false;                        // The unwanted objects of the audit under way.
  KindMask held_{};                                // By the safety stop.
  std::array<unsigned, kObjectKinds> failures_{};  // Readings in a row.
  std::array<Found, kObjectKinds> before_;         // What the audit before found.
  std::vector<DeleteOrder> to_repair_;             // Next hops, gathered: their repair goes over all of them.
  DriftKind to_repair_kind_ = DriftKind::Missing;
  unsigned deletes_left_ = 0;
  std::vector<DeleteOrder> unwanted_;  // Confirmed by the audit under way.
  std::array<AuditFigures, kObjectKinds> figures_;
  std::array<std::vector<Drift>, kObjectKinds> standing_;
  std::array<RowNames, kObjectKinds> rows_;  // Those that differ, by kind.
  std::function<void(const AuditResult&, std::span<const Drift>)> on_result_;
};

}  // namespace rondo::switch_agent
