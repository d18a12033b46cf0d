// Ledger: no unsettled change is lost, the last write of a key wins, and a Delete stays before the Set that came after it, in every state
// of the row.
#include "orch/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orch/ledger_fixture.h"
#include "rondo/base/limits.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LedgerTest : public testing::Test, public LedgerFixture {};

// --- the merge table of sonic-swss addToSync, in every state of the row

enum class Waiting { Nothing, Set, Delete, DeleteSet };
enum class Where { Queued, Parked, ParkedOnTime, Resolved, InFlight };

struct Cell {
  Waiting waiting;
  bool new_is_delete;
  std::vector<std::string> applied;  // The changes applied after that.
};

const Cell kTable[] = {
    {Waiting::Nothing, true, {"D k"}},   {Waiting::Nothing, false, {"S k{a=2,c=3}"}},
    {Waiting::Set, true, {"D k"}},       {Waiting::Set, false, {"S k{b=1,a=2,c=3}"}},
    {Waiting::Delete, true, {"D k"}},    {Waiting::Delete, false, {"D k", "S k{a=2,c=3}"}},
    {Waiting::DeleteSet, true, {"D k"}}, {Waiting::DeleteSet, false, {"D k", "S k{b=1,a=2,c=3}"}},
};

class MergeTable : public LedgerTest, public testing::WithParamInterface<Where> {
 protected:
  void write(Waiting waiting) {
    if (waiting == Waiting::Delete || waiting == Waiting::DeleteSet) remove("k");
    if (waiting == Waiting::Set || waiting == Waiting::DeleteSet) set("k", {{"a", "1"}, {"b", "1"}});
  }
  /// Brings the row of "k" into state 'where', with 'waiting' in it. Returns false if the combination does not exist.
  bool prepare(Where where, Waiting waiting) {
    if (waiting == Waiting::Nothing && where != Where::InFlight) return false;
    if (where == Where::InFlight) {
      set("k", {{"flying", "1"}});
      take();
      write(waiting);
      return true;
    }
    write(waiting);
    if (where == Where::Queued) return true;
    const Ledger::Task task = take();
    if (where == Where::ParkedOnTime) return park_until(task.row, 10s);
    EXPECT_TRUE(park(task.row, {"x"}));
    if (where == Where::Resolved) announce("x");
    return true;
  }
};

