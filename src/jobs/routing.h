// Router: which of the executors of a group gets a run, by the strategies of xxl-job (Route). The caller passes the executors and their
// health with each choice; the Router keeps only what the strategies count. It has no clock of its own. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "jobs/candidate.h"
#include "jobs/hash_ring.h"
#include "rondo/base/random.h"
#include "rondo/base/time.h"
#include "rondo/jobs/route.h"

namespace rondo::jobs {

/// With equal seeds and calls the choices are equal. All counts are cleared by the first choice that is 24 h after the last clearing, as in
/// xxl-job, and by the first one beyond limits::kRouteKept.
class Router {
 public:
  explicit Router(std::uint64_t seed) : random_(seed) {}

  /// Returns the index of the candidate that gets the next run of a job. 'candidates' are in the order of their names, which differ; those
  /// behind limits::kRouteCandidates get no run. If all are healthy, the choice is that of xxl-job:
  ///
  ///   First, Last               the first or last one
  ///   Default, Round            the count of the job, modulo the candidates. It begins at a random number below 100
  ///   Random                    each is equally likely
  ///   ConsistentHash            the owner of the job in HashRing
  ///   LeastFrequentlyUsed       the one with the lowest count, and of these the first. A new one begins at a random count below the number
  ///                             of candidates
  ///   LeastRecentlyUsed         the one whose choice is the longest ago. New ones count as chosen now, in their order
  ///   Failover                  the first one
  ///   Busyover                  the first idle one
  ///
  /// An unhealthy candidate is never chosen. First, Failover and Busyover take the next one, Last the previous one, and ConsistentHash the
  /// owner of the next node of the ring: the choice if the unhealthy ones were absent. Round and Random count the healthy ones only.
  /// An unhealthy candidate keeps its count and its last choice; one that leaves 'candidates' loses both.
  ///
  /// Returns nothing if no candidate is healthy, and if none is healthy and idle with Busyover: the run waits, where xxl-job fails it.
  /// ShardingBroadcast has no single candidate and is not allowed. O(candidates); with the least-used routes times the logarithm of the
  /// known names, and O(candidates squared) after a change of the candidates. ConsistentHash: see HashRing::find().
  std::optional<std::size_t> choose(Route route, std::int64_t job, std::span<const Candidate> candidates, Instant now);

 private:
  /// What a job has of one candidate: the count, or the number of its last choice.
  struct Use {
    std::uint32_t name;
    std::uint64_t value;
  };
  /// By job id; the candidates of the job's last choice, in their order.
  using Uses = std::unordered_map<std::int64_t, std::vector<Use>>;

  void clear_old(Instant now);
  std::uint64_t next_count(std::int64_t job);
  std::size_t least_used(Route route, std::int64_t job, std::span<const Candidate> candidates);
  std::uint32_t number_of(std::string_view name);

  Random random_;
  HashRing ring_;
  Instant clear_at_;
  std::unordered_map<std::int64_t, std::uint64_t> counts_;  // For Default and Round, by job id.
  Uses frequent_;
  Uses recent_;
  std::size_t uses_kept_ = 0;                                  // In 'frequent_' and 'recent_'.
  std::uint64_t last_choice_ = 0;                              // The number of the last choice by LeastRecentlyUsed.
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // A number for each name in the uses.
};

}  // namespace rondo::jobs
