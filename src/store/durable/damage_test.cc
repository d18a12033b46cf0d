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
#include <set>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "rondo/base/random.h"
#include "store/durable/durable_file.h"
#include "store/durable/store_lock.h"
#include "store/durable/testing/life.h"

namespace rondo::store::durable {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

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

TEST_F(DurableStoreTest, ADamagedSchemaIsDamageAndTheFileIsLeftAlone) {
  {
    Life life{path()};
    life.declare("W", kWatched);
    EXPECT_TRUE(life.write("W", Change::set("key", {{"value", "1"}})).ok());
  }
  for (const char* const change : {"ALTER TABLE log RENAME COLUMN checksum TO sum", "DROP TABLE log"}) {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, change, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(other);
    sqlite3_close(other);
    const Status refused = Life{path()}.trouble();
    EXPECT_EQ(refused.code(), StatusCode::DataLoss) << refused.to_string();
    EXPECT_THAT(refused.to_string(), HasSubstr("its schema is damaged"));
    EXPECT_EQ(read_durable_file(path()).error().code(), StatusCode::DataLoss);
    EXPECT_FALSE(Life{path()}.trouble().ok()) << "it was not taken for a new one";
  }
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

// Empty tables in place of a file that may have many rows would be the worst answer.
TEST_F(DurableStoreTest, ADamagedFileOfWhichNothingCanBeReadIsRefusedAndLeftAlone) {
  {
    Life life{path()};
    life.declare("W", kWatched);
    for (int i = 0; i < 100; ++i)
      EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", std::string(2000, 'v')}})).ok());
  }
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(16384);  // The root of the tree is the second page.
    file.put('\x55');
  }
  const auto size = std::filesystem::file_size(path());
  const Result<DurableFile> seen = read_durable_file(path());
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_THAT(seen->damage, Contains(HasSubstr("SQLite's check")));
  const Life life{path()};
  EXPECT_EQ(life.trouble().code(), StatusCode::DataLoss);
  EXPECT_THAT(life.trouble().to_string(), HasSubstr("nothing of it can be read"));
  EXPECT_EQ(std::filesystem::file_size(path()), size);
  EXPECT_THAT(asides(path()), IsEmpty());
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
  EXPECT_THAT(seen->damage.front(), HasSubstr("shorter than its header says"));
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

void spoil(const std::string& file, std::uint64_t at, std::uint64_t bytes = 1) {
  std::fstream in_place(file, std::ios::in | std::ios::out | std::ios::binary);
  for (std::uint64_t place = at; place < at + bytes; ++place) {
    in_place.seekg(static_cast<std::streamoff>(place));
    const int was = in_place.get();
    in_place.seekp(static_cast<std::streamoff>(place));
    in_place.put(static_cast<char>(was ^ 0x55));
  }
}
std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::string row_value(std::uint64_t i) { return std::string(300 * (i % 100), static_cast<char>('a' + i % 26)); }
void write_rows(Life& life, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i)
    EXPECT_TRUE(life.write("W", Change::set("key-" + std::to_string(i), {{"value", row_value(i)}})).ok());
}
/// The numbers of the rows in a file, ascending. Each must have its own value.
std::vector<std::uint64_t> rows_in(const Result<DurableFile>& seen, const std::vector<Change>& rows) {
  EXPECT_TRUE(seen.has_value()) << seen.error().to_string();
  std::vector<std::uint64_t> numbers;
  for (const Change& row : rows) {
    numbers.push_back(std::stoul(std::string{row.key().substr(4)}));
    EXPECT_EQ(row.fields().find("value"), row_value(numbers.back())) << row.key();
  }
  std::ranges::sort(numbers);
  return numbers;
}

/// The log of a killed process, in which one row after the other was committed.
class DamagedLog : public DurableStoreTest {
 protected:
  static constexpr std::uint64_t kRows = 150;
  static constexpr std::uint64_t kFrame = 24 + 16384;
  DamagedLog() : DurableStoreTest(TemporaryFolder::in_memory()) {
    Life life{path()};
    life.declare("W", kWatched);
    write_rows(life, 0, kRows);
    killed_ = copy();
    frames_ = (std::filesystem::file_size(killed_ + "-wal") - 32) / kFrame;
  }
  void spoil_log(std::uint64_t at, std::uint64_t bytes = 1) const { spoil(killed_ + "-wal", at, bytes); }
  /// The number of rows that are left, which are those of the first commits.
  std::uint64_t rows_left() const {
    std::vector<Change> rows;
    const Result<DurableFile> seen = read_durable_file(killed_, [&rows](const TableSpec&, const Change& row) { rows.push_back(row); });
    const std::vector<std::uint64_t> numbers = rows_in(seen, rows);
    EXPECT_TRUE(numbers.empty() || numbers.back() + 1 == numbers.size()) << "a row of an earlier commit is not there";
    return numbers.size();
  }
  /// What a read-only open and a life find; the life goes on with it.
  std::uint64_t open_damaged() const {
    const std::uint64_t left = rows_left();
    {
      Life life{killed_};
      EXPECT_TRUE(life.trouble().ok()) << life.trouble().to_string();
      if (!life.trouble().ok()) return 0;
      EXPECT_EQ(life.store().stats().restored, left);
      life.declare("W", kWatched);
      write_rows(life, left, left + 1);
    }
    EXPECT_EQ(rows_left(), left + 1);
    return left;
  }
  std::string killed_;
  std::uint64_t frames_ = 0;
};

// SQLite takes the first broken page for a torn end. Nothing tells the two apart.
TEST_F(DamagedLog, IsReadUpToABrokenPage) {
  spoil_log(32 + frames_ / 2 * kFrame + 24 + 5000);
  const std::uint64_t left = open_damaged();
  EXPECT_GT(left, kRows / 4);
  EXPECT_LT(left, kRows);
}

TEST_F(DamagedLog, IsReadUpToABrokenHeaderOfAPage) {
  spoil_log(32 + frames_ / 2 * kFrame + 16);
  EXPECT_GT(open_damaged(), kRows / 4);
}

TEST_F(DamagedLog, WithoutItsBeginningTheFileHasItsFirstRows) {
  spoil_log(0, 32 + 24);
  EXPECT_EQ(open_damaged(), 1U) << "the first commit was moved into the file";
}

TEST_F(DamagedLog, ATornLastFrameIsNone) {
  spoil_log(32 + (frames_ - 1) * kFrame + 24 + 5000);
  Life life{killed_};
  EXPECT_THAT(life.store().stats().damage, IsEmpty());
  EXPECT_EQ(life.store().stats().restored, kRows - 1) << "as if it had not been written";
}

TEST_F(DamagedLog, PropertyAByteAnywhereLeavesTheStateOfACommit) {
  const std::uint64_t bytes = 32 + frames_ * kFrame;
  const std::string whole = bytes_of(killed_ + "-wal");
  Random random{1};
  std::set<std::uint64_t> states;
  for (int spoilt = 0; spoilt < 100; ++spoilt) {
    const std::uint64_t at = random.below(bytes);
    SCOPED_TRACE("byte " + std::to_string(at));
    spoil_log(at);
    states.insert(rows_left());
    spoil_log(at);
  }
  EXPECT_GT(states.size(), 30U);
  EXPECT_GT(*states.begin(), 0U);
  EXPECT_EQ(bytes_of(killed_ + "-wal"), whole);
}

// So a log that is damaged while nothing is written costs nothing.
TEST_F(DamagedLog, HasNoRowsThatTheFileLacksOnceALookFoundNothingToWrite) {
  Life life{path()};
  write_rows(life, kRows, kRows + 10);
  life.store().poll();
  life.settle();
  killed_ = copy();
  ASSERT_GT(std::filesystem::file_size(killed_ + "-wal"), 0U);
  spoil_log(0, std::filesystem::file_size(killed_ + "-wal"));
  EXPECT_EQ(open_damaged(), kRows + 10);
}

/// A file with rows, one entry of which is damaged, and the log of a killed process with more rows.
class DamagedFile : public DurableStoreTest {
 protected:
  static constexpr std::uint64_t kInFile = 150;
  static constexpr std::uint64_t kRows = 200;
  DamagedFile() : DurableStoreTest(TemporaryFolder::in_memory()) {
    {
      Life life{path()};
      life.declare("W", kWatched);
      write_rows(life, 0, kInFile);
    }
    Life life{path()};
    life.declare("W", kWatched);
    write_rows(life, kInFile, kRows);
    whole_ = killed_ = copy();
    killed_ = copy();
    const std::string bytes = bytes_of(killed_);
    const std::uint64_t at = bytes.find(std::string(300, 'l'));  // Row 11, 37, ...
    EXPECT_NE(at, std::string::npos);
    spoil(killed_, at + 100);
  }
  std::string whole_;
  std::string killed_;
};

TEST_F(DamagedFile, IsInTheReportOfTheStore) {
  Life life{killed_};
  const StoreReport report = life.store().report();
  EXPECT_THAT(report.troubles, ElementsAre(AllOf(HasSubstr("file " + killed_ + " was damaged when it was opened, 1 parts are lost"),
                                                 HasSubstr("kept as " + killed_ + ".damaged-"))));
  EXPECT_THAT(report.damage, ElementsAre(AllOf(HasSubstr("checksum"), HasSubstr(killed_))));
  Life sound{whole_};
  EXPECT_TRUE(sound.store().report().troubles.empty());
}

TEST_F(DamagedFile, IsKeptWithItsLogUnderANameWithTheTime) {
  const std::string file = bytes_of(killed_);
  const std::string log = bytes_of(killed_ + "-wal");
  const Result<DurableFile> seen = read_durable_file(killed_);
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_THAT(seen->damage, ElementsAre(HasSubstr("checksum")));
  {
    Life life{killed_};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    const DurableStoreStats& stats = life.store().stats();
    EXPECT_EQ(stats.damage, seen->damage);
    EXPECT_THAT(stats.damaged_file, MatchesRegex(".*\\.damaged-[0-9]{8}T[0-9]{6}Z"));
    EXPECT_EQ(bytes_of(stats.damaged_file), file);
    EXPECT_EQ(bytes_of(stats.damaged_file + "-wal"), log);
    EXPECT_EQ(stats.restored, kRows - 1);
    life.declare("W", kWatched);
    EXPECT_TRUE(life.write("W", Change::set("later", {})).ok());
  }
  Life again{killed_};
  EXPECT_THAT(again.store().stats().damage, IsEmpty()) << "it was replaced by a whole one";
  EXPECT_EQ(again.store().stats().restored, kRows);
}

TEST_F(DamagedFile, TwoOfOneSecondAreBothKept) {
  const std::string damaged = bytes_of(killed_);
  for (int time = 0; time < 2; ++time) {
    std::ofstream(killed_, std::ios::binary) << damaged;
    std::filesystem::remove(killed_ + "-wal");
    const Life life{killed_};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  }
  EXPECT_THAT(asides(killed_), SizeIs(2));
}

// Whatever is damaged, no row has a value that was never written, and no row of the file is lost without a report.
TEST_F(DamagedFile, PropertyWhateverIsSpoilt) {
  const std::array<std::string, 2> whole{bytes_of(whole_), bytes_of(whole_ + "-wal")};
  Random random{1};
  std::uint64_t least = kRows;
  int refused = 0;
  for (int round = 0; round < 90; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const bool spoils_log = round % 3 != 0;
    const bool spoils_file = round % 3 != 1;
    std::array<std::string, 2> spoilt = whole;
    for (std::uint64_t strokes = 1 + random.below(4); strokes > 0; --strokes) {
      std::string& bytes = spoilt.at(spoils_log && (!spoils_file || random.below(2) == 1) ? 1 : 0);
      const std::uint64_t from = random.below(bytes.size());
      const std::uint64_t to = std::min<std::uint64_t>(bytes.size(), from + (random.below(2) == 0 ? 1 : random.below(20'000)));
      for (std::uint64_t at = from; at < to; ++at) bytes[at] = static_cast<char>(random.below(256));
    }
    const std::string copied = folder_.file("spoilt");
    std::ofstream(copied, std::ios::binary) << spoilt[0];
    std::ofstream(copied + "-wal", std::ios::binary) << spoilt[1];
    std::vector<Change> rows;
    const Result<DurableFile> seen = read_durable_file(copied, [&rows](const TableSpec&, const Change& row) { rows.push_back(row); });
    if (!seen) {  // The file's first page is lost.
      EXPECT_TRUE(spoils_file);
      ++refused;
      continue;
    }
    const std::vector<std::uint64_t> numbers = rows_in(seen, rows);
    if (!spoils_log && numbers.size() < kRows) {
      EXPECT_THAT(seen->damage, Not(IsEmpty()));
    }
    if (!spoils_file) {
      EXPECT_GE(numbers.size(), kInFile);
      EXPECT_EQ(numbers.back() + 1, numbers.size()) << "the state of a commit";
    }
    least = std::min<std::uint64_t>(least, numbers.size());
  }
  EXPECT_LT(least, kRows) << "some of it must lose rows";
  EXPECT_LT(refused, 30);
}

TEST_F(DamagedFile, AProcessThatEndedWhileItKeptTheFilesLeavesNoneWithoutItsLog) {
  const std::string aside = killed_ + ".damaged-20261125T120000Z";
  std::filesystem::create_hard_link(killed_, aside);
  std::filesystem::rename(killed_ + "-wal", aside + "-wal");
  {
    Life life{killed_};
    ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
    EXPECT_THAT(life.store().stats().damage, Not(IsEmpty()));
    EXPECT_GT(life.store().stats().restored, 0U);
    EXPECT_THAT(asides(killed_), ElementsAre(life.store().stats().damaged_file));
  }
  EXPECT_FALSE(std::filesystem::exists(killed_ + ".damaged-20261125T120000Z")) << "it is kept once";
}

TEST_F(DamagedFile, AProcessThatEndedThereIsUndoneBesideAnOlderDamagedFile) {
  // An earlier damaged file: a user removed the file but not its log.
  std::ofstream{killed_ + ".damaged-20261124T120000Z-wal"} << "an older log";
  const std::string aside = killed_ + ".damaged-20261125T120000Z";
  std::filesystem::create_hard_link(killed_, aside);
  std::filesystem::rename(killed_ + "-wal", aside + "-wal");
  Life life{killed_};
  ASSERT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  EXPECT_GT(life.store().stats().restored, 0U);
  EXPECT_THAT(asides(killed_), ElementsAre(life.store().stats().damaged_file));
  EXPECT_EQ(bytes_of(killed_ + ".damaged-20261124T120000Z-wal"), "an older log");
}

TEST_F(DamagedFile, ASecondProcessIsRefusedWhileTheFirstRepairsItAndLater) {
  const std::string log = bytes_of(killed_ + "-wal");
  // The state after a process ended during the replacement.
  const std::string aside = killed_ + ".damaged-20261125T120000Z";
  std::filesystem::create_hard_link(killed_, aside);
  std::filesystem::rename(killed_ + "-wal", aside + "-wal");
  {
    const Result<StoreLock> first = StoreLock::take(killed_);  // SQLite holds no lock at this step.
    ASSERT_TRUE(first.has_value()) << first.error().to_string();
    const Life second{killed_};
    EXPECT_EQ(second.trouble().code(), StatusCode::Unavailable);
    EXPECT_THAT(second.trouble().to_string(), HasSubstr("another process has it open"));
    EXPECT_EQ(bytes_of(aside + "-wal"), log) << "it is the first one's to bring back";
  }
  {
    Life first{killed_};
    ASSERT_TRUE(first.trouble().ok()) << first.trouble().to_string();
    EXPECT_EQ(first.store().stats().restored, kRows - 1);
    EXPECT_EQ(StoreLock::take(killed_).error().code(), StatusCode::Unavailable);
  }
  EXPECT_TRUE(StoreLock::take(killed_).has_value());
}

TEST_F(DamagedFile, TheFileInItsPlaceHasItsRights) {
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

TEST_F(DamagedFile, IsRepairedUnderANameWithoutAFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  {
    Life life{std::filesystem::path{killed_}.filename().string()};
    EXPECT_TRUE(life.trouble().ok()) << life.trouble().to_string();
  }
  std::filesystem::current_path(before);
  const Result<DurableFile> seen = read_durable_file(killed_);
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_THAT(seen->damage, IsEmpty());
}

// SQLite would take such a file for a new one, and delete the log.
TEST_F(DamagedLog, IsKeptAndRefusedWhenItsFileIsLostOrEmpty) {
  const std::string log = bytes_of(killed_ + "-wal");
  for (const bool is_there : {true, false}) {
    const std::string file = folder_.file(is_there ? "empty" : "lost");
    std::ofstream(file + "-wal", std::ios::binary) << log;
    if (is_there) std::ofstream{file};
    const Result<DurableFile> seen = read_durable_file(file);
    ASSERT_FALSE(seen.has_value());
    EXPECT_EQ(seen.error().code(), StatusCode::DataLoss) << seen.error().to_string();
    const Life life{file};
    EXPECT_EQ(life.trouble().code(), StatusCode::DataLoss);
    EXPECT_EQ(life.trouble().to_string(), seen.error().to_string()) << "both report the same";
    EXPECT_EQ(bytes_of(file + "-wal"), log);
    EXPECT_EQ(std::filesystem::exists(file), is_there);
    EXPECT_EQ(bytes_of(file), "");
  }
}

// A file without a table is a new one only if there is no log.
TEST_F(DamagedLog, OfAFileWithoutATableIsKeptAndRefused) {
  const std::string file = folder_.file("none");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  spoil_log(0, 32);
  const std::string log = bytes_of(killed_ + "-wal");
  std::ofstream(file + "-wal", std::ios::binary) << log;
  EXPECT_EQ(Life{file}.trouble().code(), StatusCode::DataLoss);
  EXPECT_EQ(bytes_of(file + "-wal"), log);
}

// The log cannot be read without the file's first page. The log is kept for a user who has a copy of the file.
TEST_F(DamagedLog, WithoutTheFirstPageItIsRefusedAndLeftAlone) {
  Life life{path()};
  ASSERT_TRUE(life.write("W", Change::set("key-1", {{"value", "new"}})).ok());
  const std::string file = copy();
  const std::string log = bytes_of(file + "-wal");
  std::ofstream(file, std::ios::binary) << std::string(16384, 'x');
  for (int tries = 0; tries < 2; ++tries) EXPECT_EQ(Life{file}.trouble().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(bytes_of(file + "-wal"), log);
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
  write_rows(life, 0, 2);  // After the first one the log begins anew.
  const std::string first = salt();
  std::uint64_t rows = 2;
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
