// Route: which of several executors gets a run. The strategies are those of xxl-job and Orth.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rondo::jobs {

/// Which of the executors or workers that can take a run gets it. Their order is that of their names.
enum class Route : std::uint8_t {
  Default,              // The worker with the most free places. Executors: as Round.
  First,                // The first one.
  Last,                 // The last one.
  Round,                // Each in turn.
  Random,               // Each is equally likely.
  ConsistentHash,       // The same one for each run of a job. When one leaves, only its own jobs move.
  LeastFrequentlyUsed,  // The one that got the fewest runs of the job.
  LeastRecentlyUsed,    // The one whose last run of the job is the oldest.
  Failover,             // The first healthy one.
  Busyover,             // The first one that is healthy and does not run the job.
  ShardingBroadcast,    // All of them: each gets one shard of the run.
};
/// "default", "first", "last", "round", "random", "consistent-hash", "least-frequently-used", "least-recently-used", "failover", "busyover"
/// or "sharding-broadcast".
std::string_view to_string(Route route) noexcept;
std::optional<Route> route_of(std::string_view name) noexcept;

}  // namespace rondo::jobs
