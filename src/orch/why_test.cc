// why: the chain from a waiting row to the fact that no component has stated, as text for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr FactKind kNeighbor{"neighbor"};
constexpr FactKind kPort{"port"};
constexpr FactKind kStep{"step"};

/// Route -> group -> neighbor -> port: four tables. Each row has in its field "needs" the key of the next table's row that it waits for.
class WhyTest : public testing::Test, public RuntimeFixture {
 protected:
  WhyTest() {
    level("ROUTE", FactKind{"route"}, kGroup);
    level("GROUP", kGroup, kNeighbor);
    neighbors = &level("NEIGH", kNeighbor, kPort);
    runtime.explain(kGroup, [](std::string_view key) { return FactOrigin{"GROUP", std::string{key}, {}}; });
    runtime.explain(kNeighbor, [](std::string_view key) { return FactOrigin{"NEIGH", std::string{key}, {}}; });
  }
  OpenOrch& level(const std::string& table, FactKind provides, FactKind waits_for) {
    auto& orch = runtime.add<OpenOrch>("orch of " + table);
    orch.consume(
        table,
        [this, &orch, provides, waits_for](std::string_view key, const Fields& fields) {
          const Fact needed{waits_for, fields.text("needs").value_or("")};
          if (!orch.holds(needed)) return Outcome::wait_for(needed);
          done.emplace(std::string{provides.name()} + ":" + std::string{key});
          orch.announce({provides, std::string{key}});
          return Outcome::done();
        },
        [](std::string_view) { return Outcome::done(); });
    orch.provide(provides,
                 [this, provides](std::string_view key) { return done.contains(std::string{provides.name()} + ":" + std::string{key}); });
    return orch;
  }
  static std::vector<std::string> rows(const Why& why) {
    std::vector<std::string> all;
    for (const WhyLink& link : why.chain) all.push_back(link.table + " " + link.key);
    return all;
  }
  std::set<std::string> done;
  OpenOrch* neighbors = nullptr;
};

TEST_F(WhyTest, TheChainGoesDownToTheMissingRow) {
  set("ROUTE", "10.0.0.0/24", {{"needs", "102"}});
  set("GROUP", "102", {{"needs", "192.168.1.1"}});
  run();
  const Why why = runtime.why("ROUTE", "10.0.0.0/24");
  EXPECT_FALSE(why.cycle);
  EXPECT_THAT(rows(why), ElementsAre("ROUTE 10.0.0.0/24", "GROUP 102", "NEIGH 192.168.1.1"));
  EXPECT_EQ(why.chain[0].state, WhyLink::State::Parked);
  EXPECT_THAT(why.chain[0].facts, ElementsAre(Fact{kGroup, "102"}));
  EXPECT_EQ(why.chain[0].provider, "orch of GROUP");
  EXPECT_EQ(why.chain[1].provider, "orch of NEIGH");
  EXPECT_EQ(why.chain[2].state, WhyLink::State::Absent);
  EXPECT_THAT(why.chain[2].note, HasSubstr("never written"));
}

TEST_F(WhyTest, AFactWithoutAProviderIsNamedAsSuch) {
  set("NEIGH", "192.168.1.1", {{"needs", "Ethernet0"}});
  run();
  const Why why = runtime.why("NEIGH", "192.168.1.1");
  ASSERT_EQ(why.chain.size(), 1U);
  EXPECT_EQ(why.chain[0].provider, "");
  EXPECT_THAT(why.chain[0].note, HasSubstr("no Orch provides facts of the kind 'port'"));
}

TEST_F(WhyTest, AFactOfNoTableIsExplainedInWords) {
  runtime.explain(kPort, [](std::string_view key) { return FactOrigin{{}, {}, "port " + std::string{key} + " has no carrier"}; });
  runtime.add<OpenOrch>("ports").provide(kPort, [](std::string_view) { return false; });
  set("GROUP", "102", {{"needs", "192.168.1.1"}});
  set("NEIGH", "192.168.1.1", {{"needs", "Ethernet0"}});
  run();
  const Why why = runtime.why("GROUP", "102");
  EXPECT_THAT(rows(why), ElementsAre("GROUP 102", "NEIGH 192.168.1.1"));
  EXPECT_EQ(why.chain[1].provider, "ports");
  EXPECT_EQ(why.chain[1].note, "port Ethernet0 has no carrier");
}

