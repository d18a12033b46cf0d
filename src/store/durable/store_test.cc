// What a restart restores, and torn, locked and unusable files; damage_test.cc has damaged files. A test simulates a restart by opening a
// copy of the current files, as a killed process leaves them. The files are written within turns here; kill_test.cc kills real processes.
#include "rondo/store/durable_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "rondo/base/random.h"
#include "rondo/sim/world.h"
#include "rondo/store/durable_limits.h"
#include "store/durable/durable_file.h"
#include "store/durable/log_file.h"
#include "store/durable/testing/life.h"

namespace rondo::store::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(DurableStoreTest, RowsAreToldAgainAfterARestart) {
  Life first{path()};
  first.declare("S", kStaged);
  first.declare("W", kWatched);
  EXPECT_TRUE(first.write("S", Change::set("popped", {{"a", "1"}, {"b", "2"}})).ok());
  const auto consumer = first.subscribe("S");
  EXPECT_THAT(Life::take(*consumer), ElementsAre("SET popped a=1 b=2"));
  EXPECT_TRUE(first.write("S", Change::set("popped", {{"b", "3"}})).ok());
  EXPECT_TRUE(first.write("S", Change::set("staged", {})).ok());
  EXPECT_TRUE(first.write("W", Change::set("w", {{"x", std::string_view{"\0:|", 3}}})).ok());
  EXPECT_TRUE(first.write("W", Change::set("gone", {{"x", "1"}})).ok());
  EXPECT_TRUE(first.write("W", Change::remove("gone")).ok());

  Life second{copy()};
  second.declare("S", kStaged);
  second.declare("W", kWatched);
  EXPECT_EQ(second.store().stats().restored, 3U);
  EXPECT_THAT(Life::take(*second.subscribe("S")), UnorderedElementsAre("SET popped a=1 b=3", "SET staged"));
  EXPECT_THAT(Life::take(*second.subscribe("W")), ElementsAre("SET w x=" + std::string{"\0:|", 3}));
}

TEST_F(DurableStoreTest, ADeleteIsToldAgainUntilItWasDealtWith) {
  Life first{path()};
  first.declare("S", kStaged);
  const auto consumer = first.subscribe("S");
  for (const char* const key : {"parked", "done", "back"}) {
    EXPECT_TRUE(first.write("S", Change::set(key, {{"a", "1"}})).ok());
    EXPECT_TRUE(first.write("S", Change::remove(key)).ok());
  }
  std::vector<Change> taken;
  ASSERT_EQ(consumer->take(10, taken), 3U);
  EXPECT_TRUE(first.write("S", Change::set("back", {{"a", "2"}})).ok());
  consumer->ack(taken[1]);
  consumer->ack(taken[2]);  // The Set behind it counts.
  first.settle();

  Life second{copy()};
  second.declare("S", kStaged);
  const auto again = second.subscribe("S");
  EXPECT_THAT(Life::take(*again), UnorderedElementsAre("DEL parked", "SET back a=2"));
}

TEST_F(DurableStoreTest, AWordAboutAnOlderDeleteSaysNothingAboutANewerOne) {
  Life first{path()};
  first.declare("S", kStaged);
  const auto consumer = first.subscribe("S");
  std::vector<Change> taken;
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(first.write("S", Change::set("k", {{"a", "1"}})).ok());
    EXPECT_TRUE(first.write("S", Change::remove("k")).ok());
    ASSERT_EQ(consumer->take(10, taken), 1U);
  }
  consumer->ack(taken[0]);  // The report arrives late, as from a worker.
  first.settle();
  {
    Life second{copy()};
    second.declare("S", kStaged);
    EXPECT_THAT(Life::take(*second.subscribe("S")), ElementsAre("DEL k"));
  }
  consumer->ack(taken[1]);
  first.settle();
  Life third{copy()};
  third.declare("S", kStaged);
  EXPECT_THAT(Life::take(*third.subscribe("S")), IsEmpty());
}

