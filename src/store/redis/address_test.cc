// The valid forms of a Redis address. An invalid one is refused with the part and the reason, never with the password. The tests compare
// tables of texts with their expected results.
#include "rondo/store/redis_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rondo/base/random.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RedisAddress parsed(std::string_view url) {
  const Result<RedisAddress> address = parse_redis_address(url);
  EXPECT_TRUE(address) << url << ": " << address.error().to_string();
  return address.value_or(RedisAddress{});
}

std::string refused(std::string_view url, StatusCode code = StatusCode::InvalidArgument) {
  const Result<RedisAddress> address = parse_redis_address(url);
  EXPECT_FALSE(address) << url;
  if (address) return "";
  EXPECT_EQ(address.error().code(), code) << url;
  return std::string{address.error().message()};
}

/// A file that is removed with the object.
class PasswordFile {
 public:
  explicit PasswordFile(std::string_view text) {
    static int count = 0;
    path = std::filesystem::temp_directory_path() / ("rondo-password-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::ofstream(path, std::ios::binary) << text;
  }
  ~PasswordFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

TEST(RedisAddress, EveryFormIsRead) {
  const RedisAddress plain;
  EXPECT_EQ(parsed("redis://"), plain);
  EXPECT_EQ(parsed("redis://127.0.0.1:6379/0"), plain);
  EXPECT_EQ(parsed("redis:///3"), (RedisAddress{.database = 3}));
  EXPECT_EQ(parsed("redis://db1:7000/15"), (RedisAddress{.host = "db1", .port = 7000, .database = 15}));
  EXPECT_EQ(parsed("redis://[::1]:7000"), (RedisAddress{.host = "::1", .port = 7000}));
  EXPECT_EQ(parsed("redis://[fe80::1%eth0]/1"), (RedisAddress{.host = "fe80::1%eth0", .database = 1}));
  EXPECT_EQ(parsed("redis://:secret@db1"), (RedisAddress{.host = "db1", .password = "secret"}));
  EXPECT_EQ(parsed("redis://admin:secret@db1/"), (RedisAddress{.host = "db1", .user = "admin", .password = "secret"}));
  EXPECT_EQ(parsed("unix:///run/redis.sock"), (RedisAddress{.unix_path = "/run/redis.sock"}));
  EXPECT_EQ(parsed("redis+unix:///run/redis.sock?db=4&user=a&password=b%26c"),
            (RedisAddress{.unix_path = "/run/redis.sock", .database = 4, .user = "a", .password = "b&c"}));
}

TEST(RedisAddress, TlsNamesItsFilesAndTheServersName) {
  EXPECT_EQ(parsed("rediss://db1"), (RedisAddress{.host = "db1", .tls = true}));
  EXPECT_EQ(parsed("rediss://db1:7443/2?ca=/c/ca.pem&cert=/c/me.pem&key=/c/me.key&name=redis.example"),
            (RedisAddress{.host = "db1",
                          .port = 7443,
                          .database = 2,
                          .tls = true,
                          .ca_file = "/c/ca.pem",
                          .cert_file = "/c/me.pem",
                          .key_file = "/c/me.key",
                          .server_name = "redis.example"}));
  EXPECT_THAT(refused("rediss://db1?cert=/c/me.pem"), HasSubstr("'cert' and 'key' belong together"));
}

TEST(RedisAddress, SentinelsAndTheirMaster) {
  RedisAddress wanted{.database = 2, .user = "u", .password = "p"};
  wanted.sentinels = {{"s1", 26379}, {"::1", 26380}, {"10.0.0.3", 5000}};
  wanted.sentinel_master = "my master";
  EXPECT_EQ(parsed("redis+sentinel://u:p@s1,[::1]:26380,10.0.0.3:5000/my%20master/2"), wanted);
  EXPECT_THAT(refused("redis+sentinel://s1"), HasSubstr("the master's name is missing"));
  EXPECT_THAT(refused("redis+sentinel:///m"), HasSubstr("no Sentinel is named"));
  for (const char* list : {"a,,b", "a,", ",a", ":26379", "a,:26379"}) {
    EXPECT_THAT(refused("redis+sentinel://" + std::string{list} + "/m"), HasSubstr("host is missing")) << list;
  }
  std::string many = "s";
  for (int i = 0; i < 64; ++i) many += ",s";
  EXPECT_THAT(refused("redis+sentinel://" + many + "/m"), HasSubstr("more than 64"));
}

TEST(RedisAddress, SentinelsHaveAUserAndAPasswordOfTheirOwnAndTlsIsForAll) {
  const PasswordFile master("master's\n");
  const PasswordFile theirs("theirs\n");
  const std::string files = "?password_file=" + master.path.string() + "&sentinel_password_file=" + theirs.path.string();
  const RedisAddress address =
      parsed("rediss+sentinel://app@s1,s2:5000/m/3" + files + "&sentinel_user=watcher&ca=/ca&cert=/c&key=/k&name=redis.example");
  RedisAddress wanted{.database = 3, .user = "app", .password = "master's", .tls = true, .ca_file = "/ca", .cert_file = "/c"};
  wanted.key_file = "/k";
  wanted.server_name = "redis.example";
  RedisAddress sentinel = wanted;
  wanted.host = "10.0.0.7";
  wanted.port = 7000;
  EXPECT_EQ(address.master("10.0.0.7", 7000), wanted);
  sentinel.host = "s2";
  sentinel.port = 5000;
  sentinel.database = 0;
  sentinel.user = "watcher";
  sentinel.password = "theirs";
  EXPECT_EQ(address.sentinel(1), sentinel);
  EXPECT_EQ(address.to_string(),
            "rediss+sentinel://app@s1:26379,s2:5000/m/3?sentinel_user=watcher&ca=/ca&cert=/c&key=/k&name=redis.example");

  const RedisAddress open = parsed("redis+sentinel://:p@s/m").sentinel(0);
  EXPECT_EQ(open, (RedisAddress{.host = "s", .port = 26379})) << "the master's password is not for the Sentinels";
  EXPECT_THAT(refused("redis+sentinel://s/m?sentinel_user=u"), HasSubstr("a sentinel_user without a sentinel_password_file"));
  EXPECT_THAT(refused("redis+sentinel://s/m?sentinel_password_file=/not/there", StatusCode::NotFound),
              AllOf(HasSubstr("sentinel_password_file"), HasSubstr("'/not/there'")));
  EXPECT_THAT(refused("redis+sentinel://s/m?ca=/ca"), AllOf(HasSubstr("sentinel_user"), HasSubstr("rediss+sentinel://")));
  EXPECT_THAT(refused("redis://h?sentinel_user=u"), HasSubstr("is not known"));
}

TEST(RedisAddress, PercentIsDecodedInEachPartAfterItWasCutOff) {
  EXPECT_EQ(parsed("redis://a%3ab:c%40d%2Fe@h%6Fst"), (RedisAddress{.host = "host", .user = "a:b", .password = "c@d/e"}));
  EXPECT_EQ(parsed("redis://:p@ss@host").password, "p@ss");
  EXPECT_EQ(parsed("unix:///a%3Fb").unix_path, "/a?b");
  for (const char* wrong : {"redis://:a%@h", "redis://:a%4@h", "redis://:a%zz@h", "redis://:a%00@h", "unix:///a%0", "redis://h%gg"}) {
    EXPECT_THAT(refused(wrong), HasSubstr("two hexadecimal digits")) << wrong;
  }
}

TEST(RedisAddress, AWrongPartIsNamed) {
  EXPECT_THAT(refused("db1:6379"), HasSubstr("begins with redis://"));
  EXPECT_THAT(refused(""), HasSubstr("begins with redis://"));
  EXPECT_THAT(refused("http://db1"), HasSubstr("begins with redis://"));
  for (const char* wrong :
       {"redis://h:0", "redis://h:65536", "redis://h:", "redis://h:12a", "redis://h:-1", "redis://[::1]:", "redis://h:+1"}) {
    EXPECT_THAT(refused(wrong), HasSubstr("the port is not a number from 1 to 65535")) << wrong;
  }
  EXPECT_THAT(refused("redis://::1:6379"), HasSubstr("brackets"));
  EXPECT_THAT(refused("redis://[::1"), HasSubstr("no ']'"));
  EXPECT_THAT(refused("redis://[::1]x"), HasSubstr("after ']'"));
  EXPECT_THAT(refused("redis://[db1]"), HasSubstr("IPv6"));
  for (const char* wrong :
       {"redis://h/x", "redis://h/-1", "redis://h/1/2", "redis://h/2147483648", "unix:///p?db=x", "redis+sentinel://s/m/x"}) {
    EXPECT_THAT(refused(wrong), HasSubstr("is not a number from 0 to 2147483647")) << wrong;
  }
  EXPECT_THAT(refused("unix://run/redis.sock"), HasSubstr("must begin with '/'"));
  EXPECT_THAT(refused("unix://"), HasSubstr("must begin with '/'"));
  EXPECT_THAT(refused("redis://h#1"), HasSubstr("%23"));
}

TEST(RedisAddress, AWrongParameterIsNamedWithTheRightOnes) {
  EXPECT_THAT(refused("redis://h?ca=/x"), AllOf(HasSubstr("parameter 1 after '?' is not known"), HasSubstr("rediss://")));
  EXPECT_THAT(refused("rediss://h?db=1"), AllOf(HasSubstr("parameter 1 after '?' is not known"), HasSubstr("ca, cert")));
  EXPECT_THAT(refused("unix:///p?base=1"), AllOf(HasSubstr("parameter 1 after '?' is not known"), HasSubstr("db, user")));
  EXPECT_THAT(refused("redis+sentinel://s/m?db=1"), HasSubstr("after the master's name"));
  EXPECT_THAT(refused("unix:///p?db=1&db=1"), HasSubstr("'db' is given twice"));
  EXPECT_THAT(refused("unix:///p?user=a&user=b&password=c"), HasSubstr("'user' is given twice"));
  EXPECT_THAT(refused("unix:///p?db"), HasSubstr("'db' has no value"));
  EXPECT_THAT(refused("unix:///p?db=1&=1"), HasSubstr("parameter 2 after '?' is not known"));
}

TEST(RedisAddress, ClusterIsRefusedWithTheReason) {
  EXPECT_THAT(refused("redis+cluster://a,b", StatusCode::Unimplemented),
              AllOf(HasSubstr("SELECT"), HasSubstr("slots"), HasSubstr("instances")));
}

TEST(RedisAddress, APasswordStandsInAFileToo) {
  const PasswordFile file("top secret\r\n");
  const std::string parameter = "password_file=" + file.path.string();
  EXPECT_EQ(parsed("redis://h?" + parameter).password, "top secret");
  EXPECT_EQ(parsed("unix:///p?user=a&" + parameter), (RedisAddress{.unix_path = "/p", .user = "a", .password = "top secret"}));
  EXPECT_EQ(parsed("rediss://admin@h?" + parameter), (RedisAddress{.host = "h", .user = "admin", .password = "top secret", .tls = true}));
  EXPECT_EQ(parsed("redis+sentinel://s/m?" + parameter).password, "top secret");

  EXPECT_THAT(refused("redis://:a@h?" + parameter), HasSubstr("both a password and a password_file"));
  EXPECT_THAT(refused("redis://h?" + parameter + "-gone", StatusCode::NotFound), AllOf(HasSubstr("password_file"), HasSubstr("-gone'")));
  EXPECT_THAT(refused("redis://h?password_file=/", StatusCode::InvalidArgument), HasSubstr("not a regular file"));
  const PasswordFile empty("\nsecond line");
  EXPECT_THAT(refused("redis://h?password_file=" + empty.path.string()), HasSubstr("is empty"));
  const PasswordFile long_one(std::string(4097, 'x'));
  EXPECT_THAT(refused("redis://h?password_file=" + long_one.path.string(), StatusCode::ResourceExhausted), HasSubstr("4096"));
}

TEST(RedisAddress, NoMessageRepeatsAPassword) {
  for (const char* wrong :
       {"redis://hushhush@h", "redis://u:hushhush", "redis://:hushhush@h:0", "redis://:hush/hushhush@h", "redis://:hushhush%@h",
        "unix:///p?password=x&hushhush", "redis://hushhush@h/x", "redis://u:@h?password=hushhush"}) {
    EXPECT_THAT(refused(wrong), Not(HasSubstr("hushhush"))) << wrong;
  }
  EXPECT_THAT(refused("redis://u@h"), HasSubstr("a user without a password"));
  EXPECT_THAT(refused("unix:///p?user=u"), HasSubstr("a user without a password"));
  EXPECT_THAT(refused("redis://u:@h"), HasSubstr("is empty"));
}

/// Takes valid addresses with a password, and removes, doubles or inserts a few characters, but never in the password itself.
TEST(RedisAddress, PropertyNoSlipOfTheKeyboardMakesAMessageRepeatThePassword) {
  constexpr std::string_view kMarks = ":@/?&=%#[],.x0 ";
  Random random(7);
  std::size_t wrong = 0;
  for (int round = 0; round < 20'000; ++round) {
    constexpr std::string_view kForms[] = {"redis://u:|@h:6379/0", "rediss://:|@h:1?ca=/c", "unix:///p?db=1&user=u&password=|",
                                           "redis+sentinel://u:|@a:1,b:2/m/0"};
    std::string url{kForms[random.below(std::size(kForms))]};
    for (std::uint64_t slips = 1 + random.below(3); slips > 0; --slips) {
      const std::size_t at = random.below(url.size());
      const char mark = kMarks[random.below(kMarks.size())];
      if (url[at] == '|' || random.below(3) == 0) {
        url.insert(at, 1, mark);
      } else if (random.below(2) == 0) {
        url.erase(at, 1);
      } else {
        url[at] = mark;
      }
    }
    url.replace(url.find('|'), 1, "hushhush");
    const Result<RedisAddress> address = parse_redis_address(url);
    const std::string said = address ? "" : std::string{address.error().message()};
    ASSERT_THAT(said, Not(HasSubstr("hushhush"))) << url;
    if (address && address->password.find("hushhush") != std::string::npos) {
      ASSERT_THAT(address->to_string(), Not(HasSubstr("hushhush"))) << url;
    }
    wrong += address ? 0U : 1U;
  }
  EXPECT_GT(wrong, 5'000U);
}

TEST(RedisAddress, TheTextForPeopleCanBeReadBackButForThePassword) {
  for (const char* url : {"redis://127.0.0.1:6379/0", "redis://[::1]:7000/3", "unix:///run/a%20b.sock?db=2",
                          "redis+sentinel://a:26379,[::1]:1/m/2", "rediss://h:1/0?ca=/c%26a&cert=/b&key=/k&name=n"}) {
    EXPECT_EQ(parsed(url).to_string(), url);
  }
  EXPECT_EQ(parsed("redis://u%40:hushhush@h/1").to_string(), "redis://u%40@h:6379/1");
  EXPECT_EQ(parsed("redis+sentinel://:hushhush@h/m").to_string(), "redis+sentinel://h:26379/m/0");
  EXPECT_EQ(parsed("unix:///p?user=u&password=hushhush").to_string(), "unix:///p?db=0&user=u");
}

}  // namespace
}  // namespace rondo
