// The program against a daemon: the test runs the built `rondo`, and a server with a few commands answers on a socket in a temporary
// directory. Goal: the text on standard output, the text on standard error, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "admin/server.h"
#include "base/testing/temporary_folder.h"
#include "commands/command_limits.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/sched/mailbox.h"
#include "rondo/sched/scheduler.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out;  // Standard output and standard error together.
};

/// Has tables such as T and ROUTE_TABLE; counts rows, and refuses keys that begin with "bad" and the table "closed".
class CountingSink final : public BulkSink {
 public:
  explicit CountingSink(std::map<std::string, int>& rows) : rows_(rows) {}
  Status begin(std::string_view table) override {
    table_ = table;
    return table_ == "closed" ? Status{StatusCode::NotFound, "no table 'closed'"} : Status{};
  }
  Status row(BulkOp, std::string_view key, std::span<const BulkField>) override {
    if (key.starts_with("bad")) return Status{StatusCode::InvalidArgument, "a bad key"};
    if (key == "full") return Status{StatusCode::ResourceExhausted, "no memory"};
    ++rows_[table_];
    return {};
  }
  Status end() override { return {}; }

 private:
  std::map<std::string, int>& rows_;
  std::string table_;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = 0; (end = text.find_first_of("\n\t")) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  lines.push_back(text);
  return lines;
}

class Program : public testing::Test {
 protected:
  Program() {
    reactor = make_epoll_reactor().value();
    scheduler = std::make_unique<Scheduler>(clock, *reactor, make_policy(StrictPriority{}).value());
    scheduler->add(ended);
    const ArgumentSpec table{.name = "table", .kind = ArgumentKind::Text, .required = true, .help = ""};
    const ArgumentSpec key{.name = "key", .kind = ArgumentKind::Text, .required = true, .help = ""};
    const ArgumentSpec fields{.name = "fields", .kind = ArgumentKind::Fields, .required = true, .help = ""};
    const ArgumentSpec wait{.name = "wait_ms", .kind = ArgumentKind::Integer, .required = false, .help = ""};
    add("set", {table, key, fields, wait}, [this](const Arguments& arguments, Reply reply) {
      if (arguments.has("wait_ms")) {
        waited_ms = arguments.integer("wait_ms", 0);
        const bool is_withdrawn = arguments.text("key") == "withdrawn";
        json::object end{{"state", is_withdrawn ? "done" : arguments.text("key")},
                         {"note", "so it is\x1b; waits for next-hops:10.0.0.2 on Ethernet0"},
                         {"facts", json::array{}}};
        if (is_withdrawn) end["plane"] = "withdrawn";
        return reply.finish(end);
      }
      written = arguments.text("table") + "|" + arguments.text("key");
      for (const auto& [field, value] : arguments.fields()) written += "|" + field + "=" + value;
      reply.finish();
    });
    add("get", {table, key}, [](const Arguments& arguments, Reply reply) {
      const std::string asked = arguments.text("key");
      if (asked == "absent") return reply.fail(Status{StatusCode::NotFound, "no row 'absent'"});
      if (asked == "full") return reply.fail(Status{StatusCode::ResourceExhausted, "too much"});
      json::object row{{"key", escape_text(asked)}, {"fields", json::array{json::array{"name", escape_text(asked)}}}};
      if (asked == "rejected" || asked == "parked") {
        row["state"] = asked;
        row["note"] = "so it is";
      }
      reply.finish(row);
    });
    add("keys", {table}, [](const Arguments&, Reply reply) {
      reply.stream([at = 0](Reply& page) mutable {
        while (at < 2500 && !page.page_full()) page.row(json::object{{"key", "k" + std::to_string(at++)}});
        return at < 2500;
      });
    });
  }
  ~Program() override {
    server.reset();
    ::unlink(file().c_str());
  }
  void add(std::string name, std::vector<ArgumentSpec> arguments, CommandHandler handler) {
    ASSERT_TRUE(
        commands.add({.name = std::move(name), .help = "for the test", .arguments = std::move(arguments)}, std::move(handler)).ok());
  }
  std::string socket() const { return directory.file("admin.sock"); }
  std::string file() const { return directory.file("file"); }

