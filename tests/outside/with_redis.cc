// The component redis: an address is parsed, and a store for it is created without a server.
#include <cstdio>
#include <utility>

#include "rondo/rondo.h"
#include "rondo/store/redis_address.h"
#include "rondo/store/redis_store.h"

int main() {
  auto address = rondo::parse_redis_address("unix:///nonexistent/redis.sock?db=3");
  if (!address || address->database != 3) return 1;
  rondo::Runtime runtime{rondo::RuntimeOptions{}};
  rondo::RedisStoreOptions options;
  options.address = std::move(*address);
  const rondo::RedisStore store{runtime.scheduler(), std::move(options)};
  if (store.health().ok()) return 2;  // Not connected.
  std::puts("redis: the store reports that it is not connected");
  return 0;
}
