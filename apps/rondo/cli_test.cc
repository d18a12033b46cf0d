// The command line without a daemon: what is parsed, how files are read, what people see, and which exit code a script gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "exit_code.h"
#include "load.h"
#include "options.h"
#include "progress.h"
#include "render.h"
#include "socket_path.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
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
  EXPECT_THAT(std::get<Call>(watch.options.action).arguments, testing::UnorderedElementsAre(Pair("table", "T"), Pair("count", "3")));
  EXPECT_FALSE(watch.options.store.kind.has_value());
}

TEST(CommandLine, WrongUsageIsSaidAndEndsWithTwo) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> table{
      {{}, "subcommand is required"},
      {{"sorces"}, "unknown command 'sorces'; did you mean 'sources'?"},
      {{"get", "T"}, "KEY"},
      {{"set", "T", "k", "novalue"}, "'novalue' has no '='"},
      {{"feed", "routes"}, "needs a FILE"},
      {{"feed", "routes", "f", "--synthetic", "5"}, "not both"},
      {{"feed", "routes", "--synthetic", "-5"}, "--synthetic"},
      {{"feed", "routes", "f", "--also", "everything"}, "everything"},
      {{"stats", "--timeout", "0"}, "--timeout"},
      {{"stats", "--jsn"}, "--jsn"},
      {{"--store", "unix:///s", "why", "T", "k"}, "'why' is a daemon's to answer"},
      {{"--socket", "/s", "sorces"}, "unknown command 'sorces'"},
      {{"doctor"}, "needs --store"},
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

/// Tables as they begin and end.
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

TEST(Render, FieldsOfARow) {
  EXPECT_EQ(render_result("get", json::parse(R"({"key":"k","fields":[["nexthop","1.2.3.4"],["x",""]]})").as_object(), false),
            "field    value\nnexthop  1.2.3.4\nx\n");
}

TEST(Render, WhyIsAChain) {
  const json::value why = json::parse(R"({"chain":[
    {"table":"ROUTE_TABLE","key":"10.0.0.0/24","state":"parked","facts":[{"kind":"nexthop-group","key":"102"}],"provider":"nexthop-groups","note":""},
    {"table":"NEXTHOP_GROUP_TABLE","key":"102","state":"absent","facts":[],"provider":"","note":"no such row was ever written"}],"cycle":false})");
  EXPECT_EQ(render_result("why", why.as_object(), false),
            "ROUTE_TABLE 10.0.0.0/24: parked, waits for nexthop-group 102 (provided by nexthop-groups)\n"
            "└ NEXTHOP_GROUP_TABLE 102: absent: no such row was ever written\n");
}

TEST(Render, NestedFiguresAreDottedAndListsGetTheirTable) {
  const json::value stats = json::parse(R"({"scheduler":{"turns":5,"polls":2},"consumers":[{"table":"T","done":1}]})");
  EXPECT_EQ(render_result("stats", stats.as_object(), false),
            "scheduler.turns  5\nscheduler.polls  2\n\nconsumers\ntable  done\nT         1\n");
}

TEST(Progress, TheLineSaysHowFarAndHowFast) {
  EXPECT_EQ(Progress::line("routes", 500, 1000, 1s), "routes [###############...............]  50%  500 of 1000 rows  500/s");
  EXPECT_THAT(Progress::line("routes", 0, 0, 0ns), HasSubstr("100%"));
}

}  // namespace
}  // namespace rondo::cli