TEST_F(WhyTest, AnOrchTellsWhereItsDoneRowsStandAndWhyWalksOn) {
  runtime.explain_state("GROUP", [](std::string_view key, const Record*) {
    return key == "102" ? RowInPlane{PlaneState::Withdrawn, "the device dropped it", {{kNeighbor, "192.168.1.1"}}} : RowInPlane{};
  });
  done.emplace(std::string{kNeighbor.name()} + ":192.168.1.1");
  set("GROUP", "102", {{"needs", "192.168.1.1"}});
  set("GROUP", "103", {{"needs", "192.168.1.1"}});
  run();
  const Why why = runtime.why("GROUP", "102");
  EXPECT_THAT(rows(why), ElementsAre("GROUP 102", "NEIGH 192.168.1.1"));
  EXPECT_EQ(why.chain[0].plane, PlaneState::Withdrawn);
  EXPECT_EQ(why.chain[0].note, "the device dropped it");
  EXPECT_EQ(why.chain[0].missing, 1U);
  EXPECT_FALSE(why.cycle);
  EXPECT_EQ(runtime.row_state("GROUP", "103").plane, PlaneState::Unknown);
  EXPECT_EQ(runtime.row_state("NEIGH", "192.168.1.1").plane, PlaneState::Unknown) << "no Orch tells";
}

TEST_F(WhyTest, TheProvidersOfAllMissingFactsAreNamed) {
  auto& orch = runtime.add<OpenOrch>("orch of ROUTE2");
  orch.consume(
      "ROUTE2",
      [](std::string_view, const Fields&) {
        return Outcome::wait_for({{kGroup, "1"}, {kNeighbor, "a"}, {kNeighbor, "b"}, {FactKind{"unprovided"}, "x"}});
      },
      [](std::string_view) { return Outcome::done(); });
  set("ROUTE2", "r", {});
  run();
  EXPECT_EQ(runtime.why("ROUTE2", "r").chain[0].provider, "orch of GROUP, orch of NEIGH");
}

TEST_F(WhyTest, ACycleIsFoundAndShownOnce) {
  level("STEP", kStep, kStep);
  runtime.explain(kStep, [](std::string_view key) { return FactOrigin{"STEP", std::string{key}, {}}; });
  set("STEP", "a", {{"needs", "b"}});
  set("STEP", "b", {{"needs", "c"}});
  set("STEP", "c", {{"needs", "b"}});
  run();
  const Why why = runtime.why("STEP", "a");
  EXPECT_TRUE(why.cycle);
  EXPECT_THAT(rows(why), ElementsAre("STEP a", "STEP b", "STEP c", "STEP b"));
}

/// Rows of STEP wait for steps; 'rows' maps each step to the rows that can make it true.
void explain_alternatives(Runtime& runtime, std::map<std::string, std::vector<std::string>, std::less<>> rows) {
  runtime.explain(kStep, [rows = std::move(rows)](std::string_view key) {
    std::vector<FactOrigin> origins;
    for (const std::string& row : rows.find(key)->second) origins.push_back({"STEP", row, {}});
    return origins;
  });
}

TEST_F(WhyTest, EachRowThatCouldMakeAFactTrueIsFollowed) {
  level("STEP", kStep, kStep);
  explain_alternatives(runtime, {{"up", {"left", "right"}}, {"x", {"x"}}});
  set("STEP", "a", {{"needs", "up"}});
  set("STEP", "left", {{"needs", "x"}});
  run();
  const Why why = runtime.why("STEP", "a");
  EXPECT_FALSE(why.cycle);
  EXPECT_THAT(rows(why), ElementsAre("STEP a", "STEP left", "STEP x", "STEP right"));
  EXPECT_EQ(why.chain[1].any_of, 2U);
  EXPECT_EQ(why.chain[2].any_of, 1U);
  EXPECT_EQ(why.chain[3].any_of, 2U);
  EXPECT_EQ(why.chain[3].parent, 0U);
}

