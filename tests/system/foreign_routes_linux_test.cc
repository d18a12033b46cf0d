// Routes of other programs in rondod's table and with its metric, on the real kernel: rondod neither replaces nor deletes them. RONDOD
// names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;
namespace json = boost::json;

class ForeignRoutesOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (!IsSkipped()) start();
  }
  std::string why(const char* key) {
    const auto answer = client->call("why", {{"table", "ROUTE_TABLE"}, {"key", key}});
    return answer ? json::serialize(*answer) : answer.error().to_string();
  }
};

TEST_F(ForeignRoutesOnLinux, ARouteOfAnotherProgramWithOurMetricIsNeverTouched) {
  for (const char* const key : {"10.9.0.0/16", "2001:db8:9::/48"}) {
    const std::string route = std::string{"blackhole "} + key + " metric 201 proto static";
    ASSERT_TRUE(lab->ip("route add " + route));
    set("ROUTE_TABLE", key, {{"blackhole", "true"}});
    ASSERT_TRUE(becomes([&] { return why(key).find("held by a route of protocol static (4), metric 201") != std::string::npos; }))
        << why(key);
    EXPECT_EQ(kernel_routes(), 0U);
    const auto health = client->call("health", {});
    ASSERT_TRUE(health.has_value());
    EXPECT_THAT(json::serialize(*health), HasSubstr("routes of other programs are in the place of 1 row, which wait until they go: "));
    ASSERT_TRUE(client->call("del", {{"table", "ROUTE_TABLE"}, {"key", key}}).has_value());
    ASSERT_TRUE(becomes([&] { return why(key).find("no such row was written") != std::string::npos; })) << why(key);
    set("ROUTE_TABLE", key, {{"blackhole", "true"}});
    ASSERT_TRUE(becomes([&] { return why(key).find("protocol static") != std::string::npos; })) << why(key);
    const std::string of_another = std::string{"blackhole "} + key + " metric 201 proto 186";
    ASSERT_TRUE(lab->ip("route replace " + of_another));
    EXPECT_TRUE(becomes([&] { return why(key).find("(186)") != std::string::npos; })) << why(key);
    ASSERT_TRUE(lab->ip("route del " + of_another)) << "it was taken";
    EXPECT_TRUE(becomes([this] { return kernel_routes() == 1; })) << why(key);
    ASSERT_TRUE(client->call("del", {{"table", "ROUTE_TABLE"}, {"key", key}}).has_value());
    ASSERT_TRUE(becomes([this] { return kernel_routes() == 0; }));
  }
}

TEST_F(ForeignRoutesOnLinux, ARouteThatAnotherProgramReplacedIsForeignAndComesBackWhenTheirsGoes) {
  for (const char* const key : {"10.9.0.0/16", "2001:db8:9::/48"}) {
    set("ROUTE_TABLE", key, {{"blackhole", "true"}});
    ASSERT_TRUE(becomes([this] { return kernel_routes() == 1; }));
    const std::string route = std::string{key} + " metric 201 proto static";
    ASSERT_TRUE(lab->ip("route replace prohibit " + route));
    ASSERT_TRUE(becomes([&] { return why(key).find("held by a route of protocol static (4), metric 201") != std::string::npos; }))
        << why(key);
    set("ROUTE_TABLE", key, {{"blackhole", "true"}, {"note", "changed"}});
    const auto resync = client->call("resync", {{"table", "ROUTE_TABLE"}});
    ASSERT_TRUE(resync.has_value());
    EXPECT_EQ(resync->at("repaired").to_number<int>(), 0) << json::serialize(*resync);
    EXPECT_EQ(kernel_routes(), 0U) << "a change of the row took it";
    ASSERT_TRUE(lab->ip("route del prohibit " + route)) << "it was taken";
    EXPECT_TRUE(becomes([this] { return kernel_routes() == 1; })) << why(key);
    ASSERT_TRUE(client->call("del", {{"table", "ROUTE_TABLE"}, {"key", key}}).has_value());
    ASSERT_TRUE(becomes([this] { return kernel_routes() == 0; }));
  }
}

}  // namespace
}  // namespace rondo
