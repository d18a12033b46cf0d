// rondod's managers on a test Redis, with the simulated data plane: rows that SONiC's tools write into CONFIG_DB become routes of the data
// plane, and go with them. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "managers/managed_rows.h"
#include "managers/managers.h"
#include "rondod/configuration/config.h"
#include "rondod/tests/rondod_kit.h"
#include "store/redis/table_keys.h"
#include "store/redis/testing/server.h"
#include "switch_agent/tables.h"

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
    state_db = std::make_unique<redis_kit::RedisClient>(server->address(6));
  }
  std::string url(int database) const { return "unix://" + server->socket() + "?db=" + std::to_string(database); }
  /// The content of [store], and the section of the managers.
  std::string sections() const {
    return "url = \"" + url(0) + "\"\nlease_ms = 3000\n[managers]\nenabled = true\nconfig_db = \"" + url(4) + "\"\n";
  }
  std::string sections_with_state() const { return sections() + "state_db = \"" + url(6) + "\"\n"; }
  std::string state(const std::string& row, const std::string& field) const { return state_db->command({"HGET", row, field}); }
  bool state_becomes(const std::string& row, const std::string& field, const std::string& value) const {
    return becomes([&] { return state(row, field) == value; });
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
  std::unique_ptr<redis_kit::RedisClient> state_db;
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
  EXPECT_TRUE(becomes([this] { return server->command({"EXISTS", "ROUTE_TABLE:192.0.2.0/24"}) == "0"; })) << log_text();
  EXPECT_TRUE(becomes([this] { return has_route("203.0.113.0/24") && has_route("198.51.100.0/24") && !has_route("192.0.2.0/24"); }))
      << json::serialize(call("parked")) << log_text();
}

TEST_F(RondodManagers, ARowThatNoStoreCanHoldIsRejectedAndNotTriedAgain) {
  start(sections());
  config_db->command({"HSET", "VLAN|Vlan10", std::string(70'000, 'x'), "1"});
  config_db->command({"HSET", "VLAN|Vlan11", "vlanid", "11"});
  const auto why = [this] { return json::serialize(call("why", {{"table", "VLAN"}, {"key", "Vlan10"}})); };
  EXPECT_TRUE(becomes([&] { return why().find("rejected") != std::string::npos; })) << why();
  EXPECT_TRUE(becomes([this] { return server->command({"EXISTS", "VLAN_TABLE:Vlan11"}) == "1"; }));
}

TEST_F(RondodManagers, StateDbShowsPortsAndAddressesAsTheyAre) {
  start(sections_with_state());
  configure_all();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1", "vrf", ""));
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "admin_status", "up"));
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "state", "ok"));
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "mtu", "9100"));
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "netdev_oper_status", "up"));
  EXPECT_TRUE(state_becomes("NEIGH_RESTORE_TABLE|Flags", "restored", "true"));
  call("sim-carrier", {{"port", "swp1"}, {"up", false}});
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "netdev_oper_status", "down"));
  config_db->command({"DEL", "INTERFACE|swp1|10.0.0.1/24"});
  EXPECT_TRUE(becomes([this] { return state_db->command({"EXISTS", "INTERFACE_TABLE|swp1|10.0.0.1/24"}) == "0"; }));
}