TEST_F(WhyTest, ACycleThroughOneOfSeveralRowsIsNoDeadlock) {
  level("STEP", kStep, kStep);
  explain_alternatives(runtime, {{"up", {"left", "right"}}, {"a", {"a"}}});
  set("STEP", "a", {{"needs", "up"}});
  set("STEP", "left", {{"needs", "a"}});
  run();
  const Why open = runtime.why("STEP", "a");
  EXPECT_THAT(rows(open), ElementsAre("STEP a", "STEP left", "STEP a", "STEP right"));
  EXPECT_FALSE(open.cycle) << "the row on the right can still be written";
  EXPECT_FALSE(runtime.why("STEP", "left").cycle);
  set("STEP", "right", {{"needs", "a"}});
  run();
  EXPECT_TRUE(runtime.why("STEP", "a").cycle) << "now both wait for it";
  EXPECT_TRUE(runtime.why("STEP", "right").cycle);
}

TEST_F(WhyTest, MoreAlternativesThanTheLimitAreCutShort) {
  level("STEP", kStep, kStep);
  explain_alternatives(runtime, {{"up", std::vector<std::string>(1000, "other")}});
  set("STEP", "a", {{"needs", "up"}});
  run();
  const Why why = runtime.why("STEP", "a");
  EXPECT_TRUE(why.cut_short);
  EXPECT_FALSE(why.cycle);
  EXPECT_LE(why.chain.size(), limits::kWhyDepth);
}

TEST_F(WhyTest, AnEndlessChainStopsAtTheLimit) {
  level("STEP", kStep, kStep);
  runtime.explain(kStep, [](std::string_view key) { return FactOrigin{"STEP", std::string{key}, {}}; });
  for (int i = 0; i < 100; ++i) set("STEP", std::to_string(i), {{"needs", std::to_string(i + 1)}});
  run();
  const Why why = runtime.why("STEP", "0");
  EXPECT_EQ(why.chain.size(), limits::kWhyDepth);
  EXPECT_FALSE(why.cycle);
  EXPECT_TRUE(why.cut_short);
  EXPECT_THAT(why.chain.back().note, HasSubstr("longer than the limit of 64"));
}

TEST_F(WhyTest, ARowThatIsQueuedOrInFlightSaysSo) {
  auto& orch = runtime.add<OpenOrch>();
  Consumer& consumer = orch.consume(
      "T", [](std::string_view, const Fields&) { return Outcome::staged(); }, [](std::string_view) { return Outcome::done(); });
  set("T", "flying");
  run();
  EXPECT_EQ(runtime.why("T", "flying").chain[0].state, WhyLink::State::InFlight);
  EXPECT_EQ(runtime.why("T", "flying").chain[0].note, "ordered, and Orch 'test' has not settled it yet (Outcome::staged)");
  set("GROUP", "102", {{"needs", "n"}});
  run();
  done.emplace("neighbor:n");
  neighbors->announce({kNeighbor, "n"});
  EXPECT_EQ(runtime.why("GROUP", "102").chain[0].state, WhyLink::State::Queued) << "resolved: it waits only for its turn";
  orch.hold(consumer);
}

TEST_F(WhyTest, ARowThatWaitsForATimeSaysHowLongAndWhy) {
  runtime.add<OpenOrch>().consume(
      "T",
      [](std::string_view, const Fields&) {
        return Outcome::retry_after(5s, Status{StatusCode::ResourceExhausted, "the table is full"});
      },
      [](std::string_view) { return Outcome::done(); });
  set("T", "a");
  run_for(2s);
  const Why why = runtime.why("T", "a");
  ASSERT_EQ(why.chain.size(), 1U);
  EXPECT_THAT(why.chain[0].note, testing::AllOf(HasSubstr("tried again in 3"), HasSubstr("the table is full")));
}

TEST_F(WhyTest, WhatIsNotOwedAndWhatNobodyConsumesIsSaid) {
  EXPECT_THAT(runtime.why("ROUTE", "none").chain[0].note, HasSubstr("never written, or it is done"));
  EXPECT_THAT(runtime.why("NO_TABLE", "none").chain[0].note, HasSubstr("no Orch consumes this table"));
}

TEST_F(WhyTest, ARowThatWaitsToBeTakenIsQueued) {
  runtime.add<OpenOrch>().consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  set("T", "a");
  const WhyLink waits = runtime.why("T", "a").chain.at(0);
  EXPECT_EQ(waits.state, WhyLink::State::Queued);
  EXPECT_EQ(waits.note, "its consumer has not taken it yet");
  EXPECT_THAT(runtime.why("T", "other").chain.at(0).note,
              testing::AllOf(HasSubstr("keys that wait in the table: 1"), Not(HasSubstr("never written"))));
  run();
  EXPECT_EQ(runtime.why("T", "a").chain.at(0).state, WhyLink::State::Absent);
  EXPECT_THAT(runtime.why("T", "a").chain.at(0).note, HasSubstr("never written, or it is done"));
}

