// A disk that fails beneath SQLite, and files that are removed while they are open. The tests check the results of writes and the reported
// health. No accepted write is lost once the disk works again or the file is back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temporary_folder.h"
#include "store/durable/testing/fault_vfs.h"
#include "store/durable/testing/life.h"

namespace rondo::store::durable {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

void wait(Life& life, int seconds) {
  for (; seconds > 0; --seconds) {
    life.world().clock().advance(1s);
    life.settle();
  }
}

class FailingDisk : public DurableStoreTest, public testing::WithParamInterface<FaultVfs::What> {
 protected:
  FailingDisk() : DurableStoreTest(TemporaryFolder::in_memory()) {}
  FaultVfs disk_;
};

TEST_P(FailingDisk, NothingIsToldWrittenUntilACommitSucceeds) {
  Life life{path()};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  disk_.fail(FaultVfs::Where::Log, GetParam());
  EXPECT_FALSE(life.write("W", Change::set("during", {{"v", std::string(100'000, 'v')}})).ok()) << "it is accepted, and not on the disk";
  EXPECT_THAT(life.store().health().to_string(), HasSubstr("disk I/O error"));
  EXPECT_TRUE(life.store().stats().writes_fail);
  wait(life, 3);
  EXPECT_GE(life.store().stats().failed, 3U) << "it is tried again";
  EXPECT_FALSE(life.write("W", Change::set("refused", {})).ok());
  EXPECT_EQ(life.store().stats().refused, 1U);
  disk_.fail(FaultVfs::Where::Log, GetParam(), false);
  wait(life, 2);
  EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
  EXPECT_TRUE(life.write("W", Change::set("after", {})).ok());

  Life next{copy()};
  EXPECT_THAT(next.store().stats().damage, IsEmpty());
  EXPECT_EQ(next.store().stats().restored, 3U) << "what a sync that failed took with it was written again";
}

TEST_P(FailingDisk, ALogThatCannotBeMovedIntoTheFileShowsAndWritesGoOn) {
  constexpr std::uint64_t kRows = 30;  // Rows of 1 MB: together more than SQLite's log should hold.
  Life life{path(), Durability::EveryBatch, std::uint64_t{1} << 30};
  life.declare("W", kWatched);
  disk_.fail(FaultVfs::Where::File, GetParam());
  const auto write_all = [&life](const std::string& kind) {
    for (std::uint64_t i = 0; i < kRows; ++i) {
      const Status end = life.write("W", Change::set(kind + std::to_string(i), {{"v", std::string(1'000'000, 'v')}}));
      EXPECT_TRUE(end.ok()) << end.to_string();
    }
  };
  write_all("during-");
  EXPECT_THAT(life.store().health().to_string(), HasSubstr("the log grows"));
  EXPECT_FALSE(life.store().stats().writes_fail);
  EXPECT_NE(life.store().stats().failing_since, Instant{});
  EXPECT_GT(std::filesystem::file_size(path() + "-wal"), kRows * 1'000'000);
  const std::uint64_t failed = life.store().stats().failed_upkeep;
  wait(life, 3);
  EXPECT_GE(life.store().stats().failed_upkeep, failed + 2) << "without a write, too";
  {
    Life killed{copy()};
    EXPECT_THAT(killed.store().stats().damage, IsEmpty());
    EXPECT_EQ(killed.store().stats().restored, kRows);
  }
  disk_.fail(FaultVfs::Where::File, GetParam(), false);
  wait(life, 2);
  EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
  EXPECT_EQ(life.store().stats().failing_since, Instant{});
  const auto before = std::filesystem::file_size(path() + "-wal");
  write_all("after-");
  EXPECT_LE(std::filesystem::file_size(path() + "-wal"), before) << "it is begun anew";
  Life next{copy()};
  EXPECT_THAT(next.store().stats().damage, IsEmpty());
  EXPECT_EQ(next.store().stats().restored, 2 * kRows);
}

INSTANTIATE_TEST_SUITE_P(Durable, FailingDisk, testing::Values(FaultVfs::What::Write, FaultVfs::What::Sync),
                         [](const auto& what) { return what.param == FaultVfs::What::Write ? "Writes" : "Syncs"; });

class TakenAway : public DurableStoreTest {
 protected:
  TakenAway() : DurableStoreTest(TemporaryFolder::in_memory()) {}
  void move(const char* suffix) const { std::filesystem::rename(path() + suffix, away(suffix)); }
  void move_back(const char* suffix) const { std::filesystem::rename(away(suffix), path() + suffix); }
  void remove(const char* suffix) const { ASSERT_TRUE(std::filesystem::remove(path() + suffix)); }
  std::uint64_t kept() {
    Life next{copy()};
    EXPECT_THAT(next.store().stats().damage, IsEmpty());
    return next.store().stats().restored;
  }

 private:
  std::string away(const char* suffix) const { return folder_.file("away") + suffix; }
};

TEST_F(TakenAway, NothingIsToldWrittenToAFileThatHasNoNameUntilItIsBack) {
  Life life{path()};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  move("");
  EXPECT_FALSE(life.write("W", Change::set("during", {})).ok());
  EXPECT_THAT(life.store().health().to_string(), AllOf(HasSubstr(path()), HasSubstr("was removed, moved away or replaced")));
  EXPECT_TRUE(life.store().stats().writes_fail);
  EXPECT_NE(life.store().stats().failing_since, Instant{});
  const auto log_bytes = std::filesystem::file_size(path() + "-wal");
  wait(life, 3);
  EXPECT_FALSE(life.write("W", Change::set("refused", {})).ok());
  EXPECT_EQ(life.store().stats().refused, 1U);
  EXPECT_EQ(std::filesystem::file_size(path() + "-wal"), log_bytes) << "it is not written to time and again";
  move_back("");
  wait(life, 2);
  EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
  EXPECT_TRUE(life.write("W", Change::set("after", {})).ok());
  EXPECT_EQ(kept(), 3U);
}

/// Writes were confirmed, and the next start found no database.
TEST_F(TakenAway, NothingIsConfirmedAfterTheFileWasOverwrittenOrCut) {
  for (const bool is_cut : {true, false}) {
    Life life{is_cut ? folder_.file("cut") : folder_.file("overwritten")};
    life.declare("W", kWatched);
    EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
    if (is_cut) {
      std::filesystem::resize_file(folder_.file("cut"), 0);
    } else {
      std::fstream(folder_.file("overwritten"), std::ios::in | std::ios::out) << std::string(100, 'x');
    }
    EXPECT_FALSE(life.write("W", Change::set("during", {})).ok());
    EXPECT_THAT(life.store().health().to_string(), AllOf(HasSubstr("is not a database any more"), HasSubstr("Export the tables")));
  }
}

TEST_F(TakenAway, AnotherFileOfThatNameIsNotTheStore) {
  Life life{path()};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  const std::string other = copy();
  std::filesystem::rename(other, path());
  EXPECT_FALSE(life.write("W", Change::set("during", {})).ok());
}

TEST_F(TakenAway, TheLogOfAFileThatCameInItsPlaceIsLeftThere) {
  {
    Life life{path()};
    life.declare("W", kWatched);
    EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
    const std::string backup = copy();
    EXPECT_TRUE(life.write("W", Change::set("later", {})).ok());
    for (const char* const suffix : {"", "-wal"}) std::filesystem::rename(backup + suffix, path() + suffix);
  }
  EXPECT_TRUE(is_there("-wal"));
  EXPECT_EQ(kept(), 1U) << "the row of the backup, which stands in its log";
}

TEST_F(TakenAway, TheEndTellsOfAFileThatIsGoneAlthoughNothingWaits) {
  Life life{path(), Durability::Interval};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  EXPECT_TRUE(life.store().finish().ok());
  remove("");
  EXPECT_THAT(life.store().finish().to_string(), HasSubstr("was removed"));
}

TEST_F(TakenAway, AFileThatGoesWhileNothingIsWrittenIsNoticedByALook) {
  Life life{path(), Durability::Interval};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  const std::uint64_t commits = life.store().stats().commits;
  const auto look = [&life] {
    life.store().poll();
    life.settle();
    return life.store().health();
  };
  EXPECT_TRUE(look().ok());
  EXPECT_EQ(life.store().stats().commits, commits) << "nothing was written";
  move("");
  EXPECT_THAT(look().to_string(), HasSubstr("was removed"));
  move_back("");
  wait(life, 2);
  EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
}

TEST_F(TakenAway, SqlitesLogIsMadeAnewAndNothingOfItIsLost) {
  Life life{path()};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  remove("-wal");
  EXPECT_TRUE(life.write("W", Change::set("during", {})).ok());
  EXPECT_EQ(kept(), 2U) << "as after a kill";
  EXPECT_TRUE(life.write("W", Change::set("after", {})).ok());
  EXPECT_TRUE(is_there("-wal"));
  EXPECT_EQ(kept(), 3U);
}

TEST_F(TakenAway, AFileThatIsBackWithoutItsLogIsWhole) {
  Life life{path()};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  move("");
  move("-wal");
  EXPECT_FALSE(life.write("W", Change::set("during", {})).ok());
  move_back("");
  wait(life, 2);
  EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
  EXPECT_EQ(kept(), 2U);
}

TEST_F(TakenAway, ALogThatCannotBeMovedIsNotGivenUp) {
  FaultVfs disk;
  Life life{path()};
  life.declare("W", kWatched);
  EXPECT_TRUE(life.write("W", Change::set("before", {})).ok());
  remove("-wal");
  disk.fail(FaultVfs::Where::File, FaultVfs::What::Write);
  EXPECT_FALSE(life.write("W", Change::set("during", {})).ok());
  EXPECT_THAT(life.store().health().to_string(), HasSubstr("making a new log"));
  disk.fail(FaultVfs::Where::File, FaultVfs::What::Write, false);
  wait(life, 2);
  EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
  EXPECT_EQ(kept(), 2U);
}

}  // namespace
}  // namespace rondo::store::durable
