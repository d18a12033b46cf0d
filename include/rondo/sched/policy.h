// Policy: chooses which ready source runs next, and the budget of its turn. All policies are settings of one object, budgeted frames: also
// SObjectizer's priority dispatchers and the Select loop of SONiC's orchagent. A policy never touches descriptors, clocks or handlers.
//
// Budgeted frames. Each priority (class) has a budget Q a frame. Strict priority holds among the classes that have budget left. A turn is
// charged when it ends, with the time since the end of the previous turn, so reactor polls are charged too. When no class with ready
// sources has budget left, a new frame begins: b = min(b, 0) + Q. Debt is carried over, up to D[q] = kDebtFrames Q[q]; credit is not. If
// all classes are still in debt, further frames begin immediately until one is not. A new frame also begins when a source becomes ready
// while none is ready or running.
//
// The bound. Let L[q] be the longest turn of class q, and S[q] = Q[q] + L[q] - 1 ns its longest service in a frame. Let O be the sum of S
// over the other classes, H that over the higher classes, and n the number of sources of class p. A ready source of p waits at most
//   (j + 1) O + H + B,  j = floor((B' + min(L[p] - 1, D[p])) / Q[p]);  with a one-way cursor (j + 1) O + B
// B is what its own class may do before it: (n - 1) L[p] if the least recently served goes first or the order is that of arrival, and (W/w
// + n - 1) L[p] with the least consumed time (W the weights of the others, w its own). B' is what is charged for B, which is at most Q[p] +
// D[p] a turn. For n = 1 the bound is k O + H with k = ceil(L[p] / Q[p]), which is 1 where Q[p] >= L[p]: the wait of a class. Proof. While
// s waits, p is ready, so a frame ends only when p has no budget left. Let m frames end during the wait. Before the first end, and between
// two ends, the others get at most O. After the last end only the higher classes run before p: H. (One-way: the lower classes run in the
// rest of the frame, the higher ones in the next: O in all.) At the first end p's budget is not below -min(L[p] - 1, D[p]). p gets Q[p] at
// each end, and has used it up again at the m-th: so it was charged at least (m - 1) Q[p] less that debt, and at most B'. Hence m <= j + 1.
// docs/guide/policies.md explains this in detail; `rondo journal audit` checks recorded days against the bound.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/source.h"

namespace rondo {

/// Which of the ready sources of equal priority runs first.
enum class Tie : std::uint8_t {
  /// The least recently served source, as in the Select loop of SONiC's orchagent: while a source waits, every other source of its priority
  /// gets at most one turn.
  LeastRecentlyServed,
  /// The source whose next item arrived first (Source::head_arrival). A source without arrival numbers counts from the time when it became
  /// ready; if it has more work after a turn, it goes behind the sources that are ready. SObjectizer has the same order inside a priority.
  Arrival,
  /// The source that has consumed the least time for its weight (Source::set_weight). A source gets no extra time for the time it was idle.
  ConsumedTime,
};

/// No limit: this priority never has to wait for a lower one. It voids the bound of all other priorities.
inline constexpr Duration kNoBudget = Duration::max();

/// The default. Strict priority within a frame, and a bound on every wait (see above). Budgets grow geometrically from 'lowest' at priority
/// 0 to 'highest' at 63. With the defaults the sum of all budgets and longest turns is below 0.5 s, so no priority waits a second. One of n
/// sources of a priority may wait n frames. A budget is the time for which this priority may keep the others waiting.
struct BudgetedFrames {
  Duration lowest = 500us;
  Duration highest = 16ms;
  /// Other budgets for some priorities, above 0, or kNoBudget; if a priority is listed twice, the last entry counts.
  std::vector<std::pair<Priority, Duration>> budgets = {};
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;  // The most items of a turn, at least 1.
  Duration turn = limits::kTurnTime;          // Budget::time, above 0; limited to the budget of the priority.