TEST_F(WhyTest, ATableThatTheProgramWritesAndNoOrchConsumesIsAStandstill) {
  set("ROUTE", "a");
  Table typo = runtime.table("ROUTES");
  EXPECT_THAT(runtime.standstills(10), testing::IsEmpty()) << "nothing waits in it";
  ASSERT_TRUE(typo.set("a", {}).ok());
  run();
  EXPECT_THAT(runtime.standstills(10),
              testing::ElementsAre("no Orch consumes the table 'ROUTES', which this program writes: keys that wait in it: 1"));
}

TEST_F(WhyTest, OfSeveralFactsTheFirstThatIsMissingIsFollowed) {
  auto& orch = runtime.add<OpenOrch>();
  orch.consume(
      "T",
      [](std::string_view, const Fields&) {
        return Outcome::wait_for({{kNeighbor, "n"}, {kGroup, "g"}});
      },
      [](std::string_view) { return Outcome::done(); });
  set("T", "a");
  run();
  done.emplace("neighbor:n");  // Holds, but is not announced.
  EXPECT_THAT(rows(runtime.why("T", "a")), ElementsAre("T a", "GROUP g"));
}

/// A row "T a" that waits for all of 'facts'.
void wait_for_all(Runtime& runtime, std::vector<Fact> facts) {
  runtime.add<OpenOrch>("waits").consume(
      "T", [facts](std::string_view, const Fields&) { return Outcome::wait_for(facts); }, [](std::string_view) { return Outcome::done(); });
}

TEST_F(WhyTest, SeveralMissingFactsAreAllFollowedDepthFirst) {
  wait_for_all(runtime, {{kNeighbor, "here"}, {kGroup, "g"}, {kNeighbor, "n"}});
  done.emplace("neighbor:here");
  set("GROUP", "g", {{"needs", "n2"}});
  set("T", "a");
  run();
  const Why why = runtime.why("T", "a");
  EXPECT_THAT(rows(why), ElementsAre("T a", "GROUP g", "NEIGH n2", "NEIGH n"));
  EXPECT_EQ(why.chain[0].missing, 2U) << "one of the three holds";
  EXPECT_EQ(why.chain[0].facts.size(), 3U);
  EXPECT_EQ(why.chain[0].facts.back(), (Fact{kNeighbor, "here"})) << "what holds comes last";
  EXPECT_THAT((std::vector<std::size_t>{why.chain[1].parent, why.chain[2].parent, why.chain[3].parent}), ElementsAre(0U, 1U, 0U));
  EXPECT_EQ(why.chain[3].fact, (Fact{kNeighbor, "n"}));
  EXPECT_FALSE(why.cycle);
  EXPECT_FALSE(why.cut_short);
}

TEST_F(WhyTest, ARowThatTwoWaitForIsFollowedOnceAndIsNoCycle) {
  wait_for_all(runtime, {{kGroup, "g1"}, {kGroup, "g2"}});
  set("GROUP", "g1", {{"needs", "n"}});
  set("GROUP", "g2", {{"needs", "n"}});
  set("NEIGH", "n", {{"needs", "Ethernet0"}});
  set("T", "a");
  run();
  const Why why = runtime.why("T", "a");
  EXPECT_THAT(rows(why), ElementsAre("T a", "GROUP g1", "NEIGH n", "GROUP g2", "NEIGH n"));
  EXPECT_FALSE(why.cycle);
  EXPECT_THAT(why.chain[4].note, HasSubstr("see above"));
}

TEST_F(WhyTest, ACycleBehindTheSecondFactIsFound) {
  level("STEP", kStep, kStep);
  runtime.explain(kStep, [](std::string_view key) { return FactOrigin{"STEP", std::string{key}, {}}; });
  wait_for_all(runtime, {{kGroup, "g"}, {kStep, "x"}});
  set("STEP", "x", {{"needs", "y"}});
  set("STEP", "y", {{"needs", "x"}});
  set("T", "a");
  run();
  const Why why = runtime.why("T", "a");
  EXPECT_TRUE(why.cycle);
  EXPECT_THAT(rows(why), ElementsAre("T a", "GROUP g", "STEP x", "STEP y", "STEP x"));
}