TEST_P(MergeTable, NewChangesMeetWaitingOnesAsTheTableSays) {
  for (const Cell& cell : kTable) {
    SCOPED_TRACE(testing::Message() << "waiting " << static_cast<int>(cell.waiting) << (cell.new_is_delete ? " + Delete" : " + Set"));
    if (!prepare(GetParam(), cell.waiting)) continue;
    const bool was_parked = GetParam() == Where::Parked || GetParam() == Where::ParkedOnTime;
    const Ledger::Merged merged = cell.new_is_delete ? remove("k") : set("k", {{"a", "2"}, {"c", "3"}});
    EXPECT_EQ(ledger.size(), 1U);
    EXPECT_EQ(merged, was_parked && cell.waiting == Waiting::Set ? Ledger::Merged::Unparked : Ledger::Merged::Joined);
    EXPECT_EQ(ledger.parked(), was_parked && cell.waiting != Waiting::Set ? 1U : 0U);
    check();
    if (GetParam() == Where::InFlight) {
      EXPECT_THAT(run_ready(), IsEmpty()) << "one change of a key at a time";
      const std::uint32_t row = ledger.find("k");
      EXPECT_EQ(text_of(Change(ledger.op(row), ledger.flight(row))), "S k{flying=1}") << "what is in flight is untouched";
      ledger.settle(row);
    }
    announce("x");
    pass(20s);
    EXPECT_EQ(run_ready(), cell.applied);
    EXPECT_EQ(ledger.size(), 0U);
    EXPECT_EQ(index.size(), 0U);
    EXPECT_EQ(wheel.size(), 0U);
    holding.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(EveryState, MergeTable,
                         testing::Values(Where::Queued, Where::Parked, Where::ParkedOnTime, Where::Resolved, Where::InFlight));

// The field order of sonic-swss addToSync.
TEST_F(LedgerTest, DeleteSetSetLeavesTheNewFieldsBehindTheOldOnes) {
  remove("k");
  set("k", {{"f1", "1"}, {"f2", "2"}});
  set("k", {{"f1", "1'"}, {"f3", "3"}});
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{f2=2,f1=1',f3=3}"));
}

// sonic-swss addToSync: "100 repetitions of SET,DEL,SET must leave exactly DEL then SET".
TEST_F(LedgerTest, AHundredTimesSetDeleteSetLeavesOneDeleteAndOneSet) {
  for (int i = 0; i < 100; ++i) {
    set("k", {{"old", "1"}});
    remove("k");
    set("k", {{"new", std::to_string(i)}});
  }
  EXPECT_EQ(ledger.size(), 1U);
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{new=99}"));
}

// --- a row that grows while it waits: the union of all fields that it may be handled with has the limits of a record

class GrowingRow : public LedgerTest {
 protected:
  /// A Set of "k" with half as many fields as a record may have; each 'part' has other names.
  Change half(char part) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < limits::kFields / 2; ++i) names.push_back(part + std::to_string(i));
    std::vector<Field> fields;
    for (const std::string& name : names) fields.push_back({name, "v"});
    return Change::set("k", fields);
  }
};

TEST_F(GrowingRow, RefusesASetThatWouldMakeItTooLargeAndTakesOneThatWouldNot) {
  merge(half('a'));
  ASSERT_TRUE(park(take().row, {"x"}));
  EXPECT_EQ(merge(half('b')), Ledger::Merged::Unparked);
  ASSERT_TRUE(park(take().row, {"x"}));
  EXPECT_EQ(set("k", {{"one more", "v"}}), Ledger::Merged::Refused);
  EXPECT_EQ(ledger.parked(), 1U) << "the row is as it was";
  check();
  EXPECT_EQ(merge(half('a')), Ledger::Merged::Unparked) << "the same names again";
  const auto task = ledger.take_new();
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->change.fields().size(), limits::kFields);
}

TEST_F(GrowingRow, CountsTheSetInFlightWhichMayComeBack) {
  merge(half('a'));
  const Ledger::Task task = take();
  EXPECT_EQ(merge(half('b')), Ledger::Merged::Joined);
  EXPECT_EQ(set("k", {{"one more", "v"}}), Ledger::Merged::Refused);
  ledger.requeue(task.row);
  EXPECT_EQ(take().change.fields().size(), limits::kFields);
}

TEST_F(GrowingRow, BeginsAnewBehindADelete) {
  merge(half('a'));
  merge(half('b'));
  EXPECT_EQ(remove("k"), Ledger::Merged::Joined);
  EXPECT_EQ(merge(half('c')), Ledger::Merged::Joined);
}

// --- a Set that replaces a Delete (ConsumeOptions::set_replaces_delete)

class CancellingLedger : public testing::Test, public LedgerFixture {
 protected:
  CancellingLedger() : LedgerFixture(true) {}
  void expect_nothing_is_left() {
    EXPECT_EQ(ledger.size(), 0U);
    EXPECT_EQ(index.size(), 0U) << "nobody waits for the facts any more";
    EXPECT_EQ(wheel.size(), 0U);
  }
};

TEST_F(CancellingLedger, ASetTakesThePlaceOfADeleteThatWaitsForFacts) {
  remove("k");
  ASSERT_TRUE(park(take().row, {"unused"}));
  EXPECT_EQ(set("k", {{"a", "1"}}), Ledger::Merged::Unparked);
  check();
  EXPECT_THAT(run_ready(), ElementsAre("S k{a=1}"));
  expect_nothing_is_left();
}

TEST_F(CancellingLedger, ASetReplacesTheQueuedDeleteThatItCameWithSoThatTheRowChangesInOneStep) {
  remove("k");
  EXPECT_EQ(set("k", {{"a", "1"}}), Ledger::Merged::Joined);
  check();
  EXPECT_THAT(run_ready(), ElementsAre("S k{a=1}"));
  expect_nothing_is_left();
}

TEST_F(CancellingLedger, ADeleteBehindWrittenFieldsInFlightKeepsItsPlaceBecauseTheyMayComeBack) {
  set("k", {{"a", "1"}});
  const Ledger::Task task = take();
  remove("k");
  set("k", {{"b", "2"}});
  ledger.settle(task.row);
  check();
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{b=2}"));
  expect_nothing_is_left();
}

