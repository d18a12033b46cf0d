// The Status codes of error replies, with the texts of Redis 6 and 7. The replies are fed as the server sends them.
#include "store/redis/reply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

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

class LargeReply : public testing::Test {
 protected:
  /// Feeds an item with this many bytes, in pieces as a socket does.
  void feed_item(std::size_t size, char letter = 'x') {
    reader.feed("$" + std::to_string(size) + "\r\n");
    const std::string piece(1'000'000, letter);
    for (std::size_t left = size; left > 0;) {
      const std::size_t some = std::min(left, piece.size());
      left -= some;
      reader.feed(left == 0 ? piece.substr(0, some) + "\r\n" : piece.substr(0, some));
      if (left > 0) {
        EXPECT_EQ(reader.next().value(), nullptr);
      }
    }
  }
  ReplyReader reader;
};

/// A row with such a value is rejected. The connection was closed at each such answer, so nothing else of the database came through.
TEST_F(LargeReply, InPlaceOfAnItemBeyondTheLimitIsATextBeyondIt) {
  for (const std::size_t size : {limits::kValueBytes + 1, limits::kRedisItemBytes, limits::kRedisItemBytes + 1, std::size_t{68'000'000},
                                 std::size_t{99'999'999}, std::size_t{100'000'000}, std::size_t{100'000'001}, std::size_t{536'870'912}}) {
    reader.feed("*3\r\n$5\r\nfirst\r\n");
    feed_item(size);
    reader.feed("$4\r\nlast\r\n:7\r\n");
    const Result<const Reply*> reply = reader.next();
    ASSERT_TRUE(reply.has_value() && *reply != nullptr) << size;
    const std::span<const Reply> items = (*reply)->items();
    EXPECT_EQ(items[0].text(), "first");
    EXPECT_EQ(items[1].text().size(), size > limits::kRedisItemBytes ? limits::kValueBytes + 1 : size) << size;
    EXPECT_EQ(items[2].text(), "last") << size;
    EXPECT_EQ((*reader.next())->integer(), 7) << size << ": the next reply";
  }
}

TEST_F(LargeReply, TheLargestValueIsWhole) {
  feed_item(limits::kValueBytes);
  const Result<const Reply*> reply = reader.next();
  ASSERT_TRUE(reply.has_value() && *reply != nullptr);
  EXPECT_EQ((*reply)->text().size(), limits::kValueBytes);
  EXPECT_EQ((*reply)->text().find_first_not_of('x'), std::string_view::npos);
}

TEST_F(LargeReply, ItemsBeyondTheLimitOfAReplyAreTextsBeyondThatOfAValue) {
  constexpr std::size_t kSize = 60'000'000;
  reader.feed("*12\r\n");
  for (int item = 0; item < 12; ++item) feed_item(kSize);
  const Result<const Reply*> reply = reader.next();
  ASSERT_TRUE(reply.has_value() && *reply != nullptr);
  for (std::size_t item = 0; item < 12; ++item) {
    EXPECT_EQ((*reply)->items()[item].text().size(), item < limits::kRedisReplyBytes / kSize ? kSize : limits::kValueBytes + 1) << item;
  }
}

TEST_F(LargeReply, WhatNoServerSendsIsRefusedBeforeItIsComplete) {
  reader.feed("$5000000000\r\n");
  const std::string piece(1024 * 1024, 'x');
  std::string refused;
  for (int fed = 0; fed < 110 && refused.empty(); ++fed) {
    reader.feed(piece);
    const Result<const Reply*> reply = reader.next();
    if (!reply) refused = std::string{reply.error().message()};
  }
  EXPECT_EQ(refused, "Redis sent an item of more than 100000000 bytes");
}

}  // namespace
}  // namespace rondo::redis