  BudgetedFrames& set(Priority priority, Duration budget) {
    budgets.emplace_back(priority, budget);
    return *this;
  }
};

/// Always the highest priority first. {LeastRecentlyServed, 128} is the Select loop of SONiC's orchagent, with priorities that take effect.
/// A lower priority can starve while a higher one always has work.
struct StrictPriority {
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;  // The most items of a turn, at least 1.
  Duration turn = limits::kTurnTime;          // Budget::time, above 0.
};

/// SObjectizer's strictly_ordered dispatcher: highest priority first. Within a priority, sources that number their items (agents' messages,
/// see Source::head_arrival) are served in the order of arrival across all of them. A more urgent item is served after the current one;
/// with millions of messages a second, at most limits::kPollAfter later. Sources without arrival numbers (tables of Orchs, mailboxes,
/// timers) get one item a turn, in the order in which they became ready.
struct StrictlyOrdered {
  std::uint32_t batch = limits::kBatchItems;
  Duration turn = limits::kTurnTime;
};

/// What a quota counts: handled items, or measured time.
enum class QuotaUnit : std::uint8_t { Items, Microseconds };

/// SObjectizer's quoted_round_robin dispatcher: the priorities take turns from the highest to the lowest, each up to its quota. A more
/// urgent item waits until the cursor reaches its priority. Items of one priority are served in the order of arrival, as in
/// StrictlyOrdered. Details: when a quota is exactly used up, the cursor moves on immediately. When a priority runs out of items, the
/// cursor moves on at the next pick, and the rest of the quota is lost. After idleness the cursor begins at the highest priority. A turn
/// without items counts as one item.
struct QuotedRoundRobin {
  std::uint32_t quota = 10;  // Quota of each priority, at least 1.
  std::vector<std::pair<Priority, std::uint32_t>> raised = {};
  QuotaUnit unit = QuotaUnit::Items;  // In Microseconds, time used beyond a quota is subtracted from the next one.
  std::uint32_t batch = limits::kBatchItems;
  Duration turn = limits::kTurnTime;

  /// Sets another quota for one priority; the last call counts.
  QuotedRoundRobin& set(Priority priority, std::uint32_t its_quota) {
    raised.emplace_back(priority, its_quota);
    return *this;
  }
};

/// The complete settings of any policy. The options above are converted to it, the journal records it, and a replay uses it.
struct PolicySettings {
  enum class Name : std::uint8_t { Frames, Strict, StrictlyOrdered, QuotedRoundRobin };
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

  Name name = Name::Frames;
  bool in_items = false;      // Budgets count items; otherwise nanoseconds.
  bool one_way = false;       // No turn is interrupted. If any budget is finite, the cursor only goes down until a new frame begins.
  bool item_by_item = false;  // Sources without arrival numbers get one item a turn.
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;
  Duration turn = limits::kTurnTime;
  std::array<std::int64_t, limits::kPriorities> budgets = {};  // Budget of each priority in a frame; at least 1, or kInfinite.

  friend bool operator==(const PolicySettings&, const PolicySettings&) = default;
};

/// The policies a user can choose by value.
using PolicyOptions = std::variant<BudgetedFrames, StrictPriority, StrictlyOrdered, QuotedRoundRobin, PolicySettings>;

struct PriorityUse;
/// By priority.
using PriorityUses = std::array<PriorityUse, limits::kPriorities>;

/// The interface between the scheduler and its policy. All settings have one implementation; it is behind an interface so that users of
/// this header do not compile its ready sets, and so that set_policy() can exchange it. Scheduler's thread only. Unless a comment says
/// otherwise, calls are O(1), and only joined() allocates. With ties by arrival or by consumed time, inserting or removing a source is
/// O(log n), where n is the number of ready sources of its priority. A pick() that begins a new frame examines each priority that has ready
/// sources.
class Policy {
 public:
  virtual ~Policy() = default;
  /// joined(): 'source' was added to the scheduler, idle; amortised O(1). departed(): 'source' has left the scheduler, and is not ready.
  virtual void joined(Source& source) = 0;
  virtual void departed(const Source& source) = 0;
  /// 'source' was idle and became ready.
  virtual void arrived(Source& source) = 0;
  /// 'source' had a turn of 'turn.items'; if turn.backlog is More it is ready again. 'took' is the time since the previous turn ended, or
  /// since the first source became ready, if that was later.
  virtual void served(Source& source, const Turn& turn, Duration took) = 0;
  /// Removes the next source from the ready set and returns it; nullptr when none is ready.
  virtual Source* pick() = 0;
  /// 'source' is ready and must leave the ready set (it is removed or quarantined).
  virtual void removed(Source& source) = 0;
  /// The budget of the turn of 'source', which was just picked.
  virtual Budget budget(const Source& source) const = 0;
  virtual bool empty() const = 0;
  /// For display, such as "strict priority, least recently served first, 128 items or 1000 us a turn".
  virtual std::string describe() const = 0;
  virtual const PolicySettings& settings() const noexcept = 0;
  /// The largest values seen so far, from which the bounds are computed.
  virtual const PriorityUses& uses() const noexcept = 0;

