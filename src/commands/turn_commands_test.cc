// The command `turns`: its answer, its pages, and when the record ends. Method: the standard commands, through a session without a socket,
// in simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "admin/frame.h"
#include "admin/session.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"
#include "sched/limits.h"
#include "sched/turn_record.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

class TurnCommand : public testing::Test, public RuntimeFixture {
 protected:
  TurnCommand() {
    commands_ = std::move(add_standard_commands(registry_, runtime).value());
    session_ = std::make_unique<AdminSession>(registry_, nullptr, options_, figures_, [] {});
    runtime.scheduler().add(*tick_);
    run_for(10ms);
  }
  /// All pages of the answer; the rows of all of them are in the result.
  json::object ask(const std::string& arguments = "") {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(R"({"id":1,"command":"turns")" + arguments + "}");
    end_frame(frame, start);
    session_->input().append(frame);
    std::string bytes;
    while (session_->has_step()) {
      session_->step();
      bytes += session_->output().view();
      session_->output().clear();
    }
    json::array rows;
    pages_ = 0;
    for (std::string_view rest = bytes;;) {
      const auto found = next_frame(rest);
      if (!found || !*found) return {};
      rest.remove_prefix((**found).bytes);
      ++pages_;
      json::value value = json::parse((**found).payload);
      const bool is_last = value.as_object().contains("ok");
      if (is_last && !value.at("ok").as_bool()) return value.at("error").as_object();
      json::object& part = is_last ? value.at("result").as_object() : value.as_object();
      for (json::value& row : part["rows"].as_array()) rows.push_back(std::move(row));
      if (!is_last) continue;
      part["rows"] = std::move(rows);
      return part;
    }
  }
  static std::uint64_t number(const json::object& answer, std::string_view member) { return answer.at(member).to_number<std::uint64_t>(); }
  void give_turns(int count) {
    for (int i = 0; i < count; ++i) {
      tick_->arm_at(runtime.clock().now());
      run_for(2ms);
    }
  }

  CommandRegistry registry_;
  AdminServerSetup options_;
  AdminServerStats figures_;
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<AdminSession> session_;
  std::unique_ptr<TimerSource> tick_ = std::make_unique<TimerSource>("tick", Priority{7}, [] {});
  int pages_ = 0;
};

TEST_F(TurnCommand, TheFirstCallBeginsTheRecordAndTheNextHasTheTurns) {
  const json::object first = ask();
  EXPECT_TRUE(first.at("rows").as_array().empty());
  EXPECT_EQ(number(first, "missed"), 0U);
  EXPECT_EQ(number(first, "next"), runtime.scheduler().stats().turns);
  give_turns(3);
  const json::object second = ask(",\"since\":" + std::to_string(number(first, "next")));
  const json::array& rows = second.at("rows").as_array();
  ASSERT_EQ(rows.size(), 3U);
  const json::object& row = rows[0].as_object();
  EXPECT_EQ(row.at("source").as_string(), "tick");
  EXPECT_EQ(number(row, "priority"), 7U);
  EXPECT_EQ(number(row, "sequence"), number(first, "next") + 1);
  EXPECT_EQ(number(row, "turns"), 1U);
  EXPECT_LE(row.at("start_us").to_number<double>(), second.at("at_us").to_number<double>());
  EXPECT_FALSE(row.at("more").as_bool());
  EXPECT_EQ(number(second, "missed"), 0U);
  EXPECT_EQ(second.at("recorded_us").to_number<double>(), 6000.0);
  EXPECT_EQ(number(second, "next"), number(rows[2].as_object(), "sequence"));
}

TEST_F(TurnCommand, WhatTheAnswerLeavesOutIsMissed) {
  const std::string since = std::to_string(number(ask(), "next"));
  give_turns(5);
  const json::object newest = ask(",\"count\":2,\"since\":" + since);
  EXPECT_EQ(newest.at("rows").as_array().size(), 2U);
  EXPECT_EQ(number(newest, "missed"), 3U);
  const json::object later = ask(",\"since\":1000000");
  EXPECT_EQ(later.at("rows").as_array().size(), 5U) << "the number is of an earlier process";
  EXPECT_EQ(number(later, "missed"), 0U);
  EXPECT_EQ(number(ask(), "missed"), 0U);
}

TEST_F(TurnCommand, ManyTurnsAreAnsweredInPages) {
  ask();
  give_turns(3000);
  EXPECT_EQ(ask(",\"count\":2500").at("rows").as_array().size(), 2500U);
  EXPECT_GT(pages_, 2);
}

TEST_F(TurnCommand, ASourceThatIsGoneIsShownWithItsName) {
  ask();
  give_turns(1);
  tick_.reset();
  EXPECT_EQ(ask().at("rows").as_array().at(0).at("source").as_string(), "tick");
}

TEST_F(TurnCommand, TheRecordEndsTenSecondsAfterTheLastCall) {
  const std::uint64_t since = number(ask(), "next");
  run_for(limits::kTurnRecordKept - 1s);
  EXPECT_NE(runtime.scheduler().turn_record(), nullptr);
  ask();
  run_for(limits::kTurnRecordKept - 1s);
  EXPECT_NE(runtime.scheduler().turn_record(), nullptr);
  run_for(2s);
  EXPECT_EQ(runtime.scheduler().turn_record(), nullptr);
  const std::uint64_t turns = runtime.scheduler().stats().turns;
  const json::object anew = ask(",\"since\":" + std::to_string(since));
  EXPECT_TRUE(anew.at("rows").as_array().empty());
  EXPECT_EQ(number(anew, "missed"), turns - since) << "none of them was kept";
  EXPECT_EQ(anew.at("recorded_us").to_number<double>(), 0.0);
  commands_.reset();
  EXPECT_EQ(runtime.scheduler().turn_record(), nullptr) << "it ends with the commands";
}

TEST_F(TurnCommand, ACountOrASequenceThatCannotBeIsRefused) {
  for (const char* const arguments : {",\"count\":0", ",\"count\":8193", ",\"since\":-1"}) {
    EXPECT_THAT(json::serialize(ask(arguments)), HasSubstr("invalid-argument")) << arguments;
  }
}

}  // namespace
}  // namespace rondo::commands