TEST_F(WhyTest, AMissingProviderAmongSeveralFactsIsNamedAndTheOthersAreFollowed) {
  wait_for_all(runtime, {{kPort, "Ethernet0"}, {kPort, "Ethernet4"}, {kGroup, "g"}});
  set("T", "a");
  run();
  const Why why = runtime.why("T", "a");
  EXPECT_THAT(rows(why), ElementsAre("T a", "GROUP g"));
  EXPECT_EQ(why.chain[0].note, "no Orch provides facts of the kind 'port'") << "once, however many facts of it";
}

TEST_F(WhyTest, ALotOfFactsAreNotAllAskedAbout) {
  std::vector<Fact> many;
  for (std::size_t i = 0; i < limits::kWaitsPerChange; ++i) many.push_back({kGroup, std::to_string(i)});
  wait_for_all(runtime, many);
  set("T", "a");
  run();
  const Why why = runtime.why("T", "a");
  EXPECT_TRUE(why.cut_short);
  EXPECT_EQ(why.chain[0].missing, limits::kWaitsPerChange);
  EXPECT_THAT(why.chain.back().note, HasSubstr("more than the limit of 1024 facts"));
}

TEST(Why, ARejectedRowSaysWhyUntilALaterChangeIsDone) {
  Runtime runtime;
  class Picky final : public Orch {
   public:
    explicit Picky(Runtime& r) : Orch(r, "picky", Priority::p1) {
      consume(
          "T",
          [](std::string_view, const Fields& fields) {
            return fields.contains("good") ? Outcome::done()
                                           : Outcome::reject(Status{StatusCode::InvalidArgument, "field 'good' is missing"});
          },
          [](std::string_view) { return Outcome::done(); });
    }
  };
  runtime.add<Picky>();
  ASSERT_TRUE(runtime.table("T").set("k", {{"bad", "1"}}).ok());
  runtime.run_until_idle();
  Why why = runtime.why("T", "k");
  ASSERT_EQ(why.chain.size(), 1U);
  EXPECT_EQ(why.chain[0].state, WhyLink::State::Rejected);
  EXPECT_NE(why.chain[0].note.find("field 'good' is missing"), std::string::npos) << why.chain[0].note;

  ASSERT_TRUE(runtime.table("T").set("k", {{"good", "1"}}).ok());
  runtime.run_until_idle();
  EXPECT_EQ(runtime.why("T", "k").chain[0].state, WhyLink::State::Absent);
}

TEST_F(WhyTest, ItSaysWhatIsToBeDoneWithARowThatWaits) {
  Runtime& r = runtime;
  class Keeper final : public Orch {
   public:
    explicit Keeper(Runtime& above) : Orch(above, "keeper", Priority::p4) {
      consume(
          "KEPT", [](std::string_view, const Fields&) { return Outcome::done(); },
          [](std::string_view key) {
            return Outcome::wait_for({FactKind{"unused"}, std::string{key}});
          });
    }
  };
  r.add<Keeper>();
  set("ROUTE", "10.0.0.0/24", {{"needs", "102"}});
  set("KEPT", "k", {{"a", "1"}});
  run();
  EXPECT_EQ(r.why("ROUTE", "10.0.0.0/24").chain[0].op, ChangeOp::Set);
  EXPECT_EQ(r.why("KEPT", "k").chain[0].op, std::nullopt) << "nothing is owed";
  remove("KEPT", "k");
  run();
  EXPECT_EQ(r.why("KEPT", "k").chain[0].state, WhyLink::State::Parked);
  EXPECT_EQ(r.why("KEPT", "k").chain[0].op, ChangeOp::Delete);
}

class RejectedDeletes : public testing::Test, public RuntimeFixture {
 protected:
  /// Rejects Deletes for 'stuck', and for 'bad' Sets with a field "bad".
  void consume(Status bad, Status stuck) {
    orch.consume(
        "T",
        [bad = std::move(bad)](std::string_view, const Fields& fields) {
          return fields.find("bad") == "1" ? Outcome::reject(bad) : Outcome::done();
        },
        [stuck = std::move(stuck)](std::string_view) { return Outcome::reject(stuck); });
  }
  void consume_no_key() {
    const auto reject = [] { return Outcome::reject_key({StatusCode::InvalidArgument, "no such key"}); };
    orch.consume(
        "T", [reject](std::string_view, const Fields&) { return reject(); }, [reject](std::string_view) { return reject(); });
  }
  std::size_t rejected_rows() { return stats("T").rejected_rows; }
  OpenOrch& orch = runtime.add<OpenOrch>();
};

