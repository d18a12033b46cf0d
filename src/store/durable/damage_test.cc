// What the store reports, finds and keeps of a damaged file. The tests damage a copy of the files, or the files of a life that has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/store/durable_file.h"
#include "store/durable/store_lock.h"
#include "store/durable/testing/life.h"

namespace rondo::store::durable {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(DurableStoreTest, AHeaderThatSqliteCanOnlyReadIsDamageAndTheFileIsWrittenAnew) {
  {
    Life life{path()};
    life.declare("W", kWatched);
    EXPECT_TRUE(life.write("W", Change::set("key", {{"value", "1"}})).ok());
  }
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(18);
    file.put('\xff');
  }
  const Result<DurableFile> seen = read_durable_file(path());
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_THAT(seen->damage, ElementsAre(HasSubstr("byte 18")));
  {
    Life life{path()};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_EQ(life.store().stats().damage, seen->damage);
    EXPECT_EQ(life.store().stats().restored, 1U);
    life.declare("W", kWatched);
    EXPECT_TRUE(life.write("W", Change::set("key", {{"value", "2"}})).ok());
  }
  EXPECT_THAT(read_durable_file(path())->damage, IsEmpty());
}

TEST_F(DurableStoreTest, DamageIsReportedAndWhatIsWholeIsKept) {
  constexpr int kRows = 400;
  {
    Life life{path()};
    life.declare("W", kWatched);
    for (int i = 0; i < kRows; ++i)
      EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", std::string(2000, 'v')}})).ok());
  }
  const std::string damaged = copy();
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(damaged) / 2));
    file << "this is not what was written here";
  }
  std::size_t kept = 0;
  {
    Life life{damaged};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_FALSE(life.store().stats().damage.empty());
    EXPECT_TRUE(std::filesystem::exists(life.store().stats().damaged_file));
    kept = life.store().stats().restored;
    EXPECT_LT(kept, kRows);
    EXPECT_GT(kept, kRows / 2);
  }
  const Life again{damaged};
  EXPECT_THAT(const_cast<Life&>(again).store().stats().damage, IsEmpty()) << "it was replaced by a whole one";
  EXPECT_EQ(const_cast<Life&>(again).store().stats().restored, kept);
}

TEST_F(DurableStoreTest, WhatABrokenTreeDoesNotLeadToIsFound) {
  constexpr std::size_t kRows = 100;
  const auto value = [](std::size_t i) {
    return std::string(1000 * (i % 60), static_cast<char>('a' + i % 26));
  };  // Some rows fill several pages.
  {
    Life life{path()};
    life.declare("W", kWatched);
    for (std::size_t i = 0; i < kRows; ++i)
      EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", value(i)}})).ok());
  }
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(16384);  // The root of the tree is the second page.
    file.put('\x55');
  }
  const Result<DurableFile> seen = read_durable_file(path());
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_THAT(seen->damage, Not(IsEmpty()));
  Life life{path()};
  ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  EXPECT_EQ(life.store().stats().damage, seen->damage);
  life.declare("W", kWatched);
  std::vector<Change> rows;
  ASSERT_EQ(life.subscribe("W")->take(1000, rows), kRows);
  for (const Change& row : rows) EXPECT_EQ(row.fields().find("value"), value(std::stoul(std::string{row.key().substr(4)}))) << row.key();
}