  /// Runs `rondo <words>` in a shell while the daemon answers.
  Outcome rondo(const std::string& words) {
    const char* const program = std::getenv("RONDO");
    if (program == nullptr) return {-1, "RONDO does not name the program"};
    const std::string command = "RONDO_SOCKET=" + socket() + " " + program + " " + words;
    Outcome outcome;
    std::thread caller([&] {
      FILE* const pipe = ::popen(command.c_str(), "r");
      char buffer[4096];
      for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.out.append(buffer, got);
      const int status = ::pclose(pipe);
      outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      EXPECT_TRUE(ended.post(true).ok());
    });
    while (!has_ended) {
      if (!scheduler->turn()) scheduler->wait(Instant::never());
    }
    caller.join();
    has_ended = false;
    return outcome;
  }
  void open() {
    auto opened = AdminServer::open(*scheduler, commands, AdminServerSetup({.path = socket()}),
                                    [this] { return std::make_unique<CountingSink>(rows); });
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    server = std::move(*opened);
  }

  SystemClock clock;
  std::unique_ptr<Reactor> reactor;
  std::unique_ptr<Scheduler> scheduler;
  bool has_ended = false;
  Mailbox<bool> ended{"test:program-ended", Priority::p7, [this](bool&&) { has_ended = true; }};
  CommandRegistry commands{"testd"};
  std::map<std::string, int> rows;
  std::string written;
  std::int64_t waited_ms = 0;
  TemporaryFolder directory;
  std::unique_ptr<AdminServer> server;
};

