// rondod's managers on a test Redis, with the simulated data plane: rows that SONiC's tools write into CONFIG_DB become routes of the data
// plane, and go with them. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "rondod/configuration/config.h"
#include "rondod/tests/rondod_kit.h"
#include "store/redis/testing/server.h"

namespace rondo::daemon {
namespace {

using testing::HasSubstr;

TEST(ManagersConfig, TheTablesOfConfigDbAreInOneStore) {
  const auto config = parse_config("[managers]\nenabled = true\nconfig_db = \"unix:///s?db=4\"\n", "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  ASSERT_TRUE(config->managers.group.has_value());
  EXPECT_EQ(config->managers.group->place, (StorePlace{.url = "unix:///s?db=4", .separator = "|"}));
  EXPECT_TRUE(config->store_groups.empty());
  const auto again = parse_config(to_toml(*config), "x");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->managers, config->managers);
}

TEST(ManagersConfig, WhatCannotBeIsRefused) {
  const auto message = [](const std::string& text) {
    const auto config = parse_config(text, "x");
    return config ? std::string{} : std::string{config.error().message()};
  };
  EXPECT_THAT(message("[dataplane]\nkind = \"none\"\n[managers]\nenabled = true\n"), HasSubstr("managers.enabled needs a data plane"));
  EXPECT_THAT(message("[managers]\nenabled = true\nconfig_db = \"file:///tmp/x\"\n"), HasSubstr("must be a database on a Redis"));
  EXPECT_THAT(message("[managers]\nenabled = true\nconfig_db = \"unix:///s?db=4\"\n[[store.group]]\ntables = [\"PORT\"]\n"),
              HasSubstr("both have the table PORT"));
}

class RondodManagers : public RondodProcess {
 protected:
  void SetUp() override {
    RONDO_NEEDS_REDIS();
    RondodProcess::SetUp();
    server = std::make_unique<redis_kit::RedisServer>();
    config_db = std::make_unique<redis_kit::RedisClient>(server->address(4));
  }
  std::string url(int database) const { return "unix://" + server->socket() + "?db=" + std::to_string(database); }
  /// The content of [store], and the section of the managers.
  std::string sections() const {
    return "url = \"" + url(0) + "\"\nlease_ms = 3000\n[managers]\nenabled = true\nconfig_db = \"" + url(4) + "\"\n";
  }
  /// Writes a row as SONiC's configuration tools do.
  void configure_row(std::vector<std::string> words) const {
    words.insert(words.begin(), "HSET");
    ASSERT_THAT(config_db->command(words), testing::Not(HasSubstr("error")));
  }
  void configure_all() const {
    configure_row({"PORT|swp1", "admin_status", "up", "mtu", "9100", "lanes", "0,1,2,3", "alias", "Eth1"});
    configure_row({"INTERFACE|swp1", "NULL", "NULL"});
    configure_row({"INTERFACE|swp1|10.0.0.1/24", "NULL", "NULL"});
    configure_row({"STATIC_ROUTE|default|192.168.0.0/16", "nexthop", "10.0.0.2", "ifname", "", "distance", "0", "blackhole", "false"});
    configure_row({"STATIC_ROUTE|192.0.2.0/24", "blackhole", "true"});
  }

  std::unique_ptr<redis_kit::RedisServer> server;
  std::unique_ptr<redis_kit::RedisClient> config_db;
};

TEST_F(RondodManagers, ConfigBecomesRoutesAndGoesWithThem) {
  start(sections());
  configure_all();
  call("set", {{"table", "NEIGH_TABLE"}, {"key", "swp1:10.0.0.2"}, {"fields", json::array{json::array{"neigh", "02:00:00:00:00:02"}}}});
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16") && has_route("192.0.2.0/24"); }))
      << json::serialize(call("parked")) << log_text();
  EXPECT_EQ(server->command({"HGET", "PORT_TABLE:swp1", "alias"}), "Eth1");
  EXPECT_EQ(server->command({"HGET", "MANAGED_ROWS:ROUTE_TABLE:192.168.0.0/16", "source"}), "STATIC_ROUTE|default|192.168.0.0/16");
  config_db->command({"DEL", "STATIC_ROUTE|default|192.168.0.0/16"});
  EXPECT_TRUE(becomes([this] { return !has_route("192.168.0.0/16"); })) << log_text();
  EXPECT_TRUE(has_route("192.0.2.0/24"));
  EXPECT_TRUE(becomes([this] { return server->command({"EXISTS", "MANAGED_ROWS:ROUTE_TABLE:192.168.0.0/16"}) == "0"; }));
}

TEST_F(RondodManagers, ANewRunDeletesWhatConfigLostMeanwhileAndNothingElse) {
  start(sections());
  configure_all();
  call("set", {{"table", "ROUTE_TABLE"}, {"key", "198.51.100.0/24"}, {"fields", json::array{json::array{"blackhole", "true"}}}});
  EXPECT_TRUE(becomes([this] { return has_route("192.0.2.0/24") && has_route("198.51.100.0/24"); })) << log_text();
  end(SIGKILL);
  config_db->command({"DEL", "STATIC_ROUTE|192.0.2.0/24"});
  configure_row({"STATIC_ROUTE|203.0.113.0/24", "blackhole", "true"});
  start(sections());
  EXPECT_TRUE(becomes([this] { return has_route("203.0.113.0/24") && has_route("198.51.100.0/24") && !has_route("192.0.2.0/24"); }))
      << json::serialize(call("parked")) << log_text();
  EXPECT_EQ(server->command({"EXISTS", "ROUTE_TABLE:192.0.2.0/24"}), "0");
}

TEST_F(RondodManagers, ABadRowIsNamedByHealthAndWhy) {
  start(sections());
  configure_row({"STATIC_ROUTE|192.0.2.0/24", "blackhole", "maybe"});
  EXPECT_TRUE(becomes([this] { return json::serialize(call("health")).find("maybe") != std::string::npos; }));
  EXPECT_THAT(json::serialize(call("why", {{"table", "STATIC_ROUTE"}, {"key", "192.0.2.0/24"}})), HasSubstr("must be true or false"));
}

}  // namespace
}  // namespace rondo::daemon