// SQLite reads the rest of the file without an error: only the entry numbers show the loss.
TEST_F(DurableStoreTest, EntriesThatAreMissingWithoutATraceAreDamage) {
  constexpr std::uint64_t kRows = 100;
  for (const bool by_page : {true, false}) {
    const std::string file = folder_.file(by_page ? "page" : "row");
    {
      Life life{file};
      life.declare("W", kWatched);
      for (std::uint64_t i = 0; i < kRows; ++i)
        EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", std::string(2000, 'v')}})).ok());
    }
    if (by_page) {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekg(2 * 16384);  // The first leaf: it follows the first page and the root of the tree.
      ASSERT_EQ(bytes.get(), 0x0d);
      bytes.seekp(2 * 16384 + 3);
      bytes.put('\0');
      bytes.put('\2');  // The number of its cells.
    } else {
      sqlite3* database = nullptr;
      ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(database, "DELETE FROM log WHERE number = 50", nullptr, nullptr, nullptr), SQLITE_OK);
      sqlite3_close(database);
    }
    const Result<DurableFile> seen = read_durable_file(file);
    ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
    EXPECT_THAT(seen->damage, Contains(HasSubstr(by_page ? "entries 3 to " : "entries 50 to 50")));
    Life life{file};
    EXPECT_EQ(life.store().stats().damage, seen->damage);
    EXPECT_LT(life.store().stats().restored, kRows);
    EXPECT_GT(life.store().stats().restored, kRows / 2);
    EXPECT_TRUE(std::filesystem::exists(life.store().stats().damaged_file));
  }
}

TEST_F(DurableStoreTest, AFileThatIsTooShortIsReadAsFarAsItGoes) {
  constexpr int kRows = 400;
  {
    Life life{path()};
    life.declare("W", kWatched);
    for (int i = 0; i < kRows; ++i)
      EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", std::string(2000, 'v')}})).ok());
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 16384);
  const auto size = std::filesystem::file_size(path());
  const Result<DurableFile> seen = read_durable_file(path());
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  ASSERT_FALSE(seen->damage.empty());
  EXPECT_THAT(seen->damage.front(), HasSubstr("16384 bytes short"));
  std::uint64_t kept = 0;
  {
    Life life{path()};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_EQ(life.store().stats().damage, seen->damage);
    kept = life.store().stats().restored;
    EXPECT_GT(kept, kRows * 3 / 4);
    EXPECT_LE(kept, kRows);
    EXPECT_EQ(std::filesystem::file_size(life.store().stats().damaged_file), size) << "the file is kept as it was";
  }
  Life again{path()};
  EXPECT_THAT(again.store().stats().damage, IsEmpty()) << "it was replaced by a whole one";
  EXPECT_EQ(again.store().stats().restored, kept);
}

/// A log with a changed page in the middle. SQLite alone would silently leave out everything after that page.
class DamagedLog : public DurableStoreTest {
 protected:
  static constexpr std::uint64_t kRows = 150;
  static constexpr std::uint64_t kFrame = 24 + 16384;
  DamagedLog() : DurableStoreTest(Folder::in_memory()) {
    Life life{path()};
    life.declare("W", kWatched);
    for (std::uint64_t i = 0; i < kRows; ++i)
      EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", std::string(2000, 'v')}})).ok());
    killed_ = copy();
    frames_ = (std::filesystem::file_size(killed_ + "-wal") - 32) / kFrame;
  }
  void spoil(std::uint64_t at, std::size_t bytes = 1) {
    std::fstream log(killed_ + "-wal", std::ios::in | std::ios::out | std::ios::binary);
    for (std::uint64_t place = at; place < at + bytes; ++place) {
      log.seekg(static_cast<std::streamoff>(place));
      const int was = log.get();
      log.seekp(static_cast<std::streamoff>(place));
      log.put(static_cast<char>(was ^ 0x55));
    }
  }
  static std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// What a read-only open reports, and what a life finds; the files are kept unchanged.
  std::uint64_t open_damaged() {
    const std::string file = bytes_of(killed_);
    const std::string log = bytes_of(killed_ + "-wal");
    const Result<DurableFile> seen = read_durable_file(killed_);
    EXPECT_TRUE(seen.has_value()) << seen.error().to_string();
    if (!seen) return 0;
    EXPECT_THAT(seen->damage, Contains(HasSubstr("write-ahead log")));
    std::uint64_t kept = 0;
    {
      Life life{killed_};
      EXPECT_TRUE(life.trouble().ok()) << life.trouble().to_string();
      if (!life.trouble().ok()) return 0;
      const DurableStoreStats& stats = life.store().stats();
      EXPECT_EQ(stats.damage, seen->damage);
      EXPECT_THAT(stats.damage, Contains(HasSubstr("write-ahead log")));
      EXPECT_EQ(bytes_of(stats.damaged_file), file);
      EXPECT_EQ(bytes_of(stats.damaged_file + "-wal"), log);
      kept = stats.restored;
      life.declare("W", kWatched);
      EXPECT_TRUE(life.write("W", Change::set("later", {})).ok());
    }
    Life again{killed_};
    EXPECT_THAT(again.store().stats().damage, IsEmpty()) << "it was replaced by a whole one";
    EXPECT_EQ(again.store().stats().restored, kept + 1);
    return kept;
  }
  std::string killed_;
  std::uint64_t frames_ = 0;
};

