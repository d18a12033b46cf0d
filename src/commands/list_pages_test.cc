// Lists in several answers: keys, show, parked and rejected with 'count' and 'cursor'. Method: the standard commands on a runtime whose
// handlers the test writes, through a session without a socket, in simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/frame.h"
#include "admin/session.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ListsInPages : public testing::Test, public RuntimeFixture {
 protected:
  ListsInPages() {
    add_groups();
    for (const char* const table : {"OTHER", "T"}) {
      orch_.consume(
          table,
          [](std::string_view key, const Fields&) {
            if (key.starts_with("bad")) return Outcome::reject({StatusCode::InvalidArgument, "it is bad"});
            if (key.starts_with("waits")) return Outcome::wait_for(Fact{kGroup, "7"});
            return Outcome::done();
          },
          [](std::string_view) { return Outcome::done(); });
    }
    commands_ = std::move(add_standard_commands(registry_, runtime).value());
    session_ = std::make_unique<AdminSession>(registry_, nullptr, options_, figures_, [] {});
  }

  struct Answer {
    std::vector<std::string> keys = {};
    std::string next = {};   // Empty if there is none.
    std::string error = {};  // The code and the text.
  };
  /// The answer to a command, of all its frames.
  Answer list(const char* command, json::object arguments) {
    arguments["id"] = 1;
    arguments["command"] = command;
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(json::serialize(arguments));
    end_frame(frame, start);
    session_->input().append(frame);
    Answer answer;
    for (bool ended = false; !ended;) {
      while (session_->has_step()) session_->step();
      run_for(1ms);
      std::string_view bytes = session_->output().view();
      for (auto got = next_frame(bytes); got && *got; got = next_frame(bytes)) {
        bytes.remove_prefix((**got).bytes);
        ended = (**got).kind == FrameKind::Json;
        read((**got).payload, answer);
      }
      session_->output().clear();
    }
    return answer;
  }
  static void read(std::string_view payload, Answer& answer) {
    const json::object frame = json::parse(payload).as_object();
    if (const json::value* const error = frame.if_contains("error")) {
      answer.error = json::serialize(*error);
      return;
    }
    const json::value* const result = frame.if_contains("result");
    const json::object& part = result != nullptr ? result->as_object() : frame;
    if (const json::value* const rows = part.if_contains("rows")) {
      for (const json::value& row : rows->as_array()) answer.keys.emplace_back(row.at("key").as_string());
    }
    if (const json::value* const next = part.if_contains("next")) answer.next = next->as_string();
  }
  /// The keys of all answers, each with at most 'count' rows; 'between' is called between two of them.
  std::vector<std::string> all(const char* command, json::object arguments, std::size_t count, const std::function<void()>& between = {}) {
    std::vector<std::string> keys;
    arguments["count"] = count;
    for (int calls = 0; calls < 10'000; ++calls) {
      const Answer answer = list(command, arguments);
      EXPECT_THAT(answer.error, IsEmpty());
      EXPECT_LE(answer.keys.size(), count);
      keys.insert(keys.end(), answer.keys.begin(), answer.keys.end());
      if (answer.next.empty()) return keys;
      arguments["cursor"] = answer.next;
      if (between) between();
    }
    ADD_FAILURE() << "the list does not end";
    return keys;
  }
  void fill(std::string_view table, const std::string& prefix, int rows) {
    for (int i = 0; i < rows; ++i) set(table, prefix + std::to_string(i));
    run();
  }

  OpenOrch& orch_ = runtime.add<OpenOrch>();
  CommandRegistry registry_;
  AdminServerSetup options_;
  AdminServerStats figures_;
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<AdminSession> session_;
};

TEST_F(ListsInPages, AllRowsAreInOneAnswerEach) {
  fill("T", "a", 1300);
  for (const char* const command : {"keys", "show"}) {
    for (const std::size_t count : {1300U, 1299U, 700U, 90U}) {
      const std::vector<std::string> keys = all(command, {{"table", "T"}}, count);
      EXPECT_EQ(keys.size(), 1300U) << command << " " << count;
      EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1300U);
    }
  }
  EXPECT_EQ(list("keys", {{"table", "T"}, {"count", 1300}}).next, "") << "all rows were listed";
  EXPECT_EQ(list("keys", {{"table", "T"}}).keys.size(), 1300U);
}

TEST_F(ListsInPages, TheRowsOfAPatternAreInOneAnswerEach) {
  fill("T", "a", 1000);
  fill("T", "b", 1000);
  for (const std::size_t count : {1U, 2U, 7U, 110U, 111U, 200U, 500U}) {
    const std::vector<std::string> keys = all("keys", {{"table", "T"}, {"pattern", "*7"}}, count);
    EXPECT_EQ(keys.size(), 200U) << count;
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 200U);
  }
  const Answer full = list("keys", {{"table", "T"}, {"pattern", "*"}, {"count", 3}});
  EXPECT_EQ(full.keys.size(), 3U) << "a page of the store has more";
  EXPECT_THAT(all("keys", {{"table", "T"}, {"pattern", "x*"}}, 5), IsEmpty());
  EXPECT_THAT(all("keys", {{"table", "T"}, {"pattern", "b999"}}, 5), ElementsAre("b999"));
}

