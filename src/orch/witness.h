// Witness: sees what the consumers of a runtime take, choose, ask their handlers about and are answered, while it happens. For simulation
// (sim/world.h), whose checkers compare it with models; in production there is none, and each place costs the test of a pointer that every
// turn has in its cache. Scheduler's thread. A witness looks and touches nothing.
#pragma once

#include <cstdint>
#include <span>

#include "rondo/base/time.h"
#include "rondo/orch/constraint.h"
#include "rondo/store/change.h"

namespace rondo {

class Consumer;

class Witness {
 public:
  /// What became of a change that a handler was asked about. Staged is no end; one of the others follows. GivesWay: a Delete that would
  /// wait is dropped for the Set behind it.
  enum class Answer : std::uint8_t { Done, Rejected, Waits, Delayed, GivesWay, Again };

  virtual ~Witness() = default;
  /// Out of the subscription, before it meets what waits in the ledger.
  virtual void taken(const Consumer& consumer, const Change& change) = 0;
  /// A row that had waited is taken up again: what it waited for was found to hold, or its time has passed.
  virtual void chosen(const Consumer& consumer, const Change& change) = 0;
  /// A fact ended that a done row depends on: the row is handled again. If a newer change of it waits, that one is queued, and 'change' is
  /// it.
  virtual void redone(const Consumer& consumer, const Change& change) = 0;
  /// The handler is about to be called. Of a batch: one call for each change, before the handler's.
  virtual void asked(const Consumer& consumer, const Change& change) = 0;
  /// Before the row changes. 'facts': of Waits and GivesWay, all of them. 'until': of Delayed, the handler is not asked again before.
  virtual void answered(const Consumer& consumer, const Change& change, Answer answer, std::span<const Constraint> facts,
                        Instant until) = 0;
  /// An Orch said that the fact begins to hold; before anything is queued because of it.
  virtual void announced(const Constraint& fact) = 0;
  /// An Orch said that the fact ends; before anything is queued because of it.
  virtual void withdrawn(const Constraint& fact) = 0;
};

}  // namespace rondo
