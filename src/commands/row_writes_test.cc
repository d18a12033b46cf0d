// Writes of one row, in simulated time: those that replace or unset fields, and those that wait for the outcome of their row: done,
// rejected, parked on facts, and the timeout. Method: the standard commands on a runtime whose handlers the test writes, through a session
// without a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "admin/frame.h"
#include "admin/session.h"
#include "orch/runtime_fixture.h"
#include "rondo/commands/standard_commands.h"
#include "sim/sim_store.h"

namespace rondo::commands {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

class WaitingWrites : public testing::Test, public RuntimeFixture {
 protected:
  WaitingWrites() : WaitingWrites(MakeStore{}, StandardCommandsOptions{}) {}
  WaitingWrites(MakeStore store, StandardCommandsOptions options) : RuntimeFixture({}, std::move(store)) {
    consumer_ = orch_.consume(
        "T", [this](std::string_view, const Fields& fields) { return handle(fields); },
        [this](std::string_view) { return handled_ += "del ", Outcome::done(); });
    add_groups();
    commands_ = std::move(add_standard_commands(registry_, runtime, std::move(options)).value());
    session_ = std::make_unique<AdminSession>(registry_, nullptr, options_, figures_, [] {});
  }

  /// Returns the outcome that the row's fields specify.
  Outcome handle(const Fields& fields) {
    handled_ += "set";
    for (const Field field : fields) handled_ += "," + std::string{field.name} + "=" + std::string{field.value};
    handled_ += " ";
    for (const Field field : fields) {
      if (field.name == "group" && !groups.contains(field.value)) return Outcome::wait_for({kGroup, std::string{field.value}});
      if (field.name == "bad") return Outcome::reject(Status{StatusCode::InvalidArgument, "it is bad"});
      if (field.name == "later") return Outcome::retry_after(10s, Status{StatusCode::Unavailable, "not now"});
    }
    return Outcome::done();
  }

  void ask(std::string_view request) {
    std::string frame;
    const std::size_t start = begin_frame(frame, FrameKind::Json);
    frame.append(request);
    end_frame(frame, start);
    session_->input().append(frame);
    while (session_->has_step()) session_->step();
  }
  /// The answer since the last call; empty if there was none.
  std::string answer() {
    while (session_->has_step()) session_->step();
    const std::string bytes{session_->output().view()};
    session_->output().clear();
    const auto frame = next_frame(bytes);
    return frame && *frame ? std::string{(**frame).payload} : std::string{};
  }

  /// The handlers' calls since the last call.
  std::string handled() {
    run_for(10ms);
    return std::exchange(handled_, {});
  }

