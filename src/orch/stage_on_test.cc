// Orch::stage_on: one operation of an executor for one change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "orch/runtime_fixture.h"
#include "rondo/sched/executor.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Call {
  std::string key;
  Status status = {};
};

class StageOn : public testing::Test {
 protected:
  explicit StageOn(StrictPriority policy = {}) : fixture(policy) {
    orch.consume(
        "T",
        [this](std::string_view key, const Fields&) {
          handled.emplace_back(key);
          return orch.stage_on(device, 0, Call{std::string{key}}, outcome_of);
        },
        [](std::string_view) { return Outcome::done(); });
  }
  void set(const std::string& key) { ASSERT_TRUE(fixture.runtime.table("T").set(key, {{"f", "v"}}).ok()); }
  void apply(std::span<Call> calls) {
    for (Call& call : calls) {
      applied.push_back(call.key);
      if (call.key == refused) call.status = Status{StatusCode::InvalidArgument, "the device refuses it"};
    }
  }

  RuntimeFixture fixture;
  std::vector<std::string> handled;
  std::vector<std::string> applied;
  std::string refused = "bad";
  std::function<Outcome(const Call&)> outcome_of = [](const Call& call) {
    return call.status.ok() ? Outcome::done() : Outcome::reject(call.status);
  };
  Executor<Call> device{fixture.runtime.scheduler(),
                        [this](std::span<Call> calls) { apply(calls); },
                        {.name = "device", .in_line = true, .priority = Priority::p0, .operations_max = 2}};
  OpenOrch& orch = fixture.runtime.add<OpenOrch>();
};

TEST_F(StageOn, TheChangeIsSettledWithTheOutcomeOfItsAnswer) {
  set("good");
  set("bad");
  fixture.run();
  EXPECT_THAT(applied, ElementsAre("good", "bad"));
  EXPECT_THAT(fixture.rejects, ElementsAre(HasSubstr("S bad: invalid-argument: T 'bad': the device refuses it")));
  EXPECT_EQ(fixture.runtime.consumers().front().in_flight, 0U);
}

TEST_F(StageOn, AnOutcomeMayStageAnotherOperationOfTheSameChange) {
  outcome_of = [this](const Call& call) {
    if (call.status.ok()) return Outcome::done();
    return orch.stage_on(device, 0, Call{"undo " + call.key}, [why = call.status](const Call&) { return Outcome::reject_removed(why); });
  };
  set("bad");
  fixture.run();
  EXPECT_THAT(applied, ElementsAre("bad", "undo bad"));
  EXPECT_THAT(fixture.rejects, ElementsAre(HasSubstr("the device refuses it")));
  EXPECT_EQ(fixture.runtime.consumers().front().in_flight, 0U);
}

TEST_F(StageOn, AFullTargetHoldsTheConsumerUntilItHasRoom) {
  for (int i = 0; i < 9; ++i) set("k" + std::to_string(i));
  std::vector<std::size_t> most;
  outcome_of = [&](const Call&) {
    most.push_back(device.in_flight());
    return Outcome::done();
  };
  fixture.run();
  EXPECT_THAT(applied, testing::SizeIs(9));
  EXPECT_THAT(most, testing::Each(testing::Le(2U)));
  EXPECT_GT(device.stats().full, 0U);
}

class StageOnByArrival : public StageOn {
 protected:
  StageOnByArrival() : StageOn({.tie = Tie::Arrival}) {}
};

/// They were released in the order of their addresses, so that a replay differed, and a simulation from one seed did.
TEST_F(StageOnByArrival, HeldTablesGoOnInTheOrderInWhichTheyWereHeld) {
  auto& urgent = fixture.runtime.add<OpenOrch>("urgent", Priority::p5);  // Before the executor.
  std::vector<std::string> tables;
  for (int i = 0; i < 16; ++i) {
    tables.push_back("T" + std::to_string(100 + i));
    urgent.consume(
        tables.back(), [&](std::string_view key, const Fields&) { return urgent.stage_on(device, 0, Call{std::string{key}}, outcome_of); },
        [](std::string_view) { return Outcome::done(); });
  }
  for (const char* const value : {"1", "2"}) {
    std::ranges::reverse(tables);
    applied.clear();
    std::vector<std::string> expected;
    for (const char* const row : {"a", "b"}) {
      for (const std::string& table : tables) {
        fixture.set(table, table + row, {{"f", value}});
        expected.push_back(table + row);
      }
    }
    std::rotate(expected.begin() + 1, expected.begin() + 16, expected.begin() + 17);  // There is room for both rows of the first table.
    fixture.run();
    EXPECT_THAT(applied, testing::ElementsAreArray(expected));
  }
  EXPECT_GT(device.stats().full, 0U);
}

TEST_F(StageOn, WhatTheOutcomeThrowsRejectsTheChange) {
  outcome_of = [](const Call&) -> Outcome { throw std::runtime_error("no outcome"); };
  set("good");
  fixture.run();
  EXPECT_THAT(fixture.rejects, ElementsAre(HasSubstr("no outcome")));
  set("good");
  fixture.run();
  EXPECT_THAT(applied, ElementsAre("good", "good")) << "the executor goes on";
}

}  // namespace
}  // namespace rondo
