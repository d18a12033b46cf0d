// A world with a program: the state that outlives a process, the producer's retries, the definition of rest, and repeatable faults.
#include <gmock/gmock.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>

#include "orch/runtime_fixture.h"
#include "rondo/sched/timer.h"
#include "rondo/sim/world.h"
#include "sim/sim_store.h"

namespace rondo::sim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

/// One Orch that stores the rows of "T" in the memory of its process.
class Rows {
 public:
  explicit Rows(WorldOptions options) : world(std::move(options)) {
    world.start([this](Runtime& runtime) -> std::shared_ptr<void> {
      rows.clear();
      OpenOrch& orch = runtime.add<OpenOrch>();
      orch.consume(
          "T",
          [this](std::string_view key, const Fields& fields) {
            calls.push_back(call(ChangeOp::Set, key));
            rows[std::string{key}] = fields.text("v").value_or("");
            return answer ? answer() : Outcome::done();
          },
          [this](std::string_view key) {
            calls.push_back(call(ChangeOp::Delete, key));
            rows.erase(std::string{key});
            return answer ? answer() : Outcome::done();
          });
      return nullptr;
    });
  }
  bool rest() {
    const bool rests = world.come_to_rest();
    EXPECT_TRUE(rests) << world.report();
    return rests;
  }

  World world;
  std::map<std::string, std::string> rows;
  std::vector<std::string> calls;
  std::function<Outcome()> answer;
};

class EveryStore : public testing::TestWithParam<StoreKind> {};

TEST_P(EveryStore, HasItsRowsAgainAfterACrash) {
  Rows program({.store = GetParam()});
  program.world.set("T", "a", {{"v", "1"}});
  program.world.set("T", "b", {{"v", "2"}});
  ASSERT_TRUE(program.rest());
  program.world.remove("T", "a");
  ASSERT_TRUE(program.rest());
  program.calls.clear();
  program.world.crash(3s);
  EXPECT_THAT(program.rows, IsEmpty());
  ASSERT_TRUE(program.rest());
  EXPECT_THAT(program.rows, ElementsAre(Pair("b", "2")));
  EXPECT_EQ(program.world.crashes(), 1U);
}

TEST_P(EveryStore, LosesNoWriteThatACrashInterrupts) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    WorldOptions options{.seed = seed, .store = GetParam()};
    options.faults.store_latency_high = 5ms;
    options.faults.commit_high = 5ms;
    Rows program(options);
    std::map<std::string, std::string> wanted;
    for (int i = 0; i < 40; ++i) {
      const std::string key(1, static_cast<char>('a' + program.world.random().below(4)));
      if (program.world.random().chance(0.3)) {
        program.world.remove("T", key);
        wanted.erase(key);
      } else {
        program.world.set("T", key, {{"v", std::to_string(i)}});
        wanted[key] = std::to_string(i);
      }
      program.world.run_for(Duration{static_cast<std::int64_t>(program.world.random().below(3'000'000))});
      if (program.world.random().chance(0.2)) program.world.crash();
    }
    ASSERT_TRUE(program.rest());
    EXPECT_EQ(program.rows, wanted) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryStore, testing::Values(StoreKind::Embedded, StoreKind::Durable, StoreKind::Remote));

TEST(WorldProcess, AWriteToADiskIsDoneWhenItIsThere) {
  WorldOptions options{.store = StoreKind::Durable};
  options.faults.commit_high = 20ms;
  Rows program(options);
  program.world.set("T", "a", {{"v", "1"}});
  EXPECT_FALSE(program.world.is_confirmed("T", "a"));
  program.world.run_for(25ms);
  EXPECT_TRUE(program.world.is_confirmed("T", "a"));
}

