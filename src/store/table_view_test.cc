// TableView with faults that the store-independent tests (view_contract_cases.h) do not reach: a store that is full, slow, failing or
// closed, a view destroyed during apply(), and short turns. The tests use the embedded and the simulated store in simulated time, and
// compare random rounds with a plain model.
#include "rondo/store/table_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/sim_store.h"
#include "sim/test_source.h"
#include "store/store_contract.h"

namespace rondo::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Row = std::map<std::string, std::string>;
using Rows = std::map<std::string, Row>;

class Views : public testing::Test {
 protected:
  std::unique_ptr<Store> memory(std::size_t rows_max = limits::kTableRows) {
    std::unique_ptr<Store> store = make_memory_store(scheduler_);
    EXPECT_TRUE(store->declare({.name = "T", .kind = TableKind::Staged, .rows_max = rows_max}).ok());
    return store;
  }
  /// A callback that adds the result to 'ends'.
  ViewDone into(std::vector<Result<ViewTotals>>& ends) {
    return [&ends](const Result<ViewTotals>& end) { ends.push_back(end); };
  }
  static std::unique_ptr<Subscription> consume(Store& store) {
    Result<std::unique_ptr<Subscription>> consumer = store.subscribe("T");
    EXPECT_TRUE(consumer.has_value());
    return std::move(*consumer);
  }
  static std::vector<std::string> take(Subscription& consumer, std::size_t max = SIZE_MAX) {
    std::vector<Change> changes;
    consumer.take(max, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(line(change));
    return lines;
  }

  std::uint64_t turns_of(std::string_view name) const {
    std::uint64_t turns = 0;
    scheduler_.for_each_source([&](const Source& source) { turns += source.name() == name ? source.stats().turns : 0; });
    return turns;
  }

  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), test::policy()};
};

