// The error text for a Redis Cluster, which is not supported.
#pragma once

#include <string_view>

namespace rondo::redis {

inline constexpr std::string_view kNoCluster =
    "Redis Cluster is not supported: it refuses SELECT, the keys of one table's script lie in several slots, and each node publishes "
    "keyspace events only for its own keys. Spread tables over several Redis instances by configuration instead";

}  // namespace rondo::redis
