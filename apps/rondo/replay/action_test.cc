// `rondo journal` and `rondo replay` on a recorded run of the whole agent in simulation: a route waits for its group, the group for its
// neighbour. Then on a damaged file, a changed one, and one that is no journal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "journal/reader.h"
#include "journal/recorder.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/replay/replay.h"
#include "rondo/sim/world.h"
#include "switch_agent/agent.h"

namespace rondo::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Ended {
  int code = -1;
  std::string out;  // Standard output and standard error together.
};

Ended rondo(const std::string& words) {
  const std::string line = "TZ=UTC " + std::string{std::getenv("RONDO")} + " " + words + " 2>&1";
  FILE* const pipe = ::popen(line.c_str(), "r");
  Ended ended;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) ended.out.push_back(static_cast<char>(c));
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// Writes a port, its interface, a neighbour, a group with that neighbour, and a route; the route first, the neighbour last.
void live_a_day(const JournalOptions& options) {
  sim::World world(1);
  SimDataPlane plane;
  plane.add_port("Ethernet0");
  Runtime runtime(
      {.clock = &world.clock(), .reactor = &world.reactor(), .observer = std::move(Journal::open(options, world.clock()).value())});
  switch_agent::SwitchAgent agent(runtime, plane, {.in_line = true});
  ASSERT_TRUE(agent.start().ok());
  const auto set = [&](const char* table, const char* key, FieldList fields) {
    EXPECT_TRUE(runtime.table(table).set(key, fields).ok());
    world.run_for(runtime.scheduler(), 250ms);
  };
  set("ROUTE_TABLE", "10.0.0.0/24", {{"nexthop_group", "102"}});
  set("NEXTHOP_GROUP_TABLE", "102", {{"nexthop", "192.168.1.2"}, {"ifname", "Ethernet0"}});
  set("PORT_TABLE", "Ethernet0", {{"admin_status", "up"}});
  set("INTF_TABLE", "Ethernet0", {});
  set("INTF_TABLE", "Ethernet0:192.168.1.1/24", {});
  set("ROUTE_TABLE", "no prefix", {{"nexthop_group", "102"}});
  set("NEIGH_TABLE", "Ethernet0:192.168.1.2", {{"neigh", "02:00:00:00:00:02"}});
  EXPECT_EQ(plane.route_count(), 1U);
}

constexpr const char* kAnotherRun = "--- another run: its records are numbered from 1 ---";

class JournalCli : public testing::Test {
 protected:
  void SetUp() override { live_a_day({.file = file()}); }

  std::string file() const { return (directory / "day.journal").string(); }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }
  std::string bytes() const {
    std::ifstream stream(file(), std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    return all.str();
  }
  void write(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }

  /// Splits the run into three files: .2 is the oldest, .0 the newest. Each contains the names, as the writer's files do.
  void cut_in_three() {
    whole_day = rondo("journal grep '' " + file()).out;
    whole_replay = rondo("--json replay " + file()).out;
    const std::string all = bytes();
    std::vector<journal::Damage> damage;
    std::string names;
    std::vector<std::string> blocks;
    for (const journal::Block& block : journal::find_blocks(all, damage)) {
      std::string one = all.substr(static_cast<std::size_t>(block.offset), journal::kHeadBytes + block.head.payload_bytes);
      if (block.head.kind == journal::BlockKind::Records) {
        for (std::string& part : split(block.head, std::string_view{one}.substr(journal::kHeadBytes))) blocks.push_back(std::move(part));
      } else {
        names += one;
      }
    }
    ASSERT_GE(blocks.size(), 3U);
    for (std::size_t part = 0; part < 3; ++part) {
      std::ofstream out(file() + "." + std::to_string(2 - part), std::ios::binary);
      out << names;
      for (std::size_t i = part * blocks.size() / 3; i < (part + 1) * blocks.size() / 3; ++i) out << blocks[i];
    }
    fs::remove(file());
  }
  /// Splits a block of records into blocks of ten.
  static std::vector<std::string> split(journal::BlockHead head, std::string_view payload) {
    std::vector<std::string> parts;
    while (!payload.empty()) {
      std::size_t size = 0;
      for (head.records = 0; head.records < 10 && size < payload.size(); ++head.records)
        size += journal::first_record(payload.substr(size)).size();
      head.payload_bytes = static_cast<std::uint32_t>(size);
      seal(head, payload.substr(0, size));
      parts.push_back(std::string{reinterpret_cast<const char*>(&head), journal::kHeadBytes}.append(payload.substr(0, size)));
      head.first_record += head.records;
      payload.remove_prefix(size);
    }
    return parts;
  }
  /// Expands " .0 .1" to the paths of those parts.
  std::string files(std::string_view ends) const {
    std::string words;
    for (const char c : ends) words += c == '.' ? file() + "." : std::string{c};
    return words;
  }

  TemporaryFolder directory;
  std::string whole_day;
  std::string whole_replay;
};

