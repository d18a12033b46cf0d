// Outcome: what a handler returns for a change. [[nodiscard]]: the compiler warns about an outcome that is not used.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/orch/fact.h"

namespace rondo {

class [[nodiscard]] Outcome {
 public:
  enum class Kind : std::uint8_t {
    Done,        // Applied. The change leaves the ledger.
    DoneWhile,   // Applied; the row is handled again when one of the given facts ends.
    WaitFor,     // Parked until all given facts hold, or one of them (wait_for_any); costs no time while it waits.
    RetryAfter,  // Parked until a time has passed (and all given facts hold, if any).
    Reject,      // Can never be applied: dropped, counted, and reported once with table, key and reason.
    // Handed on (to the data plane, a worker); Orch::settle() gives the outcome later. Until then no other change of the key is handled.
    Staged,
  };

  static Outcome done() noexcept { return Outcome{Kind::Done}; }
  /// A Set was applied and depends on 'fact': when the fact ends (Orch::withdraw), the handler is called again with the whole row. If a
  /// newer change of the row waits at that time, the handler is called with that one instead. Any later outcome of the row replaces this
  /// one, so the handler names the facts each time. Needs a Set and ConsumeOptions::rows = Rows::Whole; otherwise the change is rejected.
  /// If the fact does not hold, the handler is called again: eight times immediately, as the fact may just have ended, then after each
  /// limits::kSpuriousWaitDelay. Both are faults of the handler. Cost: at most 40 bytes a row beside its record, which the embedded store
  /// shares. When a fact ends, its whole list of rows is moved in O(1).
  static Outcome done_while(Fact fact) { return Outcome{Kind::DoneWhile, std::move(fact)}; }
  /// The same for several facts, up to limits::kWaitsPerChange: the row is handled again when any of them ends.
  static Outcome done_while(std::vector<Fact> facts) {
    Outcome outcome{Kind::DoneWhile};
    outcome.several_ = std::move(facts);
    return outcome;
  }
  static Outcome wait_for(Fact fact) { return Outcome{Kind::WaitFor, std::move(fact)}; }
  /// All of the facts must hold. An empty list, or one longer than limits::kWaitsPerChange, is a fault of the handler and becomes a Reject.
  static Outcome wait_for(std::vector<Fact> facts) {
    Outcome outcome{Kind::WaitFor};
    outcome.several_ = std::move(facts);
    return outcome;
  }
  /// One of the facts is enough: the handler is called again with the first that is announced. `why` shows them all. The limits are those
  /// of wait_for(). Cost: 16 bytes for each further fact, and as much time as to park the row once more.
  static Outcome wait_for_any(std::vector<Fact> facts) {
    Outcome outcome = wait_for(std::move(facts));
    outcome.is_any_ = true;
    return outcome;
  }
  /// Reports show 'why' as the reason of the wait.
  static Outcome retry_after(Duration delay, Status why) {
    Outcome outcome{Kind::RetryAfter};
    outcome.delay_ = delay;
    outcome.why_ = std::move(why);
    return outcome;
  }
  /// What an earlier version of the row made stays: if it is done while facts hold, it is handled again when one of them ends. The next
  /// process is given the rejected row only, so use this only for a row of which no earlier version can have made anything, or whose Orch
  /// accounts for the difference itself.
  static Outcome reject(Status why) {
    Outcome outcome{Kind::Reject};
    outcome.why_ = std::move(why);
    return outcome;
  }
  /// For a key that no Set could ever use. Like reject(), but after a Delete the key no longer counts as rejected.
  static Outcome reject_key(Status why) {
    Outcome outcome = reject(std::move(why));
    outcome.is_of_key_ = true;
    return outcome;
  }
  /// Like reject(). The handler has removed what an earlier version of the row made, so that the device depends on the present rows alone,
  /// as after a restart: no earlier version is handled again.
  static Outcome reject_removed(Status why) {
    Outcome outcome = reject(std::move(why));
    outcome.is_removed_ = true;
    return outcome;
  }
  static Outcome staged() noexcept { return Outcome{Kind::Staged}; }

  Kind kind() const noexcept { return kind_; }
  /// Valid as long as this Outcome and until it changes.
  std::span<const Fact> facts() const noexcept {
    return has_single_ ? std::span<const Fact>{&single_, 1} : std::span<const Fact>{several_};
  }
  Duration delay() const noexcept { return delay_; }
  const Status& why() const noexcept { return why_; }
  /// True if it was made by wait_for_any().
  bool is_any() const noexcept { return is_any_; }
  /// True if a Reject was made by reject_key().
  bool is_of_key() const noexcept { return is_of_key_; }
  /// True if a Reject was made by reject_removed().
  bool is_removed() const noexcept { return is_removed_; }

 private:
  explicit Outcome(Kind kind) noexcept : kind_(kind) {}
  Outcome(Kind kind, Fact fact) noexcept : kind_(kind), has_single_(true), single_(std::move(fact)) {}
  Kind kind_;
  bool has_single_ = false;
  bool is_of_key_ = false;
  bool is_removed_ = false;
  bool is_any_ = false;
  Fact single_;  // Stored in place: parking 800,000 rows on one fact each allocates nothing here.
  std::vector<Fact> several_;
  Duration delay_{0};
  Status why_;
};

}  // namespace rondo
