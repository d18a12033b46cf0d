// Every promise of rondo/store/store.h, tested on the Redis store with a real server: over its Unix socket, TCP and TLS.
#include "store/redis/testing/worlds.h"
#include "store/standing_contract_cases.h"
#include "store/store_contract_cases.h"
#include "store/view_contract_cases.h"

namespace rondo::store {
namespace {

template <redis::Way kWay>
std::unique_ptr<StoreWorld> make_world() {
  if (redis_kit::server_program().empty()) return nullptr;
  return std::make_unique<redis::RedisStoreWorld>(kWay);
}

using Maker = WorldMaker<StoreWorld>;
const auto kRedis = testing::Values(Maker{"redis", make_world<redis::Way::UnixSocket>}, Maker{"tcp", make_world<redis::Way::Tcp>},
                                    Maker{"tls", make_world<redis::Way::Tls>});

INSTANTIATE_TEST_SUITE_P(Redis, StagedContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, StandingContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, WatchedContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, ChannelContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, QueueContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, AnyStoreContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, WrittenContract, kRedis, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Redis, ViewContract, kRedis, name_of<StoreWorld>);

// The waiting keys are a set in Redis, and Redis holds the rows: there is no order of arrival and no limit on rows.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OrderContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RowsContract);

}  // namespace
}  // namespace rondo::store
