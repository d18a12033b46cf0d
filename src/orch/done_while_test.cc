// Outcome::done_while: a row that is done while facts hold is handled again when one of them ends, and only then. Goal: no order of ends,
// newer changes and outcomes leaves a row done whose fact has ended. Method: handlers written in the test, in a simulated world; after
// each step the ledger and the index are inspected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "orch/inspection.h"
#include "orch/limits.h"
#include "orch/runtime_fixture.h"
#include "orch/runtime_view.h"
#include "rondo/base/limits.h"

namespace rondo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DoneWhile : public testing::Test {
 protected:
  DoneWhile() : groups_(in_.add_groups()), routes_(in_.runtime.add<OpenOrch>("routes")) {
    consumer_ = &routes_.consume(
        "ROUTE",
        [this](std::string_view key, const Fields& fields) {
          in_.calls.push_back(text_of(key, fields));
          return answer_ ? answer_(key, fields) : by_group(fields);
        },
        [this](std::string_view key) {
          in_.calls.push_back(call(ChangeOp::Delete, key));
          return Outcome::done();
        });
  }
  ~DoneWhile() override { check(); }

  static std::string text_of(std::string_view key, const Fields& fields) {
    std::string text = call(ChangeOp::Set, key);
    for (const Field field : fields) text += " " + std::string{field.name} + "=" + std::string{field.value};
    return text;
  }
  Outcome by_group(const Fields& fields) {
    std::vector<Fact> needed;
    for (const Field field : fields) {
      if (field.name.starts_with("group")) needed.push_back({kGroup, std::string{field.value}});
    }
    for (const Fact& group : needed) {
      if (!routes_.holds(group)) return Outcome::wait_for(group);
    }
    return needed.size() == 1 ? Outcome::done_while(needed.front()) : Outcome::done_while(needed);
  }
  void begin(const std::string& group) {
    in_.groups.insert(group);
    groups_.announce({kGroup, group});
  }
  void end(const std::string& group) {
    in_.groups.erase(group);
    groups_.withdraw({kGroup, group});
  }
  std::vector<std::string> run() {
    in_.run();
    check();
    return std::exchange(in_.calls, {});
  }
  void check() {
    const RuntimeView view(in_.runtime);
    const Status agree = Inspection(view.consumers().find("ROUTE")->second->ledger(), view.facts()).check();
    EXPECT_TRUE(agree.ok()) << agree.to_string();
  }

  RuntimeFixture in_;
  std::function<Outcome(std::string_view, const Fields&)> answer_;
  Consumer* consumer_ = nullptr;
  OpenOrch& groups_;
  OpenOrch& routes_;
};

TEST_F(DoneWhile, ARowIsHandledAgainWhenItsFactEnds) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
  EXPECT_EQ(in_.stats("ROUTE").done, 1U);

  end("1");
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").redone, 1U);
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U) << "the handler waits for the fact again";

  begin("1");
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
}

TEST_F(DoneWhile, ADoneRowIsNotOwedAnOutcome) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  EXPECT_EQ(in_.stats("ROUTE").queued, 0U);
  EXPECT_EQ(in_.stats("ROUTE").parked, 0U);
  EXPECT_EQ(in_.runtime.awaited_facts(), 0U);
  EXPECT_FALSE(groups_.is_awaited({kGroup, "1"}));
  begin("1");
  EXPECT_THAT(run(), IsEmpty()) << "an announcement is no end";
}

TEST_F(DoneWhile, OnlyTheRowsOfTheFactAreHandledAgain) {
  begin("1");
  begin("2");
  in_.set("ROUTE", "a", {{"group", "1"}});
  in_.set("ROUTE", "b", {{"group", "2"}});
  in_.set("ROUTE", "c", {{"group", "1"}});
  run();
  end("1");
  EXPECT_THAT(run(), ElementsAre("S a group=1", "S c group=1"));
}

TEST_F(DoneWhile, AFactThatEndedAndHoldsAgainIsHandledAgainOnce) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  end("1");
  begin("1");
  end("1");
  begin("1");
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
}

