// Outcome::wait_for_any: a change that waits for any of several facts is handled again with the first that comes, and once. A random test
// compares runs with the rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "orch/consumer.h"
#include "orch/inspection.h"
#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "orch/runtime_view.h"
#include "rondo/base/limits.h"
#include "rondo/base/random.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class WaitForAny : public testing::Test, public RuntimeFixture {
 protected:
  WaitForAny() {
    orch.consume(
        "T",
        [this](std::string_view key, const Fields& fields) {
          calls.push_back(call(ChangeOp::Set, key));
          return outcome(fields.text("groups").value_or(""));
        },
        [this](std::string_view key) {
          calls.push_back(call(ChangeOp::Delete, key));
          return Outcome::done();
        });
  }
  /// 'names' are single letters.
  Outcome outcome(const std::string& names) {
    std::vector<Fact> facts;
    for (const char name : names) facts.push_back({kGroup, std::string(1, name)});
    for (const Fact& fact : facts) {
      if (orch.holds(fact) && !is_wrong) return Outcome::done();
    }
    return Outcome::wait_for_any(facts);
  }
  void begins(const std::string& group) {
    groups.insert(group);
    provider.announce({kGroup, group});
  }
  void ends(const std::string& group) {
    groups.erase(group);
    provider.withdraw({kGroup, group});
  }
  std::vector<std::string> awaited() {
    std::vector<std::string> names;
    for (const ParkedFact& one : parked_facts(runtime, 100)) names.push_back(one.fact.key + "=" + std::to_string(one.rows));
    return names;
  }
  void check() {
    const RuntimeView view(runtime);
    const Status state = Inspection(view.consumers().at("T")->ledger(), view.facts()).check();
    ASSERT_TRUE(state.ok()) << state.to_string();
  }

  OpenOrch& provider = add_groups();
  OpenOrch& orch = runtime.add<OpenOrch>();
  bool is_wrong = false;  // The handler waits although a fact holds.
};

TEST_F(WaitForAny, TheFirstFactThatComesIsEnough) {
  for (const std::string first : {"a", "b", "c"}) {
    calls.clear();
    set("T", "k", {{"groups", "abc"}});
    run();
    EXPECT_THAT(calls, ElementsAre("S k"));
    EXPECT_THAT(awaited(), UnorderedElementsAre("a=1", "b=1", "c=1"));
    check();
    begins(first);
    run();
    EXPECT_THAT(calls, ElementsAre("S k", "S k"));
    EXPECT_THAT(awaited(), IsEmpty());
    check();
    for (const std::string later : {"a", "b", "c"}) begins(later);
    run();
    EXPECT_EQ(calls.size(), 2U) << "it waits for none of the others any more";
    for (const std::string group : {"a", "b", "c"}) ends(group);
  }
}

TEST_F(WaitForAny, FactsThatComeTogetherWakeTheRowOnce) {
  set("T", "k", {{"groups", "abc"}});
  set("T", "other", {{"groups", "cb"}});
  run();
  begins("c");
  begins("a");
  begins("b");
  check();
  run();
  EXPECT_THAT(calls, ElementsAre("S k", "S other", "S other", "S k"));
  check();
}

TEST_F(WaitForAny, AFactThatEndsBeforeTheTurnIsLeftToTheHandler) {
  set("T", "k", {{"groups", "ab"}});
  run();
  begins("b");
  ends("b");
  run();
  EXPECT_THAT(calls, ElementsAre("S k", "S k"));
  EXPECT_THAT(awaited(), UnorderedElementsAre("a=1", "b=1"));
  check();
}

TEST_F(WaitForAny, ANewerChangeEndsTheWaitForAll) {
  set("T", "k", {{"groups", "ab"}});
  set("T", "gone", {{"groups", "ab"}});
  run();
  set("T", "k", {{"groups", "c"}});
  remove("T", "gone");
  run();
  EXPECT_THAT(awaited(), ElementsAre("c=1"));
  EXPECT_FALSE(orch.is_awaited({kGroup, "b"}));
  begins("b");
  run();
  EXPECT_EQ(calls.size(), 4U);
  check();
}

TEST_F(WaitForAny, AFactThatIsNamedTwiceCountsOnce) {
  set("T", "k", {{"groups", "abba"}});
  run();
  check();
  begins("b");
  run();
  EXPECT_THAT(awaited(), IsEmpty());
  EXPECT_EQ(stats("T").done, 1U);
}

