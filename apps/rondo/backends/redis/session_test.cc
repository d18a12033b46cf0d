// RedisSession with a host name that has several addresses.
#include "backends/redis/session.h"

#include <gtest/gtest.h>

#include "store/redis/testing/lookup.h"
#include "store/redis/testing/server.h"

namespace rondo::cli {
namespace {

TEST(RedisSession, TriesEachAddressOfAName) {
  RONDO_NEEDS_REDIS();
  redis_kit::RedisServer server({.tcp = true});
  RedisAddress address = server.tcp_address();
  address.host = "both.test";
  RedisSession session(20s);
  const Status connected = session.connect(address);
  ASSERT_TRUE(connected.ok()) << connected.to_string();
  const Result<RedisAnswer> answer = session.ask({"PING"});
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->text, "PONG");
}

TEST(RedisSession, IsRefusedWhenNoneOfThemServes) {
  RONDO_NEEDS_REDIS();
  RedisAddress address;
  address.host = "both.test";
  address.port = redis_kit::free_port();
  RedisSession session(20s);
  const Instant begin = session.clock().now();
  EXPECT_EQ(session.connect(address).code(), StatusCode::Unavailable);
  EXPECT_LT(session.clock().now() - begin, 20s) << "at once, not when patience ends";
}

}  // namespace
}  // namespace rondo::cli
