// The numbers of changes: which write leads to which step of a row's trace. Method: the standard commands `set`, `del` and `trace` on a
// runtime whose handlers the test writes, through sessions without a socket, in simulated time.
#include "commands/change_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/frame.h"
#include "admin/session.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"
#include "sim/sim_store.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::ElementsAre;

class ChangeNumbers : public testing::Test, public RuntimeFixture {
 protected:
  explicit ChangeNumbers(MakeStore store = {}) : RuntimeFixture({}, std::move(store)), groups_orch(add_groups()) {
    consume("T", {});
    consume("R", {.set_replaces_delete = true});
    commands_ = std::move(add_standard_commands(registry_, runtime).value());
  }

  void consume(const char* table, ConsumeOptions options) {
    orch.consume(
        table,
        [this](std::string_view, const Fields& fields) -> Outcome {
          const std::string group = fields.text("group").value_or("");
          if (fields.contains("bad")) return Outcome::reject(Status{StatusCode::InvalidArgument, "it is bad"});
          if (fields.contains("order")) return staged();
          if (fields.contains("while")) return Outcome::done_while(Fact{kGroup, group});
          return group.empty() || orch.holds(Fact{kGroup, group}) ? Outcome::done() : Outcome::wait_for(Fact{kGroup, group});
        },
        [this](std::string_view key) { return key == "slow" ? staged() : Outcome::done(); }, options);
  }
  Outcome staged() {
    ticket = orch.current_ticket();
    return Outcome::staged();
  }

  std::unique_ptr<AdminSession> ask(std::string_view request) {
    auto session = std::make_unique<AdminSession>(registry_, nullptr, setup_, figures_, [] {});
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(request);
    end_frame(frame, start);
    session->input().append(frame);
    while (session->has_step()) session->step();
    return session;
  }
  static std::vector<json::object> answers(AdminSession& session) {
    while (session.has_step()) session.step();
    std::vector<json::object> all;
    const std::string bytes{session.output().view()};
    session.output().clear();
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto frame = next_frame(rest);
      rest.remove_prefix((**frame).bytes);
      all.push_back(json::parse((**frame).payload).as_object());
    }
    return all;
  }
  /// Returns the result.
  std::string write(const std::string& command, const std::string& table, const std::string& key, const std::string& more = {}) {
    const auto session = ask(R"({"id":1,"command":")" + command + R"(","table":")" + table + R"(","key":")" + key + "\"" +
                             (more.empty() ? "" : ",") + more + "}");
    const std::vector<json::object> said = answers(*session);
    return said.empty() ? "nothing" : json::serialize(said.front().at("result"));
  }
  std::string set_fields(const std::string& table, const std::string& key, const std::string& fields) {
    return write("set", table, key, R"("fields":)" + fields);
  }
  std::unique_ptr<AdminSession> trace(const std::string& table, const std::string& key) {
    return ask(R"({"id":1,"command":"trace","table":")" + table + R"(","key":")" + key + "\"}");
  }
  /// The steps since the last call, such as "taken 1 2".
  static std::vector<std::string> steps(AdminSession& session) {
    std::vector<std::string> all;
    for (const json::object& answer : answers(session)) {
      for (const json::value& row : answer.at("rows").as_array()) {
        std::string step{row.at("what").as_string()};
        if (const json::value* const changes = row.as_object().if_contains("changes"))
          for (const json::value& one : changes->as_array()) step += " " + std::to_string(one.to_number<int>());
        all.push_back(std::move(step));
      }
    }
    return all;
  }

  OpenOrch& groups_orch;
  OpenOrch& orch = runtime.add<OpenOrch>("routes");
  Ticket ticket;
  CommandRegistry registry_;
  AdminServerSetup setup_;
  AdminServerStats figures_;
  std::unique_ptr<StandardCommands> commands_;
};

const std::string kOrder = R"([["order","1"]])";
const std::string kGroup7 = R"([["group","7"]])";

TEST_F(ChangeNumbers, EachStepNamesTheWriteUntilItsEnd) {
  const auto reader = trace("T", "k");
  EXPECT_EQ(set_fields("T", "k", kGroup7), R"({"change":1})");
  EXPECT_EQ(set_fields("T", "other", kGroup7), R"({"change":2})");
  run();
  groups.emplace("7");
  groups_orch.announce({kGroup, "7"});
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "taken 1", "parked 1", "resolved 1", "retried 1", "done 1"));
  EXPECT_EQ(write("del", "T", "k"), R"({"change":3})");
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 3", "taken 3", "done 3"));
}

