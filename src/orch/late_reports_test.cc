// Reports that arrive late: each Delete of the owner is found once, old ones are forgotten; the rows that change while a page is on its way
// are those of this page alone; the limits hold.
#include "orch/late_reports.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo {
namespace {

Instant at(int seconds) { return Instant{} + std::chrono::seconds{seconds}; }

TEST(OwnDeletes, EachIsTakenOnce) {
  LateReports deletes;
  deletes.note_delete("a", at(1));
  deletes.note_delete("a", at(1));
  EXPECT_TRUE(deletes.take_delete("a", at(2)));
  EXPECT_TRUE(deletes.take_delete("a", at(2)));
  EXPECT_FALSE(deletes.take_delete("a", at(2))) << "one of another program";
  EXPECT_FALSE(deletes.take_delete("b", at(2)));
}

TEST(OwnDeletes, OneThatTheStoreHasMergedIsForgotten) {
  LateReports deletes;
  deletes.note_delete("taken", at(0));
  deletes.note_delete("old", at(0));
  deletes.note_delete("new", at(9));
  EXPECT_FALSE(deletes.take_delete("taken", at(11))) << "one of another program";
  deletes.forget_old(at(11));
  EXPECT_FALSE(deletes.take_delete("old", at(0)));
  EXPECT_TRUE(deletes.take_delete("new", at(11)));
}

TEST(OwnDeletes, BeyondTheLimitTheyCountAsThoseOfOthers) {
  LateReports deletes;
  for (std::size_t i = 0; i < limits::kOwnDeletes; ++i) deletes.note_delete(std::to_string(i), at(0));
  deletes.note_delete("one more", at(0));
  EXPECT_FALSE(deletes.take_delete("one more", at(0)));
  EXPECT_TRUE(deletes.take_delete("0", at(0)));
}

TEST(PageChanges, AreThoseSinceThePageWasAskedFor) {
  LateReports page;
  page.note_change("before");
  page.begin_page();
  page.note_change("while");
  EXPECT_FALSE(page.is_changed("before"));
  EXPECT_TRUE(page.is_changed("while"));
  page.end_page();
  page.note_change("after");
  EXPECT_FALSE(page.is_changed("while"));
  EXPECT_FALSE(page.is_changed("after"));
  page.note_all_changed();
  EXPECT_FALSE(page.is_page_void()) << "no page is on its way";
}

TEST(PageChanges, BeyondTheLimitThePageSaysNothing) {
  LateReports page;
  page.begin_page();
  for (std::size_t i = 0; i < limits::kOwnDeletes; ++i) page.note_change(std::to_string(i));
  page.note_change("0");
  EXPECT_FALSE(page.is_page_void());
  page.note_change("one more");
  EXPECT_TRUE(page.is_page_void());
  page.begin_page();
  EXPECT_FALSE(page.is_page_void());
}

/// A row that is deleted and written in one step changes, and does not go.
TEST(LateReports, ADeleteOfAnotherProgramCountsUnlessASetOfTheRowFollows) {
  LateReports reports;
  reports.note_removed("a");
  const Change other = Change::set("b", {});
  EXPECT_EQ(reports.take_removed(&other), "a");
  EXPECT_FALSE(reports.has_removed());
  reports.note_removed("a");
  const Change same = Change::set("a", {});
  EXPECT_FALSE(reports.take_removed(&same).has_value());
  reports.note_removed("a");
  EXPECT_EQ(reports.take_removed(nullptr), "a");
}

}  // namespace
}  // namespace rondo
