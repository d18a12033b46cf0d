// The program on a test Redis, as users run it: plain commands check what it writes; its output and exit codes are those of the command
// line with a daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "store/redis/testing/sentinel.h"
#include "store/redis/testing/server.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

struct Outcome {
  int code = -1;
  std::string out;  // Standard output and standard error together.
};

/// Runs the program with its words in a shell and reads its output as it arrives.
class Running {
 public:
  explicit Running(const std::string& words) {
    const char* const program = std::getenv("RONDO");
    EXPECT_NE(program, nullptr) << "RONDO does not name the program";
    pipe_ = ::popen((std::string{program == nullptr ? "false" : program} + " " + words + " 2>&1").c_str(), "r");
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pipe_ != nullptr) ::pclose(pipe_);
  }
  /// Returns the next line with its end; "" at the end of the output.
  std::string line() {
    std::string text;
    for (int c = 0; (c = std::fgetc(pipe_)) != EOF;) {
      text.push_back(static_cast<char>(c));
      if (c == '\n') break;
    }
    return text;
  }
  Outcome rest() {
    Outcome outcome;
    for (std::string text; !(text = line()).empty();) outcome.out += text;
    const int status = ::pclose(pipe_);
    pipe_ = nullptr;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }

 private:
  std::FILE* pipe_ = nullptr;
};

Outcome run(const std::string& words) { return Running(words).rest(); }

class RedisCli : public testing::Test {
 protected:
  void SetUp() override {
    RONDO_NEEDS_REDIS();
    server = std::make_unique<redis_kit::RedisServer>();
  }
  std::string store() const { return "--store unix://" + server->socket() + " "; }
  Outcome rondo(const std::string& words) { return run(store() + words); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (server->folder() / name).string();
    std::ofstream{path} << text;
    return path;
  }

  std::unique_ptr<redis_kit::RedisServer> server;
};

TEST_F(RedisCli, SetAndDelStageForTheConsumer) {
  const Outcome set = rondo("set ROUTE_TABLE 10.0.0.0/24 nexthop_group=102 'protocol=a\\x00b'");
  EXPECT_EQ(set.code, 0) << set.out;
  EXPECT_EQ(set.out, "") << "nothing to say";
  EXPECT_THAT(server->hash("_ROUTE_TABLE:10.0.0.0/24"),
              UnorderedElementsAre(Pair("nexthop_group", "102"), Pair("protocol", std::string("a\0b", 3))));
  EXPECT_THAT(server->list({"SMEMBERS", "ROUTE_TABLE_KEY_SET"}), ElementsAre("10.0.0.0/24"));
  EXPECT_EQ(rondo("del ROUTE_TABLE 10.1.0.0/16").code, 0);
  EXPECT_THAT(server->list({"SMEMBERS", "ROUTE_TABLE_DEL_SET"}), ElementsAre("10.1.0.0/16"));
}

TEST_F(RedisCli, TheOtherKindsAreWrittenAsTheyAre) {
  EXPECT_EQ(rondo("--kind watched set PORT Ethernet0 mtu=9100").code, 0);
  EXPECT_THAT(server->hash("PORT:Ethernet0"), ElementsAre(Pair("mtu", "9100")));
  EXPECT_EQ(rondo("--kind watched del PORT Ethernet0").code, 0);
  EXPECT_EQ(server->command({"EXISTS", "PORT:Ethernet0"}), "0");
  EXPECT_EQ(rondo("--kind queue set Q k f=v").code, 0);
  EXPECT_THAT(server->list({"LRANGE", "Q_KEY_VALUE_OP_QUEUE", "0", "-1"}), ElementsAre("SSET", "[\"f\",\"v\"]", "k"));
  EXPECT_EQ(rondo("--separator '|' --kind watched set PORT Ethernet4 mtu=1").code, 0);
  EXPECT_EQ(server->command({"HGET", "PORT|Ethernet4", "mtu"}), "1");
}

TEST_F(RedisCli, AnEventIsSentWithItsOperationDataAndFields) {
  Running reader(store() + "--kind channel --json watch EVENTS --count 1");
  // Published messages reach only subscribed clients.
  while (server->list({"PUBSUB", "CHANNELS", "EVENTS"}).empty()) {
  }
  EXPECT_EQ(rondo("send EVENTS port_state Ethernet0 state=down").code, 0);
  const json::value event = json::parse(reader.line());
  EXPECT_EQ(event.at("op").as_string(), "port_state");
  EXPECT_EQ(event.at("key").as_string(), "Ethernet0");
  EXPECT_EQ(json::serialize(event.at("fields")), R"([["state","down"]])");
  EXPECT_EQ(rondo("--kind staged send EVENTS a b").code, 2);
}