TEST_F(DamagedLog, AByteInTheMiddleIsDamage) {
  spoil(32 + frames_ / 2 * kFrame + 24 + 5000);
  EXPECT_EQ(open_damaged(), kRows) << "a later page took its place";
}

TEST_F(DamagedLog, AByteOfAFramesHeaderIsDamage) {
  spoil(32 + frames_ / 2 * kFrame + 16);
  EXPECT_EQ(open_damaged(), kRows);
}

TEST_F(DamagedLog, ItsBeginningIsDamageToo) {
  spoil(0, 32 + 24);
  EXPECT_EQ(open_damaged(), kRows);
}

TEST_F(DamagedLog, ATornLastFrameIsNone) {
  spoil(32 + (frames_ - 1) * kFrame + 24 + 5000);
  Life life{killed_};
  EXPECT_THAT(life.store().stats().damage, IsEmpty());
  EXPECT_EQ(life.store().stats().restored, kRows - 1) << "as if it had not been written";
}

TEST_F(DamagedLog, PropertyAByteAnywhereIsToldOrWasOfTheLastCommit) {
  const std::uint64_t bytes = 32 + frames_ * kFrame;
  const std::string whole = bytes_of(killed_ + "-wal");
  Random random{1};
  int told = 0;
  for (int spoilt = 0; spoilt < 100; ++spoilt) {
    const std::uint64_t at = random.below(bytes);
    SCOPED_TRACE("byte " + std::to_string(at));
    spoil(at);
    const Result<DurableFile> seen = read_durable_file(killed_);
    spoil(at);
    ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
    ASSERT_EQ(seen->tables.size(), 1U);
    told += seen->damage.empty() ? 0 : 1;
    EXPECT_GE(seen->tables[0].rows, kRows - 20) << "the rows of a page at most";
    if (seen->damage.empty()) {
      EXPECT_EQ(seen->tables[0].rows, kRows - 1);
    }
  }
  EXPECT_GT(told, 90);
  EXPECT_EQ(bytes_of(killed_ + "-wal"), whole);
}

