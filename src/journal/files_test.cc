// The files of one journal, read as one: in order, across their borders, and across missing records. And the writer's behaviour when a
// file belongs to another journal, is no journal, was truncated, or cannot be renamed or written.
#include "journal/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "journal/fault_kit.h"
#include "journal/lock.h"
#include "journal/recorder.h"
#include "journal/story.h"
#include "journal/walk.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
using journal::JournalFiles;
using journal::JournalReader;
using journal::JournalWalk;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr FactKind kHopGroup{"nexthop-group"};

class TestClock final : public Clock {
 public:
  Instant now() const noexcept override { return time; }
  WallTime wall_now() const noexcept override { return WallTime::from_nanoseconds(1'726'080'938'000'000'000) + (time - Instant{}); }
  Instant time = Instant::from_nanoseconds(1'000'000'000);
};

class JournalFilesTest : public testing::Test {
 protected:
  std::string file(const std::string& end = "") const { return (directory_ / "j").string() + end; }
  JournalOptions options() const { return {.file = file()}; }
  std::unique_ptr<JournalRecorder> start(const JournalOptions& options) {
    Result<std::unique_ptr<JournalRecorder>> opened = JournalRecorder::open(options, clock_);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().to_string());
    if (!opened) return std::make_unique<JournalRecorder>();
    (*opened)->started(clock_.now(), *resolve_policy(StrictPriority{}));
    EXPECT_EQ((*opened)->name("ROUTE_TABLE"), kTable);
    return std::move(*opened);
  }
  /// A route that waits in the oldest of three files, is resolved in the second and is done in the newest.
  void live_over_three_files() {
    auto journal = start(options());
    const Change change = Change::set("10.0.0.0/24", {{"nexthop_group", "1"}});
    journal->changed(kTable, 7, change);
    journal->parked(kTable, 7, change, std::vector<Fact>{{kHopGroup, "1"}});
    next_file(*journal, ".2");
    journal->announced({kHopGroup, "1"}, 1);
    journal->retried(kTable, 7, change);
    journal->staged(kTable, 7);
    next_file(*journal, ".1");
    journal->done(kTable, 7);
    EXPECT_TRUE(journal->flush().ok());
  }
  /// Rotates as logrotate does and advances the time.
  void next_file(JournalRecorder& journal, const std::string& end) {
    EXPECT_TRUE(journal.flush().ok());
    fs::rename(file(), file(end));
    journal.rotate();
    EXPECT_TRUE(journal.flush().ok());
    clock_.time = clock_.time + 1s;
    journal.clock_read(clock_.time);
  }
  static std::vector<std::string> story(const std::vector<std::string>& paths, const std::string& key) {
    const auto files = std::move(JournalFiles::open(paths).value());
    JournalWalk walk(files.readers);
    std::vector<std::string> what;
    for (const journal::StoryEvent& event : story_of(walk, "", key)) what.push_back(event.what);
    return what;
  }
  static std::vector<std::string> words(const std::string& path) {
    const auto reader = std::move(JournalReader::open(path).value());
    std::vector<std::string> all;
    for (JournalWalk walk(*reader); walk.next();) all.push_back(walk.words());
    return all;
  }
  static std::uint64_t missing_in(const std::string& path) {
    const auto reader = std::move(JournalReader::open(path).value());
    std::uint64_t all = 0;
    for (JournalWalk walk(*reader); walk.next();) all += walk.missing();
    return all;
  }
  static constexpr std::uint32_t kTable = 1;

  TemporaryFolder directory_;
  TestClock clock_;
};

TEST_F(JournalFilesTest, TheStoryOfAKeyGoesOnFromFileToFileInWhateverOrderTheyAreGiven) {
  live_over_three_files();
  const auto whole = ElementsAre("taken", "parked", "resolved", "retried", "ordered", "done");
  EXPECT_THAT(story({file(".2"), file(".1"), file()}, "10.0.0.0/24"), whole);
  EXPECT_THAT(story({file(), file(".1"), file(".2")}, "10.0.0.0/24"), whole);
  EXPECT_THAT(story({file(".1"), file(), file(".2")}, "10.0.0.0/24"), whole);
}

TEST_F(JournalFilesTest, RunsStandInOrderOfTheirTime) {
  start(options())->changed(kTable, 1, Change::remove("first"));
  fs::rename(file(), file(".1"));
  clock_.time = clock_.time + 1s;
  start(options())->changed(kTable, 1, Change::remove("second"));
  const auto files = std::move(JournalFiles::open({file(), file(".1")}).value());
  EXPECT_EQ(files.readers.front()->name(), file(".1"));
  EXPECT_TRUE(files.gaps.empty());
}

