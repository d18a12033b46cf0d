// The last changes of a row, read backwards: order, fields before and after, who wrote it, several files and runs, gaps, damage, forged
// blocks in values, and the limits. Method: journals that the recorder writes.
#include "journal/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/temporary_folder.h"
#include "journal/reader.h"
#include "journal/recorder.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
using journal::History;
using journal::HistoryLimits;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kEnough = 64'000'000;

class TestClock final : public Clock {
 public:
  Instant now() const noexcept override { return time; }
  WallTime wall_now() const noexcept override { return WallTime::from_nanoseconds(1'726'080'938'000'000'000) + (time - Instant{}); }
  Instant time = Instant::from_nanoseconds(1'000'000'000);
};

class HistoryTest : public testing::Test {
 protected:
  std::string file(const std::string& end = "") const { return (folder_ / "j").string() + end; }
  std::unique_ptr<JournalRecorder> start(const std::vector<std::string>& tables = {"T"}) {
    std::unique_ptr<JournalRecorder> journal = std::move(JournalRecorder::open({.file = file()}, clock_).value());
    journal->started(clock_.now(), *resolve_policy(StrictPriority{}));
    for (const std::string& table : tables) journal->name(table);
    return journal;
  }
  void change(JournalRecorder& journal, const Change& change, const std::string& table = "T") {
    clock_.time = clock_.time + 1s;
    journal.clock_read(clock_.time);
    journal.became_ready(journal.name(table));  // Has the time.
    journal.changed(journal.name(table), 1, change);
    EXPECT_TRUE(journal.flush().ok());  // A block of its own.
  }
  History read(const HistoryLimits& limits = {.bytes = kEnough}, const std::string& key = "k", Rows rows = Rows::Written) {
    Result<History> history = journal::history_of({file(), file(".1"), file(".2")}, "T", key, rows, limits);
    EXPECT_TRUE(history.has_value()) << history.error().to_string();
    return history ? *std::move(history) : History{};
  }
  /// "SET a:1>2 b:?>-" for each change: '-' is no value, '?' is not known.
  static std::vector<std::string> words(const History& history) {
    std::vector<std::string> all;
    for (const journal::HistoryChange& one : history.changes) {
      all.emplace_back(to_string(one.op));
      for (const journal::HistoryField& field : one.fields)
        all.back() += " " + field.name + ":" + (field.is_known ? field.before.value_or("-") : "?") + ">" + field.after.value_or("-");
    }
    return all;
  }
  static Change set(const std::string& value, const std::string& key = "k", const std::string& name = "a") {
    const std::vector<Field> fields{{name, value}};
    return Change::set(key, std::span<const Field>{fields});
  }

