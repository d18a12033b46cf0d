// The rows that change while a page is on its way: those of this page alone, and no more than the limit.
#include "orch/page_changes.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo {
namespace {

TEST(PageChanges, AreThoseSinceThePageWasAskedFor) {
  PageChanges page;
  page.note("before");
  page.begin();
  page.note("while");
  EXPECT_FALSE(page.contains("before"));
  EXPECT_TRUE(page.contains("while"));
  page.end();
  page.note("after");
  EXPECT_FALSE(page.contains("while"));
  EXPECT_FALSE(page.contains("after"));
  page.note_all();
  EXPECT_FALSE(page.is_void()) << "no page is on its way";
}

TEST(PageChanges, BeyondTheLimitThePageSaysNothing) {
  PageChanges page;
  page.begin();
  for (std::size_t i = 0; i < limits::kOwnDeletes; ++i) page.note(std::to_string(i));
  page.note("0");
  EXPECT_FALSE(page.is_void());
  page.note("one more");
  EXPECT_TRUE(page.is_void());
  page.begin();
  EXPECT_FALSE(page.is_void());
}

}  // namespace
}  // namespace rondo