TEST_F(JournalFilesTest, AFileThatIsMissingBetweenOthersIsNamedAndRowsAreForgotten) {
  live_over_three_files();
  const auto files = std::move(JournalFiles::open({file(), file(".2")}).value());
  ASSERT_EQ(files.gaps.size(), 1U);
  EXPECT_EQ(files.gaps.front().file, 1U);
  EXPECT_EQ(files.gaps.front().missing, 4U);  // Looked, announced, retried, staged.
  EXPECT_THAT(files.gaps.front().reason, AllOf(HasSubstr(file(".2")), HasSubstr("records 4 to 7 are missing")));
  EXPECT_THAT(story({file(), file(".2")}, "10.0.0.0/24"), ElementsAre("taken", "parked", "missing"));
}

TEST_F(JournalFilesTest, APartThatIsGivenTwiceIsRefused) {
  live_over_three_files();
  const auto files = JournalFiles::open({file(), file(".1"), file()});
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(std::string{files.error().message()}, HasSubstr("begin with the same records"));
}

/// A writer that has rotated twice and may rotate at any time, which removes its oldest file.
class RotatingJournal : public JournalFilesTest {
 protected:
  RotatingJournal() {
    journal_ = start(options());
    write("first");
    next_file(*journal_, ".2");
    write("second");
    next_file(*journal_, ".1");
    write("third");
    EXPECT_TRUE(journal_->flush().ok());
  }
  void write(const std::string& key) { journal_->changed(kTable, 1, Change::remove(key)); }
  void rotate() {
    fs::rename(file(".1"), file(".2"));
    next_file(*journal_, ".1");
  }
  static std::vector<std::string> keys(const JournalFiles& files) {
    std::vector<std::string> all;
    for (JournalWalk walk(files.readers); walk.next();) {
      if (walk.record().kind == journal::Kind::Changed) all.push_back(walk.key());
    }
    return all;
  }

  std::unique_ptr<JournalRecorder> journal_;
};

TEST_F(RotatingJournal, NoPartIsMissedOrReadTwiceWhenItRotatesBetweenTwoOpens) {
  unsigned opened = 0;
  const auto open = [&](const std::vector<std::string>& paths) {
    opened = 0;
    const JournalFiles::Opener opener = [&](const std::string& path) {
      if (opened++ == 1) {
        rotate();
        write("later");
        EXPECT_TRUE(journal_->flush().ok());
      }
      return journal::JournalBytes::open(path);
    };
    Result<JournalFiles> files = JournalFiles::open(paths, opener);
    EXPECT_TRUE(files.has_value()) << (files ? "" : files.error().to_string());
    return files ? std::move(*files) : JournalFiles{};
  };
  const JournalFiles newest_first = open({file(), file(".1"), file(".2")});
  EXPECT_THAT(keys(newest_first), ElementsAre("second", "third", "later"));
  EXPECT_TRUE(newest_first.gaps.empty());
  EXPECT_GT(opened, 3U) << "it did not look again, and nothing is tested";
  const JournalFiles oldest_first = open({file(".2"), file(".1"), file()});
  EXPECT_THAT(keys(oldest_first), ElementsAre("second", "third", "later", "later")) << "what was open when its name went is read";
  EXPECT_TRUE(oldest_first.gaps.empty());
}

TEST_F(RotatingJournal, WhatWasWrittenToAFileBetweenItsOpeningAndItsRenamingIsRead) {
  unsigned opened = 0;
  const auto files = JournalFiles::open({file(), file(".1"), file(".2")}, [&](const std::string& path) {
    if (opened++ == 1) {
      write("fourth");
      rotate();
      rotate();
      write("fifth");
      EXPECT_TRUE(journal_->flush().ok());
    }
    return journal::JournalBytes::open(path);
  });
  ASSERT_TRUE(files.has_value());
  EXPECT_THAT(keys(*files), ElementsAre("third", "fourth", "fifth"));
  EXPECT_TRUE(files->gaps.empty());
}

TEST_F(RotatingJournal, ANameThatNoFileHasForAMomentIsLookedForAgain) {
  unsigned opened = 0;
  const auto files = JournalFiles::open({file(), file(".1"), file(".2")}, [&](const std::string& path) {
    if (opened++ == 0) return Result<std::unique_ptr<journal::JournalBytes>>{failure(StatusCode::NotFound, "renamed just now")};
    return journal::JournalBytes::open(path);
  });
  ASSERT_TRUE(files.has_value());
  EXPECT_THAT(keys(*files), ElementsAre("first", "second", "third"));
  EXPECT_EQ(JournalFiles::open({file(), file(".9")}).error().code(), StatusCode::NotFound);
}

