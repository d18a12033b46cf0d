// Audit: finds and repairs differences between the data plane and what the Orchs ordered. Its own thread reads all objects of one kind;
// the scheduler thread compares them in slices. It does both again 200 ms later before it counts a difference. It runs once a period, soon
// after the data plane reports a change by another program, and on request.
//
// If another program deletes or replaces a route, the audit repairs it in the turn of the notice, without a reading: bench/audit.py prints
// what reading a full table of 634,000 costs. A second notice within a second waits for the end of that second, then of two, four, ...
//
// It is a source of low priority: rows and admin commands go before a comparison. Scheduler thread only.
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

#include "dataplane/drift_kind.h"
#include "dataplane/programmer.h"
#include "rondo/sched/executor.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "sched/executor_tap.h"
#include "switch_agent/drift.h"

namespace rondo {
class Runtime;
}  // namespace rondo

namespace rondo::switch_agent {

class Fdb;
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

/// The Orchs whose objects are audited and repaired, and the safety stop's functions.
struct AuditParts {
  Interfaces& interfaces;
  Neighbors& neighbors;
  NexthopGroups& nexthop_groups;
  Routes& routes;
  Fdb& fdb;
  Programmer& programmer;
  std::function<void(DriftKind kind, std::span<const DeleteOrder> objects)> repair;
  /// Returns true if 'count' unwanted objects out of 'total' may be deleted now.
  std::function<bool(ObjectKind kind, std::uint64_t count, std::uint64_t total)> may_delete;
  /// Called when no object of this kind is unwanted any more.
  std::function<void(ObjectKind kind)> none_unwanted;
};

/// A set of kinds, indexed by kind.
using KindMask = std::array<bool, kObjectKinds>;
inline constexpr KindMask kAllKinds{true, true, true, true, true};

/// What the audits of one kind have found.
struct AuditFigures {
  std::uint64_t audits = 0;   // Completed audits.
  std::uint64_t failed = 0;   // The data plane could not be read.
  std::uint64_t objects = 0;  // Objects read by the last audit.
  std::uint64_t missing = 0;  // Since the start. A difference that consecutive audits find counts once.
  std::uint64_t changed = 0;
  std::uint64_t unwanted = 0;
  std::uint64_t repaired = 0;  // Ordered again or deleted, and the data plane carried out the order.
  std::uint64_t standing = 0;  // Differences that the last audit found and did not repair, or found in spite of a repair.
  Instant last;                // When the last audit ended; zero before the first.
  Duration took{0};            // Of the last audit, from its first reading to its end.
  Status status;               // The status of the last reading.
};

/// The result of one audit of one kind.
struct AuditResult {
  ObjectKind kind = ObjectKind::Address;
  std::uint64_t fresh = 0;               // Differences that the previous audit did not find.
  std::array<std::uint64_t, 3> found{};  // Indexed by DriftKind.
  std::uint64_t repaired = 0;            // Ordered again or deleted, and the data plane carried out the order.
  std::uint64_t held_by_others = 0;      // Not repaired, because another program has an object there.
  std::uint64_t not_repaired = 0;        // Not repaired, because the data plane refused the order or has not answered.
  unsigned attempt = 0;                  // Consecutive audits, including this one, that repaired and found more to repair.
  Status status;
};

class Audit final : public Source {
 public:
  /// All arguments must outlive the audit. It only reads 'plane'.
  Audit(Runtime& runtime, DataPlane& plane, AuditParts parts, AuditOptions options, bool in_line);
  ~Audit() override;

  /// Enables the audit, which does nothing before this call. 'audits_now': also audits all kinds now, since earlier changes were not
  /// noticed. 'with_unwanted': an object that no row asks for counts as a difference. The agent passes false while it holds what an
  /// earlier run left, and calls again with true afterwards.
  void begin(bool audits_now, bool with_unwanted = true);

  /// The result of a request, one entry per kind.
  struct Report {
    std::array<AuditResult, kObjectKinds> results;
    std::vector<Drift> drifts;  // At most kDriftsKept of each kind.
    Status status;              // The first failure to read.
  };
  using Done = std::function<void(const Report&)>;
  /// Audits these kinds once, starting now: the audit covers every change made before this call. Returns FailedPrecondition before
  /// begin(), and ResourceExhausted when kRequests requests wait. 'wanted', if given, is called before the audit begins; if it returns
  /// false the request is dropped without an answer.
  Status request(const KindMask& kinds, OnDrift action, Done done, std::function<bool()> wanted = {});
  /// Called when the safety stop permits a held deletion: audits the kinds that have held deletions soon.
  void look_at_held();
  /// Called when the data plane reports a change by another program. Its kind is audited within a second. A route is repaired immediately
  /// or at the end of the round. Without an object, all kinds are audited.
  void notice(const std::optional<ObjectEvent>& event);
  /// The same, for a whole kind.
  void notice(ObjectKind kind);
  /// Called when any program has set or deleted the address.
  void address_changed(const IpAddress& address);
  /// Called when the data plane has answered the orders that delete unwanted objects.
  void deletes_answered(std::span<const Operation> deletes);

