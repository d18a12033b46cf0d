// Every promise of rondo/store/store.h, tested on the stores of this layer.
#include "store/standing_contract_cases.h"
#include "store/store_contract_cases.h"
#include "store/store_worlds.h"
#include "store/view_contract_cases.h"

namespace rondo::store {
namespace {

using Maker = WorldMaker<StoreWorld>;
const auto kStores = testing::Values(Maker{"memory", [] { return std::make_unique<MemoryStoreWorld>(); }},
                                     Maker{"bridge", [] { return std::make_unique<BridgeStoreWorld>(); }},
                                     Maker{"routed", [] { return std::make_unique<RoutedStoreWorld>(); }},
                                     Maker{"sim", [] { return std::make_unique<SimStoreWorld>(sim::SimStoreOptions{.seed = 1}); }});

INSTANTIATE_TEST_SUITE_P(Store, StagedContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, StandingContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, WatchedContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, ChannelContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, QueueContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, AnyStoreContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, WrittenContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, ViewContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, OrderContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, RowsContract, kStores, name_of<StoreWorld>);

}  // namespace
}  // namespace rondo::store
