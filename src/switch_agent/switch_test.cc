// The public Switch: the order of its life with that of its runtime. What its rows do is in tests/scenarios.
#include "rondo/switch_agent/switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;

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

TEST_F(SwitchLife, StartsOnce) {
  EXPECT_TRUE(device->start().ok());
  EXPECT_EQ(device->start().code(), StatusCode::FailedPrecondition);
}

TEST_F(SwitchLife, WithoutAStartEachPortSaysSo) {
  plane.add_port("A");
  world.run_for(runtime->scheduler(), 1s);
  const Why why = runtime->why("PORT_TABLE", "A");
  EXPECT_THAT(why.chain.back().note, HasSubstr("the switch was not started"));
}

}  // namespace
}  // namespace rondo