TEST_F(DoneWhile, ARowOfSeveralFactsIsHandledAgainOnceWhenOneOfThemEnds) {
  begin("1");
  begin("2");
  in_.set("ROUTE", "a", {{"group1", "1"}, {"group2", "2"}});
  run();
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
  end("2");
  EXPECT_THAT(run(), ElementsAre("S a group1=1 group2=2"));
  begin("2");
  run();
  end("1");
  end("2");
  EXPECT_THAT(run(), ElementsAre("S a group1=1 group2=2")) << "both ended, one call";
}

TEST_F(DoneWhile, ANewerOutcomeReplacesTheBinding) {
  begin("1");
  begin("2");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  in_.set("ROUTE", "a", {{"group", "2"}});
  EXPECT_THAT(run(), ElementsAre("S a group=2"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
  end("1");
  EXPECT_THAT(run(), IsEmpty());
  end("2");
  EXPECT_THAT(run(), ElementsAre("S a group=2"));
}

TEST_F(DoneWhile, ARowThatIsDoneAgainWhileTheSameFactHoldsStaysBound) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  in_.set("ROUTE", "a", {{"group", "1"}, {"metric", "5"}});
  run();
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
  end("1");
  EXPECT_EQ(run().size(), 1U);
}

TEST_F(DoneWhile, ADeletedRowIsNeverHandledAgain) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  in_.remove("ROUTE", "a");
  EXPECT_THAT(run(), ElementsAre("D a"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 0U);
  end("1");
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(DoneWhile, ADeleteThatComesBeforeTheTurnOfAnEndedRowIsHandledInItsPlace) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  end("1");
  in_.remove("ROUTE", "a");
  const std::vector<std::string> calls = run();
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back(), "D a");
  EXPECT_EQ(in_.stats("ROUTE").bound, 0U);
  EXPECT_EQ(in_.stats("ROUTE").parked, 0U);
}

TEST_F(DoneWhile, AnEndWakesANewerChangeThatWaits) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  in_.set("ROUTE", "a", {{"group", "2"}});
  EXPECT_THAT(run(), ElementsAre("S a group=2"));
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
  end("1");
  EXPECT_THAT(run(), ElementsAre("S a group=2")) << "what was done depended on the fact; the newest row decides";
}

TEST_F(DoneWhile, ANewerChangeThatIsRefusedAfterTheEndLeavesTheRowToBeHandledAsItWasDone) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  end("1");
  answer_ = [this](std::string_view, const Fields& fields) {
    return fields.contains("bad") ? Outcome::reject(Status{StatusCode::InvalidArgument, "bad"}) : by_group(fields);
  };
  in_.set("ROUTE", "a", {{"bad", "1"}});  // Before the turn of the ended row.
  const std::vector<std::string> calls = run();
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back(), "S a group=1");
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
}

TEST_F(DoneWhile, AnEndDuringAStagedChangeIsHandledWhenItIsRefused) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "2"}});
  run();
  end("1");
  EXPECT_THAT(run(), IsEmpty()) << "the change in flight decides";
  answer_ = {};
  routes_.settle(ticket, Outcome::reject(Status{StatusCode::InvalidArgument, "no such device"}));
  EXPECT_THAT(run(), ElementsAre("S a group=1")) << "the row as it was done";
  EXPECT_EQ(in_.stats("ROUTE").rejected_rows, 1U) << "the newer change stays rejected";
}

TEST_F(DoneWhile, AnEndDuringAStagedChangeIsHandledWhenItWaits) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "2"}});
  run();
  end("1");
  run();
  answer_ = {};
  routes_.settle(ticket, Outcome::wait_for({kGroup, "2"}));
  EXPECT_THAT(run(), ElementsAre("S a group=2")) << "asked once after the end, then it waits";
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
}

TEST_F(DoneWhile, AnEndDuringAStagedChangeIsForgottenWhenItIsDone) {
  begin("1");
  begin("2");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "2"}});
  run();
  end("1");
  run();
  routes_.settle(ticket, Outcome::done_while({kGroup, "2"}));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
}

TEST_F(DoneWhile, AFactThatEndedBeforeAStagedAnswerIsHandledAgain) {
  begin("1");
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  end("1");
  answer_ = {};
  routes_.settle(ticket, Outcome::done_while({kGroup, "1"}));
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
}

