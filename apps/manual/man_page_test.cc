// Manual pages: the texts of a description are shown unchanged, whatever roff syntax they contain. The tests in tests/command_line render
// the pages of the real programs.
#include "manual/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo::manual {
namespace {

using testing::HasSubstr;
using testing::Not;

Program small() {
  return {.name = "tool",
          .manual_section = 8,
          .summary = "does it",
          .description = "First.\n\n.SH is not a heading here, \\n neither, and it's 'fine'.",
          .options = {{.name = "--count", .value = "N", .help = "So many", .word = Word::Number, .fallback = "3"}},
          .commands = {{.name = "go",
                        .help = "Goes",
                        .arguments = {{.name = "WHERE", .help = "To"}, {.name = "AND", .help = "", .required = false, .many = true}},
                        .options = {{.name = "--how", .value = "HOW", .help = "So", .choices = {"this", "that"}},
                                    {.name = "--soon", .value = "S", .help = "Soon", .fallback = "3", .value_optional = true}}},
                       {.name = "secret-door", .help = "For programs", .hidden = true}},
          .exit_codes = {{"0", "done"}},
          .see_also = {"other(1)", "more(5)"}};
}

TEST(ManPage, HasItsSectionsInOrder) {
  const std::string page = man_page(small(), "1.2");
  std::size_t at = 0;
  for (const char* const heading : {".TH \"TOOL\" \"8\"", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH COMMANDS",
                                    ".SH \"EXIT STATUS\"", ".SH \"SEE ALSO\""}) {
    const std::size_t next = page.find(heading, at);
    ASSERT_NE(next, std::string::npos) << heading;
    at = next;
  }
  EXPECT_THAT(page, HasSubstr("tool \\- does it"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-count\\fR \\fIN\\fR\nSo many; default 3.\n"));
  EXPECT_THAT(page, HasSubstr("\\fBgo\\fR \\fIWHERE\\fR [\\fIAND\\fR ...]\nGoes.\n.RS\n.TP\n\\fIWHERE\\fR\nTo.\n.TP\n\\fB\\-\\-how\\fR "
                              "\\fIHOW\\fR\nSo; one of this, that.\n.TP\n\\fB\\-\\-soon\\fR[=\\fIS\\fR]\nSoon; default 3.\n"));
  EXPECT_THAT(page, Not(HasSubstr("secret")));
  EXPECT_THAT(page, HasSubstr("\\fBother\\fR(1),\n\\fBmore\\fR(5)\n"));
}

TEST(ManPage, TextRunsNoMacro) {
  EXPECT_THAT(man_page(small(), "1.2"), HasSubstr(".PP\n\\&.SH is not a heading here, \\en neither, and it\\(aqs \\(aqfine\\(aq.\n"));
}

}  // namespace
}  // namespace rondo::manual
