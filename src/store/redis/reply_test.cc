// What an error reply means for the caller, in the words of Redis 6 and 7. The replies are fed as the server sends them.
#include "store/redis/reply.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo::redis {
namespace {

Code code_of(const std::string& error) {
  ReplyReader reader;
  reader.feed("-" + error + "\r\n");
  const Result<const Reply*> reply = reader.next();
  EXPECT_TRUE(reply.has_value() && *reply != nullptr && (*reply)->is_error());
  const Status status = status_of(**reply, "a pop");
  EXPECT_EQ(status.message(), "a pop: " + error);
  return status.code();
}

TEST(RedisReply, AnErrorIsWhatItsFirstWordSays) {
  EXPECT_EQ(code_of("READONLY You can't write against a read only replica."), Code::Unavailable);
  EXPECT_EQ(code_of("LOADING Redis is loading the dataset in memory"), Code::Unavailable);
  EXPECT_EQ(code_of("OOM command not allowed when used memory > 'maxmemory'."), Code::ResourceExhausted);
  EXPECT_EQ(code_of("NOPERM this user has no permissions to run the 'eval' command"), Code::PermissionDenied);
  EXPECT_EQ(code_of("ERR unknown command 'READONLY or OOM'"), Code::Internal);
  EXPECT_EQ(code_of("ERR"), Code::Internal);
}

TEST(RedisReply, ARefusalWithinAScriptIsTheSameInRedis6And7) {
  EXPECT_EQ(code_of("READONLY You can't write against a read only replica. script: 5f0a, on @user_script:4."), Code::Unavailable);
  const std::string where = "ERR Error running script (call to f_5f0a): @user_script:4: ";
  EXPECT_EQ(code_of(where + "@user_script: 4: -READONLY You can't write against a read only replica."), Code::Unavailable);
  EXPECT_EQ(code_of(where + "-OOM command not allowed when used memory > 'maxmemory'."), Code::ResourceExhausted);
  EXPECT_EQ(code_of(where + "WRONGTYPE Operation against a key holding the wrong kind of value"), Code::FailedPrecondition);
  EXPECT_EQ(code_of(where + "attempt to index a nil value"), Code::Internal);
}

}  // namespace
}  // namespace rondo::redis