TEST_F(DoneWhile, AFactThatEndedAndHeldAgainBeforeAStagedAnswerIsHandledAgain) {
  begin("1");
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  end("1");
  begin("1");
  answer_ = {};
  routes_.settle(ticket, Outcome::done_while({kGroup, "1"}));
  EXPECT_THAT(run(), ElementsAre("S a group=1")) << "what was ordered may have gone with the fact";
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
}

TEST_F(DoneWhile, OtherFactsThatEndDuringAStagedChangeAreOfNoMatter) {
  begin("1");
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  for (int i = 100; i < 1100; ++i) end(std::to_string(i));
  routes_.settle(ticket, Outcome::done_while({kGroup, "1"}));
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
}

TEST_F(DoneWhile, AfterMoreEndsThanAreRememberedAStagedRowIsHandledAgain) {
  begin("1");
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  for (int i = 0; i < 5000; ++i) end(std::to_string(100 + i % 7));
  answer_ = {};
  routes_.settle(ticket, Outcome::done_while({kGroup, "1"}));
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
}

TEST_F(DoneWhile, AHandlerThatDependsOnWhatDoesNotHoldIsSlowedDown) {
  answer_ = [](std::string_view, const Fields&) { return Outcome::done_while({kGroup, "never"}); };
  in_.set("ROUTE", "a", {});
  const std::size_t calls = run().size();
  EXPECT_LE(calls, 10U);
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
  EXPECT_GT(in_.stats("ROUTE").spurious_waits, 0U);
  EXPECT_THAT(in_.runtime.why("ROUTE", "a").chain.front().note, HasSubstr("is done while group:never, which does not hold"));
}

TEST_F(DoneWhile, NoFactsAtAllAreAFaultOfTheHandler) {
  answer_ = [](std::string_view, const Fields&) { return Outcome::done_while(std::vector<Fact>{}); };
  in_.set("ROUTE", "a", {});
  run();
  ASSERT_EQ(in_.rejects.size(), 1U);
  EXPECT_THAT(in_.rejects.front(), HasSubstr("done while 0 facts hold"));
}

TEST_F(DoneWhile, EndedRowsShareTurnsWithOthersUnderTheBudget) {
  begin("1");
  constexpr int kRows = 1000;
  for (int i = 0; i < kRows; ++i) in_.set("ROUTE", std::to_string(i), {{"group", "1"}});
  run();
  end("1");
  const std::uint64_t turns = in_.source("ROUTE").turns;
  in_.set("ROUTE", "new", {{"group", "2"}});
  const std::vector<std::string> calls = run();
  EXPECT_EQ(calls.size(), kRows + 1U);
  EXPECT_GE(in_.source("ROUTE").turns - turns, kRows / limits::kBatchItems) << "no turn takes more than its items";
  const auto place = std::ranges::find(calls, "S new group=2") - calls.begin();
  EXPECT_LT(place, 2 * static_cast<std::ptrdiff_t>(limits::kBatchItems)) << "new rows keep their share";
}

TEST_F(DoneWhile, RowsOfARunningConsumerAreForgottenWithIt) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  EXPECT_FALSE(RuntimeView(in_.runtime).facts().empty());
  in_.remove("ROUTE", "a");
  run();
  EXPECT_TRUE(RuntimeView(in_.runtime).facts().empty()) << "nothing is left of a row that is gone";
}

TEST_F(DoneWhile, AHandlerThatIsGivenWrittenFieldsCannotDependOnFacts) {
  routes_.consume(
      "DELTAS",
      [](std::string_view, const Fields&) {
        return Outcome::done_while({kGroup, "1"});
      },
      [](std::string_view) { return Outcome::done(); }, {.rows = Rows::Written});
  begin("1");
  in_.set("DELTAS", "a", {});
  in_.run();
  ASSERT_EQ(in_.rejects.size(), 1U);
  EXPECT_THAT(in_.rejects.front(), HasSubstr("ConsumeOptions::rows = Rows::Whole"));
}

// --- Orch::requeue: a row is handled again because its Orch asks for it.

class RequeueTest : public DoneWhile {};

TEST_F(RequeueTest, ADoneRowIsHandledAgainAsAWhole) {
  answer_ = [](std::string_view, const Fields&) { return Outcome::done(); };
  in_.set("ROUTE", "a", {{"x", "1"}});
  run();
  in_.set("ROUTE", "a", {{"y", "2"}});
  EXPECT_THAT(run(), ElementsAre("S a x=1 y=2"));
  routes_.requeue(*consumer_, "a");
  routes_.requeue(*consumer_, "a");
  EXPECT_THAT(run(), ElementsAre("S a x=1 y=2")) << "once, however often it was asked for before its turn";
}

