// Leftovers: what a rondod that ends has accepted and lets be lost. What it leaves undone of rows that a Redis or a file keeps is none of
// it: the next start has them again.
#pragma once

#include <cstdint>
#include <span>

#include "rondo/base/status.h"
#include "rondo/orch/runtime.h"
#include "rondod/config.h"

namespace rondo::daemon {

struct Leftovers {
  std::uint64_t rows = 0;     // Not handled, of tables that only this process has.
  std::uint64_t writes = 0;   // For a Redis, without an answer: it may have them or not.
  std::uint64_t changes = 0;  // Of direct tables: not taken, or not confirmed by the store behind.

  /// DataLoss, with what is lost; ok when nothing is.
  Status lost() const;
};

/// Rows that wait for a turn or for the data plane, of tables that neither a Redis nor a file keeps. Parked ones do not count: what they
/// wait for may never come.
std::uint64_t unkept_rows(const Config& config, std::span<const ConsumerStats> consumers);

}  // namespace rondo::daemon
