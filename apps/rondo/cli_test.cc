// The command line without a daemon: parsing, reading files, the text for operators, and the exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "arguments/commands.h"
#include "arguments/options.h"
#include "backends/socket_path.h"
#include "commands/load.h"
#include "commands/schema.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/plain_names.h"
#include "output/render.h"
#include "rondo/base/text.h"
#include "terminal/progress.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

Parsed parse(std::vector<const char*> words) {
  words.insert(words.begin(), "rondo");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

TEST(CommandLine, SetTakesTableKeyAndFields) {
  const Parsed parsed = parse({"set", "ROUTE_TABLE", "10.0.0.0/24", "nexthop_group=102", "note=a=b", "empty="});
  ASSERT_FALSE(parsed.finished) << parsed.text;
  const auto& row = std::get<SetRow>(parsed.options.action);
  EXPECT_EQ(row.table, "ROUTE_TABLE");
  EXPECT_EQ(row.key, "10.0.0.0/24");
  EXPECT_THAT(row.fields, ElementsAre(Pair("nexthop_group", "102"), Pair("note", "a=b"), Pair("empty", "")));
}

TEST(CommandLine, CallsCarryTheirArguments) {
  const Parsed why = parse({"--socket", "/tmp/s", "why", "ROUTE_TABLE", "k", "--json"});
  ASSERT_FALSE(why.finished) << why.text;
  EXPECT_EQ(why.options.socket, "/tmp/s");
  EXPECT_TRUE(why.options.json) << "global options may stand anywhere";
  EXPECT_EQ(std::get<Call>(why.options.action).command, "why");
  EXPECT_THAT(std::get<Call>(why.options.action).arguments, ElementsAre(Pair("table", "ROUTE_TABLE"), Pair("key", "k")));
  EXPECT_THAT(std::get<Call>(parse({"parked"}).options.action).arguments, IsEmpty());
  EXPECT_THAT(std::get<Call>(parse({"parked", "T"}).options.action).arguments, ElementsAre(Pair("table", "T")));
  EXPECT_THAT(std::get<Call>(parse({"get", "T", ""}).options.action).arguments, ElementsAre(Pair("table", "T"), Pair("key", "")))
      << "the empty key is a key";
}

TEST(CommandLine, FeedTakesFilesOrNumbers) {
  const Parsed parsed = parse(
      {"feed", "routes", "--synthetic", "1000", "--synthetic6", "200", "--seed", "5", "--groups", "64", "--also", "nexthops,neighbors"});
  ASSERT_FALSE(parsed.finished) << parsed.text;
  const auto& feed = std::get<FeedRoutes>(parsed.options.action);
  EXPECT_EQ(feed.synthetic, 1000U);
  EXPECT_EQ(feed.synthetic6, 200U);
  EXPECT_EQ(feed.order, Order::Shuffled) << "made-up routes come shuffled";
  EXPECT_THAT(feed.also, ElementsAre("nexthops", "neighbors"));
  EXPECT_EQ(std::get<FeedRoutes>(parse({"feed", "routes", "a.gz", "b.gz"}).options.action).order, Order::AsIs);
  EXPECT_EQ(std::get<FeedRoutes>(parse({"feed", "routes", "a.gz", "--order", "sorted"}).options.action).order, Order::Sorted);
}

TEST(CommandLine, AStoreIsAskedInsteadOfADaemon) {
  const Parsed set = parse({"--store", "APPL_DB", "--database-config", "db.json", "--kind", "queue", "set", "T", "k", "--separator", "|"});
  ASSERT_FALSE(set.finished) << set.text;
  const StoreChoice& store = set.options.store;
  EXPECT_EQ(store.where, "APPL_DB");
  EXPECT_EQ(store.database_config, "db.json");
  EXPECT_EQ(store.kind, TableKind::Queue);
  EXPECT_EQ(store.separator, '|');
  EXPECT_EQ(set.options.patience, 5s);
  EXPECT_EQ(parse({"keys", "T"}).options.patience, 30s) << "a daemon may take longer";
  EXPECT_EQ(parse({"--store", "unix:///s", "keys", "T", "--timeout", "0.5"}).options.patience, 500ms);
  const Parsed watch = parse({"--store", "unix:///s", "watch", "T", "--count", "3"});
  ASSERT_FALSE(watch.finished) << watch.text;
  EXPECT_THAT(std::get<Call>(watch.options.action).arguments, ElementsAre(Pair("table", "T")));
  EXPECT_THAT(std::get<Call>(watch.options.action).numbers, ElementsAre(Pair("count", 3U)));
  EXPECT_FALSE(watch.options.store.kind.has_value());
}

TEST(Schema, ThePageOfTheGuideIsTheDeclaration) {
  const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  std::ifstream file(root / "docs/guide/tables.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), tables_page()) << "rondo schema --markdown >docs/guide/tables.md";
}

TEST(CommandLine, HelpOfACommandIsAskedInEitherOrder) {
  EXPECT_EQ(parse({"help"}).text, parse({"--help"}).text);
  EXPECT_EQ(parse({"help", "feed", "routes"}).text, parse({"feed", "routes", "--help"}).text);
  EXPECT_EQ(parse({"help"}).exit_code, kExitDone);
}

TEST(CommandLine, SendTakesOperationDataAndFields) {
  const Parsed sent = parse({"--store", "APPL_DB", "send", "EVENTS", "flush", "all", "reason=a test"});
  ASSERT_FALSE(sent.finished) << sent.text;
  const auto& event = std::get<SendEvent>(sent.options.action);
  EXPECT_EQ(event.op, "flush");
  EXPECT_EQ(event.event.table, "EVENTS");
  EXPECT_EQ(event.event.key, "all");
  EXPECT_THAT(event.event.fields, ElementsAre(Pair("reason", "a test")));
  EXPECT_THAT(parse({"send", "EVENTS", "flush", "all"}).text, HasSubstr("needs --store URL"));
}

TEST(JsonText, NumbersAreWrittenPlainly) {
  const auto text = [](double number) { return json_text(json::value(number)); };
  EXPECT_EQ(text(307652.3), "307652.3") << "not 3.076523E5";
  EXPECT_EQ(text(3), "3");
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(-0.25), "-0.25");
  EXPECT_EQ(text(1e300), "1e+300") << "digits that mean nothing are left out";
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "null") << "JSON has no word for it";
  const json::value mixed = json::parse(R"({"a":[1,2.5,"x\"\u0001",null,true,{},[]],"b":{"c":-3}})");
  EXPECT_EQ(json_text(mixed), R"({"a":[1,2.5,"x\"\u0001",null,true,{},[]],"b":{"c":-3}})");
}