TEST_F(RequeueTest, ARowThatIsDoneWhileFactsHoldIsHandledAgain) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  routes_.requeue(*consumer_, "a");
  routes_.requeue(*consumer_, "a");
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U) << "and depends on its fact as before";
  end("1");
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
}

TEST_F(RequeueTest, ARowThatIsGoneStaysGone) {
  answer_ = [](std::string_view, const Fields&) { return Outcome::done(); };
  in_.set("ROUTE", "a", {});
  run();
  in_.remove("ROUTE", "a");
  run();
  routes_.requeue(*consumer_, "a");
  routes_.requeue(*consumer_, "never");
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RequeueTest, ADeleteThatWaitsInTheTableIsNotUndone) {
  answer_ = [](std::string_view, const Fields&) { return Outcome::done(); };
  in_.set("ROUTE", "a", {});
  run();
  in_.remove("ROUTE", "a");
  routes_.requeue(*consumer_, "a");
  EXPECT_THAT(run(), ElementsAre("D a"));
}

TEST_F(RequeueTest, AChangeThatWaitsIsNotAskedForAgain) {
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
  routes_.requeue(*consumer_, "a");
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RequeueTest, AStagedRowIsHandledAgainAfterItsOutcome) {
  Ticket ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "a", {{"x", "1"}});
  run();
  routes_.requeue(*consumer_, "a");
  EXPECT_THAT(run(), IsEmpty()) << "one change of a key at a time";
  answer_ = [](std::string_view, const Fields&) { return Outcome::done(); };
  routes_.settle(ticket, Outcome::done());
  EXPECT_THAT(run(), ElementsAre("S a x=1"));
}

// --- Announcements and withdrawals that an Orch omits.

constexpr FactKind kThrowing{"throwing"};

class ForgottenFactsTest : public DoneWhile {};

TEST_F(ForgottenFactsTest, ARowIsHandledWithinASecondOfAnAnnouncementThatWasForgotten) {
  in_.set("ROUTE", "a", {{"group", "1"}});
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  in_.groups.insert("1");  // Without an announcement.
  EXPECT_THAT(in_.runtime.why("ROUTE", "a").chain.front().note, HasSubstr("group:1 holds, but was not announced by groups"));
  in_.run_for(1s);
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
  EXPECT_EQ(in_.runtime.forgotten_facts().announcements, 1U);
  EXPECT_EQ(in_.runtime.forgotten_facts().newest, "group:1 holds, but was not announced by groups");
}

TEST_F(ForgottenFactsTest, ARowIsHandledWithinASecondOfAWithdrawalThatWasForgotten) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  in_.groups.clear();  // Without a withdrawal.
  in_.run_for(1s);
  EXPECT_THAT(run(), ElementsAre("S a group=1"));
  EXPECT_EQ(in_.stats("ROUTE").parked, 1U);
  EXPECT_EQ(in_.runtime.forgotten_facts().withdrawals, 1U);
  EXPECT_EQ(in_.runtime.forgotten_facts().newest, "group:1 ended, but was not withdrawn by groups");
}

TEST_F(ForgottenFactsTest, EveryFactIsLookedAtWithinASecond) {
  constexpr int kFacts = 20'000;
  for (int i = 0; i < kFacts; ++i) in_.set("ROUTE", std::to_string(i), {{"group", std::to_string(i)}});
  run();
  for (int i = 0; i < kFacts; ++i) in_.groups.insert(std::to_string(i));
  in_.run_for(1s);
  run();
  EXPECT_EQ(in_.stats("ROUTE").parked, 0U);
  EXPECT_EQ(in_.runtime.forgotten_facts().announcements, static_cast<std::uint64_t>(kFacts));
}

TEST_F(ForgottenFactsTest, NothingIsFoundWhereEverythingIsSaid) {
  begin("1");
  in_.set("ROUTE", "a", {{"group", "1"}});
  in_.set("ROUTE", "b", {{"group", "2"}});
  in_.run_for(10s);
  EXPECT_EQ(in_.runtime.forgotten_facts().newest, "");
}

