// The test kit itself: a server that starts, stops, dies and restarts, and a link that can be broken on purpose. Each case is short. Tests
// of the product are in other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "store/redis/testing/proxy.h"
#include "store/redis/testing/sentinel.h"
#include "store/redis/testing/server.h"

namespace rondo::redis_kit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

TEST(RedisKit, AServerAnswersOnItsSocketAndLeavesNothingBehind) {
  RONDO_NEEDS_REDIS();
  std::filesystem::path folder;
  pid_t pid = 0;
  {
    RedisServer server;
    folder = server.folder();
    pid = server.pid();
    EXPECT_TRUE(server.running());
    EXPECT_EQ(server.command({"HSET", "h", "a", "1", "b", std::string("\0x", 2)}), "2");
    EXPECT_THAT(server.hash("h"), ElementsAre(Pair("a", "1"), Pair("b", std::string("\0x", 2))));
    EXPECT_EQ(server.command({"EVAL", "return {1, {'x'}, false, redis.status_reply('s')}", "0"}), "[1, [x], (nil), s]");
    EXPECT_THAT(server.command({"NOSUCH"}), StartsWith("(error) ERR unknown command"));
    EXPECT_EQ(RedisClient(server.address(99)).command({"DBSIZE"}), "0");
    EXPECT_EQ(server.config("save").at("save"), "");
    EXPECT_EQ(server.info("server").at("process_id"), std::to_string(pid));
    EXPECT_TRUE(std::filesystem::exists(server.socket()));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(RedisKit, ATestThatDiesTakesServerAndFolderWithIt) {
  RONDO_NEEDS_REDIS();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t dying = ::fork();
  if (dying == 0) {
    RedisServer server({.tcp = true});
    const std::string text = std::to_string(server.port()) + " " + server.folder().string() + " ";
    if (::write(ends[1], text.data(), text.size()) > 0) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string text;
  char byte = 0;
  while (::read(ends[0], &byte, 1) == 1) text += byte;
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(dying, &status, 0), dying);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it could not start its server";
  std::istringstream words(text);
  RedisAddress address;
  std::string folder;
  words >> address.port >> folder;
  ASSERT_THAT(folder, HasSubstr("rondo-redis-"));
  wait_until("the server is gone", [&address] { return !RedisClient::try_connect(address); });
  wait_until("the folder is gone", [&folder] { return !std::filesystem::exists(folder); });
}

TEST(RedisKit, CpuTimeGrowsWithWork) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  const std::int64_t before = server.cpu_microseconds();
  server.command({"EVAL", "for i = 1, 200000 do redis.call('SET', 'k', i) end", "0"});
  EXPECT_GT(server.cpu_microseconds(), before + 1000);
}

TEST(RedisKit, KilledItForgetsAndStoppedWithPersistenceItRemembers) {
  RONDO_NEEDS_REDIS();
  RedisServer forgetful;
  forgetful.command({"SET", "a", "1"});
  RedisClient witness(forgetful.address());
  forgetful.kill9();
  EXPECT_FALSE(forgetful.running());
  EXPECT_FALSE(RedisClient::try_connect(forgetful.address()));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(witness.command({"PING"}), StartsWith("(lost)"));
  forgetful.start();
  EXPECT_EQ(forgetful.command({"GET", "a"}), "(nil)");

  RedisServer durable({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  durable.command({"SET", "a", "1"});
  durable.restart();
  durable.command({"SET", "b", "2"});
  durable.kill9();
  durable.start();
  EXPECT_EQ(durable.command({"MGET", "a", "b"}), "[1, 2]");
}

TEST(RedisKit, FrozenItIsSilentAndThawedItAnswersWhatItWasAsked) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  RedisClient hasty(server.address(), std::chrono::milliseconds(50));
  RedisClient patient(server.address());
  server.freeze();
  patient.append({"INCR", "n"});
  patient.flush();
  EXPECT_THAT(hasty.command({"PING"}), StartsWith("(lost)"));
  EXPECT_FALSE(hasty.connected());
  server.thaw();
  patient.append({"INCR", "n"});
  EXPECT_EQ(patient.next(), "1");
  EXPECT_EQ(patient.next(), "2");
  server.freeze();  // The server is also removed while it is frozen.
}

TEST(RedisKit, PasswordsAndPortsAreAsOrdered) {
  RONDO_NEEDS_REDIS();
  RedisServer server(
      {.tcp = true, .password = "secret", .arguments = {"--user", "reader", "on", ">other", "~*", "+get", "+select", "+ping"}});
  EXPECT_EQ(server.command({"SET", "a", "1"}), "OK");
  const std::uint16_t port = server.port();
  EXPECT_EQ(RedisClient(server.tcp_address()).command({"GET", "a"}), "1");
  RedisAddress reader = server.address();
  std::string why;
  reader.password = "wrong";
  EXPECT_FALSE(RedisClient::try_connect(reader, &why));
  EXPECT_THAT(why, HasSubstr("WRONGPASS"));
  reader.user = "reader";
  reader.password = "other";
  EXPECT_THAT(RedisClient(reader).command({"SET", "a", "2"}), StartsWith("(error) NOPERM"));
  server.restart();
  EXPECT_EQ(server.port(), port);
}

TEST(RedisKit, AServerThatCannotStartIsAnExceptionWithItsLog) {
  RONDO_NEEDS_REDIS();
  try {
    RedisServer server({.arguments = {"--no-such-setting", "1"}});
    FAIL() << "it started";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("no-such-setting"));
  }
}

/// The server's answer to PING over TLS as that client; empty when it refuses the client.
std::string ping_over_tls(const RedisAddress& address) {
  const NoPipeSignal guard;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), address.ca_file.c_str(), nullptr), 1);
  EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), address.cert_file.c_str(), SSL_FILETYPE_PEM), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), address.key_file.c_str(), SSL_FILETYPE_PEM), 1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(context.get()), address.host.c_str());
  const std::unique_ptr<BIO, void (*)(BIO*)> link{BIO_new_ssl_connect(context.get()), BIO_free_all};
  BIO_set_conn_hostname(link.get(), (address.host + ":" + std::to_string(address.port)).c_str());
  if (BIO_do_connect(link.get()) != 1 || BIO_write(link.get(), "PING\r\n", 6) != 6) return "";
  char answer[64];
  const int got = BIO_read(link.get(), answer, sizeof answer);
  return got > 0 ? std::string(answer, static_cast<std::size_t>(got)) : "";
}

