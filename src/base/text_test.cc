// Bytes that JSON cannot represent are restored exactly. Method: a table of special cases and random bytes over many seeds.
#include "rondo/base/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace rondo {
namespace {

using namespace std::string_literals;

TEST(Text, OrdinaryTextStaysAsItIs) {
  for (const std::string text : {"Ethernet0:10.0.0.1", "", "Grüße €", "C:\\temp", "\\x", "\\xg0", "\\"}) {
    EXPECT_EQ(escape_text(text), text);
    EXPECT_EQ(unescape_text(text), text);
  }
}

TEST(Text, BytesThatJsonCannotCarryBecomeVisible) {
  EXPECT_EQ(escape_text("a\0b"s), "a\\x00b");
  EXPECT_EQ(escape_text("\xff"), "\\xff");
  EXPECT_EQ(escape_text("tab\there"), "tab\\x09here");
  EXPECT_EQ(escape_text("\xc2\x9b[2J"), "\\xc2\\x9b[2J") << "a terminal would obey it";
  EXPECT_EQ(escape_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate is not UTF-8";
  EXPECT_EQ(escape_text("\xc0\xaf"), "\\xc0\\xaf") << "an overlong form is not UTF-8";
  EXPECT_EQ(escape_text("\xe2\x82"), "\\xe2\\x82") << "a sequence cut short is not UTF-8";
}

TEST(Text, AnEscapeInTheInputIsItselfEscaped) {
  EXPECT_EQ(escape_text("\\x41"), "\\x5cx41");
  EXPECT_EQ(unescape_text("\\x5cx41"), "\\x41");
  EXPECT_EQ(unescape_text("\\x41\\xFf"), "A\xff");
}

TEST(Text, VisibleTextLeavesEscapesAlone) {
  EXPECT_EQ(visible_text("no row 'a\\x00b'"), "no row 'a\\x00b'");
  EXPECT_EQ(visible_text("\x1b[31m\xff"), "\\x1b[31m\\xff");
}

TEST(Text, BidirectionalControlsAndCharactersThatNobodySeesAreEscaped) {
  EXPECT_EQ(escape_text("a\u202eb"), "a\\xe2\\x80\\xaeb");
  for (const std::string hidden : {"\u061c", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028",     "\u2029",    "\u202a",
                                   "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\u00ad", "\u034f",     "\u3164",    "\U000e0041",
                                   "\u0080", "\u009f", "\ufdd0", "\ufdef", "\ufffe", "\uffff", "\U0001fffe", "\U0010ffff"}) {
    const std::string text = "key" + hidden;
    EXPECT_EQ(escape_text(text).size(), 3 + 4 * hidden.size()) << escape_text(text);
    EXPECT_EQ(visible_text(text), escape_text(text));
    EXPECT_EQ(unescape_text(escape_text(text)), text);
    EXPECT_EQ(safe_length(text), 3U);
  }
  for (const std::string seen :
       {"\u00a0", "\u00ae", "\u061b", "\u061d", "\u200a", "\u2010", "\u2027", "\u202f", "\u2070", "\ufffd", "\U0001f600", "\U0010fffd"}) {
    EXPECT_EQ(escape_text(seen), seen);
    EXPECT_EQ(safe_length(seen), seen.size());
  }
}

TEST(Text, ACombiningMarkIsEscapedUnlessACharacterIsBeforeIt) {
  const std::string escaped = "\\xcc\\x81";
  for (const auto& [text, shown] : {std::pair<std::string, std::string>{"\u0301x", escaped + "x"},
                                    {"\u0301\u0301", escaped + escaped},
                                    {"e\u0301\u0301", "e\u0301\u0301"},
                                    {"\n\u0301", "\\x0a" + escaped},
                                    {"\u20dd", "\\xe2\\x83\\x9d"},
                                    {"\u093e", "\\xe0\\xa4\\xbe"},
                                    {"\u0915\u093e", "\u0915\u093e"}}) {
    EXPECT_EQ(escape_text(text), shown);
    EXPECT_EQ(visible_text(text), shown);
    EXPECT_EQ(visible_text(shown), shown);
    EXPECT_EQ(unescape_text(shown), text);
    EXPECT_EQ(safe_length(text) == text.size(), shown == text) << shown;
  }
}

TEST(Text, MoreCharactersAreEscapedWhereTheCallerAsks) {
  EXPECT_EQ(escape_text("a|b\\c\n", "|\\"), "a\\x7cb\\x5cc\\x0a");
  EXPECT_EQ(unescape_text(escape_text("a|b\\c\n", "|\\")), "a|b\\c\n");
}

TEST(Text, EveryByteStringComesBack) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    static constexpr char kAlphabet[] = "\\x0aFf41\x00\xff\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\n";
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) byte = kAlphabet[random() % (sizeof kAlphabet - 1)];
    const std::string text = escape_text(bytes);
    ASSERT_EQ(unescape_text(text), bytes) << "seed " << seed;
    ASSERT_EQ(text.find('\0'), std::string::npos) << "seed " << seed;
  }
}

TEST(Text, ALongTextIsCutBetweenTwoCharacters) {
  EXPECT_EQ(shorten("abc", 3), "abc");
  EXPECT_EQ(shorten("abcd", 3), "abc...");
  EXPECT_EQ(shorten("ab\u20acd", 3), "ab...");
  EXPECT_EQ(shorten("ab\u20acd", 4), "ab...");
  EXPECT_EQ(shorten("ab\u20acd", 5), "ab\u20ac...");
  EXPECT_EQ(shorten("\U0001f600", 3), "...");
  EXPECT_EQ(shorten(std::string(9, '\x80'), 5), std::string(5, '\x80') + "...") << "it is not UTF-8";
}

}  // namespace
}  // namespace rondo
