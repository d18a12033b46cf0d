// Access to Sentinels: they have their own password, ACL user or TLS, and the master's secrets are not sent to them. A real Sentinel and a
// real master each have their own secrets. The store connects with the right ones and reports what is wrong with others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/redis/testing/sentinel.h"
#include "store/redis/testing/worlds.h"

namespace rondo::redis {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RedisSentinelAccess : public testing::Test {
 protected:
  void SetUp() override { RONDO_NEEDS_REDIS(); }

  /// Starts a master with a password, and a Sentinel that watches it.
  void start(const std::string& settings, bool tls = false) {
    master = std::make_unique<redis_kit::RedisServer>(redis_kit::RedisServerOptions{.tcp = !tls, .tls = tls, .password = "of-the-master"});
    const std::uint16_t port = tls ? master->tls_address().port : master->port();
    std::string tls_settings;
    if (tls) {
      const redis_kit::TlsFiles& files = *master->certificates();
      tls_settings = "tls-replication yes\ntls-cert-file " + files.server_cert_file() + "\ntls-key-file " + files.server_key_file() +
                     "\ntls-ca-cert-file " + files.ca_file() + "\n";
    }
    sentinel.start(
        folder, "sentinel",
        tls_settings + settings + "sentinel monitor m 127.0.0.1 " + std::to_string(port) + " 1\nsentinel auth-pass m of-the-master\n", tls);
    address = tls ? master->tls_address() : master->tcp_address();
    address.host = "nowhere.invalid";  // The Sentinels name the master's host.
    address.sentinels = {{"127.0.0.1", sentinel.port()}};
    address.sentinel_master = "m";
  }
  static bool comes_up(StoreDriver& driver) {
    return driver.run_until([&driver] { return driver.store().health().ok(); });
  }
  /// Why the store does not connect.
  static std::string trouble(const RedisAddress& address) {
    StoreDriver driver({.address = address});
    std::string said;
    driver.run_until([&] {
      said = driver.store().health().to_string();
      return driver.store().health().ok() || said.find("asking the Sentinels") == std::string::npos;
    });
    return said;
  }

  redis_kit::TempFolder folder;
  std::unique_ptr<redis_kit::RedisServer> master;
  redis_kit::SentinelProcess sentinel;
  RedisAddress address;
};

TEST_F(RedisSentinelAccess, APasswordOfTheSentinelsIsGivenToThemAndTheMastersToTheMaster) {
  start("requirepass theirs\n");
  EXPECT_THAT(trouble(address), AllOf(HasSubstr("NOAUTH"), HasSubstr(std::to_string(sentinel.port()))));
  address.sentinel_password = "of-the-master";
  EXPECT_THAT(trouble(address), HasSubstr("WRONGPASS"));
  address.sentinel_password = "theirs";
  StoreDriver driver({.address = address});
  EXPECT_TRUE(comes_up(driver)) << driver.store().health().to_string();
}

TEST_F(RedisSentinelAccess, AUserOfTheSentinelsNeedsTheRightToAskForTheMaster) {
  start("user watcher on >theirs &* +ping +client|id +info +sentinel|get-master-addr-by-name\nuser default off\n");
  address.sentinel_user = "watcher";
  address.sentinel_password = "theirs";
  StoreDriver driver({.address = address});
  EXPECT_TRUE(comes_up(driver)) << driver.store().health().to_string();
  address.sentinel_user = "stranger";
  EXPECT_THAT(trouble(address), HasSubstr("WRONGPASS"));
}

TEST_F(RedisSentinelAccess, TlsIsSpokenWithTheSentinelsAndWithTheMaster) {
  start("requirepass theirs\n", true);
  address.sentinel_password = "theirs";
  StoreDriver driver({.address = address});
  EXPECT_TRUE(comes_up(driver)) << driver.store().health().to_string();
  RedisAddress careless = address;
  careless.ca_file = master->certificates()->stranger_cert_file();
  EXPECT_THAT(trouble(careless), HasSubstr("TLS"));
}

TEST_F(RedisSentinelAccess, WithoutSecretsASentinelIsAskedWithoutAny) {
  start("");
  StoreDriver driver({.address = address});
  EXPECT_TRUE(comes_up(driver)) << driver.store().health().to_string();
}

}  // namespace
}  // namespace rondo::redis
