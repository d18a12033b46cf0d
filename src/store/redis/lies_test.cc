// A server that sends wrong answers: an answer that does not fit the request closes the connection with the reason, and has no other
// effect. When the server is honest again, the store recovers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/redis/testing/lying_server.h"
#include "store/redis/testing/worlds.h"

namespace rondo::redis {
namespace {

using testing::HasSubstr;

/// A store with a table of each kind and a consumer for each, on a server that was honest until now.
class LyingServer : public testing::Test {
 protected:
  void SetUp() override {
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = server_.address();
    options.connect_timeout = options.answer_timeout = 1s;
    options.backoff_low = 1ms;
    options.backoff_high = 5ms;
    options.lease = kShortestRedisLease;
    driver_ = std::make_unique<StoreDriver>(options);
    for (const auto& [table, kind] : kTables) {
      ASSERT_TRUE(store().declare({.name = table, .kind = kind}).ok());
      consumers_.push_back(std::move(store().subscribe(table, {}).value()));
    }
    ASSERT_TRUE(is_well_soon());
  }
  RedisStore& store() noexcept { return driver_->store(); }
  bool is_well_soon() {
    return driver_->run_until([this] { return store().health().ok() && store().unanswered() == 0; });
  }
  /// Makes a call of each kind.
  void use() {
    for (const auto& [table, kind] : kTables) {
      static_cast<void>(
          store().write(table, kind == TableKind::Channel ? Change::event("verb", "key", {}) : Change::set("key", {{"n", "1"}})));
      if (kind == TableKind::Staged || kind == TableKind::Watched) {
        static_cast<void>(store().write(table, Change::remove("other")));
        store().get(table, "key", [](const Result<Record>&) {});
        store().scan(table, "", 10, [](const Result<RowPage>&) {});
        store().scan_written(table, "", 10, [](const Result<RowPage>&) {});
      }
    }
    std::vector<Change> out;
    for (const auto& consumer : consumers_) consumer->take(100, out);
  }
  void use_while_it_lies() {
    const std::uint64_t told = server_.lies_told();
    EXPECT_TRUE(driver_->run_until([&] {
      use();
      return server_.lies_told() > told + 4;
    }));
    driver_->scheduler().run_until_idle();
  }

  static inline const std::vector<std::pair<std::string, TableKind>> kTables{
      {"T", TableKind::Staged}, {"W", TableKind::Watched}, {"Q", TableKind::Queue}, {"C", TableKind::Channel}};
  redis_kit::LyingRedis server_;
  std::unique_ptr<StoreDriver> driver_;
  std::vector<std::unique_ptr<Subscription>> consumers_;
};

/// The answers to PING kept the connection, and the store waited without a limit.
TEST(SilentServer, ASubscriptionThatIsNotConfirmedIsTriedAgain) {
  for (const int swallowed : {1, 2}) {  // That for invalidations, and that of the table, too.
    redis_kit::LyingRedis server;
    server.swallow_subscriptions(swallowed);
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = server.address();
    options.connect_timeout = options.answer_timeout = 1s;
    options.backoff_low = options.backoff_high = 1ms;
    options.lease = kShortestRedisLease;
    StoreDriver driver{options};
    ASSERT_TRUE(driver.store().declare({.name = "T", .kind = TableKind::Staged}).ok());
    const auto consumer = driver.store().subscribe("T", {}).value();
    ASSERT_TRUE(driver.run_until([&] { return driver.store().health().code() == StatusCode::Unavailable; }));
    EXPECT_TRUE(driver.run_until([&] { return driver.store().health().ok(); })) << driver.store().health().to_string();
  }
}

TEST_F(LyingServer, OneLieToEverythingIsSurvived) {
  for (const std::string& lie : redis_kit::LyingRedis::lies()) {
    SCOPED_TRACE(lie);
    server_.lie(lie, 1);
    use_while_it_lies();
    server_.be_honest();
    ASSERT_TRUE(is_well_soon()) << store().health().to_string();
  }
}

TEST_F(LyingServer, LiesAmongHonestAnswersAreSurvivedFuzz) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    server_.lie({}, seed);
    use_while_it_lies();
    server_.be_honest();
    ASSERT_TRUE(is_well_soon()) << store().health().to_string();
  }
}

