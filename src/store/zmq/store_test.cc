// ZmqStore: direct tables as part of a store, and the write-behind. Changes that consumers take become rows of the wrapped store, whatever
// that store refuses, delays or loses meanwhile. All other calls pass through. The tests use real sockets, and the embedded store, or the
// simulated one where it must fail; they run turns until the expected state holds.
#include "rondo/store/zmq_store.h"

#include <map>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "rondo/store/memory_store.h"
#include "rondo/store/zmq_limits.h"
#include "sim/sim_store.h"
#include "store/zmq/world.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ZmqStores : public ZmqWorld {
 protected:
  std::unique_ptr<ZmqStore> open(std::unique_ptr<Store> wrapped, ZmqStoreOptions options) {
    options.server.endpoint = endpoint_;
    if (options.server.tables.empty()) options.server.tables = {{.database = "DB", .table = "T"}};
    options.on_trouble = [this](std::string_view table, const Status& why) {
      troubles_.push_back(std::string{table} + ": " + why.to_string());
    };
    Result<std::unique_ptr<ZmqStore>> store = ZmqStore::open(scheduler_, std::move(wrapped), std::move(options));
    EXPECT_TRUE(store.has_value()) << store.error().to_string();
    EXPECT_TRUE(until([&] { return (*store)->is_recovered(); }));
    return std::move(*store);
  }
  std::unique_ptr<ZmqStore> open() { return open(make_memory_store(scheduler_), {}); }

  static std::unique_ptr<Subscription> consume(Store& store, std::string_view table = "T") {
    Result<std::unique_ptr<Subscription>> subscription = store.subscribe(table);
    EXPECT_TRUE(subscription.has_value()) << subscription.error().to_string();
    return std::move(*subscription);
  }

  /// All rows of a table, by key.
  std::map<std::string, std::string> rows(Store& store, std::string_view table = "T") {
    std::map<std::string, std::string> rows;
    bool done = false;
    store.scan(table, "", SIZE_MAX, [&](const Result<RowPage>& page) {
      EXPECT_TRUE(page.has_value());
      for (const Record& record : page->rows) rows.emplace(record.key(), row_line(record));
      done = true;
    });
    EXPECT_TRUE(until([&] { return done; }));
    return rows;
  }

  bool settled(const ZmqStore& store, std::uint64_t written) {
    return until([&] { return store.stats().written >= written && store.stats().behind == 0; });
  }

  std::vector<std::string> troubles_;
};

