// FaultPlan: what goes wrong in a simulated world, how often and how much. All of it is drawn from the world's seed, so a run with the same
// seed and plan has the same faults at the same turns. Nothing goes wrong by default.
#pragma once

#include <vector>

#include "rondo/base/random.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"

namespace rondo::sim {

/// Chances are 0 to 1. Of what happens "every" so long, the gaps are drawn evenly from nothing to twice that; 0: never. What lasts "for" so
/// long at most is drawn likewise.
struct FaultPlan {
  // --- The way to a Remote store (WorldOptions::store).
  /// Of each request and each answer.
  Duration store_latency_low = 0ms;
  Duration store_latency_high = 0ms;
  /// That the server refuses a write (Unavailable).
  double write_refused = 0;
  /// The connection breaks, and is back: writes whose answers were under way have an unknown outcome, Channels have a gap.
  Duration store_lost_every{0};
  Duration store_lost_for{0};
  /// That a key which a Staged table hands out changes places with the one behind it. One key's changes keep their order.
  double keys_swapped = 0;
  /// Accepted and unanswered writes; the next is refused with ResourceExhausted.
  std::size_t send_buffer = 100'000;

  // --- The disk of a Durable store.
  /// How long a group of writes takes to the disk, at most. A crash before that loses the end of the group, or none of it.
  Duration commit_high{0};
  /// Nothing more gets there: it is full, or broken. The writes that wait for it fail, though memory has them; those that come then are
  /// refused, and health() says why. The store tries again every 50 ms, and is well when that succeeds.
  Duration disk_fails_every{0};
  Duration disk_fails_for{0};
  /// It stands still: no group gets there meanwhile, and the writes that wait for one have no end.
  Duration disk_stalls_every{0};
  Duration disk_stalls_for{0};

  // --- The data plane.
  /// That an order fails, with one of these; which kind of order and which errno is drawn anew every second of simulated time.
  double order_fails = 0;
  std::vector<int> order_errnos = {};
  /// What an apply() takes beyond the costs of its orders, at most.
  Duration order_time_high{0};
  /// There is no room for new objects of one kind (SimDataPlane::set_capacity).
  Duration room_ends_every{0};
  Duration room_ends_for{0};
  /// A port loses its carrier: its next hops go silently, see dataplane.h.
  Duration carrier_lost_every{0};
  Duration carrier_lost_for{0};

  // --- What executors call (rondo/sched/executor.h), works of run_elsewhere() included. Not the switch's Programmer: that is the data
  // plane.
  /// That an operation fails, with one of these, or Unavailable if there are none. One that fails with DeadlineExceeded was applied with an
  /// even chance; others were not.
  double operation_fails = 0;
  std::vector<Status> operation_failures = {};
  /// From the beginning of a batch to its answer, at most. The batch is applied at some instant between: a crash before it leaves the
  /// operations undone, one behind it leaves them done and not answered. Of those that wait a crash lets some of the oldest be done.
  Duration operation_time_high{0};
  /// has_room() is false, however little is under way.
  Duration operation_room_ends_every{0};
  Duration operation_room_ends_for{0};

  // --- The process.
  /// It ends wherever it is, between two turns, and another one begins.
  Duration crash_every{0};
  Duration down_for{0};

  // --- The clocks.
  /// The machine is suspended: both clocks leap forward.
  Duration suspended_every{0};
  Duration suspended_for{0};
  /// Somebody sets the wall clock, forward or back by at most so much.
  Duration wall_set_every{0};
  Duration wall_set_by{0};

  /// Some of everything: each fault is in it with an even chance, rare or frequent, mild or bad. For swarms: runs with few kinds of faults
  /// come to places that runs with all of them never do.
  static FaultPlan drawn(Random& random);
};

}  // namespace rondo::sim
