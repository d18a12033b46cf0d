// KeyPattern against a plain recursive matcher, over many short keys and patterns of few letters; and the worst case is fast too.
#include "admin/key_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rondo/admin/limits.h"
#include "rondo/base/random.h"

namespace rondo {
namespace {

bool matches(std::string_view pattern, std::string_view key) {
  if (pattern.empty()) return key.empty();
  if (pattern.front() == '*') return matches(pattern.substr(1), key) || (!key.empty() && matches(pattern, key.substr(1)));
  return !key.empty() && (pattern.front() == '?' || pattern.front() == key.front()) && matches(pattern.substr(1), key.substr(1));
}

TEST(KeyPattern, StarsQuestionMarksAndAllElse) {
  EXPECT_TRUE(KeyPattern{"Ethernet*"}.matches("Ethernet0"));
  EXPECT_FALSE(KeyPattern{"Ethernet*"}.matches("xEthernet0")) << "over the whole key";
  EXPECT_TRUE(KeyPattern{"10.?.*/24"}.matches("10.1.0.0/24"));
  EXPECT_TRUE(KeyPattern{"[a]\\"}.matches("[a]\\")) << "no other character is special";
  EXPECT_TRUE(KeyPattern{std::string("a\0*", 3)}.matches(std::string_view("a\0b", 3)));
  EXPECT_TRUE(KeyPattern{""}.matches(""));
  EXPECT_FALSE(KeyPattern{""}.matches("a"));
}

TEST(KeyPattern, AgreesWithAPlainMatcherProperty) {
  Random random(1);
  const auto text = [&random](std::string_view letters) {
    std::string out;
    for (std::uint64_t left = random.below(8); left > 0; --left) out += letters[random.below(letters.size())];
    return out;
  };
  int agreed = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string pattern = text("ab*?");
    const std::string key = text("ab");
    ASSERT_EQ(KeyPattern{pattern}.matches(key), matches(pattern, key)) << "'" << pattern << "' and '" << key << "'";
    agreed += matches(pattern, key);
  }
  EXPECT_GT(agreed, 1000) << "both answers came";
}

TEST(KeyPattern, ManyStarsDoNotMultiplyTheWork) {
  std::string pattern;
  for (std::size_t i = 0; i < limits::kPatternBytes / 2; ++i) pattern += "*a";
  EXPECT_FALSE(KeyPattern{pattern + "b"}.matches(std::string(64 * 1024, 'a')));
  EXPECT_TRUE(KeyPattern{pattern}.matches(std::string(64 * 1024, 'a')));
}

}  // namespace
}  // namespace rondo