TEST_F(RedisCli, ARefusedPasswordNamesTheCommandThatFailed) {
  server->command({"CONFIG", "SET", "requirepass", "secret"});
  const Outcome wrong = run("--store 'unix://" + server->socket() + "?password_file=" + file("password", "wrong") + "' keys T");
  EXPECT_NE(wrong.code, 0);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("Redis at unix://" + server->socket()), HasSubstr("AUTH: WRONGPASS")));
  EXPECT_THAT(wrong.out, Not(AnyOf(HasSubstr("secret"), HasSubstr("wrong")))) << "no password";
}

TEST_F(RedisCli, AKeyOfAnotherTypeIsNoRow) {
  server->command({"SET", "T:k", "no row"});
  EXPECT_THAT(rondo("get T k").out, HasSubstr("the key 'T:k' is not a hash, so table 'T' has no such row"));
}

TEST_F(RedisCli, GetAndKeysAnswerAsADaemonDoes) {
  server->command({"HSET", "T:k", "name", "v"});
  server->command({"HSET", "T:empty", "NULL", "NULL"});
  server->command({"HSET", "T2:other", "name", "v"});
  EXPECT_EQ(rondo("get T k").out, "field  value\nname   v\n");
  EXPECT_EQ(rondo("--json get T k").out, "{\"key\":\"k\",\"fields\":[[\"name\",\"v\"]]}\n");
  EXPECT_EQ(rondo("--json get T empty").out, "{\"key\":\"empty\",\"fields\":[]}\n");
  const Outcome absent = rondo("get T absent");
  EXPECT_EQ(absent.code, 1);
  EXPECT_EQ(absent.out, "rondo: no row 'absent' in T\n");
  EXPECT_THAT(rondo("keys T").out, testing::AnyOf("k\nempty\n", "empty\nk\n"));
  for (int i = 0; i < 3000; ++i) server->command({"HSET", "MANY:" + std::to_string(i), "f", "v"});
  const Outcome many = rondo("keys MANY --json");
  EXPECT_EQ(json::parse(many.out).at("rows").as_array().size(), 3000U);
}

TEST_F(RedisCli, PendingShowsWhatWaitsAndTakesNothing) {
  rondo("set T a f=1");
  rondo("del T b");
  rondo("del T c");
  rondo("set T c f=2");
  const json::value pending = json::parse(rondo("--json pending T").out);
  std::vector<std::string> lines;
  for (const json::value& row : pending.at("rows").as_array()) {
    lines.push_back(std::string{row.at("key").as_string()} + " " + std::string{row.at("op").as_string()});
  }
  EXPECT_THAT(lines, UnorderedElementsAre("a SET", "b DEL", "c DEL,SET"));
  EXPECT_EQ(server->command({"SCARD", "T_KEY_SET"}), "3");
  rondo("--kind queue set Q first f=1");
  rondo("--kind queue del Q second");
  EXPECT_EQ(rondo("--kind queue pending Q").out, "key     op\nfirst   SET\nsecond  DEL\n");
  EXPECT_EQ(rondo("--kind channel pending Q").code, 2);
  EXPECT_EQ(rondo("pending NOBODY").out, "");
}

TEST_F(RedisCli, ClearDeletesOneTableAndNoOther) {
  const std::vector<std::string> others{"T2:k", "_T2:k", "T2_KEY_SET", "T2_DEL_SET", "xT:k", "Tx", "T_KEY_SETS", "T|k"};
  for (const std::string& other : others) server->command({"SET", other, "stays"});
  for (int i = 0; i < 1500; ++i) server->command({"HSET", "T:" + std::to_string(i), "f", "v"});
  rondo("set T a f=1");
  rondo("del T b");
  server->command({"HSET", "RONDO_INFLIGHT@T", "1", "x"});
  server->command({"HSET", "RONDO_INFLIGHT@T2", "1", "x"});
  const Outcome refused = run(store() + "clear T < /dev/null");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.out, HasSubstr("--yes"));
  EXPECT_EQ(server->command({"EXISTS", "T:7"}), "1");
  const Outcome cleared = rondo("clear T --yes --json");
  EXPECT_EQ(cleared.code, 0);
  EXPECT_EQ(cleared.out, "{\"deleted_pending\":2,\"deleted_staged\":1,\"deleted_rows\":1500}\n");
  EXPECT_EQ(server->command({"DBSIZE"}), std::to_string(others.size() + 2)) << "the others, what T2 has in flight, and the epoch";
  // The row of a Queue's empty key has the name of the table.
  server->command({"HSET", "Q", "f", "v"});
  EXPECT_EQ(rondo("clear Q --yes --json").out, "{\"deleted_pending\":0,\"deleted_staged\":0,\"deleted_rows\":0}\n");
  EXPECT_EQ(rondo("--kind queue clear Q --yes --json").out, "{\"deleted_pending\":0,\"deleted_staged\":0,\"deleted_rows\":1}\n");
  // A name that matches more than itself as a pattern.
  server->command({"HSET", "[T]*:k", "f", "v"});
  EXPECT_EQ(rondo("clear '[T]*' --yes --json").out, "{\"deleted_pending\":0,\"deleted_staged\":0,\"deleted_rows\":1}\n");
}