TEST_F(Views, MergesLikeATableAndRefusesWhatATableRefuses) {
  const auto store = memory();
  TableView view(scheduler_, *store, "T");
  EXPECT_TRUE(view.set("k", {{"a", "1"}, {"b", "1"}}).ok());
  EXPECT_TRUE(view.set("k", {{"b", "2"}, {"b", "3"}}).ok());
  EXPECT_TRUE(view.set("gone", {{"a", "1"}}).ok());
  EXPECT_TRUE(view.remove("gone").ok());
  EXPECT_TRUE(view.remove("never was").ok());
  EXPECT_EQ(view.size(), 1U);
  EXPECT_EQ(view.set(std::string(limits::kNameBytes + 1, 'k'), {}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(view.set("", {{"a", "1"}}).to_string(), "invalid-argument: table 'T': the key is empty");
  EXPECT_EQ(view.set("k", {{"", "1"}}).to_string(), "invalid-argument: table 'T': key 'k': the name of a field is empty");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < limits::kFields; ++i) names.push_back("n" + std::to_string(i));
  std::vector<Field> fields;
  for (const std::string& name : names) fields.push_back({name, ""});
  EXPECT_EQ(view.set("k", fields).code(), StatusCode::ResourceExhausted);
  std::vector<Result<ViewTotals>> ends;
  ASSERT_TRUE(view.apply(into(ends)).ok());
  EXPECT_EQ(view.apply().code(), StatusCode::FailedPrecondition);
  scheduler_.run_until_idle();
  ASSERT_EQ(ends.size(), 1U);
  const auto consumer = consume(*store);
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1 b=3"));
}

TEST_F(Views, ASecondApplyAfterSuccessIsRefusedAndKeepsTheRows) {
  const auto store = memory();
  TableView view(scheduler_, *store, "T");
  EXPECT_TRUE(view.set("k", {{"a", "1"}}).ok());
  ASSERT_TRUE(view.apply().ok());
  scheduler_.run_until_idle();
  const auto consumer = consume(*store);
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=1"));
  EXPECT_EQ(view.apply().code(), StatusCode::FailedPrecondition);
  scheduler_.run_until_idle();
  EXPECT_THAT(take(*consumer), IsEmpty()) << "the row stands";
  EXPECT_TRUE(view.set("k", {{"a", "2"}}).ok());
  EXPECT_TRUE(view.apply().ok()) << "a view that was filled again is applied";
  scheduler_.run_until_idle();
  EXPECT_THAT(take(*consumer), ElementsAre("SET k a=2"));
}

TEST_F(Views, ItsEndMayFillItAndApplyItAgain) {
  const auto store = memory();
  TableView view(scheduler_, *store, "T");
  int ends = 0;
  ViewDone again = [&](const Result<ViewTotals>& end) {
    ASSERT_TRUE(end.has_value());
    if (++ends == 3) return;
    EXPECT_TRUE(view.set(std::to_string(ends), {}).ok());
    EXPECT_TRUE(view.apply(again).ok());
  };
  ASSERT_TRUE(view.apply(again).ok());
  scheduler_.run_until_idle();
  EXPECT_EQ(ends, 3);
  const auto consumer = consume(*store);
  EXPECT_THAT(take(*consumer), ElementsAre("DEL 1", "SET 2"));
}

// Deletes run first and make room; rows without room wait for the consumer.
TEST_F(Views, WaitsForRoomInAFullTable) {
  const auto store = memory(100);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store->write("T", Change::set("old" + std::to_string(i), {})).ok());
  const auto consumer = consume(*store);
  EXPECT_EQ(take(*consumer).size(), 100U);
  TableView view(scheduler_, *store, "T", Priority{}, 10ms);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(view.set("new" + std::to_string(i), {}).ok());
  std::vector<Result<ViewTotals>> ends;
  ASSERT_TRUE(view.apply(into(ends)).ok());
  world_.run_for(scheduler_, 50ms);
  EXPECT_TRUE(view.is_applying());
  std::size_t taken = 0;
  ASSERT_TRUE(world_.run_until(
      scheduler_,
      [&] {
        taken += take(*consumer, 10).size();
        return !view.is_applying();
      },
      10s));
  ASSERT_TRUE(ends.at(0).has_value());
  EXPECT_EQ(*ends[0], (ViewTotals{.set = 100, .removed = 100}));
  EXPECT_EQ(taken + take(*consumer).size(), 200U);
}

TEST_F(Views, HasNoMoreWritesUnderWayThanTheLimit) {
  sim::SimStore store(scheduler_, {.latency_low = 10ms, .latency_high = 10ms});
  ASSERT_TRUE(store.declare({.name = "T", .kind = TableKind::Staged}).ok());
  TableView view(scheduler_, store, "T", {});
  const std::size_t rows = 3 * limits::kViewWrites + 1;
  for (std::size_t i = 0; i < rows; ++i) ASSERT_TRUE(view.set(std::to_string(i), {}).ok());
  std::vector<Result<ViewTotals>> ends;
  ASSERT_TRUE(view.apply(into(ends)).ok());
  std::size_t most = 0;
  ASSERT_TRUE(world_.run_until(
      scheduler_,
      [&] {
        most = std::max(most, store.unanswered());
        return !view.is_applying();
      },
      10s));
  EXPECT_EQ(most, limits::kViewWrites);
  ASSERT_TRUE(ends.at(0).has_value());
  EXPECT_EQ(ends[0]->set, rows);
  EXPECT_GE(ends[0]->full_windows, 3U);
}

TEST_F(Views, GivesUpOnATableThatStaysFullAndKeepsTheView) {
  const auto store = memory(1);
  TableView view(scheduler_, *store, "T", Priority{}, 10ms);
  for (const char* key : {"a", "b"}) ASSERT_TRUE(view.set(key, {}).ok());
  std::vector<Result<ViewTotals>> ends;
  ASSERT_TRUE(view.apply(into(ends)).ok());
  world_.run_for(scheduler_, 1s);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].error().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(view.size(), 2U);
  EXPECT_FALSE(view.is_applying());
}