TEST_F(CancellingLedger, ASetOfAWholeRowReplacesTheDeleteBehindAChangeInFlight) {
  Ledger whole(
      wheel, [] {}, true, Rows::Whole);
  whole.merge(Change::set("k", {{"a", "1"}}), now, index);
  const Ledger::Task flight = *whole.take_new();
  whole.merge(Change::remove("k"), now, index);
  whole.merge(Change::set("k", {{"b", "2"}}), now, index);
  whole.requeue(flight.row);
  const Ledger::Task next = *whole.take_new();
  EXPECT_EQ(text_of(next.change), "S k{b=2}");
  whole.settle(next.row);
  EXPECT_EQ(whole.size(), 0U);
}

TEST_F(CancellingLedger, ADeleteThatMustWaitForFactsGivesWayToTheSetThatCameMeanwhile) {
  remove("k");
  const Ledger::Task task = take();
  set("k", {{"a", "1"}});
  EXPECT_FALSE(park(task.row, {"unused", "gone"}));
  EXPECT_FALSE(ledger.is_current(task.row, task.generation));
  check();
  EXPECT_THAT(run_ready(), ElementsAre("S k{a=1}"));
  expect_nothing_is_left();
}

TEST_F(CancellingLedger, ASetTakesThePlaceOfADeleteOfWhichOneFactOfSeveralWasAnnounced) {
  remove("k");
  ASSERT_TRUE(park(take().row, {"unused", "gone"}));
  announce("unused");
  EXPECT_EQ(set("k", {{"a", "1"}}), Ledger::Merged::Joined) << "it keeps its turn";
  check();
  EXPECT_THAT(run_ready(), ElementsAre("S k{a=1}"));
  expect_nothing_is_left();
}

TEST_F(CancellingLedger, ADeleteWhoseOnlyFactWasAnnouncedRunsBeforeTheSet) {
  remove("k");
  ASSERT_TRUE(park(take().row, {"unused"}));
  announce("unused");
  EXPECT_EQ(set("k", {{"a", "1"}}), Ledger::Merged::Joined);
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{a=1}"));
  expect_nothing_is_left();
}

TEST_F(CancellingLedger, ADeleteThatWaitsForItsTimeKeepsItsPlaceBecausePartOfItMayBeDone) {
  remove("k");
  ASSERT_TRUE(park_until(take().row, 100ms));
  EXPECT_EQ(set("k", {{"a", "1"}}), Ledger::Merged::Joined);
  pass(100ms);
  EXPECT_EQ(set("k", {{"a", "2"}}), Ledger::Merged::Joined);
  const auto task = take_resolved();
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(text_of(task->change), "D k");
  ASSERT_TRUE(park_until(task->row, 100ms));
  pass(100ms);
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{a=2}"));
  expect_nothing_is_left();
}

TEST_F(LedgerTest, RowsAreTakenInOrderOfArrivalNotOfKey) {
  for (const char* key : {"c", "a", "b"}) remove(key);
  remove("c");
  EXPECT_THAT(run_ready(), ElementsAre("D c", "D a", "D b"));
}

TEST_F(LedgerTest, KeysMayBeAnyBytes) {
  const std::string nul{"a\0b", 3};
  const std::string longest(limits::kNameBytes, 'x');
  for (const std::string& key : {std::string{}, nul, std::string{"a"}, std::string{"\xff|:\n"}, longest}) set(key, {{"", ""}});
  EXPECT_EQ(ledger.size(), 5U);
  EXPECT_EQ(ledger.key(ledger.find(nul)), nul);
  EXPECT_NE(ledger.find(""), Ledger::kNone);
  EXPECT_EQ(ledger.find(std::string{"a\0", 2}), Ledger::kNone);
  set(nul, {{"f", "v"}});
  EXPECT_EQ(ledger.size(), 5U);
  EXPECT_THAT(run_ready(), ElementsAre("S {=}", "S " + nul + "{=,f=v}", "S a{=}", "S \xff|:\n{=}", "S " + longest + "{=}"));
}

