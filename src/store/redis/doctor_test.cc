// The doctor's findings about servers: real ones from the kit, and constructed replies for states that cannot be produced here. Each case
// changes one fact of a healthy set. Findings are compared as "level setting" and by their required text.
#include "store/redis/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/redis/testing/server.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// The facts of a server without complaints: every finding is Ok.
RedisFacts healthy() {
  RedisFacts facts;
  facts.info =
      "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nconfig_file:/etc/redis/redis.conf\r\n\r\n# "
      "Memory\r\nused_memory:1048576\r\n"
      "total_system_memory:8589934592\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\nloading:0\r\naof_enabled:1\r\n"
      "rdb_last_bgsave_status:ok\r\naof_last_write_status:ok\r\nlatest_fork_usec:300\r\nrole:master\r\nconnected_slaves:0\r\n"
      "cluster_enabled:0\r\nconnected_clients:5\r\nmaxclients:10000\r\nevicted_keys:0\r\n";
  facts.config = {{"save", ""},
                  {"appendonly", "yes"},
                  {"appendfsync", "everysec"},
                  {"no-appendfsync-on-rewrite", "no"},
                  {"maxmemory", "0"},
                  {"maxmemory-policy", "noeviction"},
                  {"client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 268435456 67108864 60"},
                  {"notify-keyspace-events", ""},
                  {"timeout", "0"},
                  {"tcp-keepalive", "300"},
                  {"databases", "16"},
                  {"bind", "127.0.0.1 -::1"},
                  {"port", "6379"},
                  {"protected-mode", "yes"},
                  {"min-replicas-to-write", "0"},
                  {"repl-backlog-size", "1048576"},
                  {"repl-diskless-sync", "yes"},
                  {"disable-thp", "yes"},
                  {"tracking-table-max-keys", "1000000"}};
  facts.address.unix_path = "/run/redis.sock";
  return facts;
}

/// Replaces the line 'name' of INFO, or adds it.
void set_info(RedisFacts& facts, const std::string& name, const std::string& value) {
  const std::size_t at = facts.info.find("\n" + name + ":");
  if (at == std::string::npos) {
    facts.info += name + ":" + value + "\r\n";
  } else {
    facts.info.replace(at + 1, facts.info.find('\r', at) - at - 1, name + ":" + value);
  }
}

/// "level setting" of every finding that is not Ok.
std::vector<std::string> complaints(const RedisFacts& facts) {
  std::vector<std::string> result;
  for (const RedisFinding& finding : examine_redis(facts)) {
    if (finding.level != FindingLevel::Ok) result.push_back(std::string{to_string(finding.level)} + " " + finding.setting);
  }
  return result;
}

/// The finding about 'setting'; an empty one if there is none.
RedisFinding about(const RedisFacts& facts, const std::string& setting) {
  for (const RedisFinding& finding : examine_redis(facts)) {
    if (finding.setting == setting) return finding;
  }
  return {};
}

/// The complaints after one setting was changed, and after one line of INFO was.
std::vector<std::string> with_config(const std::string& name, const std::string& value) {
  RedisFacts facts = healthy();
  (*facts.config)[name] = value;
  return complaints(facts);
}
std::vector<std::string> with_info(const std::string& name, const std::string& value) {
  RedisFacts facts = healthy();
  set_info(facts, name, value);
  return complaints(facts);
}

TEST(RedisDoctor, AHealthyServerGivesNoReasonToComplain) {
  EXPECT_THAT(complaints(healthy()), IsEmpty());
  EXPECT_THAT(examine_redis(healthy()), Each(AllOf(Field(&RedisFinding::remedy, ""), Field(&RedisFinding::meaning, Not(IsEmpty())))));
  EXPECT_GE(examine_redis(healthy()).size(), 8U);
}

TEST(RedisDoctor, ProblemsComeFirst) {
  RedisFacts facts = healthy();
  (*facts.config)["timeout"] = "60";
  set_info(facts, "cluster_enabled", "1");
  (*facts.config)["tcp-keepalive"] = "0";
  EXPECT_THAT(complaints(facts), ElementsAre("problem cluster_enabled", "advice timeout", "advice tcp-keepalive"));
}

