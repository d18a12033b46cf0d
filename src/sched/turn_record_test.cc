// The record of the newest turns: its order, its numbers, what is one entry, what is overwritten, and the names of sources that left.
// Method: a scheduler in simulated time, whose sources advance the clock in their turns.
#include "sched/turn_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sched/limits.h"
#include "sched/turn_observer.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using test::Simulation;
using test::WorkSource;
using testing::ElementsAre;

class TurnRecordTest : public testing::Test {
 protected:
  static constexpr std::size_t kAll = limits::kTurnsRecorded;

  TurnRecordTest() : simulation_(StrictPriority{.batch = 1}) {}

  WorkSource& add(const std::string& name, unsigned priority) {
    WorkSource& source = simulation_.add(name, priority);
    source.on_run = [this] { pass(10us); };
    return source;
  }
  void pass(Duration time) { simulation_.world.clock().advance(time); }
  /// A turn of 'source' after a pause of the scheduler.
  void give_turn(WorkSource& source, Duration pause = 0ns) {
    pass(pause);
    source.left = 1;
    source.wake();
    ASSERT_EQ(scheduler().run_until_idle(), 1U);
  }
  Scheduler& scheduler() { return simulation_.scheduler; }
  TurnRecord& record() { return scheduler().record_turns(simulation_.world.clock().now()); }
  /// "SOURCE*TURNS" for each entry.
  std::vector<std::string> entries(std::size_t count = kAll, std::uint64_t since = 0) {
    std::vector<std::string> all;
    for (const RecordedTurn& turn : record().newest(count, since)) {
      std::string name{record().name_of_removed(turn.source)};
      scheduler().for_each_source([&](const Source& source) {
        if (source.number() == turn.source) name = source.name();
      });
      all.push_back(name + "*" + std::to_string(turn.turns));
    }
    return all;
  }

  Simulation simulation_;
};

TEST_F(TurnRecordTest, NothingIsRecordedBeforeItIsAskedFor) {
  WorkSource& source = add("s", 5);
  give_turn(source);
  EXPECT_EQ(scheduler().turn_record(), nullptr);
  EXPECT_THAT(entries(), ElementsAre());
  EXPECT_EQ(record().newest_sequence(), 1U);
  give_turn(source);
  EXPECT_THAT(entries(), ElementsAre("s*1"));
  EXPECT_EQ(record().newest(kAll, 0).front().sequence, 2U) << "it is numbered as SchedulerStats::turns";
}

TEST_F(TurnRecordTest, TurnsAreInOrderWithTheirTimes) {
  WorkSource& low = add("low", 1);
  WorkSource& high = add("high", 9);
  record();
  low.left = 2;
  low.wake();
  high.left = 1;
  high.wake();
  const Instant start = simulation_.world.clock().now();
  scheduler().run_until_idle();
  const std::vector<RecordedTurn> turns = record().newest(kAll, 0);
  EXPECT_THAT(entries(), ElementsAre("high*1", "low*2"));
  EXPECT_EQ(turns[0].start, start);
  EXPECT_EQ(turns[0].end, start + 10us);
  EXPECT_EQ(turns[0].priority, Priority{9});
  EXPECT_EQ(turns[0].waited, 0ns);
  EXPECT_FALSE(turns[0].more);
  EXPECT_EQ(turns[1].start, start + 10us);
  EXPECT_EQ(turns[1].ran, 20us);
  EXPECT_EQ(turns[1].waited, 10us) << "the longest of its turns";
  EXPECT_EQ(turns[1].items, 2U);
  EXPECT_EQ(turns[1].sequence, 3U);
}

TEST_F(TurnRecordTest, TurnsOfOneSourceAreOneEntryUntilAnotherSourceOrAPauseOrTenMilliseconds) {
  WorkSource& a = add("a", 5);
  WorkSource& b = add("b", 5);
  record();
  for (int i = 0; i < 3; ++i) give_turn(a, 1ms);
  give_turn(b);
  give_turn(a);
  give_turn(a, 1ms + 1ns);
  EXPECT_THAT(entries(), ElementsAre("a*3", "b*1", "a*1", "a*1"));
  const std::vector<RecordedTurn> turns = record().newest(kAll, 0);
  EXPECT_EQ(turns[0].ran, 30us);
  EXPECT_EQ(turns[0].end - turns[0].start, 30us + 2ms);
  const std::uint64_t since = turns.back().sequence;
  a.on_run = [this] { pass(4ms); };
  for (int i = 0; i < 3; ++i) give_turn(a);
  EXPECT_THAT(entries(kAll, since), ElementsAre("a*2", "a*1"));
}

