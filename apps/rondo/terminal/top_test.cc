// The text of `rondo top` for given frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "output/render.h"
#include "terminal/terminal.h"
#include "terminal/top_view.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::MatchesRegex;

json::object frame(double at_us, int turns, int taken) {
  return json::object{
      {"at_us", at_us},
      {"turns", turns},
      {"longest_turn_us", 1234.0},
      {"long_turns", 0},
      {"sweep_rescues", 0},
      {"quarantined", 0},
      {"rss_bytes", 3 * 1048576},
      {"awaited_facts", 1},
      {"facts",
       json::array{json::object{
           {"kind", "group"}, {"key", "7"}, {"table", "ROUTE_TABLE"}, {"rows", 12345}, {"has_provider", false}, {"oldest_ms", 2500.0}}}},
      {"tables",
       json::array{json::object{
           {"table", "ROUTE_TABLE"}, {"taken", taken}, {"done", 0}, {"rejected", 0}, {"queued", 3}, {"parked", 4}, {"in_flight", 5}}}},
      {"store", "ok"},
      {"dataplane", json::object{{"kind", "simulated"}, {"applied", 0}, {"failed", 0}, {"in_flight", 0}, {"busy_us", 0.0}}},
      {"rows", json::array{json::object{{"name", "quiet"},
                                        {"priority", 5},
                                        {"state", "idle"},
                                        {"turns", 0},
                                        {"items", 0},
                                        {"depth", 9},
                                        {"ran_us", 0.0},
                                        {"longest_us", 0.0},
                                        {"waiting_us", 0.0},
                                        {"wait_bound_us", nullptr},
                                        {"busy_us", 0.0}},
                           json::object{{"name", "busy"},
                                        {"priority", 20},
                                        {"state", "ready"},
                                        {"turns", turns},
                                        {"items", turns},
                                        {"depth", 1},
                                        {"ran_us", turns * 100.0},
                                        {"longest_us", 1234.0},
                                        {"waiting_us", 50.0},
                                        {"wait_bound_us", 4321.0},
                                        {"busy_us", 2e6}}}}};
}

std::string all_of(TopView& view, std::size_t most = 1000, std::size_t columns = 1000) {
  std::string text;
  for (const std::string& line : view.lines({most, columns}, false, "note")) text += line + "\n";
  return text;
}

TEST(TopView, RatesAreThoseBetweenTwoFrames) {
  TopView view(SourceOrder::Share);
  view.take(frame(10e6, 1000, 5000));
  EXPECT_THAT(all_of(view), HasSubstr("turns       100/s")) << "of the first frame: since the start";
  view.take(frame(11e6, 6000, 8000));
  const std::string text = all_of(view);
  EXPECT_THAT(text, HasSubstr("turns       5,000/s, longest 1.23 ms"));
  EXPECT_THAT(text, MatchesRegex("(.|\n)*ROUTE_TABLE +3 +4 +5 +3,000 +0 +0\n(.|\n)*"));
  EXPECT_THAT(text, MatchesRegex("(.|\n)*busy +20 +ready +5,000 +5,000 +50.0 % +100 us +1.23 ms +1 +50.0 us +4.32 ms +2.00 s\n(.|\n)*"));
  EXPECT_THAT(text, MatchesRegex("(.|\n)*quiet +5 +idle( +[^ ]+ ?%?)* +9 +- +- +-\n(.|\n)*")) << "it has no bound";
  EXPECT_THAT(text, HasSubstr("group 7 (no Orch provides it)"));
  EXPECT_LT(text.find("busy"), text.find("quiet"));
  view.sort_by(SourceOrder::Depth);
  EXPECT_GT(all_of(view).find("busy  "), all_of(view).find("quiet"));
}

