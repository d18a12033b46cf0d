// Checker: an invariant of every world, checked while the world runs. A world has the standard checkers; a test adds its own.
// The first violation ends the run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/orch/fact.h"
#include "rondo/store/change.h"

namespace rondo::sim {

class World;

/// An event in a world. The views are valid during the call that receives it.
struct Event {
  enum class Kind : std::uint8_t {
    Begins,   // A process begins; all data of the previous one is gone. Reported before its program is made.
    Emptied,  // The tables of the new process are empty: none survived the previous one.
    Written,  // The store has confirmed a write of this process.
    Unsure,   // It is unknown whether a write was applied: the connection was lost, or the process ended, before the answer.
    Taken,    // A consumer took the change from its table; it was not yet merged with a change that waits for its key.
    Chosen,   // The consumer retries a row that waited.
    Redone,   // A fact ended on which a done row depends: the row, or a newer waiting change of it, is queued again.
    Asked,    // The handler is about to be called with the change.
    Done,     // This and the following kinds are the outcomes of the handler; see Outcome.
    Rejected,
    Waits,
    Delayed,
    Replaced,   // A Delete that would wait is dropped in favour of a later Set (ConsumeOptions::set_replaces_delete).
    Again,      // The handler waits for a fact that holds; it will be called again.
    Announced,  // An Orch announced a fact.
    Withdrawn,  // An Orch withdrew a fact.
    Fault,      // A fault of the FaultPlan or of the test; 'text' describes it.
  };
  Kind kind = Kind::Fault;
  std::string_view table = {};
  const Change* change = nullptr;    // With Written to Again.
  std::span<const Fact> facts = {};  // With Waits, Replaced, Announced and Withdrawn.
  bool any = false;                  // With Waits: one of the facts is enough.
  Instant until = {};                // With Delayed: when the handler may be called again.
  std::string_view text = {};
};
std::string_view to_string(Event::Kind kind) noexcept;

/// All calls are made between two turns or within one, on the world's thread. A checker only reads. Ok: the invariant holds.
class Checker {
 public:
  virtual ~Checker();
  virtual std::string_view name() const noexcept = 0;
  /// Called for each event, in order.
  virtual Status see(const World& world, const Event& event);
  /// Called after each turn; O(1), or rarely more.
  virtual Status after_turn(const World& world);
  /// Called when nothing is ready, queued, in flight or on the way to a store any more (World::come_to_rest).
  virtual Status at_rest(const World& world);
};

}  // namespace rondo::sim