TEST_F(DurableStoreTest, QueueEntriesAreToldAgainUntilTheyWereDealtWith) {
  Life first{path()};
  first.declare("Q", kQueue);
  const auto consumer = first.subscribe("Q");
  for (const char* const key : {"1", "2", "3", "4"}) EXPECT_TRUE(first.write("Q", Change::set(key, {{"a", key}})).ok());
  EXPECT_TRUE(first.write("Q", Change::event("flush", "5", {})).ok());
  std::vector<Change> taken;
  EXPECT_EQ(consumer->take(3, taken), 3U);
  consumer->ack(taken[0]);
  consumer->ack(taken[1]);
  first.settle();

  Life second{copy()};
  second.declare("Q", kQueue);
  const auto again = second.subscribe("Q");
  EXPECT_THAT(Life::take(*again), ElementsAre("SET 3 a=3", "SET 4 a=4", "flush 5"));
  Record row;
  second.store().get("Q", "1", [&row](const Result<Record>& found) { row = *found; });
  second.settle();
  EXPECT_EQ(row.fields().find("a"), "1") << "what was popped is a row";
}

TEST_F(DurableStoreTest, QueueEntriesOfAConsumerThatWentAreGivenUpWhenALaterOneIsDealtWith) {
  Life first{path()};
  first.declare("Q", kQueue);
  std::vector<Change> taken;
  for (const char* const key : {"1", "2", "3", "4"}) EXPECT_TRUE(first.write("Q", Change::set(key, {})).ok());
  EXPECT_EQ((*first.subscribe("Q")).take(2, taken), 2U);
  first.settle();
  {
    Life second{copy()};
    second.declare("Q", kQueue);
    EXPECT_THAT(Life::take(*second.subscribe("Q")), ElementsAre("SET 1", "SET 2", "SET 3", "SET 4"));
  }
  const auto next = first.subscribe("Q");
  ASSERT_EQ(next->take(1, taken), 1U);
  next->ack(taken[2]);
  first.settle();
  Life third{copy()};
  third.declare("Q", kQueue);
  EXPECT_THAT(Life::take(*third.subscribe("Q")), ElementsAre("SET 4")) << "and not the one that was dealt with";
}

TEST_F(DurableStoreTest, EntriesThatWereTakenCountAgainstNoLimitWhenTheyComeBack) {
  Life first{path()};
  const TableSpec small{.name = "Q", .kind = TableKind::Queue, .rows_max = 2};
  ASSERT_TRUE(first.store().declare(small).ok());
  const auto consumer = first.subscribe("Q");
  std::vector<Change> taken;
  for (const char* const key : {"1", "2", "3", "4", "5"}) {
    EXPECT_TRUE(first.write("Q", Change::set(key, {})).ok());
    consumer->take(1, taken);
  }
  first.settle();
  Life second{copy()};
  ASSERT_TRUE(second.store().declare(small).ok());
  EXPECT_THAT(Life::take(*second.subscribe("Q")), ElementsAre("SET 1", "SET 2", "SET 3", "SET 4", "SET 5"));
}

