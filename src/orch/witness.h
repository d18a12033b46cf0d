// Witness: receives what the consumers of a runtime take, choose, pass to their handlers and get as answers, as it happens. For simulation
// (sim/world.h), whose checkers compare it with models. In production there is none, and each call site costs the test of a pointer that
// is in the cache in every turn. Scheduler's thread. A witness only reads.
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
  /// The outcome of a change that a handler was given. Staged is not an outcome; one of these follows it. GivesWay: a Delete that would
  /// wait is dropped for the Set behind it.
  enum class Answer : std::uint8_t { Done, Rejected, Waits, Delayed, GivesWay, Again };

  virtual ~Witness() = default;
  /// The change left the subscription and is not yet merged with the waiting change in the ledger.
  virtual void taken(const Consumer& consumer, const Change& change) = 0;
  /// A row that had waited is handled again: its facts were found to hold, or its time has passed.
  virtual void chosen(const Consumer& consumer, const Change& change) = 0;
  /// A fact ended that a done row depends on: the row is handled again. If a newer change of it waits, that one is queued, and 'change' is
  /// that one.
  virtual void redone(const Consumer& consumer, const Change& change) = 0;
  /// The handler is about to be called. For a batch: one call for each change, before the handler's.
  virtual void asked(const Consumer& consumer, const Change& change) = 0;
  /// Called before the row changes. 'facts': all of them, for Waits and GivesWay. 'until': for Delayed, the earliest time of the next
  /// call.
  virtual void answered(const Consumer& consumer, const Change& change, Answer answer, std::span<const Constraint> facts,
                        Instant until) = 0;
  /// An Orch announced the fact. Called before rows are queued because of it.
  virtual void announced(const Constraint& fact) = 0;
  /// An Orch withdrew the fact. Called before rows are queued because of it.
  virtual void withdrawn(const Constraint& fact) = 0;
};

}  // namespace rondo
