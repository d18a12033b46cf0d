// The Status codes of error replies, with the texts of Redis 6 and 7. The replies are fed as the server sends them.
#include "store/redis/reply.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "rondo/store/redis_limits.h"

namespace rondo::redis {
namespace {

StatusCode code_of(const std::string& error) {
  ReplyReader reader;
  reader.feed("-" + error + "\r\n");
  const Result<const Reply*> reply = reader.next();
  EXPECT_TRUE(reply.has_value() && *reply != nullptr && (*reply)->is_error());
  const Status status = status_of(**reply, "a pop");
  EXPECT_EQ(status.message(), "a pop: " + error);
  return status.code();
}

TEST(RedisReply, AnErrorIsWhatItsFirstWordSays) {
  EXPECT_EQ(code_of("READONLY You can't write against a read only replica."), StatusCode::Unavailable);
  EXPECT_EQ(code_of("LOADING Redis is loading the dataset in memory"), StatusCode::Unavailable);
  EXPECT_EQ(code_of("OOM command not allowed when used memory > 'maxmemory'."), StatusCode::ResourceExhausted);
  EXPECT_EQ(code_of("NOPERM this user has no permissions to run the 'eval' command"), StatusCode::PermissionDenied);
  EXPECT_EQ(code_of("ERR unknown command 'READONLY or OOM'"), StatusCode::Internal);
  EXPECT_EQ(code_of("ERR"), StatusCode::Internal);
}

TEST(RedisReply, ARefusalWithinAScriptIsTheSameInRedis6And7) {
  EXPECT_EQ(code_of("READONLY You can't write against a read only replica. script: 5f0a, on @user_script:4."), StatusCode::Unavailable);
  const std::string where = "ERR Error running script (call to f_5f0a): @user_script:4: ";
  EXPECT_EQ(code_of(where + "@user_script: 4: -READONLY You can't write against a read only replica."), StatusCode::Unavailable);
  EXPECT_EQ(code_of(where + "-OOM command not allowed when used memory > 'maxmemory'."), StatusCode::ResourceExhausted);
  EXPECT_EQ(code_of(where + "WRONGTYPE Operation against a key holding the wrong kind of value"), StatusCode::FailedPrecondition);
  EXPECT_EQ(code_of(where + "attempt to index a nil value"), StatusCode::Internal);
}

TEST(RedisReply, ItemsOfAListAreThereWhenAllHaveCome) {
  ReplyReader reader;
  reader.feed("*3\r\n$1\r\na\r\n*2\r\n:7\r\n$-1\r\n");
  ASSERT_TRUE(reader.next().has_value());
  EXPECT_EQ(*reader.next(), nullptr);
  reader.feed("+b\r\n");
  const Result<const Reply*> reply = reader.next();
  ASSERT_TRUE(reply.has_value() && *reply != nullptr);
  ASSERT_EQ((*reply)->items().size(), 3U);
  EXPECT_EQ((*reply)->items()[0].text(), "a");
  ASSERT_EQ((*reply)->items()[1].items().size(), 2U);
  EXPECT_EQ((*reply)->items()[1].items()[0].integer(), 7);
  EXPECT_TRUE((*reply)->items()[1].items()[1].is_nil());
  EXPECT_EQ((*reply)->items()[2].text(), "b");
}

// Announcing a long list costs the peer a few bytes; waiting for it must not cost more.
TEST(RedisReply, AListBeyondTheLimitIsRefusedAndOneAtTheLimitTakesNoMemoryBeforeItComes) {
  const auto resident_kib = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0L;
  };
  ReplyReader reader;
  const long before = resident_kib();
  for (int depth = 0; depth < 5; ++depth) reader.feed("*" + std::to_string(limits::kRedisListItems) + "\r\n");
  const Result<const Reply*> waits = reader.next();
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(*waits, nullptr);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // The shadow memory of a sanitizer would be counted, too.
  EXPECT_LT(resident_kib() - before, 16 * 1024);
#else
  static_cast<void>(before);
#endif
  reader.reset();
  reader.feed("*" + std::to_string(limits::kRedisListItems + 1) + "\r\n:1\r\n");
  const Result<const Reply*> refused = reader.next();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::DataLoss);
  EXPECT_EQ(refused.error().message(), "Redis sent a list of 4194305 items, above 4194304");
  reader.reset();
  reader.feed(":5\r\n");
  EXPECT_EQ((*reader.next())->integer(), 5) << "a new connection has a new reader";
}

TEST(RedisReply, AnItemOrAReplyBeyondTheLimitIsRefusedBeforeItIsComplete) {
  const std::string piece(1024 * 1024, 'x');
  const auto feed_until_refused = [&](ReplyReader& reader, std::size_t most) {
    for (std::size_t fed = 0; fed < most; fed += piece.size()) {
      reader.feed(piece);
      const Result<const Reply*> reply = reader.next();
      if (!reply) return std::string{reply.error().message()};
    }
    return std::string{};
  };
  ReplyReader reader;
  reader.feed("$500000000\r\n");
  EXPECT_EQ(feed_until_refused(reader, limits::kRedisItemBytes + 2 * piece.size()), "Redis sent an item of more than 67174400 bytes");
  reader.reset();
  reader.feed("$" + std::to_string(limits::kValueBytes) + "\r\n");
  EXPECT_EQ(feed_until_refused(reader, limits::kValueBytes), "");
  reader.feed("\r\n");
  EXPECT_EQ((*reader.next())->text().size(), limits::kValueBytes) << "the largest value";
  reader.reset();
  reader.feed("*2000\r\n");
  std::string refused;
  for (std::size_t items = 0; items < 2000 && refused.empty(); ++items) {
    reader.feed("$" + std::to_string(piece.size()) + "\r\n");
    reader.feed(piece);
    reader.feed("\r\n");
    const Result<const Reply*> reply = reader.next();
    if (!reply) refused = std::string{reply.error().message()};
  }
  EXPECT_EQ(refused, "Redis sent a reply of more than 536870912 bytes");
}

}  // namespace
}  // namespace rondo::redis
