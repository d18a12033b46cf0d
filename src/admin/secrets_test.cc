// Which texts are hidden and which stay: a table.
#include "admin/secrets.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rondo {
namespace {

TEST(Secrets, PasswordsKeysAndTokensAreHiddenAndTheRestStays) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", ""},
      {"redis://10.0.0.1:6379/0", "redis://10.0.0.1:6379/0"},
      {"redis://user:pa55@10.0.0.1:6379/0", "redis://user:***@10.0.0.1:6379/0"},
      {"redis://:pa55@10.0.0.1", "redis://:***@10.0.0.1"},
      {"https://ghp_abc@host/x", "https://***@host/x"},
      {"redis://user:p@55@host", "redis://user:***@host"},
      {"why=\"connect to redis://u:p@h failed\" x=1", "why=\"connect to redis://u:***@h failed\" x=1"},
      {"unix:///run/redis.sock?db=3&password=geheim", "unix:///run/redis.sock?db=3&password=***"},
      {"unix:///s?PASSWORD=geheim&db=3", "unix:///s?PASSWORD=***&db=3"},
      {"?access_token=abc", "?access_token=***"},
      {"redis://user:pa,ss@host", "redis://user:***@host"},
      {"redis://user:p&a;s's@host/0", "redis://user:***@host/0"},
      {"redis+sentinel://a:1,b:2/MASTER", "redis+sentinel://a:1,b:2/MASTER"},
      {"redis://a:1,redis://u:p@b", "redis://a:1,redis://u:***@b"},
      {"unix:///s?password=pa,s;s'&db=3", "unix:///s?password=***&db=3"},
      {"api-key=abc", "api-key=***"},
      {"client_secret=\"two words\" done=1", "client_secret=\"***\" done=1"},
      {"?password_file=/etc/rondo/password", "?password_file=/etc/rondo/password"},
      {"mail a@b and 10:20@30", "mail a@b and 10:20@30"},
      {"password=", "password="},
      {"a://b://c:d@e", "a://b://c:***@e"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(hide_secrets(text), expected) << text;
}

}  // namespace
}  // namespace rondo
