// Every promise of rondo/store/store.h, tested on the durable store at each durability level. The file is written within turns.
#include <filesystem>

#include "base/testing/temporary_folder.h"
#include "rondo/sim/world.h"
#include "rondo/store/durable_store.h"
#include "store/standing_contract_cases.h"
#include "store/store_contract_cases.h"
#include "store/view_contract_cases.h"

namespace rondo::store::durable {
namespace {

class DurableStoreWorld final : public StoreWorld {
 public:
  explicit DurableStoreWorld(Durability durability) : durability_(durability) {
    store_ = *DurableStore::open(scheduler_, {.path = folder_.file("tables"),
                                              .durability = durability,
                                              .slack_bytes = 4096,  // Makes snapshots frequent.
                                              .mode = DurableStoreOptions::Mode::Inline});
  }
  Store& store() override { return *store_; }
  Scheduler& scheduler() override { return scheduler_; }
  void settle() override { world_.run_for(scheduler_, 300ms); }
  WriteAnswer write_answer() const override { return durability_ == Durability::EveryBatch ? WriteAnswer::Stored : WriteAnswer::Accepted; }

 private:
  const Durability durability_;
  TemporaryFolder folder_;
  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  std::unique_ptr<DurableStore> store_;
};

using Maker = WorldMaker<StoreWorld>;
const auto kStores =
    testing::Values(Maker{"durableInterval", [] { return std::make_unique<DurableStoreWorld>(Durability::Interval); }},
                    Maker{"durableEveryBatch", [] { return std::make_unique<DurableStoreWorld>(Durability::EveryBatch); }});

INSTANTIATE_TEST_SUITE_P(Durable, StagedContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, StandingContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, WatchedContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, ChannelContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, QueueContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, AnyStoreContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, WrittenContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, ViewContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, OrderContract, kStores, name_of<StoreWorld>);
INSTANTIATE_TEST_SUITE_P(Durable, RowsContract, kStores, name_of<StoreWorld>);

}  // namespace
}  // namespace rondo::store::durable