TEST_F(Program, AnOfferToTheShellIsOneLineWhateverTheDaemonSays) {
  ASSERT_TRUE(
      commands.add({.name = "odd", .help = "first\n:files\x1b[2J", .arguments = {}}, [](const Arguments&, Reply reply) { reply.finish(); })
          .ok());
  open();
  Outcome outcome;  // A shell waits for at most 300 ms: on a busy machine it is offered nothing.
  for (int tries = 0; tries < 100 && outcome.out.empty(); ++tries) outcome = rondo("complete -- call od");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

/// Expects only printable characters, line feeds and tabs.
void expect_harmless(const std::string& text, const std::string& of) {
  for (const std::string_view line : lines_of(text)) EXPECT_EQ(safe_length(line), line.size()) << of << ": " << visible_text(text);
}

// Covers every command that only prints an answer, with every shape of one: a list, an object, rows, errors.
TEST_F(Program, EscapesOfAHostileDaemonReachNoTerminal) {
  const std::string evil = "\x1b[2J\u009b31m\u202e\r\nforged\u200b\x07";
  const std::vector<std::string> words{"tables", "health",  "sources", "parked", "stats",  "log",    "ports",
                                       "store",  "why T k", "get T k", "keys T", "config", "retries"};
  const auto wrong = [&](const Arguments&, Reply reply) {
    const json::array list{json::string{evil}, json::object{{evil, evil}, {"key", evil}, {"kind", evil}}};
    reply.finish(json::object{{evil, evil},
                              {"key", evil},
                              {"chain", json::array{json::object{{"table", evil}, {"key", evil}, {"note", evil}}}},
                              {"rows", json::array{json::object{{"key", evil}, {"line", evil}, {evil, list}}}},
                              {"fields", json::array{json::array{evil, evil}}},
                              {"troubles", list},
                              {"notes", list},
                              {evil + "2", list}});
  };
  const ArgumentSpec argument{.name = "table", .required = false};
  const ArgumentSpec key{.name = "key", .required = false};
  for (const std::string& line : words) {
    const std::string name = line.substr(0, line.find(' '));
    if (name != "get" && name != "keys") add(name, {argument, key}, wrong);
  }
  add("fails", {}, [&](const Arguments&, Reply reply) { reply.fail(Status{StatusCode::Internal, evil}); });
  add("own", {{.name = "a\u202e", .help = evil}}, wrong);
  ASSERT_TRUE(commands.add({.name = "bad\u202e", .help = evil}, wrong).ok());
  open();
  for (const std::string& line : words) {
    for (const char* const how : {"", "--json "}) expect_harmless(rondo(how + line + " 2>&1").out, how + line);
  }
  for (const char* const line : {"call fails", "--json call fails", "call own", "call own b=1", "call nosuch", "commands",
                                 "--json commands", "complete -- call ''", "complete -- call own ''", "'\x1b[2J'", "call '\u202e'"}) {
    expect_harmless(rondo(std::string{line} + " 2>&1").out, line);
  }
  EXPECT_THAT(rondo("health 2>&1").out, HasSubstr("\\x1b[2J\\xc2\\x9b31m\\xe2\\x80\\xae\\x0d\\x0aforged\\xe2\\x80\\x8b\\x07"));
}

TEST_F(Program, SetWritesWhatWasTyped) {
  open();
  const Outcome outcome = rondo(R"(set T 'k\x00\xff' a=1 'b=two words' c=)");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(outcome.out, "") << "nothing to say";
  EXPECT_EQ(written, std::string("T|k\0\xff|a=1|b=two words|c=", 24));
}

TEST_F(Program, AWriteThatWaitsEndsWithWhatBecameOfTheRow) {
  open();
  const Outcome done = rondo("set --wait T done a=1");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(done.out, "");
  EXPECT_EQ(waited_ms, 30'000);
  const Outcome parked = rondo("set T parked a=1 --wait=0.5 2>&1");
  EXPECT_EQ(parked.code, 4);
  EXPECT_EQ(parked.out, "rondo: T parked is parked: so it is\\x1b; waits for next-hops:10.0.0.2 on Ethernet0\n");
  EXPECT_EQ(waited_ms, 500);
  const Outcome withdrawn = rondo("set --wait T withdrawn 2>&1");
  EXPECT_EQ(withdrawn.code, 4);
  EXPECT_EQ(withdrawn.out, "rondo: T withdrawn is withdrawn: so it is\\x1b; waits for next-hops:10.0.0.2 on Ethernet0\n");
  const Outcome rejected = rondo("--json set --wait T rejected");
  EXPECT_EQ(rejected.code, 1);
  EXPECT_THAT(rejected.out, HasSubstr(R"({"state":"rejected",)"));
}

TEST_F(Program, AnswersAreTablesForPeopleAndObjectsForMachines) {
  open();
  EXPECT_EQ(rondo("get T k 2>&1").out, "field  value\nname   k\n");
  EXPECT_EQ(rondo("--json get T k 2>&1").out, "{\"key\":\"k\",\"fields\":[[\"name\",\"k\"]]}\n");
  const Outcome keys = rondo("keys T");
  EXPECT_EQ(std::count(keys.out.begin(), keys.out.end(), '\n'), 2500);
  EXPECT_THAT(keys.out, StartsWith("k0\nk1\n"));
  const json::value all = json::parse(rondo("keys T --json").out);
  EXPECT_EQ(all.at("rows").as_array().size(), 2500U);
  EXPECT_THAT(rondo("commands").out, HasSubstr("\nset       table key fields [wait_ms]  for the test\n"));
  EXPECT_THAT(rondo("version").out, HasSubstr("testd " RONDO_VERSION));
}

TEST_F(Program, ErrorsGoToStandardErrorAndHaveTheirExitCode) {
  open();
  EXPECT_EQ(rondo("get T absent 2>/dev/null").out, "");
  const Outcome absent = rondo("get T absent 2>&1");
  EXPECT_EQ(absent.code, 1);
  EXPECT_EQ(absent.out, "rondo: no row 'absent'\n");
  EXPECT_EQ(rondo("--json get T absent 2>&1").out, "{\"error\":{\"code\":\"not-found\",\"message\":\"no row 'absent'\"}}\n");
  EXPECT_EQ(rondo("get T full 2>&1").code, 75);
  EXPECT_EQ(rondo("get T 2>&1").code, 2);
  EXPECT_EQ(rondo("stats 2>&1").code, 1) << "this daemon has no such command";
  server.reset();
  const Outcome nobody = rondo("get T k 2>&1");
  EXPECT_EQ(nobody.code, 69);
  EXPECT_THAT(nobody.out, HasSubstr("no daemon answers: connect to '" + socket() + "'"));
  const Outcome version = rondo("version 2>&1");
  EXPECT_EQ(version.code, 69) << "the daemon's version was asked for, too";
  EXPECT_THAT(version.out, AllOf(HasSubstr("rondo " RONDO_VERSION), HasSubstr("no daemon answers")));
  EXPECT_EQ(json::parse(rondo("version --json 2>/dev/null").out).at("daemon"), json::value(nullptr));
  EXPECT_EQ(rondo("--version").code, 0);
}

/// A plain load of a table that there is not named neither the line nor what was written.
TEST_F(Program, LoadNamesTheLineOfATableThatTheDaemonDoesNotHave) {
  open();
  { std::ofstream(file()) << "[{\"T:a\": {}, \"OP\": \"SET\"},\n {\"closed:b\": {}, \"OP\": \"SET\"},\n {\"U:c\": {}, \"OP\": \"SET\"}]"; }
  for (const char* const options : {"", "--wait "}) {
    const Outcome stopped = rondo(std::string{"load "} + options + file() + " 2>&1 >/dev/null");
    EXPECT_EQ(stopped.code, 1) << options;
    EXPECT_THAT(stopped.out, HasSubstr("rondo: " + file() + ":2:2: no table 'closed'; of the other rows ")) << options;
  }
  EXPECT_THAT(rondo("load --json " + file() + " 2>&1 >/dev/null").out,
              AllOf(HasSubstr("\"code\":\"not-found\""), HasSubstr("file:2:2: no table")));
  EXPECT_EQ(rows["T"], 3);
}

/// A row that a store without memory refused was reported as an invalid argument.
TEST_F(Program, ARefusedRowKeepsTheCodeOfItsRefusal) {
  open();
  { std::ofstream(file()) << R"([{"T:full": {}, "OP": "SET"}])"; }
  const Outcome refused = rondo("load --json " + file() + " 2>&1 >/dev/null");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.out, HasSubstr("\"code\":\"resource-exhausted\""));
}

TEST_F(Program, LoadWritesAFileAndNamesItsFaults) {
  open();
  { std::ofstream(file()) << R"([{"T:a": {"f": "v"}, "OP": "SET"}, {"T:b": {}, "OP": "DEL"}, {"U:c": {}, "OP": "SET"}])"; }
  const Outcome good = rondo("load --json " + file());
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_EQ(json::parse(good.out).at("accepted").as_int64(), 3);
  EXPECT_THAT(rows, ElementsAre(testing::Pair("T", 2), testing::Pair("U", 1)));
  EXPECT_EQ(rondo("load - < " + file()).code, 0);
  EXPECT_EQ(rondo("load --dry-run " + file()).out, "T:a|SET|f:v\nT:b|DEL\nU:c|SET\n");
  { std::ofstream(directory / "odd") << R"([{"T\u001b[2J:a": {}, "OP": "SET"}])"; }
  EXPECT_EQ(rondo("load --dry-run " + directory.file("odd") + "; rm " + directory.file("odd")).out, "T\\x1b[2J:a|SET\n");
  const std::string entries = rondo("--json load --dry-run " + file()).out;
  EXPECT_EQ(entries, "[\n{\"T:a\":{\"f\":\"v\"},\"OP\":\"SET\"},\n{\"T:b\":{},\"OP\":\"DEL\"},\n{\"U:c\":{},\"OP\":\"SET\"}\n]\n");
  EXPECT_EQ(rondo("--json load --dry-run " + file() + " | " + "$RONDO --json load --dry-run -").out, entries) << "load takes it";

  { std::ofstream(file()) << "[\n {\"T:a\": {}}]"; }
  const Outcome malformed = rondo("load " + file() + " 2>&1");
  EXPECT_EQ(malformed.code, 78);
  EXPECT_EQ(malformed.out, "rondo: " + file() + ":2:2: entry 1: no \"OP\"\n");

  { std::ofstream(file()) << R"([{"T:bad1": {}, "OP": "SET"}, {"T:b": {}, "OP": "SET"}])"; }
  const Outcome refused = rondo("load " + file() + " 2>&1");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.out, HasSubstr("row 'T:bad1': invalid-argument: a bad key"));
  EXPECT_THAT(refused.out, HasSubstr("1 refused"));

  { std::ofstream(file()) << R"([{"closed:a": {}, "OP": "SET"}])"; }
  EXPECT_THAT(rondo("load " + file() + " 2>&1").out, HasSubstr("no table 'closed'"));
  EXPECT_EQ(rondo("load " + directory.file("absent") + " 2>&1").code, 1);
}

TEST_F(Program, LoadSaysThatRowsAreWrittenAndWithWaitWhatBecameOfThem) {
  int asked = 0;
  add("tables", {}, [&asked](const Arguments&, Reply reply) {
    reply.expect_rows();
    reply.row(json::object{{"table", "T"}, {"pending", asked++ == 0 ? 2 : 0}});
    reply.finish();
  });
  open();
  { std::ofstream(file()) << R"([{"T:a": {"f": "v"}, "OP": "SET"}, {"T:absent": {}, "OP": "DEL"}])"; }
  const Outcome written = rondo("load " + file());
  EXPECT_EQ(written.code, 0);
  EXPECT_THAT(written.out, AllOf(HasSubstr("2 rows written"), HasSubstr("'rondo rejected' and 'rondo parked' tell what became of them")));
  const Outcome good = rondo("load --wait " + file());
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("0 refused; 1 deleted, 1 done\n"));
  EXPECT_GE(asked, 2) << "until nothing is under way";

  { std::ofstream(file()) << R"([{"T:parked": {}, "OP": "SET"}])"; }
  EXPECT_EQ(rondo("load --wait=5 " + file()).code, 4);
  { std::ofstream(file()) << R"([{"T:a": {}, "OP": "SET"}, {"T:parked": {}, "OP": "SET"}, {"T:rejected": {}, "OP": "SET"}])"; }
  const Outcome bad = rondo("load --wait " + file() + " 2>&1");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("; 1 done, 1 rejected, 1 waiting\n"), HasSubstr("rondo: T rejected is rejected: so it is\n"),
                             HasSubstr("rondo: T parked is waiting: so it is\n")));
  const json::value told = json::parse(rondo("load --json --wait " + file() + " 2>/dev/null").out);
  EXPECT_EQ(told.at("became").at("states").at("rejected").as_int64(), 1);
}