TEST_F(ChangeNumbers, WritesThatMergeInTheTableShareTheirSteps) {
  const auto reader = trace("T", "k");
  set_fields("T", "k", kOrder);
  set_fields("T", "k", R"([["b","1"]])");
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "written 2", "taken 1 2", "ordered 1 2"));
  orch.settle(ticket, Outcome::done());
  EXPECT_THAT(steps(*reader), ElementsAre("done 1 2"));
}

TEST_F(ChangeNumbers, AWriteBehindOrdersHasAnAnswerOfItsOwn) {
  const auto reader = trace("T", "k");
  set_fields("T", "k", kOrder);
  run();
  set_fields("T", "k", kOrder);
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "taken 1", "ordered 1", "written 2", "taken 2"));
  orch.settle(ticket, Outcome::done());
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("done 1", "ordered 2"));
  orch.settle(ticket, Outcome::reject(Status{StatusCode::Internal, "the kernel refused it"}));
  EXPECT_THAT(steps(*reader), ElementsAre("rejected 2"));
}

TEST_F(ChangeNumbers, AChangeThatWouldWaitJoinsTheNewerOne) {
  const auto reader = trace("T", "k");
  set_fields("T", "k", kOrder);
  run();
  set_fields("T", "k", kOrder);
  run();
  steps(*reader);
  orch.settle(ticket, Outcome::wait_for(Fact{kGroup, "7"}));
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("superseded 1", "ordered 1 2"));
}

TEST_F(ChangeNumbers, AParkedChangeJoinsTheNewerOne) {
  const auto reader = trace("T", "k");
  set_fields("T", "k", kGroup7);
  run();
  set_fields("T", "k", R"([["group",""]])");
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "taken 1", "parked 1", "written 2", "taken 2", "done 1 2"));
}

TEST_F(ChangeNumbers, ADeleteAndASetAreTwoChanges) {
  const auto reader = trace("T", "slow");
  set_fields("T", "slow", kGroup7);
  write("del", "T", "slow");
  set_fields("T", "slow", "[]");
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "written 2", "written 3", "taken 1 2", "taken 3", "ordered 1 2"));
  orch.settle(ticket, Outcome::done());
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("done 1 2", "done 3"));
}

TEST_F(ChangeNumbers, ASetThatReplacesADeleteStandsForBoth) {
  const auto reader = trace("R", "k");
  write("del", "R", "k");
  set_fields("R", "k", "[]");
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "written 2", "taken 1", "taken 2", "done 1 2"));
  const auto slow = trace("R", "slow");
  write("del", "R", "slow");
  run();
  set_fields("R", "slow", "[]");
  run();
  orch.settle(ticket, Outcome::wait_for(Fact{kGroup, "7"}));
  run();
  EXPECT_THAT(steps(*slow), ElementsAre("written 3", "taken 3", "ordered 3", "written 4", "taken 4", "gave-way 3", "done 3 4"));
}

TEST_F(ChangeNumbers, WhatAFactEndsIsDoneAgainForTheSameWrite) {
  groups.emplace("7");
  const auto reader = trace("T", "k");
  set_fields("T", "k", R"([["while","1"],["group","7"]])");
  run();
  set_fields("T", "k", R"([["bad","1"]])");
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 1", "taken 1", "done 1", "written 2", "taken 2", "rejected 2"));
}

TEST_F(ChangeNumbers, ARowThatWasWithdrawnKeepsItsWrite) {
  groups.emplace("7");
  const auto reader = trace("T", "k");
  set_fields("T", "k", R"([["while","1"],["group","7"]])");
  run();
  steps(*reader);
  groups_orch.withdraw({kGroup, "7"});
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("redone 1", "done 1"));
}