/// From CONFIG_DB to a route via a LAG, which goes with its last member.
TEST_F(RondodManagers, ALagOfConfigBecomesABondWithItsMembersAndRoutes) {
  start(sections_with_state());
  configure_row({"PORT|swp1", "admin_status", "up"});
  configure_row({"PORTCHANNEL_MEMBER|PortChannel1|swp1", "NULL", "NULL"});
  configure_row({"PORTCHANNEL_INTERFACE|PortChannel1", "NULL", "NULL"});
  configure_row({"PORTCHANNEL_INTERFACE|PortChannel1|10.0.0.1/24", "NULL", "NULL"});
  configure_row({"PORTCHANNEL|PortChannel1", "admin_status", "up", "min_links", "1"});
  configure_row({"STATIC_ROUTE|192.168.0.0/16", "nexthop", "10.0.0.2"});
  call("set",
       {{"table", "NEIGH_TABLE"}, {"key", "PortChannel1:10.0.0.2"}, {"fields", json::array{json::array{"neigh", "02:00:00:00:00:02"}}}});
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
  EXPECT_TRUE(state_becomes("LAG_TABLE|PortChannel1", "oper_status", "up"));
  EXPECT_TRUE(state_becomes("LAG_TABLE|PortChannel1", "state", "ok"));
  EXPECT_TRUE(state_becomes("LAG_TABLE|PortChannel1", "mtu", "9100"));
  EXPECT_TRUE(state_becomes("LAG_MEMBER_TABLE|PortChannel1|swp1", "runner.aggregator.selected", "true"));
  call("sim-carrier", {{"port", "swp1"}, {"up", false}});
  EXPECT_TRUE(becomes([this] { return !has_route("192.168.0.0/16"); })) << log_text();
  EXPECT_TRUE(state_becomes("LAG_MEMBER_TABLE|PortChannel1|swp1", "runner.aggregator.selected", "false"));
  EXPECT_TRUE(state_becomes("LAG_TABLE|PortChannel1", "oper_status", "down"));
  call("sim-carrier", {{"port", "swp1"}, {"up", true}});
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  for (const char* const row : {"STATIC_ROUTE|192.168.0.0/16", "PORTCHANNEL_INTERFACE|PortChannel1|10.0.0.1/24",
                                "PORTCHANNEL_INTERFACE|PortChannel1", "PORTCHANNEL_MEMBER|PortChannel1|swp1", "PORTCHANNEL|PortChannel1"}) {
    config_db->command({"DEL", row});
  }
  call("del", {{"table", "NEIGH_TABLE"}, {"key", "PortChannel1:10.0.0.2"}});
  EXPECT_TRUE(becomes([this] { return state_db->command({"EXISTS", "LAG_TABLE|PortChannel1"}) == "0"; })) << log_text();
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "admin_status", "up"));
}

TEST_F(RondodManagers, ANewRunCorrectsItsOwnRowsOfStateDbAndLeavesThoseOfOthers) {
  configure_all();
  start(sections_with_state());
  EXPECT_TRUE(state_becomes("NEIGH_RESTORE_TABLE|Flags", "restored", "true")) << log_text();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  EXPECT_EQ(state("MANAGED_ROWS|INTERFACE_TABLE|swp1|10.0.0.1/24", "fields"), "state");
  end(SIGKILL);
  config_db->command({"DEL", "INTERFACE|swp1|10.0.0.1/24"});
  state_db->command({"HSET", "PORT_TABLE|other", "state", "ok", "netdev_oper_status", "up"});
  state_db->command({"HSET", "PORT_TABLE|PortInitDone", "lanes", "0"});
  state_db->command({"HSET", "PORT_TABLE|swp1", "netdev_oper_status", "down", "host_tx_ready", "true"});
  state_db->command({"HSET", "INTERFACE_TABLE|swp2|10.0.0.9/24", "state", "ok"});
  start(sections_with_state());
  EXPECT_TRUE(becomes([this] {
    return state_db->command({"EXISTS", "INTERFACE_TABLE|swp1|10.0.0.1/24", "MANAGED_ROWS|INTERFACE_TABLE|swp1|10.0.0.1/24"}) == "0";
  })) << log_text();
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "netdev_oper_status", "up"));
  EXPECT_EQ(state("PORT_TABLE|swp1", "host_tx_ready"), "true");
  EXPECT_EQ(state_db->command({"EXISTS", "PORT_TABLE|other", "PORT_TABLE|PortInitDone", "INTERFACE_TABLE|swp2|10.0.0.9/24"}), "3");
}

