// Outcome: what a handler says about a change it was given. Returned, [[nodiscard]]: it cannot be forgotten.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/orch/constraint.h"

namespace rondo {

class [[nodiscard]] Outcome {
 public:
  enum class Kind : std::uint8_t {
    Done,        // Applied. The change leaves the ledger.
    DoneWhile,   // Applied; the row is handled again when one of the given facts ends.
    WaitFor,     // Parked until all given facts hold; costs nothing meanwhile.
    RetryAfter,  // Parked until a time has passed (and all given facts hold, if any).
    Reject,      // Can never be applied: counted, reported once with table, key and reason, and dropped.
    Staged,      // Handed on (to the data plane, a worker); Orch::settle() will tell. The key stays in flight: no other change of it runs.
  };

  static Outcome done() noexcept { return Outcome{Kind::Done}; }
  /// A Set was applied and depends on 'fact': when the fact ends (Orch::withdraw), the handler is called again with the whole row. If a
  /// newer change of the row waits then, the handler is called with that one instead. Any later outcome of the row replaces this one: the
  /// handler says each time what the row depends on. Needs ConsumeOptions::rows = Rows::Whole and a Set; otherwise, or if the fact does not
  /// hold, the answer is a fault of the handler: it is rejected, or asked again with a delay. Cost: at most 40 bytes a row beside its
  /// record, which the embedded store shares; a fact that ends costs one list, not one step a row.
  static Outcome done_while(Constraint fact) { return Outcome{Kind::DoneWhile, std::move(fact)}; }
  /// The same for several facts, up to limits::kWaitsPerChange: the row is handled again when any of them ends.
  static Outcome done_while(std::vector<Constraint> facts) {
    Outcome outcome{Kind::DoneWhile};
    outcome.several_ = std::move(facts);
    return outcome;
  }
  static Outcome wait_for(Constraint fact) { return Outcome{Kind::WaitFor, std::move(fact)}; }
  /// All of them. An empty list is a fault of the handler and becomes a Reject; so does one above limits::kWaitsPerChange.
  static Outcome wait_for(std::vector<Constraint> facts) {
    Outcome outcome{Kind::WaitFor};
    outcome.several_ = std::move(facts);
    return outcome;
  }
  /// 'why' is shown to people who ask what the change waits for.
  static Outcome retry_after(Duration delay, Status why) {
    Outcome outcome{Kind::RetryAfter};
    outcome.delay_ = delay;
    outcome.why_ = std::move(why);
    return outcome;
  }
  static Outcome reject(Status why) {
    Outcome outcome{Kind::Reject};
    outcome.why_ = std::move(why);
    return outcome;
  }
  /// Of a key of which no Set could ever be applied: as reject(), and after a Delete nothing stands rejected under it.
  static Outcome reject_key(Status why) {
    Outcome outcome = reject(std::move(why));
    outcome.is_of_key_ = true;
    return outcome;
  }
  static Outcome staged() noexcept { return Outcome{Kind::Staged}; }

  Kind kind() const noexcept { return kind_; }
  /// Valid as long as this Outcome.
  std::span<const Constraint> facts() const noexcept {
    return has_single_ ? std::span<const Constraint>{&single_, 1} : std::span<const Constraint>{several_};
  }
  Duration delay() const noexcept { return delay_; }
  const Status& why() const noexcept { return why_; }
  /// Whether a Reject was made by reject_key().
  bool is_of_key() const noexcept { return is_of_key_; }

 private:
  explicit Outcome(Kind kind) noexcept : kind_(kind) {}
  Outcome(Kind kind, Constraint fact) noexcept : kind_(kind), has_single_(true), single_(std::move(fact)) {}
  Kind kind_;
  bool has_single_ = false;
  bool is_of_key_ = false;
  Constraint single_;  // In place: parking 800,000 rows on one fact each allocates nothing here.
  std::vector<Constraint> several_;
  Duration delay_{0};
  Status why_;
};

}  // namespace rondo