TEST_F(ChangeNumbers, AChangeOfAnotherWriterGetsItsNumberWhenItIsTaken) {
  const auto first = trace("T", "k");
  EXPECT_EQ(set_fields("T", "other", "[]"), R"({"change":1})");
  set("T", "k", {{"order", "1"}});
  run();
  const auto second = trace("T", "k");  // It agrees with the first one.
  set("T", "k", {{"order", "1"}});
  run();
  orch.settle(ticket, Outcome::done());
  run();
  EXPECT_THAT(steps(*first), ElementsAre("taken 2", "ordered 2", "taken 3", "done 2", "ordered 3"));
  EXPECT_THAT(steps(*second), ElementsAre("taken 3", "done 2", "ordered 3"));
  EXPECT_EQ(set_fields("T", "other", "[]"), R"({"change":4})");
}

TEST_F(ChangeNumbers, AChangeThatWasUnderWayBeforeTheTraceHasNone) {
  set_fields("T", "k", kOrder);
  run();
  const auto reader = trace("T", "k");
  set_fields("T", "k", kOrder);
  run();
  orch.settle(ticket, Outcome::done());
  run();
  EXPECT_THAT(steps(*reader), ElementsAre("written 2", "taken 2", "done", "ordered 2"));
}

TEST_F(ChangeNumbers, AWriteThatReplacesFieldsHasTheNumberOfItsLastChange) {
  set_fields("T", "k", R"([["a","1"]])");
  run();
  const auto reader = trace("T", "k");
  const auto writer = ask(R"({"id":1,"command":"set","table":"T","key":"k","fields":[["b","1"]],"replace":true})");
  run();  // It reads the row first.
  EXPECT_EQ(json::serialize(answers(*writer).at(0).at("result")), R"({"change":3})");
  EXPECT_THAT(steps(*reader), ElementsAre("written 2", "written 3", "taken 2", "taken 3", "done 2", "done 3"));
}

TEST_F(ChangeNumbers, AWriteThatWaitsForItsRowNamesItsChange) {
  const auto session = ask(R"({"id":1,"command":"set","table":"T","key":"k","fields":[["bad","1"]],"wait_ms":1000})");
  run_for(10ms);
  const std::vector<json::object> said = answers(*session);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].at("result").at("change"), 1);
  EXPECT_EQ(said[0].at("result").at("state"), "rejected");
}

TEST_F(ChangeNumbers, OfManyWritesTheNewestAreNamed) {
  const auto reader = trace("T", "k");
  for (std::size_t i = 0; i < ChangeIds::kMerged + 4; ++i) set_fields("T", "k", kGroup7);
  run();
  const std::vector<std::string> all = steps(*reader);
  EXPECT_EQ(all.back(), "parked 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20");
}

/// The table is on a server, which merges the writes of all processes.
class NumbersOfAServer : public ChangeNumbers {
 protected:
  NumbersOfAServer() : ChangeNumbers([](Scheduler& scheduler) { return std::make_unique<sim::SimStore>(scheduler); }) {}
};

TEST_F(NumbersOfAServer, BeginWhenAChangeIsTaken) {
  const auto reader = trace("T", "k");
  const auto writer = ask(R"({"id":1,"command":"set","table":"T","key":"k","fields":[["group","7"]]})");
  run_for(1s);
  EXPECT_EQ(json::serialize(answers(*writer).at(0).at("result")), "{}");
  EXPECT_THAT(steps(*reader), ElementsAre("written", "taken 1", "parked 1"));
}

TEST(ChangeIds, AChangeThatWasRefusedDoesNotMerge) {
  ChangeIds ids(false);
  const auto next = [] { return std::uint64_t{99}; };
  const auto event = [](RowEvent::What what, std::uint32_t row = 1) { return RowEvent{.what = what, .op = ChangeOp::Set, .row = row}; };
  ids.written(ChangeOp::Set, 1);
  ids.heard(event(RowEvent::What::Taken), next);
  EXPECT_THAT(ids.heard(event(RowEvent::What::Parked), next), ElementsAre(1U));
  ids.written(ChangeOp::Set, 2);
  EXPECT_THAT(ids.heard(event(RowEvent::What::Taken), next), ElementsAre(2U));
  EXPECT_THAT(ids.heard(event(RowEvent::What::Rejected, RowEvent::kNoRow), next), ElementsAre(2U));
  EXPECT_THAT(ids.waiting(), ElementsAre(1U));
  EXPECT_THAT(ids.heard(event(RowEvent::What::Done), next), ElementsAre(1U));
}

}  // namespace
}  // namespace rondo::commands