TEST_F(Views, GoesOnWhenTheStoreIsBack) {
  sim::SimStore store(scheduler_, {.seed = 3, .latency_low = 1ms, .latency_high = 2ms});
  ASSERT_TRUE(store.declare({.name = "T", .kind = TableKind::Staged}).ok());
  TableView view(scheduler_, store, "T", Priority{}, 10ms);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(view.set(std::to_string(i), {{"a", "1"}}).ok());
  store.disconnect();
  std::vector<Result<ViewTotals>> ends;
  ASSERT_TRUE(view.apply(into(ends)).ok());
  const std::uint64_t before = scheduler_.stats().turns;
  world_.run_for(scheduler_, 10s);
  EXPECT_LT(scheduler_.stats().turns - before, 10'000U) << "a store that is away costs a try now and then";
  EXPECT_TRUE(view.is_applying());
  store.reconnect();
  world_.run_for(scheduler_, 1s);
  ASSERT_EQ(ends.size(), 1U);
  ASSERT_TRUE(ends[0].has_value()) << ends[0].error().to_string();
  EXPECT_EQ(ends[0]->set, 1000U);
}

TEST_F(Views, OneThatEndsInTheMiddleIsFinishedByTheNext) {
  const auto store = memory();
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(store->write("T", Change::set(std::to_string(i), {{"a", "1"}})).ok());
  const auto consumer = consume(*store);
  EXPECT_EQ(take(*consumer).size(), 2000U);
  const auto fill = [](TableView& view) {  // The even rows stay, and each gets a new neighbour.
    for (int i = 0; i < 2000; i += 2) {
      ASSERT_TRUE(view.set(std::to_string(i), {{"a", "1"}}).ok());
      ASSERT_TRUE(view.set("new" + std::to_string(i), {{"a", "1"}}).ok());
    }
  };
  std::vector<std::string> told;
  for (int turns = 1; turns < 40; turns += 3) {
    TableView view(scheduler_, *store, "T");
    fill(view);
    ASSERT_TRUE(view.apply([](const Result<ViewTotals>&) { ADD_FAILURE() << "it was cut short"; }).ok());
    scheduler_.run_until_idle(static_cast<std::uint64_t>(turns) / 4 + 1);
    for (std::string& line : take(*consumer)) told.push_back(std::move(line));
  }
  TableView view(scheduler_, *store, "T");
  fill(view);
  std::vector<Result<ViewTotals>> ends;
  ASSERT_TRUE(view.apply(into(ends)).ok());
  scheduler_.run_until_idle();
  ASSERT_EQ(ends.size(), 1U);
  for (std::string& line : take(*consumer)) told.push_back(std::move(line));
  EXPECT_EQ(store->size("T")->rows, 2000U);
  EXPECT_EQ(told.size(), 2000U) << "each difference is told once";
  for (const std::string& line : told) {
    EXPECT_TRUE(line.starts_with("SET ") || (line.back() - '0') % 2 == 1) << line << ": it stays";
  }
}

// --- against a model

std::vector<Field> fields_of(const Row& row) {
  std::vector<Field> fields;
  for (const auto& [name, value] : row) fields.push_back({name, value});
  return fields;
}

void overlay(Row& row, const Row& newer) {
  for (const auto& [name, value] : newer) row[name] = value;
}

Row row_of(const Fields& fields) {
  Row row;
  for (const Field field : fields) row[std::string{field.name}] = field.value;
  return row;
}

/// Describes where the two differ.
std::vector<std::string> difference(const Rows& rows, const Rows& wanted) {
  std::vector<std::string> lines;
  for (const auto& [key, row] : rows) {
    const auto found = wanted.find(key);
    if (found == wanted.end()) {
      lines.push_back(key + " is not to be");
    } else if (row != found->second) {
      lines.push_back(key + " is " + testing::PrintToString(row) + " and not " + testing::PrintToString(found->second));
    }
  }
  for (const auto& [key, row] : wanted) {
    if (!rows.contains(key)) lines.push_back(key + " is missing");
  }
  return lines;
}

/// A table with some history, a view that has a part of its rows, and a consumer.
class RandomRound {
 public:
  explicit RandomRound(std::uint64_t seed)
      : world_(seed),
        store_(scheduler_, {.seed = seed,
                            .latency_low = 10us,
                            .latency_high = 2ms,
                            .failure_chance = seed % 2 == 0 ? 0.02 : 0.0,
                            .send_buffer = world_.random().between(10, 500),
                            .prefetch = world_.random().between(1, 64)}) {
    EXPECT_TRUE(store_.declare({.name = "T", .kind = TableKind::Staged}).ok());
    consumer_ = std::move(*store_.subscribe("T"));
  }

  /// When the view is applied, some of these writes wait and some have become rows.
  void make_history() {
    for (std::uint64_t i = random().below(800); i > 0; --i) {
      const std::string key = std::to_string(random().below(500));
      const Row row = some_row();
      const bool removes = random().chance(0.2);
      if (removes) {
        written_.erase(key);
      } else {
        overlay(written_[key], row);
      }
      EXPECT_TRUE(store_.server().write("T", removes ? Change::remove(key) : Change::set(key, fields_of(row))).ok());
      if (random().chance(0.1)) take(random().below(100));
      if (random().chance(0.1)) world_.run_for(scheduler_, 1ms);
    }
  }
  void fill_view() {
    for (const auto& [key, row] : written_) {
      if (!random().chance(0.6)) continue;
      wanted_[key] = row;
      if (random().chance(0.3)) wanted_[key]["f" + std::to_string(random().below(4))] = "new";
      stays_.insert(key);
    }
    for (std::uint64_t i = random().below(600); i > 0; --i) {
      const std::string key = std::to_string(random().between(400, 900));
      if (!stays_.contains(key)) wanted_[key] = some_row();
    }
    for (const auto& [key, row] : wanted_) EXPECT_TRUE(view_.set(key, fields_of(row)).ok());
  }
  /// Changes of the history that were not delivered yet may delete a row and set it again; the view must not.
  void drain() {
    while (store_.unanswered() > 0 || !consumer_->empty() || consumer_->depth() > 0) {
      take(SIZE_MAX);
      world_.run_for(scheduler_, 10ms);
    }
  }
  void apply() {
    if (random().chance(0.5)) {
      drain();
      check_deletes_ = true;
    }
    Result<ViewTotals> end = failure(StatusCode::Internal, "apply() never ended");
    EXPECT_TRUE(view_.apply([&end](const Result<ViewTotals>& told) { end = told; }).ok());
    for (int step = 0; view_.is_applying() && step < 100'000; ++step) {
      world_.run_for(scheduler_, 100us);
      take(random().below(50));
      if (random().chance(0.02)) store_.disconnect();
      if (random().chance(0.2)) store_.reconnect();
      if (step > 200) store_.set_failure_chance(0.0);  // Random failures must end.
      if (view_.is_applying() && random().chance(0.3)) change_view();
    }
    EXPECT_TRUE(end.has_value()) << end.error().to_string();
    store_.reconnect();
    drain();
  }
  void expect_rows_are_the_view() {
    EXPECT_THAT(difference(told_, wanted_), IsEmpty());
    Rows rows;
    store_.server().scan("T", "", SIZE_MAX, [&rows](const Result<RowPage>& page) {
      for (const Record& record : page->rows) rows[std::string{record.key()}] = row_of(record.fields());
    });
    world_.run_for(scheduler_, 10ms);
    EXPECT_THAT(difference(rows, wanted_), IsEmpty());
  }

 private:
  Random& random() { return world_.random(); }
  Row some_row() {
    Row row;
    for (std::uint64_t i = random().below(4); i > 0; --i) row["f" + std::to_string(random().below(4))] = std::to_string(random().below(3));
    return row;
  }
  void change_view() {
    const std::string key = std::to_string(random().between(600, 1100));
    if (random().chance(0.5)) {
      if (view_.remove(key).ok()) wanted_.erase(key);
      return;
    }
    const Row row = some_row();
    if (view_.set(key, fields_of(row)).ok()) overlay(wanted_[key], row);
  }
  void take(std::size_t max) {
    std::vector<Change> changes;
    consumer_->take(max, changes);
    for (const Change& change : changes) {
      const std::string key{change.key()};
      if (change.op() == ChangeOp::Set) {
        overlay(told_[key], row_of(change.fields()));
        continue;
      }
      EXPECT_FALSE(check_deletes_ && stays_.contains(key)) << key << " stays and was deleted";
      told_.erase(key);
    }
  }

  sim::World world_;
  Scheduler scheduler_{world_.clock(), world_.reactor(), test::policy()};
  sim::SimStore store_;
  std::unique_ptr<Subscription> consumer_;
  TableView view_{scheduler_, store_, "T", Priority{}, 5ms};
  Rows written_;
  Rows wanted_;
  Rows told_;
  std::set<std::string> stays_;  // Rows that the view does not change, or to which it adds fields.
  bool check_deletes_ = false;
};

// Whatever the store and its consumer do meanwhile: in the end the rows equal the view, and no row that stays was ever deleted.
TEST(ViewsAtRandom, TableIsTheViewInTheEndModel) {
  for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRound round(seed);
    round.make_history();
    round.fill_view();
    round.apply();
    round.expect_rows_are_the_view();
  }
}

