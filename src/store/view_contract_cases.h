// The promises of Store::scan_written() (rondo/store/store.h), and of TableView over any store (rondo/store/table_view.h), as tests. The
// tables T and W are Staged and Watched. A header, so that parts of the store instantiate the same cases for theirs.
#pragma once

#include <set>

#include "rondo/store/table_view.h"
#include "store/store_contract.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

/// Reads all pages of scan_written(), and calls 'between' between two pages.
template <class Test>
std::set<std::string> written_rows(Test& test, std::string_view table, std::size_t page_rows, const std::function<void()>& between = {}) {
  std::set<std::string> seen;
  std::string cursor;
  do {
    const Result<RowPage> page = test.scan_written(table, cursor, page_rows);
    if (!page) {
      ADD_FAILURE() << page.error().to_string();
      return seen;
    }
    EXPECT_LE(page->rows.size(), page_rows);
    for (const Record& record : page->rows) seen.insert(row_line(record));
    cursor = page->next;
    if (between) between();
  } while (!cursor.empty());
  return seen;
}

class WrittenContract : public StoreContract {
 public:
  Result<RowPage> scan_written(std::string_view table, std::string_view cursor, std::size_t max) {
    std::vector<Result<RowPage>> ends;
    store().scan_written(table, cursor, max, [&ends](const Result<RowPage>& page) { ends.push_back(page); });
    EXPECT_TRUE(ends.empty()) << "completed inside the call";
    for (int i = 0; i < 300 && ends.empty(); ++i) settle();
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? failure(StatusCode::Internal, "scan_written() never ended") : ends.front();
  }

 protected:
  void SetUp() override {
    declare("T", TableKind::Staged);
    declare("W", TableKind::Watched);
  }
};

TEST_P(WrittenContract, TellsRowsAsTheyWillBeWhenAllIsPopped) {
  for (const char* key : {"more", "gone", "anew", "stays"}) set("T", key, {{"x", "1"}});
  EXPECT_EQ(take_all(*subscribe("T")).size(), 4U);
  set("T", "more", {{"x", "2"}, {"y", "2"}});
  remove("T", "gone");
  remove("T", "anew");
  set("T", "anew", {{"z", "3"}});
  set("T", "new", {{"x", "4"}});
  set("T", "empty", {});
  remove("T", "never was");
  EXPECT_THAT(written_rows(*this, "T", 100), ElementsAre("anew z=3", "empty", "more x=2 y=2", "new x=4", "stays x=1"));
  EXPECT_EQ(row("T", "more"), "more x=1") << "the row itself is as it was popped";
  EXPECT_EQ(take_all(*subscribe("T", {.standing_rows = false})).size(), 7U);
  EXPECT_THAT(written_rows(*this, "T", 100), ElementsAre("anew z=3", "empty", "more x=2 y=2", "new x=4", "stays x=1"));
}

TEST_P(WrittenContract, ShowsEveryRowPageByPage) {
  std::set<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    set("T", std::to_string(i), {{"x", "1"}});
    expected.insert(std::to_string(i) + " x=1");
  }
  EXPECT_EQ(take_all(*subscribe("T")).size(), 500U);
  for (int i = 400; i < 900; ++i) {
    set("T", std::to_string(i), {{"x", "1"}});
    expected.insert(std::to_string(i) + " x=1");
  }
  EXPECT_EQ(written_rows(*this, "T", 70), expected);
}

TEST_P(WrittenContract, MissesNoRowThatIsPoppedMeanwhile) {
  std::set<std::string> expected;
  for (int i = 0; i < 600; ++i) {
    set("T", std::to_string(i), {{"x", "1"}});
    expected.insert(std::to_string(i) + " x=1");
  }
  settle();
  const auto consumer = store().subscribe("T");
  EXPECT_EQ(written_rows(*this, "T", 50, [&] { take(**consumer, 40); }), expected);
}

TEST_P(WrittenContract, EachPageHasTheWritesBeforeIt) {
  constexpr int kRows = 600;
  for (int i = 0; i < kRows; ++i) set("T", std::to_string(i), {{"x", "1"}});
  EXPECT_EQ(take_all(*subscribe("T")).size(), std::size_t{kRows});
  Result<RowPage> page = scan_written("T", "", 50);
  for (int i = 0; i < kRows; ++i) remove("T", std::to_string(i));
  while (page && !page->next.empty()) {
    page = scan_written("T", std::string{page->next}, 50);
    ASSERT_TRUE(page.has_value()) << page.error().to_string();
    EXPECT_THAT(page->rows, IsEmpty());
  }
}