TEST(PlainNames, SharedNextHopsAreNamedByTheirAddresses) {
  EXPECT_EQ(plain_names("NEXTHOP_SET 1.2.3.4@Ethernet0*1: parked"), "next hops 1.2.3.4 on Ethernet0: parked");
  EXPECT_EQ(plain_names("waits for nexthop-set fd00::1@swp1*1+fd00::2@swp2*3"),
            "waits for next hops fd00::1 on swp1, fd00::2 on swp2 (weight 3)");
  EXPECT_EQ(plain_names("waits for nexthop-set:10.0.0.2@Ethernet0*1"), "waits for next hops 10.0.0.2 on Ethernet0");
  for (const char* const same : {"neighbor swp1:10.0.0.2", "a@b", "1@", "1.1.1.1@p*", "", "+1.1.1.1", "user@host * 3"}) {
    EXPECT_EQ(plain_names(same), same);
  }
}

TEST(CommandLine, WrongUsageIsSaidAndEndsWithTwo) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> table{
      {{}, "subcommand is required"},
      {{"st"}, "unknown command 'st'; did you mean 'stats'?"},
      {{"keys", "T", "--cont", "3"}, "unknown option '--cont'; did you mean '--count'?"},
      {{"sorces"}, "unknown command 'sorces'; did you mean 'sources'?"},
      {{"get", "T"}, "KEY"},
      {{"set", "T", "k", "novalue"}, "'novalue' has no '='"},
      {{"feed", "routes"}, "needs a FILE"},
      {{"feed", "routes", "f", "--synthetic", "5"}, "not both"},
      {{"feed", "routes", "--synthetic", "-5"}, "--synthetic"},
      {{"feed", "routes", "f", "--also", "everything"}, "everything"},
      {{"stats", "--timeout", "0"}, "--timeout: '0' is no number from 0.001 on\n"},
      {{"stats", "--timeout", "nan"}, "'nan' is no number"},
      {{"stats", "--timeout", "inf"}, "'inf' is no number"},
      {{"top", "--every", "0"}, "'0' is no number from 0.1 to 3600\n"},
      {{"top", "--batch", "0x10"}, "'0x10' is no whole number from 1 on\n"},
      {{"feed", "routes", "f", "--mtu", "9"}, "'9' is no whole number from 68 to 65535\n"},
      {{"tables", "-j"}, "unknown option '-j'; did you mean '--json'?"},
      {{"top", "--sort", "dpth"}, "--sort: 'dpth' is not one of name,turns,share,longest,depth,waiting,busy; did you mean 'depth'?"},
      {{"completion", "zhs"}, "did you mean 'zsh'?"},
      {{"stats", "--jsn"}, "unknown option '--jsn'; did you mean '--json'?"},
      {{"top", "--srot", "name"}, "did you mean '--sort'?"},
      {{"top", "--sort", "size"}, "--sort"},
      {{"feed", "rotues"}, "unknown command 'rotues'; did you mean 'routes'?"},
      {{"completion", "fish"}, "SHELL"},
      {{"watch", "T", "--count", "many"}, "--count"},
      {{"--store", "file:///t", "watch", "T"}, "can only be looked at: get, keys, tables"},
      {{"--store", "unix:///s", "export"}, "'export' is a daemon's to answer"},
      {{"--store", "unix:///s", "why", "T", "k"}, "'why' is a daemon's to answer"},
      {{"--store", "unix:///s", "set", "--wait", "T", "k"}, "--wait: goes with a daemon"},
      {{"--store", "unix:///s", "set", "--replace", "T", "k"}, "--replace: goes with a daemon"},
      {{"set", "--wait=soon", "T", "k"}, "--wait: 'soon' is no number"},
      {{"--socket", "/s", "sorces"}, "unknown command 'sorces'"},
      {{"doctor"}, "needs --store"},
      {{"--store", "files:///t", "tables"}, "'files://' is no kind of store: a Redis is redis://"},
      {{"--store", "http://t", "get", "T", "k"}, "the file of a daemon file:///PATH"},
      {{"keys", "T", "--kind", "staged"}, "go with --store"},
      {{"--store", "unix:///s", "keys", "T", "--kind", "heap"}, "--kind"},
      {{"--store", "unix:///s", "keys", "T", "--separator", ";"}, "--separator"},
      {{"--store", "unix:///s", "watch", "T", "--count", "0"}, "--count"},
  };
  for (const auto& [words, part] : table) {
    const Parsed parsed = parse(words);
    EXPECT_TRUE(parsed.finished) << part;
    EXPECT_EQ(parsed.exit_code, kExitUsage) << part;
    EXPECT_THAT(parsed.text, HasSubstr(part));
  }
}

