// Limits of the file of a durable store. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Durable tables

/// Writes accepted and not yet in the file of a durable store; in rondod also for its Redis. Enough for a whole table, because the admin
/// socket does not make its writers wait. Further ones are refused with ResourceExhausted.
/// Reached: ResourceExhausted. Figure: `stats.store.files.refused`, `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `DurableStoreTest.WritesThatWaitForTheDiskHaveALimitInNumberAndInBytes`.
inline constexpr std::size_t kWaitingWrites = 2'000'000;

/// The bytes of these writes.
/// Reached: ResourceExhausted. Figure: `stats.store.files.refused`, `stats.admin.bulk_rows_refused`, `stats.admin.failed_requests`. Test:
/// `DurableStoreTest.WritesThatWaitForTheDiskHaveALimitInNumberAndInBytes`.
inline constexpr std::size_t kWaitingWriteBytes = std::size_t{512} * 1024 * 1024;

/// The longest configurable time between two commits of a durable store: the time of writes that a power failure may lose.
/// Reached: the address is refused with InvalidArgument. Figure: none: the program ends with the error. Test:
/// `DurableAddress.NamesWhatIsWrong`.
inline constexpr Duration kDurableInterval = 60'000ms;

}  // namespace rondo::limits
