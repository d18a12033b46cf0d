// Limits of the job scheduler. Each has a row on the page docs/guide/limits.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

inline constexpr std::size_t kJobName = 200;               // Bytes.
inline constexpr std::size_t kJobParameters = 65536;       // Bytes.
inline constexpr std::uint32_t kJobConcurrency = 64;       // Runs of one job beside each other.
inline constexpr std::uint32_t kJobRetries = 100;          // Attempts after the first one.
inline constexpr Duration kJobBackoff{3'600'000'000'000};  // The longest wait before a retry.
inline constexpr std::size_t kRunNote = 1024;              // Bytes.
inline constexpr std::size_t kJobsOfCycle = 10'000;        // Due jobs that one cycle of the planner handles.
inline constexpr std::size_t kRunsOfPlan = 1'000;          // Runs of one job that one cycle plans.
inline constexpr std::uint64_t kMissedCounted = 10'000;    // Missed instants of one job that one cycle counts; the rest is skipped.

inline constexpr std::size_t kCompiledSchedules = 20'000;  // Compiled schedules; further ones are compiled when they are due.

}  // namespace rondo::limits
