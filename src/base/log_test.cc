// The form of a log line, and that a noisy call site cannot flood the log. Method: a writer captures lines, the test sets the time.
#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::SizeIs;

class HandClock final : public Clock {
 public:
  Instant now() const noexcept override { return now_; }
  WallTime wall_now() const noexcept override { return WallTime::from_nanoseconds(1'700'000'000'123'000'000); }
  void advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_ = Instant::from_nanoseconds(1);
};

class LogLines : public testing::Test {
 protected:
  LogOptions capture(LogLevel level = LogLevel::Info, bool journal = false) {
    LogOptions options;
    options.level = level;
    options.journal = journal;
    options.writer = [this](std::string_view line) { lines.emplace_back(line); };
    return options;
  }
  HandClock clock;
  std::vector<std::string> lines;
};

TEST_F(LogLines, SaysTimeLevelMessageAndPairs) {
  Log log(clock, capture());
  const std::string key = "10.0.0.0/24";
  log.warn("route rejected", {{"key", key}, {"rows", 3}, {"ratio", 0.5}, {"last", true}, {"bytes", std::size_t{7}}});
  EXPECT_THAT(lines, ElementsAre("2023-11-14T22:13:20.123Z warn route rejected key=10.0.0.0/24 rows=3 ratio=0.5 last=true bytes=7\n"));
}

TEST_F(LogLines, QuotesAValueThatWouldBreakTheLine) {
  Log log(clock, capture(LogLevel::Info, true));
  log.info("seen", {{"a", "two words"}, {"b", "x=\"y\"\n\x01"}, {"c", ""}, {"d", "back\\slash"}});
  EXPECT_THAT(lines, ElementsAre("<6>info seen a=\"two words\" b=\"x=\\\"y\\\"\\n\\x01\" c=\"\" d=\"back\\\\slash\"\n"));
}

TEST_F(LogLines, WhatATerminalObeysOrNobodySeesIsEscaped) {
  Log log(clock, capture(LogLevel::Info, true));
  log.info("seen", {{"a", "x\u202ey"}, {"b", "\u009b2J"}, {"c", "\xff"}, {"d", "\u00e4"}, {"e", "k\u200b"}});
  EXPECT_THAT(lines, ElementsAre("<6>info seen a=\"x\\xe2\\x80\\xaey\" b=\"\\xc2\\x9b2J\" c=\"\\xff\" d=\u00e4 e=\"k\\xe2\\x80\\x8b\"\n"));
}

TEST_F(LogLines, AStatusIsAValue) {
  Log log(clock, capture(LogLevel::Info, true));
  const Status status{StatusCode::NotFound, "no port 'x'"};
  log.error("refused", {{"why", status}});
  EXPECT_THAT(lines, ElementsAre("<3>error refused why=\"not-found: no port 'x'\"\n"));
}

TEST_F(LogLines, LevelsBelowTheSetOneAreNotWritten) {
  Log log(clock, capture(LogLevel::Warn));
  log.debug("no");
  log.info("no");
  log.error("yes");
  EXPECT_THAT(lines, SizeIs(1));
  log.set_level(LogLevel::Off);
  log.error("no");
  EXPECT_THAT(lines, SizeIs(1));
}

TEST_F(LogLines, ANoisyCallSiteIsHeldBackAndTheNextLineSaysHowManyWereNot) {
  LogOptions options = capture();
  options.burst_lines = 3;
  options.lines_per_second = 1;
  Log log(clock, std::move(options));
  const auto noisy = [&log] { log.warn("again"); };
  for (int i = 0; i < 10; ++i) noisy();
  EXPECT_THAT(lines, SizeIs(3));
  log.warn("another site");
  EXPECT_THAT(lines, SizeIs(4)) << "a quiet site does not pay for a noisy one";
  clock.advance(1s);
  noisy();
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_THAT(lines.back(), EndsWith("again suppressed=7\n"));
  noisy();
  EXPECT_THAT(lines, SizeIs(5)) << "one second earns one line";
  EXPECT_EQ(log.suppressed_lines(), 8U);
}

TEST_F(LogLines, TheJournalIsToldTheSeverityOfEachLevel) {
  Log log(clock, capture(LogLevel::Debug, true));
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  EXPECT_THAT(lines, ElementsAre("<7>debug a\n", "<6>info b\n", "<4>warn c\n", "<3>error d\n"));
}