TEST_F(ListsInPages, RowsThatStayAreListedOnceWhileOthersComeAndGo) {
  for (const char* const pattern : {"", "*0*"}) {
    fill("T", "stays", 600);
    fill("T", "goes", 600);
    int step = 0;
    const auto change = [&] {
      for (int i = 0; i < 5 && step < 600; ++i, ++step) {
        remove("T", "goes" + std::to_string((step * 7) % 600));
        set("T", "comes" + std::to_string(step));
      }
      run();
    };
    std::multiset<std::string> stayed;
    for (std::string& key : all("keys", {{"table", "T"}, {"pattern", pattern}}, 9, change)) {
      if (key.starts_with("stays")) stayed.insert(std::move(key));
    }
    std::multiset<std::string> expected;
    for (int i = 0; i < 600; ++i) {
      const std::string number = std::to_string(i);
      if (*pattern == '\0' || number.find('0') != std::string::npos) expected.insert("stays" + number);
    }
    EXPECT_EQ(stayed, expected) << pattern;
    EXPECT_GT(step, 100);
  }
}

TEST_F(ListsInPages, ASearchEndsAtItsTimeAndGoesOn) {
  fill("T", "a", 3000);
  json::object arguments{{"table", "T"}, {"pattern", "*77"}, {"milliseconds", 1}};
  std::vector<std::string> keys;
  int calls = 0;
  for (bool more = true; more; ++calls) {
    const Answer answer = list("keys", arguments);
    ASSERT_EQ(answer.error, "");
    keys.insert(keys.end(), answer.keys.begin(), answer.keys.end());
    arguments["cursor"] = answer.next;
    more = !answer.next.empty();
  }
  EXPECT_EQ(keys.size(), 30U);
  EXPECT_EQ(calls, 6) << "one page of the store each";
  EXPECT_THAT(list("show", {{"table", "T"}, {"milliseconds", 0}}).error, HasSubstr("'milliseconds' must be from 1 to"));
}

TEST_F(ListsInPages, ATextThatIsNoCursorIsRefused) {
  fill("T", "a", 3);
  fill("T", "waits", 1);
  fill("T", "bad", 1);
  for (const char* const command : {"keys", "show", "parked", "rejected"}) {
    for (const char* const cursor : {"x", "-1", "7 ", " 7", "99999999999999999999", "7x", "r1", "\\x00", "10:T", "-1:Ta", ":", "1"}) {
      if (std::string_view{cursor} == "1" && command != std::string_view{"rejected"}) continue;
      EXPECT_THAT(list(command, {{"table", "T"}, {"cursor", cursor}}).error, HasSubstr("invalid-argument")) << command << " " << cursor;
    }
    EXPECT_THAT(list(command, {{"table", "T"}, {"count", 0}}).error, HasSubstr("'count' must be at least 1"));
  }
  EXPECT_THAT(list("keys", {{"table", "T"}, {"cursor", "4294967295"}}).keys, IsEmpty());
  EXPECT_THAT(list("parked", {{"table", "T"}, {"cursor", "4294967295"}}).keys, IsEmpty());
  EXPECT_THAT(list("parked", {{"count", 1}}).error, HasSubstr("need a 'table'"));
}

TEST_F(ListsInPages, ParkedRowsThatStayAreListedOnce) {
  fill("T", "a", 400);
  fill("T", "waits", 300);
  const std::vector<std::string> still = all("parked", {{"table", "T"}}, 7);
  EXPECT_EQ(std::set<std::string>(still.begin(), still.end()).size(), 300U);
  EXPECT_EQ(still.size(), 300U);
  EXPECT_EQ(list("parked", {{"table", "T"}, {"count", 300}}).next, "") << "there is no further one";
  int step = 0;
  std::multiset<std::string> listed;
  for (std::string& key : all("parked", {{"table", "T"}}, 7, [&] {
         remove("T", "waits" + std::to_string(2 * step));
         set("T", "waits-too" + std::to_string(step++));
         run();
       })) {
    listed.insert(std::move(key));
  }
  EXPECT_GT(step, 10);
  for (int i = 1; i < 300; i += 2) EXPECT_EQ(listed.count("waits" + std::to_string(i)), 1U) << i;
}

TEST_F(ListsInPages, RejectedRowsOfSeveralTablesAreListedOnce) {
  fill("T", "bad", 50);
  fill("OTHER", "bad|", 50);
  for (const std::size_t count : {1U, 7U, 50U, 99U, 100U}) EXPECT_EQ(all("rejected", {}, count).size(), 100U) << count;
  EXPECT_EQ(all("rejected", {{"table", "T"}}, 7).size(), 50U);
  EXPECT_EQ(list("rejected", {{"count", 100}}).next, "");
  const Answer half = list("rejected", {{"count", 50}});
  ASSERT_EQ(half.keys.back(), "bad|9");
  // The rows of the first table are rejected no more.
  for (int i = 0; i < 50; ++i) remove("OTHER", "bad|" + std::to_string(i));
  run();
  EXPECT_EQ(list("rejected", {{"cursor", half.next}}).keys.size(), 50U);
}

}  // namespace
}  // namespace rondo::commands