TEST_F(TurnRecordTest, AnEntryThatWasReadGetsNoFurtherTurns) {
  WorkSource& source = add("s", 5);
  record();
  give_turn(source);
  EXPECT_THAT(entries(), ElementsAre("s*1"));
  give_turn(source);
  give_turn(source);
  EXPECT_THAT(entries(kAll, 1), ElementsAre("s*2"));
  EXPECT_THAT(entries(), ElementsAre("s*1", "s*2"));
  EXPECT_THAT(entries(1), ElementsAre("s*2")) << "the newest";
  EXPECT_THAT(entries(kAll, 3), ElementsAre());
}

TEST_F(TurnRecordTest, MoreSaysThatTheSourceHadABacklog) {
  WorkSource& low = add("low", 1);
  WorkSource& high = add("high", 9);
  low.on_run = [&] {
    high.left = 1;
    high.wake();
  };
  record();
  low.left = 2;
  low.wake();
  scheduler().run_until_idle();
  std::vector<bool> more;
  for (const RecordedTurn& turn : record().newest(kAll, 0)) more.push_back(turn.more);
  EXPECT_THAT(more, ElementsAre(true, false, false, false)) << "low, high, low, high";
}

TEST(TurnRecord, ANewTurnOverwritesTheOldestOfAFullRecord) {
  WorkSource a("a", 1);
  TurnRecord record(100, Instant{});
  Instant now = Instant{} + 1s;
  for (std::size_t i = 0; i < limits::kTurnsRecorded + 5; ++i, now = now + 2ms) record.add(a, {.items = 1}, now, now + 1us);
  const std::vector<RecordedTurn> turns = record.newest(limits::kTurnsRecorded + 1, 0);
  ASSERT_EQ(turns.size(), limits::kTurnsRecorded);
  EXPECT_EQ(turns.back().sequence, 100 + limits::kTurnsRecorded + 5);
  for (std::size_t i = 0; i < turns.size(); ++i) ASSERT_EQ(turns[i].sequence, 106 + i);
}

TEST_F(TurnRecordTest, ASourceThatLeftKeepsItsName) {
  record();
  auto gone = std::make_unique<WorkSource>("gone", 5, 1);
  scheduler().add(*gone);
  scheduler().run_until_idle();
  gone.reset();
  WorkSource itself("itself", 5, 1);
  scheduler().add(itself);
  itself.on_run = [&] { scheduler().remove(itself); };
  scheduler().run_until_idle();
  EXPECT_THAT(entries(), ElementsAre("gone*1", "itself*1"));
}

// Sources come and go, many more than the record has room for.
TEST_F(TurnRecordTest, EachSourceOfTheRecordHasItsNameAmongManyThatLeft) {
  record();
  for (std::size_t i = 0; i < 5 * limits::kTurnsRecorded; ++i) {
    WorkSource source("s" + std::to_string(i), 5, 1);
    scheduler().add(source);
    scheduler().run_until_idle();
  }
  std::size_t i = 4 * limits::kTurnsRecorded;
  for (const RecordedTurn& turn : record().newest(kAll, 0)) ASSERT_EQ(record().name_of_removed(turn.source), "s" + std::to_string(i++));
  EXPECT_EQ(i, 5 * limits::kTurnsRecorded);
}

struct CountingObserver final : TurnObserver {
  std::uint32_t source_added(Source&) override { return ++sources; }
  void source_removed(std::uint32_t) override {}
  void policy_changed(const PolicySettings&) override {}
  void clock_read(Instant) override {}
  void woken(std::uint32_t) override {}
  void timers_fire() override {}
  void turn_begins(std::uint32_t source, Instant) override { began.push_back(source); }
  void time_checked(bool) override {}
  void yield_checked(bool) override {}
  void turn_ends(const Turn& turn, Instant) override { items += turn.items; }
  std::uint32_t sources = 0;
  std::uint64_t items = 0;
  std::vector<std::uint32_t> began;
};

TEST_F(TurnRecordTest, AnObserverReceivesEachTurnWhetherOrNotItIsRecorded) {
  CountingObserver observer;
  scheduler().observe(&observer);
  WorkSource& source = add("s", 5);
  give_turn(source);
  record();
  give_turn(source);
  scheduler().end_turn_record();
  give_turn(source);
  EXPECT_THAT(observer.began, ElementsAre(1U, 1U, 1U));
  EXPECT_EQ(observer.items, 3U);
  EXPECT_THAT(entries(), ElementsAre()) << "the record begins anew";
  scheduler().observe(nullptr);
}

}  // namespace
}  // namespace rondo