TEST(CommandLine, MistakesAreJsonWhereJsonWasAskedFor) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> table{
      {{"--json", "get", "T"}, "KEY is required"},
      {{"stats", "--json", "--timeout", "0"}, "--timeout"},
      {{"--json", "sorces"}, "unknown command 'sorces'; did you mean 'sources'?"},
      {{"--json", "--store", "file:///t", "watch", "T"}, "can only be looked at"},
      {{"--json", "--colour"}, "unknown option '--colour'"},
  };
  for (const auto& [words, part] : table) {
    const Parsed parsed = parse(words);
    EXPECT_EQ(parsed.exit_code, kExitUsage) << part;
    const json::value error = json::parse(parsed.text).at("error");
    EXPECT_EQ(error.at("code").as_string(), "invalid-argument");
    EXPECT_THAT(std::string{error.at("message").as_string()}, HasSubstr(part));
    EXPECT_EQ(parsed.text.find('\n'), parsed.text.size() - 1) << "one line";
  }
  EXPECT_THAT(parse({"get", "T", "--", "--json", "x"}).text, testing::StartsWith("rondo: ")) << "a key may be named so";
}

TEST(CommandLine, WatchTraceTopAndDumpTakeTheirWords) {
  const Parsed watch = parse({"watch", "PORT_TABLE", "Eth*", "--count", "3", "--timeout", "2"});
  ASSERT_FALSE(watch.finished) << watch.text;
  EXPECT_THAT(std::get<Call>(watch.options.action).arguments, ElementsAre(Pair("table", "PORT_TABLE"), Pair("pattern", "Eth*")));
  EXPECT_EQ(watch.options.timeout, Duration{2s});
  EXPECT_THAT(std::get<Call>(parse({"trace", "T", "k"}).options.action).arguments, ElementsAre(Pair("table", "T"), Pair("key", "k")));
  const Parsed top = parse({"top", "--every", "0.5", "--batch", "4", "--sort", "depth"});
  ASSERT_FALSE(top.finished) << top.text;
  EXPECT_EQ(std::get<Top>(top.options.action).every, 500ms);
  EXPECT_EQ(std::get<Top>(top.options.action).frames, 4U);
  EXPECT_EQ(std::get<Top>(top.options.action).order, SourceOrder::Depth);
  EXPECT_EQ(std::get<Top>(parse({"top", "--once"}).options.action).frames, 1U);
  EXPECT_EQ(std::get<Dump>(parse({"dump"}).options.action).file, "");
  EXPECT_EQ(std::get<Dump>(parse({"dump", "-"}).options.action).file, "-");
  EXPECT_THAT(std::get<Complete>(parse({"complete", "--", "get", "--so", ""}).options.action).words, ElementsAre("get", "--so", ""));
}