/// Rows that were accepted and that no consumer had taken were missing in an export, and "deleted" for `load --wait`.
TEST_F(Program, RowsThatTheirConsumerHasNotTakenAreNoRowsThatAreNotThere) {
  int staged = 1;
  add("tables", {}, [&staged](const Arguments&, Reply reply) {
    reply.expect_rows();
    reply.row(json::object{{"table", "T"}, {"kind", "staged"}, {"rows", 0}, {"staged", staged}, {"pending", 0}});
    reply.finish();
  });
  add("show", {{.name = "table", .kind = ArgumentKind::Text, .required = true, .help = ""}}, [](const Arguments&, Reply reply) {
    reply.expect_rows();
    reply.finish();
  });
  open();
  const Outcome partial = rondo("export 2>&1");
  EXPECT_EQ(partial.code, 75);
  EXPECT_THAT(partial.out, HasSubstr("1 changed keys of T wait for their consumer"));
  { std::ofstream(file()) << R"([{"T:absent": {"a": "b"}, "OP": "SET"}])"; }
  const Outcome waits = rondo("load --wait=1 " + file() + " 2>&1");
  EXPECT_EQ(waits.code, 75) << waits.out;
  EXPECT_THAT(waits.out, HasSubstr("1 pending"));
  staged = 0;
  EXPECT_EQ(rondo("export 2>&1").code, 0);
  EXPECT_THAT(rondo("load --wait=1 " + file() + " 2>&1").out, HasSubstr("1 deleted"));
}