  std::string handled_;
  OpenOrch& orch_ = runtime.add<OpenOrch>();
  ConsumerHandle consumer_;
  CommandRegistry registry_;
  AdminServerSetup options_;
  AdminServerStats figures_;
  std::unique_ptr<StandardCommands> commands_;
  std::unique_ptr<AdminSession> session_;
};

using WritesOfARow = WaitingWrites;

/// On a store behind a connection, where a write is done when the store has confirmed it.
class ConfirmedWrites : public WaitingWrites {
 protected:
  ConfirmedWrites() : WaitingWrites([](Scheduler& scheduler) { return std::make_unique<sim::SimStore>(scheduler); }, {}) {}
  sim::SimStore& store() { return static_cast<sim::SimStore&>(runtime.store()); }
};

TEST_F(ConfirmedWrites, AreReportedWithTheStoresTroubleWhenItDoesNotConfirmThem) {
  store().set_latency(8s, 8s);
  ask(R"({"id":1,"command":"set","table":"T","key":"slow"})");
  run_for(15s);
  EXPECT_EQ(answer(), "") << "the store is slow, and nothing is wrong with it";
  run_for(2s);
  EXPECT_THAT(answer(), HasSubstr(R"("ok":true)"));
  store().set_latency(1ms, 1ms);
  store().disconnect();
  ask(R"({"id":2,"command":"set","table":"T","key":"a"})");
  run_for(5s);
  EXPECT_EQ(answer(), "");
  run_for(2s);
  EXPECT_THAT(answer(), AllOf(HasSubstr("deadline-exceeded"), HasSubstr("the store has not confirmed the write"),
                              HasSubstr("the connection to the store is lost")));
  store().reconnect();
  run_for(1s);
  EXPECT_EQ(answer(), "") << "the call has its answer";
}

/// Another part of the program has rows of its own in the table.
class ClaimedRows : public WaitingWrites {
 protected:
  ClaimedRows()
      : WaitingWrites({}, {.claim_of = [](std::string_view, std::string_view key) {
                        return key == "mine" ? RowClaim{.owner = "it is mine", .note = {}}
                                             : RowClaim{.owner = {}, .note = key == "a" ? "zebra, too" : ""};
                      }}) {}
};

TEST_F(ClaimedRows, AreNotWrittenByCommands) {
  ask(R"({"id":1,"command":"set","table":"T","key":"mine","fields":[["x","1"]]})");
  EXPECT_THAT(answer(), AllOf(HasSubstr("failed-precondition"), HasSubstr("the row mine of T was not written: it is mine")));
  ask(R"({"id":2,"command":"del","table":"T","key":"mine"})");
  EXPECT_THAT(answer(), HasSubstr("it is mine"));
  EXPECT_EQ(handled(), "");
}

TEST_F(ClaimedRows, WhySaysWhoElseWantsThem) {
  set("T", "a", {{"x", "1"}});
  handled();
  ask(R"({"id":1,"command":"why","table":"T","key":"a"})");
  run_for(10ms);
  EXPECT_THAT(answer(), HasSubstr("zebra, too"));
}

TEST_F(WritesOfARow, AReplacedRowHasNoFieldsButTheNamedOnes) {
  set("T", "a", {{"x", "1"}, {"y", "2"}});
  EXPECT_EQ(handled(), "set,x=1,y=2 ");
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["y","3"]],"replace":true})");
  EXPECT_EQ(handled(), "del set,y=3 ");
  EXPECT_EQ(answer(), R"({"id":1,"ok":true,"result":{"change":2}})");
  ask(R"({"id":2,"command":"set","table":"T","key":"a","fields":[["y","4"],["z","5"]],"replace":true,"wait_ms":1000})");
  EXPECT_EQ(handled(), "set,y=4,z=5 ") << "no field goes, so the row is not deleted";
  EXPECT_THAT(answer(), HasSubstr(R"("state":"done")"));
  ask(R"({"id":3,"command":"set","table":"T","key":"new","fields":[["y","4"]],"replace":true})");
  EXPECT_EQ(handled(), "set,y=4 ");
}

TEST_F(WritesOfARow, AFieldIsUnsetAndTheOthersStay) {
  set("T", "a", {{"x", "1"}, {"y", "2"}, {"z", "3"}});
  handled();
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","7"]],"unset":[["y",""],["no",""]],"wait_ms":1000})");
  EXPECT_EQ(handled(), "del set,z=3,x=7 ");
  EXPECT_THAT(answer(), HasSubstr(R"("state":"done")"));
  ask(R"({"id":2,"command":"set","table":"T","key":"a","fields":[["x","7"]],"unset":[["x",""]]})");
  EXPECT_THAT(answer(), HasSubstr("field 'x' is both set and unset"));
  ask(R"({"id":3,"command":"set","table":"T","key":"none","unset":[["x",""]]})");
  EXPECT_EQ(handled(), "");
  EXPECT_THAT(answer(), AllOf(HasSubstr("not-found"), HasSubstr("no row 'none' in T")));
}

TEST_F(WritesOfARow, WhatWaitsForTheConsumerIsReplacedTooAndNothingOfItIsUnsetBlindly) {
  orch_.hold(consumer_);
  set("T", "a", {{"x", "1"}, {"y", "2"}});
  ask(R"({"id":1,"command":"set","table":"T","key":"a","unset":[["y",""]]})");
  EXPECT_THAT(answer(), AllOf(HasSubstr("failed-precondition"), HasSubstr("wait for its consumer")));
  ask(R"({"id":2,"command":"set","table":"T","key":"a","fields":[["z","3"]],"replace":true})");
  run_for(10ms);
  orch_.release(consumer_);
  EXPECT_EQ(handled(), "del set,z=3 ");
}

/// A log of writes: "command what: before -> after", or "command what" of a call that told no change.
template <class Of>
class Told : public Of {
 protected:
  Told() {
    this->options_.on_write = [this](const AdminWrite& write) { begun += std::string{write.command} + " "; };
    this->options_.on_change = [this] { return [this](const AdminWrite& write) { tell(write); }; };
  }
  void tell(const AdminWrite& write) {
    told += std::string{write.command} + " " + std::string{write.what};
    if (write.before) told += ": " + std::string{*write.before} + " -> " + std::string{write.after};
    told += "\n";
  }
  std::string told_now() {
    this->run_for(1s);
    return std::exchange(told, {});
  }
  std::string begun;
  std::string told;
};