TEST(TopView, ADaemonThatBeganAnewBeginsAnew) {
  TopView view(SourceOrder::Name);
  view.take(frame(100e6, 100'000, 0));
  view.take(frame(1e6, 50, 0));
  EXPECT_THAT(all_of(view), HasSubstr("turns       50/s"));
}

TEST(TopView, FitsTheLinesThereAre) {
  TopView view(SourceOrder::Name);
  view.take(frame(10e6, 1000, 5000));
  for (std::size_t most = 6; most < 30; ++most) EXPECT_LE(view.lines({most, 80}, true, "").size(), most) << most;
  EXPECT_THAT(all_of(view, 24), HasSubstr("busy"));
}

TEST(TopView, SharedNextHopsAreNamedByTheirAddresses) {
  json::object told = frame(10e6, 1000, 5000);
  told["facts"] = json::array{
      json::object{{"kind", "next-hops"}, {"key", "10.0.0.2 on swp1"}, {"table", "ROUTE_TABLE"}, {"rows", 1}, {"oldest_ms", 1.0}}};
  TopView view(SourceOrder::Name);
  view.take(told);
  EXPECT_THAT(all_of(view, 100), HasSubstr("next-hops 10.0.0.2 on swp1"));
}

TEST(TopView, FactsThatHaveNoRoomAreCounted) {
  json::object four = frame(10e6, 1000, 5000);
  const json::value fact = four.at("facts").at(0);
  four["facts"] = json::array{fact, fact, fact, fact};
  four["awaited_facts"] = 9;
  TopView view(SourceOrder::Name);
  view.take(four);
  EXPECT_THAT(all_of(view, 100), HasSubstr("\n... 5 more\n")) << "a frame holds not all of them";
  four["awaited_facts"] = 4;
  view.take(four);
  EXPECT_THAT(all_of(view, 100), testing::Not(HasSubstr(" more")));
  const std::string text = all_of(view, 18);
  EXPECT_THAT(text, MatchesRegex("(.|\n)*group 7 [^\n]*\n\\.\\.\\. [23] more\n\nSOURCE(.|\n)*"));
}

/// A frame with sources s10 to s43, as many as a complete daemon has.
json::object frame_of_many() {
  json::object many = frame(10e6, 1000, 5000);
  json::array rows;
  for (int i = 10; i < 44; ++i) {
    json::object row = many.at("rows").at(1).as_object();
    row["name"] = "s" + std::to_string(i);
    rows.push_back(std::move(row));
  }
  many["rows"] = std::move(rows);
  return many;
}

TEST(TopView, EverySourceCanBeReachedAndTheOthersAreCounted) {
  TopView view(SourceOrder::Name);
  view.take(frame_of_many());
  std::string text = all_of(view, 24);
  EXPECT_THAT(text, HasSubstr("s10 "));
  ASSERT_THAT(text, MatchesRegex("(.|\n)*\n\\.\\.\\. [0-9]+ more\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 24);
  std::set<std::string> seen;
  for (int pages = 0; pages < 10; ++pages) {
    for (int i = 10; i < 44; ++i) {
      const std::string name = "s" + std::to_string(i);
      if (text.find("\n" + name + " ") != std::string::npos) seen.insert(name);
    }
    view.move(TopView::Move::PageDown);
    text = all_of(view, 24);
  }
  EXPECT_EQ(seen.size(), 34U);
  EXPECT_THAT(text, HasSubstr("s43 ")) << "what is beyond the end stays at it";
  EXPECT_THAT(text, MatchesRegex("(.|\n)*\n\\.\\.\\. [0-9]+ above\n"));
  view.move(TopView::Move::Up);
  EXPECT_THAT(all_of(view, 24), MatchesRegex("(.|\n)*s42 (.|\n)*\n\\.\\.\\. 1 more, [0-9]+ above\n"));
  view.move(TopView::Move::First);
  EXPECT_THAT(all_of(view, 24), HasSubstr("s10 "));
  view.move(TopView::Move::Last);
  EXPECT_THAT(all_of(view, 24), HasSubstr("s43 "));
  EXPECT_THAT(all_of(view), testing::Not(HasSubstr(" more"))) << "all fit";
}

TEST(TopView, EveryColumnCanBeReached) {
  TopView view(SourceOrder::Name);
  view.take(frame(10e6, 1000, 5000));
  const auto titles = [&] {
    for (const std::string& line : view.lines({24, 80}, false, "")) {
      EXPECT_LE(characters(line), 80U) << line;
      if (line.starts_with("SOURCE")) return line;
    }
    return std::string{};
  };
  EXPECT_THAT(titles(), MatchesRegex("SOURCE +PRIORITY +STATE.*  >"));
  EXPECT_THAT(titles(), testing::Not(HasSubstr("BUSY")));
  view.move(TopView::Move::Right);
  EXPECT_THAT(titles(), MatchesRegex("SOURCE +STATE.*  <>"));
  for (int i = 0; i < 20; ++i) view.move(TopView::Move::Right);
  EXPECT_THAT(titles(), MatchesRegex("SOURCE .* BOUND +BUSY  <"));
  EXPECT_THAT(all_of(view, 24, 80), HasSubstr("TABLE        QUEUED  PARKED")) << "what fits stays";
  view.move(TopView::Move::Left);
  EXPECT_THAT(titles(), HasSubstr("<>")) << "one step back is seen at once";
  for (std::size_t columns = 1; columns < 120; ++columns) EXPECT_FALSE(view.lines({24, columns}, true, "").empty()) << columns;
  EXPECT_THAT(all_of(view), MatchesRegex("(.|\n)*SOURCE +PRIORITY[^<>]*BUSY\n(.|\n)*"));
}

TEST(TopView, LinesAreCutByCharactersAndNotByBytes) {
  EXPECT_EQ(cut_to("nêighbors", 3), "nêi");
  EXPECT_EQ(cut_to("\x1b[7mab\x1b[0mcd", 3), "\x1b[7mab\x1b[0mc");
  EXPECT_EQ(cut_to("ab", 80), "ab");
}

}  // namespace
}  // namespace rondo::cli
