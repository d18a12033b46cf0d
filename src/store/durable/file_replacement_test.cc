// A file that is far larger than its content is rewritten when it is opened, and nothing is lost whatever happens meanwhile. damage_test.cc
// has the tests of damaged files.
#include "store/durable/file_replacement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "store/durable/durable_file.h"
#include "store/durable/link_target.h"
#include "store/durable/testing/fault_vfs.h"
#include "store/durable/testing/life.h"

namespace rondo::store::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kSlack = 100'000;
constexpr std::size_t kRows = 20;

constexpr int kCannotMount = 77;

/// Runs in a process with its own mount namespace: a file that is a mount point can be written but not replaced. Returns the number of the
/// failed step, or 0.
int open_where_it_is_mounted(const std::string& path) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWNS) != 0) return kCannotMount;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kCannotMount;
  if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) return kCannotMount;
  Life life{path, Durability::EveryBatch, kSlack};
  if (!life.trouble().ok()) return 1;
  if (life.store().stats().not_shrunk.find("renaming") == std::string::npos) return 2;
  // 1 + 2: the Queue's row whose entry was taken, and the entries that were not taken.
  if (life.store().stats().restored != kRows + 1 + 2) return 3;
  return life.store().health().ok() ? 0 : 4;
}

/// The file that many short lives leave: the same rows many times, and no finished snapshot.
class LargeFile : public DurableStoreTest {
 protected:
  void SetUp() override {
    {
      Life life{path(), Durability::EveryBatch, std::uint64_t{1} << 30};
      life.declare("W", kWatched);
      life.declare("Q", kQueue);
      for (std::size_t i = 0; i < 100 * kRows; ++i) {
        ASSERT_TRUE(
            life.write("W", Change::set("k" + std::to_string(i % kRows), {{"v", std::string(1000, 'v') + std::to_string(i)}})).ok());
      }
      for (const char* const key : {"a", "b", "c"}) ASSERT_TRUE(life.write("Q", Change::set(key, {})).ok());
      const auto queue = life.subscribe("Q");
      std::vector<Change> taken;
      ASSERT_EQ(queue->take(1, taken), 1U);
      queue->ack(taken.front());
      life.settle();
    }
    ASSERT_GT(size(), 20 * kSlack);
  }
  std::uintmax_t size() const { return std::filesystem::file_size(path()); }
  std::uint64_t file() const {
    struct stat found {};
    EXPECT_EQ(::stat(path().c_str(), &found), 0);
    return found.st_ino;
  }
  /// Puts a file, with or without its log, in the place of the existing files.
  void put_back(const std::string& from) const {
    for (const char* const suffix : {"", "-wal"}) {
      std::filesystem::remove(path() + suffix);
      if (std::filesystem::exists(from + suffix)) std::filesystem::copy_file(from + suffix, path() + suffix);
    }
  }
  /// Starts a process that opens the file, rewrites it and is killed before this step. Returns its exit code, or the negative signal
  /// number.
  int end_of_opening(std::uint64_t step) const {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child < 0) return 1;
    if (child == 0) {
      ::alarm(60);  // Ends the process if it hangs.
      FaultVfs disk;
      disk.kill_at(step);
      const Life life{path(), Durability::EveryBatch, kSlack};
      ::_exit(life.trouble().ok() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  void expect_all(Life& life) const {
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_THAT(life.store().stats().damage, IsEmpty());
    life.declare("W", kWatched);
    life.declare("Q", kQueue);
    const auto rows = life.subscribe("W");
    std::vector<Change> changes;
    ASSERT_EQ(rows->take(1000, changes), kRows);
    for (const Change& change : changes) {
      EXPECT_EQ(*change.fields().find("v"),
                std::string(1000, 'v') + std::to_string(99 * kRows + std::stoul(std::string{change.key().substr(1)})));
    }
    const auto queue = life.subscribe("Q");
    EXPECT_THAT(Life::take(*queue), ElementsAre("SET b", "SET c"));
  }
};

TEST_F(LargeFile, IsWrittenAnewWhenItIsOpened) {
  std::filesystem::permissions(path(), std::filesystem::perms{0640});
  const std::uint64_t before = file();
  {
    Life life{path(), Durability::EveryBatch, kSlack};
    EXPECT_NE(file(), before);
    EXPECT_LT(size(), 2 * kSlack);
    EXPECT_FALSE(is_there("-new"));
    EXPECT_THAT(asides(path()), IsEmpty());
    EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::perms{0640});
    expect_all(life);
    EXPECT_TRUE(life.write("W", Change::remove("k0")).ok()) << "it goes on in the new file";
    EXPECT_EQ(life.store().stats().snapshots, 0U) << "which is no larger than it should be";
  }
  const std::uint64_t after = file();
  Life next{path(), Durability::EveryBatch, kSlack};
  EXPECT_EQ(file(), after) << "once";
  EXPECT_EQ(next.store().stats().restored, kRows - 1 + 3 + 2) << "rows of both tables, and entries";
}

TEST_F(LargeFile, IsLeftAloneUpToItsSlack) {
  const std::uint64_t before = file();
  Life life{path(), Durability::EveryBatch, size()};
  EXPECT_EQ(file(), before);
  expect_all(life);
}

TEST_F(LargeFile, StaysAsItIsWhereThereIsNoRoomForAnother) {
  const std::uint64_t before = file();
  {
    const FileLimit full{30'000};
    Life life{path(), Durability::EveryBatch, kSlack};
    EXPECT_EQ(file(), before);
    EXPECT_FALSE(is_there("-new"));
    EXPECT_THAT(life.store().stats().not_shrunk, HasSubstr(path() + "-new"));
    expect_all(life);
  }
  Life next{path(), Durability::EveryBatch, kSlack};
  EXPECT_NE(file(), before);
  expect_all(next);
}

TEST_F(LargeFile, WhatAnEarlierProcessLeftOfAnotherOneGoes) {
  std::ofstream{path() + "-new"} << "half of a file";
  std::ofstream{path() + "-new-wal"} << "and of its log";
  Life life{path(), Durability::EveryBatch, size()};
  EXPECT_FALSE(is_there("-new"));
  EXPECT_FALSE(is_there("-new-wal"));
  expect_all(life);
}

TEST_F(LargeFile, AKillAtAnyStepOfSqliteLosesNothing) {
  std::string first;
  {
    Life life{path(), Durability::EveryBatch, std::uint64_t{1} << 30};
    life.declare("W", kWatched);
    ASSERT_TRUE(life.write("W", Change::set("k0", {{"v", std::string(1000, 'v') + std::to_string(99 * kRows)}})).ok());
    first = copy();
  }
  ASSERT_TRUE(std::filesystem::exists(first + "-wal")) << "the log that is moved into it first";
  int within = 0;
  int before = 0;
  for (std::uint64_t step = 1;; ++step) {
    SCOPED_TRACE("killed before step " + std::to_string(step));
    put_back(first);
    const std::uint64_t large = file();
    const int end = end_of_opening(step);
    if (end != -SIGKILL) {
      EXPECT_EQ(end, 0) << "the store could not be opened";
      EXPECT_LT(size(), 2 * kSlack);
      break;
    }
    within += is_there("-new") ? 1 : 0;
    before += file() == large ? 1 : 0;
    Life next{path(), Durability::EveryBatch, std::uint64_t{1} << 30};
    EXPECT_FALSE(is_there("-new"));
    expect_all(next);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(within, 10) << "the new one is written in many steps";
  EXPECT_GT(before, within) << "the large one has the name until the new one is whole";
}

TEST_F(LargeFile, StaysAsItIsWhereNothingCanTakeItsPlace) {
  const std::uint64_t before = file();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(open_where_it_is_mounted(path()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "needs a mount namespace of its own";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see open_where_it_is_mounted()";
  EXPECT_EQ(file(), before);
  EXPECT_FALSE(is_there("-new"));
  Life next{path(), Durability::EveryBatch, kSlack};
  EXPECT_NE(file(), before);
  EXPECT_THAT(next.store().stats().not_shrunk, IsEmpty());
  expect_all(next);
}

TEST_F(LargeFile, ALinkToItStaysOne) {
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink("tables", link);
  Life life{link, Durability::EveryBatch, kSlack};
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_LT(size(), 2 * kSlack);
  expect_all(life);
  const Life second{path(), Durability::EveryBatch, kSlack};
  EXPECT_EQ(second.trouble().code(), StatusCode::Unavailable) << "under another name it is the same: " << second.trouble().to_string();
}

/// Lives that end before SQLite's log has been moved into the file, each with one more commit.
TEST_F(DurableStoreTest, ALogThatNoLifeMovesIntoTheFileStaysSmall) {
  constexpr std::uintmax_t kRow = 1'000'000;
  constexpr std::uint64_t kSmall = 2 * kRow;
  FaultVfs disk;
  std::string now = path();
  for (int number = 0; number < 40; ++number) {
    Life life{now, Durability::EveryBatch, kSmall};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    ASSERT_EQ(life.store().stats().restored, number == 0 ? 0U : 1U);
    life.declare("W", kWatched);
    disk.fail(FaultVfs::Where::File, FaultVfs::What::Write);
    ASSERT_TRUE(life.write("W", Change::set("k", {{"v", std::string(kRow, 'v')}})).ok());
    const std::string next = folder_.file("killed-" + std::to_string(number));
    for (const char* const suffix : {"", "-wal"}) std::filesystem::copy_file(now + suffix, next + suffix);
    disk.fail(FaultVfs::Where::File, FaultVfs::What::Write, false);
    EXPECT_LT(std::filesystem::file_size(next) + std::filesystem::file_size(next + "-wal"), 8 * kRow + kSmall + 3 * kRow) << number;
    now = next;
  }
}

TEST_F(DurableStoreTest, ALinkWhoseFileIsLostStillLeadsToItsLog) {
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink("tables", link);
  std::string killed;
  {
    Life life{link};
    life.declare("W", kWatched);
    for (const char* const key : {"a", "b", "c"}) ASSERT_TRUE(life.write("W", Change::set(key, {})).ok());
    EXPECT_TRUE(is_there("-lock"));
    killed = copy();
  }
  std::filesystem::remove(link);
  std::filesystem::create_symlink(killed, link);
  const Result<DurableFile> seen = read_durable_file(link);
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  ASSERT_EQ(seen->tables.size(), 1U);
  EXPECT_EQ(seen->tables[0].rows, 3U) << "the newest of them is in the log";
  std::filesystem::remove(killed);
  const Life life{link};
  EXPECT_EQ(life.trouble().code(), StatusCode::DataLoss) << life.trouble().to_string();
  EXPECT_THAT(life.trouble().to_string(), HasSubstr(killed + "-wal"));
  EXPECT_TRUE(std::filesystem::exists(killed + "-wal"));
}

TEST_F(DurableStoreTest, NamesOfFilesBesideAnotherStoreAreRefused) {
  for (const char* const suffix : {"-wal", "-shm", "-journal", "-lock", "-new"}) {
    const Life life{path() + suffix};
    EXPECT_EQ(life.trouble().code(), StatusCode::InvalidArgument) << suffix;
    EXPECT_THAT(life.trouble().to_string(), HasSubstr(suffix));
    EXPECT_FALSE(is_there(suffix));
  }
}

TEST(LinkTarget, GoesOnToTheLastAndNoFurther) {
  const TemporaryFolder folder;
  EXPECT_EQ(link_target(folder.file("none")), folder.file("none"));
  std::filesystem::create_symlink(folder.file("two"), folder.file("one"));
  std::filesystem::create_symlink("three", folder.file("two"));
  EXPECT_EQ(link_target(folder.file("one")), folder.file("three")) << "which is not there";
  std::filesystem::create_symlink("one", folder.file("three"));
  EXPECT_EQ(link_target(folder.file("one")), folder.file("one")) << "round in a circle";
}

}  // namespace
}  // namespace rondo::store::durable