TEST_F(JournalCli, ExplainTellsTheStoryOfAKeyWithTheTimesBetween) {
  const Ended ended = rondo("journal explain 10.0.0.0/24 " + file());
  ASSERT_EQ(ended.code, 0) << ended.out;
  const std::vector<std::string> story = lines(ended.out);
  ASSERT_EQ(story.size(), 6U) << ended.out;
  EXPECT_THAT(story[0],
              AllOf(HasSubstr("2025-06-15.15:06:40.0000"), HasSubstr("ROUTE_TABLE taken: SET nexthop_group=102 (queued for at most ")));
  EXPECT_THAT(story[1], AllOf(HasSubstr("+0 us"), HasSubstr("ROUTE_TABLE parked: SET waits for nexthop-group:102")));
  EXPECT_THAT(story[2], AllOf(HasSubstr("2025-06-15.15:06:41.50"), HasSubstr("+1500 ms"),
                              HasSubstr("resolved: nexthop-group:102 was announced, for 1 row (in the turn of 'programmer')")));
  EXPECT_THAT(story[3], HasSubstr("ROUTE_TABLE retried: SET"));
  EXPECT_THAT(story[4], HasSubstr("ROUTE_TABLE ordered"));
  EXPECT_THAT(story[5], HasSubstr("ROUTE_TABLE done (in the turn of 'programmer')"));
}

TEST_F(JournalCli, ExplainSpeaksJsonAndKeepsToOneTable) {
  const Ended ended = rondo("--json journal explain 102 --table NEXTHOP_GROUP_TABLE " + file());
  ASSERT_EQ(ended.code, 0) << ended.out;
  const json::array events = json::parse(ended.out).at("events").as_array();
  ASSERT_GE(events.size(), 5U);
  EXPECT_EQ(events.front().at("what").as_string(), "taken");
  EXPECT_EQ(events.front().at("after_ns").as_int64(), 0);
  EXPECT_GE(events.front().at("queued_at_most_ns").as_int64(), 0);
  EXPECT_FALSE(events.back().as_object().contains("queued_at_most_ns"));
  EXPECT_EQ(events.back().at("what").as_string(), "done");
  for (const json::value& event : events) EXPECT_EQ(event.at("table").as_string(), "NEXTHOP_GROUP_TABLE");
  EXPECT_EQ(rondo("journal explain 102 --table PORT_TABLE " + file()).code, 1);
  EXPECT_THAT(rondo("journal explain nobody " + file()).out, HasSubstr("nothing is recorded about 'nobody'"));
  EXPECT_THAT(rondo("journal explain nobody --table ROUTE_TABLE " + file()).out, HasSubstr("nothing is recorded about 'nobody'"));
  EXPECT_EQ(rondo("journal explain 10.0.0.0/24 --table ROUTE_TABL " + file()).out,
            "rondo: no table 'ROUTE_TABL' is on record; did you mean 'ROUTE_TABLE'?\n");
}

TEST_F(JournalCli, AnotherRunIsMarkedWhereItsRecordsBegin) {
  const auto marks = [](const Ended& ended) { return std::ranges::count(lines(ended.out), kAnotherRun); };
  EXPECT_EQ(marks(rondo("journal grep '' " + file())), 0);
  live_a_day({.file = file()});
  const std::vector<std::string> all = lines(rondo("journal grep '' " + file()).out);
  ASSERT_EQ(std::ranges::count(all, kAnotherRun), 1);
  const auto mark = std::ranges::find(all, kAnotherRun);
  EXPECT_THAT(*std::next(mark), HasSubstr(" 1 started"));
  EXPECT_EQ(marks(rondo("journal grep rejected " + file())), 1) << "one of each run is shown, the beginnings are not";
  EXPECT_EQ(marks(rondo("journal tail --lines 3 " + file())), 0);
  EXPECT_EQ(marks(rondo("journal tail --lines 100000 " + file())), 1);
  for (const std::string& line : lines(rondo("--json journal grep '' " + file()).out)) EXPECT_EQ(line.front(), '{');
}

