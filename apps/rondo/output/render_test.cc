// Answers as text for operators: tables, plain names of shared next hops, and numbers of JSON.
#include "output/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>
#include <string>

#include "output/json_text.h"
#include "output/print.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

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

/// A note with U+009B is a control sequence for some terminals, also within JSON.
TEST(JsonText, CharactersThatATerminalExecutesAreEscaped) {
  const std::string text = "\x1b \x7f \xc2\x9b \xe2\x80\xae \xf3\xa0\x80\x81 \xc3\xa4 \\ \"";
  const std::string printed = json_text(json::object{{"a\xc2\x85", json::array{json::string{text}}}});
  EXPECT_EQ(printed, "{\"a\\u0085\":[\"\\u001b \\u007f \\u009b \\u202e \\udb40\\udc01 \xc3\xa4 \\\\ \\\"\"]}");
  EXPECT_EQ(json::parse(printed).at("a\xc2\x85").at(0).as_string(), text);
}

/// An error may repeat a word of the command line.
TEST(Print, AnErrorHasNoColorsAlsoNotOurOwn) {
  testing::internal::CaptureStderr();
  print_error("no field 'a\x1b[1mb'\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "no field 'a\\x1b[1mb'\n");
}

TEST(Render, HistoryShowsEachFieldBeforeAndAfter) {
  const json::value history = json::parse(
      R"({"rows":[{"at":"t","op":"SET","fields":[{"name":"mtu","before":"1500","after":"9000"},{"name":"index","before":null,"after":"3"},)"
      R"({"name":"lanes","after":"1"}]}]})");
  EXPECT_THAT(render_result("history", history.as_object(), false), HasSubstr("SET  mtu: 1500 -> 9000, index: 3, lanes: ? -> 1\n"));
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

/// There were 64 bytes of the stack in its place.
TEST(Render, HistogramsAreForPrograms) {
  const json::value result =
      json::parse(R"({"orders":{"p50_us":1.5,"latency_histogram":{"count":2}},"rows_of":[{"table":"T","wait_histogram":{"count":3}}]})");
  const std::string text = render_result("stats", result.as_object(), false);
  EXPECT_THAT(text, AllOf(HasSubstr("orders.p50_us"), HasSubstr("T"), Not(HasSubstr("histogram"))));
}

TEST(Render, ANumberOfAnySizeHasAText) {
  const json::object result{{"rows", json::array{json::object{{"name", "routes"}, {"longest_us", 1e70}}}}};
  EXPECT_EQ(render_result("sources", result, false),
            "name    longest us\n"
            "routes       1e+70\n");
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

TEST(Render, TurnsSayHowLongAgoTheyBegan) {
  const json::value rows = json::parse(R"([{"sequence":7,"source":"table PORT_TABLE","priority":40,"start_us":1000.0,"span_us":90.0,
      "ran_us":80.5,"turns":2,"items":256,"waited_us":3.0,"more":true}])");
  EXPECT_EQ(render_result("turns", {{"rows", turn_lines(rows.as_array(), 3500)}}, false),
            "ago ms  source            priority  turns  items  ran us  waited us  more\n"
            "  2.50  table PORT_TABLE        40      2    256   80.50       3.00  yes\n");
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
    {"table":"N","key":"a","state":"parked","facts":[{"kind":"port","key":"x"}],"missing":1,"provider":"","note":"no Orch provides it","parent":0},
    {"table":"P","key":"x","state":"absent","facts":[],"missing":0,"provider":"","note":"no such row","parent":1},
    {"table":"N","key":"b","state":"absent","facts":[],"missing":0,"provider":"","note":"no such row","parent":0}],"cycle":true})");
  EXPECT_EQ(render_result("why", why.as_object(), false),
            "G 1: parked, waits for n a, n b (n c is there) (provided by p)\n"
            "├ N a: parked, waits for port x: no Orch provides it\n"
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
  EXPECT_EQ(
      render_event(json::parse(R"({"what":"superseded","op":"SET","key":"k","changes":[7,9],"facts":[{"kind":"g","key":"1"}],"at_us":0})")),
      "     +0.000 ms  superseded #7 #9 SET by a newer change, would wait for g 1\n");
  EXPECT_EQ(render_event(json::parse(R"({"what":"resolved","facts":[{"kind":"group","key":"1"}],"provider":"groups","at_us":2000000})")),
            "  +2000.000 ms  resolved group 1 by groups\n");
}

TEST(Render, NestedFiguresAreDottedAndListsGetTheirTable) {
  const json::value stats = json::parse(R"({"scheduler":{"turns":5,"polls":2},"consumers":[{"table":"T","done":1}]})");
  EXPECT_EQ(render_result("stats", stats.as_object(), false),
            "scheduler.turns  5\nscheduler.polls  2\n\nconsumers\ntable  done\nT         1\n");
}

}  // namespace
}  // namespace rondo::cli
