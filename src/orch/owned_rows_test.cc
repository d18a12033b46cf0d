// OwnedRows on the embedded store: what is read in one turn and used in a later one says nothing of rows that changed in between. The tests
// of its users (managers, StateRows, LearnedNeighbors) have the rest.
#include "orch/owned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "orch/late_pages.h"
#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OwnedRowsTest : public testing::Test {
 protected:
  OwnedRowsTest() {
    for (const std::string table : {"T", "OWNERS"}) EXPECT_TRUE(store.declare({.name = table, .kind = TableKind::Watched}).ok());
  }
  /// Decides that there is no row that is not set.
  void open(const std::string& owners) {
    rows = std::make_unique<OwnedRows>(scheduler, store,
                                       OwnedRowsOptions{.name = "rows",
                                                        .priority = Priority::p1,
                                                        .again =
                                                            [this](const RowName& name) {
                                                              again.push_back(name.key);
                                                              rows->remove(name);
                                                            },
                                                        .owners = owners});
  }
  void run() { world.run_for(scheduler, 1s); }
  void set(const std::string& key, const char* value) { rows->set({"T", key}, "test", Record::make(key, {{"value", value}})); }
  /// Another program.
  void other_sets(const std::string& table, const std::string& key) {
    ASSERT_TRUE(store.write(table, Change::set(key, {{"value", "other"}})).ok());
  }
  std::string value(const std::string& table, const std::string& key) {
    std::string text;
    store.get(table, key, [&text](const Result<Record>& row) { text = *row ? row->fields().find("value").value_or("?") : "none"; });
    run();
    return text;
  }

  sim::World world{1};
  Scheduler scheduler{world.clock(), world.reactor(), test::policy()};
  LatePages store{make_memory_store(scheduler)};
  std::vector<std::string> again;
  std::unique_ptr<OwnedRows> rows;
};

TEST_F(OwnedRowsTest, TheRowsOfAnEarlierRunAreFoundByTheirOwners) {
  open("OWNERS");
  set("a", "1");
  run();
  open("OWNERS");
  Status end{StatusCode::Unavailable, "not read"};
  rows->adopt([&end](const Status& status) { end = status; });
  run();
  EXPECT_TRUE(end.ok());
  EXPECT_THAT(again, ElementsAre("a"));
  EXPECT_EQ(value("T", "a"), "none");
  EXPECT_EQ(value("OWNERS", "T|a"), "none");
}

/// It was taken over, and the row that another program had written meanwhile was deleted.
TEST_F(OwnedRowsTest, ARowThatIsDeletedWhileAPageWithItsOwnerIsOnItsWayIsNotTakenOver) {
  open("OWNERS");
  set("a", "1");
  run();
  store.holds = true;
  rows->adopt([](const Status&) {});
  run();
  ASSERT_EQ(store.late, "OWNERS");
  rows->remove({"T", "a"});
  run();
  other_sets("T", "a");
  store.deliver();
  EXPECT_EQ(rows->adopt("T|a", Fields{}), nullptr) << "nor if a consumer of the owners takes its record late";
  run();
  EXPECT_THAT(again, IsEmpty());
  EXPECT_EQ(value("T", "a"), "other");
}

/// The row counted as one whose owner is stored, and was written without its owner.
TEST_F(OwnedRowsTest, APageThatWasReadBeforeTheStoreLostItsRowsSaysNothing) {
  open("OWNERS");
  set("a", "1");
  run();
  open("OWNERS");
  store.holds = true;
  Status end;
  rows->adopt([&end](const Status& status) { end = status; });
  run();
  ASSERT_EQ(store.late, "OWNERS");
  ASSERT_TRUE(store.write("OWNERS", Change::remove("T|a")).ok());
  rows->rows_were_lost();
  store.deliver();
  EXPECT_EQ(end.code(), StatusCode::Unavailable);
  EXPECT_THAT(again, IsEmpty());
}

/// A consumer takes a change later than it was written.
TEST_F(OwnedRowsTest, ASetThatIsTakenAfterTheRowWasDeletedIsNotTakenForARow) {
  open({});
  set("a", "1");
  run();
  rows->remove({"T", "a"});
  run();
  other_sets("T", "a");
  rows->taken({"T", "a"}, Change::set("a", {{"value", "1"}}), true);
  rows->taken({"T", "a"}, Change::remove("a"), false);
  run();
  EXPECT_THAT(again, IsEmpty());
  EXPECT_EQ(value("T", "a"), "other");
}

TEST_F(OwnedRowsTest, TheDeleteOfARowThatWasWrittenAgainIsNotOneOfAnotherProgram) {
  open({});
  set("a", "1");
  run();
  rows->remove({"T", "a"});
  rows->remove({"T", "a"});  // The Delete is under way.
  run();
  set("a", "2");
  run();
  rows->taken({"T", "a"}, Change::remove("a"), false);
  EXPECT_THAT(again, IsEmpty());
  rows->taken({"T", "a"}, Change::remove("a"), false);
  EXPECT_THAT(again, ElementsAre("a")) << "the second one is";
}

}  // namespace
}  // namespace rondo
