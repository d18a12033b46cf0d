// Names with several addresses, and names whose lookup does not end. See lookup.h for the names.
#include "store/redis/resolver.h"

#include <gtest/gtest.h>

#include "store/redis/testing/lookup.h"
#include "store/redis/testing/worlds.h"

namespace rondo::redis {
namespace {

std::string answer_of(Resolver& resolver) {
  const auto answer = resolver.answer();
  return !answer ? answer.error().to_string() : answer->value_or("(none yet)");
}

TEST(Resolver, AnAddressThatDoesNotServeIsFollowedByTheNext) {
  Resolver resolver;
  resolver.ask("both.test");
  EXPECT_EQ(resolver.addresses(), 1U) << "not known yet";
  EXPECT_EQ(answer_of(resolver), "::1");
  EXPECT_EQ(resolver.addresses(), 2U);
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
  resolver.next();
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "127.0.0.1");
  resolver.next();
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
}

TEST(Resolver, AnAnswerIsAboutTheHostThatWasAskedLast) {
  Resolver resolver;
  resolver.ask("never.test");
  EXPECT_EQ(answer_of(resolver), "(none yet)");
  resolver.ask("both.test");
  EXPECT_EQ(answer_of(resolver), "::1");
  resolver.ask("192.0.2.1");
  EXPECT_EQ(answer_of(resolver), "192.0.2.1");
  resolver.ask("never.test");
  EXPECT_EQ(answer_of(resolver), "(none yet)");
}

TEST(RedisResolver, AServerBehindTheSecondAddressOfANameIsFound) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server({.tcp = true});
  RedisStoreOptions options;
  options.lease = 0s;
  options.address = server.tcp_address();
  options.address.host = "both.test";
  StoreDriver driver{options};
  EXPECT_TRUE(driver.run_until([&] { return driver.store().health().ok(); })) << driver.store().health().to_string();
}

}  // namespace
}  // namespace rondo::redis
