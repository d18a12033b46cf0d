// StoreOptions: what tests change about a PostgreSQL store, and the factory that takes it.
#pragma once

#include <memory>
#include <string>

#include "jobs/job_store.h"
#include "rondo/base/clock.h"
#include "rondo/base/result.h"

namespace rondo::jobs::postgresql {

struct StoreOptions {
  /// How long the jobs stay claimed after a renewal. A third of it after the last one, the next transaction renews.
  Duration lease{6s};
  /// A statement that waits longer for a lock fails.
  Duration lock_timeout{2s};
  /// For the lease, the pause between two connections, and the comparison with the server's clock. It must outlive the store. None: the
  /// system's.
  const Clock* clock = nullptr;
};

/// make_postgresql_job_store() with options.
Result<std::shared_ptr<JobStore>> make_store(const std::string& url, const StoreOptions& options);

}  // namespace rondo::jobs::postgresql
