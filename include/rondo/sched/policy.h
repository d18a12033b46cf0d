// Policy: chooses which ready source runs next and how much it may do. Small on purpose, so that the priority dispatchers of seed 003 and
// SONiC's Select (seed 000) are settings of one object, budgeted frames. A policy never touches descriptors, clocks or handlers.
//
// Budgeted frames. Each priority (class) has a budget Q a frame. Strict priority holds among the classes that have budget left; a turn is
// charged after it, with the time from the end of the turn before (so a look at the reactor is paid for, too). When no class with ready
// sources has budget left, a new frame begins: b = min(b, 0) + Q. Debt is carried, up to D[q] = kDebtFrames Q[q], credit is not; where
// all stay in debt after that, as many frames begin at once as it takes. When a source becomes ready while none is ready or running, a new
// frame begins, too.
//
// The bound. Let L[q] be the longest turn of class q, S[q] = Q[q] + L[q] - 1 ns its longest service in a frame, O the sum of S over the
// other classes, H that over the higher ones, n the sources of class p. A source of p that is ready waits at most
//   (j + 1) O + H + B,  j = floor((B' + min(L[p] - 1, D[p])) / Q[p]);  with a one-way cursor (j + 1) O + B
// where B is what its own class may do before it: (n - 1) L[p] if the least recently served goes first or the order is that of arrival, and
// (W/w + n - 1) L[p] if the least consumed time does (W the weights of the others, w its own), and B' what is charged for B, which is at
// most Q[p] + D[p] a turn. For n = 1 this is k O + H with
// k = ceil(L[p] / Q[p]), which is 1 where Q[p] >= L[p]: what a class waits. Proof. While s waits, p is ready, so a frame ends only when p
// has no budget left. Let m frames end meanwhile. Before the first end and between two ends the others get at most O, after the last one
// only the higher classes come before p: H (one-way: those below come in the rest of the frame, those above in the next: O in all). At the
// first end p's budget is not below -min(L[p] - 1, D[p]); it gets Q[p] at each, and was used up again at the m-th: it was charged at least
// (m - 1) Q[p] less that debt meanwhile, and at most B'. So m <= j + 1. docs/guide/policies.md says it slowly; rondo journal audit holds
// recorded days against it.
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

#include "rondo/sched/source.h"

namespace rondo {

/// Who goes first among ready sources of equal priority.
enum class Tie : std::uint8_t {
  /// The one served longest ago (seed 000, "Fair Scheduling with Same Priority"): while a source waits, every other one of its
  /// priority gets at most one turn.
  LeastRecentlyServed,
  /// The one whose next item came first (Source::head_arrival), or, where it does not say, the one that became ready first; such a source
  /// that still has more goes behind those that are ready (seed 003: "events inside the same priority are handled in chronological order").
  Arrival,
  /// The one that has consumed the least time for its weight (Source::set_weight). A source that was idle does not catch up for it.
  ConsumedTime,
};

/// A budget without end: this priority is never told to wait for a lower one. It voids the bound of all others.
inline constexpr Duration kNoBudget = Duration::max();

/// The default. Strict priority within a frame, and a bound on every wait (see above). Budgets grow geometrically from 'lowest' at
/// priority 0 to 'highest' at 63: as given, the sum of all budgets and longest turns is below 0.5 s, so that no priority waits a second.
/// One source among n of its priority may wait n frames, see above. Read a budget as "how long may this priority keep the others waiting".
/// From the discussion of seeds 000 and 002 on starvation.
struct BudgetedFrames {
  Duration lowest = 500us;
  Duration highest = 16ms;
  /// Other budgets for some priorities, above 0, or kNoBudget; the last one of a priority counts.
  std::vector<std::pair<Priority, Duration>> budgets = {};
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;  // Items a turn, at least 1.
  Duration turn = limits::kTurnTime;          // Budget::time, more than 0; at most the budget of the priority.

