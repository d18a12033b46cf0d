// Checker: one thing that must hold in every world, looked at while the world runs. Standard ones are in rondo/sim/checkers.h; a test adds
// its own. The first Violation ends the run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/orch/constraint.h"
#include "rondo/sched/source.h"
#include "rondo/store/change.h"

namespace rondo {
class Consumer;
}

namespace rondo::sim {

class World;

/// Something that happened in a world. The views are valid as long as the call that tells it.
struct Event {
  enum class Kind : std::uint8_t {
    Begins,   // A process begins; what belonged to the one before is gone. Told before its program is made.
    Emptied,  // And the tables are empty: nothing outlived it.
    Written,  // A write of this process is done: the store has said so.
    Unsure,   // A write may be done or not: the connection was lost, or the process ended, before the answer.
    Taken,    // A consumer took the change from its table; it has not met what waits for its key yet.
    Chosen,   // A row that waited is taken up again.
    Redone,   // A fact ended that a done row depends on: the row is queued again, or a newer change of it that waits.
    Asked,    // The handler is about to be called with the change.
    Done,     // The answers; see Outcome.
    Rejected,
    Waits,
    Delayed,
    GivesWay,   // A Delete that would wait is dropped for the Set behind it (ConsumeOptions::set_replaces_delete).
    Again,      // The handler waits for what holds; it will be asked again.
    Announced,  // An Orch said that a fact begins to hold.
    Withdrawn,  // An Orch said that a fact ends.
    Fault,      // Of the FaultPlan, or of the test; 'text' says what.
  };
  Kind kind = Kind::Fault;
  std::string_view table = {};
  const Change* change = nullptr;          // Of Written to Again.
  std::span<const Constraint> facts = {};  // Of Waits, GivesWay, Announced and Withdrawn.
  Instant until = {};                      // Of Delayed: when it may be asked about again.
  std::string_view text = {};
};
std::string_view to_string(Event::Kind kind) noexcept;

/// What did not hold, and when.
struct Violation {
  std::string checker;
  std::string what;
  std::uint64_t turn = 0;
  Instant when;
};

/// The turn that has ended last.
struct TurnSeen {
  const Source* source = nullptr;      // Null: there was none, or it has gone since.
  const Consumer* consumer = nullptr;  // The same, if it is one.
  std::uint64_t number = 0;            // Source::number().
  Budget budget;                       // What it was given,
  Turn turn;                           // and did.
  Duration waited{0};                  // From ready to its beginning.
  Duration promised{0};                // A bound of that, as the scheduler knew it then; not always its newest, which is never lower.
  const Source* overdue = nullptr;     // Looked for now and then: one that is ready, and has waited for longer than it was promised.
  Duration overstayed{0};              // It was told that its time is up, and went on for so long.
};

/// All calls come between two turns or within one, on the world's thread. A checker looks and touches nothing. Ok: it holds.
class Checker {
 public:
  virtual ~Checker();
  virtual std::string_view name() const noexcept = 0;
  /// Each event, in order.
  virtual Status see(const World& world, const Event& event);
  /// After each turn; O(1), or rarely more.
  virtual Status after_turn(const World& world);
  /// Nothing moves any more: nothing is ready, queued, in flight or under way to a store (World::come_to_rest).
  virtual Status at_rest(const World& world);
};

}  // namespace rondo::sim