TEST(WorldProcess, AFullDiskFailsWhatWaitsAndRefusesWhatComesUntilItHasRoom) {
  for (const Duration commit_high : {0ms, 20ms}) {
    WorldOptions options{.store = StoreKind::Durable};
    options.faults.commit_high = commit_high;
    Rows program(options);
    program.world.set("T", "a", {{"v", "1"}});
    ASSERT_TRUE(program.rest());
    FaultPlan full = options.faults;
    full.disk_fails_every = 1ms;
    full.disk_fails_for = 1h;
    program.world.set_faults(full);
    program.world.run_for(5ms);
    Status end;
    bool has_ended = false;
    Store& store = program.world.runtime().store();
    ASSERT_TRUE(store.write("T", Change::set("b", {{"v", "2"}}), [&](const Status& how) { end = how, has_ended = true; }).ok());
    program.world.run_for(25ms);
    ASSERT_TRUE(has_ended);
    EXPECT_FALSE(end.ok());
    EXPECT_FALSE(store.health().ok());
    EXPECT_FALSE(store.write("T", Change::set("c", {})).ok());
    EXPECT_THAT(program.rows, ElementsAre(Pair("a", "1"), Pair("b", "2"))) << "memory has what failed";
    program.world.crash();
    program.world.run_for(100ms);
    EXPECT_THAT(program.rows, ElementsAre(Pair("a", "1"))) << "the disk has not";
    program.world.set("T", "d", {{"v", "4"}});
    program.world.run_for(100ms);
    EXPECT_FALSE(program.world.is_confirmed("T", "d"));
    ASSERT_TRUE(program.rest());  // The fault ends.
    EXPECT_TRUE(program.world.is_confirmed("T", "d"));
    EXPECT_TRUE(program.world.runtime().store().health().ok());
    program.world.set_faults({});
    program.world.crash();
    ASSERT_TRUE(program.rest());
    EXPECT_THAT(program.rows, ElementsAre(Pair("a", "1"), Pair("d", "4")));
  }
}

TEST(WorldProcess, ADiskThatStandsStillHoldsUpTheEndsOfWrites) {
  WorldOptions options{.store = StoreKind::Durable};
  options.faults.disk_stalls_every = 1ms;
  options.faults.disk_stalls_for = 1h;
  Rows program(options);
  program.world.run_for(5ms);
  program.world.set("T", "a", {{"v", "1"}});
  program.world.run_for(100ms);
  EXPECT_THAT(program.rows, ElementsAre(Pair("a", "1")));
  EXPECT_FALSE(program.world.is_confirmed("T", "a"));
  program.world.set_faults({});
  program.world.run_for(2h);
  EXPECT_TRUE(program.world.is_confirmed("T", "a"));
}

TEST(WorldProcess, LosesNothingThatWasAcknowledgedWhateverBecomesOfTheDisk) {
  std::uint64_t unsure = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    WorldOptions options{.seed = seed, .store = StoreKind::Durable};
    options.faults = {.commit_high = seed % 2 == 0 ? 5ms : 0ms,
                      .disk_fails_every = 20ms,
                      .disk_fails_for = 20ms,
                      .disk_stalls_every = 20ms,
                      .disk_stalls_for = 20ms};
    Rows program(options);
    std::map<std::string, std::string> wanted;
    for (int i = 0; i < 60; ++i) {
      const std::string key(1, static_cast<char>('a' + program.world.random().below(4)));
      program.world.set("T", key, {{"v", std::to_string(i)}});
      wanted[key] = std::to_string(i);
      program.world.run_for(Duration{static_cast<std::int64_t>(program.world.random().below(40'000'000))});
      if (!program.world.runtime().store().health().ok()) ++unsure;
      if (program.world.random().chance(0.1)) program.world.crash();
    }
    ASSERT_TRUE(program.rest());
    EXPECT_EQ(program.rows, wanted) << "seed " << seed;
    program.world.set_faults({});
    program.world.crash();
    ASSERT_TRUE(program.rest());
    EXPECT_EQ(program.rows, wanted) << "seed " << seed;
  }
  EXPECT_GT(unsure, 50U) << "no disk was full";
}