TEST_F(Program, ADumpKeepsTheLimitOfRowsAndSaysHowManyItLeftOut) {
  const auto rows_of = [](std::size_t count) {
    return [count](const Arguments&, Reply reply) {
      reply.stream([count, at = std::size_t{0}](Reply& page) mutable {
        while (at < count && !page.page_full()) page.row(json::object{{"row", at++}});
        return at < count;
      });
    };
  };
  add("sources", {}, rows_of(limits::kDumpRows));
  add("parked", {}, rows_of(limits::kDumpRows + 7));
  open();
  const Outcome dumped = rondo("dump -");
  EXPECT_EQ(dumped.code, 0);
  const std::string last = "{\"row\":" + std::to_string(limits::kDumpRows - 1) + "}";
  EXPECT_THAT(dumped.out, HasSubstr(last + "]}\n")) << "all of the sources";
  EXPECT_THAT(dumped.out, HasSubstr(last + "],\"rows_left_out\":7}"));
  EXPECT_THAT(dumped.out, Not(HasSubstr("{\"row\":" + std::to_string(limits::kDumpRows) + "}")));
}

TEST_F(Program, ADumpThatLacksPartsIsWrittenAndSaysWhich) {
  open();
  EXPECT_EQ(rondo("dump " + file() + " 2>&1").code, 0) << "a command that this daemon does not know is no trouble";
  ::unlink(file().c_str());
  add("health", {}, [](const Arguments&, Reply reply) { reply.fail(Status{StatusCode::DeadlineExceeded, "the kernel sleeps"}); });
  add("log", {}, [](const Arguments&, Reply reply) { reply.fail(Status{StatusCode::Internal, "no log"}); });
  const Outcome partial = rondo("dump " + file() + " 2>&1 >/dev/null");
  EXPECT_EQ(partial.code, 75);
  EXPECT_EQ(partial.out, "rondo: not in it: health, log: the kernel sleeps\n");
  EXPECT_NE(::access(file().c_str(), R_OK), -1) << "what there is can be sent";
}