TEST_F(RejectedDeletes, ForAnotherReasonThanTheSetLeaveWhatStoodBeforeAndAreKept) {
  consume({StatusCode::InvalidArgument, "field 'bad' is not known"}, {StatusCode::InvalidArgument, "in use"});
  set("T", "k", {{"good", "1"}});
  run();
  EXPECT_EQ(rejected_rows(), 0U);
  set("T", "k", {{"bad", "1"}});
  run();
  EXPECT_EQ(rejected_rows(), 1U);
  remove("T", "k");
  run();
  EXPECT_EQ(rejected_rows(), 1U);
  EXPECT_EQ(runtime.why("T", "k").chain.at(0).state, WhyLink::State::Rejected);
  EXPECT_THAT(runtime.why("T", "k").chain.at(0).note, HasSubstr("in use"));
}

TEST_F(RejectedDeletes, ForTheSameReasonThatIsNoFaultOfTheKeyAreKept) {
  consume({StatusCode::PermissionDenied, "the kernel refuses"}, {StatusCode::PermissionDenied, "the kernel refuses"});
  set("T", "k", {{"bad", "1"}});
  run();
  remove("T", "k");
  run();
  EXPECT_EQ(rejected_rows(), 1U);
  EXPECT_THAT(runtime.why("T", "k").chain.at(0).note, HasSubstr("DEL"));
}

TEST_F(RejectedDeletes, ForTheSameFaultOfTheKeyLeaveNothingThatStands) {
  consume_no_key();
  set("T", "k");
  run();
  ASSERT_EQ(rejected_rows(), 1U);
  remove("T", "k");
  run();
  EXPECT_EQ(rejected_rows(), 0U);
  EXPECT_EQ(runtime.why("T", "k").chain.at(0).state, WhyLink::State::Absent);
}

TEST_F(RejectedDeletes, OfAKeyOfWhichNoRowCanStandAreToldAndLeaveNothing) {
  consume_no_key();
  remove("T", "k");
  run();
  EXPECT_EQ(stats("T").rejected, 1U);
  EXPECT_THAT(stats("T").last_reject, HasSubstr("no such key"));
  EXPECT_EQ(rejected_rows(), 0U);
  EXPECT_EQ(runtime.why("T", "k").chain.at(0).state, WhyLink::State::Absent);
}

/// Such a row was counted, and told, as rejected.
TEST_F(RejectedDeletes, ARejectedRowThatIsCorrectedToOneThatWaitsIsNotRejected) {
  for (const bool on_time : {false, true}) {
    const auto wait = [on_time] {
      return on_time ? Outcome::retry_after(1h, {StatusCode::Unavailable, "later"}) : Outcome::wait_for({FactKind{"group"}, "1"});
    };
    orch.consume(
        on_time ? "T" : "U",
        [wait](std::string_view, const Fields& fields) {
          return fields.find("bad") == "1" ? Outcome::reject({StatusCode::InvalidArgument, "field 'bad' is not known"}) : wait();
        },
        [](std::string_view) { return Outcome::done(); });
    const char* const table = on_time ? "T" : "U";
    set(table, "k", {{"bad", "1"}});
    run();
    ASSERT_EQ(stats(table).rejected_rows, 1U);
    set(table, "k", {{"bad", "0"}});
    run();
    EXPECT_EQ(stats(table).rejected_rows, 0U);
    EXPECT_EQ(runtime.why(table, "k").chain.at(0).state, WhyLink::State::Parked);
    EXPECT_THAT(runtime.why(table, "k").chain.at(0).note, testing::Not(HasSubstr("rejected")));
  }
}

TEST_F(RejectedDeletes, TheNewestIsOneThatStillStands) {
  consume({StatusCode::InvalidArgument, "field 'bad' is not known"}, {StatusCode::PermissionDenied, "in use"});
  for (const char* const key : {"b", "c", "a", "d"}) {
    set("T", key, {{"bad", "1"}});
    run();
  }
  set("T", "d", {{"bad", "0"}});
  run();
  EXPECT_THAT(stats("T").last_reject, HasSubstr("'d'"));
  EXPECT_THAT(stats("T").standing_reject, HasSubstr("T 'a': field 'bad'"));
  for (const char* const key : {"a", "b", "c"}) set("T", key, {{"bad", "0"}});
  run();
  EXPECT_EQ(stats("T").standing_reject, "");
}

