// Target: the state of a table that writers and consumers share.
#pragma once

#include <cstddef>

#include "rondo/store/store.h"
#include "store/redis/table_keys.h"
#include "store/table_rules.h"

namespace rondo::redis {

struct Target {
  /// As far as this process knows.
  bool is_full() const noexcept {
    if (spec.kind == TableKind::Queue) return waiting >= store::queue_capacity(spec);
    return spec.kind == TableKind::Staged && waiting >= spec.rows_max;
  }

  TableSpec spec;
  TableKeys keys;
  /// Staged and Queue: the number of waiting entries in Redis, from the last answer on the commands connection.
  std::size_t waiting = 0;
};

}  // namespace rondo::redis
