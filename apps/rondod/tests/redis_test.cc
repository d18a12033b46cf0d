// rondod with its tables on a test Redis, and the simulated data plane: it programs what other programs write there, and rows written over
// the admin socket appear there. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "admin/bulk_writer.h"
#include "rondod/configuration/config.h"
#include "rondod/configuration/start_check.h"
#include "rondod/tests/rondod_kit.h"
#include "store/redis/testing/server.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string message_of(const std::string& text) {
  const auto config = parse_config(text, "rondod.toml");
  EXPECT_FALSE(config.has_value()) << text;
  return config ? std::string{} : std::string{config.error().message()};
}

TEST(RedisConfig, AnAddressIsCheckedAndAPasswordBelongsInAFile) {
  EXPECT_THAT(message_of("[store]\nurl = \"redis://h:port\"\n"), AllOf(HasSubstr("rondod.toml:2"), HasSubstr("store.url")));
  EXPECT_THAT(message_of("[store]\nurl = \"redis://:sesame@h/0\"\n"), AllOf(HasSubstr("password_file"), Not(HasSubstr("sesame"))));
  EXPECT_THAT(message_of("[store]\nurl = \"unix:///s?password=sesame\"\n"), AllOf(HasSubstr("password_file"), Not(HasSubstr("sesame"))));
  EXPECT_THAT(message_of("[store]\nurl = \"redis+cluster://h\"\n"), HasSubstr("luster"));
  EXPECT_THAT(message_of("[store]\nurl = \"unix:///s?password_file=/not/there\"\n"), HasSubstr("/not/there"));
  redis_kit::TempFolder folder;
  std::ofstream(folder.file("password")) << "sesame\n";
  const std::string url = "unix:///s?db=3&password_file=" + folder.file("password");
  const auto config = parse_config("[[store.group]]\ntables = [\"T\"]\nurl = \"" + url + "\"\n", "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_THAT(to_toml(*config), AllOf(HasSubstr(url), Not(HasSubstr("sesame"))));
}

TEST(RedisConfig, FilesOfTlsThatCannotBeReadAreNamedBeforeTheStart) {
  const auto config =
      parse_config("[admin]\nsocket = \"/tmp/s\"\n[store]\nurl = \"rediss://h/0?ca=/not/there\"\n[dataplane]\nkind = \"simulated\"\n", "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  const std::vector<StartFinding> findings = check_start(*config);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].setting, "store.url");
  EXPECT_THAT(findings[0].what, HasSubstr("reading '/not/there'"));
}

TEST(RedisConfig, ADatabaseOfManagersThatAreOffIsAWarning) {
  const auto config = parse_config("[managers]\nconfig_db = \"redis://127.0.0.1/4\"\n", "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  const std::vector<StartFinding> found = warnings(*config);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_error);
  EXPECT_EQ(found[0].setting, "managers.config_db");
  EXPECT_TRUE(warnings(*parse_config("[managers]\nenabled = true\nconfig_db = \"redis://127.0.0.1/4\"\n", "x")).empty());
}

TEST(RedisConfig, SentinelsMayNameTheStore) {
  const std::string url = "redis+sentinel://one,two:26380/mymaster/3";
  const auto config = parse_config("[store]\nurl = \"" + url + "\"\n", "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->store.url, url);
}

TEST(RedisConfig, EachStoreHasReplicasOfItsOwn) {
  const auto config = parse_config(
      "[store]\nurl = \"unix:///a\"\nreplicas = 1\n"
      "[[store.group]]\ntables = [\"T\"]\nurl = \"unix:///b\"\nreplicas = 100\nreplicas_timeout_ms = 60000\n",
      "x");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(config->store, (StorePlace{.url = "unix:///a", .replicas = 1}));
  ASSERT_EQ(config->store_groups.size(), 1U);
  EXPECT_EQ(config->store_groups[0].place, (StorePlace{.url = "unix:///b", .replicas = 100, .replicas_timeout_ms = 60'000}));
  const auto again = parse_config(to_toml(*config), "x");
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(again->store, config->store);
  EXPECT_EQ(again->store_groups, config->store_groups);
}

class RondodOnRedis : public RondodProcess {
 protected:
  void SetUp() override {
    RONDO_NEEDS_REDIS();
    RondodProcess::SetUp();
    server = std::make_unique<redis_kit::RedisServer>();
  }
  std::string url() const { return "unix://" + server->socket(); }
  /// Writes a row as a stock producer does: in one step.
  void produce(const std::string& table, const std::string& key, std::vector<std::string> fields) {
    fields.insert(fields.begin(), {"HSET", "_" + table + ":" + key});
    server->command({"MULTI"});
    server->command({"SADD", table + "_KEY_SET", key});
    server->command(fields);
    server->command({"PUBLISH", table + "_CHANNEL@0", "G"});
    server->command({"EXEC"});
  }
  static void send_routes(BulkWriter& bulk, int rows) {
    ASSERT_TRUE(bulk.begin("ROUTE_TABLE").ok());
    const BulkField fields[] = {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}};
    for (int i = 0; i < rows; ++i) {
      const std::string key = "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
      ASSERT_TRUE(bulk.row(BulkOp::Set, key, fields).ok());
    }
    ASSERT_TRUE(bulk.end().ok());
  }
  /// Sends one frame of rows on its own connection and returns when rondod has read it. Redis does not answer, so rondod does not either.
  void load_unanswered(int rows) {
    Result<std::unique_ptr<AdminClient>> connected = AdminClient::connect(file("socket"));
    ASSERT_TRUE(connected.has_value());
    writer_ = std::move(*connected);
    bulk_ = std::make_unique<BulkWriter>(*writer_);
    send_routes(*bulk_, rows);
    // Each answer takes a turn after the frame arrived, and each turn takes some of its rows.
    for (int turns = 0; turns < rows; ++turns) call("version");
  }
  /// Writes routes over the admin socket; they are stored when it returns.
  void load(int rows) {
    BulkWriter bulk(client());
    send_routes(bulk, rows);
    const Result<BulkTotals> totals = bulk.finish();
    ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
    EXPECT_EQ(totals->accepted, static_cast<std::uint64_t>(rows)) << totals->first_error.to_string();
  }
  void produce_all() {
    produce("ROUTE_TABLE", "192.168.0.0/16", {"nexthop", "10.0.0.2", "ifname", "swp1"});
    produce("NEIGH_TABLE", "swp1:10.0.0.2", {"neigh", "02:00:00:00:00:02", "family", "IPv4"});
    produce("INTF_TABLE", "swp1:10.0.0.1/24", {"scope", "global", "family", "IPv4"});
    produce("INTF_TABLE", "swp1", {"NULL", "NULL"});
    produce("PORT_TABLE", "swp1", {"admin_status", "up", "mtu", "9100"});
  }

  std::unique_ptr<redis_kit::RedisServer> server;
  std::unique_ptr<AdminClient> writer_;
  std::unique_ptr<BulkWriter> bulk_;
};

TEST_F(RondodOnRedis, ProgramsWhatAStockProducerWrites) {
  start("url = \"" + url() + "\"\n");
  produce_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
  EXPECT_EQ(server->command({"HGET", "ROUTE_TABLE:192.168.0.0/16", "nexthop"}), "10.0.0.2") << "popped into the table";
  call("set", {{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", "1500"}}}});
  EXPECT_TRUE(becomes([this] { return server->command({"HGET", "PORT_TABLE:swp1", "mtu"}) == "1500"; }));
}

TEST_F(RondodOnRedis, ANewRunProgramsTheRowsThatAnEarlierOneTook) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    start("url = \"" + url() + "\"\n");
    if (signal == SIGTERM) produce_all();
    EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
    end(signal);
    // As if all of them had been handled long ago: rows in flight would be delivered again anyway.
    for (const std::string& batches : server->list({"KEYS", "RONDO_INFLIGHT@*"})) server->command({"DEL", batches});
  }
  start("url = \"" + url() + "\"\n");
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
}

TEST_F(RondodOnRedis, ADrainWaitsForTheAnswersToAcceptedWrites) {
  start("url = \"" + url() + "\"\n");
  EXPECT_TRUE(becomes([this] { return call("stats").at("store").at("health") == "ok"; }));
  server->freeze();
  load_unanswered(500);
  signal(SIGTERM);
  EXPECT_TRUE(becomes([this] { return log_text().find("draining") != std::string::npos; })) << log_text();
  server->thaw();
  EXPECT_EQ(end(0), 0) << "it ends by itself, and nothing is lost";
  std::set<std::string> keys;
  for (const std::string& key : server->list({"SMEMBERS", "ROUTE_TABLE_KEY_SET"})) keys.insert("ROUTE_TABLE:" + key);
  for (const std::string& row : server->list({"KEYS", "ROUTE_TABLE:*"})) keys.insert(row);
  EXPECT_EQ(keys.size(), 500U) << log_text();
}

TEST_F(RondodOnRedis, ADrainThatIsCutShortSaysHowManyWritesAreLeft) {
  server->stop();
  start("url = \"" + url() + "\"\n");
  load_unanswered(7);
  signal(SIGTERM);
  EXPECT_TRUE(becomes([this] { return log_text().find("draining") != std::string::npos; })) << log_text();
  EXPECT_EQ(end(SIGTERM), 1) << "nobody has them";
  EXPECT_THAT(log_text(), AllOf(HasSubstr("drained=false"), HasSubstr("accepted work is lost"), HasSubstr(server->socket()),
                                HasSubstr("7 accepted writes without an answer")))
      << log_text();
}

/// `set --wait` and `del --wait` said "the row was written" of a write that was never sent.
TEST_F(RondodOnRedis, AWriteThatADeadRedisHasNotConfirmedIsNotCalledWritten) {
  start("url = \"" + url() + "\"\n");
  EXPECT_TRUE(becomes([this] { return call("stats").at("store").at("health") == "ok"; }));
  server->kill9();
  EXPECT_TRUE(becomes([this] { return call("stats").at("store").at("health") != "ok"; }));
  for (const char* const command : {"set", "del"}) {
    for (const bool waits : {true, false}) {
      json::object row{{"table", "ROUTE_TABLE"}, {"key", "97.0.0.0/8"}};
      if (std::string_view{command} == "set") row["fields"] = json::array{json::array{"blackhole", "true"}};
      if (waits) row["wait_ms"] = 1;
      const auto caller = AdminClient::connect(file("socket"), waits ? 20s : 300ms);
      ASSERT_TRUE(caller.has_value());
      const auto answer = (*caller)->call(command, row);
      ASSERT_FALSE(answer.has_value()) << command;
      EXPECT_EQ(answer.error().code(), StatusCode::DeadlineExceeded) << command;
      EXPECT_THAT(answer.error().to_string(), Not(HasSubstr("was written"))) << command;
      if (!waits) continue;
      EXPECT_THAT(answer.error().to_string(), AllOf(HasSubstr("the store has not confirmed the write"), HasSubstr(server->socket())));
    }
  }
  const auto caller = AdminClient::connect(file("socket"), 300ms);
  ASSERT_TRUE(caller.has_value());
  BulkWriter bulk(**caller);  // load and feed write in this way.
  send_routes(bulk, 10);
  const Result<BulkTotals> totals = bulk.finish();
  ASSERT_FALSE(totals.has_value());
  EXPECT_THAT(totals.error().to_string(), Not(HasSubstr("written")));
  EXPECT_EQ(bulk.totals().accepted, 0U);
}

TEST_F(RondodOnRedis, RowsThatARedisOutOfMemoryRefusesAreRefusedByName) {
  start("url = \"" + url() + "\"\n");
  EXPECT_TRUE(becomes([this] { return call("stats").at("store").at("health") == "ok"; }));
  ASSERT_EQ(server->command({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  BulkWriter bulk(client());
  send_routes(bulk, 20'000);
  const Result<BulkTotals> totals = bulk.finish();
  ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
  EXPECT_EQ(totals->accepted, 0U);
  EXPECT_EQ(totals->refused, 20'000U);
  EXPECT_EQ(totals->unwritten, 0U) << "nothing was kept";
  EXPECT_THAT(totals->first_error.to_string(), AllOf(HasSubstr("ROUTE_TABLE"), HasSubstr("10.0.0.0/24"), HasSubstr("OOM command")));
  json::object row{{"table", "PORT_TABLE"}, {"key", "swp1"}};
  for (const char* const command : {"del", "set"}) {
    if (std::string_view{command} == "set") row["fields"] = json::array{json::array{"mtu", "1500"}};
    const auto answer = client().call(command, row);
    ASSERT_FALSE(answer.has_value()) << command;
    EXPECT_THAT(answer.error().to_string(), AllOf(HasSubstr("PORT_TABLE"), HasSubstr("swp1"), HasSubstr("OOM command")));
  }
  EXPECT_EQ(totals->first_error.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(json::serialize(call("health").at("troubles")), AllOf(HasSubstr("writes that the store refused: 20002 since the start"),
                                                                    HasSubstr("OOM command"), Not(HasSubstr("accepted writes"))))
      << "the callers were told";
  ASSERT_EQ(server->command({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  EXPECT_TRUE(client().call("set", row).has_value());
  EXPECT_TRUE(server->command({"SISMEMBER", "PORT_TABLE_KEY_SET", "swp1"}) == "1" || server->command({"EXISTS", "PORT_TABLE:swp1"}) == "1")
      << "stored when it is answered";
}

TEST_F(RondodOnRedis, AGroupOfTablesHasAStoreOfItsOwn) {
  start("[[store.group]]\ntables = [\"PORT_TABLE\", \"INTF_TABLE\"]\nurl = \"" + url() + "\"\n");
  for (const char* const table : {"PORT_TABLE", "ROUTE_TABLE"}) {
    call("set", {{"table", table}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", "1500"}}}});
  }
  EXPECT_TRUE(becomes([this] { return server->command({"HGET", "PORT_TABLE:swp1", "mtu"}) == "1500"; }));
  EXPECT_EQ(server->list({"KEYS", "*ROUTE*"}).size(), 0U) << "routes stay in the daemon";
}

TEST_F(RondodOnRedis, AWriteThatNoReplicaHasIsCountedAndLogged) {
  start("url = \"" + url() + "\"\nreplicas = 1\nreplicas_timeout_ms = 20\n[[store.group]]\ntables = [\"PORT_TABLE\"]\nurl = \"" + url() +
        "\"\n");
  const auto failed = [this] { return call("stats").at("store").at("failed_writes").as_int64(); };
  const auto set = [&](const char* table) {
    call("set", {{"table", table}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", "1500"}}}});
  };
  set("PORT_TABLE");  // In a separate store, which requires no replica.
  EXPECT_TRUE(becomes([this] { return server->command({"HGET", "PORT_TABLE:swp1", "mtu"}) == "1500"; }));
  const auto refused =
      client().call("set", {{"table", "INTF_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", "1500"}}}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr("INTF_TABLE"), HasSubstr("swp1"), HasSubstr("written, but only 0 of 1")));
  EXPECT_EQ(failed(), 1);
  EXPECT_THAT(std::string{call("stats").at("store").at("last_failure").as_string()},
              AllOf(HasSubstr("INTF_TABLE"), HasSubstr("only 0 of 1 replicas")));
  EXPECT_EQ(call("stats").at("store").at("health"), "ok") << "the server is there";
  EXPECT_THAT(json::serialize(call("health").at("troubles")),
              AllOf(HasSubstr("failed later: 1 since the start, the last "), HasSubstr("only 0 of 1 replicas")));
  EXPECT_TRUE(becomes([this] { return log_text().find("only 0 of 1 replicas") != std::string::npos; }));
  EXPECT_TRUE(becomes([this] { return server->command({"HGET", "INTF_TABLE:swp1", "mtu"}) == "1500"; })) << "written all the same";
}

TEST_F(RondodOnRedis, StartsWithoutTheServerAndGoesOnWhenItComes) {
  server->stop();
  start("url = \"" + url() + "\"\n");
  const auto health = [this] { return std::string{call("stats").at("store").at("health").as_string()}; };
  EXPECT_TRUE(becomes([&] { return health().find(server->socket()) != std::string::npos; })) << health();
  server->start();
  EXPECT_TRUE(becomes([&] { return health() == "ok"; })) << health();
  produce_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
}

TEST_F(RondodOnRedis, WhySaysThatTheStoreCouldNotBeAsked) {
  server->stop();
  start("url = \"" + url() + "\"\n");
  const json::object link = call("why", {{"table", "ROUTE_TABLE"}, {"key", "10.0.0.0/8"}}).at("chain").at(0).as_object();
  EXPECT_EQ(link.at("state").as_string(), "unknown");
  const std::string note{link.at("note").as_string()};
  EXPECT_THAT(note, HasSubstr("the store could not be asked about this row: "));
}

/// HSET tells no consumer: the row is not done, whatever the table has.
TEST_F(RondodOnRedis, WhySaysOfARowOfHsetAloneThatNoConsumerWasNotified) {
  start("url = \"" + url() + "\"\n");
  produce_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  const auto why = [this](const char* key) { return call("why", {{"table", "ROUTE_TABLE"}, {"key", key}}).at("chain").at(0).as_object(); };
  EXPECT_TRUE(becomes([&] { return why("192.168.0.0/16").at("state").as_string() == "done"; })) << json::serialize(why("192.168.0.0/16"));
  server->command({"HSET", "ROUTE_TABLE:10.9.0.0/16", "blackhole", "true"});
  const json::object link = why("10.9.0.0/16");
  EXPECT_EQ(link.at("state").as_string(), "absent");
  EXPECT_THAT(std::string{link.at("note").as_string()}, HasSubstr("no consumer was notified"));
}

TEST_F(RondodOnRedis, WhySaysThatTheStoreLostTheRowOfAnObject) {
  start("url = \"" + url() + "\"\n");
  produce_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  const auto why = [this] { return call("why", {{"table", "ROUTE_TABLE"}, {"key", "192.168.0.0/16"}}).at("chain").at(0).as_object(); };
  constexpr const char* kLost = "the store does not have this row any more";
  EXPECT_TRUE(becomes([&] { return why().at("state").as_string() == "done"; })) << json::serialize(why());
  EXPECT_THAT(std::string{why().at("note").as_string()}, Not(HasSubstr(kLost)));
  server->command({"DEL", "ROUTE_TABLE:192.168.0.0/16"});
  EXPECT_THAT(std::string{why().at("note").as_string()}, HasSubstr(kLost)) << json::serialize(why());
}

TEST_F(RondodOnRedis, SaysOnceThatTheServerIsAnotherOne) {
  start("url = \"" + url() + "\"\n");
  produce_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  const auto said = [this] {
    const std::string text = log_text();
    std::size_t times = 0;
    for (std::size_t at = text.find("another server process answers"); at != std::string::npos;
         at = text.find("another server process answers", at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(said(), 0U) << log_text();
  server->kill9();
  server->start();
  EXPECT_TRUE(becomes([&said] { return said() > 0; })) << log_text();
  end(SIGTERM);
  EXPECT_EQ(said(), 1U) << log_text();
}

TEST_F(RondodOnRedis, HealthTellsWhatIsKnownOfARedisThatLostData) {
  start("url = \"" + url() + "\"\n");
  produce_all();
  EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << log_text();
  const auto health = [this] { return boost::json::serialize(call("health")); };
  EXPECT_THAT(health(), Not(HasSubstr("times that a Redis")));
  server->command({"FLUSHALL"});
  EXPECT_TRUE(becomes([&health] { return health().find("times that a Redis came back") != std::string::npos; })) << health();
  EXPECT_THAT(health(), HasSubstr("the same server process answers, without the epoch that it had"));
  EXPECT_THAT(log_text(), HasSubstr("the Redis may have lost data"));
  EXPECT_TRUE(has_route("192.168.0.0/16")) << "nothing is withdrawn while rondod runs";
  EXPECT_THAT(json::serialize(call("restart-check")), HasSubstr("a restart removes what is programmed of rows that it lacks"));
  server->kill9();
  server->start();
  EXPECT_TRUE(becomes([&health] { return health().find("another server process answers (run id ") != std::string::npos; })) << health();
}

TEST_F(RondodOnRedis, TheUserOfTheGuideMayDoAllThatItDoes) {
  std::ifstream guide("docs/guide/growing-onto-redis.md");
  std::vector<std::string> words;
  for (std::string line; std::getline(guide, line);) {
    std::istringstream in(line);
    if (line.starts_with("ACL SETUSER rondod ")) words.assign(std::istream_iterator<std::string>(in), {});
  }
  ASSERT_FALSE(words.empty()) << "not run in the root of the source tree, or the guide has no line for rondod";
  ASSERT_EQ(server->command(words), "OK");
  std::ofstream(file("password")) << "SECRET\n";
  const std::string store = "url = \"" + url() + "?user=rondod&password_file=" + file("password") + "\"\n";
  for (int runs = 0; runs < 2; ++runs) {  // The second run finds rows.
    start(store);
    if (runs == 0) produce_all();
    EXPECT_TRUE(becomes([this] { return has_route("192.168.0.0/16"); })) << json::serialize(call("parked")) << log_text();
    load(300);
    EXPECT_THAT(json::serialize(call("get", {{"table", "PORT_TABLE"}, {"key", "swp1"}})), HasSubstr("9100"));
    EXPECT_THAT(json::serialize(call("keys", {{"table", "PORT_TABLE"}})), HasSubstr("swp1"));
    EXPECT_EQ(call("stats").at("store").at("health"), "ok");
    EXPECT_EQ(call("stats").at("store").at("failed_writes"), 0);
    end(SIGTERM);
  }
  EXPECT_THAT(server->list({"ACL", "LOG"}), testing::IsEmpty()) << "nothing was refused";
}

TEST_F(RondodOnRedis, AnUnknownTableOfAGroupIsNamed) {
  EXPECT_EQ(fail_to_start("[[store.group]]\ntables = [\"PORTS_TABLE\"]\nurl = \"" + url() + "\"\n"), 78);
  EXPECT_THAT(log_text(), AllOf(HasSubstr("PORTS_TABLE"), HasSubstr("did you mean 'PORT_TABLE'")));
}

// A password changes without a restart: first on the server, then in the file; then SIGHUP makes rondod read it.
TEST_F(RondodOnRedis, ANewPasswordIsReadOnSighup) {
  server = std::make_unique<redis_kit::RedisServer>(redis_kit::RedisServerOptions{.password = "first"});
  std::ofstream(file("password")) << "first\n";
  start("url = \"" + url() + "?password_file=" + file("password") + "\"\n");
  produce("PORT_TABLE", "swp1", {"admin_status", "up"});
  server->command({"CONFIG", "SET", "requirepass", "second"});
  server->command({"CLIENT", "KILL", "SKIPME", "yes"});
  const auto trouble = [this] { return json::serialize(call("health").at("troubles")); };
  EXPECT_TRUE(becomes([&] { return trouble().find("WRONGPASS") != std::string::npos; })) << trouble();
  std::ofstream(file("password")) << "second\n";
  signal(SIGHUP);
  EXPECT_TRUE(becomes([&] { return log_text().find("the next connections use another password") != std::string::npos; })) << log_text();
  EXPECT_TRUE(becomes([&] { return trouble().find("WRONGPASS") == std::string::npos; })) << trouble() << log_text();
  EXPECT_THAT(log_text(), Not(HasSubstr("second")));
  std::filesystem::remove(file("password"));
  signal(SIGHUP);
  EXPECT_TRUE(becomes([&] { return log_text().find("cannot read a password file, keeping the current password") != std::string::npos; }));
}

}  // namespace
}  // namespace rondo::daemon
