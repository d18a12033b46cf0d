// Logs of runs at executors.
#include "jobs/executors/testing/executors_testbed.h"

namespace rondo::jobs::executors {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(ExecutorsTest, TheLogOfARunComesFromItsExecutorInPieces) {
  define_job("a");
  add_registered(1);
  peers[0]->log = {"one", "two", "three", "four", "five"};
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  std::string text;
  json::object piece = read_log(1, 0);
  while (!piece.at("data").as_string().empty()) {
    EXPECT_EQ(piece.at("from"), text.size());
    text += unescape_text(piece.at("data").as_string());
    EXPECT_EQ(piece.at("next"), text.size());
    piece = read_log(1, static_cast<std::int64_t>(text.size()));
  }
  EXPECT_EQ(text, "one\ntwo\nthree\nfour\nfive\n");
  EXPECT_FALSE(piece.at("ended").as_bool());
  EXPECT_EQ(piece.at("worker").as_string(), peers[0]->url());
  report(log_id(orders()[0]), 200, "");
  EXPECT_TRUE(read_log(1, static_cast<std::int64_t>(text.size())).at("ended").as_bool());
  EXPECT_EQ(read_log(1, 2).at("data"), "e\\x0atwo\\x0a") << "from within a line";
}

TEST_F(ExecutorsTest, AReaderWaitsForFurtherOutputAndForTheEnd) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::size_t first = ask_log(1, 0, true);
  run_a_while();
  EXPECT_THAT(logs[first], IsEmpty());
  peers[0]->log = {"late"};
  ASSERT_TRUE(becomes([&] { return !logs[first].empty(); }));
  EXPECT_EQ(json::parse(logs[first]).as_object().at("data"), "late\\x0a");
  const std::size_t second = ask_log(1, 5, true);
  report(log_id(orders()[0]), 200, "");
  ASSERT_TRUE(becomes([&] { return !logs[second].empty(); }));
  EXPECT_TRUE(json::parse(logs[second]).as_object().at("ended").as_bool());
}

/// An answer has fewer bytes than a piece of an executor. So readers go on within the kept piece, and then at the line behind it.
TEST_F(ExecutorsTest, ALongLogIsSentOnce) {
  define_job("a");
  add_registered(1);
  peers[0]->lines_of_piece = 1000;
  for (int i = 0; i < 5000; ++i) peers[0]->log.push_back(std::to_string(i) + " " + std::string(40, 'x'));
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::string text = whole_log(1);
  EXPECT_EQ(std::ranges::count(text, '\n'), 5000);
  EXPECT_TRUE(text.ends_with("4999 " + std::string(40, 'x') + "\n"));
  EXPECT_EQ(peers[0]->calls["/log"], 6U) << "each of 5 pieces once, and the end";
  EXPECT_THAT(json::serialize(read_log(1, 0)), HasSubstr("0 xxx"));
  EXPECT_EQ(peers[0]->calls["/log"], 6U) << "a second reader gets what is kept";
  peers[0]->log.emplace_back(limits::kExecutorLogKept, 'y');
  EXPECT_THAT(json::serialize(read_log(1, static_cast<std::int64_t>(text.size()))), HasSubstr("yyy"));
  EXPECT_EQ(peers[0]->calls["/log"], 7U);
  read_log(1, 0);
  EXPECT_EQ(peers[0]->calls["/log"], 8U) << "the first piece was dropped";
}

TEST_F(ExecutorsTest, ALineThatGrowsIsReadOn) {
  define_job("a");
  add_registered(1);
  peers[0]->ends_last_line = false;
  peers[0]->log = {"one", "tw"};
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_EQ(read_log(1, 0).at("data"), "one\\x0atw");
  EXPECT_EQ(read_log(1, 6).at("data"), "");
  peers[0]->log = {"one", "two", "three"};
  EXPECT_EQ(read_log(1, 6).at("data"), "o\\x0athree");
  EXPECT_EQ(read_log(1, 13).at("data"), "");
}

TEST_F(ExecutorsTest, AnExecutorThatAnswersEachLineWithTheSameEndHasALogWithAnEnd) {
  define_job("a");
  add_registered(1);
  peers[0]->has_one_text = true;
  peers[0]->log = {"no log"};
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_EQ(read_log(1, 0).at("data"), "no log\\x0a");
  report(log_id(orders()[0]), 200, "");
  EXPECT_EQ(read_log(1, 7).at("data"), "no log\\x0a") << "the run wrote it twice, as far as one can know";
  EXPECT_TRUE(read_log(1, 14).at("ended").as_bool());
}

TEST_F(ExecutorsTest, ALineOfALogThatIsTooLongIsRefused) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  peers[0]->log = {std::string(limits::kExecutorLogBytes, 'x')};
  EXPECT_THAT(json::serialize(read_log(1, 0)), HasSubstr("a line of the log is longer than 1048576 bytes"));
}

TEST_F(ExecutorsTest, ALogInOnePieceIsReadInParts) {
  define_job("a");
  add_registered(1);
  peers[0]->lines_of_piece = 1'000'000;
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += peers[0]->log.emplace_back(std::to_string(i) + std::string(3000, 'x')) + "\n";
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_EQ(whole_log(1), expected);
  EXPECT_EQ(peers[0]->calls["/log"], 4U) << "three parts of 1 MiB, and the end";
}

TEST_F(ExecutorsTest, TheLogsOfABroadcastFollowEachOther) {
  define_job("a", {.route = Route::ShardingBroadcast});
  add_registered(2);
  for (const auto& peer : peers) peer->log = {"at " + peer->url()};
  trigger("a");
  ASSERT_TRUE(gets_orders(2));
  report(log_id_of(1, 0, 0), 200, "");
  report(log_id_of(1, 0, 1), 200, "");
  const json::object first = read_log(1, 0);
  const json::object change = read_log(1, first.at("next").to_number<std::int64_t>());
  EXPECT_FALSE(change.at("ended").as_bool());
  const std::string other{change.at("worker").as_string()};
  EXPECT_NE(other, first.at("worker").as_string());
  EXPECT_EQ(read_log(1, 0, other).at("data").as_string(), "at " + other + "\\x0a");
}

}  // namespace
}  // namespace rondo::jobs::executors