TEST(CommandLine, EachDescribedCommandIsTakenAndHasHelp) {
  int commands = 0;
  const auto look = [&commands](const std::string& path, const manual::Command& command) {
    ++commands;
    std::vector<const char*> words;
    std::istringstream parts(path);
    std::vector<std::string> kept{std::istream_iterator<std::string>(parts), {}};
    for (const std::string& word : kept) words.push_back(word.c_str());
    words.push_back("--help");
    const Parsed help = parse(words);
    EXPECT_EQ(help.exit_code, 0) << path;
    EXPECT_THAT(help.text, HasSubstr(std::string{command.help}.substr(0, 20))) << path;
    for (const manual::Argument& argument : command.arguments) EXPECT_THAT(help.text, HasSubstr(std::string{argument.name})) << path;
    for (const manual::Option& option : command.options) EXPECT_THAT(help.text, HasSubstr(std::string{option.name})) << path;
  };
  for (const manual::Command& command : program().commands) {
    if (command.hidden) continue;
    if (command.commands.empty()) look(std::string{command.name}, command);
    for (const manual::Command& below : command.commands) look(std::string{command.name} + " " + std::string{below.name}, below);
  }
  EXPECT_GT(commands, 20);
}

TEST(CommandLine, HelpIsForTheCommandAndEndsWithZero) {
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  EXPECT_THAT(parse({"--help"}).text, HasSubstr("Exit codes: 0 done"));
  EXPECT_THAT(parse({"feed", "routes", "--help"}).text, HasSubstr("--synthetic"));
  EXPECT_THAT(parse({"--version"}).text, HasSubstr(RONDO_VERSION));
}

TEST(ExitCode, EveryKindOfErrorHasItsOwn) {
  EXPECT_EQ(exit_code(Code::Ok), 0);
  EXPECT_EQ(exit_code(Code::NotFound), 1);
  EXPECT_EQ(exit_code(Code::InvalidArgument), 2);
  EXPECT_EQ(exit_code(Code::Unavailable), 69);
  EXPECT_EQ(exit_code(Code::ResourceExhausted), 75);
}

TEST(SocketPath, FlagThenEnvironmentThenThePlaces) {
  EXPECT_THAT(socket_candidates("/given"), ElementsAre("/given"));
  ASSERT_EQ(::setenv("RONDO_SOCKET", "/named", 1), 0);
  EXPECT_THAT(socket_candidates(""), ElementsAre("/named"));
  ASSERT_EQ(::unsetenv("RONDO_SOCKET"), 0);
  ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", "/user", 1), 0);
  EXPECT_THAT(socket_candidates(""), ElementsAre("/run/rondo/rondod.sock", "/user/rondo/rondod.sock"));
}