  TemporaryFolder folder_;
  TestClock clock_;
};

TEST_F(HistoryTest, HasTheNewestFirstWithTheFieldsBeforeAndAfter) {
  const auto journal = start({"OTHER", "T"});
  change(*journal, set("1"));
  change(*journal, set("9"), "OTHER");
  change(*journal, set("9", "key"));
  change(*journal, set("2"));
  change(*journal, Change::remove("k"));
  change(*journal, set("3", "k", "b"));
  const History history = read();
  EXPECT_THAT(words(history), ElementsAre("SET b:->3", "DEL a:2>-", "SET a:1>2", "SET a:?>1"));
  EXPECT_EQ(history.stopped, "");
  EXPECT_FALSE(history.is_damaged);
  EXPECT_EQ(history.changes[0].wall - history.changes[1].wall, 1s);
  EXPECT_EQ(history.changes[0].wall, clock_.wall_now());
  EXPECT_THAT(read({.bytes = kEnough}, "none").changes, IsEmpty());
}

TEST_F(HistoryTest, NamesWhoWroteTheRow) {
  const auto journal = start();
  journal->written_by(0, 17, "set T k");
  change(*journal, set("1"));
  change(*journal, set("2"));
  journal->written_by(7, 18, "set T other");
  journal->written_by(4'026'531'841, 0, "token 'ci' del T k");
  EXPECT_TRUE(journal->flush().ok());
  change(*journal, Change::remove("k"));
  journal->written_by(0, 19, "job-start T k");
  change(*journal, set("3"));
  journal->written_by(0, 20, "set T k");
  change(*journal, Change::remove("k"));  // Another writer made this change and the next one.
  change(*journal, set("4"));
  journal->written_by(0, 21, "set T k");
  change(*journal, set("9", "other"));
  change(*journal, set("5"));  // Two seconds later.
  std::vector<std::string> by;
  for (const journal::HistoryChange& one : read().changes) by.push_back(one.by);
  EXPECT_THAT(by, ElementsAre("", "", "", "", "token 'ci'", "", "user 0 process 17"));
}

TEST_F(HistoryTest, AWholeRowHasLostTheFieldsThatItLacks) {
  const auto journal = start();
  const std::vector<Field> both{{"a", "1"}, {"b", "1"}};
  change(*journal, Change::set("k", std::span<const Field>{both}));
  change(*journal, set("1"));
  change(*journal, Change::set("k", std::span<const Field>{both}));
  EXPECT_THAT(words(read({.bytes = kEnough}, "k", Rows::Whole)), ElementsAre("SET b:->1", "SET b:1>-", "SET a:?>1 b:?>1"));
  EXPECT_THAT(words(read()), ElementsAre("SET", "SET", "SET a:?>1 b:?>1"));
}

TEST_F(HistoryTest, ALongValueThatDiffersAtItsEndHasChanged) {
  const auto journal = start();
  for (const char* const end : {"1", "2", "2"}) change(*journal, set(std::string(5000, 'x') + end));
  const History history = read();
  EXPECT_THAT(history.changes[0].fields, IsEmpty());
  ASSERT_THAT(history.changes[1].fields, SizeIs(1));
  EXPECT_EQ(history.changes[1].fields[0].before, std::string(1024, 'x'));
}

TEST_F(HistoryTest, GoesOnInOlderFilesAndRunsWhereTheTableHasAnotherNumber) {
  {
    const auto journal = start({"OTHER", "T"});
    change(*journal, set("1"));
    fs::rename(file(), file(".1"));
    journal->rotate();
    change(*journal, set("2"));
  }
  const auto journal = start({"T", "OTHER"});
  change(*journal, set("9"), "OTHER");
  change(*journal, set("3"));
  EXPECT_THAT(words(read()), ElementsAre("SET a:?>3", "SET a:1>2", "SET a:?>1")) << "a run began before the last one";
  EXPECT_FALSE(read().is_damaged);
}

TEST_F(HistoryTest, WhatWasBeforeAFileThatIsMissingIsNotKnown) {
  const auto journal = start();
  for (const char* const value : {"1", "2"}) {
    change(*journal, set(value));
    fs::rename(file(), file(value[0] == '1' ? ".2" : ".1"));
    journal->rotate();
  }
  change(*journal, set("3"));
  EXPECT_THAT(words(read()), ElementsAre("SET a:2>3", "SET a:1>2", "SET a:?>1"));
  fs::remove(file(".1"));
  EXPECT_THAT(words(read()), ElementsAre("SET a:?>3", "SET a:?>1"));
  EXPECT_TRUE(read().is_damaged);
}

TEST_F(HistoryTest, SaysThatRecordsOfARemovedFileAreMissing) {
  const auto journal = start();
  change(*journal, set("1"));
  fs::rename(file(), file(".1"));
  journal->rotate();
  change(*journal, set("2"));
  EXPECT_FALSE(read().is_damaged);
  fs::remove(file());
  journal->rotate();
  EXPECT_EQ(journal->flush().code(), StatusCode::DataLoss);
  EXPECT_THAT(words(read()), ElementsAre("SET a:?>1"));
  EXPECT_TRUE(read().is_damaged) << "though nothing was recorded since";
  change(*journal, set("3"));
  EXPECT_THAT(words(read()), ElementsAre("SET a:?>3", "SET a:?>1"));
  EXPECT_TRUE(read().is_damaged);
  fs::remove(file(".1"));
  EXPECT_THAT(words(read()), ElementsAre("SET a:?>3"));
  EXPECT_TRUE(read().is_damaged) << "no older file is left";
  EXPECT_FALSE(read({.changes = 0, .bytes = kEnough}).is_damaged) << "it did not read so far back";
}

TEST_F(HistoryTest, LeavesDamageOut) {
  const auto journal = start();
  change(*journal, set("1"));
  const auto before = static_cast<std::streamoff>(fs::file_size(file()));
  change(*journal, set("2"));
  change(*journal, set("3"));
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(before) << "damaged";
  const History history = read();
  EXPECT_THAT(words(history), ElementsAre("SET a:?>3", "SET a:?>1"));
  EXPECT_TRUE(history.is_damaged);
}

TEST_F(HistoryTest, BlocksInAValueAreNone) {
  {
    const auto journal = start();
    change(*journal, set("forged"));
  }
  std::stringstream forged;
  forged << std::ifstream(file(), std::ios::binary).rdbuf();
  fs::remove(file());
  const auto journal = start();
  change(*journal, set(forged.str(), "other"));
  change(*journal, set("true"));
  EXPECT_THAT(words(read()), ElementsAre("SET a:?>true"));
}

TEST_F(HistoryTest, StopsAtItsLimits) {
  const auto journal = start();
  const std::string large(600'000, 'x');  // Several of them are read as one.
  for (const char* const value : {"1", "2", "3", "4", "5"}) {
    change(*journal, set(large, "other"));
    change(*journal, set(value));
  }
  const History all = read();
  EXPECT_THAT(words(all), ElementsAre("SET a:4>5", "SET a:3>4", "SET a:2>3", "SET a:1>2", "SET a:?>1"));
  const History few = read({.changes = 1, .bytes = kEnough});
  EXPECT_THAT(words(few), ElementsAre("SET a:4>5"));
  EXPECT_EQ(few.stopped, "there are older changes");
  const History little = read({.bytes = 2'000'000});
  EXPECT_THAT(little.changes, IsEmpty()) << "the file is larger";
  EXPECT_THAT(little.stopped, HasSubstr("bytes"));
  for (int until = 0; until < 40; ++until) {  // Each question for the time is the last one.
    const History late = read({.bytes = kEnough, .is_over = [&, asked = 0]() mutable { return asked++ >= until; }});
    ASSERT_LE(late.changes.size(), 5U);
    for (std::size_t i = 0; i < late.changes.size(); ++i) EXPECT_EQ(late.changes[i].wall, all.changes[i].wall);
    EXPECT_FALSE(late.is_damaged);
    EXPECT_TRUE(late.stopped.empty() ? late.changes.size() == 5 : late.stopped == "the limit of time was reached");
  }
}

TEST_F(HistoryTest, AnEndedReadingReadsNoMoreBlocks) {
  const auto journal = start();
  for (int i = 0; i < 100; ++i) change(*journal, set(std::string(40'000, 'x')));
  auto bytes = std::move(journal::JournalBytes::open(file()).value());
  int asked = 0;
  bytes->end_when([&] { return ++asked > 10; });  // The blocks are found with the first 8 or so.
  const auto reader = std::move(journal::JournalReader::open(file(), std::move(bytes)).value());
  ASSERT_LT(asked, 10);
  while (!reader->next().bytes.empty()) continue;
  EXPECT_LE(asked, 12);
  EXPECT_THAT(reader->damage(), IsEmpty());
}

TEST_F(HistoryTest, AFileThatIsNotThereIsAnError) {
  EXPECT_EQ(journal::history_of({file()}, "T", "k", Rows::Written, {.bytes = kEnough}).error().code(), StatusCode::NotFound);
}

}  // namespace
}  // namespace rondo
