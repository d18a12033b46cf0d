// A world with a program: what outlives a process, what the producer repeats, what rest means, and that faults happen and are repeatable.
#include <gmock/gmock.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>

#include "orch/runtime_fixture.h"
#include "rondo/sim/sim_store.h"
#include "rondo/sim/world.h"

namespace rondo::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// One Orch that holds the rows of "T" in the memory of its process.
class Rows {
 public:
  explicit Rows(WorldOptions options) : world(std::move(options)) {
    world.start([this](Runtime& runtime) -> std::shared_ptr<void> {
      rows.clear();
      OpenOrch& orch = runtime.add<OpenOrch>();
      orch.consume(
          "T",
          [this](std::string_view key, const Fields& fields) {
            calls.push_back(call(Op::Set, key));
            rows[std::string{key}] = fields.text("v").value_or("");
            return answer ? answer() : Outcome::done();
          },
          [this](std::string_view key) {
            calls.push_back(call(Op::Delete, key));
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

TEST(WorldProcess, ADeleteThatWasNotDealtWithIsToldAgain) {
  for (const StoreKind kind : {StoreKind::Durable, StoreKind::Remote}) {
    Rows program({.store = kind});
    program.world.set("T", "a", {{"v", "1"}});
    ASSERT_TRUE(program.rest());
    program.answer = [] { return Outcome::retry_after(1h, Status{Code::Unavailable, "busy"}); };
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
  program.answer = [] { return Outcome::retry_after(5ms, Status{Code::Unavailable, "the device is busy"}); };
  program.world.set("T", "a", {});
  EXPECT_FALSE(program.world.come_to_rest(10s));
  ASSERT_TRUE(program.world.violation().has_value());
  EXPECT_EQ(program.world.violation()->checker, "rest");
  EXPECT_THAT(program.world.violation()->what, HasSubstr("T: 'a' is tried again and again: unavailable: the device is busy"));
  EXPECT_THAT(program.world.report(), HasSubstr("delayed T SET 'a'"));
}

TEST(WorldProcess, AViolationOfAUsersOwnCheckerEndsTheRun) {
  Rows program({});
  program.world.check_at_rest("few", [&program]() -> Status {
    if (program.rows.size() < 2) return {};
    return {Code::Internal, "too many rows"};
  });
  program.world.set("T", "a", {});
  EXPECT_TRUE(program.world.come_to_rest());
  program.world.set("T", "b", {});
  EXPECT_FALSE(program.world.come_to_rest());
  EXPECT_EQ(program.world.violation()->what, "too many rows");
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

}  // namespace
}  // namespace rondo::sim
