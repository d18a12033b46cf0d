// A snapshot during users' writes: its bound on waiting records, and that it ends. The test has its own disk.
#include "store/durable/snapshot_taker.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/sim/world.h"
#include "store/completions.h"
#include "store/durable/testing/disk.h"
#include "store/durable/testing/life.h"
#include "store/memory/memory_store.h"

namespace rondo::store::durable {
namespace {

/// A table of 'rows' in memory and in the log, and a disk that accepts groups one by one.
class SnapshotTakerTest : public testing::Test {
 protected:
  static constexpr std::size_t kUsers = 3 * LogWriter::kGroupRecords;

  void fill(std::size_t rows, std::size_t bytes) {
    ASSERT_TRUE(memory_.declare({.name = "T", .kind = kWatched}).ok());
    kept_.push_back({memory_.find("T"), std::make_unique<TablePersister>(0, writer_)});
    const std::string value(bytes, 'v');
    for (std::size_t i = 0; i < rows; ++i) ASSERT_TRUE(memory_.write("T", Change::set("k" + std::to_string(i), {{"v", value}})).ok());
    memory_.find("T")->persist_with(kept_.back().persister.get());
  }
  void write_as_users(std::size_t records) {
    for (; records > 0; --records) writer_.add({.table = 1, .record = users_});
  }
  /// Lets the disk accept one group, then runs the resulting turns.
  void let_one() {
    const std::uint64_t before = stats_.commits;
    disk_->let({});
    while (stats_.commits == before) scheduler_.run_until_idle();
    scheduler_.run_until_idle();
  }

  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  MemoryStore memory_{scheduler_, "memory", Priority::p7};
  DurableStoreStats stats_;
  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  LogWriter writer_{
      scheduler_, {.path = "test", .durability = Durability::EveryBatch}, std::make_unique<SlowFile>(disk_), memory_.completions(), stats_};
  std::vector<SnapshotTaker::Kept> kept_;
  SnapshotTaker snapshots_{scheduler_, Priority::p0, writer_, kept_, 0};
  const Record users_ = Record::make("user", {});
};

TEST_F(SnapshotTakerTest, HasABoundInBytesNotOnlyInRows) {
  constexpr std::size_t kRow = std::size_t{1} << 20;
  fill(64, kRow);
  writer_.on_written([this] { snapshots_.poll(); });
  writer_.set_log_bytes(1);
  write_as_users(1);
  scheduler_.run_until_idle();
  disk_->wait_until_asked(1);
  let_one();
  ASSERT_TRUE(writer_.takes_snapshot());
  std::size_t groups = 0;
  for (; writer_.takes_snapshot() && groups < 100; ++groups) {
    EXPECT_LE(writer_.waiting_bytes(), 2 * (LogWriter::kGroupBytes + kRow + 1000)) << "one group under way, and one gathered";
    EXPECT_EQ(writer_.waiting_writes().bytes, 0U) << "what a snapshot has waiting is no user's";
    let_one();
  }
  EXPECT_EQ(stats_.snapshots, 1U);
  EXPECT_GE(groups, 64 * kRow / (LogWriter::kGroupBytes + kRow));
  writer_.on_written({});
}

TEST_F(SnapshotTakerTest, ComesToItsEndThoughUsersAlwaysWaitForTheDisk) {
  constexpr std::size_t kRows = 4 * LogWriter::kGroupRecords;
  fill(kRows, 1);
  writer_.on_written([this] { snapshots_.poll(); });
  writer_.set_log_bytes(1);
  write_as_users(1);
  scheduler_.run_until_idle();
  disk_->wait_until_asked(1);
  int groups = 0;
  for (; stats_.snapshots == 0 && groups < 20; ++groups) {
    write_as_users(kUsers);  // Users write while the disk works.
    let_one();
  }
  EXPECT_EQ(stats_.snapshots, 1U) << "after " << groups << " groups";
  writer_.on_written({});
  for (int rest = 0; rest < 3; ++rest) disk_->let({});
}

TEST_F(SnapshotTakerTest, HasAShareInBytesThoughItsRowsAreSmallAndTheUsersLarge) {
  fill(4 * LogWriter::kGroupRecords, 1);
  writer_.on_written([this] { snapshots_.poll(); });
  writer_.set_log_bytes(1);
  write_as_users(1);
  scheduler_.run_until_idle();
  disk_->wait_until_asked(1);
  const Record large = Record::make("user", {{"v", std::string(LogWriter::kGroupBytes, 'v')}});
  for (int i = 0; i < 8; ++i) writer_.add({.table = 1, .record = large});
  let_one();
  EXPECT_GT(writer_.snapshot().records, 4 * LogWriter::kGroupRecords) << "all of it fits into a quarter of what users wait with";
  writer_.on_written({});
  for (int rest = 0; rest < 3; ++rest) disk_->let({});
}

}  // namespace
}  // namespace rondo::store::durable