TEST(RedisKit, TlsTakesOurAuthoritysClientsOnly) {
  RONDO_NEEDS_REDIS();
  RedisServer server({.tls = true});
  RedisAddress address = server.tls_address();
  EXPECT_EQ(ping_over_tls(address), "+PONG\r\n");
  address.cert_file = server.certificates()->stranger_cert_file();
  address.key_file = server.certificates()->stranger_key_file();
  EXPECT_EQ(ping_over_tls(address), "");
}

TEST(RedisProxyKit, PassesBothWaysOverASocketAndOverTcp) {
  RONDO_NEEDS_REDIS();
  RedisServer server({.tcp = true, .password = "secret"});
  RedisProxy local(server.address());
  RedisProxy far(server.tcp_address(), RedisProxy::Via::Tcp);
  const std::string big(3'000'000, 'x');
  EXPECT_EQ(RedisClient(local.address(5)).command({"SET", "a", big}), "OK");
  EXPECT_EQ(RedisClient(far.address(5)).command({"GET", "a"}), big);
  EXPECT_GT(far.stats().bytes_to_client, big.size());
  EXPECT_EQ(far.stats().accepted, 1U);
  wait_until("the proxy saw the client go", [&far] { return far.stats().open == 0; });
  EXPECT_EQ(far.stats().cut, 0U);
}

TEST(RedisProxyKit, CutEndsWhatIsOpenAndRefuseWhatComes) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  RedisProxy proxy(server.address());
  RedisClient client(proxy.address());
  EXPECT_EQ(client.command({"PING"}), "PONG");
  proxy.cut();
  EXPECT_THAT(client.command({"PING"}), StartsWith("(lost)"));
  EXPECT_EQ(RedisClient(proxy.address()).command({"PING"}), "PONG");
  proxy.refuse();
  std::optional<RedisClient> refused = RedisClient::try_connect(proxy.address());
  EXPECT_TRUE(!refused || refused->command({"PING"}).starts_with("(lost)"));
  proxy.refuse(false);
  EXPECT_EQ(RedisClient(proxy.address()).command({"PING"}), "PONG");
  EXPECT_EQ(proxy.stats().cut, 1U);
  server.kill9();
  refused = RedisClient::try_connect(proxy.address());
  EXPECT_TRUE(!refused || refused->command({"PING"}).starts_with("(lost)"));
}

