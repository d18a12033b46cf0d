// UnflushedWork: accepted work that is lost when rondod ends. Unfinished rows that a Redis or a file keeps do not count, because the next
// start reads them again.
#pragma once

#include <cstdint>
#include <span>

#include "rondo/base/status.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/config.h"

namespace rondo::daemon {

struct UnflushedWork {
  std::uint64_t rows = 0;     // Unhandled rows of tables that only this process has.
  std::uint64_t writes = 0;   // Unanswered writes to a Redis, which may or may not have them.
  std::uint64_t changes = 0;  // Changes of direct tables that were not taken, or not confirmed by the store behind them.

  /// DataLoss with the lost work; ok if nothing is lost.
  Status lost() const;
};

/// Counts rows that wait for a turn or for the data plane, in tables that neither a Redis nor a file keeps. Parked rows do not count,
/// because the facts that they wait for may never hold.
std::uint64_t unkept_rows(const Config& config, std::span<const ConsumerStats> consumers);

}  // namespace rondo::daemon