  BudgetedFrames& set(Priority priority, Duration budget) {
    budgets.emplace_back(priority, budget);
    return *this;
  }
};

/// Highest priority first, for ever. {LeastRecentlyServed, 128} is SONiC's Select with priorities that work (seed 000). A lower priority
/// can starve while a higher one always has work: that is the rule's nature.
struct StrictPriority {
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;  // Items a turn, at least 1.
  Duration turn = limits::kTurnTime;          // Budget::time, more than 0.
};

/// SObjectizer's strictly_ordered (seed 003): highest priority first, and within one the items of all sources that number them (agents'
/// messages, see Source::head_arrival) in the order of arrival. A higher arrival goes next after the item under way (where messages come
/// by the million a second, at most limits::kPollAfter later). Sources that do not know the arrival of their items (the tables of Orchs,
/// mailboxes, timers) get one item a turn, in the order in which they became ready.
struct StrictlyOrdered {
  std::uint32_t batch = limits::kBatchItems;
  Duration turn = limits::kTurnTime;
};

/// What a quota counts: handled items, or measured time.
enum class QuotaUnit : std::uint8_t { Items, Microseconds };

/// SObjectizer's quoted_round_robin (seed 003): the priorities take turns from the highest to the lowest, each up to its quota; a higher
/// arrival waits until the cursor has come round. Items of one priority go in the order of arrival, as in StrictlyOrdered. What seed 003
/// leaves open: a quota that is used up exactly moves the cursor on at once; a queue that runs dry inside its quota does so when the next
/// is picked, and the rest of the quota is lost; after idleness the cursor begins at the highest again. A turn without items counts as one.
struct QuotedRoundRobin {
  std::uint32_t quota = 10;  // Of each priority, at least 1.
  std::vector<std::pair<Priority, std::uint32_t>> raised = {};
  QuotaUnit unit = QuotaUnit::Items;  // In Microseconds what was used beyond a quota is taken off the next one.
  std::uint32_t batch = limits::kBatchItems;
  Duration turn = limits::kTurnTime;

  /// Another quota for one priority; the last one counts.
  QuotedRoundRobin& set(Priority priority, std::uint32_t its_quota) {
    raised.emplace_back(priority, its_quota);
    return *this;
  }
};

/// Any policy, spelled out: what the options above come down to, what the journal records, and what a replay runs under.
struct PolicySettings {
  enum class Name : std::uint8_t { Frames, Strict, StrictlyOrdered, QuotedRoundRobin };
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();

  Name name = Name::Frames;
  bool in_items = false;      // Budgets count items, else nanoseconds.
  bool one_way = false;       // No turn is interrupted; where any budget is finite, the cursor goes down only until a new frame begins.
  bool item_by_item = false;  // Sources that do not know the arrival of their items get one a turn.
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;
  Duration turn = limits::kTurnTime;
  std::array<std::int64_t, limits::kPriorities> budgets = {};  // A frame's, by priority; at least 1, or kInfinite.

  friend bool operator==(const PolicySettings&, const PolicySettings&) = default;
};

/// The policies a user can choose by value.
using PolicyOptions = std::variant<BudgetedFrames, StrictPriority, StrictlyOrdered, QuotedRoundRobin, PolicySettings>;

/// What was seen of one priority: from this its bound follows.
struct PriorityUse {
  Duration longest{0};         // Turn, the time since the turn before included where somebody was ready.
  Duration longest_item{0};    // The same for each item of the turn, on average; policies that count items.
  std::int64_t items = 0;      // Most items of a turn, at least 1; likewise.
  std::int64_t overdraft = 0;  // Most items beyond a quota; likewise.
  std::uint32_t sources = 0;   // Most at a time,
  std::uint64_t weights = 0;   // and the highest sum of their weights.
  bool numbered = false;       // Some know the arrival of their items: how many are older, nobody knows.
};
using PriorityUses = std::array<PriorityUse, limits::kPriorities>;

/// The longest that a source of 'priority' with 'weight' can wait under 'settings' as long as turns are no longer and sources no more than
/// in 'uses'; Duration::max() if there is no bound. See the top of this file. O(priorities).
Duration wait_bound(const PolicySettings& settings, const PriorityUses& uses, Priority priority, std::uint32_t weight = 1);

/// The seam between the scheduler and a rule. Scheduler's thread only. Unless they say otherwise, calls are O(1), and none but joined()
/// allocates. With ties by arrival or by consumed time, those that put a source into order or take it out are O(log of the ready sources of
/// its priority). pick() begins a new frame now and then, which looks at each priority that has ready sources.
class Policy {
 public:
  virtual ~Policy() = default;
  /// 'source' belongs to the scheduler now, idle; it has left it, and is not ready. Amortised.
  virtual void joined(Source& source) = 0;
  virtual void departed(const Source& source) = 0;
  /// 'source' was idle and became ready.
  virtual void arrived(Source& source) = 0;
  /// 'source' had a turn of 'turn.items'; if turn.backlog is More it is ready again. 'took' is the time since the turn before ended, or
  /// since the first source became ready after that.
  virtual void served(Source& source, const Turn& turn, Duration took) = 0;
  /// Takes the next source out of the ready set, or returns nullptr when none is ready.
  virtual Source* pick() = 0;
  /// 'source' is ready and must be forgotten (removed or quarantined).
  virtual void removed(Source& source) = 0;
  /// What 'source', just picked, may do in this turn.
  virtual Budget budget(const Source& source) const = 0;
  virtual bool empty() const = 0;
  /// For people, such as "strict priority, least recently served first, 128 items or 1000 us a turn".
  virtual std::string describe() const = 0;
  virtual const PolicySettings& settings() const noexcept = 0;
  virtual const PriorityUses& uses() const noexcept = 0;