TEST_F(Program, AWriteWithoutAnAnswerNamesWhatHealthSays) {
  const ArgumentSpec table{.name = "table", .kind = ArgumentKind::Text, .required = true, .help = ""};
  const ArgumentSpec key{.name = "key", .kind = ArgumentKind::Text, .required = true, .help = ""};
  add("del", {table, key}, [](const Arguments&, Reply reply) { reply.fail(Status{StatusCode::DeadlineExceeded, "no answer"}); });
  add("health", {}, [](const Arguments&, Reply reply) {
    const json::array troubles{"Redis at 10.0.0.9:6379 does not answer", "\x1b[31m"};
    reply.finish(json::object{{"healthy", false}, {"troubles", troubles}, {"notes", json::array{}}});
  });
  open();
  const Outcome said = rondo("del T k 2>&1");
  EXPECT_EQ(said.code, 75);
  EXPECT_EQ(said.out, "rondo: no answer\nrondo: health: Redis at 10.0.0.9:6379 does not answer\nrondo: health: \\x1b[31m\n");
}

// With a million waiting rows, a reader of four rows does not wait for the rest, and the daemon does not make the rest.
TEST_F(Program, ParkedEndsWithItsReader) {
  constexpr int kRows = 1'000'000;
  const ArgumentSpec table{.name = "table", .kind = ArgumentKind::Text, .required = false, .help = ""};
  int first = 0;
  int made = 0;
  add("parked", {table}, [&first, &made](const Arguments&, Reply reply) {
    // Each answer counts its own rows: the answer to a reader that has gone may continue until the daemon notices.
    reply.stream([&made, at = first](Reply& page) mutable {
      for (; at < kRows && !page.page_full(); ++made)
        page.row(json::object{{"key", "10.0.0.0/" + std::to_string(at++)}, {"facts", json::array{}}});
      return at < kRows;
    });
  });
  open();
  const Outcome head = rondo("parked T | head -4");
  EXPECT_THAT(head.out, StartsWith("key"));
  EXPECT_EQ(std::count(head.out.begin(), head.out.end(), '\n'), 4);
  EXPECT_LT(made, kRows / 2) << "rows that nobody reads are not made";
  made = 0;
  const Outcome counted = rondo("parked T --count 3");
  EXPECT_EQ(counted.code, 0);
  EXPECT_EQ(std::count(counted.out.begin(), counted.out.end(), '\n'), 4) << counted.out;
  EXPECT_LT(made, kRows / 2);
  first = kRows - 5;
  EXPECT_EQ(json::parse(rondo("parked T --json --count 3").out).at("rows").as_array().size(), 3U);
  EXPECT_EQ(json::parse(rondo("parked T --json").out).at("rows").as_array().size(), 5U);
}