TEST(Load, EntriesBecomeRows) {
  const auto rows = parse_load(R"([
    {"OP": "SET", "ROUTE_TABLE:10.0.0.0/24": {"nexthop": "1.2.3.4", "ifname": "Ethernet0"}},
    {"NEIGH_TABLE:Ethernet0:1.2.3.4": {"neigh": "x"}, "OP": "DEL"}, {"T:": {}, "OP": "SET"}
  ])",
                               "f")
                        .value();
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].table, "ROUTE_TABLE");
  EXPECT_EQ(rows[0].key, "10.0.0.0/24");
  EXPECT_THAT(rows[0].fields, ElementsAre(Pair("nexthop", "1.2.3.4"), Pair("ifname", "Ethernet0")));
  EXPECT_EQ(rows[1].op, BulkOp::Delete);
  EXPECT_EQ(rows[1].key, "Ethernet0:1.2.3.4");
  EXPECT_THAT(rows[1].fields, IsEmpty()) << "a Delete carries no fields";
  EXPECT_EQ(rows[2].key, "");
  EXPECT_THAT(parse_load(" [ ] ", "f").value(), IsEmpty());
}

TEST(Load, AFileWithoutEndIsRefusedAtTheLimit) {
  const auto text = read_text("/dev/zero", 100'000);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code(), Code::ResourceExhausted);
  EXPECT_THAT(std::string{text.error().message()}, HasSubstr("'/dev/zero' has more than 100000 bytes"));
  EXPECT_EQ(read_text("/dev/null", 0).value(), "");
}

TEST(Load, BytesThatAreNoTextComeBackAsExportWroteThem) {
  const std::string key{
      "a\xff"
      "b\\x5c"};
  const std::string value{"line\n", 5};
  const json::array all{json::object{{escape_text("T:" + key), json::object{{escape_text("f\x01"), escape_text(value)}}}, {"OP", "SET"}}};
  const std::string written = json::serialize(all);
  const auto rows = parse_load(written, "f");
  ASSERT_TRUE(rows.has_value()) << rows.error().to_string() << "\n" << written;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().table, "T");
  EXPECT_EQ(rows->front().key, key);
  ASSERT_EQ(rows->front().fields.size(), 1U);
  EXPECT_EQ(rows->front().fields[0].first, "f\x01");
  EXPECT_EQ(rows->front().fields[0].second, value);
}

TEST(Load, AnErrorNamesFileLineColumnAndEntry) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "f:1:1: a '[' is due"},
      {"{}", "f:1:1: a '[' is due"},
      {"[", "f:1:2: entry 1: an object is due"},
      {"[\n  {\"T:k\": {}, \"OP\": \"SET\"},\n  5]", "f:3:3: entry 2: an object is due"},
      {"[{\"T:k\": {}, \"OP\": \"SET\"}", "after entry 1 a ',' or ']' is due"},
      {"[{\"T:k\": {}, \"OP\": \"SET\"}] x", "f:1:28: text after the end"},
      {"[{\"T:k\": {}, \"OP\": \"SET\"},]", "entry 2: an object is due"},
      {"[{\"T:k\": {}", "entry 1: incomplete JSON"},
      {"[{\"T:k\": {\"a\": \"\x01\"}}]", "entry 1:"},
      {"[{\"T:k\": {}}]", "f:1:2: entry 1: no \"OP\""},
      {"[{\"OP\": \"SET\"}]", "entry 1: no \"TABLE:key\""},
      {"[{\"T:k\": {}, \"OP\": \"GET\"}]", "must be \"SET\" or \"DEL\", not \"GET\""},
      {"[{\"T:k\": {}, \"OP\": 1}]", "not 1"},
      {"[{\"T\": {}, \"OP\": \"SET\"}]", "'T' is not TABLE:key"},
      {"[{\":k\": {}, \"OP\": \"SET\"}]", "':k' is not TABLE:key"},
      {"[{\"T:k\": [], \"OP\": \"SET\"}]", "must be an object of fields"},
      {"[{\"T:k\": {\"mtu\": 9100}, \"OP\": \"SET\"}]", "field 'mtu' of 'T:k' must be a string, not 9100"},
      {"[{\"T:k\": {}, \"U:k\": {}, \"OP\": \"SET\"}]", "more than one"},
      {std::string(10000, '['), "entry 1: an object is due"},
  };
  for (const auto& [text, part] : table) {
    const auto rows = parse_load(text, "f");
    ASSERT_FALSE(rows.has_value()) << text;
    EXPECT_THAT(std::string{rows.error().message()}, HasSubstr(part)) << text;
  }
}

