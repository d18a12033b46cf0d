// Policy: chooses which ready source runs next and how much it may do. Small on purpose, so that the priority dispatchers of seed 003 and
// SONiC's Select (seed 000) are settings or siblings of one type. A policy never touches descriptors, clocks or handlers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "rondo/sched/source.h"

namespace rondo {

/// Who goes first among ready sources of equal priority.
enum class Tie : std::uint8_t {
  /// The one served longest ago (seed 000, "Fair Scheduling with Same Priority"): while a source waits, every other one of its
  /// priority gets at most one turn.
  LeastRecentlyServed,
  /// The one that became ready first; a source that still has more goes behind those that are ready.
  Arrival,
};

/// Highest priority first. {LeastRecentlyServed, 128} is SONiC's Select with priorities that work; {Arrival, 1} is SObjectizer's
/// strictly_ordered. A lower priority can starve while a higher one always has work: that is the rule's nature (seed 003).
struct StrictPriority {
  Tie tie = Tie::LeastRecentlyServed;
  std::uint32_t batch = limits::kBatchItems;  // Items a turn, at least 1.
  Duration turn = limits::kTurnTime;          // Budget::time, more than 0.
};

/// The policies a user can choose by value.
using PolicyOptions = std::variant<StrictPriority>;

/// The seam between the scheduler and a rule. Scheduler's thread only. Every call O(1).
class Policy {
 public:
  virtual ~Policy() = default;
  /// 'source' was idle and became ready.
  virtual void arrived(Source& source) = 0;
  /// 'source' had a turn of 'turn.items' that took 'ran'; if turn.backlog is More it is ready again.
  virtual void served(Source& source, const Turn& turn, Duration ran) = 0;
  /// Takes the next source out of the ready set, or returns nullptr when none is ready.
  virtual Source* pick() = 0;
  /// 'source' is ready and must be forgotten (removed or quarantined).
  virtual void removed(Source& source) = 0;
  /// What 'source', just picked, may do in this turn.
  virtual Budget budget(const Source& source) const = 0;
  virtual bool empty() const = 0;
  /// For people, such as "strict priority, least recently served first, 128 items or 1000 us a turn".
  virtual std::string describe() const = 0;

  /// Who was picked last must end its turn, because somebody who is ready goes before its next item. A look at one word.
  bool prefers_another() const noexcept { return (ready_ & above_) != 0 || overtaken_; }
  /// Could somebody who becomes ready change that? If not, nobody need look.
  bool could_prefer_another() const noexcept { return above_ != 0 || by_arrival_; }

 protected:
  // Kept by the policy for the two questions above.
  std::uint64_t ready_ = 0;  // Classes with ready sources that may be picked now: bit p for priority p.
  std::uint64_t above_ = 0;  // Classes that go before the one picked last, and may interrupt its turn between two items.
  bool by_arrival_ = false;  // Items of one class go by their arrival, whichever source has them,
  bool overtaken_ = false;   // and a source of the class picked last has become ready since.
};

/// InvalidArgument when an option is out of its range.
Result<std::unique_ptr<Policy>> make_policy(const PolicyOptions& options);

}  // namespace rondo
