// The parser: words of a command line as options, help, and wrong usage.
#include "arguments/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "arguments/commands.h"
#include "output/exit_code.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

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
  EXPECT_EQ(store.kind, "queue");
  EXPECT_EQ(store.separator, '|');
  EXPECT_EQ(set.options.patience, 5s);
  EXPECT_EQ(parse({"keys", "T"}).options.patience, 30s) << "a daemon may take longer";
  EXPECT_EQ(parse({"--store", "unix:///s", "keys", "T", "--timeout", "0.5"}).options.patience, 500ms);
  const Parsed watch = parse({"--store", "unix:///s", "watch", "T", "--count", "3"});
  ASSERT_FALSE(watch.finished) << watch.text;
  EXPECT_THAT(std::get<Call>(watch.options.action).arguments, ElementsAre(Pair("table", "T")));
  EXPECT_THAT(std::get<Call>(watch.options.action).numbers, ElementsAre(Pair("count", 3U)));
  EXPECT_EQ(watch.options.store.kind, "");
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

TEST(CommandLine, WrongUsageIsSaidAndEndsWithTwo) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> table{
      {{}, "subcommand is required"},
      {{"st"}, "unknown command 'st'; did you mean 'stats'?"},
      {{"keys", "T", "--cont", "3"}, "unknown option '--cont'; did you mean '--count'?"},
      {{"sorces"}, "unknown command 'sorces'; did you mean 'sources'?"},
      {{"get", "T"}, "KEY"},
      {{"set", "T", "k", "novalue"}, "'novalue' has no '='"},
      {{"set", "--wait", "3", "T", "k", "f=v"}, "'k' has no '='; '3' was taken as the TABLE: write --wait=3"},
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
      {{"job", "pause", "x"}, "unknown command 'pause'; did you mean 'stop'?"},
      {{"job", "enable", "x"}, "unknown command 'enable'; did you mean 'start'?"},
      {{"job", "ls"}, "unknown command 'ls'; did you mean 'list'?"},
      {{"job", "rm", "x"}, "unknown command 'rm'; did you mean 'remove'?"},
      {{"completion", "fish"}, "SHELL"},
      {{"watch", "T", "--count", "many"}, "--count"},
      {{"--store", "file:///t", "watch", "T"}, "can only be read: get, keys, tables"},
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
      {{"--json", "--store", "file:///t", "watch", "T"}, "can only be read"},
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
  const Parsed turns = parse({"turns", "--count", "20", "--for", "2.5"});
  EXPECT_EQ(std::get<Turns>(turns.options.action).count, 20U);
  EXPECT_EQ(std::get<Turns>(turns.options.action).recorded, 2500ms);
  EXPECT_EQ(parse({"turns", "--for", "10"}).exit_code, 2) << "the daemon's record would end";
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

}  // namespace
}  // namespace rondo::cli
