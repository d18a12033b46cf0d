// What a log has of a change: bounded, on one line, without secrets.
#include "commands/change_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo::commands {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ChangeText, HasTheFieldsThatDiffer) {
  const ChangeText text = change_text({{{"same", "1"}, {"gone", "2"}, {"other", "3"}}}, {{{"same", "1"}, {"other", "4"}, {"new", "5"}}});
  EXPECT_EQ(text.before, "gone=2 other=3");
  EXPECT_EQ(text.after, "new=5 other=4");
  EXPECT_EQ(change_text({{{"a", "1"}}}, {{{"a", "1"}}}).before, "");
  EXPECT_EQ(change_text({}, {}).after, "(none)");
}

TEST(ChangeText, HidesSecrets) {
  const ChangeText text = change_text({}, {{{"api_token", "abc def"}, {"url", "redis://u:pw@h:1"}, {"args", "password=pw x"}}});
  EXPECT_EQ(text.after, "api_token=*** args=\"password=*** x\" url=redis://u:***@h:1");
}

TEST(ChangeText, StaysOnALineAndCannotLookLikeAnotherField) {
  const ChangeText text = change_text({}, {{{"a b", "1 mtu=2\n\"x"}, {"c\x1b", ""}}});
  EXPECT_EQ(text.after, R"(a\x20b="1 mtu=2\x0a\x22x" c\x1b="")");
}

TEST(ChangeText, HasABound) {
  std::map<std::string, std::string> large;
  for (int i = 0; i < 100; ++i) large["field" + std::to_string(100 + i)] = std::string(10'000, 'x');
  const std::string text = change_text({}, large).after;
  EXPECT_LT(text.size(), 260U);
  EXPECT_THAT(text, AllOf(HasSubstr("field100=xxx"), HasSubstr("... and "), HasSubstr(" more"), Not(HasSubstr("field199"))));
}

TEST(ChangeText, FollowsTheChangesOfARow) {
  const std::vector<Field> fields{{"x", "2"}};
  const Change set = Change::set("a", std::span<const Field>{fields});
  const FieldValues before{{{"x", "1"}, {"y", "1"}}};
  EXPECT_EQ(change_text(before, values_after(before, {set})).after, "x=2");
  EXPECT_EQ(change_text(before, values_after(before, {Change::remove("a"), set})).before, "x=1 y=1");
  EXPECT_EQ(values_after(before, {Change::remove("a")}), std::nullopt);
}

}  // namespace
}  // namespace rondo::commands
