// TurnSeen: the turn of a world's program that ended last, for the standard checkers.
#pragma once

#include <cstdint>

#include "rondo/base/time.h"
#include "rondo/sched/source.h"

namespace rondo {
class Consumer;
}

namespace rondo::sim {

struct TurnSeen {
  const Source* source = nullptr;      // Null if there was none, or if the source was destroyed since.
  const Consumer* consumer = nullptr;  // The source, if it is a consumer; null otherwise.
  std::uint64_t number = 0;            // Source::number().
  Budget budget;                       // The budget of the turn.
  Turn turn;                           // The result of the turn.
  Duration waited{0};                  // From ready to the start of the turn.
  Duration promised{0};                // A bound of 'waited' that the scheduler computed earlier; the newest bound is never lower.
  const Source* overdue = nullptr;     // Checked now and then: a ready source that has waited longer than its bound.
  Duration overstayed{0};              // How long the turn continued after its time was over.
};

}  // namespace rondo::sim