TEST_F(RedisCli, WatchPrintsRowsAndThenChanges) {
  server->command({"HSET", "T:k", "f", "1"});
  Running watch(store() + "watch T --count 4");
  EXPECT_EQ(watch.line(), "SET k f=1\n");
  server->command({"HSET", "T:k", "f", "2", "g", "3"});
  EXPECT_EQ(watch.line(), "SET k f=2 g=3\n");
  server->command({"HSET", "T2:k", "f", "2"});
  server->command({"DEL", "T:k"});
  EXPECT_EQ(watch.line(), "DEL k\n");
  server->command({"HSET", "T:j", "f", "1"});
  const Outcome end = watch.rest();
  EXPECT_EQ(end.out, "SET j f=1\n");
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(rondo("--json watch T --count 1").out, "{\"op\":\"SET\",\"key\":\"j\",\"fields\":[[\"f\",\"1\"]]}\n");
  EXPECT_EQ(rondo("--kind staged watch T").code, 2) << "it would take from the consumer";
  server->command({"HSET", "T:x1", "f", "1"});
  EXPECT_EQ(rondo("watch T 'x?' --count 1").out, "SET x1 f=1\n");
  EXPECT_EQ(rondo("keys T 'x*'").out, "x1\n");
  const Outcome nothing = rondo("watch T 'y*' --timeout 0.1");
  EXPECT_EQ(nothing.code, 0) << "the time was over: that is how it was to end";
  EXPECT_EQ(nothing.out, "");
}

TEST_F(RedisCli, LoadWritesAFile) {
  const std::string good = file("good.json", R"([{"T:a": {"f": "v"}, "OP": "SET"}, {"U:b:c": {}, "OP": "DEL"}, {"T:d": {}, "OP": "SET"}])");
  const Outcome loaded = rondo("load --json " + good);
  EXPECT_EQ(loaded.code, 0) << loaded.out;
  EXPECT_EQ(json::parse(loaded.out).at("accepted").as_int64(), 3);
  EXPECT_THAT(server->list({"SMEMBERS", "T_KEY_SET"}), UnorderedElementsAre("a", "d"));
  EXPECT_THAT(server->list({"SMEMBERS", "U_DEL_SET"}), ElementsAre("b:c"));
  const Outcome fed = rondo("feed routes --synthetic 30000 --json");
  EXPECT_EQ(json::parse(fed.out).at("accepted").as_int64(), 30'000);
  EXPECT_EQ(server->command({"SCARD", "ROUTE_TABLE_KEY_SET"}), "30000");
  server->command({"SET", "_W:bad", "no hash"});
  const Outcome wrong = rondo("load " + file("w.json", R"([{"W:bad": {"f": "v"}, "OP": "SET"}])"));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("row 'W:bad'"), HasSubstr("1 refused")));
}

TEST_F(RedisCli, ADatabaseIsFoundByItsName) {
  const std::string config =
      file("database_config.json", R"({"INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 1, "unix_socket_path": ")" +
                                       server->socket() + R"("}}, "DATABASES": {
      "APPL_DB": {"id": 0, "separator": ":", "instance": "redis"}, "CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"}}})");
  const Outcome set = run("--database-config " + config + " --store CONFIG_DB set PORT Ethernet0 mtu=9100");
  EXPECT_EQ(set.code, 0) << set.out;
  EXPECT_EQ(set.out, "");
  EXPECT_EQ(run("--database-config " + config + " --store CONFIG_DB get PORT Ethernet0").out, "field  value\nmtu    9100\n");
  redis_kit::RedisClient other(server->address(4));
  EXPECT_EQ(other.command({"HGET", "PORT|Ethernet0", "mtu"}), "9100");
  // What no reader of the database sees is written with a warning.
  const Outcome staged = run("--database-config " + config + " --store CONFIG_DB --kind staged set PORT Ethernet4 mtu=1500");
  EXPECT_EQ(staged.code, 0);
  EXPECT_THAT(staged.out, AllOf(HasSubstr("warning"), HasSubstr("CONFIG_DB"), HasSubstr("watched")));
  EXPECT_EQ(run("--database-config " + config + " --store CONFIG_DB --kind staged pending PORT").out, "key        op\nEthernet4  SET\n");
  EXPECT_EQ(run("--database-config " + config + " --store APPL_DB set PORT_TABLE Ethernet0 mtu=9100").out, "");
  EXPECT_THAT(server->list({"SMEMBERS", "PORT_TABLE_KEY_SET"}), ElementsAre("Ethernet0"));
  // The same as one namespace of the global file.
  const std::string global =
      file("database_global.json",
           R"({"INCLUDES": [{"include": "database_config.json"}, {"namespace": "asic0", "include": ")" + config + R"("}]})");
  EXPECT_EQ(run("--database-config " + global + " --namespace asic0 --store CONFIG_DB get PORT Ethernet0").out,
            "field  value\nmtu    9100\n");
  const Outcome nowhere = run("--database-config " + global + " --namespace asic9 --store CONFIG_DB keys PORT");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.out, HasSubstr("asic9"));
  const Outcome unknown = run("--database-config " + config + " --store NO_DB keys PORT");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.out, HasSubstr("NO_DB"));
}