TEST(RedisDoctor, WhatIsNoInfoIsItselfAProblem) {
  EXPECT_THAT(complaints(RedisFacts{}), ElementsAre("problem INFO"));
  EXPECT_THAT(complaints(RedisFacts{.info = "NOPERM this user has no permissions\r\n:\r\n#"}), ElementsAre("problem INFO"));
}

TEST(RedisDoctor, VersionsBefore62AreTooOld) {
  for (const char* old : {"2.8.19", "5.0.14", "6.0.16", "6", "x"})
    EXPECT_THAT(with_info("redis_version", old), ElementsAre("problem redis_version")) << old;
  for (const char* young : {"6.2.0", "6.10.1", "7.0.15", "10.0.1", "255.255.255"})
    EXPECT_THAT(with_info("redis_version", young), IsEmpty()) << young;
}

TEST(RedisDoctor, ClustersAndSentinelsHoldNoTables) {
  EXPECT_THAT(with_info("cluster_enabled", "1"), ElementsAre("problem cluster_enabled"));
  EXPECT_THAT(with_info("redis_mode", "sentinel"), ElementsAre("problem redis_mode"));
}

TEST(RedisDoctor, AFullMemoryMustNotThrowRowsAway) {
  RedisFacts facts = healthy();
  (*facts.config)["maxmemory-policy"] = "allkeys-lru";
  EXPECT_THAT(complaints(facts), ElementsAre("advice maxmemory-policy")) << "without a limit nothing happens yet";
  (*facts.config)["maxmemory"] = "104857600";
  EXPECT_THAT(complaints(facts), ElementsAre("problem maxmemory-policy"));
  EXPECT_EQ(about(facts, "maxmemory-policy").remedy,
            "redis-cli -s /run/redis.sock CONFIG SET maxmemory-policy noeviction && redis-cli -s /run/redis.sock CONFIG REWRITE");
  (*facts.config)["maxmemory-policy"] = "volatile-ttl";
  EXPECT_THAT(complaints(facts), ElementsAre("advice maxmemory-policy"));
  (*facts.config)["maxmemory-policy"] = "noeviction";
  EXPECT_THAT(complaints(facts), IsEmpty());
  (*facts.config)["maxmemory"] = "1200000";
  EXPECT_THAT(complaints(facts), ElementsAre("advice maxmemory"));
  EXPECT_THAT(with_info("evicted_keys", "7"), ElementsAre("problem evicted_keys"));
  EXPECT_THAT(with_info("used_memory", "6000000000"), ElementsAre("advice maxmemory"));
}

TEST(RedisDoctor, SaysWhatACrashLoses) {
  RedisFacts facts = healthy();
  EXPECT_THAT(about(facts, "appendonly").meaning, HasSubstr("a second"));
  (*facts.config)["appendfsync"] = "always";
  EXPECT_EQ(about(facts, "appendfsync").level, FindingLevel::Ok);
  EXPECT_THAT(with_config("appendfsync", "no"), ElementsAre("advice appendfsync"));
  EXPECT_THAT(with_config("no-appendfsync-on-rewrite", "yes"), ElementsAre("advice no-appendfsync-on-rewrite"));
  (*facts.config)["appendonly"] = "no";
  set_info(facts, "aof_enabled", "0");
  EXPECT_THAT(complaints(facts), ElementsAre("advice save"));
  EXPECT_THAT(about(facts, "save").meaning, HasSubstr("all tables are gone"));
  (*facts.config)["save"] = "60 10000 3600 1";
  EXPECT_THAT(about(facts, "save").meaning, HasSubstr("up to 3600 seconds"));
  EXPECT_THAT(about(facts, "save").remedy, HasSubstr("CONFIG SET appendonly yes"));
}

TEST(RedisDoctor, ASaveThatFailsStopsWrites) {
  RedisFacts facts = healthy();
  set_info(facts, "rdb_last_bgsave_status", "err");
  EXPECT_THAT(complaints(facts), ElementsAre("advice rdb_last_bgsave_status")) << "no snapshots are wanted";
  (*facts.config)["save"] = "60 1";
  EXPECT_THAT(complaints(facts), ElementsAre("problem rdb_last_bgsave_status"));
  (*facts.config)["stop-writes-on-bgsave-error"] = "no";
  EXPECT_THAT(complaints(facts), ElementsAre("advice rdb_last_bgsave_status"));
  EXPECT_THAT(with_info("aof_last_write_status", "err"), ElementsAre("problem aof_last_write_status"));
  EXPECT_THAT(with_info("aof_last_bgrewrite_status", "err"), ElementsAre("advice aof_last_bgrewrite_status"));
  EXPECT_THAT(with_info("latest_fork_usec", "250000"), ElementsAre("advice latest_fork_usec"));
}

