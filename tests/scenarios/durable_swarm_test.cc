// The swarm with processes that are killed at any moment, and tables that come back from a file: the kernel ends as the model says,
// whatever was queued, parked or under way.
#include "agent_swarm.h"
#include "rondo/store/durable_store.h"
#include "store/durable/durable_file_kit.h"

namespace rondo::agent {
namespace {

TEST(AgentSwarmStorm, TheKernelEndsAsTheModelSaysWhateverWasKilled) {
  store::durable::Folder folder;
  std::uint64_t kept = 0;
  std::uint64_t restarts = 0;
  run_swarms(600, [&](std::uint64_t seed) {
    const DurableStoreOptions options{.path = folder.file(std::to_string(seed)),
                                      .durability = Durability::None,  // The disk's part is durable_store_test.cc's.
                                      .slack_bytes = 8192,
                                      .mode = DurableStoreOptions::Mode::Inline};
    return std::make_unique<Swarm>(seed, [options, &kept, &restarts](Scheduler& scheduler) -> std::unique_ptr<Store> {
      auto store = DurableStore::open(scheduler, options);
      EXPECT_TRUE(store.has_value()) << store.error().to_string();
      kept += (*store)->stats().restored;
      ++restarts;
      return std::move(*store);
    });
  });
  EXPECT_GT(restarts, 600U) << "nothing was killed";
  EXPECT_GT(kept, 600U) << "nothing came back";
}

}  // namespace
}  // namespace rondo::agent