/// Records when tables begin and end.
class TableSink final : public BulkSink {
 public:
  Status begin(std::string_view table) override {
    log.append("<").append(table);
    return {};
  }
  Status row(BulkOp, std::string_view key, std::span<const BulkField>) override {
    log.append(" ").append(key);
    return {};
  }
  Status end() override {
    log.append(">");
    return {};
  }
  std::string log;
};

TEST(Load, OrderIsKeptAndNeighboursShareATable) {
  TableSink sink;
  const std::vector<LoadRow> rows{
      {"A", "1", BulkOp::Set, {}}, {"A", "2", BulkOp::Set, {}}, {"B", "3", BulkOp::Set, {}}, {"A", "4", BulkOp::Delete, {}}};
  ASSERT_TRUE(write_rows(rows, sink).ok());
  EXPECT_EQ(sink.log, "<A 1 2><B 3><A 4>");
}

TEST(Render, RowsAreAlignedWithAHeader) {
  const json::object result{{"rows", json::array{json::object{{"name", "routes"}, {"turns", 7}, {"longest_us", 12.5}},
                                                 json::object{{"name", "nêighbors"}, {"turns", 12345}, {"longest_us", nullptr}}}}};
  EXPECT_EQ(render_result("sources", result, false),
            "name       turns  longest us\n"
            "routes         7       12.50\n"
            "nêighbors  12345  -\n");
  EXPECT_THAT(render_result("sources", result, true), HasSubstr("\x1b[2m"));
}

TEST(Render, SourcesAreSevenColumnsAndTheBusiestStandsFirst) {
  const json::value rows =
      json::parse(R"([{"name":"idle","priority":1,"state":"idle","turns":9,"items":9,"depth":0,"ran_us":5.0,"longest_us":1.0,
      "waiting_us":0.0,"longest_wait_us":2.0,"turned_away":0},{"name":"busy","priority":2,"state":"ready","turns":1,"items":1,"depth":7,"ran_us":10.0,
      "longest_us":1.0,"waiting_us":0.0,"longest_wait_us":3.0,"turned_away":0}])");
  EXPECT_EQ(render_result("sources", {{"rows", busiest_sources(rows.as_array())}}, false),
            "name  priority  state  turns  ran us  depth  longest wait us\n"
            "busy         2  ready      1   10.00      7             3.00\n"
            "idle         1  idle       9    5.00      0             2.00\n");
}

TEST(Render, PortsAreSortedByTheirNumber) {
  json::array ports;
  for (const char* const name : {"Ethernet16", "Ethernet8", "Ethernet0", "Ethernet100", "Ethernet08x", "lo"})
    ports.push_back(json::object{{"name", name}});
  EXPECT_EQ(render_result("ports", {{"rows", ports}}, false), "name\nEthernet0\nEthernet8\nEthernet08x\nEthernet16\nEthernet100\nlo\n");
}

TEST(Render, ALongListIsShownInPiecesUnderOneHeader) {
  TextTable table(false);
  table.add(json::object{{"key", "a"}, {"rows", 10}});
  EXPECT_EQ(table.next_lines(), "key  rows\na      10\n");
  table.add(json::object{{"key", "b"}, {"rows", 7}});
  EXPECT_EQ(table.next_lines(), "b       7\n");
  EXPECT_EQ(table.next_lines(), "");
}

TEST(Render, FieldsOfARow) {
  EXPECT_EQ(render_result("get", json::parse(R"({"key":"k","fields":[["nexthop","1.2.3.4"],["x",""]]})").as_object(), false),
            "field    value\nnexthop  1.2.3.4\nx\n");
}

TEST(Render, WhatMostRowsWaitForStandsFirst) {
  const json::value parked = json::parse(R"({"rows":[{"key":"a","rows":1,"oldest_ms":5.0},{"key":"b","rows":20,"oldest_ms":1.0},
    {"key":"c","rows":20,"oldest_ms":9.0},{"key":"d","rows":3,"oldest_ms":1.0}]})");
  const std::string text = render_result("parked", {{"rows", by_waiting_rows(parked.at("rows").as_array())}}, false);
  std::string order;
  for (const char c : text.substr(text.find('\n'))) order.append(c >= 'a' && c <= 'd' ? 1 : 0, c);
  EXPECT_EQ(order, "cbda") << text;
}