using ToldWrites = Told<WaitingWrites>;
using ToldConfirmedWrites = Told<ConfirmedWrites>;

/// Two changes of a row that its consumer has not taken: the store does not say what the first one left.
TEST_F(ToldWrites, DoNotKnowTheRowWhileChangesOfTheTableWait) {
  orch_.hold(consumer_);
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"]]})");
  EXPECT_EQ(told_now(), "set T a: (none) -> x=1\n");
  ask(R"({"id":2,"command":"set","table":"T","key":"a","fields":[["x","2"]]})");
  EXPECT_EQ(told_now(), "set T a: (unknown) -> x=2\n");
  orch_.release(consumer_);
}

TEST_F(ToldWrites, HaveTheFieldsThatDifferBeforeAndAfter) {
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"],["y","2"]]})");
  EXPECT_EQ(told_now(), "set T a: (none) -> x=1 y=2\n");
  ask(R"({"id":2,"command":"set","table":"T","key":"a","fields":[["x","1"],["y","3"]]})");
  EXPECT_EQ(told_now(), "set T a: y=2 -> y=3\n");
  ask(R"({"id":3,"command":"set","table":"T","key":"a","fields":[["z","4"]],"replace":true})");
  EXPECT_EQ(told_now(), "set T a: x=1 y=3 -> z=4\n");
  ask(R"({"id":4,"command":"del","table":"T","key":"a"})");
  EXPECT_EQ(told_now(), "del T a: z=4 -> (none)\n");
  EXPECT_EQ(begun, "set set set del ");
}

TEST_F(ToldWrites, ThatAreRefusedHaveNoChange) {
  ask(R"({"id":1,"command":"set","table":"NONE","key":"a"})");
  EXPECT_EQ(told_now(), "set NONE a\n");
}

TEST_F(ToldConfirmedWrites, WaitForTheStoreAndNotForTheCaller) {
  store().set_latency(1ms, 1ms);
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"]]})");
  EXPECT_EQ(told, "") << "the store has not answered";
  EXPECT_THAT(told_now(), HasSubstr("set T a: "));
  ask(R"({"id":2,"command":"set","table":"T","key":"a","fields":[["x","2"]]})");
  session_.reset();
  EXPECT_THAT(told_now(), HasSubstr("set T a: ")) << "the caller is gone";
}

TEST_F(WaitingWrites, EndWhenTheRowIsDone) {
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["x","1"],["x","2"]],"wait_ms":1000})");
  EXPECT_EQ(answer(), "") << "nobody has taken it yet";
  run_for(10ms);
  EXPECT_EQ(answer(), R"({"id":1,"ok":true,"result":{"state":"done","note":"","change":1}})");
  ask(R"({"id":2,"command":"del","table":"T","key":"a","wait_ms":1000})");
  run_for(10ms);
  EXPECT_EQ(answer(), R"({"id":2,"ok":true,"result":{"state":"done","note":"","change":2}})");
}

TEST_F(WaitingWrites, EndWithTheReasonWhenTheRowIsRejected) {
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["bad","1"]],"wait_ms":1000})");
  run_for(10ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("ok":true)"), HasSubstr(R"("state":"rejected")"), HasSubstr("it is bad")));
}

TEST_F(WaitingWrites, EndWithTheFactWhenTheRowIsParked) {
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["group","7"]],"wait_ms":1000})");
  run_for(450ms);
  EXPECT_EQ(answer(), "") << "what it waits for may be on its way";
  run_for(100ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("state":"parked")"), HasSubstr("waits for group:7"),
                              HasSubstr(R"("facts":[{"kind":"group","key":"7"}])")));
}

TEST_F(WaitingWrites, NameTheRefusedRowThatTheirRowWaitsFor) {
  orch_.consume(
      "GROUPS",
      [](std::string_view, const Fields&) {
        return Outcome::retry_after(10s, Status{StatusCode::FailedPrecondition, "gateway"});
      },
      [](std::string_view) { return Outcome::done(); });
  runtime.explain(kGroup, [](std::string_view key) { return FactOrigin{"GROUPS", std::string{key}, ""}; });
  runtime.explain_state(
      "GROUPS",
      [](std::string_view, const Record*) {
        return RowInPlane{PlaneState::Refused, "no such gateway", {}};
      },
      [] { return PlaneCounts{.refused = 1}; });
  set("GROUPS", "7", {});
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["group","7"]],"wait_ms":1000})");
  run_for(550ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("state":"parked")"), HasSubstr("waits for group:7; the data plane refuses GROUPS 7: "),
                              HasSubstr("no such gateway")));
  ask(R"({"id":2,"command":"get","table":"T","key":"a"})");
  run_for(10ms);
  EXPECT_THAT(answer(), HasSubstr("the data plane refuses GROUPS 7: "));
  ask(R"({"id":3,"command":"tables"})");
  run_for(10ms);
  EXPECT_THAT(answer(), HasSubstr(R"("waiting":1,"withdrawn":0,"refused":1,"lost":0)"));
}

