// The parts of `rondo worker` without processes: lines of output, logs, records, reports, and the pauses of the link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "rondo/base/clock.h"
#include "worker/limits.h"
#include "worker/link.h"
#include "worker/output_lines.h"
#include "worker/process.h"
#include "worker/report.h"
#include "worker/run_logs.h"
#include "worker/run_records.h"

namespace rondo::worker {
namespace {

namespace json = boost::json;
namespace files = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct Lines {
  OutputLines lines;
  std::vector<std::string> found;
  OutputLines::Found keep() {
    return {
        .progress = [this](unsigned percent, std::string_view text) { found.push_back(std::to_string(percent) + "|" + std::string{text}); },
        .result = [this](std::string_view text) { found.push_back("=" + std::string{text}); }};
  }
  void take(std::string_view bytes) { lines.take(bytes, keep()); }
};

TEST(OutputLines, ProgressAndResultsAreFoundInAnyCut) {
  const std::string text =
      "hello\nrondo: progress 40 disk 2\nrondo: progress 100%\r\nrondo: result 12 files\nrondo: progress 101 x\nrondo: progress -1\n"
      " rondo: progress 5\nrondo: progressive 7\n\nlast";
  for (std::size_t cut = 1; cut <= text.size(); ++cut) {
    Lines of;
    for (std::size_t at = 0; at < text.size(); at += cut) of.take(std::string_view{text}.substr(at, cut));
    of.lines.end(of.keep());
    ASSERT_THAT(of.found, ElementsAre("40|disk 2", "100|", "=12 files")) << cut;
    ASSERT_EQ(of.lines.last(), "last");
  }
}

TEST(OutputLines, ALongLineIsReadToItsLimit) {
  Lines of;
  of.take("rondo: result ");
  for (int i = 0; i < 100; ++i) of.take(std::string(1000, 'x'));
  of.take("\nrondo: progress 1 after\n");
  ASSERT_THAT(of.found, SizeIs(2));
  EXPECT_EQ(of.found[0].size(), limits::kOutputLine - std::string{"rondo: result "}.size() + 1);
  EXPECT_EQ(of.found[1], "1|after");
}

/// Files of this process have at most this size while it lives.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit small{.rlim_cur = bytes, .rlim_max = limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*before_)(int);
  rlimit limit_{};
};

class WorkerFiles : public ::testing::Test {
 protected:
  Result<RunRecords> open_records() {
    return RunRecords::open(folder.string(), Duration{0}, [](const Status&) {});
  }
  RunLogs logs(RunLogs::Bounds bounds = {}) {
    auto opened = RunLogs::open((folder / "logs").string(), bounds);
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return std::move(*opened);
  }
  std::uintmax_t bytes() const {
    std::uintmax_t sum = 0;
    for (const auto& file : files::directory_iterator(folder / "logs")) sum += file.file_size();
    return sum;
  }
  std::vector<RunRecord> read_all(const RunRecords& of) {
    return of.read_all([this](const Status& why, const std::string& renamed) { damaged.push_back(why.to_string() + " -> " + renamed); });
  }
  TemporaryFolder folder;
  std::vector<std::string> damaged;
};

TEST_F(WorkerFiles, ALogKeepsTheNewestOutputWithinItsBytes) {
  RunLogs of = logs();
  ASSERT_TRUE(of.begin(7, 0, "", 1000).ok());
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    of.append(7, line);
    all += line;
    ASSERT_LE(bytes(), 1000U);
  }
  ASSERT_TRUE(of.end(7).ok());
  EXPECT_EQ(of.size(7), all.size());
  std::string read;
  std::uint64_t from = 0;
  for (auto piece = of.read(7, 0, 100); piece && !piece->data.empty(); piece = of.read(7, piece->next, 100)) {
    if (read.empty()) from = piece->from;
    EXPECT_LE(piece->data.size(), 100U);
    read += piece->data;
  }
  EXPECT_GE(read.size(), 500U);
  EXPECT_EQ(read, all.substr(from));
  EXPECT_EQ(of.read(8, 0, 100), std::nullopt);
}

