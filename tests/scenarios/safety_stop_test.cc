// A restart that finds many objects in the kernel and no rows that ask for them: an empty store in place of a full one. Nothing is deleted
// until an operator confirms, rows arrive, or the time is over. Rows are programmed meanwhile, and the recorded run replays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rondo/dataplane/simulated.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/runtime.h"
#include "rondo/replay/replay.h"
#include "rondo/sim/world.h"
#include "switch_agent/agent.h"

namespace rondo::switch_agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Event = SafetyStop::Event;

constexpr int kRoutes = 300;

class SafetyStopAtAStart : public testing::Test {
 protected:
  SafetyStopAtAStart() {
    plane.add_port("A");
    start({});
    feed(0, kRoutes);
    run_for(2s);
    EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes));
    agent.reset();
    runtime.reset();
  }
  ~SafetyStopAtAStart() override {
    agent.reset();
    runtime.reset();
  }
  void start(SafetyOptions safety, const std::string& journal_file = {}) {
    RuntimeOptions runtime_options;
    runtime_options.clock = &world.clock();
    runtime_options.reactor = &world.reactor();
    if (!journal_file.empty()) runtime_options.observer = std::move(Journal::open({.file = journal_file}, world.clock()).value());
    runtime = std::make_unique<Runtime>(std::move(runtime_options));
    agent = std::make_unique<SwitchAgent>(*runtime, plane, SwitchAgentOptions{.in_line = true, .safety = safety});
    agent->safety().on_event([this](Event event, const SafetyStop::Held& held) {
      events.push_back(event);
      newest = held;
    });
    ASSERT_TRUE(agent->start().ok());
  }
  void feed(int from, int to) {
    for (int i = from; i < to; ++i)
      ASSERT_TRUE(runtime->table("ROUTE_TABLE")
                      .set("20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24", {{"blackhole", "true"}})
                      .ok());
  }
  void run_for(Duration time) { world.run_for(runtime->scheduler(), time); }

  static constexpr SafetyOptions kSafety{.share = 0.2, .least = 100, .wait = Duration{0}};
  sim::World world{1};
  SimDataPlane plane{{.seed = 1, .spend = [this](Duration time) { world.clock().advance(time); }}};
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<SwitchAgent> agent;
  std::vector<Event> events;
  SafetyStop::Held newest;
};

TEST_F(SafetyStopAtAStart, WithoutRowsNothingIsDeletedUntilItIsConfirmed) {
  start(kSafety);
  run_for(10s);
  EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes));
  EXPECT_FALSE(agent->has_restarted());
  EXPECT_THAT(events, ElementsAre(Event::Held));
  EXPECT_EQ(newest.count, static_cast<std::uint64_t>(kRoutes));
  EXPECT_EQ(newest.parts, "300 routes");
  // The agent keeps programming rows meanwhile.
  ASSERT_TRUE(runtime->table("ROUTE_TABLE").set("30.0.0.0/8", {{"blackhole", "true"}}).ok());
  ASSERT_TRUE(runtime->table("ROUTE_TABLE").set("20.0.1.0/24", {{"blackhole", "true"}}).ok());
  run_for(1s);
  ASSERT_TRUE(runtime->table("ROUTE_TABLE").remove("20.0.1.0/24").ok());
  run_for(1s);
  EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes));  // One route added, one deleted.
  EXPECT_THAT(agent->safety().confirm(), SizeIs(1));
  run_for(1s);
  EXPECT_EQ(plane.route_count(), 1U);
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_THAT(events, ElementsAre(Event::Held, Event::Confirmed));
  EXPECT_THAT(agent->safety().held(), IsEmpty());
}

TEST_F(SafetyStopAtAStart, ADeleteTakesARouteThatAnEarlierRunLeft) {
  start(kSafety);
  run_for(10s);
  ASSERT_TRUE(runtime->table("ROUTE_TABLE").remove("20.0.1.0/24").ok());
  ASSERT_TRUE(runtime->table("ROUTE_TABLE").remove("40.0.0.0/8").ok());  // No row has this route.
  run_for(1s);
  EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes - 1));
  EXPECT_EQ(agent->programmer().stats().failed, 0U);
  EXPECT_EQ(agent->reconciled().changed, 1U) << "the Delete of what is not there changed nothing";
  EXPECT_FALSE(agent->has_restarted());
}

TEST_F(SafetyStopAtAStart, RowsThatComeLetTheRestGo) {
  start(kSafety);
  run_for(10s);
  feed(0, kRoutes - 50);
  run_for(2s);
  EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes - 50));
  EXPECT_TRUE(agent->has_restarted());
  EXPECT_THAT(events, ElementsAre(Event::Held, Event::Fewer));
}

TEST_F(SafetyStopAtAStart, ItGoesOnAfterTheConfiguredTime) {
  start({.share = 0.2, .least = 100, .wait = 60s});
  run_for(50s);
  EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes));
  run_for(20s);
  EXPECT_EQ(plane.route_count(), 0U);
  EXPECT_THAT(events, ElementsAre(Event::Held, Event::TimeIsOver));
}

TEST_F(SafetyStopAtAStart, AShareBelowTheLimitGoesWithoutAWord) {
  start(kSafety);
  feed(0, kRoutes - 60);
  run_for(2s);
  EXPECT_EQ(plane.route_count(), static_cast<std::size_t>(kRoutes - 60));
  EXPECT_THAT(events, IsEmpty());
}

TEST_F(SafetyStopAtAStart, ARecordedDayWithAStopReplays) {
  const std::string file = std::filesystem::temp_directory_path() / ("rondo-safety-" + std::to_string(::getpid()));
  start(kSafety, file);
  run_for(3s);
  ASSERT_THAT(events, ElementsAre(Event::Held));
  feed(0, 20);
  run_for(1s);
  agent->safety().confirm();
  run_for(2s);
  ASSERT_TRUE(agent->has_restarted());
  ASSERT_EQ(plane.route_count(), 20U);
  ASSERT_TRUE(Journal::of(*runtime)->flush().ok());
  agent.reset();
  runtime.reset();
  const Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file});
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  {
    Runtime again((*opened)->runtime_options());
    SwitchAgent lived_again(again, (*opened)->plane(),
                            {.in_line = true, .answers = &(*opened)->answers(), .restart = &(*opened)->restart()});
    ASSERT_TRUE(lived_again.start().ok());
    const replay::ReplayReport report = (*opened)->run(again);
    EXPECT_TRUE(report.same) << report.expected << " but " << report.came;
    EXPECT_TRUE(lived_again.has_restarted());
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace rondo::switch_agent
