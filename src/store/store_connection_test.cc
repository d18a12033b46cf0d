// The promises of rondo/store/store.h about a lost connection, tested on the simulated store.
#include "store/standing_connection_cases.h"
#include "store/store_connection_cases.h"
#include "store/store_worlds.h"

namespace rondo::store {
namespace {

using Maker = WorldMaker<BreakableStoreWorld>;
const sim::SimStoreOptions kSteady{.seed = 1};
const sim::SimStoreOptions kJittery{.seed = 2, .latency_low = 0ms, .latency_high = 40ms, .prefetch = 3};
const auto kBreakable = testing::Values(Maker{"sim", [] { return std::make_unique<SimStoreWorld>(kSteady); }},
                                        Maker{"jittery", [] { return std::make_unique<SimStoreWorld>(kJittery); }});

INSTANTIATE_TEST_SUITE_P(Store, BrokenConnection, kBreakable, name_of<BreakableStoreWorld>);
INSTANTIATE_TEST_SUITE_P(Store, StandingConnection, kBreakable, name_of<BreakableStoreWorld>);

}  // namespace
}  // namespace rondo::store