TEST_F(RotatingJournal, AFileThatNothingIsWrittenToYetIsLeftOutBesideOthers) {
  rotate();
  ASSERT_EQ(fs::file_size(file()), 0U);
  const auto files = std::move(JournalFiles::open({file(), file(".1"), file(".2")}).value());
  EXPECT_THAT(keys(files), ElementsAre("second", "third"));
  EXPECT_EQ(JournalFiles::open({file()}).error().code(), StatusCode::DataLoss);
}

// A row number is reused: after the loss it may belong to another key.
TEST_F(JournalFilesTest, ARowIsNobodysBehindRecordsThatWereLost) {
  JournalOptions small = options();
  small.buffer_bytes = 8000;
  auto journal = start(small);
  journal->changed(kTable, 7, Change::remove("before"));
  journal->changed(kTable, 7, Change::set("lost", {{"f", std::string(9000, 'x')}}));
  journal->done(kTable, 7);
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(file()), ElementsAre("started", "changed ROUTE_TABLE before DEL", "lost 1 record", "done ROUTE_TABLE row 7"));
  EXPECT_THAT(story({file()}, "before"), ElementsAre("taken", "missing"));
}

TEST_F(JournalFilesTest, WhatAKeyWaitedForIsForgottenBehindADamagedBlock) {
  auto journal = start(options());
  const Change change = Change::set("10.0.0.0/24", {});
  journal->changed(kTable, 7, change);
  journal->parked(kTable, 7, change, std::vector<Fact>{{kHopGroup, "1"}});
  ASSERT_TRUE(journal->flush().ok());
  const auto middle = fs::file_size(file());
  journal->done(kTable, 7);
  journal->changed(kTable, 7, Change::remove("another"));
  ASSERT_TRUE(journal->flush().ok());
  journal->announced({kHopGroup, "1"}, 1);
  journal->done(kTable, 7);
  ASSERT_TRUE(journal->flush().ok());
  journal.reset();
  {
    std::fstream bytes(file(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(middle) + 20);
    bytes.put('\x55');
  }
  EXPECT_THAT(story({file()}, "10.0.0.0/24"), ElementsAre("taken", "parked", "missing"));
}

TEST_F(JournalFilesTest, AFileThatBecomesShorterWhileItIsReadIsToldAndSurvived) {
  auto journal = start(options());
  const std::string value(1'000'000, 'v');
  for (std::uint32_t i = 0; i < 12; ++i) {
    journal->changed(kTable, i, Change::set("key", {{"f", value}}));
    ASSERT_TRUE(journal->flush().ok());
  }
  journal.reset();
  const auto reader = std::move(JournalReader::open(file()).value());
  JournalWalk walk(*reader);
  ASSERT_TRUE(walk.next());
  ASSERT_EQ(::truncate(file().c_str(), 0), 0);
  unsigned seen = 1;
  while (walk.next()) ++seen;
  EXPECT_LT(seen, 13U) << "what was read ahead is there still, the rest is not";
  ASSERT_FALSE(reader->damage().empty());
  EXPECT_THAT(reader->damage().front().reason, HasSubstr("lost while it was read"));
}

TEST_F(JournalFilesTest, AReaderGoesOnWithWhatIsAppendedAndWithABlockThatWasBeingWritten) {
  const auto bytes_of = [this] {
    std::ifstream stream(file(), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  };
  auto journal = start(options());
  std::vector<std::string> states;  // Contents of the file.
  for (const char* const key : {"first", "second", "third"}) {
    journal->changed(kTable, 1, Change::remove(key));
    ASSERT_TRUE(journal->flush().ok());
    states.push_back(bytes_of());
  }
  const auto write = [this](const std::string& bytes) { std::ofstream(file(".copy"), std::ios::binary) << bytes; };
  write(states[0]);
  const auto reader = std::move(JournalReader::open(file(".copy")).value());
  JournalWalk walk(*reader);
  const auto keys = [&walk] {
    std::vector<std::string> all;
    while (walk.next()) {
      EXPECT_EQ(walk.missing(), 0U);
      if (walk.record().kind == journal::Kind::Changed) all.push_back(walk.key());
    }
    return all;
  };
  EXPECT_THAT(keys(), ElementsAre("first"));
  EXPECT_TRUE(reader->check_again());
  EXPECT_THAT(keys(), ElementsAre());
  write(states[2].substr(0, states[1].size() - 3));
  EXPECT_TRUE(reader->check_again());
  EXPECT_THAT(keys(), ElementsAre());
  EXPECT_EQ(reader->damage().size(), 1U);
  write(states[2]);
  EXPECT_TRUE(reader->check_again());
  EXPECT_THAT(keys(), ElementsAre("second", "third"));
  EXPECT_TRUE(reader->damage().empty());
  write(states[2] + "RNDJ and no more");
  EXPECT_TRUE(reader->check_again());
  EXPECT_EQ(reader->damage().size(), 1U);
  write(states[2]);
  EXPECT_TRUE(reader->check_again()) << "its writer took a block back for which there was no room";
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_THAT(keys(), ElementsAre());
  write(states[0]);
  EXPECT_FALSE(reader->check_again());
}

// --- The facts that a row waits for

/// The story of a row that waits for two facts; 'live' adds the records in between.
class StoryOfTwoFacts : public JournalFilesTest {
 protected:
  template <class Live>
  std::vector<std::string> story_of_life(const Live& live) {
    fs::remove(file());
    auto journal = start(options());
    journal->changed(kTable, 7, change_);
    journal->parked(kTable, 7, change_, std::vector<Fact>{one_, other_});
    live(*journal);
    EXPECT_TRUE(journal->flush().ok());
    return story({file()}, "10.0.0.0/24");
  }

  const Change change_ = Change::set("10.0.0.0/24", {{"nexthop_group", "1"}});
  const Fact one_{kHopGroup, "1"};
  const Fact other_{kHopGroup, "2"};
};

TEST_F(StoryOfTwoFacts, AnAnnouncementThatLeavesTheRowParkedResolvesNothing) {
  EXPECT_THAT(story_of_life([&](JournalRecorder& journal) { journal.announced(other_, 0); }), ElementsAre("taken", "parked", "announced"));
  const auto still_parked = [&](JournalRecorder& journal) {
    journal.announced(one_, 1);
    journal.still_parked(kTable, 7, other_);
  };
  EXPECT_THAT(story_of_life(still_parked), ElementsAre("taken", "parked", "announced", "still parked"));
  const auto unparked = [&](JournalRecorder& journal) {
    journal.announced(one_, 1);
    journal.changed(kTable, 7, change_);
    journal.unparked(kTable, 7, change_);
  };
  EXPECT_THAT(story_of_life(unparked), ElementsAre("taken", "parked", "announced", "taken", "unparked"));
}

TEST_F(StoryOfTwoFacts, TheLastOneThatComesBeforeTheRowIsHandledAgainResolvesIt) {
  const auto one_by_one = [&](JournalRecorder& journal) {
    journal.announced(one_, 1);
    journal.still_parked(kTable, 7, other_);
    journal.announced(one_, 3);  // Again, for other rows.
    journal.announced(other_, 1);
    journal.retried(kTable, 7, change_);
  };
  EXPECT_THAT(story_of_life(one_by_one), ElementsAre("taken", "parked", "announced", "still parked", "resolved", "retried"));
  const auto together = [&](JournalRecorder& journal) {
    journal.announced(one_, 1);
    journal.announced(other_, 0);
    journal.retried(kTable, 7, change_);
  };
  EXPECT_THAT(story_of_life(together), ElementsAre("taken", "parked", "announced", "resolved", "retried"));
}

TEST_F(JournalFilesTest, AnAnnouncementForNoRowResolvesNothing) {
  auto journal = start(options());
  const Change change = Change::set("10.0.0.0/24", {});
  journal->changed(kTable, 7, change);
  journal->parked(kTable, 7, change, std::vector<Fact>{{kHopGroup, "1"}});
  journal->announced({kHopGroup, "1"}, 0);
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(story({file()}, "10.0.0.0/24"), ElementsAre("taken", "parked", "announced"));
}

// --- The writer

/// Records and flushes, and reports its progress after each flush, until it is killed.
[[noreturn]] void record_until_killed(const JournalOptions& options, const Clock& clock, int told) {
  auto journal = std::move(JournalRecorder::open(options, clock).value());
  journal->started(clock.now(), *resolve_policy(StrictPriority{}));
  const std::uint32_t table = journal->name("ROUTE_TABLE");
  for (std::uint32_t row = 0;; ++row) {
    journal->changed(table, row, Change::remove(std::to_string(row)));
    if (row % 100 != 99) continue;
    if (!journal->flush().ok() || ::write(told, &row, sizeof row) != sizeof row) ::_exit(1);
  }
}

TEST_F(JournalFilesTest, AProcessThatIsKilledLeavesWhatItFlushedAndTheNextOneGoesOn) {
  for (int round = 1; round <= 5; ++round) {
    fs::remove(file());
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) record_until_killed(options(), clock_, ends[1]);
    ::close(ends[1]);
    std::uint32_t flushed = 0;  // The newest row that the child reported as flushed.
    for (int i = 0; i < 7 * round; ++i) ASSERT_EQ(::read(ends[0], &flushed, sizeof flushed), static_cast<ssize_t>(sizeof flushed));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ::close(ends[0]);

    start(options())->changed(kTable, 1, Change::remove("appended"));
    const auto reader = std::move(JournalReader::open(file()).value());
    std::uint32_t next = 0;
    bool appended = false;
    for (JournalWalk walk(*reader); walk.next();) {
      EXPECT_EQ(walk.missing(), 0U);
      if (walk.record().kind != journal::Kind::Changed) continue;
      appended = walk.run() == 1 && walk.key() == "appended";
      if (walk.run() == 0) {
        EXPECT_EQ(walk.key(), std::to_string(next++));
      }
    }
    EXPECT_GT(next, flushed);
    EXPECT_TRUE(appended);
    EXPECT_LE(reader->damage().size(), 1U) << "the block that was being written";
  }
}

TEST_F(JournalFilesTest, AFileThatAnotherJournalWritesIsRefusedByNameAlsoUnderItsNewName) {
  auto first = start(options());
  ASSERT_TRUE(first->flush().ok());
  const auto size = fs::file_size(file());
  const auto second = JournalRecorder::open(options(), clock_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::Unavailable);
  EXPECT_THAT(std::string{second.error().message()}, AllOf(HasSubstr(file()), HasSubstr("another process has it open")));
  EXPECT_EQ(fs::file_size(file()), size);

  fs::rename(file(), file(".1"));
  EXPECT_FALSE(JournalRecorder::open({.file = file(".1")}, clock_).has_value()) << "it is written until the next one is open";
  {
    // Another journal opened the name first, and the first journal keeps its file.
    const auto other = std::move(JournalRecorder::open(options(), clock_).value());
    first->rotate();
    first->changed(kTable, 1, Change::remove("kept"));
    EXPECT_EQ(first->flush().code(), StatusCode::Unavailable);
    EXPECT_THAT(words(file(".1")), ElementsAre("started", "changed ROUTE_TABLE kept DEL"));
  }
  first->rotate();
  ASSERT_TRUE(first->flush().ok());
  EXPECT_TRUE(JournalRecorder::open({.file = file(".1")}, clock_).has_value());
  EXPECT_FALSE(JournalRecorder::open(options(), clock_).has_value());
}

TEST_F(JournalFilesTest, RecordsOfARemovedFileAreCountedAsLostAndTheNextOneIsInANewFile) {
  auto journal = start(options());
  journal->changed(kTable, 1, Change::remove("lost"));
  ASSERT_TRUE(journal->flush().ok());
  fs::remove(file());
  journal->changed(kTable, 1, Change::remove("kept"));
  EXPECT_THAT(std::string{journal->flush().message()}, AllOf(HasSubstr(file()), HasSubstr("was removed, and 2 records")));
  const JournalStats stats = journal->stats();
  EXPECT_EQ(stats.dropped, 2U);
  EXPECT_EQ(stats.write_errors, 1U);
  EXPECT_TRUE(stats.last_error.ok()) << "it is over";
  EXPECT_THAT(std::string{stats.newest_error.message()}, HasSubstr("was removed"));
  EXPECT_THAT(words(file()), ElementsAre("changed ROUTE_TABLE kept DEL"));
  EXPECT_EQ(missing_in(file()), 2U);
  journal->changed(kTable, 1, Change::remove("later"));
  EXPECT_TRUE(journal->flush().ok()) << "it was told once";
  EXPECT_EQ(journal->stats().dropped, 2U);
}

TEST_F(JournalFilesTest, AFileThatNothingWasWrittenToIsRemovedWithoutALoss) {
  auto journal = start(options());
  next_file(*journal, ".1");
  fs::remove(file());
  journal->changed(kTable, 1, Change::remove("second"));
  EXPECT_TRUE(journal->flush().ok());
  fs::rename(file(), file(".2"));
  journal->changed(kTable, 1, Change::remove("third"));
  EXPECT_TRUE(journal->flush().ok());
  EXPECT_EQ(journal->stats().dropped, 0U);
  EXPECT_EQ(journal->stats().write_errors, 0U);
  EXPECT_EQ(missing_in(file(".2")), 0U);
}

TEST_F(JournalFilesTest, AFileThatTheOptionsHaveItRemoveIsNoLoss) {
  JournalOptions none = options();
  none.file_bytes = 10'000;
  none.files = 0;
  auto journal = start(none);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    journal->changed(kTable, i, Change::set("10.0.0.0/24", {{"nexthop_group", "1"}}));
    if (i % 20 == 0) {
      EXPECT_TRUE(journal->flush().ok());
    }
  }
  EXPECT_TRUE(journal->flush().ok());
  EXPECT_LE(fs::file_size(file()), 10'000U);
  EXPECT_EQ(journal->stats().dropped, 0U);
}

TEST_F(JournalFilesTest, AFileThatIsRemovedIsMadeAgainAndOneThatCouldNotBeOpenedIsTriedAgain) {
  const auto journal = start(options());
  const auto comes = [&](const auto& is_so) {  // Each flush has the writer look, once its time has come.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!is_so() && std::chrono::steady_clock::now() < end) std::ignore = journal->flush();
    return is_so();
  };
  ASSERT_TRUE(journal->flush().ok());
  fs::remove(file());
  EXPECT_TRUE(comes([&] { return fs::exists(file()); }));
  std::ignore = journal->flush();  // The writer may have told of the removal since the last one.
  journal->changed(kTable, 1, Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_TRUE(JournalReader::open(file()).has_value());
  EXPECT_EQ(journal->stats().dropped, 1U);

  for (std::error_code made; !fs::create_directory(file(), made);) fs::remove(file());  // The writer may make a file in between.
  for (std::uint64_t dropped = 3; dropped <= 6; ++dropped) {
    journal->changed(kTable, 1, Change::remove("lost"));
    std::ignore = journal->flush();
    EXPECT_EQ(journal->stats().dropped, dropped);
    EXPECT_THAT(std::string{journal->stats().last_error.message()}, AllOf(HasSubstr(file()), HasSubstr("no regular file")));
  }
  fs::remove(file());
  EXPECT_TRUE(comes([&] { return journal->stats().last_error.ok(); }));
  EXPECT_TRUE(fs::is_regular_file(file()));
  journal->changed(kTable, 1, Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_EQ(journal->stats().dropped, 6U);
  EXPECT_THAT(words(file()), ElementsAre("changed ROUTE_TABLE after DEL"));
  EXPECT_EQ(missing_in(file()), 6U);
}

TEST_F(JournalFilesTest, AJournalThatBeginsLaterTouchesNothingBefore) {
  JournalOptions later = options();
  later.begin_later = true;
  start(later)->changed(kTable, 1, Change::remove("refused"));
  EXPECT_FALSE(fs::exists(file()));
  auto journal = start(later);
  journal->changed(kTable, 1, Change::remove("served"));
  EXPECT_TRUE(journal->flush().ok());
  EXPECT_FALSE(fs::exists(file()));
  ASSERT_TRUE(journal->begin().ok());
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(file()), ElementsAre("started", "changed ROUTE_TABLE served DEL"));
}

// logrotate's copytruncate.
TEST_F(JournalFilesTest, AFileThatWasCutOffGetsTheNamesAnew) {
  auto journal = start(options());
  journal->changed(kTable, 1, Change::remove("before"));
  ASSERT_TRUE(journal->flush().ok());
  ASSERT_EQ(::truncate(file().c_str(), 0), 0);
  journal->changed(kTable, 1, Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_THAT(words(file()), ElementsAre("changed ROUTE_TABLE after DEL"));
}

TEST_F(JournalFilesTest, AFileOfOthersBehindItsNameIsNeitherRenamedNorRemoved) {
  const auto content = [](const std::string& path) {
    std::ifstream in(path);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  JournalOptions small = options();
  small.file_bytes = 10'000;
  small.files = 2;
  std::ofstream(file(".2")) << "an address book";
  const auto refused = JournalRecorder::open(small, clock_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(std::string{refused.error().message()}, HasSubstr("'" + file(".2") + "' is no journal"));
  fs::remove(file(".2"));
  auto journal = start(small);
  std::ofstream(file(".1")) << "jobs of others";
  for (std::uint32_t i = 0; i < 1000; ++i) {
    journal->changed(kTable, i, Change::set("10.0.0.0/24", {{"nexthop_group", "1"}}));
    if (i % 20 == 0) static_cast<void>(journal->flush());
  }
  static_cast<void>(journal->flush());
  EXPECT_EQ(content(file(".1")), "jobs of others");
  EXPECT_FALSE(fs::exists(file(".2")));
  EXPECT_THAT(std::string{journal->stats().last_error.message()}, HasSubstr("'" + file(".1") + "' is no journal"));
}

TEST_F(JournalFilesTest, AnOlderFileThatCannotBeReadIsNotTakenForAJournal) {
  std::ofstream(file(".1")) << "a letter of another user";
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(file(".1").c_str(), 0), 0);
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  ASSERT_TRUE(!is_root || ::seteuid(kNobody) == 0);
  const Status checked = journal::check_older(file(), 1);
  ASSERT_TRUE(!is_root || ::seteuid(0) == 0);
  EXPECT_EQ(checked.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(std::string{checked.message()}, HasSubstr("'" + file(".1") + "' is no journal, or cannot be read"));
}

TEST_F(JournalFilesTest, AFileThatCannotBeRenamedGrowsToTwiceItsSizeAndStatsSayWhy) {
  JournalOptions small = options();
  small.file_bytes = 10'000;
  small.files = 1;
  auto journal = start(small);
  fs::create_directories(file(".1") + "/in the way");
  for (std::uint32_t i = 0; i < 1000; ++i) {
    journal->changed(kTable, i, Change::set("10.0.0.0/24", {{"nexthop_group", "1"}}));
    if (i % 20 == 0) static_cast<void>(journal->flush());
  }
  static_cast<void>(journal->flush());
  EXPECT_LE(fs::file_size(file()), 20'000U);
  EXPECT_GT(fs::file_size(file()), 10'000U);
  EXPECT_GT(journal->stats().dropped, 0U);
  EXPECT_THAT(std::string{journal->stats().last_error.message()}, AllOf(HasSubstr("would rename it"), HasSubstr(file(".1"))));
  EXPECT_LT(journal->stats().write_errors, 20U) << "it is not tried at each write";
}

// /dev/full returns ENOSPC for every write.
TEST_F(JournalFilesTest, StatsSayWhyWritingFailsUntilItDoesNot) {
  auto opened = JournalRecorder::open(options(), clock_);
  ASSERT_TRUE(opened.has_value());
  const std::unique_ptr<JournalRecorder> journal = std::move(*opened);
  journal::replace_file(file(), "/dev/full");
  journal->started(clock_.now(), *resolve_policy(StrictPriority{}));
  static_cast<void>(journal->flush());
  EXPECT_EQ(journal->stats().last_error.origin_errno(), ENOSPC);
  static_cast<void>(journal->flush());
  EXPECT_FALSE(journal->stats().last_error.ok()) << "flush() tells an error once, the state lasts";
  fs::remove(file());
  journal->rotate();
  journal->changed(journal->name("ROUTE_TABLE"), 1, Change::remove("after"));
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_TRUE(journal->stats().last_error.ok());
}

// A restart: done changes are taken again.
TEST_F(JournalFilesTest, AStorySaysWhereAnotherRunBegan) {
  const auto run = [this] {
    auto journal = start(options());
    clock_.time = clock_.time + 1s;
    journal->changed(kTable, 1, Change::remove("10.0.0.0/24"));
    journal->done(kTable, 1);
  };
  run();
  start(options())->changed(kTable, 1, Change::remove("somebody else"));
  clock_.time = clock_.time + 1s;
  run();
  const auto reader = std::move(JournalReader::open(file()).value());
  JournalWalk walk(*reader);
  const std::vector<journal::StoryEvent> events = story_of(walk, "", "10.0.0.0/24");
  ASSERT_EQ(events.size(), 5U) << "one for each run in which something happened";
  const journal::StoryEvent& began = events[2];
  EXPECT_EQ(began.what, journal::kRunBegan);
  EXPECT_EQ(began.table, "");
  EXPECT_THAT(began.detail, HasSubstr("strict"));
  EXPECT_EQ(began.wall, WallTime::from_nanoseconds(1'726'080'938'000'000'000) + 3s);
  EXPECT_EQ(began.run, events[3].run);
  EXPECT_THAT(story({file()}, "10.0.0.0/24"), ElementsAre("taken", "done", "another run began", "taken", "done"));
  EXPECT_THAT(story({file()}, "somebody else"), ElementsAre("taken"));
}

TEST_F(JournalFilesTest, AStoryTellsHowLongAChangeWasQueuedInItsTableAtMost) {
  {
    auto journal = start(options());
    const auto pass = [&](Duration time) {
      clock_.time = clock_.time + time;
      journal->clock_read(clock_.time);
    };
    const auto take = [&](const std::string& key, bool empty) {
      journal->turn_begins(1, clock_.time);
      journal->took(kTable, 1, empty);
      journal->changed(kTable, 1, Change::remove(key));
      journal->done(kTable, 1);
      journal->turn_ends({.items = 1}, clock_.time);
    };
    take("10.0.0.0/24", true);  // The beginning of the wait is not recorded.
    pass(1s);
    journal->became_ready(kTable);
    pass(2ms);
    take("other", false);
    pass(3ms);
    take("10.0.0.0/24", true);  // The table was never empty in between.
    pass(1s);
    journal->became_ready(kTable);
    pass(1ms);
    take("10.0.0.0/24", true);
  }
  const auto reader = std::move(JournalReader::open(file()).value());
  JournalWalk walk(*reader);
  std::vector<std::optional<Duration>> queued;
  for (const journal::StoryEvent& event : story_of(walk, "", "10.0.0.0/24")) {
    if (event.what == "taken") queued.push_back(event.queued_at_most);
    EXPECT_TRUE(event.what == "taken" || !event.queued_at_most) << event.what;
  }
  EXPECT_THAT(queued, ElementsAre(std::nullopt, Duration{5ms}, Duration{1ms}));
}

// --- Files of other owners

class ForeignFile : public JournalFilesTest {
 protected:
  static std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }
  /// Returns the error of a journal that opens the file to append to it; empty if it succeeded.
  std::string refusal() {
    auto opened = JournalRecorder::open(options(), clock_);
    if (!opened) {
      EXPECT_EQ(opened.error().code(), StatusCode::InvalidArgument);
      return std::string{opened.error().message()};
    }
    (*opened)->changed((*opened)->name("ROUTE_TABLE"), 1, Change::remove("appended"));
    EXPECT_TRUE((*opened)->flush().ok());
    return {};
  }
};

TEST_F(ForeignFile, WhatIsNoJournalIsRefusedAndStaysAsItIs) {
  for (const std::string& text : {std::string{"[journal]\nfile = \"j\"\n"}, std::string{"R"} + "oad works", std::string{"x"}}) {
    write(text);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file()), HasSubstr("is no journal"))) << text;
    EXPECT_EQ(bytes_of(file()), text);
  }
}

TEST_F(ForeignFile, WhatBeganAsAJournalIsGoneOnWith) {
  start(options())->changed(kTable, 1, Change::remove("before"));
  const std::string whole = bytes_of(file());
  std::string damaged = whole;
  damaged[journal::kHeadBytes] ^= 1;  // In the first block.
  for (const std::string& begin : {std::string{}, whole, damaged, whole.substr(0, 2), whole.substr(0, 20), std::string(100, '\0')}) {
    write(begin);
    EXPECT_EQ(refusal(), "");
    EXPECT_TRUE(bytes_of(file()).starts_with(begin));
    EXPECT_THAT(words(file()), testing::Contains("changed ROUTE_TABLE appended DEL"));
  }
}

TEST_F(ForeignFile, AVersionThatIsNotKnownIsRefused) {
  start(options())->changed(kTable, 1, Change::remove("before"));
  std::string bytes = bytes_of(file());
  bytes[sizeof journal::kMagic] = 9;
  write(bytes);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(file()), HasSubstr("version 9")));
  EXPECT_EQ(bytes_of(file()), bytes);
  const auto unread = [&] {
    write(bytes.substr(0, journal::kHeadBytes));
    return JournalReader::open(file()).error().to_string();
  };
  EXPECT_THAT(unread(), HasSubstr("is a journal of format 9, and this program reads format 3: read it with a newer rondo"));
  bytes[sizeof journal::kMagic] = 2;
  EXPECT_THAT(unread(), HasSubstr("is a journal of format 2, and this program reads format 3: read it with the rondo that was installed "
                                  "with the rondod that wrote it"));
}

TEST_F(ForeignFile, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(file()), HasSubstr("no regular file")));
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_THAT(refusal(), HasSubstr("no regular file"));
}

TEST_F(ForeignFile, ASymbolicLinkIsRefusedAndItsTargetStaysAsItIs) {
  const std::string target = file(".target");
  std::ofstream{target}.flush();
  fs::permissions(target, fs::perms{0644});
  fs::create_symlink(target, file());
  EXPECT_THAT(refusal(), AllOf(HasSubstr(file()), HasSubstr("symbolic link")));
  EXPECT_THAT(journal::check_file(file()).to_string(), HasSubstr("symbolic link"));
  EXPECT_EQ(fs::status(target).permissions(), fs::perms{0644});
  EXPECT_EQ(bytes_of(target), "");
}

TEST_F(ForeignFile, OneThatCameInItsPlaceIsLeftAlone) {
  auto journal = start(options());
  fs::rename(file(), file(".1"));
  write("not ours\n");
  journal->rotate();
  journal->changed(kTable, 1, Change::remove("kept"));
  EXPECT_THAT(std::string{journal->flush().message()}, HasSubstr("is no journal"));
  EXPECT_EQ(bytes_of(file()), "not ours\n");
  EXPECT_THAT(words(file(".1")), testing::Contains("changed ROUTE_TABLE kept DEL"));
}

}  // namespace
}  // namespace rondo
