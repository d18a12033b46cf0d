// FaultPlan: the faults of a simulated world, with their frequency and size. All of them are drawn from the world's seed, so a run with the
// same seed and plan has the same faults at the same turns. There are no faults by default.
#pragma once

#include <vector>

#include "rondo/base/random.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"

namespace rondo::sim {

/// Chances are from 0 to 1. For faults "every" so long, the gaps are drawn uniformly from zero to twice that; 0: never. A value "for" is
/// the longest duration; each is drawn uniformly from zero to it.
struct FaultPlan {
  // --- The connection to a Remote store (WorldOptions::store).
  /// Range of the latency of each request and each answer.
  Duration store_latency_low = 0ms;
  Duration store_latency_high = 0ms;
  /// Chance that the server refuses a write (Unavailable).
  double write_refused = 0;
  /// The connection breaks and returns: writes with an answer on its way have an unknown outcome, and Channels have a gap.
  Duration store_lost_every{0};
  Duration store_lost_for{0};
  /// Chance that a key from a Staged table changes places with the next one. The changes of one key keep their order.
  double keys_swapped = 0;
  /// Accepted writes without an answer; further ones are refused with ResourceExhausted.
  std::size_t send_buffer = 100'000;

  // --- The disk of a Durable store.
  /// The longest time to write a group to the disk. A crash during it loses the end of the group, or nothing.
  Duration commit_high{0};
  /// The disk is full or broken: no more groups are written. Waiting writes fail, although memory has them; new writes are refused, and
  /// health() reports why. The store retries every 50 ms, and recovers when that succeeds.
  Duration disk_fails_every{0};
  Duration disk_fails_for{0};
  /// The disk blocks: no group is written meanwhile, and waiting writes get no result.
  Duration disk_stalls_every{0};
  Duration disk_stalls_for{0};

  // --- The data plane.
  /// Chance that an order fails, with one of these errnos; without any, none fails. Kind and errno are drawn again every simulated second.
  double order_fails = 0;
  std::vector<int> order_errnos = {};
  /// The longest additional time of an apply(), beyond the costs of its orders.
  Duration order_time_high{0};
  /// New objects of one kind are refused (SimDataPlane::set_capacity).
  Duration room_ends_every{0};
  Duration room_ends_for{0};
  /// A port loses its carrier; its next hops are removed silently, see dataplane.h.
  Duration carrier_lost_every{0};
  Duration carrier_lost_for{0};

  // --- Calls of executors (rondo/sched/executor.h), including works of run_elsewhere(). Not those of a Switch: that is the data
  // plane.
  /// Chance that an operation fails, with one of these, or Unavailable if there are none. An operation that fails with DeadlineExceeded was
  /// applied with a chance of one half; others were not applied.
  double operation_fails = 0;
  std::vector<Status> operation_failures = {};
  /// The longest time from the beginning of a batch to its answer. The batch is applied at some instant in that time. A crash before that
  /// instant leaves the operations undone; one after it leaves them done but unanswered. After a crash some of the oldest waiting
  /// operations may be done.
  Duration operation_time_high{0};
  /// has_room() is false, whatever the number of operations in flight.
  Duration operation_room_ends_every{0};
  Duration operation_room_ends_for{0};

  // --- The process.
  /// The process ends between two turns, and another one begins.
  Duration crash_every{0};
  Duration down_for{0};

  // --- The clocks.
  /// The machine is suspended: both clocks leap forward.
  Duration suspended_every{0};
  Duration suspended_for{0};
  /// The wall clock is set forward or back, by at most this much.
  Duration wall_set_every{0};
  Duration wall_set_by{0};

  /// A random mix of faults: each is included with a chance of one half, rare or frequent, mild or severe. For swarms: runs with few kinds
  /// of faults reach states that runs with all of them never do.
  static FaultPlan drawn(Random& random);
};

}  // namespace rondo::sim