TEST_F(Program, SetWarnsOfAFieldThatItsTableDoesNotKnow) {
  open();
  const Outcome misspelt = rondo("set ROUTE_TABLE 10.0.0.0/24 nexthop_grup=102 2>&1");
  EXPECT_EQ(misspelt.code, 0);
  EXPECT_THAT(misspelt.out, HasSubstr("ROUTE_TABLE has no field 'nexthop_grup'; did you mean 'nexthop_group'?"));
  EXPECT_EQ(rondo("set PORT_TABLE Ethernet0 lanes=1,2 mtu=9100 2>&1").out, "") << "a field of SONiC's that is ignored is known";
  EXPECT_EQ(rondo("set MY_TABLE k anything=1 2>&1").out, "") << "a table of another program";
}

TEST_F(Program, TheFirstRowOfAFileThatIsRefusedIsNamedWithItsLine) {
  open();
  {
    std::ofstream out(file());
    out << "[\n";
    for (int i = 0; i < 5000; ++i) out << R"({"T:a)" << i << R"(": {"f": "v"}, "OP": "SET"},)" << '\n';
    out << R"({"T:bad": {"f": "v"}, "OP": "SET"},)" << '\n' << R"({"U:bad": {}, "OP": "SET"}])";
  }
  const Outcome refused = rondo("load " + file() + " 2>&1 >/dev/null");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "rondo: " + file() + ":5002:1: the first refused: row 'T:bad': invalid-argument: a bad key\n");
}

// The data plane of this daemon differs in two objects, or in none after a repair.
TEST_F(Program, VerifyEndsWithOneOnADifferenceAndDiffAndResyncWithZero) {
  const ArgumentSpec table{.name = "table", .kind = ArgumentKind::Text, .required = false, .help = ""};
  bool differs = true;
  const auto audited = [&differs](bool repairs) {
    return [&differs, repairs](const Arguments& arguments, Reply reply) {
      reply.expect_rows();
      const auto row = [&](const char* difference, const char* key, const char* wanted, const char* actual) {
        reply.row(json::object{
            {"difference", difference}, {"table", arguments.text("table", "")}, {"key", key}, {"wanted", wanted}, {"actual", actual}});
      };
      if (differs) row("missing", "10.0.0.0/24", "10.0.0.0/24 group 7", "");
      if (differs) row("unwanted", "", "", "10.9.0.0/24 group 9");
      json::object result{{"differences", differs ? 2 : 0}, {"shown", differs ? 2 : 0}};
      if (repairs) result["repaired"] = differs ? 2 : 0;
      if (repairs) differs = false;
      reply.finish(result);
    };
  };
  add("diff", {table}, audited(false));
  add("verify", {table}, audited(false));
  add("resync", {table}, audited(true));
  open();
  const std::string rows =
      "difference  table        key          wanted               actual\n"
      "missing     ROUTE_TABLE  10.0.0.0/24  10.0.0.0/24 group 7\n"
      "unwanted    ROUTE_TABLE                                    10.9.0.0/24 group 9\n";
  const Outcome diff = rondo("diff ROUTE_TABLE 2>&1");
  EXPECT_EQ(diff.code, 0) << "a difference is the answer and no failure";
  EXPECT_EQ(diff.out, rows + "\ndifferences  2\nshown        2\n");
  for (const char* const how : {"verify ROUTE_TABLE", "--json verify"}) {
    const Outcome verified = rondo(std::string{how} + " 2>&1");
    EXPECT_EQ(verified.code, 1) << how;
    EXPECT_THAT(verified.out, HasSubstr("10.9.0.0/24 group 9"));
  }
  const Outcome repaired = rondo("resync ROUTE_TABLE 2>&1");
  EXPECT_EQ(repaired.code, 0);
  EXPECT_EQ(repaired.out, rows + "\ndifferences  2\nshown        2\nrepaired     2\n");
  for (const char* const how : {"verify", "verify --json", "diff"}) EXPECT_EQ(rondo(how).code, 0) << how;
  EXPECT_EQ(rondo("diff 2>&1").out, "differences  0\nshown        0\n");
}

