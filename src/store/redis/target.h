// Target: what writers and consumers share of a table.
#pragma once

#include <cstddef>

#include "rondo/store/store.h"
#include "store/redis/table_keys.h"

namespace rondo::redis {

struct Target {
  TableSpec spec;
  TableKeys keys;
  /// Staged and Queue: what waits in Redis, as the last answer on the commands connection said.
  std::size_t waiting = 0;
};

}  // namespace rondo::redis
