// What RedisStore::report() returns: the lease, what was dropped, and servers that came back without their data.
#pragma once

#include <string>

#include "rondo/store/redis_store.h"

namespace rondo::redis {

/// 'where': the address of the store, without a password.
StoreReport report_of(const RedisStoreStats& stats, const RedisLease& lease, const std::string& where);

}  // namespace rondo::redis