TEST_F(RondodManagers, RowsThatAnotherProgramTakesAwayAreWrittenAgainCountedAndLogged) {
  start(sections_with_state());
  configure_all();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  EXPECT_TRUE(becomes([this] { return server->command({"EXISTS", "ROUTE_TABLE:192.0.2.0/24"}) == "1"; }));
  state_db->command({"DEL", "INTERFACE_TABLE|swp1|10.0.0.1/24"});
  state_db->command({"HSET", "PORT_TABLE|swp1", "netdev_oper_status", "down"});
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "netdev_oper_status", "up")) << log_text();
  const auto figures = [this] { return call("stats").at("managers").as_object(); };
  EXPECT_EQ(figures().at("state_db").at("repaired"), 2);
  EXPECT_EQ(figures().at("repaired"), 0);
  server->command({"FLUSHDB"});
  const auto has_all = [this] {
    return server->command({"EXISTS", "PORT_TABLE:swp1", "INTF_TABLE:swp1", "INTF_TABLE:swp1:10.0.0.1/24", "ROUTE_TABLE:192.0.2.0/24",
                            "MANAGED_ROWS:PORT_TABLE:swp1"}) == "5";
  };
  EXPECT_TRUE(becomes(has_all)) << log_text();
  EXPECT_EQ(server->command({"HGET", "PORT_TABLE:swp1", "alias"}), "Eth1");
  EXPECT_GE(figures().at("repaired").as_int64(), 4);
  EXPECT_TRUE(becomes([this] { return log_text().find("rows of the managers were changed or deleted") != std::string::npos; }));
  EXPECT_THAT(json::serialize(call("health").at("notes")),
              HasSubstr("rows of the managers that were changed or deleted, by another program or with data of a Redis"));
}

/// SONiC's SubscriberStateTable: it subscribes to the keyspace, and reads the row of each key that an event names.
TEST_F(RondodManagers, AKeyspaceSubscriberSeesEachStateOfAPort) {
  server->command({"CONFIG", "SET", "notify-keyspace-events", "AKE"});
  redis_kit::RedisClient subscriber{server->address(6)};
  subscriber.command({"PSUBSCRIBE", "__keyspace@6__:PORT_TABLE|*"});
  redis_kit::RedisClient channel{server->address()};
  channel.command({"SUBSCRIBE", "NOTIFICATIONS"});
  start(sections_with_state());
  configure_all();
  const auto hears = [&](const std::string& value) {
    for (int events = 0; events < 100; ++events) {
      const std::string event = subscriber.next();
      EXPECT_THAT(event, testing::StartsWith("[pmessage, __keyspace@6__:PORT_TABLE|*, __keyspace@6__:PORT_TABLE|swp1, hset"));
      if (state("PORT_TABLE|swp1", "netdev_oper_status") == value) return true;
    }
    return false;
  };
  const auto event = [](const std::string& status, const std::string& text) {
    return R"([message, NOTIFICATIONS, ["port_state_change","[{\"port_id\":\"oid:0x1000000000001\",\"port_state\":\"SAI_PORT_OPER_STATUS_)" +
           status + R"(\"}]","port","swp1","oper_status",")" + text + "\"]]";
  };
  EXPECT_TRUE(hears("up"));
  EXPECT_EQ(channel.next(), event("UP", "up"));
  call("sim-carrier", {{"port", "swp1"}, {"up", false}});
  EXPECT_TRUE(hears("down"));
  EXPECT_EQ(channel.next(), event("DOWN", "down"));
}

TEST_F(RondodManagers, AnEmptiedStateDbIsWrittenAgain) {
  start(sections_with_state());
  configure_all();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  state_db->command({"FLUSHDB"});
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "state", "ok"));
}

TEST_F(RondodManagers, ARestartCheckIsAnsweredWithTheReasons) {
  redis_kit::RedisClient replies{server->address()};
  replies.command({"SUBSCRIBE", "RESTARTCHECKREPLY"});
  start(sections_with_state());
  // Rows of STATE_DB are written at any time, and make a rondod not ready until the Redis has them: an answer can name them, too.
  const auto is_answered = [&](const std::string& request, const std::string& answer) {
    std::string last;
    const bool equal = becomes([&] {
      if (server->command({"PUBLISH", "RESTARTCHECK", request}) != "1") return false;  // Not subscribed yet.
      last = replies.next();
      return last == "[message, RESTARTCHECKREPLY, " + answer + "]";
    });
    return equal ? testing::AssertionSuccess() : testing::AssertionFailure() << last;
  };
  const auto is_ready = [this] { return call("restart-check").at("ready").as_bool(); };
  configure_all();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
  // For the neighbour.
  EXPECT_TRUE(becomes([&] {
    return json::serialize(call("restart-check")) == R"({"ready":false,"rows":[{"count":1,"what":"rows of ROUTE_TABLE wait"}]})";
  })) << json::serialize(call("restart-check"));
  EXPECT_TRUE(is_answered(R"(["orchagent",""])", R"(["orchagent","NOT_READY","rows of ROUTE_TABLE wait","1"])"));
  EXPECT_TRUE(is_answered(R"(["orchagent","","NoFreeze","true","SkipPendingTaskCheck","true"])", R"(["orchagent","READY"])"));
  EXPECT_TRUE(becomes([this] { return call("restart-check", {{"skip_waiting", "yes"}}).at("ready").as_bool(); }));
  call("set", {{"table", "NEIGH_TABLE"}, {"key", "swp1:10.0.0.2"}, {"fields", json::array{json::array{"neigh", "02:00:00:00:00:02"}}}});
  EXPECT_TRUE(becomes(is_ready)) << json::serialize(call("restart-check"));
  EXPECT_TRUE(is_answered(R"(["orchagent",""])", R"(["orchagent","READY"])"));
}