TEST_F(LedgerTest, ASetWithoutFieldsIsASet) {
  set("k", {});
  EXPECT_THAT(run_ready(), ElementsAre("S k{}"));
}

// --- changes put back from flight

TEST_F(LedgerTest, ASetThatMustWaitWhileANewerOneCameIsMergedAndTriedAgain) {
  set("k", {{"a", "1"}, {"b", "1"}});
  const auto task = take();
  set("k", {{"a", "2"}});
  EXPECT_FALSE(park(task.row, {"x"}));
  EXPECT_EQ(index.size(), 0U);
  EXPECT_THAT(run_ready(), ElementsAre("S k{b=1,a=2}"));
}

TEST_F(LedgerTest, ASetThatMustWaitWhileADeleteCameIsGone) {
  set("k", {{"a", "1"}});
  const auto task = take();
  remove("k");
  EXPECT_FALSE(park_until(task.row, 1s));
  EXPECT_EQ(wheel.size(), 0U);
  EXPECT_THAT(run_ready(), ElementsAre("D k"));
}

TEST_F(LedgerTest, ASetThatMustWaitWhileDeleteAndSetCameIsReplacedByThem) {
  set("k", {{"a", "1"}});
  const auto task = take();
  remove("k");
  set("k", {{"b", "2"}});
  EXPECT_FALSE(park(task.row, {"x"}));
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{b=2}"));
}

TEST_F(LedgerTest, ADeleteThatMustWaitStaysBeforeTheSetThatCameMeanwhile) {
  remove("k");
  const auto task = take();
  set("k", {{"a", "1"}});
  EXPECT_TRUE(park(task.row, {"x"}));
  EXPECT_THAT(run_ready(), IsEmpty());
  announce("x");
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{a=1}"));
}

TEST_F(LedgerTest, ADeleteOfAPairThatMustWaitStaysBeforeItsSet) {
  remove("k");
  set("k", {{"a", "1"}});
  const auto task = take();
  EXPECT_EQ(text_of(task.change), "D k");
  EXPECT_TRUE(park(task.row, {"x"}));
  set("k", {{"b", "2"}});
  announce("x");
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{a=1,b=2}"));
}

TEST_F(LedgerTest, ASettledChangeLetsWhatCameMeanwhileRunNext) {
  set("k", {{"a", "1"}});
  const auto task = take();
  remove("k");
  set("other", {});
  EXPECT_EQ(ledger.queued(), 1U);
  ledger.settle(task.row);
  EXPECT_THAT(run_ready(), ElementsAre("S other{}", "D k"));
}

TEST_F(LedgerTest, ARequeuedChangeKeepsItsFields) {
  set("k", {{"a", "1"}});
  ledger.requeue(take().row);
  EXPECT_THAT(run_ready(), ElementsAre("S k{a=1}"));
}

// --- finding 5 of the SONiC study: three ways in which SONiC's RetryCache loses changes

TEST_F(LedgerTest, Finding5aDeleteAndSetOfOneKeyParkedOnOneFactBothComeBack) {
  remove("k");
  const auto task = take();
  set("k", {{"a", "1"}});
  park(task.row, {"x"});
  set("k", {{"b", "2"}});  // In SONiC this evicts the SET and makes the DEL unreachable.
  EXPECT_EQ(ledger.parked(), 1U);
  EXPECT_EQ(announce("x"), 1U);
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{a=1,b=2}"));
  EXPECT_EQ(ledger.size(), 0U);
}

TEST_F(LedgerTest, Finding5bASetThatArrivesWhileItsDeleteIsParkedDoesNotRunBeforeIt) {
  remove("k");
  park(take().row, {"x"});
  set("k", {{"a", "1"}});
  EXPECT_THAT(run_ready(), IsEmpty());  // In SONiC the Set runs now, and the later DEL removes the new object.
  announce("x");
  EXPECT_THAT(run_ready(), ElementsAre("D k", "S k{a=1}"));
}

TEST_F(LedgerTest, Finding5cAParkAfterTheAnnouncementIsSeenByTheLevel) {
  announce("x");  // No row waits yet.
  set("k", {});
  const auto task = take();
  // Consumer::park checks the facts before it parks, so no row waits for a fact that holds. In SONiC the row is never woken.
  EXPECT_TRUE(index.holds({kFact, "x"}));
  ledger.requeue(task.row);
  EXPECT_THAT(run_ready(), ElementsAre("S k{}"));
}

