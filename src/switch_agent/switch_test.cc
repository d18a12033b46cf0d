// The public Switch: the order of its life with that of its runtime. What its rows do is in tests/scenarios.
#include "rondo/switch_agent/switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/reconciler.h"
#include "orch/reports_health.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;

std::string health_of(Runtime& runtime) {
  Status found;
  runtime.scheduler().for_each_source([&found](const Source& source) {
    if (const auto* const one = dynamic_cast<const ReportsHealth*>(&source); one != nullptr) found = one->health();
  });
  return found.to_string();
}

class SwitchLife : public ::testing::Test {
 protected:
  SwitchLife() {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    runtime = std::make_unique<Runtime>(std::move(options));
    device = std::make_unique<Switch>(*runtime, plane, SwitchOptions{.in_line = true});
    EXPECT_TRUE(runtime->table("PORT_TABLE").set("A", {{"admin_status", "up"}}).ok());
  }

  sim::World world{1};
  SimDataPlane plane;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<Switch> device;
};

TEST_F(SwitchLife, EndsBeforeItsRuntime) {
  ASSERT_TRUE(device->start().ok());
  world.run_for(runtime->scheduler(), 1s);
  device.reset();
  runtime.reset();
}

TEST_F(SwitchLife, NoTurnFollowsItsEnd) {
  ASSERT_TRUE(device->start().ok());
  device.reset();
  EXPECT_DEATH(runtime->run_until_idle(), "the Runtime runs a turn after its Switch was destroyed; destroy the Switch after the last turn");
}

TEST_F(SwitchLife, TheRuntimeDoesNotEndBeforeIt) {
  EXPECT_DEATH(runtime.reset(), "the Runtime is destroyed before its Switch; destroy the Switch first");
}

TEST_F(SwitchLife, ItsProtocolIsThatOfItsDataPlane) {
  SimDataPlane other{{.protocol = 77}};
  Runtime another;
  EXPECT_DEATH(Switch(another, other, {.in_line = true}),
               "SwitchOptions::protocol is 201, and its data plane \\(simulated\\) has protocol 77: both need the same number");
  const Switch same(another, other, {.protocol = 77, .in_line = true});
}

TEST_F(SwitchLife, HealthSaysThatItWasNotStarted) {
  EXPECT_THAT(health_of(*runtime), HasSubstr("the switch was not started, so nothing is programmed"));
  ASSERT_TRUE(device->start().ok());
  EXPECT_EQ(health_of(*runtime), "ok");
}

/// A simulated plane whose dump of the neighbours fails once.
class FailsOnce final : public DataPlane {
 public:
  void apply(std::span<Operation> operations) override { plane.apply(operations); }
  Result<std::vector<LinkEvent>> links() override { return plane.links(); }
  Result<std::vector<AddressEntry>> addresses() override { return plane.addresses(); }
  Result<std::vector<NeighborEntry>> neighbors() override {
    if (std::exchange(fails, false)) return failure(StatusCode::Unavailable, "dump interrupted");
    return plane.neighbors();
  }
  Result<std::vector<NexthopEntry>> nexthops() override { return plane.nexthops(); }
  Status routes(const std::function<void(const RouteEntry&)>& visit) override { return plane.routes(visit); }
  Result<std::unique_ptr<Source>> monitor(Scheduler& scheduler, Priority priority, std::function<void(const LinkEvent&)> handler) override {
    return plane.monitor(scheduler, priority, std::move(handler));
  }
  std::string describe() const override { return "fails once"; }
  SimDataPlane plane;
  bool fails = true;
};

TEST_F(SwitchLife, AStartThatFailedIsReportedAndMayBeRepeated) {
  FailsOnce target;
  target.plane.add_port("A");
  RuntimeOptions options;
  options.clock = &world.clock();
  options.reactor = &world.reactor();
  Runtime beside(std::move(options));
  Switch late(beside, target, SwitchOptions{.in_line = true});
  ASSERT_TRUE(beside.table("PORT_TABLE").set("A", {{"admin_status", "up"}}).ok());
  EXPECT_EQ(late.start().message(), "reading what an earlier run left: dump interrupted");
  EXPECT_THAT(health_of(beside), HasSubstr("the start of the switch failed, so nothing is programmed (Switch::start): reading what an"));
  EXPECT_TRUE(target.claim().ok()) << "another Switch may have it";
  target.release();
  world.run_for(beside.scheduler(), 1s);
  EXPECT_NE(beside.row_state("PORT_TABLE", "A").plane, PlaneState::Installed);
  ASSERT_TRUE(late.start().ok());
  EXPECT_EQ(health_of(beside), "ok");
  world.run_for(beside.scheduler(), 1s);
  EXPECT_EQ(beside.row_state("PORT_TABLE", "A").plane, PlaneState::Installed);
  EXPECT_EQ(late.start().code(), StatusCode::FailedPrecondition);
}

TEST_F(SwitchLife, StartsOnce) {
  EXPECT_TRUE(device->start().ok());
  EXPECT_EQ(device->start().code(), StatusCode::FailedPrecondition);
}

/// The second one deleted what the first had made.
TEST_F(SwitchLife, IsTheOnlyOneOfItsDataPlaneUntilItEnds) {
  ASSERT_TRUE(device->start().ok());
  RuntimeOptions options;
  options.clock = &world.clock();
  options.reactor = &world.reactor();
  Runtime beside(std::move(options));
  {
    Switch second(beside, plane, SwitchOptions{.in_line = true});
    const Status refused = second.start();
    EXPECT_EQ(refused.code(), StatusCode::AlreadyExists);
    EXPECT_EQ(refused.message(),
              "claiming the data plane: the data plane (simulated) has an owner in this process, for instance another Switch");
  }
  Reconciler in_front(plane);
  EXPECT_EQ(in_front.claim().code(), StatusCode::AlreadyExists) << "the same plane, behind another one";
  device.reset();
  EXPECT_TRUE(in_front.claim().ok());
  in_front.release();
  runtime.reset();
  RuntimeOptions again;
  again.clock = &world.clock();
  again.reactor = &world.reactor();
  Runtime later(std::move(again));
  Switch third(later, plane, SwitchOptions{.in_line = true});
  EXPECT_TRUE(third.start().ok());
}

TEST_F(SwitchLife, WithoutAStartEachPortSaysSo) {
  plane.add_port("A");
  world.run_for(runtime->scheduler(), 1s);
  const Why why = runtime->why("PORT_TABLE", "A");
  EXPECT_THAT(why.chain.back().note, HasSubstr("the switch was not started"));
}

}  // namespace
}  // namespace rondo