TEST(WorldProcess, TheHashIsOfRowsTablesAndOrdersToo) {
  const auto live = [](const char* table, const char* value, IfIndex port) {
    World world(1);
    const IfIndex made = world.plane().add_port("A");
    world.start([&](Runtime& runtime) -> std::shared_ptr<void> {
      runtime.add<OpenOrch>().consume(
          table, [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
      return nullptr;
    });
    world.set(table, "k", {{"v", value}});
    world.run_for(1ms);
    Operation order{.order = LinkSet{.port = port == IfIndex{} ? made : port, .up = true, .mtu = {}}, .status = {}};
    world.plane().apply({&order, 1});
    return world.hash();
  };
  const std::uint64_t one = live("T", "1", {});
  EXPECT_EQ(live("T", "1", {}), one);
  EXPECT_NE(live("U", "1", {}), one) << "the table";
  EXPECT_NE(live("T", "2", {}), one) << "the row";
  EXPECT_NE(live("T", "1", IfIndex{77}), one) << "the order";
}

TEST(WorldProcess, ADeleteThatWasNotDealtWithIsToldAgain) {
  for (const StoreKind kind : {StoreKind::Durable, StoreKind::Remote}) {
    Rows program({.store = kind});
    program.world.set("T", "a", {{"v", "1"}});
    ASSERT_TRUE(program.rest());
    program.answer = [] { return Outcome::retry_after(1h, Status{StatusCode::Unavailable, "busy"}); };
    program.world.remove("T", "a");
    program.world.run_for(10ms);
    program.answer = {};
    program.calls.clear();
    program.world.crash();
    ASSERT_TRUE(program.rest());
    EXPECT_THAT(program.calls, ElementsAre("D a"));
    program.world.crash();
    ASSERT_TRUE(program.rest());
    EXPECT_THAT(program.calls, ElementsAre("D a")) << "it was dealt with";
  }
}

TEST(WorldProcess, OneThatIsNeverDoneDoesNotComeToRest) {
  Rows program({});
  program.answer = [] { return Outcome::retry_after(5ms, Status{StatusCode::Unavailable, "the device is busy"}); };
  program.world.set("T", "a", {});
  EXPECT_FALSE(program.world.come_to_rest(10s));
  ASSERT_TRUE(program.world.violation().has_value());
  EXPECT_THAT(*program.world.violation(), StartsWith("rest at turn "));
  EXPECT_THAT(*program.world.violation(), HasSubstr("T: 'a' is tried again and again: unavailable: the device is busy"));
  EXPECT_THAT(program.world.report(), HasSubstr("delayed T SET 'a'"));
}

/// The switch agent handles a refused route in this way: its row is done, and no change is parked.
TEST(WorldProcess, RestIsLongerThanWhatTheProgramDoesByATimer) {
  for (const Duration rest : {Duration{1s}, Duration{6s}}) {
    WorldOptions options{.seed = 1};
    options.rest = rest;
    World world(std::move(options));
    bool is_programmed = false;
    world.check_at_rest("plane", [&] { return is_programmed ? Status{} : Status{StatusCode::Internal, "the object is missing"}; });
    world.start([&](Runtime& runtime) {
      auto timer = std::make_shared<TimerSource>("order again", Priority{5}, [&] { is_programmed = true; });
      runtime.scheduler().add(*timer);
      timer->arm_at(runtime.scheduler().now() + 5s);
      return timer;
    });
    EXPECT_EQ(world.come_to_rest(), rest > 5s) << world.report();
  }
}

TEST(WorldProcess, AViolationOfAUsersOwnCheckerEndsTheRun) {
  Rows program({});
  program.world.check_at_rest("few", [&program]() -> Status {
    if (program.rows.size() < 2) return {};
    return {StatusCode::Internal, "too many rows"};
  });
  program.world.set("T", "a", {});
  EXPECT_TRUE(program.world.come_to_rest());
  program.world.set("T", "b", {});
  EXPECT_FALSE(program.world.come_to_rest());
  EXPECT_THAT(*program.world.violation(), EndsWith(": too many rows"));
  EXPECT_EQ(program.world.run_for(1h), 0U);
}

TEST(WorldProcess, FaultsHappenAndAreRepeatable) {
  const auto live = [](std::uint64_t seed) {
    WorldOptions options{.seed = seed, .store = StoreKind::Remote};
    options.faults = {.store_latency_high = 2ms,
                      .write_refused = 0.1,
                      .store_lost_every = 50ms,
                      .store_lost_for = 20ms,
                      .keys_swapped = 0.3,
                      .crash_every = 200ms,
                      .suspended_every = 100ms,
                      .suspended_for = 1min,
                      .wall_set_every = 100ms,
                      .wall_set_by = 24h};
    Rows program(options);
    const Instant start = program.world.now();
    const WallTime wall = program.world.clock().wall_now();
    for (int i = 0; i < 1000; ++i) {
      program.world.set("T", std::to_string(i % 10), {{"v", std::to_string(i)}});
      program.world.run_for(1ms);
    }
    program.rest();
    EXPECT_GT(program.world.crashes(), 0U);
    EXPECT_GT(program.world.now() - start, 10s) << "nobody was suspended";
    EXPECT_GT(std::chrono::abs(program.world.clock().wall_now() - wall - (program.world.now() - start)), 1min) << "nobody set the clock";
    EXPECT_EQ(program.rows.size(), 10U);
    return program.world.hash();
  };
  const std::uint64_t first = live(1);
  EXPECT_EQ(live(1), first);
  EXPECT_NE(live(2), first);
}

TEST(WorldProcess, FaultsOfTheKernelEndWithThePlan) {
  World world({.seed = 3});
  SimDataPlane& plane = world.plane();
  const IfIndex port = plane.add_port("A");
  world.start([](Runtime&) { return nullptr; });
  FaultPlan plan;
  plan.order_fails = 1;
  plan.order_errnos = {ENOBUFS};
  plan.room_ends_every = plan.carrier_lost_every = 10ms;
  plan.room_ends_for = plan.carrier_lost_for = 1h;
  world.set_faults(plan);
  Operation up{.order = LinkSet{.port = port, .up = true, .mtu = {}}, .status = {}};
  plane.apply({&up, 1});
  int wrong = 0;
  for (int i = 0; i < 50; ++i) {
    world.run_for(200ms);
    std::vector<Operation> ops(2);
    ops[0].order = NeighborSet{.port = port, .address = *IpAddress::parse("10.0.0.1"), .mac = {}};
    ops[1].order = NeighborDelete{.port = port, .address = *IpAddress::parse("10.0.0.1")};
    plane.apply(ops);
    if (!ops[0].status.ok()) ++wrong;
  }
  EXPECT_GT(wrong, 0);
  EXPECT_FALSE(plane.links()->front().carrier);
  EXPECT_TRUE(world.come_to_rest());
  world.set_faults({});
  EXPECT_TRUE(plane.links()->front().carrier);
  Operation set{.order = NeighborSet{.port = port, .address = *IpAddress::parse("10.0.0.1"), .mac = {}}, .status = {}};
  plane.apply({&set, 1});
  EXPECT_TRUE(set.status.ok()) << set.status.to_string();
}

/// A program with a timer that fires every 'period' without end.
void start_with_timer(World& world, Duration period, std::function<void(Runtime&)> due) {
  world.start([period, due = std::move(due)](Runtime& runtime) -> std::shared_ptr<void> {
    auto timer = std::make_shared<TimerSource>("health", Priority::p2, [&runtime, due] { due(runtime); });
    runtime.scheduler().add(*timer);
    timer->arm_every(period, runtime.scheduler().now() + period);
    return timer;
  });
}

TEST(WorldProcess, ComesToRestBesideTimersThatAreDueForEver) {
  for (const Duration period : {Duration{1ms}, Duration{250ms}, Duration{3s}}) {
    World world(7);
    int due = 0;
    start_with_timer(world, period, [&due](Runtime&) { ++due; });
    EXPECT_TRUE(world.come_to_rest(1min)) << world.report();
    world.run_for(10s);
    EXPECT_GT(due, 2);
  }
}

TEST(WorldProcessDeathTest, AFunctionThatMakesNoStoreIsNamed) {
  WorldOptions options;
  options.make_store = [](Scheduler&) { return std::unique_ptr<Store>{}; };
  World world(options);
  EXPECT_DEATH(world.start([](Runtime&) -> std::shared_ptr<void> { return nullptr; }), "WorldOptions::make_store made no store");
}

TEST(WorldProcess, AWriteThatTheStoreRefusesIsNamedWithItsReason) {
  World world(7);
  world.start([](Runtime& runtime) -> std::shared_ptr<void> {
    EXPECT_TRUE(runtime.store().declare({.name = "SMALL", .kind = TableKind::Watched, .rows_max = 1}).ok());
    return nullptr;
  });
  world.set("SMALL", "first", {});
  world.set("SMALL", "second", {});
  EXPECT_FALSE(world.come_to_rest(10s));
  EXPECT_THAT(*world.violation(), AllOf(HasSubstr("SMALL"), HasSubstr("second"), HasSubstr("is full"))) << world.report();
}

TEST(WorldProcess, WhatDoesNotRestSaysWhatMoves) {
  World writes(7);
  start_with_timer(writes, 100ms, [](Runtime& runtime) { EXPECT_TRUE(runtime.table("BEATS").set("beat", {}).ok()); });
  EXPECT_FALSE(writes.come_to_rest(10050ms));
  EXPECT_THAT(*writes.violation(), HasSubstr("something happens again and again, at last: "));
  EXPECT_THAT(*writes.violation(), HasSubstr("BEATS"));
  World stops(7);
  start_with_timer(stops, 100ms, [](Runtime& runtime) { runtime.stop(); });
  EXPECT_FALSE(stops.come_to_rest(10s));
  EXPECT_THAT(*stops.violation(), HasSubstr("it stopped its runtime"));
}

}  // namespace
}  // namespace rondo::sim