TEST(Render, WhyIsAChain) {
  const json::value why = json::parse(R"({"chain":[
    {"table":"ROUTE_TABLE","key":"10.0.0.0/24","state":"parked","facts":[{"kind":"nexthop-group","key":"102"}],"provider":"nexthop-groups","note":""},
    {"table":"NEXTHOP_GROUP_TABLE","key":"102","state":"absent","facts":[],"provider":"","note":"no such row was ever written"}],"cycle":false})");
  EXPECT_EQ(render_result("why", why.as_object(), false),
            "ROUTE_TABLE 10.0.0.0/24: parked, waits for nexthop-group 102 (provided by nexthop-groups)\n"
            "└ NEXTHOP_GROUP_TABLE 102: absent: no such row was ever written\n");
}

TEST(Render, WhyIsATreeWhereARowWaitsForSeveral) {
  const json::value why = json::parse(R"({"chain":[
    {"table":"G","key":"1","state":"parked","facts":[{"kind":"n","key":"a"},{"kind":"n","key":"b"},{"kind":"n","key":"c"}],"missing":2,"provider":"p","note":"","parent":0},
    {"table":"N","key":"a","state":"parked","facts":[{"kind":"port","key":"x"}],"missing":1,"provider":"","note":"nobody provides it","parent":0},
    {"table":"P","key":"x","state":"absent","facts":[],"missing":0,"provider":"","note":"no such row","parent":1},
    {"table":"N","key":"b","state":"absent","facts":[],"missing":0,"provider":"","note":"no such row","parent":0}],"cycle":true})");
  EXPECT_EQ(render_result("why", why.as_object(), false),
            "G 1: parked, waits for n a, n b (the other one is there) (provided by p)\n"
            "├ N a: parked, waits for port x: nobody provides it\n"
            "│ └ P x: absent: no such row\n"
            "└ N b: absent: no such row\n"
            "These rows wait for each other: a cycle.\n");
}

TEST(Render, WhyOfADaemonThatLiesIsShownAsFarAsItMakesSense) {
  for (const char* const parent : {"-7", "1e300", "18446744073709551615", "-0.5", "\"0\"", "[0]", "null", "{}"}) {
    const std::string link = std::string{R"({"table":"G","key":"1","state":"parked","facts":[{"kind":"n","key":"a"}],"missing":)"} +
                             parent + R"(,"parent":)" + parent + "}";
    const json::value why = json::parse(R"({"chain":[)" + link + "," + link + R"(],"cycle":[]})");
    EXPECT_THAT(render_result("why", why.as_object(), false), HasSubstr("G 1: parked")) << parent;
  }
}

TEST(Render, WhySaysWhatIsToBeDoneOnceAndThatItIsADelete) {
  const json::value why = json::parse(R"({"chain":[
    {"table":"N","key":"a","state":"parked","op":"DEL","facts":[{"kind":"neighbor-unused","key":"a"}],"missing":1,"note":"","parent":0},
    {"table":"G","key":"1","state":"queued","op":"SET","facts":[],"note":"","parent":0},
    {"table":"R","key":"r","state":"rejected","facts":[],"note":"SET rejected: invalid-argument: no","parent":0}]})");
  EXPECT_EQ(render_result("why", why.as_object(), false),
            "N a: DEL parked, waits for neighbor-unused a\n"
            "├ G 1: queued\n"
            "└ R r: SET rejected: invalid-argument: no\n");
}

TEST(Render, HealthHasALineForEachTroubleAndNote) {
  const json::value health = json::parse(
      R"({"healthy":false,"troubles":["the store, of all things","the journal"],"notes":["policy"],"kernel":{"system":"Linux"}})");
  EXPECT_EQ(render_result("health", health.as_object(), false),
            "healthy        no\nkernel.system  Linux\n\n"
            "troubles\n  the store, of all things\n  the journal\n\n"
            "notes\n  policy\n");
  const json::value well = json::parse(R"({"healthy":true,"troubles":[],"notes":[]})");
  EXPECT_EQ(render_result("health", well.as_object(), false), "healthy   yes\ntroubles  \nnotes     \n");
}