TEST_F(WorkerFiles, LogsAreTakenUpAndTheOldestAreRemovedBeyondTheirBounds) {
  {
    RunLogs of = logs();
    for (std::int64_t run = 1; run <= 5; ++run) {
      ASSERT_TRUE(of.begin(run, 0, "", 1000).ok());
      of.append(run, std::string(100, 'x'));
      ASSERT_TRUE(of.end(run).ok());
      files::last_write_time(folder / "logs" / (std::to_string(run) + "-0.log"), files::file_time_type{} + std::chrono::seconds{run});
    }
    std::ofstream(folder / "logs" / "notes.txt") << "not ours";
  }
  RunLogs of = logs({.logs = 3, .bytes = 250});
  EXPECT_EQ(of.read(3, 0, 10), std::nullopt);
  EXPECT_TRUE(of.read(4, 0, 10).has_value());
  ASSERT_TRUE(of.begin(5, 1, "", 1000).ok());  // Another attempt goes on behind the first.
  of.append(5, "second");
  ASSERT_TRUE(of.end(5).ok());
  EXPECT_EQ(of.read(5, 0, 1000)->data, std::string(100, 'x')) << "a piece is of one attempt";
  EXPECT_EQ(of.read(5, 0, 1000)->attempt, 0U);
  EXPECT_EQ(of.read(5, 100, 100)->data, "second");
  EXPECT_EQ(of.read(5, 100, 100)->attempt, 1U);
  EXPECT_TRUE(files::exists(folder / "logs" / "notes.txt"));
}