TEST(RedisDoctor, SlowSubscribersNeedRoom) {
  const auto limits = [](const std::string& text) { return with_config("client-output-buffer-limit", text); };
  EXPECT_THAT(limits("normal 0 0 0 slave 1 1 1 pubsub 33554432 8388608 60"), ElementsAre("advice client-output-buffer-limit"));
  EXPECT_THAT(limits("pubsub 0 0 0"), ElementsAre("advice client-output-buffer-limit"));
  EXPECT_THAT(limits("pubsub 268435456 0 0"), IsEmpty());
  EXPECT_THAT(limits("pubsub 1073741824 1048576 10"), ElementsAre("advice client-output-buffer-limit"));
  EXPECT_THAT(limits("normal 1048576 0 0 pubsub 536870912 0 0"), ElementsAre("advice client-output-buffer-limit"));
  for (const char* odd : {"", "pubsub", "pubsub x y z", "pubsub 1 2"}) EXPECT_THAT(limits(odd), IsEmpty()) << odd;
  RedisFacts facts = healthy();
  (*facts.config)["client-output-buffer-limit"] = "pubsub 33554432 8388608 60";
  const RedisFinding finding = about(facts, "client-output-buffer-limit");
  EXPECT_EQ(finding.value, "pubsub 33554432 8388608 60");
  EXPECT_THAT(finding.meaning, AllOf(HasSubstr("32 MiB"), HasSubstr("8 MiB for 60 seconds")));
  EXPECT_THAT(finding.remedy, HasSubstr("CONFIG SET client-output-buffer-limit 'pubsub 268435456 67108864 60'"));
}

TEST(RedisDoctor, KeyspaceEventsMatterToStockPeersOnly) {
  RedisFacts facts = healthy();
  facts.stock_peers = true;
  for (const char* flags : {"", "E", "AE", "Kg", "Kh"}) {
    (*facts.config)["notify-keyspace-events"] = flags;
    EXPECT_THAT(complaints(facts), ElementsAre("problem notify-keyspace-events")) << flags;
  }
  for (const char* flags : {"AKE", "KA", "Kghx"}) {
    (*facts.config)["notify-keyspace-events"] = flags;
    EXPECT_THAT(complaints(facts), IsEmpty()) << flags;
  }
  EXPECT_THAT(about(healthy(), "notify-keyspace-events").meaning, HasSubstr("AKE"));
}

TEST(RedisDoctor, AReplicaTakesNoWrites) {
  RedisFacts facts = healthy();
  set_info(facts, "role", "slave");
  set_info(facts, "master_host", "10.0.0.9");
  set_info(facts, "master_port", "6400");
  EXPECT_THAT(complaints(facts), ElementsAre("problem role"));
  EXPECT_THAT(about(facts, "role").meaning, HasSubstr("10.0.0.9 port 6400"));
  set_info(facts, "master_link_status", "down");
  (*facts.config)["replica-read-only"] = "no";
  EXPECT_THAT(complaints(facts), ElementsAre("problem replica-read-only", "problem role", "problem master_link_status"));
  RedisFacts told = healthy();
  told.role = "slave";
  EXPECT_THAT(complaints(told), ElementsAre("problem role")) << "ROLE is newer than INFO";
}

TEST(RedisDoctor, AMasterWithReplicasCanLoseTooMuch) {
  RedisFacts facts = healthy();
  set_info(facts, "connected_slaves", "1");
  EXPECT_THAT(complaints(facts), ElementsAre("advice min-replicas-to-write", "advice repl-backlog-size"));
  (*facts.config)["min-replicas-to-write"] = "1";
  (*facts.config)["repl-backlog-size"] = "67108864";
  EXPECT_THAT(complaints(facts), IsEmpty());
  (*facts.config)["repl-diskless-sync"] = "no";
  EXPECT_THAT(complaints(facts), ElementsAre("advice repl-diskless-sync"));
  (*facts.config)["repl-diskless-sync"] = "yes";
  (*facts.config)["appendonly"] = "no";
  set_info(facts, "aof_enabled", "0");
  EXPECT_THAT(complaints(facts), ElementsAre("problem save", "advice save")) << "an empty master empties its replicas";
}