TEST(RedisProxyKit, AStalledLinkIsSilentAndWhatWasSentPassesLater) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  RedisProxy proxy(server.address());
  RedisClient hasty(proxy.address(), std::chrono::milliseconds(50));
  RedisClient patient(proxy.address());
  proxy.stall(RedisProxy::Direction::ToClient);
  EXPECT_THAT(hasty.command({"INCR", "n"}), StartsWith("(lost)"));
  wait_until("the request has passed, only its reply is held back", [&server] { return server.command({"GET", "n"}) == "1"; });
  proxy.stall(RedisProxy::Direction::Both);
  patient.append({"INCR", "n"});
  patient.flush();
  const std::size_t before = proxy.stats().bytes_to_server;
  proxy.stall(RedisProxy::Direction::Both, false);
  EXPECT_EQ(patient.next(), "2");
  EXPECT_GT(proxy.stats().bytes_to_server, before);
}

TEST(RedisProxyKit, DelayAndLimitTakeTheirTime) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  RedisProxy proxy(server.address());
  RedisClient client(proxy.address());
  const auto took = [&client](const RedisClient::Arguments& arguments) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(client.command(arguments), testing::Not(StartsWith("(lost)")));
    return std::chrono::steady_clock::now() - begin;
  };
  proxy.delay(std::chrono::milliseconds(20));
  EXPECT_GE(took({"PING"}), std::chrono::milliseconds(40));
  proxy.delay(std::chrono::milliseconds(0));
  proxy.limit(100'000);
  EXPECT_GE(took({"SET", "a", std::string(10'000, 'x')}), std::chrono::milliseconds(80));
}

TEST(RedisProxyKit, ALostReplyIsOfARequestThatWasCarriedOut) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  for (const auto via : {RedisProxy::Via::Unix, RedisProxy::Via::Tcp}) {
    RedisProxy proxy(server.address(), via);
    server.command({"FLUSHALL"});
    proxy.lose_reply("INCRBY", 1);
    RedisClient client(proxy.address());
    EXPECT_EQ(client.command({"INCRBY", "n", "1"}), "1");
    client.append({"SET", "a", "1"});
    client.append({"INCRBY", "n", "10"});
    client.append({"SET", "b", "1"});
    std::string last;
    for (int i = 0; i < 3; ++i) last = client.next();
    EXPECT_THAT(last, StartsWith("(lost)"));
    EXPECT_EQ(server.command({"GET", "n"}), "11");
    EXPECT_EQ(RedisClient(proxy.address()).command({"INCRBY", "n", "1"}), "12") << "once only";

    proxy.lose_request("INCRBY");
    RedisClient other(proxy.address());
    EXPECT_THAT(other.command({"INCRBY", "n", "100"}), StartsWith("(lost)"));
    EXPECT_EQ(server.command({"GET", "n"}), "12");
    EXPECT_EQ(proxy.stats().lost, 2U);
  }
}

TEST(RedisProxyKit, ALossyLinkBreaksTheSameWayForTheSameSeed) {
  RONDO_NEEDS_REDIS();
  RedisServer server;
  const auto answered = [&server](std::uint64_t seed) {
    RedisProxy proxy(server.address());
    RedisClient client(proxy.address());
    proxy.lossy(0.05, seed);
    int count = 0;
    while (client.command({"PING"}) == "PONG") ++count;
    return count;
  };
  EXPECT_EQ(answered(1), answered(1));
  int sum = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) sum += answered(seed);
  EXPECT_GT(sum, 20);
  EXPECT_LT(sum, 1000);
}

/// These tests take seconds, so they are not among the quick ones.
TEST(RedisSentinelKitLinux, TheReplicaTakesOverWhenTheMasterDies) {
  RONDO_NEEDS_REDIS();
  SentinelGroup group;
  EXPECT_EQ(group.master_port(), group.first().port());
  EXPECT_EQ(group.first().command({"SET", "a", "1"}), "OK");
  EXPECT_EQ(group.first().command({"WAIT", "1", "10000"}), "1");
  EXPECT_THAT(group.second().command({"SET", "a", "2"}), StartsWith("(error) READONLY"));
  group.first().kill9();
  group.wait_for_master(group.second());
  EXPECT_EQ(group.second().command({"GET", "a"}), "1");
  EXPECT_EQ(group.second().command({"SET", "a", "2"}), "OK");
  group.rejoin(group.first(), group.second());
  EXPECT_EQ(group.first().command({"GET", "a"}), "2");
  EXPECT_EQ(group.first().list({"ROLE"}).front(), "slave");
}

TEST(RedisSentinelKitLinux, AFailoverCanBeOrderedWithOneSentinelDead) {
  RONDO_NEEDS_REDIS();
  SentinelGroup group;
  group.kill_sentinel(2);
  group.order_failover();
  group.wait_for_master(group.second());
  EXPECT_EQ(group.second().command({"SET", "a", "2"}), "OK");
}

}  // namespace
}  // namespace rondo::redis_kit