TEST_F(DurableStoreTest, AKeptTableTakesANewLimitButNoNewKind) {
  {
    Life first{path()};
    first.declare("S", kStaged);
    EXPECT_TRUE(first.write("S", Change::set("k", {})).ok());
  }
  Life second{path()};
  EXPECT_EQ(second.store().declare({.name = "S", .kind = kWatched}).code(), StatusCode::FailedPrecondition);
  EXPECT_TRUE(second.store().declare({.name = "S", .kind = kStaged, .rows_max = 1}).ok());
  EXPECT_EQ(second.store().declare({.name = "S", .kind = kStaged, .rows_max = 2}).code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(second.write("S", Change::set("another", {})).code(), StatusCode::ResourceExhausted);
}

TEST_F(DurableStoreTest, ASecondProcessIsRefused) {
  Life first{path()};
  ASSERT_TRUE(first.trouble().ok());
  const Life second{path()};
  EXPECT_EQ(second.trouble().code(), StatusCode::Unavailable);
  EXPECT_THAT(second.trouble().to_string(), HasSubstr("another process"));
}

TEST_F(DurableStoreTest, AFileWithoutBytesOrTablesBecomesOne) {
  std::ofstream{path()};
  EXPECT_TRUE(Life{path()}.trouble().ok());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file("other").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "VACUUM", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  ASSERT_GT(std::filesystem::file_size(folder_.file("other")), 0U);
  EXPECT_TRUE(Life{folder_.file("other")}.trouble().ok());
}

TEST_F(DurableStoreTest, WhatIsNoFileOfOursIsRefusedAndLeftAlone) {
  EXPECT_FALSE(Life{folder_.file("no/folder/tables")}.trouble().ok());

  std::ofstream(folder_.file("text")) << std::string(5000, 'x');
  EXPECT_EQ(Life{folder_.file("text")}.trouble().code(), StatusCode::FailedPrecondition);

  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.file("other").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE log (number INTEGER PRIMARY KEY)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const Status none_of_ours = Life{folder_.file("other")}.trouble();
  EXPECT_EQ(none_of_ours.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(none_of_ours.to_string(), HasSubstr("no store of Rondo's"));

  // A view with the name of our table would run its own statements, such as an endless one.
  ASSERT_EQ(sqlite3_open(folder_.file("view").c_str(), &other), SQLITE_OK);
  const std::string view =
      "PRAGMA application_id = " + std::to_string(0x526e646f) +
      "; PRAGMA user_version = 1; CREATE VIEW log AS WITH RECURSIVE c(number) AS (SELECT 1 UNION ALL SELECT number FROM "
      "c) SELECT number, 0 AS checksum, x'' AS records FROM c";
  ASSERT_EQ(sqlite3_exec(other, view.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_THAT(Life{folder_.file("view")}.trouble().to_string(), HasSubstr("no store of Rondo's"));

  std::filesystem::create_directory(folder_.file("folder"));
  EXPECT_THAT(Life{folder_.file("folder")}.trouble().to_string(), HasSubstr("it is a folder"));
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(Life{folder_.file("pipe")}.trouble().to_string(), HasSubstr("no regular file"));
  for (const char* const name : {"text", "other", "folder", "pipe"})
    EXPECT_FALSE(std::filesystem::exists(folder_.file(name) + "-lock")) << name;

  ASSERT_EQ(::mkfifo(folder_.file("blocking-lock").c_str(), 0600), 0);
  EXPECT_TRUE(Life{folder_.file("blocking")}.trouble().ok()) << "it does not wait for a writer";
  const std::string foreign = folder_.file("foreign");
  std::ofstream{foreign} << "x";
  std::filesystem::permissions(foreign, std::filesystem::perms{0644});
  std::filesystem::create_symlink(foreign, folder_.file("linked-lock"));
  EXPECT_THAT(Life{folder_.file("linked")}.trouble().to_string(), HasSubstr("linked-lock': it is a symbolic link"));
  std::filesystem::create_symlink(foreign, folder_.file("logged-wal"));
  EXPECT_FALSE(Life{folder_.file("logged")}.trouble().ok());
  EXPECT_EQ(std::filesystem::status(foreign).permissions(), std::filesystem::perms{0644});
  EXPECT_EQ(std::filesystem::file_size(foreign), 1U);
  // An existing lock file says nothing about the file beside it.
  std::ofstream{folder_.file("text-lock")};
  EXPECT_EQ(Life{folder_.file("text")}.trouble().code(), StatusCode::FailedPrecondition);

  { Life makes_it{folder_.file("trigger")}; }
  ASSERT_EQ(sqlite3_open(folder_.file("trigger").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_THAT(Life{folder_.file("trigger")}.trouble().to_string(), HasSubstr("has a trigger"));

  { Life makes_it{path()}; }
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA user_version = 2", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const Status newer = Life{path()}.trouble();
  EXPECT_EQ(newer.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(newer.to_string(), HasSubstr("written by a newer one"));
}

TEST_F(DurableStoreTest, AFullDiskIsToldAndNothingIsLostWhenThereIsRoomAgain) {
  const std::string big(100'000, 'x');
  for (const Durability durability : {Durability::EveryBatch, Durability::Interval}) {
    const std::string file = folder_.file(std::string{to_string(durability)});
    Life life{file, durability};
    life.declare("S", kStaged);
    int accepted = 0;
    {
      const FileLimit full{1'000'000};
      Status end;
      for (; accepted < 40 && life.store().health().ok(); ++accepted) {
        end = life.write("S", Change::set("k" + std::to_string(accepted), {{"big", big}}));
      }
      ASSERT_LT(accepted, 40) << "the limit has no effect here";
      EXPECT_FALSE(life.store().health().ok());
      EXPECT_GT(life.store().stats().waiting, 0U);
      EXPECT_NE(life.store().stats().failing_since, Instant{});
      const bool synced = durability == Durability::EveryBatch;
      EXPECT_EQ(end.ok(), !synced) << "the write that found no room is not said to be written: " << end.to_string();
      const Status next = life.write("S", Change::set("next", {}));
      EXPECT_EQ(next.ok(), !synced) << next.to_string();
      if (synced) {
        EXPECT_THAT(next.to_string(), HasSubstr("nothing can be written down"));
      }
      EXPECT_EQ(life.store().size("S")->staged, static_cast<std::size_t>(accepted + (synced ? 0 : 1))) << "memory has what was accepted";
    }
    const auto damage_of_copy = [&file](const std::string& name) {
      for (const char* const suffix : {"", "-wal"}) {
        if (std::filesystem::exists(file + suffix)) std::filesystem::copy_file(file + suffix, file + name + suffix);
      }
      return Life{file + name}.store().stats().damage;
    };
    EXPECT_THAT(damage_of_copy("-full"), IsEmpty()) << "what was given up in the middle of a commit is a torn end";
    life.world().clock().advance(2s);
    life.settle();
    life.settle();
    EXPECT_THAT(damage_of_copy("-again"), IsEmpty());
    EXPECT_TRUE(life.store().health().ok()) << life.store().health().to_string();
    EXPECT_EQ(life.store().stats().failing_since, Instant{}) << "it is over";
    EXPECT_EQ(life.store().stats().waiting, 0U);
    EXPECT_TRUE(life.write("S", Change::set("next", {})).ok());
    ASSERT_TRUE(life.store().finish().ok());
    std::filesystem::copy_file(file, file + "-copy");
    if (std::filesystem::exists(file + "-wal")) std::filesystem::copy_file(file + "-wal", file + "-copy-wal");
    EXPECT_EQ(Life{file + "-copy"}.store().stats().restored, static_cast<std::uint64_t>(accepted + 1));
  }
}

TEST_F(DurableStoreTest, WritesThatWaitForTheDiskHaveALimitInNumberAndInBytes) {
  EXPECT_EQ(DurableStoreOptions{}.waiting_max, limits::kWaitingWrites);
  EXPECT_EQ(DurableStoreOptions{}.waiting_bytes_max, limits::kWaitingWriteBytes);
  const std::string large(1000, 'x');
  for (const bool by_number : {true, false}) {
    Life life(by_number ? DurableStoreOptions{.path = folder_.file("number"), .waiting_max = 10}
                        : DurableStoreOptions{.path = folder_.file("bytes"), .waiting_bytes_max = 10 * large.size()});
    life.declare("T", kWatched);
    life.settle();
    std::size_t accepted = 0;
    Status refused;
    while (refused.ok() && accepted < 100) {
      refused = life.store().write("T", Change::set("k" + std::to_string(accepted), {{"f", large}}));
      accepted += refused.ok() ? 1U : 0U;
    }
    EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted) << refused.to_string();
    EXPECT_EQ(life.store().stats().refused, 1U);
    EXPECT_GE(accepted, by_number ? 10U : 9U);
    EXPECT_LE(accepted, 10U);
    life.settle();  // The writes are on the disk now.
    EXPECT_TRUE(life.write("T", Change::set("later", {})).ok());
  }
}

/// Drops to a user without permissions if this process is root.
class Nobody {
 public:
  Nobody() {
    if (::geteuid() == 0) taken_ = ::seteuid(65534) == 0;
  }
  ~Nobody() {
    if (taken_ && ::seteuid(0) != 0) std::abort();
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;

 private:
  bool taken_ = false;
};

using std::filesystem::perms;
constexpr perms kAllRead = perms::owner_read | perms::group_read | perms::others_read;
constexpr perms kAllEnter = kAllRead | perms::owner_exec | perms::group_exec | perms::others_exec;

TEST_F(DurableStoreTest, ASnapshotIsNoReasonToRefuseAWrite) {
  constexpr std::size_t kMost = 1'000'000;
  constexpr int kRows = 64;
  const std::string large(100'000, 'v');
  Life life{{.path = path(), .durability = Durability::EveryBatch, .waiting_bytes_max = kMost, .slack_bytes = 1U << 20}};
  life.declare("W", kWatched);
  int asked = 0;
  for (int i = 0; life.store().stats().snapshots < 2 && i < 10 * kRows; ++i) {
    EXPECT_TRUE(life.store().write("W", Change::set("k" + std::to_string(i % kRows), {{"v", large}})).ok());
    while (life.scheduler().turn()) {
      if (life.store().stats().waiting_bytes < kMost || asked > i) continue;
      ++asked;  // Once a round: otherwise the round never ends.
      const Status end = life.store().write("W", Change::set("small", {}));
      EXPECT_TRUE(end.ok()) << end.to_string();
    }
  }
  EXPECT_EQ(life.store().stats().snapshots, 2U);
  EXPECT_GT(asked, 0) << "no snapshot had so much waiting: the test sees nothing";
}

TEST_F(DurableStoreTest, AFolderOrFileThatCannotBeWrittenIsNamedWithTheReason) {
  { Life makes_it{path()}; }
  std::filesystem::permissions(path(), kAllRead);
  std::filesystem::permissions(folder_, kAllEnter);
  {
    const Nobody rights;
    const Status folder = Life{path()}.trouble();
    EXPECT_EQ(folder.code(), StatusCode::PermissionDenied);
    EXPECT_THAT(folder.to_string(), HasSubstr("the folder '" + folder_.string() + "' cannot be written: Permission denied"));
  }
  std::filesystem::permissions(folder_, perms::all);
  {
    const Nobody rights;
    const Status file = Life{path()}.trouble();
    EXPECT_EQ(file.code(), StatusCode::PermissionDenied);
    EXPECT_THAT(file.to_string(), HasSubstr("the file '" + path() + "' cannot be written: Permission denied"));
  }
  const Status missing = Life{folder_.file("no/tables")}.trouble();
  EXPECT_EQ(missing.code(), StatusCode::NotFound);
  EXPECT_THAT(missing.to_string(), HasSubstr("No such file or directory"));
}

TEST_F(DurableStoreTest, AFileIsReadWithoutRightsToWriteAndNothingIsLeftBehind) {
  Life life{path()};
  life.declare("S", kStaged);
  ASSERT_TRUE(life.write("S", Change::set("k", {})).ok());
  const std::string with_log = copy();
  ASSERT_TRUE(std::filesystem::exists(with_log + "-wal"));
  const std::string without_log = folder_.file("%31?whole");
  {
    Life makes_it{without_log};
    makes_it.declare("S", kStaged);
    ASSERT_TRUE(makes_it.write("S", Change::set("k", {})).ok());
  }
  const auto names = [this] {
    std::map<std::string, std::uintmax_t> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) all[entry.path().filename()] = entry.file_size();
    return all;
  };
  for (const std::string& file : {with_log, with_log + "-wal", without_log}) {
    std::filesystem::permissions(file, kAllRead, std::filesystem::perm_options::add);
  }
  const auto before = names();
  for (const perms rights : {kAllEnter, perms::all}) {
    std::filesystem::permissions(folder_, rights);
    const Nobody nobody;
    for (const std::string& file : {with_log, without_log}) {
      const Result<DurableFile> seen = read_durable_file(file);
      ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
      EXPECT_THAT(seen->damage, IsEmpty());
      ASSERT_EQ(seen->tables.size(), 1U);
      EXPECT_EQ(seen->tables[0].rows, 1U);
    }
  }
  std::filesystem::permissions(folder_, perms::all);
  EXPECT_EQ(names(), before);
  EXPECT_EQ(read_durable_file(path()).error().code(), StatusCode::Unavailable) << "a process has it";
}

TEST_F(DurableStoreTest, WhoReadsKeepsNobodyFromOpeningAndSeesThatSomebodyDid) {
  {
    Life life{path()};
    life.declare("S", kStaged);
  }
  Result<std::unique_ptr<LogFile>> reader = LogFile::open(path(), LogFile::Mode::ReadOnly);
  ASSERT_TRUE(reader.has_value()) << reader.error().to_string();
  const auto accept = [](std::string_view) { return Status{}; };
  EXPECT_TRUE((*reader)->read(accept).failed.ok());
  Life life{path()};
  ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  ASSERT_TRUE(life.write("S", Change::set("k", {})).ok());
  EXPECT_EQ((*reader)->read(accept).failed.code(), StatusCode::Unavailable);
}

TEST_F(DurableStoreTest, AnEndThatIsAKillLosesWhatIsNotWritten) {
  sim::World world{1};
  Scheduler scheduler{world.clock(), world.reactor(), *make_policy(StrictPriority{})};
  for (const bool kill : {true, false}) {
    const DurableStoreOptions options{
        .path = folder_.file(kill ? "killed" : "ended"), .mode = DurableStoreOptions::Mode::Inline, .end_is_kill = kill};
    {
      auto store = std::move(DurableStore::open(scheduler, options).value());
      ASSERT_TRUE(store->declare({.name = "S"}).ok());
      ASSERT_TRUE(store->write("S", Change::set("k", {})).ok());
      EXPECT_EQ(store->stats().waiting, 2U) << "the table and its row";
    }
    EXPECT_EQ(DurableStore::open(scheduler, options).value()->stats().restored, kill ? 0U : 1U);
  }
}

// `write` of the admin socket (commands/row_batch.cc) promises that a killed process leaves all of its rows or none.
TEST_F(DurableStoreTest, WhatIsWrittenInOneTurnIsOneCommit) {
  sim::World world{1};
  Scheduler scheduler{world.clock(), world.reactor(), *make_policy(StrictPriority{})};
  const DurableStoreOptions options{
      .path = folder_.file("turn"), .durability = Durability::EveryBatch, .mode = DurableStoreOptions::Mode::Inline};
  auto store = std::move(DurableStore::open(scheduler, options).value());
  for (const char* const table : {"S", "T"}) ASSERT_TRUE(store->declare({.name = table}).ok());
  scheduler.run_until_idle();
  const std::uint64_t commits = store->stats().commits;
  for (std::size_t i = 0; i < 2048; ++i) {  // A full admin request has as many.
    ASSERT_TRUE(store->write(i % 3 == 0 ? "S" : "T", Change::set("k" + std::to_string(i), {{"f", std::string(100, 'v')}})).ok());
  }
  EXPECT_EQ(store->stats().commits, commits) << "nothing is written before the end of the turn";
  scheduler.run_until_idle();
  EXPECT_EQ(store->stats().commits, commits + 1);
  EXPECT_EQ(store->stats().waiting, 0U);
}

/// A model of the tables, and a random life on the real tables beside it.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {}

  void step(Life& life) {
    const std::string key = "k" + std::to_string(random_.below(20));
    const std::string field = "f" + std::to_string(random_.below(3));
    const std::string value = std::to_string(random_.below(1000));
    const std::string table = random_.below(2) == 0 ? "S" : "W";
    if (random_.below(4) == 0) {
      EXPECT_TRUE(life.store().write(table, Change::remove(key)).ok());
      rows[table].erase(key);
    } else {
      EXPECT_TRUE(life.store().write(table, Change::set(key, {{field, value}})).ok());
      rows[table][key][field] = value;
    }
    if (random_.below(5) == 0) life.settle();
  }
  void consume(Subscription& staged) {
    std::vector<Change> changes;
    staged.take(random_.below(4), changes);
    for (const Change& change : changes) {
      if (random_.below(2) == 0) staged.ack(change);
    }
  }

  using Rows = std::map<std::string, std::map<std::string, std::map<std::string, std::string>>>;
  Rows rows;
  Random& random() { return random_; }

 private:
  Random random_;
};

Model::Rows rows_of(Life& life) {
  Model::Rows rows;
  for (const TableSpec& spec : life.store().tables()) {
    std::vector<Change> changes;
    life.subscribe(spec.name)->take(100'000, changes);
    for (const Change& change : changes) {
      if (change.op() == ChangeOp::Delete) continue;
      auto& row = rows[spec.name][std::string{change.key()}];
      for (const Field field : change.fields()) row[std::string{field.name}] = field.value;
    }
    rows.try_emplace(spec.name);
  }
  return rows;
}

TEST_F(DurableStoreTest, PropertyRandomLivesComeBackAsTheModelSays) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model{seed};
    std::string file = folder_.file("life-" + std::to_string(seed));
    auto life = std::make_unique<Life>(file, Durability::EveryBatch, 2000);
    for (int restarts = 0; restarts < 4; ++restarts) {
      life->declare("S", kStaged);
      life->declare("W", kWatched);
      {
        const auto consumer = life->subscribe("S");
        for (int i = 0; i < 200; ++i) {
          model.step(*life);
          if (model.random().below(3) == 0) model.consume(*consumer);
        }
      }
      life->settle();
      const std::string next = file + "+";
      std::filesystem::copy_file(file, next);
      if (std::filesystem::exists(file + "-wal")) std::filesystem::copy_file(file + "-wal", next + "-wal");
      file = next;
      life = std::make_unique<Life>(file, Durability::EveryBatch, 2000);
      ASSERT_TRUE(life->trouble().ok()) << life->trouble().to_string();
      EXPECT_THAT(life->store().stats().damage, IsEmpty());
    }
    model.rows.try_emplace("S");
    model.rows.try_emplace("W");
    EXPECT_EQ(rows_of(*life), model.rows);
  }
}

/// A power cut: the last writes of the file system are missing. The rest must be the state after some commit, and a longer log must give a
/// newer state.
TEST_F(DurableStoreTest, PropertyATornEndIsTheStateOfAnEarlierCommit) {
  constexpr int kCommits = 60;
  Life life{path()};
  life.declare("W", kWatched);
  for (int i = 0; i < kCommits; ++i) EXPECT_TRUE(life.write("W", Change::set("n", {{"n", std::to_string(i)}})).ok());
  const std::uintmax_t whole = std::filesystem::file_size(path() + "-wal");
  Random random{1};
  std::map<std::uintmax_t, int> newest;  // By the remaining length.
  for (int cuts = 0; cuts < 80; ++cuts) {
    const std::uintmax_t left = cuts == 0 ? whole : random.below(whole);
    SCOPED_TRACE("cut to " + std::to_string(left));
    const std::string torn = copy();
    std::filesystem::resize_file(torn + "-wal", left);
    Life after{torn};
    newest[left] = -1;
    if (!after.trouble().ok()) {  // Not even the first commit is there.
      EXPECT_EQ(after.trouble().code(), StatusCode::FailedPrecondition) << after.trouble().to_string();
      continue;
    }
    EXPECT_THAT(after.store().stats().damage, IsEmpty()) << "a torn end is no damage";
    after.declare("W", kWatched);
    const std::vector<std::string> found = Life::take(*after.subscribe("W"));
    ASSERT_LE(found.size(), 1U);
    if (!found.empty()) newest[left] = std::stoi(found.front().substr(std::string{"SET n n="}.size()));
  }
  EXPECT_EQ(newest[whole], kCommits - 1);
  int before = -1;
  std::set<int> states;
  for (const auto& [left, n] : newest) {
    EXPECT_GE(n, before) << "of " << left << " bytes";
    before = n;
    states.insert(n);
  }
  EXPECT_GT(states.size(), 20U) << "the cuts must show many states";
}

TEST_F(DurableStoreTest, ALogThatGrewIsWrittenAnewAndStaysSmall) {
  Life life{path(), Durability::EveryBatch, 100'000};
  life.declare("W", kWatched);
  for (int i = 0; i < 3000; ++i)
    EXPECT_TRUE(life.write("W", Change::set("k" + std::to_string(i % 10), {{"v", std::string(1000, 'v')}})).ok());
  EXPECT_GT(life.store().stats().snapshots, 5U);
  EXPECT_GT(life.store().stats().bytes, 3'000'000U);
  EXPECT_LT(std::filesystem::file_size(path()), 1'000'000U);
  EXPECT_EQ(Life{copy()}.store().stats().restored, 10U);
}

TEST_F(DurableStoreTest, RoomThatSqliteGivesBackIsNoHarm) {
  {
    Life life{path(), Durability::EveryBatch, 100'000};
    life.declare("W", kWatched);
    for (int i = 0; i < 500; ++i)
      EXPECT_TRUE(life.write("W", Change::set("k" + std::to_string(i % 10), {{"v", std::string(5000, 'v')}})).ok());
    EXPECT_GT(life.store().stats().snapshots, 1U);
  }
  const auto before = std::filesystem::file_size(path());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "VACUUM", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_LT(std::filesystem::file_size(path()), before);
  Life next{path()};
  ASSERT_TRUE(next.trouble().ok()) << next.trouble().to_string();
  EXPECT_THAT(next.store().stats().damage, IsEmpty());
  EXPECT_EQ(next.store().stats().restored, 10U);
}

}  // namespace
}  // namespace rondo::store::durable