/// It kept two attempts, whatever they printed.
TEST_F(WorkerFiles, ALogKeepsAllAttemptsThatFitIntoItsBytes) {
  constexpr std::uint32_t kAttempts = 101;
  const auto print = [](RunLogs& of, std::uint32_t attempt, const std::string& output) {
    ASSERT_TRUE(of.begin(7, attempt, "", 10'000).ok());
    of.append(7, output);
    ASSERT_TRUE(of.end(7).ok());
  };
  {
    RunLogs of = logs();
    for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
      // Some print nothing.
      print(of, attempt, attempt % 10 == 5 ? "" : "attempt " + std::to_string(attempt) + "\n");
    }
  }
  RunLogs of = logs();
  std::uint64_t from = 0;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt % 10 == 5) continue;
    const auto piece = of.read(7, from, 1000);
    ASSERT_TRUE(piece.has_value());
    EXPECT_EQ(piece->attempt, attempt);
    EXPECT_EQ(piece->data, "attempt " + std::to_string(attempt) + "\n");
    from = piece->next;
  }
  EXPECT_EQ(from, of.size(7));
  // A long attempt takes the room of the oldest.
  print(of, kAttempts, std::string(9'000, 'x'));
  EXPECT_LE(bytes(), 10'000U);
  EXPECT_GT(of.read(7, 0, 1000)->from, 0U);
  EXPECT_EQ(of.read(7, from, 1'000)->attempt, kAttempts);
}

TEST_F(WorkerFiles, ALogHasALimitOfFiles) {
  RunLogs of = logs();
  for (std::uint32_t attempt = 0; attempt < limits::kLogFiles + 5; ++attempt) {
    ASSERT_TRUE(of.begin(7, attempt, "", 1'000'000).ok());
    of.append(7, "x");
    ASSERT_TRUE(of.end(7).ok());
  }
  EXPECT_EQ(of.read(7, 0, 1)->from, 5U);
  EXPECT_EQ(of.read(7, 0, 1)->attempt, 5U);
  EXPECT_EQ(bytes(), limits::kLogFiles);
}

/// A worker that was started right after a kill -9 of the former one gave up.
TEST_F(WorkerFiles, TheLockOfAnEndingProcessIsWaitedFor) {
  ASSERT_TRUE(open_records().has_value()) << "makes the folder";
  int taken[2];
  ASSERT_EQ(::pipe(taken), 0);
  const pid_t former = ::fork();
  if (former == 0) {
    const auto held = open_records();
    const char how = held ? 'y' : 'n';
    static_cast<void>(::write(taken[1], &how, 1));
    ::pause();
    ::_exit(0);
  }
  char how = 0;
  ASSERT_EQ(::read(taken[0], &how, 1), 1);
  ASSERT_EQ(how, 'y');
  EXPECT_FALSE(open_records().has_value());
  std::string reason;
  const auto records = RunRecords::open(folder.string(), 60s, [&](const Status& why) {
    reason = why.to_string();
    ::kill(former, SIGKILL);
  });
  ::waitpid(former, nullptr, 0);
  EXPECT_TRUE(records.has_value()) << records.error().to_string();
  EXPECT_THAT(reason, HasSubstr("process " + std::to_string(former)));
  for (const int end : taken) ::close(end);
}

TEST_F(WorkerFiles, RecordsSurviveAndAFolderHasOneWorker) {
  {
    auto records = open_records();
    ASSERT_TRUE(records.has_value());
    EXPECT_THAT(open_records().error().to_string(), HasSubstr("another process has it open: process " + std::to_string(::getpid())));
    ASSERT_TRUE(records->write({.run = 3, .attempt = 2, .key = "0f", .command = "a", .process = 99, .started = 5, .boot = "b"}).ok());
    ASSERT_TRUE(records
                    ->write({.run = 3,
                             .attempt = 2,
                             .key = "0f",
                             .command = "a",
                             .has_ended = true,
                             .status = {StatusCode::DeadlineExceeded, "late \x01\""},
                             .note = "n\n"})
                    .ok());
    ASSERT_TRUE(records->write({.run = 4, .command = "a"}).ok());
    records->remove(4);
  }
  std::ofstream(folder / "runs" / "9.json") << "{\"run\":";
  auto records = open_records();
  const std::vector<RunRecord> all = read_all(*records);
  EXPECT_THAT(damaged, ElementsAre(HasSubstr("9.json' is no record of a run -> " + (folder / "runs" / "9.json.damaged").string())));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].run, 3);
  EXPECT_EQ(all[0].attempt, 2U);
  EXPECT_EQ(all[0].key, "0f");
  EXPECT_TRUE(all[0].has_ended);
  EXPECT_EQ(all[0].status.to_string(), "deadline-exceeded: late \x01\"");
  EXPECT_EQ(all[0].note, "n\n");
  EXPECT_TRUE(files::exists(folder / "runs" / "9.json.damaged"));
}

/// Milliseconds that are no time made nanoseconds that no number holds.
TEST_F(WorkerFiles, ATimeInARecordIsNeverInTheFutureNorBefore1970) {
  auto records = open_records();
  ASSERT_TRUE(records.has_value());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t now = SystemClock{}.wall_now().nanoseconds() / 1'000'000;
  ASSERT_TRUE(records->write({.run = 3, .command = "a", .begun_ms = most, .has_ended = true, .ended_ms = -most}).ok());
  ASSERT_TRUE(records->write({.run = 4, .command = "a", .begun_ms = -1, .has_ended = true, .ended_ms = most}).ok());
  ASSERT_TRUE(records->write({.run = 5, .command = "a", .begun_ms = now - 2, .has_ended = true, .ended_ms = now - 1}).ok());
  std::map<std::int64_t, RunRecord> read;
  for (RunRecord& record : read_all(*records)) read[record.run] = std::move(record);
  ASSERT_THAT(read, SizeIs(3));
  EXPECT_THAT(read[3].begun_ms, AllOf(Ge(now), Le(now + 3'600'000)));
  EXPECT_EQ(read[3].ended_ms, 0);
  EXPECT_EQ(read[4].begun_ms, 0);
  EXPECT_THAT(read[4].ended_ms, AllOf(Ge(now), Le(now + 3'600'000)));
  EXPECT_EQ(read[5].begun_ms, now - 2);
  EXPECT_EQ(read[5].ended_ms, now - 1);
}

/// A FIFO blocked the start, and so did a file of gigabytes.
TEST_F(WorkerFiles, WhatIsNoRecordIsRenamedAndNeverBlocksTheStart) {
  auto records = open_records();
  ASSERT_TRUE(records.has_value());
  ASSERT_TRUE(records->write({.run = 3, .command = "a"}).ok());
  const files::path runs = folder / "runs";
  ASSERT_EQ(::mkfifo((runs / "5.json").c_str(), 0600), 0);
  std::ofstream(runs / "6.json") << std::string(limits::kRunRecordBytes + 1, ' ');
  files::copy_file(runs / "3.json", runs / "7.json");
  files::create_symlink("/dev/zero", runs / "8.json");
  files::create_directory(runs / "9.json");
  std::ofstream(runs / "6.json.damaged") << "of an earlier start";
  EXPECT_THAT(read_all(*records), SizeIs(1));
  EXPECT_THAT(damaged, UnorderedElementsAre(AllOf(HasSubstr("5.json' is no regular file"), EndsWith("5.json.damaged")),
                                            AllOf(HasSubstr("6.json' has more than 65536 bytes"), EndsWith("6.json.damaged.2")),
                                            AllOf(HasSubstr("7.json' is no record of a run"), EndsWith("7.json.damaged")),
                                            AllOf(HasSubstr("8.json' is no regular file"), EndsWith("8.json.damaged")),
                                            AllOf(HasSubstr("9.json' is no regular file"), EndsWith("9.json.damaged"))));
  damaged.clear();
  EXPECT_THAT(read_all(*records), SizeIs(1));
  EXPECT_THAT(damaged, IsEmpty());
}

TEST_F(WorkerFiles, AFifoInPlaceOfAFileIsAnErrorAndNeverBlocks) {
  auto records = open_records();
  ASSERT_TRUE(records.has_value());
  ASSERT_EQ(::mkfifo((folder / "runs" / "4.json.new").c_str(), 0600), 0);
  EXPECT_THAT(records->write({.run = 4, .command = "a"}).to_string(), HasSubstr("4.json.new' is no regular file"));
  RunLogs of = logs();
  ASSERT_EQ(::mkfifo((folder / "logs" / "4-0.log").c_str(), 0600), 0);
  EXPECT_THAT(of.begin(4, 0, "", 1000).to_string(), HasSubstr("4-0.log' is no regular file"));
}

/// `rondo job log` ended with 0 and printed nothing.
TEST_F(WorkerFiles, AFileOfALogThatWasRemovedOrReplacedIsPassedOver) {
  const files::path first = folder / "logs" / "4-0-0-00ff.log";
  const files::path second = folder / "logs" / "4-3-1-00ff.log";
  RunLogs of = logs();
  ASSERT_TRUE(of.begin(4, 0, "00ff", 1000).ok());
  of.append(4, "one");
  EXPECT_EQ(of.read(4, 0, 100).value_or(LogPiece{}).data, "one");
  ASSERT_TRUE(of.begin(4, 1, "00ff", 1000).ok());
  of.append(4, "two");
  ASSERT_TRUE(files::exists(first));
  ASSERT_TRUE(files::exists(second));
  files::remove(first);
  const LogPiece rest = of.read(4, 0, 100).value_or(LogPiece{});
  EXPECT_EQ(rest.data, "two");
  EXPECT_EQ(rest.from, 3U);
  EXPECT_EQ(rest.attempt, 1U);
  std::ofstream(first) << "one";
  files::remove(second);
  files::create_symlink("/etc/passwd", second);
  EXPECT_EQ(of.read(4, 0, 100).value_or(LogPiece{}).data, "one");
  const auto lost = of.read(4, 3, 100);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->from, 6U) << "the read goes on behind the bytes that are lost";
  EXPECT_EQ(lost->data, "");
  for (const bool is_fifo : {false, true}) {
    files::remove(first);
    ASSERT_TRUE(!is_fifo || ::mkfifo(first.c_str(), 0600) == 0);
    EXPECT_EQ(of.read(4, 0, 100), std::nullopt);
    EXPECT_EQ(of.read(4, 3, 100), std::nullopt);
  }
}

/// `rondo job log` showed what there was as the whole log.
TEST_F(WorkerFiles, OutputThatCouldNotBeWrittenIsAGapInTheLog) {
  {
    RunLogs of = logs();
    ASSERT_TRUE(of.begin(4, 0, "00ff", 1000).ok());
    {
      const SmallFiles small(4);
      of.append(4, "one");
      of.append(4, " output");
      of.append(4, " and more");
    }
    of.append(4, "!");
    EXPECT_EQ(of.read(4, 0, 100).value_or(LogPiece{}).data, "one ");
    EXPECT_EQ(of.size(4), 20U);
    EXPECT_EQ(of.written(4), 4U) << "a reader that waits for more waits for a byte";
    EXPECT_THAT(of.end(4).to_string(), HasSubstr("is incomplete"));
  }
  RunLogs of = logs();
  const LogPiece piece = of.read(4, 0, 100).value_or(LogPiece{});
  EXPECT_EQ(piece.data, "one ");
  EXPECT_EQ(of.read(4, piece.next, 100).value_or(LogPiece{}).from, 20U) << "also after a restart of the worker";
  ASSERT_TRUE(of.begin(4, 1, "00ff", 1000).ok());
  of.append(4, "two");
  const LogPiece behind = of.read(4, piece.next, 100).value_or(LogPiece{});
  EXPECT_EQ(behind.from, 20U);
  EXPECT_EQ(behind.data, "two");
  EXPECT_EQ(behind.attempt, 1U);
}

TEST_F(WorkerFiles, AGapRemovesNothingOfWhatIsKept) {
  RunLogs of = logs();
  ASSERT_TRUE(of.begin(4, 0, "", 1000).ok());
  of.append(4, std::string(800, 'x'));
  {
    const SmallFiles small(300);
    of.append(4, "lost");
  }
  EXPECT_FALSE(of.end(4).ok());
  EXPECT_EQ(of.read(4, 0, 1000).value_or(LogPiece{}).data.size(), 800U);
  EXPECT_EQ(of.read(4, 800, 1000).value_or(LogPiece{}).from, 804U);
}

/// `job log` showed the output of a run of the former database, and the new run wrote behind it.
TEST_F(WorkerFiles, TheLogOfAnotherRunWithTheSameNumberMakesWay) {
  const auto text = [](const RunLogs& of) { return of.read(4, 0, 100).value_or(LogPiece{}).data; };
  {
    RunLogs of = logs();
    ASSERT_TRUE(of.begin(4, 0, "00ff", 1000).ok());
    of.append(4, "old");
    ASSERT_TRUE(of.end(4).ok());
  }
  RunLogs of = logs();
  EXPECT_EQ(text(of), "old");
  EXPECT_EQ(of.key(4), "00ff");
  ASSERT_TRUE(of.begin(4, 1, "00ff", 1000).ok());
  of.append(4, "er");
  EXPECT_EQ(of.size(4), 5U);
  ASSERT_TRUE(of.begin(4, 0, "0100", 1000).ok());
  of.append(4, "new");
  ASSERT_TRUE(of.end(4).ok());
  EXPECT_EQ(text(of), "new");
  EXPECT_EQ(text(logs()), "new");
}

TEST_F(WorkerFiles, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  ASSERT_TRUE(open_records().has_value());
  for (const files::path& of : {files::path{folder}, folder / "runs"}) {
    ASSERT_EQ(::chown(of.c_str(), 54'321, 54'321), 0);
    const std::string refusal = "'" + of.string() + "' belongs to the user 54321, who could change what the worker keeps there";
    EXPECT_THAT(open_records().error().to_string(), HasSubstr(refusal));
    EXPECT_THAT(RunRecords::check(folder.string()).to_string(), HasSubstr(refusal));
    ASSERT_EQ(::chown(of.c_str(), 0, 0), 0);
  }
  files::create_directory(folder / "logs");
  ASSERT_EQ(::chown((folder / "logs").c_str(), 54'321, 54'321), 0);
  EXPECT_THAT(RunLogs::open((folder / "logs").string(), {}).error().to_string(), HasSubstr("belongs to the user 54321"));
}

/// A record that another user had put there made the worker kill a process of a third one.
TEST_F(WorkerFiles, AFolderToWhichEveryUserMayWriteIsRefused) {
  ASSERT_TRUE(open_records().has_value());
  for (const files::path& of : {files::path{folder}, folder / "runs"}) {
    ASSERT_EQ(::chmod(of.c_str(), 0777), 0);
    EXPECT_THAT(open_records().error().to_string(), HasSubstr("every user may write to '" + of.string() + "'"));
    ASSERT_EQ(::chmod(of.c_str(), 0700), 0);
  }
}

/// Others could put records there, which the worker believed.
TEST_F(WorkerFiles, APartOfTheStateThatIsALinkIsRefusedAndTheGroupMayNotWriteToOne) {
  ASSERT_TRUE(open_records().has_value());
  logs();
  for (const char* const part : {"runs", "logs"}) {
    const files::path of = folder / part;
    ASSERT_EQ(::chmod(of.c_str(), 0775), 0);
    EXPECT_TRUE(open_records().has_value());
    logs();
    EXPECT_EQ(files::status(of).permissions() & (files::perms::group_write | files::perms::others_write), files::perms::none) << of;
    files::rename(of, folder / "elsewhere");
    files::create_directory_symlink(folder / "elsewhere", of);
    const std::string refusal = "'" + of.string() + "' is a symbolic link";
    EXPECT_THAT(RunRecords::check(folder.string()).to_string(), HasSubstr(refusal));
    const auto records = open_records();
    const auto opened = RunLogs::open((folder / "logs").string(), {});
    EXPECT_THAT((std::string_view{part} == "runs" ? records.error() : opened.error()).to_string(), HasSubstr(refusal));
    files::remove(of);
    files::rename(folder / "elsewhere", of);
  }
}

TEST_F(WorkerFiles, ARecordToWhichOthersMayWriteIsSetAsideAndALogIsSecured) {
  auto records = open_records();
  ASSERT_TRUE(records.has_value());
  for (const std::int64_t run : {3, 4, 5}) ASSERT_TRUE(records->write({.run = run, .command = "a"}).ok());
  const files::path runs = folder / "runs";
  ASSERT_EQ(::chmod((runs / "4.json").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((runs / "5.json").c_str(), 0660), 0);
  EXPECT_THAT(read_all(*records), SizeIs(1));
  EXPECT_THAT(damaged, UnorderedElementsAre(AllOf(HasSubstr("may write to '"), EndsWith("4.json.damaged")),
                                            AllOf(HasSubstr("may write to '"), EndsWith("5.json.damaged"))));
  // A draft that another user has left open.
  std::ofstream(runs / "6.json.new") << "{}";
  ASSERT_EQ(::chmod((runs / "6.json.new").c_str(), 0666), 0);
  ASSERT_TRUE(records->write({.run = 6, .command = "a"}).ok());
  EXPECT_THAT(read_all(*records), SizeIs(2));
  files::create_directory(folder / "logs");
  std::ofstream(folder / "logs" / "4-0.log") << "output";
  ASSERT_EQ(::chmod((folder / "logs" / "4-0.log").c_str(), 0666), 0);
  std::ofstream(folder / "secret") << "secret";
  files::create_symlink(folder / "secret", folder / "logs" / "5-0.log");
  const RunLogs of = logs();
  EXPECT_EQ(of.read(4, 0, 100)->data, "output");
  EXPECT_EQ(files::status(folder / "logs" / "4-0.log").permissions() & files::perms::others_write, files::perms::none);
  EXPECT_FALSE(of.read(5, 0, 100).has_value());
  EXPECT_EQ(of.size(5), 0U);
}

TEST_F(WorkerFiles, AFileOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  auto records = open_records();
  ASSERT_TRUE(records.has_value());
  ASSERT_TRUE(records->write({.run = 3, .command = "a"}).ok());
  ASSERT_EQ(::chown((folder / "runs" / "3.json").c_str(), 54'321, 54'321), 0);
  EXPECT_THAT(read_all(*records), IsEmpty());
  EXPECT_THAT(damaged, ElementsAre(AllOf(HasSubstr("belongs to the user 54321"), EndsWith("3.json.damaged"))));
  files::create_directory(folder / "logs");
  std::ofstream(folder / "logs" / "4-0.log") << "output";
  ASSERT_EQ(::chown((folder / "logs" / "4-0.log").c_str(), 54'321, 54'321), 0);
  EXPECT_EQ(logs().size(4), 0U);
}

TEST_F(WorkerFiles, WhatIsNotTheCommandOfARecordIsNotKilled) {
  // This very process, with another start time, another boot, and as an ended run.
  const RunRecord us{.run = 1, .command = "a", .process = ::getpgrp(), .started = 1, .boot = boot_id()};
  EXPECT_FALSE(kill_leftovers(us));
  RunRecord other_boot = us;
  other_boot.started = start_time_of(::getpgrp()).value_or(0);
  other_boot.boot = "of last week";
  EXPECT_FALSE(kill_leftovers(other_boot));
  RunRecord ended = us;
  ended.has_ended = true;
  EXPECT_FALSE(kill_leftovers(ended));
  EXPECT_FALSE(kill_leftovers({.run = 1, .command = "a", .process = 1, .started = start_time_of(1).value_or(0), .boot = boot_id()}));
  EXPECT_FALSE(kill_leftovers({.run = 1, .command = "a", .process = -1, .boot = boot_id()}));
}

TEST(WorkerEvents, AReportIsBoundedAndTheRestFollows) {
  WorkerReport many;
  std::size_t taken = 0;
  while (many.add("started", 1, {})) ++taken;
  EXPECT_EQ(taken, limits::kReportEvents);
  WorkerReport large;
  const std::string data(16'384, '\x01');
  taken = 0;
  while (large.add("log", 1, {{"data", data}})) ++taken;
  EXPECT_GE(taken, 1U);
  EXPECT_LE(json::serialize(large.take()).size(), limits::kReportBytes + 100'000);
}

TEST(Link, PausesGrowToTheirLimit) {
  std::vector<Duration> pauses;
  Link link({[] { return AdminClient::connect("/nowhere/socket"); }},
            {.hello = [] { return json::object{}; },
             .order = [](std::string_view, const json::object&) {},
             .up = [] {},
             .down = [&pauses](const Status&, Duration pause) { pauses.push_back(pause); },
             .report_taken = [](const json::object&) {}});
  Instant now = SystemClock{}.now();
  for (int i = 0; i < 12; ++i) {
    link.tick(now);
    link.tick(now);  // Too early: does nothing.
    now = link.next();
  }
  ASSERT_THAT(pauses, SizeIs(12));
  EXPECT_EQ(pauses[0], 100ms);
  EXPECT_EQ(pauses[1], 200ms);
  EXPECT_EQ(pauses.back(), limits::kReconnectPause);
}

TEST(Link, TriesEachServerBeforeALongerPause) {
  std::string tried;
  std::vector<Duration> pauses;
  const auto server = [&tried](char name) -> Connect {
    return [&tried, name] {
      tried += name;
      return AdminClient::connect("/nowhere/socket");
    };
  };
  Link link({server('a'), server('b'), server('c')}, {.hello = {},
                                                      .order = {},
                                                      .up = {},
                                                      .down = [&pauses](const Status&, Duration pause) { pauses.push_back(pause); },
                                                      .report_taken = {}});
  for (int i = 0; i < 7; ++i) link.tick(link.next());
  EXPECT_EQ(tried, "abcabca");
  EXPECT_THAT(pauses, ElementsAre(100ms, 100ms, 100ms, 200ms, 200ms, 200ms, 400ms));
}

}  // namespace
}  // namespace rondo::worker