// --- parking

TEST_F(LedgerTest, ParkedRowsCostNothingUntilTheirFactIsAnnounced) {
  for (const char* key : {"a", "b", "c"}) set(key, {});
  for (int i = 0; i < 3; ++i) park(take().row, {i == 1 ? "y" : "x"});
  EXPECT_FALSE(ledger.has_new());
  EXPECT_FALSE(ledger.has_resolved());
  EXPECT_EQ(ledger.parked(), 3U);
  EXPECT_EQ(announce("z"), 0U);
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(announce("x"), 2U);
  EXPECT_EQ(wakes, 1) << "one wake whatever the number of rows";
  EXPECT_EQ(ledger.parked(), 1U);
  EXPECT_EQ(ledger.queued(), 2U);
  EXPECT_THAT(run_ready(), ElementsAre("S a{}", "S c{}"));
}

TEST_F(LedgerTest, ResolvingIsOneMoveThatKeepsTheOrder) {
  for (int i = 0; i < 1000; ++i) {
    set(std::to_string(i), {});
    park(take().row, {i % 2 == 0 ? "even" : "odd"});
  }
  announce("odd");
  announce("even");
  std::vector<std::string> expected;
  for (int i = 1; i < 1000; i += 2) expected.push_back("S " + std::to_string(i) + "{}");
  for (int i = 0; i < 1000; i += 2) expected.push_back("S " + std::to_string(i) + "{}");
  EXPECT_EQ(run_ready(), expected);
}

TEST_F(LedgerTest, ARowThatWaitsForSeveralFactsRunsWhenAllHold) {
  set("k", {});
  park(take().row, {"x", "y", "z"});
  announce("z");
  EXPECT_FALSE(ledger.has_resolved()) << "it is listed under the first";
  announce("x");
  EXPECT_THAT(run_ready(), IsEmpty());
  EXPECT_EQ(ledger.parked(), 1U);
  EXPECT_EQ(ledger.facts_of(ledger.find("k"), index).front(), (Fact{kFact, "y"}));
  check();
  announce("y");
  EXPECT_THAT(run_ready(), ElementsAre("S k{}"));
}

TEST_F(LedgerTest, AFactThatEndedBeforeTheTurnIsWaitedForAgain) {
  set("k", {});
  park(take().row, {"x", "y"});
  announce("x");
  holding = {"y"};
  EXPECT_THAT(run_ready(), IsEmpty());
  EXPECT_EQ(ledger.facts_of(ledger.find("k"), index).front(), (Fact{kFact, "x"}));
  announce("x");
  EXPECT_THAT(run_ready(), ElementsAre("S k{}"));
}

TEST_F(LedgerTest, ADeleteThatMeetsAResolvedSetOfSeveralFactsIsNotParkedOnThem) {
  set("k", {});
  park(take().row, {"x", "y"});
  announce("x");
  remove("k");
  EXPECT_THAT(run_ready(), ElementsAre("D k"));
}

TEST_F(LedgerTest, ATimedRowIsReadyWhenItsTimeHasPassedAndNotBefore) {
  set("k", {});
  park_until(take().row, 5s);
  EXPECT_EQ(ledger.parked(), 1U);
  EXPECT_EQ(ledger.why(ledger.find("k")), "later");
  EXPECT_EQ(ledger.due(ledger.find("k")), now + 5s);
  pass(4s);
  EXPECT_FALSE(ledger.has_resolved());
  pass(2s);
  EXPECT_EQ(wakes, 1);
  EXPECT_THAT(run_ready(), ElementsAre("S k{}"));
}

TEST_F(LedgerTest, RowsWhoseTimePassesLaterRunBehindWhatWasResolvedBefore) {
  for (const char* key : {"t1", "f1", "t2"}) set(key, {});
  park_until(take().row, 1s);
  park(take().row, {"x"});
  park_until(take().row, 3s);
  pass(2s);
  announce("x");
  pass(2s);
  EXPECT_THAT(run_ready(), ElementsAre("S t1{}", "S f1{}", "S t2{}")) << "a stream of timers cannot overtake resolved rows";
}

