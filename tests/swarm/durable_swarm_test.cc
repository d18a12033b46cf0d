// The agent's life with processes that are killed at any moment, and tables that are restored from the file of the production
// DurableStore. The kernel must match the model, whatever was queued, parked or under way.
#include <gtest/gtest.h>

#include <filesystem>

#include "agent_life.h"
#include "base/testing/sanitized.h"
#include "base/testing/temporary_folder.h"
#include "orch/parked.h"
#include "rondo/store/durable_store.h"
#include "store/durable/durable_file.h"

namespace rondo::swarm {
namespace {

/// At rest the file has no Delete unless a ledger has not settled it, otherwise it would grow without bound.
void expect_only_owed_deletes(const Runtime& runtime, const std::string& path) {
  const std::string copy = path + "-copy";  // The store has the file open.
  for (const char* const suffix : {"", "-wal"}) {
    if (std::filesystem::exists(path + suffix)) std::filesystem::copy_file(path + suffix, copy + suffix);
  }
  const Result<DurableFile> file = read_durable_file(copy, [&runtime](const TableSpec& table, const Change& change) {
    if (change.op() != ChangeOp::Delete || table.kind != TableKind::Staged) return;
    bool unsettled = false;
    for (const ParkedRow& row : parked_rows(runtime, table.name, 100'000))
      unsettled = unsettled || (row.op == ChangeOp::Delete && row.key == change.key());
    EXPECT_TRUE(unsettled) << table.name << " " << change.key() << " is a Delete that was dealt with";
  });
  ASSERT_TRUE(file.has_value()) << file.error().to_string();
}

TEST(DurableSwarmStorm, TheKernelEndsAsTheModelSaysWhateverWasKilled) {
  TemporaryFolder folder(TemporaryFolder::in_memory());
  std::uint64_t kept = 0;
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= plain_or_sanitized(60U, 20U) && !testing::Test::HasFailure(); ++seed) {
    const DurableStoreOptions file{.path = folder.file(std::to_string(seed)),
                                   .durability = Durability::EveryBatch,
                                   .slack_bytes = 8192,
                                   .mode = DurableStoreOptions::Mode::Inline,
                                   .end_is_kill = true};
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
    expect_only_owed_deletes(life.world().runtime(), file.path);
    crashes += life.world().crashes();
  }
  EXPECT_GT(crashes, 60U) << "nothing was killed";
  EXPECT_GT(kept, 60U) << "nothing came back";
}

}  // namespace
}  // namespace rondo::swarm