TEST_F(WaitingWrites, AndReadsAnswerWhereTheOrchsFunctionForTheStateThrows) {
  runtime.explain_state("T", [](std::string_view key, const Record*) -> RowInPlane {
    if (key == "bad") throw std::runtime_error("stoi");
    return {PlaneState::Installed, "", {}};
  });
  const std::string unknown = "the state is unknown: the function of Runtime::explain_state for this table threw: stoi";
  ask(R"({"id":1,"command":"set","table":"T","key":"bad","wait_ms":1000})");
  run_for(10ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("state":"done")"), HasSubstr(unknown)));
  ask(R"({"id":2,"command":"get","table":"T","key":"bad"})");
  run_for(10ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("state":"unknown")"), HasSubstr(unknown)));
  set("T", "good", {});
  run_for(10ms);
  ask(R"({"id":3,"command":"show","table":"T","pattern":"*"})");
  run_for(10ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(unknown), HasSubstr(R"("state":"done","plane":"installed")")));
  ask(R"({"id":4,"command":"why","table":"T","key":"bad"})");
  run_for(10ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("state":"unknown")"), HasSubstr(unknown)));
  EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
}

TEST_F(WaitingWrites, AndReadsAnswerWhereTheFunctionForTheOriginOfAFactThrows) {
  runtime.explain(kGroup, [](std::string_view) -> FactOrigin { throw std::runtime_error("no map"); });
  set("T", "a", {{"group", "7"}});
  run_for(10ms);
  ask(R"({"id":1,"command":"get","table":"T","key":"a"})");
  run_for(10ms);
  EXPECT_THAT(answer(), HasSubstr(R"("state":"parked")"));
  ask(R"({"id":2,"command":"why","table":"T","key":"a"})");
  run_for(10ms);
  EXPECT_THAT(answer(), HasSubstr("the function of Runtime::explain for this fact threw: no map"));
  EXPECT_EQ(runtime.scheduler().stats().quarantined, 0U);
}

TEST_F(WaitingWrites, AreNotEndedByWhatBecameOfOlderChangesOrOtherRows) {
  set("T", "a", {{"bad", "1"}});
  run_for(10ms);
  set("T", "b", {{"group", "7"}});
  ask(R"({"id":1,"command":"del","table":"T","key":"a","wait_ms":1000})");
  run_for(10ms);
  EXPECT_THAT(answer(), HasSubstr(R"("state":"done")"));
}

TEST_F(WaitingWrites, EndWithTheTimeAndSayWhereTheRowStands) {
  ask(R"({"id":1,"command":"set","table":"T","key":"a","fields":[["later","1"]],"wait_ms":1000})");
  run_for(900ms);
  EXPECT_EQ(answer(), "") << "it is tried again by itself";
  run_for(200ms);
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("code":"deadline-exceeded")"), HasSubstr("still parked"), HasSubstr("not now")));
}

TEST_F(WaitingWrites, OfACallerThatGoesAreForgotten) {
  const std::size_t timers = runtime.scheduler().timers().size();
  orch_.hold(consumer_);
  ask(R"({"id":1,"command":"set","table":"T","key":"a","wait_ms":1000000})");
  run_for(10ms);
  EXPECT_EQ(runtime.scheduler().timers().size(), timers + 1);
  session_.reset();
  run_for(10ms);
  EXPECT_EQ(runtime.scheduler().timers().size(), timers);
}

TEST_F(WaitingWrites, AreRefusedBeforeAnythingIsWrittenWhereNobodyConsumes) {
  ASSERT_TRUE(runtime.store().declare({.name = "U"}).ok());
  ask(R"({"id":1,"command":"set","table":"U","key":"a","wait_ms":1000})");
  EXPECT_THAT(answer(), AllOf(HasSubstr(R"("ok":false)"), HasSubstr("nothing was written")));
  EXPECT_EQ(runtime.store().size("U")->staged, 0U);
  ask(R"({"id":2,"command":"set","table":"T","key":"a","wait_ms":0})");
  EXPECT_THAT(answer(), HasSubstr("'wait_ms' must be from 1 to"));
}

}  // namespace
}  // namespace rondo::commands