TEST_F(DamagedLog, PropertyWhateverIsSpoilt) {
  // A file with its own tree, and a log; some values fill several pages.
  const auto value = [](std::uint64_t i) { return std::string(300 * (i % 100), static_cast<char>('a' + i % 26)); };
  const std::string file = folder_.file("both");
  {
    Life life{file};
    life.declare("W", kWatched);
    for (std::uint64_t i = 0; i < 100; ++i)
      EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", value(i)}})).ok());
  }
  Life life{file};
  life.declare("W", kWatched);
  for (std::uint64_t i = 100; i < 200; ++i)
    EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", value(i)}})).ok());
  const std::array<std::string, 2> whole{bytes_of(file), bytes_of(file + "-wal")};
  Random random{1};
  std::uint64_t least = 200;
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::array<std::string, 2> spoilt = whole;
    for (std::uint64_t strokes = 1 + random.below(4); strokes > 0; --strokes) {
      std::string& bytes = spoilt.at(random.below(2));
      const std::uint64_t from = random.below(bytes.size() * 3 / 4);  // The test cannot require the log's end to be whole.
      const std::uint64_t to = std::min<std::uint64_t>(bytes.size(), from + (random.below(2) == 0 ? 1 : random.below(20'000)));
      for (std::uint64_t at = from; at < to; ++at) bytes[at] = static_cast<char>(random.below(256));
    }
    const std::string copied = folder_.file("spoilt");
    std::ofstream(copied, std::ios::binary) << spoilt[0];
    std::ofstream(copied + "-wal", std::ios::binary) << spoilt[1];
    std::uint64_t rows = 0;
    const Result<DurableFile> seen = read_durable_file(copied, [&](const TableSpec&, const Change& row) {
      ++rows;
      EXPECT_EQ(row.fields().find("value"), value(std::stoul(std::string{row.key().substr(4)}))) << row.key();
    });
    if (!seen) continue;  // The file's first page is lost.
    if (rows < 199) {
      EXPECT_THAT(seen->damage, Not(IsEmpty()));
    }
    least = std::min(least, rows);
  }
  EXPECT_LT(least, 200U) << "some of it must lose rows";
}

TEST_F(DamagedLog, AProcessThatEndedWhileItKeptTheFilesLeavesNoneWithoutItsLog) {
  spoil(32 + frames_ / 2 * kFrame + 24 + 5000);
  const std::string aside = killed_ + ".damaged-1";
  std::filesystem::create_hard_link(killed_, aside);
  std::filesystem::rename(killed_ + "-wal", aside + "-wal");
  {
    Life life{killed_};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_THAT(life.store().stats().damage, Not(IsEmpty()));
    EXPECT_GT(life.store().stats().restored, 0U);
    EXPECT_EQ(life.store().stats().damaged_file, aside);
  }
  EXPECT_FALSE(std::filesystem::exists(killed_ + ".damaged-2")) << "it is kept once";
}

TEST_F(DamagedLog, AProcessThatEndedThereIsUndoneUnderAnyNumber) {
  spoil(32 + frames_ / 2 * kFrame + 24 + 5000);
  // An earlier damaged file: a user removed the file but not its log.
  std::ofstream{killed_ + ".damaged-1-wal"} << "an older log";
  const std::string aside = killed_ + ".damaged-2";
  std::filesystem::create_hard_link(killed_, aside);
  std::filesystem::rename(killed_ + "-wal", aside + "-wal");
  Life life{killed_};
  ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  EXPECT_GT(life.store().stats().restored, 0U);
  EXPECT_EQ(life.store().stats().damaged_file, aside);
  EXPECT_EQ(bytes_of(killed_ + ".damaged-1-wal"), "an older log");
}

TEST_F(DamagedLog, ASecondProcessIsRefusedWhileTheFirstRepairsItAndLater) {
  spoil(32 + frames_ / 2 * kFrame + 24 + 5000);
  const std::string log = bytes_of(killed_ + "-wal");
  // The state after a process ended during the replacement.
  const std::string aside = killed_ + ".damaged-1";
  std::filesystem::create_hard_link(killed_, aside);
  std::filesystem::rename(killed_ + "-wal", aside + "-wal");
  {
    const Result<StoreLock> first = StoreLock::take(killed_);  // SQLite holds no lock at this step.
    ASSERT_TRUE(first.has_value()) << first.error().to_string();
    const Life second{killed_};
    EXPECT_EQ(second.trouble().code(), Code::Unavailable);
    EXPECT_THAT(second.trouble().to_string(), HasSubstr("another process has it open"));
    EXPECT_EQ(bytes_of(aside + "-wal"), log) << "it is the first one's to bring back";
  }
  {
    Life first{killed_};
    ASSERT_TRUE(first.trouble().ok()) << first.trouble().to_string();
    EXPECT_EQ(first.store().stats().restored, kRows);
    EXPECT_EQ(StoreLock::take(killed_).error().code(), Code::Unavailable);
  }
  EXPECT_TRUE(StoreLock::take(killed_).has_value());
}

TEST_F(DamagedLog, TheFileInItsPlaceHasItsRights) {
  spoil(32 + frames_ / 2 * kFrame + 24 + 5000);
  for (const char* const suffix : {"", "-wal"}) {
    std::filesystem::permissions(killed_ + suffix, std::filesystem::perms{0640});
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown((killed_ + suffix).c_str(), 65534, 65533), 0);
    }
  }
  struct stat before {};
  ASSERT_EQ(::stat(killed_.c_str(), &before), 0);
  const Life life{killed_};
  ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  struct stat after {};
  ASSERT_EQ(::stat(killed_.c_str(), &after), 0);
  EXPECT_NE(after.st_ino, before.st_ino) << "another file";
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
}