TEST_F(Program, RestartCheckEndsWithOneIfThereIsAReason) {
  add("restart-check", {{"skip_waiting", ArgumentKind::Text, false, ""}}, [](const Arguments& arguments, Reply reply) {
    const bool ready = arguments.text("skip_waiting") == "yes";
    json::array rows;
    if (!ready) rows.push_back(json::object{{"count", 3}, {"what", "rows of ROUTE_TABLE wait"}});
    reply.finish(json::object{{"ready", ready}, {"rows", std::move(rows)}});
  });
  open();
  const Outcome refused = rondo("restart-check 2>&1");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "count  what\n    3  rows of ROUTE_TABLE wait\n\nready  no\n");
  EXPECT_EQ(rondo("restart-check --skip-waiting").code, 0);
  EXPECT_EQ(rondo("--json restart-check").code, 1);
}

TEST_F(Program, SourcesShowSevenColumnsAndWithWideAllOfThem) {
  add("sources", {}, [](const Arguments&, Reply reply) {
    reply.expect_rows();
    for (const char* const name : {"idle", "busy"}) {
      const bool is_busy = std::string_view{name} == "busy";
      reply.row(json::object{{"name", name},
                             {"priority", 1},
                             {"state", name},
                             {"turns", 3},
                             {"items", 4},
                             {"depth", 5},
                             {"ran_us", is_busy ? 9.0 : 1.0},
                             {"longest_wait_us", 2.0},
                             {"turned_away", 6}});
    }
    reply.finish();
  });
  open();
  EXPECT_EQ(rondo("sources 2>&1").out,
            "name  priority  state  turns  ran us  depth  longest wait us\n"
            "busy         1  busy       3    9.00      5             2.00\n"
            "idle         1  idle       3    1.00      5             2.00\n");
  EXPECT_EQ(rondo("sources --wide 2>&1").out,
            "name  priority  state  turns  items  depth  ran us  longest wait us  turned away\n"
            "idle         1  idle       3      4      5    1.00             2.00            6\n"
            "busy         1  busy       3      4      5    9.00             2.00            6\n");
}

TEST_F(Program, FeedWritesRoutesAndWhatTheyNeed) {
  open();
  const Outcome fed = rondo("feed routes --synthetic 20000 --synthetic6 5000 --also all --json");
  EXPECT_EQ(fed.code, 0) << fed.out;
  EXPECT_EQ(json::parse(fed.out).at("refused").as_int64(), 0);
  EXPECT_EQ(rows["ROUTE_TABLE"], 25'000);
  EXPECT_EQ(rows["NEXTHOP_GROUP_TABLE"], 64);
  EXPECT_EQ(rows["NEIGH_TABLE"], 256);
  EXPECT_EQ(rows["INTF_TABLE"], 24);
  EXPECT_EQ(rows["PORT_TABLE"], 8);

  { std::ofstream(file()) << "10.1.0.0/16\nnonsense\n"; }
  const Outcome malformed = rondo("feed routes " + file() + " 2>&1");
  EXPECT_EQ(malformed.code, 78);
  EXPECT_THAT(malformed.out, HasSubstr(file() + ":2: 'nonsense' is not a prefix"));
}

}  // namespace
}  // namespace rondo::cli
