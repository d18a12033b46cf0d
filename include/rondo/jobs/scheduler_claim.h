// SchedulerClaim: a scheduler that shares a database of jobs, and how long it owns them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "rondo/base/time.h"

namespace rondo::jobs {

struct SchedulerClaim {
  std::string name = {};            // "process 123 on host, http://host:8700", for people.
  std::size_t shards = 0;           // The parts of the jobs that it owns or has owned last, of 64. 0: it stands by.
  std::optional<WallTime> since{};  // When its claim began, by the clock of the database. Empty: it has none, or the store has no lease.
  std::optional<WallTime> until{};  // The end of its lease unless it renews it. Empty as 'since'.
  bool is_expired = false;          // The lease has ended: another scheduler may take the jobs over.
  bool is_here = false;             // The scheduler that answers.
};

}  // namespace rondo::jobs