TEST_P(WrittenContract, OfAWatchedTableItIsAScan) {
  set("W", "a", {{"x", "1"}});
  set("W", "b", {{"x", "1"}});
  remove("W", "b");
  EXPECT_THAT(written_rows(*this, "W", 10), ElementsAre("a x=1"));
}

TEST_P(WrittenContract, MeansNothingForEventsAndQueues) {
  declare("C", TableKind::Channel);
  declare("Q", TableKind::Queue);
  EXPECT_EQ(scan_written("C", "", 10).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(scan_written("Q", "", 10).error().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(scan_written("none", "", 10).error().code(), StatusCode::NotFound);
  EXPECT_EQ(scan_written("T", "no cursor", 10).error().code(), StatusCode::InvalidArgument);
}

class ViewContract : public StoreContract {
 protected:
  void SetUp() override {
    declare("T", TableKind::Staged);
    declare("W", TableKind::Watched);
  }
  /// Settles until apply() ends, at most 300 times.
  Result<ViewTotals> apply(TableView& view) {
    std::vector<Result<ViewTotals>> ends;
    const Status begun = view.apply([&ends](const Result<ViewTotals>& end) { ends.push_back(end); });
    EXPECT_TRUE(begun.ok()) << begun.to_string();
    EXPECT_TRUE(ends.empty()) << "completed inside the call";
    for (int i = 0; i < 300 && view.is_applying(); ++i) settle();
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? failure(StatusCode::Internal, "apply() never ended") : ends.front();
  }
  /// Makes rows that exist and were popped.
  void given(std::string_view table) {
    set(table, "same", {{"a", "1"}, {"b", "1"}});
    set(table, "value", {{"a", "1"}, {"b", "1"}});
    set(table, "more", {{"a", "1"}});
    set(table, "less", {{"a", "1"}, {"b", "1"}});
    set(table, "empty", {});
    set(table, "gone", {{"a", "1"}});
  }
  static void wanted(TableView& view) {
    EXPECT_TRUE(view.set("same", {{"b", "1"}, {"a", "1"}}).ok());
    EXPECT_TRUE(view.set("value", {{"a", "1"}, {"b", "2"}}).ok());
    EXPECT_TRUE(view.set("more", {{"a", "1"}, {"b", "1"}}).ok());
    EXPECT_TRUE(view.set("less", {{"a", "1"}}).ok());
    EXPECT_TRUE(view.set("empty", {}).ok());
    EXPECT_TRUE(view.set("new", {{"a", "1"}}).ok());
  }
};

TEST_P(ViewContract, WritesExactlyTheDifference) {
  given("T");
  const auto consumer = subscribe("T");
  EXPECT_EQ(take_all(*consumer).size(), 6U);
  TableView view(world().scheduler(), store(), "T");
  wanted(view);
  settle();
  EXPECT_TRUE(consumer->empty()) << "nothing is written before apply()";
  const Result<ViewTotals> end = apply(view);
  ASSERT_TRUE(end.has_value()) << end.error().to_string();
  EXPECT_EQ(*end, (ViewTotals{.same = 2, .set = 3, .replaced = 1, .removed = 1}));
  EXPECT_THAT(take_all(*consumer),
              UnorderedElementsAre("SET value a=1 b=2", "SET more a=1 b=1", "DEL less", "SET less a=1", "DEL gone", "SET new a=1"));
  EXPECT_EQ(row("T", "less"), "less a=1");
  EXPECT_EQ(row("T", "gone"), "no row");
}

TEST_P(ViewContract, OfAWatchedTableToo) {
  given("W");
  const auto watcher = subscribe("W");
  EXPECT_EQ(take_all(*watcher).size(), 6U);
  TableView view(world().scheduler(), store(), "W");
  wanted(view);
  ASSERT_TRUE(apply(view).has_value());
  EXPECT_EQ(row("W", "same"), "same a=1 b=1");
  EXPECT_EQ(row("W", "less"), "less a=1");
  const std::vector<std::string> told = take_all(*watcher);
  EXPECT_THAT(told, testing::AllOf(testing::Contains("DEL gone"), testing::Contains("SET new a=1"), testing::Contains("SET less a=1")));
  EXPECT_THAT(told, testing::Not(testing::Contains(testing::HasSubstr("same"))));
}

// SONiC's view drops waiting changes, also those of other producers and, by a pattern, of other tables.
TEST_P(ViewContract, WhatWaitsCountsAsThere) {
  declare("T2", TableKind::Staged);
  set("T2", "k", {{"a", "1"}});
  set("T", "stale", {{"a", "1"}});              // Would become a row after the view was applied.
  set("T", "same", {{"a", "1"}});               // Waits, and equals the view's row.
  set("T", "other", {{"a", "1"}, {"b", "1"}});  // Waits, with a field too many.
  remove("T", "back");                          // Its Delete waits, but the view has it.
  TableView view(world().scheduler(), store(), "T");
  EXPECT_TRUE(view.set("same", {{"a", "1"}}).ok());
  EXPECT_TRUE(view.set("other", {{"a", "1"}}).ok());
  EXPECT_TRUE(view.set("back", {{"a", "1"}}).ok());
  const Result<ViewTotals> end = apply(view);
  ASSERT_TRUE(end.has_value()) << end.error().to_string();
  EXPECT_EQ(*end, (ViewTotals{.same = 1, .set = 1, .replaced = 1, .removed = 1}));
  const auto consumer = subscribe("T");
  EXPECT_THAT(take_all(*consumer),
              UnorderedElementsAre("DEL stale", "SET same a=1", "DEL other", "SET other a=1", "DEL back", "SET back a=1"));
  EXPECT_EQ(row("T", "stale"), "no row");
  EXPECT_THAT(take_all(*subscribe("T2")), ElementsAre("SET k a=1"));
}

TEST_P(ViewContract, AppliedItIsEmptyAndTheSameAgainWritesNothing) {
  TableView view(world().scheduler(), store(), "T");
  const auto consumer = subscribe("T");
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(view.set(std::to_string(i), {{"a", "1"}}).ok());
    EXPECT_EQ(view.size(), 300U);
    const Result<ViewTotals> end = apply(view);
    ASSERT_TRUE(end.has_value()) << end.error().to_string();
    EXPECT_EQ(end->set, round == 0 ? 300U : 0U);
    EXPECT_EQ(end->same, round == 0 ? 0U : 300U);
    EXPECT_EQ(view.size(), 0U);
    EXPECT_EQ(take_all(*consumer).size(), round == 0 ? 300U : 0U);
  }
}

TEST_P(ViewContract, AnEmptyOneClearsTheTable) {
  for (int i = 0; i < 300; ++i) set("T", std::to_string(i), {});
  const auto consumer = subscribe("T");
  EXPECT_EQ(take_all(*consumer).size(), 300U);
  TableView view(world().scheduler(), store(), "T");
  const Result<ViewTotals> end = apply(view);
  ASSERT_TRUE(end.has_value()) << end.error().to_string();
  EXPECT_EQ(end->removed, 300U);
  EXPECT_EQ(take_all(*consumer).size(), 300U);
  const Result<RowPage> rows = scan("T", "", 10);
  EXPECT_TRUE(rows.has_value() && rows->rows.empty());
}

TEST_P(ViewContract, WhatIsSetAndRemovedMeanwhileIsNewer) {
  for (int i = 0; i < 600; ++i) set("T", std::to_string(i), {{"v", "old"}});
  const auto consumer = subscribe("T");
  EXPECT_EQ(take_all(*consumer).size(), 600U);
  TableView view(world().scheduler(), store(), "T");
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(view.set(std::to_string(i), {{"v", "view"}}).ok());
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 600; ++i) expected[std::to_string(i)] = "view";
  ASSERT_TRUE(view.apply().ok());
  for (int i = 0; i < 600 && view.is_applying(); ++i) {
    const std::string key = std::to_string(i);
    if (i % 3 == 0) {
      ASSERT_TRUE(view.remove(key).ok());
      expected.erase(key);
    } else {
      ASSERT_TRUE(view.set(key, {{"v", "newer"}}).ok());
      expected[key] = "newer";
    }
    ASSERT_TRUE(view.set("new" + key, {{"v", "newer"}}).ok());
    expected["new" + key] = "newer";
    world().scheduler().turn();
  }
  for (int i = 0; i < 300 && view.is_applying(); ++i) settle();
  ASSERT_FALSE(view.is_applying());
  take_all(*consumer);
  std::map<std::string, std::string> rows;
  std::string cursor;
  do {
    const Result<RowPage> page = scan("T", cursor, 500);
    ASSERT_TRUE(page.has_value());
    for (const Record& record : page->rows) rows[std::string{record.key()}] = record.fields().find("v").value_or("none");
    cursor = page->next;
  } while (!cursor.empty());
  EXPECT_EQ(rows, expected);
}

TEST_P(ViewContract, OfWhatHasNoRowsItFailsAndStaysAsItWas) {
  declare("C", TableKind::Channel);
  for (const auto& [table, code] : {std::pair{"none", StatusCode::NotFound}, std::pair{"C", StatusCode::InvalidArgument}}) {
    TableView view(world().scheduler(), store(), table);
    EXPECT_TRUE(view.set("k", {{"a", "1"}}).ok());
    EXPECT_EQ(apply(view).error().code(), code);
    EXPECT_EQ(view.size(), 1U);
  }
}

}  // namespace
}  // namespace rondo::store