TEST(RedisDoctor, ConnectionsAndClients) {
  EXPECT_THAT(with_config("timeout", "300"), ElementsAre("advice timeout"));
  EXPECT_THAT(with_config("tcp-keepalive", "0"), ElementsAre("advice tcp-keepalive"));
  EXPECT_THAT(with_info("connected_clients", "9000"), ElementsAre("advice maxclients"));
  EXPECT_THAT(with_info("rejected_connections", "3"), ElementsAre("advice rejected_connections"));
  EXPECT_THAT(with_info("tracking_total_keys", "950000"), ElementsAre("advice tracking-table-max-keys"));
  EXPECT_THAT(with_info("loading", "1"), ElementsAre("problem loading"));
  RedisFacts facts = healthy();
  facts.address.database = 16;
  EXPECT_THAT(complaints(facts), ElementsAre("problem databases"));
}

TEST(RedisDoctor, AnOpenDoorIsAProblem) {
  RedisFacts facts = healthy();
  (*facts.config)["protected-mode"] = "no";
  EXPECT_THAT(complaints(facts), IsEmpty()) << "loopback only";
  (*facts.config)["bind"] = "* -::*";
  EXPECT_THAT(complaints(facts), ElementsAre("problem protected-mode"));
  (*facts.config)["requirepass"] = "hushhush";
  EXPECT_THAT(complaints(facts), IsEmpty());
  for (const RedisFinding& finding : examine_redis(facts))
    EXPECT_THAT(finding.value + finding.meaning + finding.remedy, Not(HasSubstr("hushhush")));
  (*facts.config)["requirepass"] = "";
  (*facts.config)["port"] = "0";
  EXPECT_THAT(complaints(facts), IsEmpty()) << "no TCP at all";
}

TEST(RedisDoctor, TheMachineAndTheWayToIt) {
  RedisFacts facts = healthy();
  facts.overcommit_memory = "0\n";
  EXPECT_THAT(complaints(facts), ElementsAre("advice vm.overcommit_memory"));
  facts.overcommit_memory = "1\n";
  facts.transparent_hugepage = "[always] madvise never\n";
  EXPECT_THAT(complaints(facts), IsEmpty()) << "Redis keeps it off for itself";
  facts.config->erase("disable-thp");
  EXPECT_THAT(complaints(facts), ElementsAre("advice disable-thp"));
  facts.transparent_hugepage = "always [madvise] never\n";
  EXPECT_THAT(complaints(facts), IsEmpty());
  facts.round_trips = {90us, 30us, 40us};
  EXPECT_EQ(about(facts, "round trip").value, "median 40 us, worst 90 us of 3");
  facts.round_trips = {30us, 40us, 200ms};
  EXPECT_THAT(about(facts, "round trip").remedy, HasSubstr("SLOWLOG"));
  facts.round_trips = {5ms};
  EXPECT_THAT(complaints(facts), ElementsAre("advice round trip"));
}

TEST(RedisDoctor, WithoutSettingsItJudgesByInfoAndSaysSo) {
  RedisFacts facts = healthy();
  facts.config.reset();
  EXPECT_THAT(complaints(facts), ElementsAre("advice CONFIG GET"));
  set_info(facts, "maxmemory", "1000000000");
  set_info(facts, "maxmemory_policy", "allkeys-lfu");
  EXPECT_THAT(complaints(facts), ElementsAre("problem maxmemory-policy", "advice CONFIG GET"));
}

TEST(RedisDoctor, AUserWhoMayNotEndConnectionsIsAdvised) {
  RedisFacts facts = healthy();
  facts.kill_refused = true;
  EXPECT_THAT(complaints(facts), ElementsAre("advice CLIENT KILL"));
  EXPECT_THAT(about(facts, "CLIENT KILL").remedy, HasSubstr("+client|kill"));
}