TEST_F(RedisCli, WhoDoesNotAnswerIsNamed) {
  const Outcome nobody = run("--store unix:///nowhere/at/all keys T");
  EXPECT_EQ(nobody.code, 69);
  EXPECT_THAT(nobody.out, AllOf(HasSubstr("unix:///nowhere/at/all"), HasSubstr("No such file")));
  EXPECT_EQ(run("--store redis://127.0.0.1:port/ keys T").code, 2);
  const Outcome other = run("--store sqlite:///nowhere keys T");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.out, AllOf(HasSubstr("'sqlite://'"), HasSubstr("redis://"), HasSubstr("file:///PATH")));
  server->freeze();
  const Outcome silent = rondo("--timeout 0.5 keys T");
  server->thaw();
  EXPECT_EQ(silent.code, 69);
  EXPECT_THAT(silent.out, HasSubstr(server->socket()));
}

TEST_F(RedisCli, APasswordIsNeverPrinted) {
  redis_kit::RedisServer locked({.password = "sesame"});
  const std::string url = "--store 'unix://" + locked.socket();
  EXPECT_EQ(run(url + "?password=sesame' keys T").code, 0);
  EXPECT_EQ(run(url + "?password_file=" + file("password", "sesame\n") + "' keys T").code, 0);
  const Outcome wrong = run(url + "?password=tahini' keys T");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr(locked.socket()), Not(HasSubstr("tahini"))));
  EXPECT_EQ(run(url + "' keys T").code, 1);
}

TEST_F(RedisCli, TheDoctorsVerdictIsTheExitCode) {
  server->command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  const Outcome fit = rondo("doctor --json");
  EXPECT_EQ(fit.code, 0) << fit.out;
  EXPECT_EQ(json::parse(fit.out).at("problems").as_int64(), 0);
  server->command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  server->command({"CONFIG", "SET", "maxmemory", "100mb"});
  const Outcome ill = rondo("doctor");
  EXPECT_EQ(ill.code, 1);
  EXPECT_THAT(ill.out, AllOf(StartsWith("problem "), HasSubstr("maxmemory-policy = allkeys-lru"), HasSubstr("-> redis-cli"),
                             HasSubstr("ok      redis_version"), HasSubstr("round trip")));
}

TEST_F(RedisCli, TheDoctorTriesWhetherConnectionsMayBeEndedAndEndsNone) {
  redis_kit::RedisClient bystander(server->address());
  const std::string url = "--store 'unix://" + server->socket() + "?user=limited&password=word' doctor";
  ASSERT_EQ(server->command({"ACL", "SETUSER", "limited", "on", ">word", "~*", "&*", "+@all"}), "OK");
  EXPECT_THAT(run(url).out, Not(HasSubstr("CLIENT KILL")));
  EXPECT_EQ(bystander.command({"PING"}), "PONG");
  ASSERT_EQ(server->command({"ACL", "SETUSER", "limited", "-client|kill"}), "OK");
  EXPECT_THAT(run(url).out, HasSubstr("advice  CLIENT KILL"));
}

TEST(RedisCliSentinel, TheMasterIsAskedFor) {
  RONDO_NEEDS_REDIS();
  redis_kit::SentinelGroup group;
  std::string where;
  for (const auto& [host, port] : group.address().sentinels) where += (where.empty() ? "" : ",") + host + ":" + std::to_string(port);
  const std::string store = "--store redis+sentinel://" + where + "/";
  EXPECT_EQ(run(store + group.address().sentinel_master + " --kind watched set T k f=v").code, 0);
  EXPECT_EQ(run(store + group.address().sentinel_master + " get T k").out, "field  value\nf      v\n");
  EXPECT_THAT(run(store + "stranger keys T").out, HasSubstr("knows no master 'stranger'"));
}

}  // namespace
}  // namespace rondo::cli