TEST_F(LedgerTest, ANewerSetCancelsTheTimer) {
  set("k", {{"a", "1"}});
  park_until(take().row, 5s);
  EXPECT_EQ(set("k", {{"a", "2"}}), Ledger::Merged::Unparked);
  EXPECT_EQ(wheel.size(), 0U);
  EXPECT_THAT(run_ready(), ElementsAre("S k{a=2}"));
}

TEST_F(LedgerTest, AnEmptyWaitListIsForgotten) {
  for (int i = 0; i < 10; ++i) {
    set("k", {});
    park(take().row, {"x"});
    EXPECT_EQ(index.size(), 1U);
    EXPECT_EQ(remove("k"), Ledger::Merged::Unparked);
    EXPECT_EQ(index.size(), 0U);
    EXPECT_THAT(run_ready(), ElementsAre("D k"));
  }
}

TEST_F(LedgerTest, TwoLedgersMayWaitForOneFact) {
  Ledger other{wheel, [] {}};
  set("mine", {});
  park(take().row, {"x"});
  other.merge(Change::set("theirs", {}), now, index);
  other.park(other.take_new()->row, facts({"x"}), 0, now, index);
  EXPECT_EQ(announce("x"), 2U);
  EXPECT_TRUE(other.has_resolved());
  EXPECT_THAT(run_ready(), ElementsAre("S mine{}"));
}

TEST_F(LedgerTest, AForgottenLedgerIsNotResolved) {
  {
    Ledger other{wheel, [] { FAIL() << "gone"; }};
    other.merge(Change::set("theirs", {}), now, index);
    other.park(other.take_new()->row, facts({"x"}), 0, now, index);
    other.merge(Change::set("timed", {}), now, index);
    other.park_until(other.take_new()->row, now + 1s, {}, now);
    index.forget_ledger(other);
  }
  EXPECT_EQ(announce("x"), 0U);
  EXPECT_EQ(wheel.size(), 0U);
}

// --- generations

TEST_F(LedgerTest, EachFlightOfARowHasItsOwnGeneration) {
  set("k", {});
  const auto first = take();
  EXPECT_TRUE(ledger.is_current(first.row, first.generation));
  ledger.requeue(first.row);
  EXPECT_FALSE(ledger.is_current(first.row, first.generation));
  const auto second = take();
  EXPECT_EQ(second.row, first.row);
  EXPECT_FALSE(ledger.is_current(first.row, first.generation));
  EXPECT_TRUE(ledger.is_current(second.row, second.generation));
  ledger.settle(second.row);
  set("another", {});
  const auto third = take();
  EXPECT_EQ(third.row, second.row) << "the place is used again";
  EXPECT_FALSE(ledger.is_current(second.row, second.generation));
  EXPECT_FALSE(ledger.is_current(12345, 0));
}

TEST_F(LedgerTest, TheTicketOfASettledChangeIsStaleForTheOneBehindIt) {
  set("k", {});
  const auto first = take();
  remove("k");
  ledger.settle(first.row);
  const auto second = take();
  EXPECT_EQ(second.row, first.row);
  EXPECT_FALSE(ledger.is_current(first.row, first.generation));
  EXPECT_TRUE(ledger.is_current(second.row, second.generation));
}

TEST_F(LedgerTest, ARealWaitForgetsEarlierSpuriousOnes) {
  set("k", {});
  auto task = take();
  ledger.spurious_waits(task.row) = 1;
  ledger.requeue(task.row);
  EXPECT_EQ(ledger.spurious_waits(task.row), 1);
  task = take();
  park(task.row, {"x"});
  EXPECT_EQ(ledger.spurious_waits(task.row), 0);
}

TEST_F(LedgerTest, AParkedRowCostsLessThan200Bytes) {
  constexpr std::size_t kRows = 50'000;
  const std::size_t before = ledger.bytes();
  for (std::size_t i = 0; i < kRows; ++i) {
    set(std::to_string(i), {});
    park(take().row, {"x"});
  }
  EXPECT_EQ(ledger.parked(), kRows);
  EXPECT_LT((ledger.bytes() - before) / kRows, 200U);
}

}  // namespace
}  // namespace rondo
