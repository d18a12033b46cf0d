// Routes of other programs in rondod's table and with its metric, on the real kernel: rondod neither replaces nor deletes them. RONDOD
// names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace json = boost::json;

class ForeignRoutesOnLinux : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
    if (!IsSkipped()) start();
  }
  void set_next_hops() {
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
    for (const char* const address : {"swp1", "swp1:10.1.0.1/24", "swp1:2001:db8::1/64"}) set("INTF_TABLE", address, {});
    for (const char* const hop : {"10.1.0.2", "10.1.0.3", "2001:db8::2"}) {
      set("NEIGH_TABLE", std::string{"swp1:"} + hop, {{"neigh", "02:00:00:00:00:02"}});
    }
  }
  /// A change by another program before the daemon has read the answer to its own order is found only by the next audit.
  bool is_installed(const char* key) {
    return becomes([&] { return why(key).find(R"("plane":"installed")") != std::string::npos; });
  }
  bool kernel_has(const std::string& words) { return lab->ip("route show | grep -q '" + words + "'"); }
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

TEST_F(ForeignRoutesOnLinux, ARouteThatIsPutBeforeOursIsNamedAndStaysWhenTheRowChanges) {
  set_next_hops();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  ASSERT_TRUE(is_installed("10.9.0.0/16")) << why("10.9.0.0/16");
  ASSERT_TRUE(kernel_has("10.9.0.0/16 nhid"));
  const std::string theirs = "10.9.0.0/16 via 10.1.0.4 metric 201 proto static";
  const char* const words = "held by a route of protocol static (4), metric 201 via 10.1.0.4, which is beside the row's and decides";
  for (const bool restarts : {false, true}) {
    ASSERT_TRUE(lab->ip("route prepend " + theirs));
    if (restarts) {
      ::kill(pid, SIGTERM);
      wait();
      start();
      set_next_hops();
      set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
    }
    ASSERT_TRUE(becomes([&] { return why("10.9.0.0/16").find(words) != std::string::npos; })) << why("10.9.0.0/16");
    const auto health = client->call("health", {});
    ASSERT_TRUE(health.has_value());
    EXPECT_THAT(json::serialize(*health), HasSubstr(words));
    const auto counted = [this] {  // Refused until what the earlier run left is taken over.
      const auto diff = client->call("diff", {});
      return diff && diff->at("held_by_others").to_number<int>() == 1;
    };
    EXPECT_TRUE(becomes(counted));
    set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.3"}, {"ifname", "swp1"}});
    json::value resync;
    ASSERT_TRUE(becomes([&] {  // Refused until what the earlier run left is taken over.
      auto answer = client->call("resync", {{"table", "ROUTE_TABLE"}});
      if (answer) resync = std::move(*answer);
      return answer.has_value();
    }));
    EXPECT_EQ(resync.at("repaired").to_number<int>(), 0) << json::serialize(resync);
    EXPECT_TRUE(kernel_has("10.9.0.0/16 via 10.1.0.4")) << "a change of the row took it";
    ASSERT_TRUE(lab->ip("route del " + theirs));
    EXPECT_TRUE(becomes([this] { return why("10.9.0.0/16").find("installed") != std::string::npos; })) << why("10.9.0.0/16");
    EXPECT_TRUE(lab->ip("route get 10.9.0.1 | grep -q 'via 10.1.0.3 '"));
    EXPECT_EQ(kernel_routes(), 1U);
  }
}

TEST_F(ForeignRoutesOnLinux, ARouteBehindOursDecidesNothing) {
  set_next_hops();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  set("ROUTE_TABLE", "2001:db8:9::/48", {{"nexthop", "2001:db8::2"}, {"ifname", "swp1"}});
  for (const char* const key : {"10.9.0.0/16", "2001:db8:9::/48"}) ASSERT_TRUE(is_installed(key)) << why(key);
  ASSERT_EQ(kernel_routes(), 2U) << log_text();
  ASSERT_TRUE(lab->ip("route append 10.9.0.0/16 via 10.1.0.4 metric 201 proto static"));
  // Of IPv6, Linux puts each new route behind those of the same metric, and makes no multipath route with one on a next-hop object.
  for (const char* const verb : {"append", "prepend"}) {
    const std::string gateway = verb == std::string{"append"} ? "2001:db8::4" : "2001:db8::5";
    ASSERT_TRUE(lab->ip(std::string{"-6 route "} + verb + " 2001:db8:9::/48 via " + gateway + " dev swp1 metric 201 proto static"));
  }
  const auto resync = client->call("resync", {});
  ASSERT_TRUE(resync.has_value());
  EXPECT_EQ(resync->at("differences").to_number<int>(), 0) << json::serialize(*resync);
  for (const char* const key : {"10.9.0.0/16", "2001:db8:9::/48"}) EXPECT_THAT(why(key), HasSubstr("installed"));
  EXPECT_TRUE(lab->ip("route get 10.9.0.1 | grep -q 'via 10.1.0.2 '"));
  EXPECT_TRUE(lab->ip("-6 route get 2001:db8:9::1 | grep -q 'via 2001:db8::2 '"));
}

TEST_F(ForeignRoutesOnLinux, ASecondRouteOfOurNumberIsDeleted) {
  set_next_hops();
  set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  ASSERT_TRUE(becomes([this] { return kernel_routes() == 1; })) << log_text();
  for (const char* const verb : {"prepend", "append"}) {
    ASSERT_TRUE(lab->ip(std::string{"route "} + verb + " 10.9.0.0/16 via 10.1.0.4 metric 201 proto 201"));
    EXPECT_TRUE(becomes([this] {
      return client->call("resync", {}).has_value() && kernel_routes() == 1 && kernel_has("10.9.0.0/16 nhid");
    })) << verb
        << why("10.9.0.0/16");
    EXPECT_TRUE(becomes([this] { return why("10.9.0.0/16").find("installed") != std::string::npos; })) << why("10.9.0.0/16");
  }
  EXPECT_THAT(log_text(), Not(HasSubstr("routes of other programs")));
}

TEST_F(ForeignRoutesOnLinux, MetricsThatAnotherProgramGivesToOurRouteAreRemoved) {
  set_next_hops();
  const char* const keys[] = {"10.9.0.0/16", "10.10.0.0/16"};
  for (const char* const key : keys) set("ROUTE_TABLE", key, {{"nexthop", "10.1.0.2"}, {"ifname", "swp1"}});
  ASSERT_TRUE(becomes([this] { return kernel_routes() == 2; })) << log_text();
  for (const char* const key : keys) {
    ASSERT_TRUE(is_installed(key)) << why(key);
    const std::string nexthop = "$(ip -n " + lab->name() + " route show " + key + " | grep -o 'nhid [0-9]*')";
    ASSERT_TRUE(lab->ip(std::string{"route replace "} + key + " " + nexthop + " metric 201 proto 201 mtu lock 1000 advmss 900"));
  }
  EXPECT_TRUE(becomes([this] { return !kernel_has("lock") && kernel_routes() == 2; })) << log_text();
}

TEST_F(ForeignRoutesOnLinux, ARouteThatAnotherProgramReplacedIsForeignAndComesBackWhenTheirsGoes) {
  for (const char* const key : {"10.9.0.0/16", "2001:db8:9::/48"}) {
    set("ROUTE_TABLE", key, {{"blackhole", "true"}});
    ASSERT_TRUE(is_installed(key)) << why(key);
    ASSERT_EQ(kernel_routes(), 1U);
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
