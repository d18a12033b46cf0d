// The simulated data plane that [simulated] describes: its room, its speed and its failures. Method: a real process; RONDOD names the
// program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::HasSubstr;

class RondodSimulated : public RondodProcess {
 protected:
  static std::string prefix(int first, int number) {
    return std::to_string(first) + "." + std::to_string(number / 256) + "." + std::to_string(number % 256) + ".0/24";
  }
  static json::array row(const char* table, const std::string& key, json::array fields) {
    return json::array{table, key, "SET", std::move(fields)};
  }
  std::size_t programmed() { return call("sim-routes").at("rows").as_array().size(); }
  void write(json::array rows) { EXPECT_EQ(call("write", {{"rows", std::move(rows)}}).at("refused").to_number<int>(), 0); }
};

TEST_F(RondodSimulated, OneRouteMoreThanItHasRoomForIsRefusedWithTheReason) {
  start("[simulated]\nroutes = 2\n");
  for (const char* const route : {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"}) {
    call("set", {{"table", "ROUTE_TABLE"}, {"key", route}, {"fields", json::array{json::array{"blackhole", "true"}}}});
  }
  EXPECT_TRUE(becomes([this] {
    return json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", "12.0.0.0/8"}})).find("No space left") != std::string::npos;
  })) << json::serialize(call("why", {{"table", "ROUTE_TABLE"}, {"key", "12.0.0.0/8"}}));
  EXPECT_EQ(programmed(), 2U);
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "10.0.0.0/8"}});
  EXPECT_TRUE(becomes([this] { return has_route("12.0.0.0/8"); }));
}

/// Goal: a group for which there is no room waits, and is no difference to an audit; it comes in when there is room.
TEST_F(RondodSimulated, AGroupWithoutRoomIsNoDifference) {
  start("[simulated]\ngroups = 1\n");
  json::array rows{row("PORT_TABLE", "swp1", {json::array{"admin_status", "up"}}), row("INTF_TABLE", "swp1", {}),
                   row("INTF_TABLE", "swp1:10.0.1.1/24", {})};
  for (const char* const host : {"2", "3"}) {
    rows.push_back(row("NEIGH_TABLE", std::string{"swp1:10.0.1."} + host, {json::array{"neigh", "02:00:00:00:00:02"}}));
  }
  write(std::move(rows));
  const auto set_group = [this](const std::string& name) {
    const json::array fields{json::array{"nexthop", "10.0.1.2,10.0.1.3"}, json::array{"ifname", "swp1,swp1"},
                             json::array{"weight", "1," + name}};
    call("set", {{"table", "NEXTHOP_GROUP_TABLE"}, {"key", name}, {"fields", fields}});
  };
  const auto why = [this](const char* name) { return json::serialize(call("why", {{"table", "NEXTHOP_GROUP_TABLE"}, {"key", name}})); };
  set_group("1");
  EXPECT_TRUE(becomes([&] { return why("1").find("\"installed\"") != std::string::npos; })) << why("1");
  set_group("2");
  set_group("3");
  EXPECT_TRUE(becomes([&] { return why("3").find("No space left") != std::string::npos; })) << why("3");
  // Each is ordered again and again, in vain.
  EXPECT_TRUE(becomes([&] { return call("stats").at("agent").at("group_replaces").to_number<int>() >= 12; }));
  EXPECT_EQ(call("verify").at("differences").to_number<int>(), 0) << json::serialize(call("verify"));
  call("del", {{"table", "NEXTHOP_GROUP_TABLE"}, {"key", "1"}});
  call("del", {{"table", "NEXTHOP_GROUP_TABLE"}, {"key", "2"}});
  EXPECT_TRUE(becomes([&] { return why("3").find("\"installed\"") != std::string::npos; })) << why("3");
}

TEST_F(RondodSimulated, OrdersThatItRefusesByChanceAreGivenAgain) {
  start("[simulated]\nfailure_share = 0.5\n");
  json::array rows;
  for (int i = 0; i < 100; ++i) rows.push_back(row("ROUTE_TABLE", prefix(10, i), {json::array{"blackhole", "true"}}));
  write(std::move(rows));
  EXPECT_TRUE(becomes([this] { return programmed() == 100; }));
}

TEST_F(RondodSimulated, AnOrderTakesItsTimeAndRondodServesMeanwhile) {
  start("[simulated]\nroute_us = 20000\n");
  json::array rows;
  for (int i = 0; i < 100; ++i) rows.push_back(row("ROUTE_TABLE", prefix(10, i), {json::array{"blackhole", "true"}}));
  const SystemClock clock;
  const Instant start = clock.now();
  write(std::move(rows));
  EXPECT_TRUE(becomes([this] { return programmed() == 100; }));
  EXPECT_GE(clock.now() - start, 1s) << "the last orders take their time when they are done";
}

TEST_F(RondodSimulated, AShareAboveOneIsRefused) {
  EXPECT_EQ(fail_to_start("[simulated]\nfailure_share = 1.5\n"), 78);
  EXPECT_THAT(log_text(), HasSubstr("failure_share must be a number from 0 to 1"));
}

}  // namespace
}  // namespace rondo::daemon