/// A restart would know only the new version of the row, and would remove the earlier one.
TEST_F(RondodManagers, ARowThatWaitsWhileItsEarlierVersionIsInThePlaneIsNotReadyForARestart) {
  redis_kit::RedisClient replies{server->address()};
  replies.command({"SUBSCRIBE", "RESTARTCHECKREPLY"});
  start(sections_with_state());
  configure_all();
  const auto add_neighbor = [this](const std::string& key) {
    call("set", {{"table", "NEIGH_TABLE"}, {"key", key}, {"fields", json::array{json::array{"neigh", "02:00:00:00:00:02"}}}});
  };
  const auto skipping = [this] { return json::serialize(call("restart-check", {{"skip_waiting", "yes"}})); };
  add_neighbor("swp1:10.0.0.2");
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  EXPECT_TRUE(becomes([&] { return skipping() == R"({"ready":true,"rows":[]})"; })) << skipping();
  configure_row({"STATIC_ROUTE|default|192.168.0.0/16", "nexthop", "10.0.0.3"});
  const std::string reason = "rows of ROUTE_TABLE that wait have an earlier version in the data plane, which a restart removes";
  EXPECT_TRUE(becomes([&] { return skipping().find(reason) != std::string::npos; })) << skipping();
  EXPECT_TRUE(has_route("192.168.0.0/16"));
  const std::string request = R"(["orchagent","","SkipPendingTaskCheck","true"])";
  EXPECT_TRUE(becomes([&] { return server->command({"PUBLISH", "RESTARTCHECK", request}) == "1"; }));
  EXPECT_THAT(replies.next(), AllOf(HasSubstr("NOT_READY"), HasSubstr(reason)));
  // A version that was rejected is no better.
  call("set", {{"table", "ROUTE_TABLE"}, {"key", "192.0.2.0/24"}, {"fields", json::array{json::array{"blackhole", "maybe"}}}});
  EXPECT_TRUE(becomes([&] { return skipping().find("rejected rows of ROUTE_TABLE have an earlier version") != std::string::npos; }))
      << skipping();
  add_neighbor("swp1:10.0.0.3");
  EXPECT_TRUE(becomes([&] { return skipping() == R"({"ready":true,"rows":[]})"; })) << skipping() << "and the row was written again";
}