TEST_F(JournalCli, GrepFindsWordsAndSaysWhenThereAreNone) {
  const Ended rejected = rondo("journal grep rejected " + file());
  EXPECT_EQ(rejected.code, 0);
  ASSERT_EQ(lines(rejected.out).size(), 1U) << rejected.out;
  EXPECT_THAT(rejected.out, AllOf(HasSubstr("[ROUTE_TABLE] rejected ROUTE_TABLE no prefix SET nexthop_group=102: invalid-argument")));
  const Ended parked = rondo("--json journal grep 'parked ROUTE_TABLE' " + file());
  const json::value line = json::parse(lines(parked.out).front());
  EXPECT_EQ(line.at("kind").as_string(), "parked");
  EXPECT_EQ(line.at("key").as_string(), "10.0.0.0/24");
  EXPECT_EQ(json::serialize(line.at("facts")), R"(["nexthop-group:102"])");
  EXPECT_EQ(json::serialize(line.at("fields")), R"([["nexthop_group","102"]])");
  EXPECT_EQ(rondo("journal grep nowhere " + file()).code, 1);
}

TEST_F(JournalCli, TailShowsTheLastRecords) {
  const Ended all = rondo("journal grep '' " + file());
  const Ended tail = rondo("journal tail --lines 3 " + file());
  ASSERT_EQ(tail.code, 0);
  const std::vector<std::string> whole = lines(all.out);
  ASSERT_GT(whole.size(), 50U);
  EXPECT_EQ(lines(tail.out), std::vector<std::string>(whole.end() - 3, whole.end()));
  EXPECT_EQ(lines(rondo("journal tail " + file()).out).size(), 20U);
}