  /// Called at the end of each audit of a kind.
  void on_result(std::function<void(const AuditResult&, std::span<const Drift>)> handler) { on_result_ = std::move(handler); }

  const AuditFigures& figures(ObjectKind kind) const noexcept { return figures_[static_cast<std::size_t>(kind)]; }
  /// The differences that the last audit found and that are not repaired.
  std::span<const Drift> standing(ObjectKind kind) const noexcept { return standing_[static_cast<std::size_t>(kind)]; }
  /// True if the last audit found a difference in an object of this row and it is not repaired. Covers only the kDriftsKept differences
  /// kept for each kind. O(log).
  bool differs(std::string_view table, std::string_view key) const;
  /// The number of such rows in 'table'. O(kinds); for FDB_TABLE, O(differences).
  std::size_t differing(std::string_view table) const;
  /// How many repairs of this kind of objects followed each other, each within 130 s of the one before, up to now. 0 up to
  /// five: a person may change some objects. More: another program changes them again and again.
  unsigned contested(ObjectKind kind) const noexcept;
  /// The routes that are missing until their next repair.
  std::size_t routes_missing() const noexcept { return routes_noticed_.size(); }
  bool has_begun() const noexcept { return begun_; }
  const AuditOptions& options() const noexcept { return options_; }

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return comparing_ && can_go_on(); }

 private:
  /// One reading of one kind, made by the reader thread.
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
    bool checks_repair = false;  // It only reads whether the last repair held, and does not change attempts_.
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
  void note_repair(ObjectKind kind);
  void follow_up(ObjectKind kind, std::uint64_t found);
  void follow(ObjectKind kind, Duration delay);
  void check_repair(ObjectKind kind);
  void notice_route(const RouteDelete& route);
  void end_round();
  void repair_noticed(const std::vector<DeleteOrder>& routes);
  Duration notice_period(unsigned attempts) const;
  void enqueue(const KindMask& kinds) {
    enqueue({.left = kinds, .action = options_.action, .done = {}, .wanted = {}, .report = {}, .checks_repair = false});
  }
  bool repairs() const noexcept { return requests_.front().action == OnDrift::Repair; }
  bool can_go_on() const { return parts_.programmer.has_room(); }

  Runtime& runtime_;
  DataPlane& plane_;
  const AuditParts parts_;
  const AuditOptions options_;
  ExecutorTap unrecorded_;
  Executor<Reading> reader_;
  TimerSource period_timer_;
  TimerSource notice_timer_;
  TimerSource look_timer_;
  TimerSource follow_timer_;
  /// Ends the current round of noticed routes. The first notice begins a round.
  TimerSource round_timer_;
  std::set<RouteDelete> routes_repaired_;  // Repaired in this round.
  std::set<RouteDelete> routes_noticed_;   // Noticed again in this round, or while an order was under way; repaired at its end.
  std::uint64_t repaired_in_round_ = 0;
  std::vector<Drift> first_of_round_;
  struct Streak {
    unsigned repairs = 0;
    Instant last;
  };
  std::array<Streak, kObjectKinds> streaks_{};
  unsigned rounds_ = 0;  // Consecutive rounds that left a route to repair.
  KindMask noticed_{};
  KindMask follow_{};
  Instant follow_due_;
  std::array<unsigned, kObjectKinds> attempts_{};  // Consecutive audits that found differences.
  Instant last_notice_;
  std::deque<Request> requests_;  // The first request is under way if 'busy_'.
  bool begun_ = false;
  bool with_unwanted_ = false;
  bool busy_ = false;
  bool comparing_ = false;
  ObjectKind kind_ = ObjectKind::Address;
  std::optional<Findings> findings_;
  std::shared_ptr<PlaneSnapshot> snapshot_;
  Instant kind_began_;
  std::uint64_t ordered_ = 0;                      // Repairs ordered by the audit under way.
  std::vector<RouteDelete> ordered_routes_;        // The routes that it ordered again.
  std::uint64_t refused_deletes_ = 0;              // Its deletions that the data plane refused.
  bool may_delete_ = false;                        // The unwanted objects of the audit under way may be deleted.
  KindMask held_{};                                // Kinds with deletions that the safety stop holds.
  std::array<unsigned, kObjectKinds> failures_{};  // Consecutive failed readings.
  std::array<Found, kObjectKinds> before_;         // The findings of the previous audit.
  std::vector<DeleteOrder> to_repair_;             // Next hops, gathered because one repair walks over all next hops.
  DriftKind to_repair_kind_ = DriftKind::Missing;
  unsigned deletes_left_ = 0;
  std::vector<DeleteOrder> unwanted_;  // Confirmed unwanted objects of the audit under way.
  std::array<AuditFigures, kObjectKinds> figures_;
  std::array<std::vector<Drift>, kObjectKinds> standing_;
  std::array<RowNames, kObjectKinds> rows_;  // The rows that differ, by kind.
  std::function<void(const AuditResult&, std::span<const Drift>)> on_result_;
};

}  // namespace rondo::switch_agent