TEST_F(WaitForAny, AWaitForAFactThatHoldsIsAskedAgainAndThenSlowedDown) {
  begins("b");
  is_wrong = true;
  set("T", "k", {{"groups", "ab"}});
  run();
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(stats("T").spurious_waits, 2U);
  is_wrong = false;
  run_for(limits::kSpuriousWaitDelay + 10ms);
  EXPECT_EQ(stats("T").done, 1U);
}

TEST_F(WaitForAny, TheLimitsAreThoseOfAWaitForAll) {
  set("T", "none");
  set("T", "many", {{"groups", std::string(limits::kWaitsPerChange + 1, 'a')}});
  run();
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("waits for 0 facts"), HasSubstr("waits for 1025 facts")));
  set("T", "most", {{"groups", std::string(limits::kWaitsPerChange, 'a')}});
  run();
  EXPECT_EQ(stats("T").parked, 1U);
}

TEST_F(WaitForAny, AForgottenAnnouncementOfAnyIsFound) {
  set("T", "k", {{"groups", "ab"}});
  run();
  groups.insert("b");
  run_for(1s);
  EXPECT_EQ(stats("T").done, 1U);
  EXPECT_EQ(runtime.forgotten_facts().announcements, 1U);
}

TEST_F(WaitForAny, TheEndOfAnOrchLeavesNoRowInTheIndex) {
  {
    Runtime other({.clock = &world.clock(), .reactor = &world.reactor()});
    auto& waits = other.add<OpenOrch>();
    waits.consume(
        "T",
        [](std::string_view, const Fields&) {
          return Outcome::wait_for_any({{kGroup, "a"}, {kGroup, "b"}});
        },
        [](std::string_view) { return Outcome::done(); });
    ASSERT_TRUE(other.table("T").set("k", {}).ok());
    other.run_until_idle();
    EXPECT_TRUE(waits.is_awaited({kGroup, "b"}));
  }
}

TEST_F(WaitForAny, WhyShowsAllAlternativesAndNoCycleWhileOneIsOutside) {
  constexpr FactKind kMade{"made"};
  orch.provide(kMade, [](std::string_view) { return false; });
  runtime.explain(kMade, [](std::string_view key) { return FactOrigin{"M", std::string{key}, {}}; });
  std::map<std::string, std::string> needs{{"x", "yz"}, {"y", "x"}, {"z", ""}};
  orch.consume(
      "M",
      [&needs](std::string_view key, const Fields&) {
        std::vector<Fact> facts;
        for (const char name : needs[std::string{key}]) facts.push_back({FactKind{"made"}, std::string(1, name)});
        return facts.empty() ? Outcome::done() : Outcome::wait_for_any(facts);
      },
      [](std::string_view) { return Outcome::done(); });
  for (const std::string row : {"x", "y", "z"}) set("M", row);
  run();
  const Why why = runtime.why("M", "x");
  ASSERT_EQ(why.chain.size(), 4U);
  EXPECT_TRUE(why.chain[0].any_fact);
  EXPECT_EQ(why.chain[0].missing, 2U);
  EXPECT_THAT(why.chain[0].note, HasSubstr("one of these 2 facts is enough"));
  EXPECT_EQ(why.chain[1].key + why.chain[2].key + why.chain[3].key, "yxz");
  EXPECT_EQ(why.chain[1].any_of, 2U);
  EXPECT_FALSE(why.cycle) << "z is outside";

  needs["z"] = "xy";
  set("M", "z");
  run();
  EXPECT_TRUE(runtime.why("M", "x").cycle);
}

class WaitForAnyProperty : public WaitForAny {};

TEST_F(WaitForAnyProperty, NoRowWaitsWhileOneOfItsFactsHolds) {
  Random random(7);
  const auto letter = [&random] { return std::string(1, static_cast<char>('a' + random.below(6))); };
  std::map<std::string, std::string> rows;
  for (int step = 0; step < 3000; ++step) {
    SCOPED_TRACE(step);
    const std::string key = std::to_string(random.below(12));
    const std::string group = letter();
    switch (random.below(5)) {
      case 0:
        rows.erase(key);
        remove("T", key);
        break;
      case 1:
      case 2: {
        std::string names;
        for (std::uint64_t i = 0; i <= random.below(4); ++i) names += letter();
        rows[key] = names;
        set("T", key, {{"groups", names}});
        break;
      }
      default: groups.contains(group) ? ends(group) : begins(group);
    }
    if (random.chance(0.3)) continue;
    run();
    check();
    for (const ParkedRow& row : parked_rows(runtime, "T", 100)) {
      ASSERT_TRUE(rows.contains(row.key));
      for (const char name : rows[row.key])
        ASSERT_FALSE(groups.contains(std::string(1, name))) << row.key << " waits for " << rows[row.key];
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace rondo