/// `rondo journal tail --follow` in a separate process, and the lines that it prints.
class Following {
 public:
  explicit Following(const std::string& file, const char* lines = "1", const char* form = nullptr) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      const char* const program = std::getenv("RONDO");
      ::execl(program, program, "journal", "tail", "--follow", "--lines", lines, file.c_str(), form, nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    lines_ = ::fdopen(ends[0], "r");
  }
  /// Waits for the next line; empty at the end.
  std::string line() {
    std::string line;
    for (int c = 0; (c = std::fgetc(lines_)) != EOF && c != '\n';) line.push_back(static_cast<char>(c));
    return line;
  }
  void interrupt() const { EXPECT_EQ(::kill(child_, SIGINT), 0); }
  void stop_reading() { std::fclose(std::exchange(lines_, nullptr)); }
  int exit_code() const {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  ~Following() {
    if (lines_ != nullptr) std::fclose(lines_);
  }

 private:
  pid_t child_ = -1;
  FILE* lines_ = nullptr;
};

TEST_F(JournalCli, TailFollowsAJournalOverItsRotationAndACut) {
  fs::remove(file());
  const SystemClock clock;
  auto journal = std::move(JournalRecorder::open({.file = file()}, clock).value());
  journal->started(clock.now(), *resolve_policy(StrictPriority{}));
  const std::uint32_t table = journal->name("ROUTE_TABLE");
  std::uint32_t row = 0;
  const auto write = [&](const std::string& key) {
    journal->changed(table, ++row, Change::remove(key));
    EXPECT_TRUE(journal->flush().ok());
  };
  write("before");
  Following tail(file());
  EXPECT_THAT(tail.line(), HasSubstr("ROUTE_TABLE before DEL"));
  write("appended");
  EXPECT_THAT(tail.line(), HasSubstr("ROUTE_TABLE appended DEL"));
  fs::rename(file(), file() + ".1");
  write("renamed");
  journal->rotate();
  write("rotated");
  EXPECT_THAT(tail.line(), HasSubstr("ROUTE_TABLE renamed DEL"));
  EXPECT_THAT(tail.line(), HasSubstr("ROUTE_TABLE rotated DEL"));
  ASSERT_EQ(::truncate(file().c_str(), 0), 0);  // logrotate's copytruncate does this.
  write("cut");
  EXPECT_THAT(tail.line(), HasSubstr("ROUTE_TABLE cut DEL"));
  tail.interrupt();
  EXPECT_EQ(tail.line(), "");
  EXPECT_EQ(tail.exit_code(), 0);
}

TEST_F(JournalCli, TailEndsWhenNobodyReadsItAnyMore) {
  Following tail(file());
  EXPECT_NE(tail.line(), "");
  tail.stop_reading();
  EXPECT_EQ(tail.exit_code(), 0);
}

TEST_F(JournalCli, TailEndsWhenNobodyReadsItWhileItWrites) {
  fs::remove(file());
  const SystemClock clock;
  auto journal = std::move(JournalRecorder::open({.file = file()}, clock).value());
  journal->started(clock.now(), *resolve_policy(StrictPriority{}));
  const std::uint32_t table = journal->name("ROUTE_TABLE");
  constexpr std::uint32_t kRows = 5000;  // More than a pipe holds.
  for (std::uint32_t row = 1; row <= kRows; ++row) journal->changed(table, row, Change::remove("10.0.0." + std::to_string(row)));
  EXPECT_TRUE(journal->flush().ok());
  Following tail(file(), "5000");
  EXPECT_NE(tail.line(), "");
  tail.stop_reading();
  EXPECT_EQ(tail.exit_code(), 0);
}

TEST_F(JournalCli, ABlockThatIsBeingWrittenIsNoDamageToWhoFollows) {
  const std::string before = bytes();
  {
    const SystemClock clock;
    auto journal = std::move(JournalRecorder::open({.file = file()}, clock).value());
    journal->changed(journal->name("ROUTE_TABLE"), 7, Change::remove("late"));
    EXPECT_TRUE(journal->flush().ok());
  }
  const std::string whole = bytes();
  write(whole.substr(0, before.size() + 20));
  Following tail(file(), "1", "--json");
  EXPECT_THAT(tail.line(), Not(HasSubstr("trouble")));
  write(whole);
  std::string line;
  do {
    line = tail.line();
    EXPECT_THAT(line, Not(HasSubstr("trouble")));
  } while (!line.empty() && line.find("late") == std::string::npos);
  EXPECT_THAT(line, HasSubstr("late"));
  tail.interrupt();
  EXPECT_EQ(tail.exit_code(), 0);
}

TEST_F(JournalCli, ExportsTheTextFormsOfSonic) {
  const Ended swss = rondo("journal export --swss " + file());
  EXPECT_THAT(lines(swss.out).front(), testing::EndsWith("|recording started"));
  EXPECT_THAT(lines(swss.out), testing::Contains(testing::EndsWith("|ROUTE_TABLE:10.0.0.0/24|SET|nexthop_group:102")));
  EXPECT_THAT(lines(swss.out), testing::Contains(testing::EndsWith("|INTF_TABLE:Ethernet0|SET")));
  const Ended retry = rondo("journal export --retry " + file());
  EXPECT_THAT(lines(retry.out), testing::Contains(testing::EndsWith("| ++++ |ROUTE_TABLE:10.0.0.0/24|SET|nexthop_group:102")));
  EXPECT_THAT(lines(retry.out), testing::Contains(testing::EndsWith("| (nexthop-group, 102) resolution notified -> 1 tasks")));
  EXPECT_THAT(lines(retry.out), testing::Contains(testing::EndsWith("| ---- |ROUTE_TABLE:10.0.0.0/24|SET|nexthop_group:102")));
  EXPECT_EQ(rondo("journal export " + file()).code, 2);
  EXPECT_EQ(rondo("journal export --swss --retry " + file()).code, 2);
}

constexpr std::size_t kTorn = 40;  // Less than a block's head: the shortest block is whole if it occurs twice.

TEST_F(JournalCli, ATornFileIsReadAsFarAsItIsWholeAndTheRestNamed) {
  EXPECT_EQ(rondo("journal check " + file()).code, 0);
  const std::string whole = bytes();
  write(whole + whole.substr(whole.size() - kTorn));
  const Ended check = rondo("journal check " + file());
  EXPECT_EQ(check.code, 78);
  EXPECT_THAT(check.out,
              AllOf(HasSubstr(file() + ": at offset " + std::to_string(whole.size()) + ": no block begins here; 40 bytes left out"),
                    HasSubstr(" 1 damaged place")));
  const Ended explain = rondo("journal explain 10.0.0.0/24 " + file());
  EXPECT_EQ(explain.code, 0);
  EXPECT_THAT(explain.out, HasSubstr("ROUTE_TABLE done"));
}

TEST_F(JournalCli, AReplayOfATornFileSaysWhatItLeftOut) {
  EXPECT_TRUE(json::parse(rondo("--json replay " + file()).out).at("trouble").as_array().empty());
  const std::string whole = bytes();
  write(whole + whole.substr(whole.size() - kTorn));
  const Ended text = rondo("replay " + file());
  EXPECT_EQ(text.code, 0) << text.out;
  EXPECT_THAT(text.out, AllOf(HasSubstr("rondo: " + file() + ": at offset " + std::to_string(whole.size()) +
                                        ": no block begins here; 40 bytes left out, at the end"),
                              HasSubstr("the same: ")));
  const json::value trouble = json::parse(rondo("--json replay " + file()).out).at("trouble");
  ASSERT_EQ(trouble.as_array().size(), 1U);
  EXPECT_EQ(trouble.at(0).at("bytes").to_number<std::size_t>(), kTorn);
  EXPECT_EQ(trouble.at(0).at("file").as_string(), file());
  EXPECT_EQ(replay::Replay::open({file()}).value()->damage(),
            std::vector{file() + ": no block begins here: 40 bytes at offset " + std::to_string(whole.size())});
}

TEST_F(JournalCli, FilesAreReadInOrderOfTimeHoweverTheyAreGiven) {
  cut_in_three();
  for (const char* const order : {" .2 .1 .0", " .0 .1 .2", " .1 .0 .2"}) {
    const Ended explain = rondo("journal explain 10.0.0.0/24" + files(order));
    EXPECT_EQ(explain.code, 0) << explain.out;
    const std::vector<std::string> story = lines(explain.out);
    ASSERT_EQ(story.size(), 6U) << order << "\n" << explain.out;
    EXPECT_THAT(story[2], HasSubstr("+1500 ms"));
    EXPECT_THAT(story[5], HasSubstr("ROUTE_TABLE done (in the turn of 'programmer')"));
    const Ended replay = rondo("--json replay" + files(order));
    EXPECT_EQ(replay.code, 0) << replay.out;
    EXPECT_EQ(json::parse(replay.out).at("turns"), json::parse(whole_replay).at("turns")) << order;
  }
  EXPECT_EQ(rondo("journal grep ''" + files(" .0 .1 .2")).out, whole_day);
  EXPECT_EQ(rondo("journal check" + files(" .0 .1 .2")).code, 0);
}

TEST_F(JournalCli, AuditSaysWhichRecordsItHasNotSeen) {
  const Ended whole = rondo("--json journal audit " + file());
  EXPECT_EQ(json::parse(whole.out).at("missing").to_number<int>(), 0);
  EXPECT_TRUE(json::parse(whole.out).at("trouble").as_array().empty());
  cut_in_three();
  EXPECT_THAT(rondo("journal audit" + files(" .0 .1 .2")).out, Not(HasSubstr("missing")));
  const Ended gap = rondo("journal audit" + files(" .0 .2"));
  EXPECT_EQ(gap.code, 0) << "no wait was too long";
  EXPECT_THAT(gap.out,
              AllOf(HasSubstr("rondo: "), HasSubstr(file() + ".0"), HasSubstr("records are missing: what waited then is not known")));
  const Ended in_json = rondo("--json journal audit" + files(" .0 .2"));
  const json::value report = json::parse(in_json.out);
  EXPECT_GT(report.at("missing").to_number<int>(), 0);
  EXPECT_GT(report.at("parts").to_number<int>(), json::parse(whole.out).at("parts").to_number<int>()) << "no wait is followed over the gap";
  ASSERT_EQ(report.at("trouble").as_array().size(), 1U) << in_json.out;
  EXPECT_EQ(report.at("trouble").at(0).at("missing"), report.at("missing"));
  // A byte of a block in the middle of the run was changed.
  std::string parts;
  for (const char* const end : {".2", ".1", ".0"}) {
    std::ifstream in(file() + end, std::ios::binary);
    parts.append(std::istreambuf_iterator<char>(in), {});
  }
  std::vector<journal::Damage> none;
  const std::vector<journal::Block> blocks = journal::find_blocks(parts, none);
  parts[static_cast<std::size_t>(blocks[blocks.size() / 2].offset) + journal::kHeadBytes] ^= 1;
  write(parts);
  const Ended broken = rondo("journal audit " + file());
  EXPECT_EQ(broken.code, 0) << broken.out;
  EXPECT_THAT(broken.out, AllOf(HasSubstr("checksum"), HasSubstr("bytes left out"), HasSubstr("records are missing")));
}

TEST_F(JournalCli, APartThatHoldsTheMiddleOfARunSaysSo) {
  cut_in_three();
  const std::vector<std::string> parts = lines(rondo("journal check" + files(" .0 .1 .2")).out);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(parts[0], HasSubstr(" records of 1 run, 0 missing"));
  EXPECT_THAT(parts[1], HasSubstr(" records of a run that began before, 0 missing"));
  EXPECT_THAT(parts[2], HasSubstr(" records of a run that began before, 0 missing"));
  const json::value middle = json::parse(lines(rondo("--json journal check" + files(" .0 .1 .2")).out)[1]);
  EXPECT_EQ(middle.at("runs"), 0);
  EXPECT_EQ(middle.at("begins_in_run"), true);
}

TEST_F(JournalCli, AFileThatIsMissingIsNamedAndNothingIsTheSame) {
  cut_in_three();
  const Ended check = rondo("journal check" + files(" .0 .2"));
  EXPECT_EQ(check.code, 78);
  EXPECT_THAT(check.out, AllOf(HasSubstr("does not go on where"), HasSubstr("are missing")));
  const json::value trouble = json::parse(lines(rondo("--json journal tail" + files(" .0 .2")).out).front());
  EXPECT_GT(trouble.at("trouble").at("missing").to_number<int>(), 0);
  EXPECT_EQ(json::parse(rondo("--json journal explain 10.0.0.0/24" + files(" .0 .2")).out).at("trouble").as_array().size(), 1U);
  const Ended replay = rondo("replay" + files(" .0 .2"));
  EXPECT_EQ(replay.code, 3);
  EXPECT_THAT(replay.out, HasSubstr("are missing"));
  EXPECT_EQ(rondo("replay" + files(" .0 .1")).code, 78) << "no run begins there";
  EXPECT_THAT(rondo("replay" + files(" .0")).out, AllOf(HasSubstr("no run begins in"), HasSubstr(file() + ".0.1'")));
  EXPECT_EQ(rondo("replay" + files(" .0 .0")).code, 2);
}

TEST_F(JournalCli, ALastRunWithoutItsBeginningIsRefused) {
  cut_in_three();
  live_a_day({.file = file()});
  const std::string whole_and_end = file() + files(" .0");  // A whole run, and the end of another one.
  const Ended replay = rondo("replay " + whole_and_end);
  EXPECT_EQ(replay.code, 78) << replay.out;
  EXPECT_THAT(replay.out, HasSubstr("the last run has no beginning"));
  const Ended first = rondo("replay --run 1 " + whole_and_end);
  EXPECT_EQ(first.code, 0) << first.out;
  EXPECT_THAT(first.out, AllOf(HasSubstr("the same: "), HasSubstr("another run, whose beginning is missing")));
}

TEST_F(JournalCli, AFileThatIsNoneIsAClearError) {
  write("ROUTE_TABLE:10.0.0.0/24|SET|nexthop_group:102\n");
  for (const char* const words : {"journal tail ", "journal grep x ", "journal explain x ", "journal export --swss ", "replay "}) {
    const Ended ended = rondo(words + file());
    EXPECT_EQ(ended.code, 78) << words;
    EXPECT_THAT(ended.out, AllOf(HasSubstr(file()), HasSubstr("offset 0"), HasSubstr("no block begins here")));
  }
  EXPECT_THAT(rondo("journal tail /absent/file").out, HasSubstr("/absent/file"));
  EXPECT_EQ(rondo("--store file:///x replay " + file()).code, 2);
}

TEST_F(JournalCli, ReplayEndsWithZeroWhenTheDayComesOutTheSame) {
  const Ended text = rondo("replay " + file());
  EXPECT_EQ(text.code, 0) << text.out;
  EXPECT_THAT(text.out, HasSubstr("the same: "));
  const Ended ended = rondo("--json replay " + file());
  const json::value report = json::parse(ended.out);
  EXPECT_TRUE(report.at("same").as_bool());
  EXPECT_GT(report.at("turns").to_number<int>(), 20);
  EXPECT_NEAR(report.at("recorded_seconds").to_number<double>(), 1.75, 0.3);
}

TEST_F(JournalCli, ADayWithJobsOfAnOlderRondodIsRefusedWithTheReason) {
  fs::remove(file());
  {
    sim::World world(1);
    std::unique_ptr<Journal> journal = std::move(Journal::open({.file = file()}, world.clock()).value());
    Journal& notes = *journal;
    Runtime runtime({.clock = &world.clock(), .reactor = &world.reactor(), .observer = std::move(journal)});
    notes.note("jobs", "1");
  }
  const Ended ended = rondo("replay " + file());
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("an older rondod recorded it"), HasSubstr("`rondo journal` shows the run")));
}

