// Goal: a replay tells an unchanged program from a changed one, whatever kind of turn writes a table or requeues a row. Method: an Orch
// acts in each kind of turn. Its run is replayed unchanged, without one of its actions, and without one of its sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/testing/temporary_folder.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/replay/replay.h"
#include "rondo/sim/world.h"

namespace rondo::replay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr FactKind kFact{"fact"};

/// The turn in which the Orch acts, and what it does there.
struct Program {
  std::string turn = {};
  std::string action = {};
  bool has_timer = true;
  bool has_observer = true;
  bool has_spare_table = true;
};

class Acts final : public Orch {
 public:
  /// 'clock' goes on in each turn of a recorded run; null in a replay.
  Acts(Runtime& runtime, const Program& program, SimClock* clock) : Orch(runtime, "acts", Priority::p3), program_(program), clock_(clock) {
    target_ = consume(
        "TARGET", [this](std::string_view, const Fields&) { return ++handled_, Outcome::done(); },
        [](std::string_view) { return Outcome::done(); });
    const auto gone = [](std::string_view) { return Outcome::done(); };
    consume(
        "ROW", [this](std::string_view, const Fields&) { return act("consumer"), Outcome::done(); }, gone);
    consume_batches("BATCH", [this](Batch& batch) {
      act("batch");
      for (std::size_t i = 0; i < batch.size(); ++i) batch.done(i);
    });
    listen(
        "QUEUE", [this](const Change&) { act("queue"); }, TableKind::Queue);
    listen("CHANNEL", [this](const Change&) { act("channel"); });
    listen("CHANNEL", [](const Change&) {});
    provide(kFact, [](std::string_view) { return true; });
    if (program.has_observer) observe(kFact, [this](std::string_view, bool) { act("observer"); });
    if (program.has_timer) every(5ms, [this] { act("timer"); });
    if (program.has_spare_table)
      consume(
          "SPARE", [](std::string_view, const Fields&) { return Outcome::done(); }, gone);
    consume(
        "FACT",
        [this](std::string_view key, const Fields&) {
          return announce({kFact, std::string{key}}), Outcome::done();
        },
        gone);
  }
  int handled() const { return handled_; }

 private:
  void act(std::string_view turn) {
    if (clock_ != nullptr) clock_->advance(1us);
    if (turn != program_.turn) return;
    if (program_.action == "requeue") requeue(target_, "a");
    if (program_.action == "write") static_cast<void>(write("TARGET", Change::set("b", {{"n", "1"}})));
    if (program_.action == "write elsewhere") static_cast<void>(write("OTHER", Change::set("b", {{"n", "1"}})));
  }

  const Program program_;
  SimClock* const clock_;
  ConsumerHandle target_;
  int handled_ = 0;
};

class ReplayOfChangedPrograms : public testing::Test {
 protected:
  ReplayOfChangedPrograms() { file_ = (directory_ / "day.journal").string(); }

  void record(const Program& program) {
    fs::remove(file_);
    sim::World world(1);
    auto journal = std::move(Journal::open({.file = file_}, world.clock()).value());
    journal->note("early", "before the runtime");
    Runtime runtime({.clock = &world.clock(), .reactor = &world.reactor(), .observer = std::move(journal), .log_rejects = false});
    const Acts& acts = runtime.add<Acts>(program, &world.clock());
    Journal::of(runtime)->note("late", "after it");
    ASSERT_TRUE(runtime.table("TARGET").set("a", {{"n", "1"}}).ok());
    for (int i = 0; i < 5; ++i) {
      for (const char* const table : {"ROW", "BATCH", "QUEUE", "FACT"}) {
        ASSERT_TRUE(runtime.store().write(table, Change::set(std::to_string(i), {{"n", "1"}}), {}).ok());
      }
      ASSERT_TRUE(runtime.store().write("CHANNEL", Change::event("verb", "key", {}), {}).ok());
      world.run_for(runtime.scheduler(), 7ms);
    }
    handled_ = acts.handled();
  }
  ReplayReport replay(const Program& program) {
    auto replay = std::move(Replay::open({file_}).value());
    EXPECT_EQ(replay->note("early"), "before the runtime");
    EXPECT_EQ(replay->note("late"), "after it");
    Runtime runtime(replay->runtime_options());
    const Acts& acts = runtime.add<Acts>(program, nullptr);
    const ReplayReport report = replay->run(runtime);
    EXPECT_TRUE(!report.same || acts.handled() == handled_);
    return report;
  }

