// The room of the data plane that [resources] states: the command, health and log. Method: a real process with the simulated data plane;
// RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RondodResources : public RondodProcess {
 protected:
  void add_route(const std::string& prefix) {
    call("set", {{"table", "ROUTE_TABLE"}, {"key", prefix}, {"fields", json::array{json::array{"blackhole", "true"}}}});
    ASSERT_TRUE(becomes([&] { return has_route(prefix); }));
  }
  std::string health() { return json::serialize(call("health")); }
};

TEST_F(RondodResources, AUseAboveTheThresholdIsInHealthAndLogUntilThereIsRoomAgain) {
  start("[resources]\nroutes = 4\nhigh_percent = 75\nlow_percent = 60\n");
  add_route("10.0.0.0/8");
  add_route("11.0.0.0/8");
  EXPECT_THAT(health(), Not(HasSubstr("little room")));
  add_route("12.0.0.0/8");
  // The data plane has the route before its answer is counted.
  EXPECT_TRUE(becomes([this] { return health().find("the data plane has little room: routes 3 of 4 (75 %)") != std::string::npos; }));
  const json::object routes = call("resources").at("routes").as_object();
  EXPECT_EQ(routes.at("used").to_number<int>(), 3);
  EXPECT_EQ(routes.at("limit").to_number<int>(), 4);
  EXPECT_TRUE(routes.at("high").as_bool());
  EXPECT_TRUE(call("resources").at("neighbors").at("limit").is_null());
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "12.0.0.0/8"}});
  EXPECT_TRUE(becomes([this] { return health().find("little room") == std::string::npos; }));
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_THAT(log_text(), AllOf(HasSubstr("warn the data plane has little room resource=routes used=\"3 of 4 (75 %)\""),
                                HasSubstr("info the data plane has room again resource=routes used=\"2 of 4 (50 %)\"")));
}

TEST_F(RondodResources, ALowThresholdAboveTheHighOneIsRefused) {
  EXPECT_EQ(fail_to_start("[resources]\nhigh_percent = 50\nlow_percent = 60\n"), 78);
  EXPECT_THAT(log_text(), HasSubstr("low_percent is above high_percent"));
}

}  // namespace
}  // namespace rondo::daemon