TEST_F(LyingServer, HealthSaysWhatCameAndWhatWasDue) {
  server_.lie("*0\r\n", 1);
  std::string trouble;
  EXPECT_TRUE(driver_->run_until([&] {
    use();
    trouble = store().health().to_string();
    return trouble.find("where") != std::string::npos;
  }));
  EXPECT_THAT(trouble, HasSubstr("the server answered a list of 0 where"));
}

/// Four connections kept 500 MB each.
TEST_F(LyingServer, AnAnswerBeyondTheLimitIsRefusedWithTheCommandAndTheLimit) {
  server_.lie("*4194305\r\n", 1);
  std::string trouble;
  EXPECT_TRUE(driver_->run_until([&] {
    use();
    trouble = store().health().to_string();
    return trouble.find("the answer to ") != std::string::npos;
  })) << trouble;
  EXPECT_THAT(trouble, HasSubstr(server_.address().to_string()));
  EXPECT_THAT(trouble, HasSubstr("Redis sent a list of 4194305 items, above 4194304"));
}

class EndlessScan : public testing::TestWithParam<TableKind> {};

/// The keys may also repeat.
TEST_P(EndlessScan, StopsTheReadingAndIsNamedUntilTheConnectionComesBack) {
  redis_kit::LyingRedis server;
  server.scan_without_end(true);
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = server.address();
  options.connect_timeout = options.answer_timeout = 1s;
  options.backoff_low = 1ms;
  options.backoff_high = 5ms;
  options.scan_keys_max = 1000;
  StoreDriver driver(options);
  ASSERT_TRUE(driver.store().declare({.name = "T", .kind = GetParam()}).ok());
  const auto consumer = std::move(driver.store().subscribe("T", {}).value());
  std::vector<Change> out;
  const auto trouble = [&] {
    consumer->take(100, out);
    return driver.store().health().to_string();
  };
  EXPECT_TRUE(driver.run_until([&] { return trouble().find("reading table 'T' stopped") != std::string::npos; })) << trouble();
  EXPECT_THAT(trouble(), HasSubstr("1002 keys in 501 pages, above the limit of 1000 keys"));
  EXPECT_FALSE(consumer->caught_up());
  server.scan_without_end(false);
  server.lie("?\r\n", 1);
  EXPECT_TRUE(driver.run_until([&] { return server.lies_told() > 0; }));
  server.be_honest();
  EXPECT_TRUE(driver.run_until([&] { return trouble() == "ok" && consumer->caught_up(); })) << trouble();
}

TEST(EndlessScanOfKeysWithoutRows, EndsTheCallersScan) {
  redis_kit::LyingRedis server;
  server.scan_without_end(true);
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = server.address();
  options.scan_keys_max = 1000;
  StoreDriver driver(options);
  ASSERT_TRUE(driver.store().declare({.name = "T"}).ok());
  ASSERT_TRUE(driver.run_until([&] { return driver.store().health().ok(); }));
  std::string told;
  driver.store().scan("T", "", 10, [&told](const Result<RowPage>& page) { told = page ? "a page" : page.error().to_string(); });
  EXPECT_TRUE(driver.run_until([&] { return !told.empty(); }));
  EXPECT_THAT(told, HasSubstr("reading table 'T' stopped"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, EndlessScan, testing::Values(TableKind::Staged, TableKind::Watched),
                         [](const auto& kind) { return std::string{kind.param == TableKind::Staged ? "Staged" : "Watched"}; });

}  // namespace
}  // namespace rondo::redis