  TemporaryFolder directory_;
  std::string file_;
  int handled_ = 0;
};

constexpr const char* kTurns[] = {"consumer", "batch", "queue", "channel", "observer", "timer"};

TEST_F(ReplayOfChangedPrograms, AnUnchangedOneIsTheSameWhicheverTurnActs) {
  for (const char* const turn : kTurns) {
    for (const char* const action : {"requeue", "write"}) {
      SCOPED_TRACE(std::string{action} + " in a turn of " + turn);
      const Program program{.turn = turn, .action = action};
      ASSERT_NO_FATAL_FAILURE(record(program));
      EXPECT_GT(handled_, 4);
      const ReplayReport report = replay(program);
      EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
    }
  }
}

TEST_F(ReplayOfChangedPrograms, AnActionThatMadeATableReadyIsMissed) {
  for (const char* const turn : kTurns) {
    for (const char* const action : {"requeue", "write"}) {
      ASSERT_NO_FATAL_FAILURE(record({.turn = turn, .action = action}));
      for (const char* const other : {"", "write elsewhere"}) {
        SCOPED_TRACE(std::string{action} + " in a turn of " + turn + " has become " + other);
        const ReplayReport report = replay({.turn = turn, .action = other});
        EXPECT_FALSE(report.same);
        EXPECT_THAT(report.expected, HasSubstr("ready TARGET"));
      }
    }
  }
}

TEST_F(ReplayOfChangedPrograms, ATimerOrAnObserverOfAnOrchIsMissed) {
  ASSERT_NO_FATAL_FAILURE(record({}));
  const ReplayReport no_timer = replay({.has_timer = false});
  EXPECT_FALSE(no_timer.same);
  EXPECT_THAT(no_timer.expected, HasSubstr("acts timer"));
  EXPECT_THAT(no_timer.came, HasSubstr("'acts'"));
  const ReplayReport no_observer = replay({.has_observer = false});
  EXPECT_FALSE(no_observer.same);
  EXPECT_THAT(no_observer.expected, HasSubstr("acts observes fact"));
}

// The journal does not say which sources are Orchs'.
TEST_F(ReplayOfChangedPrograms, ATableThatBroughtNothingIsNamedAsGiven) {
  ASSERT_NO_FATAL_FAILURE(record({}));
  EXPECT_THAT(replay({}).given_sources, ElementsAre("memory-store"));
  const ReplayReport report = replay({.has_spare_table = false});
  EXPECT_TRUE(report.same);
  EXPECT_THAT(report.given_sources, ElementsAre("SPARE", "memory-store"));
}

TEST_F(ReplayOfChangedPrograms, ANoteOfAnotherTextIsADifference) {
  ASSERT_NO_FATAL_FAILURE(record({}));
  for (const bool is_other : {false, true}) {
    auto replay = std::move(Replay::open({file_}).value());
    Runtime runtime(replay->runtime_options());
    runtime.add<Acts>(Program{}, nullptr);
    Journal::of(runtime)->note("late", is_other ? "another text" : "after it");
    const ReplayReport report = replay->run(runtime);
    EXPECT_EQ(report.same, !is_other) << report.expected << " " << report.came;
    EXPECT_THAT(report.came, HasSubstr(is_other ? "another text" : ""));
  }
}

}  // namespace
}  // namespace rondo::replay