  /// The longest that 'source' can wait, looks at the reactor before its own turn apart: wait_bound() of what has been seen so far.
  Duration bound(const Source& source) const { return wait_bound(settings(), uses(), source.priority(), source.weight()); }
  /// What voids the bound, or makes it longer than it should be, a sentence each: budgets without end, a frame above limits::kFrameTime,
  /// turns that were longer than the budget of their priority. For logs and people.
  std::vector<std::string> warnings() const;

  // A change of policy, see Scheduler::set_policy.

  /// Goes on where 'before' was: the order of services, what was seen, whose turn is out. Its ready sources come by resumed().
  virtual void follow(const Policy& before) = 0;
  /// 'source' was ready under the policy before; called in the order in which that one would have picked.
  virtual void resumed(Source& source) = 0;
  /// The number of the last service.
  virtual std::uint64_t services() const noexcept = 0;
  /// A source was picked and not yet served, and its priority.
  bool turn_is_out() const noexcept { return turn_is_out_; }
  Priority picked() const noexcept { return Priority{picked_}; }

  /// Where numbers of arrival come from. The scheduler's own, which must outlive the policy's use.
  void number_by(std::atomic<std::uint64_t>& arrivals) noexcept { arrivals_ = &arrivals; }

  /// Who was picked last must end its turn, because somebody who is ready goes before its next item. A look at one word.
  bool prefers_another() const noexcept { return (ready_ & above_) != 0 || overtaken_; }
  /// Could somebody who becomes ready change that? If not, nobody need look.
  bool could_prefer_another() const noexcept { return above_ != 0 || by_arrival_; }
  /// The same of somebody of this priority.
  bool could_prefer(Priority priority) const noexcept { return could_prefer(1ULL << priority.level()); }
  /// The same of somebody of one of these priorities: bit p for priority p.
  bool could_prefer(std::uint64_t priorities) const noexcept {
    return (priorities & above_) != 0 || (by_arrival_ && (priorities >> picked_ & 1) != 0);
  }

 protected:
  std::uint64_t next_arrival() noexcept { return arrivals_->fetch_add(1, std::memory_order_relaxed) + 1; }

  // Kept by the policy for the two questions above.
  std::uint64_t ready_ = 0;  // Classes with ready sources that may be picked now: bit p for priority p.
  std::uint64_t above_ = 0;  // Classes that go before the one picked last, and may interrupt its turn between two items.
  bool by_arrival_ = false;  // Items of one class go by their arrival, whichever source has them,
  bool overtaken_ = false;   // and a source of the class picked last has become ready since.
  bool turn_is_out_ = false;
  unsigned picked_ = 0;  // The priority picked last.

 private:
  std::atomic<std::uint64_t> own_arrivals_{0};
  std::atomic<std::uint64_t>* arrivals_ = &own_arrivals_;
};

/// InvalidArgument when an option is out of its range.
Result<PolicySettings> resolve_policy(const PolicyOptions& options);
/// The same.
Result<std::unique_ptr<Policy>> make_policy(const PolicyOptions& options);

/// What voids the bound of these settings before anything has run.
std::vector<std::string> policy_warnings(const PolicySettings& settings);
/// For people, such as "strict priority, least recently served first, 128 items or 1000 us a turn".
std::string describe(const PolicySettings& settings);
/// "frames", "strict", "strictly-ordered" or "quoted-round-robin".
std::string_view to_string(PolicySettings::Name name) noexcept;

}  // namespace rondo
