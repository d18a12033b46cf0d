// The agent's life with processes that are killed at any moment, and tables that come back from the file of the production DurableStore:
// the kernel ends as the model says, whatever was queued, parked or under way.
#include <gtest/gtest.h>

#include "agent_life.h"
#include "rondo/store/durable_store.h"
#include "store/durable/durable_file_kit.h"

namespace rondo::swarm {
namespace {

TEST(DurableSwarmStorm, TheKernelEndsAsTheModelSaysWhateverWasKilled) {
  store::durable::Folder folder;
  std::uint64_t kept = 0;
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    const DurableStoreOptions file{.path = folder.file(std::to_string(seed)),
                                   .durability = Durability::None,  // The disk's part is durable_store_test.cc's.
                                   .slack_bytes = 8192,
                                   .mode = DurableStoreOptions::Mode::Inline};
    sim::WorldOptions options;
    options.faults.crash_every = 300ms;
    options.make_store = [&file, &kept](Scheduler& scheduler) -> std::unique_ptr<Store> {
      auto store = DurableStore::open(scheduler, file);
      EXPECT_TRUE(store.has_value()) << store.error().to_string();
      kept += (*store)->stats().restored;
      return std::move(*store);
    };
    AgentLife life(seed, options);
    live(life, 3000);
    EXPECT_FALSE(life.world().violation()) << life.world().report();
    crashes += life.world().crashes();
  }
  EXPECT_GT(crashes, 60U) << "nothing was killed";
  EXPECT_GT(kept, 60U) << "nothing came back";
}

}  // namespace
}  // namespace rondo::swarm