TEST_F(DamagedLog, IsRepairedUnderANameWithoutAFolder) {
  spoil(32 + frames_ / 2 * kFrame + 24 + 5000);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  {
    Life life{std::filesystem::path{killed_}.filename().string()};
    EXPECT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  }
  std::filesystem::current_path(before);
  const Result<DurableFile> seen = read_durable_file(killed_);
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_THAT(seen->damage, IsEmpty());
}

TEST_F(DamagedLog, IsReadAndNotThrownAwayWhenItsFileIsLostOrEmpty) {
  const std::string log = bytes_of(killed_ + "-wal");
  for (const bool is_there : {true, false}) {
    const std::string file = folder_.file(is_there ? "empty" : "lost");
    std::ofstream(file + "-wal", std::ios::binary) << log;
    if (is_there) std::ofstream{file};
    const Result<DurableFile> seen = read_durable_file(file);
    ASSERT_FALSE(seen.has_value());
    EXPECT_EQ(seen.error().code(), Code::DataLoss) << seen.error().to_string();
    EXPECT_EQ(bytes_of(file + "-wal"), log) << "who looks changes nothing";
    EXPECT_EQ(std::filesystem::exists(file), is_there);
    Life life{file};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_EQ(life.store().stats().restored, kRows);
    EXPECT_THAT(life.store().stats().damage, ElementsAre(HasSubstr("was lost, or had no bytes")));
    EXPECT_EQ(bytes_of(life.store().stats().damaged_file + "-wal"), log);
  }
}

// The log cannot be read without the file's first page. The log is kept for a user who has a copy of the file.
TEST_F(DamagedLog, WithoutTheFirstPageItIsRefusedAndLeftAlone) {
  Life life{path()};
  ASSERT_TRUE(life.write("W", Change::set("key-1", {{"value", "new"}})).ok());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{16384}}) {
    const std::string file = copy();
    const std::string log = bytes_of(file + "-wal");
    std::ofstream(file, std::ios::binary) << std::string(bytes, 'x');
    for (int tries = 0; tries < 2; ++tries) EXPECT_EQ(Life{file}.trouble().code(), Code::FailedPrecondition);
    EXPECT_EQ(bytes_of(file + "-wal"), log);
  }
}

TEST_F(DamagedLog, WhatIsLeftOfAnOlderRoundIsNone) {
  killed_ = folder_.file("round");
  Life life{killed_};
  life.declare("W", kWatched);
  const std::string log = killed_ + "-wal";
  const auto salt = [&log] {
    std::string beginning(20, ' ');
    std::ifstream(log, std::ios::binary).read(beginning.data(), 20);
    return beginning.substr(16);
  };
  const std::string first = salt();
  std::uint64_t rows = 0;
  for (; rows < 2000 && salt() == first; ++rows)
    EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(rows), {{"value", std::string(20'000, 'v')}})).ok());
  ASSERT_LT(rows, 2000U) << "the log must begin anew";
  for (const char* const suffix : {"", "-wal"}) std::filesystem::copy_file(killed_ + suffix, folder_.file("old") + suffix);
  ASSERT_GT(std::filesystem::file_size(folder_.file("old-wal")), 500 * kFrame) << "its old pages are there";
  Life next{folder_.file("old")};
  EXPECT_THAT(next.store().stats().damage, IsEmpty());
  EXPECT_EQ(next.store().stats().restored, rows);
}

}  // namespace
}  // namespace rondo::store::durable