  /// The longest wait of 'source', without reactor polls before its turn, if turns and numbers of sources stay within uses(). See the top
  /// of this file.
  Duration bound(const Source& source) const;
  /// One sentence for each cause that voids the bound or makes it too long: unlimited budgets, a frame above limits::kFrameTime, turns that
  /// were longer than the budget of their priority. For logs and display.
  std::vector<std::string> warnings() const;

  // A change of policy, see Scheduler::set_policy.

  /// Continues from the state of 'before': the order of services, the recorded uses, the turn that is under way. resumed() then adds the
  /// ready sources.
  virtual void follow(const Policy& before) = 0;
  /// 'source' was ready under the previous policy. Called in the order in which that policy would have picked the sources.
  virtual void resumed(Source& source) = 0;
  /// The number of the last service.
  virtual std::uint64_t services() const noexcept = 0;
  /// True if a source was picked and not yet served; picked() is its priority.
  bool turn_is_out() const noexcept { return turn_is_out_; }
  Priority picked() const noexcept { return Priority{picked_}; }

  /// Sets the counter of arrival numbers: the scheduler's own, which must outlive its use by the policy.
  void number_by(std::atomic<std::uint64_t>& arrivals) noexcept { arrivals_ = &arrivals; }

  /// True if the source picked last must end its turn, because a ready source precedes its next item. Reads one word.
  bool prefers_another() const noexcept { return (ready_ & above_) != 0 || overtaken_; }
  /// True if a source that becomes ready could change that. If false, the caller need not check.
  bool could_prefer_another() const noexcept { return above_ != 0 || by_arrival_; }
  /// The same for a source of this priority.
  bool could_prefer(Priority priority) const noexcept { return could_prefer(1ULL << priority.level()); }
  /// The same for a source of one of these priorities: bit p for priority p.
  bool could_prefer(std::uint64_t priorities) const noexcept {
    return (priorities & above_) != 0 || (by_arrival_ && (priorities >> picked_ & 1) != 0);
  }

 protected:
  std::uint64_t next_arrival() noexcept { return arrivals_->fetch_add(1, std::memory_order_relaxed) + 1; }

  // State for prefers_another() and could_prefer().
  std::uint64_t ready_ = 0;  // Classes with ready sources that may be picked now: bit p for priority p.
  std::uint64_t above_ = 0;  // Classes that go before the one picked last, and may interrupt its turn between two items.
  bool by_arrival_ = false;  // Items of one class are ordered by arrival, across its sources.
  bool overtaken_ = false;   // A source of the class picked last has become ready since that pick.
  bool turn_is_out_ = false;
  unsigned picked_ = 0;  // The priority picked last.

 private:
  std::atomic<std::uint64_t> own_arrivals_{0};
  std::atomic<std::uint64_t>* arrivals_ = &own_arrivals_;
};

/// InvalidArgument when an option is out of its range.
Result<PolicySettings> resolve_policy(const PolicyOptions& options);
/// Resolves the options and makes the policy; the same error.
Result<std::unique_ptr<Policy>> make_policy(const PolicyOptions& options);

/// Causes that void the bound of these settings before anything has run, one sentence each.
std::vector<std::string> policy_warnings(const PolicySettings& settings);
/// For display, such as "strict priority, least recently served first, 128 items or 1000 us a turn".
std::string describe(const PolicySettings& settings);
/// "frames", "strict", "strictly-ordered" or "quoted-round-robin".
std::string_view to_string(PolicySettings::Name name) noexcept;

}  // namespace rondo