// Comparing or freeing a million rows delays no other source: a turn writes no more than its budget, and other sources get their turns.
TEST_F(Views, MillionRowsTakeManyShortTurns) {
  constexpr std::size_t kRows = 1'000'000;
  const auto store = memory();
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_TRUE(store->write("T", Change::set(std::to_string(i), {{"a", "1"}})).ok());
  const auto consumer = consume(*store);
  std::vector<Change> changes;
  for (consumer->take(1000, changes); !consumer->empty(); consumer->take(1000, changes)) changes.clear();
  TableView view(scheduler_, *store, "T", Priority::p7);
  for (std::size_t i = 0; i < kRows; ++i) {  // One row in ten has another value, and one in ten another key.
    const std::string key = (i % 10 == 3 ? "new" : "") + std::to_string(i);
    ASSERT_TRUE(view.set(key, {{"a", i % 10 == 7 ? "2" : "1"}}).ok());
  }
  std::vector<Result<ViewTotals>> ends;
  std::uint64_t others = 0;
  std::size_t staged = 0;
  test::WorkSource other("other", 7, UINT64_MAX);
  other.on_run = [&] {
    ++others;
    const std::size_t before = std::exchange(staged, store->size("T")->staged);
    EXPECT_LE(staged - before, limits::kBatchItems);
  };
  scheduler_.add(other);
  ASSERT_TRUE(view.apply(into(ends)).ok());
  while (ends.empty()) ASSERT_TRUE(scheduler_.turn());
  ASSERT_TRUE(ends[0].has_value());
  EXPECT_EQ(*ends[0], (ViewTotals{.same = kRows / 10 * 8, .set = kRows / 10 * 2, .removed = kRows / 10}));
  EXPECT_GT(others, kRows / limits::kBatchItems);
  const std::uint64_t turns = turns_of("view:T");
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(scheduler_.turn());
  EXPECT_GT(turns_of("view:T") - turns, kRows / 256 / limits::kBatchItems) << "its rows are freed in turns, too";
}

}  // namespace
}  // namespace rondo::store