TEST_F(ZmqStores, WhatTheConsumerTakesBecomesRowsThatOthersRead) {
  const auto store = open();
  const auto consumer = consume(*store);
  const auto watcher = consume(store->wrapped());
  const auto client = connect();
  ZmqTable t = table(*client);
  ASSERT_TRUE(t.set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(t.set("gone", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return consumer->depth() == 2; }));
  EXPECT_TRUE(rows(*store).empty()) << "staged is not taken";
  EXPECT_EQ(store->size("T")->staged, 2U);
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1", "SET gone a=1"));
  ASSERT_TRUE(settled(*store, 2));
  EXPECT_THAT(take(*watcher), testing::UnorderedElementsAre("SET k a=1", "SET gone a=1"));

  ASSERT_TRUE(t.set("k", {{"b", "2"}}).ok());
  ASSERT_TRUE(t.remove("gone").ok());
  ASSERT_TRUE(t.remove("again").ok());
  ASSERT_TRUE(t.set("again", {}).ok());
  ASSERT_TRUE(until([&] { return consumer->depth() == 3; }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=2", "DEL gone", "DEL again", "SET again"));
  ASSERT_TRUE(settled(*store, 6));
  EXPECT_THAT(rows(*store), ElementsAre(testing::Pair("again", "again"), testing::Pair("k", "k a=1 b=2")));
  EXPECT_EQ(store->size("T")->rows, 2U);
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(ZmqStores, AWriteOfThisProcessMergesWithThoseFromTheSocket) {
  const auto store = open();
  const auto consumer = consume(*store);
  const auto client = connect();
  ASSERT_TRUE(table(*client).set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(until([&] { return consumer->depth() == 1; }));
  Status end{StatusCode::Internal, "not told"};
  ASSERT_TRUE(store->write("T", Change::set("k", {{"b", "2"}, {"b", "3"}}), [&](const Status& status) { end = status; }).ok());
  ASSERT_TRUE(until([&] { return end.ok(); }));
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=3"));
  EXPECT_EQ(store->write("T", Change::event("verb", "k", {})).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(store->subscribe("T").error().code(), StatusCode::FailedPrecondition);
}

TEST_F(ZmqStores, OtherTablesPassThroughAndADirectOneLooksStaged) {
  const auto store = open();
  ASSERT_TRUE(store->declare({.name = "OTHER", .kind = TableKind::Watched}).ok());
  ASSERT_TRUE(store->declare({.name = "T", .kind = TableKind::Staged, .rows_max = limits::kZmqKeys}).ok());
  EXPECT_EQ(store->declare({.name = "T", .kind = TableKind::Watched}).code(), StatusCode::FailedPrecondition);
  const std::vector<TableSpec> tables = store->tables();
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].name, "OTHER");
  EXPECT_EQ(tables[1], (TableSpec{.name = "T", .kind = TableKind::Staged, .rows_max = limits::kZmqKeys}));
  const auto watcher = consume(*store, "OTHER");
  ASSERT_TRUE(store->write("OTHER", Change::set("k", {{"a", "1"}})).ok());
  EXPECT_THAT(take(*watcher), ElementsAre("SET k a=1"));
  EXPECT_EQ(store->write("UNKNOWN", Change::remove("k")).code(), StatusCode::NotFound);
  EXPECT_EQ(store->subscribe("UNKNOWN").error().code(), StatusCode::NotFound);
  EXPECT_FALSE(store->size("UNKNOWN").has_value());
  EXPECT_TRUE(store->health().ok());
}

TEST_F(ZmqStores, WhatWillBeInADirectTableCannotBeAsked) {
  const auto store = open();
  ASSERT_TRUE(store->declare({.name = "OTHER", .kind = TableKind::Staged}).ok());
  ASSERT_TRUE(store->write("OTHER", Change::set("k", {})).ok());
  std::vector<StatusCode> ends;
  std::size_t rows = 0;
  const auto told = [&](const Result<RowPage>& page) {
    ends.push_back(page ? StatusCode::Ok : page.error().code());
    rows += page ? page->rows.size() : 0;
  };
  store->scan_written("T", "", 10, told);
  ASSERT_TRUE(until([&] { return ends.size() == 1; }));
  store->scan_written("OTHER", "", 10, told);
  ASSERT_TRUE(until([&] { return ends.size() == 2; }));
  EXPECT_THAT(ends, ElementsAre(StatusCode::Unimplemented, StatusCode::Ok));
  EXPECT_EQ(rows, 1U);
}

TEST_F(ZmqStores, ATableThatTheWrappedStoreHasOtherwiseIsAnError) {
  auto wrapped = make_memory_store(scheduler_);
  ASSERT_TRUE(wrapped->declare({.name = "T", .kind = TableKind::Staged}).ok());
  const auto opened = ZmqStore::open(scheduler_, std::move(wrapped), {.server = {.endpoint = endpoint_, .tables = {{"DB", "T"}}}});
  EXPECT_EQ(opened.error().code(), StatusCode::FailedPrecondition);
  const auto twice =
      ZmqStore::open(scheduler_, make_memory_store(scheduler_), {.server = {.endpoint = endpoint_, .tables = {{"A", "T"}, {"B", "T"}}}});
  EXPECT_EQ(twice.error().code(), StatusCode::InvalidArgument);
}

TEST_F(ZmqStores, AStoreThatIsAwaySlowsTheConsumerAndLosesNothing) {
  auto simulated =
      std::make_unique<sim::SimStore>(scheduler_, sim::SimStoreOptions{.latency_low = 10us, .latency_high = 50us, .send_buffer = 8});
  sim::SimStore& far = *simulated;
  const auto store = open(std::move(simulated), {.server = {}, .keys_behind_max = 10, .retry = 1ms, .recover = false});
  const auto consumer = consume(*store);
  int wakes = 0;
  consumer->on_ready([&] { ++wakes; });
  far.disconnect();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(store->write("T", Change::set("k" + std::to_string(i), {{"a", "1"}})).ok());
  std::size_t taken = 0;
  std::vector<Change> changes;
  const auto take_all = [&] {
    while (!consumer->empty()) taken += consumer->take(7, changes);
  };
  take_all();
  EXPECT_EQ(taken, 10U) << "as many as may wait to be written";
  ASSERT_TRUE(until([&] { return far.unanswered() == 8; }));
  take_all();
  EXPECT_LE(taken, 20U) << "a batch is under way, and as many wait behind it";
  EXPECT_EQ(consumer->take(7, changes), 0U);
  EXPECT_EQ(consumer->depth(), 1000 - taken);
  const int before = wakes;
  far.reconnect();
  ASSERT_TRUE(until([&] {
    take_all();
    return taken == 1000;
  }));
  EXPECT_GT(wakes, before);
  ASSERT_TRUE(until([&] { return store->stats().behind == 0 && far.server().size("T")->rows == 1000; }));
  ASSERT_TRUE(settled(*store, 1000));
  EXPECT_EQ(store->stats().written, 1000U);
  EXPECT_EQ(store->stats().left_out, 0U);
}

/// Writes fail at random in a store that answers late. In the end its rows are those that the consumer saw.
TEST_F(ZmqStores, RowsAgreeWithWhatWasTakenThroughFailuresProperty) {
  std::uint64_t retries = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    auto simulated = std::make_unique<sim::SimStore>(
        scheduler_,
        sim::SimStoreOptions{.seed = seed, .latency_low = 1us, .latency_high = 20us, .failure_chance = 0.2, .send_buffer = 100});
    sim::SimStore& far = *simulated;
    const auto store = open(std::move(simulated), {.server = {}, .keys_behind_max = 1 + random.below(40), .retry = 1ms, .recover = false});
    const auto consumer = consume(*store);
    const auto reference = make_memory_store(scheduler_);
    ASSERT_TRUE(reference->declare({.name = "T", .kind = TableKind::Watched}).ok());
    std::vector<Change> changes;
    const auto take_some = [&](std::size_t max) {
      changes.clear();
      consumer->take(max, changes);
      for (const Change& change : changes) ASSERT_TRUE(reference->write("T", change).ok());
    };
    for (int step = 0; step < 1500; ++step) {
      const std::string key = std::to_string(random.below(40));
      const std::string value = std::to_string(step);
      const Field field{"f", value};
      const Change change = random.below(3) == 0 ? Change::remove(key) : Change::set(key, std::span<const Field>{&field, 1});
      ASSERT_TRUE(store->write("T", change).ok());
      if (random.below(4) == 0) scheduler_.turn();
      if (random.below(8) == 0) take_some(1 + random.below(20));
      if (random.below(300) == 0) far.disconnect();
      if (random.below(50) != 0) continue;
      far.reconnect();
      ASSERT_TRUE(until([&] { return far.unanswered() == 0; }));
    }
    far.reconnect();
    far.set_failure_chance(0.0);
    ASSERT_TRUE(until([&] {
      take_some(SIZE_MAX);
      return consumer->empty() && consumer->depth() == 0 && store->stats().behind == 0 && far.unanswered() == 0;
    }));
    const std::map<std::string, std::string> expected = rows(*reference);
    ASSERT_TRUE(until([&] { return rows(far.server()) == expected; })) << "seed " << seed;
    EXPECT_EQ(store->stats().left_out, 0U);
    retries += store->stats().retries;
  }
  EXPECT_GT(retries, 0U);
  EXPECT_FALSE(troubles_.empty());
}

TEST_F(ZmqStores, ARowThatTheStoreNeverTakesIsLeftOutCountedAndHoldsUpNothing) {
  const auto store = open(make_memory_store(scheduler_), {.server = {}, .retry = 1ms});
  const auto consumer = consume(*store);
  const auto fields_named = [](char letter, auto&& use) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < limits::kFields; ++i) names.push_back(letter + std::to_string(i));
    std::vector<Field> fields;
    for (const std::string& name : names) fields.push_back({name, ""});
    use(std::span<const Field>{fields});
  };
  // The wrapped store has a row of the key that this process does not know. Merged, the row would have more fields than a record may have.
  fields_named('a', [&](std::span<const Field> fields) { ASSERT_TRUE(store->wrapped().write("T", Change::set("wide", fields)).ok()); });
  fields_named('b', [&](std::span<const Field> fields) { ASSERT_TRUE(store->write("T", Change::set("wide", fields)).ok()); });
  EXPECT_EQ(take(*consumer).size(), 1U);
  ASSERT_TRUE(until([&] { return store->stats().left_out == 1; }));
  ASSERT_TRUE(store->write("T", Change::set("after", {{"a", "1"}})).ok());
  take(*consumer);
  ASSERT_TRUE(settled(*store, 1));
  EXPECT_EQ(store->stats().left_out, 1U);
  EXPECT_THAT(troubles_.back(), HasSubstr("left out of the copy"));
  EXPECT_TRUE(rows(*store).contains("after"));
}

}  // namespace
}  // namespace rondo::store