TEST(RedisDoctor, WhatToTypeGoesTheSameWayIn) {
  const auto typed = [](const RedisAddress& address) {
    RedisFacts facts = healthy();
    facts.address = address;
    (*facts.config)["tcp-keepalive"] = "0";
    set_info(facts, "config_file", "");
    return about(facts, "tcp-keepalive").remedy;
  };
  const std::string setting = " CONFIG SET tcp-keepalive 300";
  EXPECT_EQ(typed({.unix_path = "/run/it's one"}), R"(redis-cli -s '/run/it'\''s one')" + setting);
  EXPECT_EQ(typed({.host = "db1", .port = 7000, .user = "admin", .password = "hushhush"}),
            "redis-cli -h db1 -p 7000 --user admin --askpass" + setting);
  EXPECT_EQ(typed({.host = "h", .tls = true, .ca_file = "/c", .cert_file = "/b", .key_file = "/k", .server_name = "n"}),
            "redis-cli -h h -p 6379 --tls --cacert /c --cert /b --key /k --sni n" + setting);
}

RedisFacts facts_of(redis_kit::RedisServer& server) {
  RedisFacts facts;
  facts.info = server.command({"INFO"});
  facts.config = server.config();
  facts.role = server.list({"ROLE"}).front();
  facts.address = server.address();
  set_info(facts, "latest_fork_usec", "0");  // How long this machine takes is no fault of the server's settings.
  return facts;
}

TEST(RedisDoctor, ARealServerIsUnderstood) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer plain;
  EXPECT_THAT(complaints(facts_of(plain)), ElementsAre("advice save", "advice client-output-buffer-limit"));

  redis_kit::RedisServer tuned({.arguments = {"--appendonly", "yes", "--client-output-buffer-limit", "pubsub 256mb 64mb 60",
                                              "--notify-keyspace-events", "AKE", "--maxmemory", "1gb"}});
  RedisFacts facts = facts_of(tuned);
  facts.stock_peers = true;
  EXPECT_THAT(complaints(facts), IsEmpty());
  EXPECT_THAT(about(facts, "role").value, "master");

  redis_kit::RedisServer careless(
      {.tcp = true, .arguments = {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-random", "--timeout", "60"}});
  EXPECT_THAT(complaints(facts_of(careless)), Contains("problem maxmemory-policy"));
  EXPECT_THAT(complaints(facts_of(careless)), Contains("advice timeout"));

  redis_kit::RedisServer replica({.arguments = {"--replicaof", "127.0.0.1 " + std::to_string(careless.port())}});
  redis_kit::wait_until("the replica is in step", [&replica] { return replica.info("replication")["master_link_status"] == "up"; });
  EXPECT_THAT(complaints(facts_of(replica)), Contains("problem role"));
  EXPECT_THAT(complaints(facts_of(careless)), AllOf(Contains("problem save"), Contains("advice min-replicas-to-write")));
}

/// Each remedy is run on the server exactly as printed, and the finding disappears.
TEST(RedisDoctor, ItsRemediesHelp) {
  RONDO_NEEDS_REDIS();
  const std::string client = redis_kit::find_program("redis-cli");
  if (client.empty()) GTEST_SKIP() << "SKIPPED: no redis-cli; install Debian's package redis-tools";
  redis_kit::RedisServer server({.arguments = {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--timeout", "60",
                                               "--tcp-keepalive", "0", "--client-output-buffer-limit", "normal 1mb 0 0"}});
  RedisFacts facts = facts_of(server);
  facts.stock_peers = true;
  ASSERT_THAT(complaints(facts),
              ElementsAre("problem maxmemory-policy", "problem notify-keyspace-events", "advice save", "advice client-output-buffer-limit",
                          "advice client-output-buffer-limit", "advice timeout", "advice tcp-keepalive"));
  for (const RedisFinding& finding : examine_redis(facts)) {
    if (finding.level == FindingLevel::Ok) continue;
    ASSERT_THAT(finding.remedy, StartsWith("redis-cli -s "));
    EXPECT_EQ(std::system((finding.remedy + " >/dev/null").c_str()), 0) << finding.remedy;
  }
  facts = facts_of(server);
  facts.stock_peers = true;
  EXPECT_THAT(complaints(facts), IsEmpty());
}

}  // namespace
}  // namespace rondo
