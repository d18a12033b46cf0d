// The routing of tables: two embedded stores behind one RoutedStore. store_contract_test.cc tests the promises of a Store on it.
#include "store/routed_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/sim_store.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;

class Routed : public testing::Test {
 protected:
  Routed() {
    auto first = make_memory_store(scheduler_);
    auto second = std::make_unique<sim::SimStore>(scheduler_, sim::SimStoreOptions{.seed = 1});
    rest_ = first.get();
    ports_ = second.get();
    store_ = std::make_unique<RoutedStore>(std::move(first));
    store_->route(std::move(second), {"PORT", "PORT_STATE"});
    for (const char* const name : {"ROUTE", "PORT", "PORT_STATE", "A"}) EXPECT_TRUE(store_->declare({.name = name}).ok());
  }
  static std::vector<std::string> names(const Store& store) {
    std::vector<std::string> all;
    for (const TableSpec& spec : store.tables()) all.push_back(spec.name);
    return all;
  }
  void settle() { world_.run_for(scheduler_, 300ms); }

  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  Store* rest_ = nullptr;
  sim::SimStore* ports_ = nullptr;
  std::unique_ptr<RoutedStore> store_;
};

TEST_F(Routed, EachTableIsInItsStore) {
  EXPECT_THAT(names(*rest_), ElementsAre("A", "ROUTE"));
  EXPECT_THAT(names(*ports_), ElementsAre("PORT", "PORT_STATE"));
  EXPECT_THAT(names(*store_), ElementsAre("A", "PORT", "PORT_STATE", "ROUTE")) << "in the order of their names";
  EXPECT_EQ(store_->declare({.name = "PORT", .kind = TableKind::Queue}).code(), StatusCode::FailedPrecondition);
}

/// A file of tables that has served without the route still has the table.
TEST_F(Routed, ATableThatAStoreHadBeforeItWasRoutedElsewhereIsNotThere) {
  ASSERT_TRUE(rest_->declare({.name = "MOVED"}).ok());
  auto elsewhere = make_memory_store(scheduler_);
  const Store& other = *elsewhere;
  store_->route(std::move(elsewhere), {"MOVED"});
  EXPECT_THAT(names(*store_), ElementsAre("A", "PORT", "PORT_STATE", "ROUTE"));
  ASSERT_TRUE(store_->declare({.name = "MOVED"}).ok());
  EXPECT_THAT(names(*store_), ElementsAre("A", "MOVED", "PORT", "PORT_STATE", "ROUTE"));
  EXPECT_THAT(names(other), ElementsAre("MOVED"));
}

TEST_F(Routed, WritesAndReadsGoWhereTheTableIs) {
  ASSERT_TRUE(store_->write("PORT", Change::set("Ethernet0", {{"mtu", "9100"}})).ok());
  ASSERT_TRUE(store_->write("ROUTE", Change::set("10.0.0.0/8", {})).ok());
  EXPECT_EQ(store_->write("NONE", Change::remove("k")).code(), StatusCode::NotFound);
  const auto ports = store_->subscribe("PORT");
  ASSERT_TRUE(ports.has_value());
  EXPECT_EQ(ports_->subscribe("PORT").error().code(), StatusCode::FailedPrecondition) << "the consumer is there";
  settle();
  std::vector<Change> taken;
  EXPECT_EQ((*ports)->take(10, taken), 1U);
  EXPECT_EQ(rest_->size("ROUTE")->staged, 1U);
  settle();
  std::string mtu;
  store_->get("PORT", "Ethernet0", [&](const Result<Record>& row) { mtu = row->fields().find("mtu").value_or(""); });
  std::size_t rows = 9;
  store_->scan("ROUTE", "", 10, [&](const Result<RowPage>& page) { rows = page->rows.size(); });
  settle();
  EXPECT_EQ(mtu, "9100");
  EXPECT_EQ(rows, 0U) << "staged and not popped";
}

TEST_F(Routed, OneStoreInTroubleIsToldAndTheOtherGoesOn) {
  EXPECT_TRUE(store_->health().ok());
  ports_->disconnect();
  EXPECT_FALSE(store_->health().ok());
  EXPECT_EQ(store_->health().message(), ports_->health().message());
  EXPECT_TRUE(store_->write("ROUTE", Change::set("k", {})).ok());
  ports_->reconnect();
  settle();
  EXPECT_TRUE(store_->health().ok());
}

}  // namespace
}  // namespace rondo::store