TEST(Why, OfTooManyRejectedRowsSomeAreForgottenAndCounted) {
  Runtime runtime;
  class Never final : public Orch {
   public:
    explicit Never(Runtime& r) : Orch(r, "never", Priority::p1) {
      consume(
          "T",
          [](std::string_view, const Fields&) {
            return Outcome::reject(Status{StatusCode::InvalidArgument, "never"});
          },
          [](std::string_view) { return Outcome::done(); });
    }
  };
  runtime.add<Never>();
  const auto known = [&runtime](std::size_t keys) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < keys; ++i) {
      const Why why = runtime.why("T", std::to_string(i));
      count += !why.chain.empty() && why.chain[0].state == WhyLink::State::Rejected ? 1U : 0U;
    }
    return count;
  };
  const auto reject = [&runtime](std::size_t key) {
    ASSERT_TRUE(runtime.table("T").set(std::to_string(key), {}).ok());
    runtime.run_until_idle();
  };
  for (std::size_t i = 0; i < limits::kRejectionsKept; ++i) reject(i);
  EXPECT_EQ(known(limits::kRejectionsKept), limits::kRejectionsKept);
  EXPECT_EQ(runtime.consumers().at(0).rejections_forgotten, 0U);
  reject(limits::kRejectionsKept);
  EXPECT_EQ(known(limits::kRejectionsKept + 1), limits::kRejectionsKept + 1) << "a rejected row is never told as done";
  EXPECT_EQ(runtime.consumers().at(0).rejections_forgotten, 1U);
  EXPECT_EQ(runtime.consumers().at(0).rejected_rows, limits::kRejectionsKept + 1) << "the count is the count";
  EXPECT_EQ(runtime.why("T", "0").chain.at(0).note, "the reason is no longer kept; write the row again to see it");
  // All of them are listed, page by page.
  std::vector<std::string> listed;
  std::optional<std::string> after;
  for (std::vector<RejectedRow> page; !(page = rejected_rows(runtime, "T", 100, after)).empty(); after = page.back().key) {
    EXPECT_LE(page.size(), 100U);
    for (const RejectedRow& row : page) listed.push_back(row.key);
  }
  EXPECT_EQ(listed.size(), limits::kRejectionsKept + 1);
  EXPECT_TRUE(std::ranges::is_sorted(listed));
  EXPECT_THAT(rejected_rows(runtime, "T", 1, "999").size(), 0U);
  reject(0);
  EXPECT_THAT(runtime.why("T", "0").chain.at(0).note, testing::HasSubstr("SET rejected: "));
  EXPECT_EQ(runtime.consumers().at(0).rejected_rows, limits::kRejectionsKept + 1) << "a row that is rejected again is one row";
}

TEST_F(WhyTest, AQuarantinedSourceIsNamedToTheRowsThatMayWaitForIt) {
  test::WorkSource device("device", 40, 0);
  device.on_run = [] { throw std::runtime_error("callback threw"); };
  runtime.scheduler().add(device);
  auto& orch = runtime.add<OpenOrch>("owns");
  orch.consume(
      "OWN", [](std::string_view, const Fields&) { return Outcome::staged(); }, [](std::string_view) { return Outcome::done(); });
  runtime.on_reject([](std::string_view, const Change&, const Status&) { throw std::runtime_error("on_reject threw"); });
  orch.consume(
      "BAD",
      [](std::string_view, const Fields&) {
        return Outcome::reject({StatusCode::Internal, "x"});
      },
      [](std::string_view) { return Outcome::done(); });
  set("OWN", "a");
  run();
  EXPECT_EQ(runtime.why("OWN", "a").chain.at(0).note, "ordered, and Orch 'owns' has not settled it yet (Outcome::staged)");
  device.left = 1;
  device.wake();
  run();
  EXPECT_THAT(
      runtime.why("OWN", "a").chain.at(0).note,
      HasSubstr("if 'device' answers for it, no answer will come: it is quarantined: internal: source 'device' threw in run(): callback"));
  EXPECT_EQ(stats("BAD").quarantine, "");
  set("BAD", "b");
  run();
  EXPECT_THAT(stats("BAD").quarantine, HasSubstr("on_reject threw"));
}

}  // namespace
}  // namespace rondo
