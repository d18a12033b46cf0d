// The contract of rondo/store/store.h, tested on direct tables (for a Staged table) and on the other tables of a ZmqStore, which it passes
// on. No socket is involved: a direct table is written by its own process, too.
//
// These suites are not instantiated for a direct table, because it does not keep their promises:
// - RowsContract: the rows are in the wrapped store, so a Set is not checked against the row into which it will merge.
// - WrittenContract, ViewContract: waiting changes and rows are in different places, so scan_written() is Unimplemented.
//
// In the other suites "done" means staged in the direct table, and the rows are those written behind.
#include "store/standing_contract_cases.h"
#include "store/store_contract_cases.h"
#include "store/zmq/world.h"

#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"
#include "rondo/store/zmq_store.h"

namespace rondo::store {
namespace {

/// T and T2 are direct, with the sizes that the contract declares.
class ZmqStoreWorld final : public StoreWorld {
 public:
  ZmqStoreWorld() {
    ZmqStoreOptions options;
    options.server.endpoint = "tcp://127.0.0.1:0";
    options.server.tables = {{.database = "DB", .table = "T", .keys_max = limits::kTableRows},
                             {.database = "DB", .table = "T2", .keys_max = limits::kTableRows}};
    store_ = std::move(ZmqStore::open(scheduler_, make_memory_store(scheduler_), std::move(options)).value());
    settle();  // The store takes no writes until its rows are recovered.
  }
  Store& store() override { return *store_; }
  Scheduler& scheduler() override { return scheduler_; }
  void settle() override { scheduler_.run_until_idle(); }
  std::size_t tables_at_first() const override { return 2; }
  WriteAnswer write_answer() const override { return WriteAnswer::Accepted; }

 private:
  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = std::move(make_epoll_reactor().value());
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  std::unique_ptr<ZmqStore> store_;
};

const auto kDirect =
    testing::Values(WorldMaker<StoreWorld>{"direct", []() -> std::unique_ptr<StoreWorld> { return std::make_unique<ZmqStoreWorld>(); }});
const auto kName = [](const auto& one) { return one.param.name; };

INSTANTIATE_TEST_SUITE_P(Direct, StagedContract, kDirect, kName);
INSTANTIATE_TEST_SUITE_P(Direct, StandingContract, kDirect, kName);
INSTANTIATE_TEST_SUITE_P(Direct, OrderContract, kDirect, kName);
INSTANTIATE_TEST_SUITE_P(Direct, WatchedContract, kDirect, kName);
INSTANTIATE_TEST_SUITE_P(Direct, ChannelContract, kDirect, kName);
INSTANTIATE_TEST_SUITE_P(Direct, QueueContract, kDirect, kName);
INSTANTIATE_TEST_SUITE_P(Direct, AnyStoreContract, kDirect, kName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RowsContract);

}  // namespace
}  // namespace rondo::store