/// Any client of the Redis can publish such a message.
TEST_F(RondodManagers, AMalformedRestartCheckIsCountedAndLoggedAndIsNoTrouble) {
  start(sections_with_state());
  EXPECT_TRUE(becomes([this] { return server->command({"PUBLISH", "RESTARTCHECK", "no json"}) == "1"; }));
  const auto redis = [this] { return json::serialize(call("stats").at("store").at("redis")); };
  EXPECT_TRUE(becomes([&] { return redis().find(R"("last_bad_event":"RESTARTCHECK: )") != std::string::npos; })) << redis();
  for (int i = 0; i < 100; ++i) server->command({"PUBLISH", "RESTARTCHECK", "no json"});
  EXPECT_TRUE(becomes([&] { return redis().find("\"bad_events\":101") != std::string::npos; })) << redis();
  const json::object health = call("health");
  EXPECT_THAT(json::serialize(health.at("notes")), HasSubstr("malformed events of other programs were dropped"));
  EXPECT_EQ(json::serialize(health).find("could not be read"), std::string::npos) << json::serialize(health);
  EXPECT_TRUE(health.at("healthy").as_bool()) << json::serialize(health);
  const std::string line = "malformed events of other programs were dropped";
  EXPECT_TRUE(becomes([&] { return log_text().find(line) != std::string::npos; }));
  EXPECT_EQ(log_text().find(line), log_text().rfind(line)) << "one line a minute";
}

/// No event tells of it, and the row of the port does not change.
TEST_F(RondodManagers, ARowOfStateDbThatBecomesAKeyOfAnotherTypeIsATrouble) {
  start(sections_with_state());
  configure_all();
  ASSERT_TRUE(state_becomes("INTERFACE_TABLE|swp1", "vrf", "")) << log_text();
  ASSERT_TRUE(state_becomes("PORT_TABLE|swp1", "state", "ok")) << log_text();
  state_db->command({"SET", "PORT_TABLE|swp1", "no row"});
  const auto troubles = [this] { return json::serialize(call("health").at("troubles")); };
  EXPECT_TRUE(becomes([&] {
    return troubles().find("refused and tried again: 1; the first of them: PORT_TABLE|swp1") != std::string::npos;
  })) << troubles();
  state_db->command({"DEL", "PORT_TABLE|swp1"});
  EXPECT_TRUE(state_becomes("PORT_TABLE|swp1", "state", "ok")) << log_text();
  EXPECT_TRUE(becomes([&] { return troubles().find("PORT_TABLE") == std::string::npos; })) << troubles();
}

TEST_F(RondodManagers, TheUserOfTheGuidesMayDoAllThatTheyDo) {
  for (const char* const page : {"docs/guide/growing-onto-redis.md", "docs/guide/from-sonic.md"}) {
    std::ifstream guide(page);
    std::vector<std::string> words;
    for (std::string line; std::getline(guide, line);) {
      std::istringstream in(line);
      if (line.starts_with("ACL SETUSER rondod ")) words.assign(std::istream_iterator<std::string>(in), {});
    }
    ASSERT_FALSE(words.empty()) << page << " has no line for rondod";
    ASSERT_EQ(server->command(words), "OK");
  }
  std::ofstream(file("password")) << "SECRET\n";
  const std::string login = "&user=rondod&password_file=" + file("password");
  std::string sections = sections_with_state();
  for (const std::string database : {"?db=0", "?db=4", "?db=6"}) sections.insert(sections.find(database) + database.size(), login);
  for (int runs = 0; runs < 2; ++runs) {  // The second run finds rows.
    start(sections);
    configure_all();
    EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok")) << log_text();
    EXPECT_TRUE(state_becomes("NEIGH_RESTORE_TABLE|Flags", "restored", "true")) << log_text();
    EXPECT_TRUE(becomes([this] { return has_route("192.0.2.0/24"); })) << log_text();
    server->command({"PUBLISH", "RESTARTCHECK", R"(["orchagent",""])"});
    config_db->command({"DEL", "STATIC_ROUTE|192.0.2.0/24"});
    EXPECT_TRUE(becomes([this] { return !has_route("192.0.2.0/24"); })) << log_text();
    EXPECT_EQ(call("stats").at("store").at("failed_writes"), 0);
    EXPECT_EQ(call("stats").at("managers").at("state_db").at("refused"), 0);
    end(SIGTERM);
  }
  EXPECT_THAT(server->list({"ACL", "LOG"}), testing::IsEmpty()) << "nothing was refused";
}

/// The names in the first column of the guide's table, each up to the first separator.
std::set<std::string> own_keys_of_the_guide() {
  std::ifstream guide("docs/guide/mixing-with-sonic.md");
  std::set<std::string> names;
  bool is_there = false;
  for (std::string line; std::getline(guide, line);) {
    if (line.starts_with("## ")) is_there = line == "## Rondo's own keys";
    if (!is_there || !line.starts_with("| `")) continue;
    const std::string column = line.substr(0, line.find(" | "));
    for (std::size_t at = column.find('`'); at != std::string::npos; at = column.find('`', column.find('`', at + 1) + 1)) {
      names.insert(column.substr(at + 1, column.find_first_of("`:|@\\", at + 1) - at - 1));
    }
  }
  return names;
}

TEST_F(RondodManagers, TheGuideListsEachKeyOnTheRedisThatIsNoneOfSonics) {
  const std::set<std::string> listed = own_keys_of_the_guide();
  const redis::TableKeys keys("T", ':', 0);
  for (const std::string_view name : {keys.inflight.substr(0, keys.inflight.find('@')), std::string{redis::kEpochKey},
                                      std::string{redis::kLeaseKey}, std::string{managers::kManagedTable}}) {
    EXPECT_TRUE(listed.contains(std::string{name})) << name;
  }
  std::set<std::string> sonics{"INTERFACE_TABLE", "NEIGH_RESTORE_TABLE"};
  for (const std::string& table : managers::config_tables()) sonics.insert(table);
  for (const switch_agent::TableReference& table : switch_agent::tables()) {
    for (const char* const suffix : {"", "_KEY_SET", "_DEL_SET"}) sonics.insert(std::string{table.name} + suffix);
  }
  start(sections_with_state());
  configure_all();
  call("set", {{"table", "NEIGH_TABLE"}, {"key", "swp1:10.0.0.2"}, {"fields", json::array{json::array{"neigh", "02:00:00:00:00:02"}}}});
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  EXPECT_TRUE(state_becomes("INTERFACE_TABLE|swp1|10.0.0.1/24", "state", "ok"));
  std::set<std::string> seen;
  redis_kit::RedisClient appl_db{server->address(0)};
  for (redis_kit::RedisClient* const database : {&appl_db, config_db.get(), state_db.get()}) {
    for (const std::string& key : database->list({"KEYS", "*"})) {
      const std::string name = key.substr(0, key.find_first_of(":|@"));
      const std::string table = name.starts_with('_') ? name.substr(1) : name;
      EXPECT_TRUE(sonics.contains(table) || listed.contains(name)) << key;
      seen.insert(name);
    }
  }
  EXPECT_TRUE(seen.contains("MANAGED_ROWS") && seen.contains("RONDO_EPOCH"));
}

TEST_F(RondodManagers, WhyGoesFromConfigDbToTheFactThatIsMissing) {
  start(sections());
  configure_all();
  const auto why = [this](const char* table, const char* key) { return json::serialize(call("why", {{"table", table}, {"key", key}})); };
  EXPECT_TRUE(becomes([&] { return why("STATIC_ROUTE", "default|192.168.0.0/16").find(R"("key":"swp1:10.0.0.2")") != std::string::npos; }))
      << why("STATIC_ROUTE", "default|192.168.0.0/16");
  EXPECT_THAT(why("STATIC_ROUTE", "default|192.168.0.0/16"),
              AllOf(HasSubstr("static-route-manager made ROUTE_TABLE 192.168.0.0/16 of it"), HasSubstr(R"("table":"ROUTE_TABLE")"),
                    HasSubstr(R"("table":"NEIGH_TABLE")")));
  EXPECT_TRUE(becomes([&] { return why("PORT", "swp1").find(R"("plane":"installed")") != std::string::npos; })) << why("PORT", "swp1");
  EXPECT_THAT(why("PORT", "swp1"), HasSubstr("port-manager made PORT_TABLE swp1 of it"));
  // What the agent refuses is followed, too.
  configure_row({"PORT|swp1", "mtu", "1"});
  EXPECT_TRUE(becomes([&] { return why("PORT", "swp1").find("rejected") != std::string::npos; })) << why("PORT", "swp1");
}

TEST_F(RondodManagers, ABadRowIsNamedByHealthAndWhy) {
  start(sections());
  configure_row({"STATIC_ROUTE|192.0.2.0/24", "blackhole", "maybe"});
  EXPECT_TRUE(becomes([this] { return json::serialize(call("health")).find("maybe") != std::string::npos; }));
  EXPECT_THAT(json::serialize(call("why", {{"table", "STATIC_ROUTE"}, {"key", "192.0.2.0/24"}})), HasSubstr("must be true or false"));
}

}  // namespace
}  // namespace rondo::daemon