TEST_F(JournalCli, ADayWithManagersOfAnOlderRondodIsRefusedWithTheReason) {
  fs::remove(file());
  {
    sim::World world(1);
    std::unique_ptr<Journal> journal = std::move(Journal::open({.file = file()}, world.clock()).value());
    Journal& notes = *journal;
    Runtime runtime({.clock = &world.clock(), .reactor = &world.reactor(), .observer = std::move(journal)});
    notes.note("managers", "yes");
  }
  const Ended ended = rondo("replay " + file());
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("the managers of CONFIG_DB ([managers]) of an older rondod"));
}

TEST_F(JournalCli, ReplayShowsTheFirstDifferenceAndEndsWithThree) {
  std::string changed = bytes();
  std::vector<journal::Damage> damage;
  std::uint64_t number = 0;  // The number of the record of the route's retry.
  for (journal::Block block : journal::find_blocks(changed, damage)) {
    if (block.head.kind != journal::BlockKind::Records) continue;
    const std::size_t begin = static_cast<std::size_t>(block.offset) + journal::kHeadBytes;
    std::string payload = changed.substr(begin, block.head.payload_bytes);
    std::size_t at = 0;
    for (std::uint64_t next = block.head.first_record; at < payload.size(); ++next) {
      const std::string_view record = journal::first_record(std::string_view{payload}.substr(at));
      const std::size_t key = record.find("10.0.0.0/24");
      if (journal::RawRecord{record}.kind() == journal::Kind::Retried && key != std::string_view::npos) {
        number = next;
        payload[at + key] = '9';
        break;
      }
      at += record.size();
    }
    seal(block.head, payload);
    changed.replace(static_cast<std::size_t>(block.offset), journal::kHeadBytes, reinterpret_cast<const char*>(&block.head),
                    journal::kHeadBytes);
    changed.replace(begin, payload.size(), payload);
  }
  ASSERT_NE(number, 0U);
  write(changed);
  const Ended ended = rondo("--json replay " + file());
  EXPECT_EQ(ended.code, 3) << ended.out;
  const json::value difference = json::parse(ended.out).at("difference");
  EXPECT_EQ(difference.at("record").to_number<std::uint64_t>(), number);
  EXPECT_THAT(std::string{difference.at("expected").as_string()}, HasSubstr("90.0.0.0/24"));
  EXPECT_THAT(std::string{difference.at("came").as_string()}, AllOf(HasSubstr("10.0.0.0/24"), Not(HasSubstr("90."))));
  EXPECT_THAT(rondo("replay " + file()).out, AllOf(HasSubstr("different: "), HasSubstr("record " + std::to_string(number))));
}

}  // namespace
}  // namespace rondo::cli