/// While it exists, standard error is the file of that name.
class OtherStandardError {
 public:
  explicit OtherStandardError(const char* file) : OtherStandardError(::open(file, O_WRONLY | O_CLOEXEC)) {}
  explicit OtherStandardError(int fd) : kept_(::dup(STDERR_FILENO)) {
    EXPECT_GE(::dup2(fd, STDERR_FILENO), 0);
    ::close(fd);
  }
  ~OtherStandardError() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  OtherStandardError(const OtherStandardError&) = delete;
  OtherStandardError& operator=(const OtherStandardError&) = delete;

 private:
  int kept_;
};

TEST_F(LogLines, ALineThatCannotBeWrittenIsCounted) {
  Log log(clock, {.journal = false, .writer = {}});
  {
    const OtherStandardError full("/dev/full");
    log.error("lost");
    log.error("lost, too");
  }
  EXPECT_EQ(log.lost_lines(), 2U);
  {
    const OtherStandardError open("/dev/null");
    log.error("written");
  }
  EXPECT_EQ(log.lost_lines(), 2U);
}

TEST_F(LogLines, AReaderThatStallsOrEndsCostsLinesAndNothingElse) {
  Log log(clock, {.burst_lines = 0, .journal = false, .writer = {}});
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int size = ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  ASSERT_GT(size, 0);
  const OtherStandardError pipe(ends[1]);
  const std::string text(500, 'x');
  for (int i = 0; i < 1000; ++i) log.error(text);  // Nothing reads, so a write that blocks would never return.
  const std::uint64_t lost = log.lost_lines();
  EXPECT_GT(lost, 900U);
  EXPECT_LT(lost, 1000U);

  std::string taken(static_cast<std::size_t>(size), ' ');
  EXPECT_GT(::read(ends[0], taken.data(), taken.size()), 0);
  log.error("read again");
  EXPECT_EQ(log.lost_lines(), lost);
  ::close(ends[0]);
  log.error("SIGPIPE would end this process");
  EXPECT_EQ(log.lost_lines(), lost + 1);
}

TEST_F(LogLines, AFunctionThatThrowsLosesItsLineAndNoOther) {
  bool throws = true;
  LogOptions options = capture(LogLevel::Info, true);
  options.writer = [&, write = options.writer](std::string_view line) {
    if (std::exchange(throws, false)) throw std::runtime_error("boom");
    write(line);
  };
  Log log(clock, options);
  EXPECT_NO_THROW(log.info("lost", {{"a", "x"}}));
  log.info("written", {});
  EXPECT_THAT(lines, ElementsAre("<6>info written\n"));
  EXPECT_EQ(log.lost_lines(), 1U);
}

TEST_F(LogLines, AFunctionOfCopiesThatThrowsLosesNoLineOfTheWriter) {
  LogOptions options = capture(LogLevel::Info, true);
  options.copy = [](std::string_view) { throw std::runtime_error("boom"); };
  Log log(clock, options);
  EXPECT_NO_THROW(log.info("written"));
  EXPECT_THAT(lines, ElementsAre("<6>info written\n"));
  EXPECT_EQ(log.lost_lines(), 1U);
}

TEST_F(LogLines, StandardErrorIsTheJournalWhenTheServiceManagerNamesIt) {
  const OtherStandardError null("/dev/null");
  struct stat status {};
  ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
  const auto named = [](std::string_view stream) {
    ::setenv("JOURNAL_STREAM", std::string{stream}.c_str(), 1);
    const bool is = stderr_is_journal();
    ::unsetenv("JOURNAL_STREAM");
    return is;
  };
  const std::string device = std::to_string(status.st_dev);
  EXPECT_TRUE(named(device + ":" + std::to_string(status.st_ino)));
  EXPECT_FALSE(named(device + ":" + std::to_string(status.st_ino + 1)));
  EXPECT_FALSE(named(device));
  EXPECT_FALSE(named("the journal"));
  EXPECT_FALSE(stderr_is_journal());
}

TEST(LogLevelName, RoundTrips) {
  for (const LogLevel level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error, LogLevel::Off}) {
    EXPECT_EQ(log_level(to_string(level)), level);
  }
  EXPECT_EQ(log_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace rondo
