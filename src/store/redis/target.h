// Target: what writers and consumers share of a table.
#pragma once

#include <cstddef>

#include "rondo/store/store.h"
#include "store/redis/table_keys.h"
#include "store/table_rules.h"

namespace rondo::redis {

struct Target {
  /// As far as is known here.
  bool is_full() const noexcept {
    if (spec.kind == TableKind::Queue) return waiting >= store::queue_capacity(spec);
    return spec.kind == TableKind::Staged && waiting >= spec.rows_max;
  }

  TableSpec spec;
  TableKeys keys;
  /// Staged and Queue: what waits in Redis, as the last answer on the commands connection said.
  std::size_t waiting = 0;
};

}  // namespace rondo::redis