TEST(Render, WhyThatWasCutShortSaysSo) {
  json::object why{
      {"chain", json::array{json::object{{"table", "T"}, {"key", "k"}, {"state", "absent"}, {"note", "no such row was written"}}}},
      {"cut_short", true}};
  EXPECT_THAT(render_result("why", why, false), HasSubstr("\nThere is more"));
  why["cut_short"] = false;
  EXPECT_THAT(render_result("why", why, false), Not(HasSubstr("more")));
}

TEST(Render, TheLogIsAsItWasWritten) {
  const std::string line = R"(warn change rejected why="'sw\\xff' is not a port name")";
  const json::object log{
      {"rows", json::array{json::object{{"line", escape_text(line)}}, json::object{{"line", escape_text("a\x1b[2Jb")}}}}};
  EXPECT_EQ(render_result("log", log, false), line + "\na\\x1b[2Jb\n") << "what a terminal would obey stays escaped";
}

TEST(Render, OneLongKeyDoesNotPadTheRowsOfTheOthers) {
  const std::string longest(3000, 'k');
  const auto fact = [](const std::string& key, int rows) { return json::object{{"kind", "group"}, {"key", key}, {"rows", rows}}; };
  const std::string text = render_result("parked", {{"rows", json::array{fact("1", 7), fact(longest, 5)}}}, false);
  EXPECT_EQ(text, "kind   key  rows\ngroup  1       7\ngroup  " + longest + "     5\n");
  const json::object figures{{longest, 1}, {"a", 2}};
  EXPECT_THAT(render_result("stats", figures, false), EndsWith("\na  2\n"));
}

TEST(Render, ChangesAndEventsAreLines) {
  EXPECT_EQ(render_change(json::parse(R"({"op":"SET","key":"k","fields":[["a","1"],["b",""]]})")), "SET k a=1 b=\n");
  EXPECT_EQ(render_change(json::parse(R"({"op":"GAP","key":"","fields":[],"missed":7})")), "GAP 7 changes were missed\n");
  EXPECT_EQ(render_event(json::parse(R"({"what":"parked","op":"SET","key":"k","facts":[{"kind":"group","key":"1"}],"at_us":1500})")),
            "     +1.500 ms  parked SET, waits for group 1\n");
  EXPECT_EQ(render_event(json::parse(R"({"what":"gave-way","op":"DEL","key":"k","facts":[{"kind":"unused","key":"1"}],"at_us":1500})")),
            "     +1.500 ms  gave-way DEL to the SET behind it, would wait for unused 1\n");
  EXPECT_EQ(render_event(json::parse(R"({"what":"resolved","facts":[{"kind":"group","key":"1"}],"provider":"groups","at_us":2000000})")),
            "  +2000.000 ms  resolved group 1 by groups\n");
}

TEST(Render, NestedFiguresAreDottedAndListsGetTheirTable) {
  const json::value stats = json::parse(R"({"scheduler":{"turns":5,"polls":2},"consumers":[{"table":"T","done":1}]})");
  EXPECT_EQ(render_result("stats", stats.as_object(), false),
            "scheduler.turns  5\nscheduler.polls  2\n\nconsumers\ntable  done\nT         1\n");
}

TEST(Progress, TheLineSaysHowFarAndHowFast) {
  EXPECT_EQ(Progress::line("routes", 500, 1000, 1s), "routes [###############...............]  50%  500 of 1000 rows  500/s");
  EXPECT_THAT(Progress::line("routes", 0, 0, 0ns), HasSubstr("100%"));
  EXPECT_THAT(Progress::line("day", 1, 2, 1s, 79, "records"), HasSubstr(" 1 of 2 records  1/s"));
}

TEST(Progress, TheLineFitsAndShowsTheEndOfALongName) {
  const std::string name = "/a/folder/with/many/more/b\xc3\xa4h.json";
  for (std::size_t columns = 1; columns < 120; ++columns) {
    EXPECT_LE(characters(Progress::line(name, 500, 1000, 1s, columns)), columns);
  }
  EXPECT_THAT(Progress::line(name, 500, 1000, 1s, 71), AllOf(StartsWith("b\xc3\xa4h.json [###"), HasSubstr("of 1000 rows  500/s")));
  EXPECT_EQ(Progress::line("a\x1b[2J", 0, 1, 1s, 12), "a\\x1b[2J [..");
}

}  // namespace
}  // namespace rondo::cli
