// The test kit itself: a server that starts, stops, dies and comes back, and a link that can be broken on purpose. Each case is short; what
// is tested with the kit stands elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "store/redis/redis_server_kit.h"

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
  EXPECT_THAT(hasty.command({"PING"}), StartsWith("(lost)"));
  EXPECT_FALSE(hasty.connected());
  server.thaw();
  patient.append({"INCR", "n"});
  EXPECT_EQ(patient.next(), "1");
  EXPECT_EQ(patient.next(), "2");
  server.freeze();  // And it goes away frozen, too.
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

/// What the server answers to PING over TLS as that client; empty when it does not let us in.
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

}  // namespace
}  // namespace rondo::redis_kit
