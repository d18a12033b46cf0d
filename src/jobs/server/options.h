// StoreOptions: what tests change about a store on a database server.
#pragma once

#include "rondo/base/clock.h"

namespace rondo::jobs::server {

struct StoreOptions {
  /// How long the jobs stay claimed after a renewal. A third of it after the last one, the next transaction renews.
  Duration lease{6s};
  /// A statement that waits longer for a lock fails.
  Duration lock_timeout{2s};
  /// For the lease, the pause between two connections, and the comparison with the server's clock. It must outlive the store. None: the
  /// system's.
  const Clock* clock = nullptr;
};

}  // namespace rondo::jobs::server