TEST_F(ForgottenFactsTest, AFactThatFollowsAnotherIsNotForgotten) {
  in_.set("ROUTE", "a", {{"group", "1"}});
  run();
  for (int i = 0; i < 10; ++i) {  // As an Orch that observes, or that a device answers: it announces later than the fact begins to hold.
    in_.groups.insert("1");
    in_.run_for(limits::kFactSweepPeriod + limits::kFactSweepPause);
    begin("1");
    EXPECT_THAT(run(), ElementsAre("S a group=1"));
    in_.groups.erase("1");
    in_.run_for(limits::kFactSweepPeriod + limits::kFactSweepPause);
    end("1");
    EXPECT_THAT(run(), ElementsAre("S a group=1"));
  }
  EXPECT_EQ(in_.runtime.forgotten_facts().newest, "");
}

TEST_F(ForgottenFactsTest, AProviderThatThrowsDoesNotEndTheSweep) {
  auto& throwing = in_.runtime.add<OpenOrch>("throwing", Priority::p5);
  bool throws = false;
  throwing.provide(kThrowing, [&throws](std::string_view) -> bool {
    if (throws) throw std::runtime_error("holds() is broken");
    return false;
  });
  answer_ = [this](std::string_view, const Fields& fields) {
    return fields.text("broken") ? Outcome::wait_for({kThrowing, "1"}) : by_group(fields);
  };
  in_.set("ROUTE", "a", {{"broken", "1"}});
  in_.set("ROUTE", "b", {{"group", "1"}});
  EXPECT_EQ(run().size(), 2U);
  throws = true;
  in_.run_for(2s);
  in_.groups.insert("1");  // Without an announcement.
  in_.run_for(1s);
  EXPECT_THAT(run(), ElementsAre("S b group=1"));
  EXPECT_EQ(in_.runtime.scheduler().stats().quarantined, 0U);
  EXPECT_THAT(in_.rejects, Contains(HasSubstr("throwing:1: ")));
}

TEST_F(ForgottenFactsTest, WithoutFactsTheSweepSleeps) {
  in_.run_for(1s);
  const std::uint64_t before = in_.source("facts: sweep").turns;
  in_.run_for(60s);
  EXPECT_EQ(in_.source("facts: sweep").turns, before);
}

// After a restart the handler is given the rejected row alone.
TEST_F(DoneWhile, ARejectThatRemovedTheEarlierVersionIsNotFollowedByIt) {
  begin("1");
  in_.set("ROUTE", "r", {{"group", "1"}});
  in_.run();
  EXPECT_EQ(in_.stats("ROUTE").bound, 1U);
  in_.calls.clear();
  answer_ = [](std::string_view, const Fields&) { return Outcome::reject_removed(Status{StatusCode::InvalidArgument, "it is wrong"}); };
  in_.set("ROUTE", "r", {{"bad", "1"}});
  in_.run();
  EXPECT_EQ(in_.stats("ROUTE").bound, 0U);
  EXPECT_EQ(in_.stats("ROUTE").rejected_rows, 1U);
  in_.calls.clear();
  answer_ = {};
  end("1");
  in_.run();
  begin("1");
  in_.run();
  EXPECT_THAT(in_.calls, IsEmpty()) << "the earlier version is gone";
}

TEST_F(DoneWhile, AStagedRejectThatRemovedTheEarlierVersionIsNotFollowedByItAlthoughItsFactEndedMeanwhile) {
  begin("1");
  in_.set("ROUTE", "r", {{"group", "1"}});
  in_.run();
  std::optional<Ticket> ticket;
  answer_ = [&](std::string_view, const Fields&) {
    ticket = routes_.current_ticket();
    return Outcome::staged();
  };
  in_.set("ROUTE", "r", {{"bad", "1"}});
  in_.run();
  ASSERT_TRUE(ticket.has_value());
  end("1");
  in_.run();
  in_.calls.clear();
  answer_ = {};
  routes_.settle(*ticket, Outcome::reject_removed(Status{StatusCode::InvalidArgument, "it is wrong"}));
  in_.run();
  EXPECT_THAT(in_.calls, IsEmpty());
  EXPECT_EQ(in_.stats("ROUTE").bound, 0U);
}

}  // namespace
}  // namespace rondo
