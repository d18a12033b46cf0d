// The embedded tables against plain models: random writes, pops of any size, and consumers that open and close, over thousands of seeds.
// The model of a Staged table is the merge of SONiC's orchagent (addToSync) over std::map and std::list. The model of a Watched table is
// the copy that a subscriber builds from its changes.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "rondo/base/random.h"
#include "store/memory/channel_table.h"
#include "store/memory/queue_table.h"
#include "store/memory/staged_table.h"
#include "store/memory/watched_table.h"

namespace rondo::store {
namespace {

using PlainFields = std::map<std::string, std::string>;

PlainFields plain(const Fields& fields) {
  PlainFields result;
  for (const Field field : fields) result.emplace(field.name, field.value);
  return result;
}

Change random_set(Random& random, const std::string& key) {
  std::vector<Field> fields;
  for (const char* name : {"a", "b", "c"}) {
    if (random.chance(0.5)) fields.push_back({name, random.chance(0.5) ? "1" : "2"});
  }
  return Change::set(key, fields);
}

/// One key's staged work and row, and the order in which keys arrived.
class StagedModel {
 public:
  void write(const Change& change) {
    const std::string key{change.key()};
    const auto [place, is_new] = staged_.try_emplace(key);
    if (is_new) order_.push_back(key);
    Work& work = place->second;
    walk_.erase(key);
    if (change.op() == ChangeOp::Delete) {
      work = {.remove = true, .set = std::nullopt};
    } else {
      if (!work.set) work.set.emplace();
      for (const auto& [name, value] : plain(change.fields())) (*work.set)[name] = value;
    }
  }

  void subscribe(const SubscribeOptions& options) {
    written_only_ = options.rows == Rows::Written;
    unseen_.clear();
    walk_.clear();
    if (!options.standing_rows) return;
    for (const auto& [key, row] : rows_) {
      unseen_.insert(key);
      if (!staged_.contains(key)) walk_.insert(key);
    }
  }
  void requeue(const std::string& key) {
    if (!rows_.contains(key) || staged_.contains(key) || walk_.contains(key)) return;
    staged_[key] = {};
    order_.push_back(key);
  }

  struct Popped {
    ChangeOp op;
    std::string key;
    PlainFields fields;
    friend bool operator==(const Popped&, const Popped&) = default;
    friend void PrintTo(const Popped& popped, std::ostream* out) {
      *out << to_string(popped.op) << " " << popped.key;
      for (const auto& [name, value] : popped.fields) *out << " " << name << "=" << value;
    }
  };

  /// The standing rows are returned first, in the order that 'actual' has.
  std::vector<Popped> pop(std::size_t max, const std::vector<Popped>& actual) {
    std::vector<Popped> out;
    std::size_t keys = 0;
    for (; keys < max && !walk_.empty(); ++keys) {
      const std::string key = keys < actual.size() && walk_.contains(actual[keys].key) ? actual[keys].key : *walk_.begin();
      walk_.erase(key);
      unseen_.erase(key);
      out.push_back({ChangeOp::Set, key, rows_[key]});
    }
    for (; keys < max && !order_.empty(); ++keys) {
      const std::string key = order_.front();
      order_.pop_front();
      const Work work = staged_.extract(key).mapped();
      const bool whole = unseen_.erase(key) != 0 || !written_only_;
      if (!work.remove && !work.set) out.push_back({ChangeOp::Set, key, rows_[key]});
      if (work.remove) {
        out.push_back({ChangeOp::Delete, key, {}});
        rows_.erase(key);
      }
      if (!work.set) continue;
      PlainFields& row = rows_[key];
      for (const auto& [name, value] : *work.set) row[name] = value;
      out.push_back({ChangeOp::Set, key, whole ? row : *work.set});
    }
    return out;
  }

  std::size_t waiting() const { return order_.size() + walk_.size(); }
  bool caught_up() const { return unseen_.empty(); }
  const std::map<std::string, PlainFields>& rows() const { return rows_; }

 private:
  struct Work {
    bool remove = false;
    std::optional<PlainFields> set;
  };
  std::list<std::string> order_;
  std::map<std::string, Work> staged_;
  std::map<std::string, PlainFields> rows_;
  std::set<std::string> unseen_;  // Standing rows that the consumer has not received.
  std::set<std::string> walk_;    // Keys of unseen_ that are not staged.
  bool written_only_ = false;
};

std::map<std::string, PlainFields> rows_of(const MemoryTable& table) {
  std::map<std::string, PlainFields> rows;
  std::string cursor;
  do {
    const Result<RowPage> page = table.scan(cursor, 3);
    EXPECT_TRUE(page.has_value());
    for (const Record& record : page->rows) EXPECT_TRUE(rows.emplace(record.key(), plain(record.fields())).second);
    cursor = page->next;
  } while (!cursor.empty());
  return rows;
}

void compare_staged(std::uint64_t seed, std::uint64_t keys, int operations) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto table = std::make_shared<StagedTable>(TableSpec{.name = "T"});
  StagedModel model;
  std::unique_ptr<Subscription> consumer = *table->subscribe();
  int wakes = 0;
  consumer->on_ready([&wakes] { ++wakes; });
  for (int i = 0; i < operations; ++i) {
    const std::string key = std::to_string(random.below(keys));
    const std::uint64_t what = random.below(22);
    if (what < 10) {
      const Change change = random_set(random, key);
      const bool was_empty = consumer->empty();
      wakes = 0;
      ASSERT_TRUE(table->write(change).ok());
      ASSERT_EQ(wakes, was_empty ? 1 : 0);
      model.write(change);
    } else if (what < 15) {
      ASSERT_TRUE(table->write(Change::remove(key)).ok());
      model.write(Change::remove(key));
    } else if (what < 19) {
      const std::size_t max = random.below(keys + 2);
      std::vector<Change> out;
      const std::size_t taken = consumer->take(max, out);
      ASSERT_EQ(taken, out.size());
      std::vector<StagedModel::Popped> popped;
      for (const Change& change : out) popped.push_back({change.op(), std::string{change.key()}, plain(change.fields())});
      ASSERT_EQ(popped, model.pop(max, popped));
    } else if (what < 21) {
      const bool was_empty = consumer->empty();
      wakes = 0;
      consumer->requeue(key);
      model.requeue(key);
      ASSERT_EQ(wakes, was_empty && !consumer->empty() ? 1 : 0);
    } else {
      consumer.reset();
      const SubscribeOptions how{random.chance(0.5) ? Rows::Whole : Rows::Written, random.chance(0.8)};
      consumer = *table->subscribe(how);
      model.subscribe(how);
      wakes = 0;
      consumer->on_ready([&wakes] { ++wakes; });
      ASSERT_EQ(wakes, consumer->empty() ? 0 : 1);
    }
    ASSERT_EQ(consumer->depth(), model.waiting());
    ASSERT_EQ(consumer->empty(), model.waiting() == 0);
    ASSERT_EQ(consumer->caught_up(), model.caught_up());
    ASSERT_EQ(table->size().rows, model.rows().size());
  }
  ASSERT_EQ(rows_of(*table), model.rows());
  for (std::uint64_t k = 0; k < keys; ++k) {
    const Record record = table->get(std::to_string(k));
    ASSERT_EQ(static_cast<bool>(record), model.rows().contains(std::to_string(k)));
  }
}

TEST(StagedTable, EqualsAPlainModel) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    compare_staged(seed, 1 + seed % 7, 80);
    if (HasFatalFailure()) return;
  }
}

TEST(StagedTable, EqualsAPlainModelWithManyKeys) {
  constexpr std::uint64_t kSeeds = plain_or_sanitized(5, 1);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) compare_staged(seed, 3000, 20'000);
}

TEST(StagedTable, RowAndChangeShareOneRecordWhenNothingMerges) {
  const auto table = std::make_shared<StagedTable>(TableSpec{.name = "T"});
  const Change written = Change::set("k", {{"a", "1"}});
  ASSERT_TRUE(table->write(written).ok());
  const auto consumer = *table->subscribe();
  std::vector<Change> out;
  consumer->take(1, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].key().data(), written.key().data());
  EXPECT_EQ(table->get("k").key().data(), written.key().data());
}

/// One subscriber and the changes that it must receive: its own copy of the table, and the keys changed since its last take, oldest first.
struct WatcherModel {
  std::unique_ptr<Subscription> subscription;
  std::map<std::string, PlainFields> copy;
  std::list<std::string> changed;        // Changed after subscribing, in order.
  std::map<std::string, bool> at_start;  // Rows of the first full read that were not delivered yet.

  void note(const std::string& key, bool set, bool existed) {
    if (std::find(changed.begin(), changed.end(), key) != changed.end()) return;
    if (at_start.contains(key) && set && existed) return;  // The read delivers it later in its newest state.
    at_start.erase(key);
    changed.push_back(key);
  }
};

class WatchedModelTest {
 public:
  explicit WatchedModelTest(std::uint64_t seed) : random_(seed), keys_(1 + seed % 6) {}

  void step() {
    const std::string key = std::to_string(random_.below(keys_));
    const std::uint64_t what = random_.below(20);
    if (what < 8) {
      set(key);
    } else if (what < 13) {
      remove(key);
    } else if (what < 18) {
      if (!watchers_.empty()) take(watchers_[random_.below(watchers_.size())], random_.below(4));
    } else if (what == 18 && watchers_.size() < 4) {
      subscribe();
    } else if (!watchers_.empty()) {
      watchers_.erase(watchers_.begin() + static_cast<std::ptrdiff_t>(random_.below(watchers_.size())));
    }
    ASSERT_EQ(table_->size().rows, truth_.size());
    for (const WatcherModel& watcher : watchers_) {
      ASSERT_EQ(watcher.subscription->depth(), watcher.changed.size() + watcher.at_start.size());
    }
  }

  void finish() {
    for (WatcherModel& watcher : watchers_) {
      take(watcher, SIZE_MAX);
      ASSERT_EQ(watcher.copy, truth_);
    }
    ASSERT_EQ(rows_of(*table_), truth_);
  }

 private:
  void set(const std::string& key) {
    const Change change = random_set(random_, key);
    ASSERT_TRUE(table_->write(change).ok());
    const bool existed = truth_.contains(key);
    for (const auto& [name, value] : plain(change.fields())) truth_[key][name] = value;
    truth_.try_emplace(key);
    for (WatcherModel& watcher : watchers_) watcher.note(key, true, existed);
  }

  void remove(const std::string& key) {
    ASSERT_TRUE(table_->write(Change::remove(key)).ok());
    if (truth_.erase(key) == 0) return;
    for (WatcherModel& watcher : watchers_) watcher.note(key, false, true);
  }

  void subscribe() {
    WatcherModel watcher;
    watcher.subscription = *table_->subscribe();
    for (const auto& [key, fields] : truth_) watcher.at_start.emplace(key, true);
    watchers_.push_back(std::move(watcher));
  }

  void take(WatcherModel& watcher, std::size_t max) {
    std::vector<Change> out;
    const std::size_t expected = std::min(max, watcher.changed.size() + watcher.at_start.size());
    ASSERT_EQ(watcher.subscription->take(max, out), expected);
    ASSERT_EQ(out.size(), expected);
    for (const Change& change : out) {
      const std::string key{change.key()};
      if (watcher.at_start.empty()) {
        ASSERT_EQ(key, watcher.changed.front());
        watcher.changed.pop_front();
      } else {
        ASSERT_EQ(watcher.at_start.erase(key), 1U) << key;
      }
      ASSERT_EQ(change.op() == ChangeOp::Set, truth_.contains(key)) << key;
      if (change.op() == ChangeOp::Set) {
        ASSERT_EQ(plain(change.fields()), truth_[key]);
        watcher.copy[key] = truth_[key];
      } else {
        ASSERT_TRUE(change.fields().empty());
        watcher.copy.erase(key);
      }
    }
  }

  Random random_;
  std::uint64_t keys_;
  std::shared_ptr<WatchedTable> table_ = std::make_shared<WatchedTable>(TableSpec{.name = "W", .kind = TableKind::Watched});
  std::map<std::string, PlainFields> truth_;
  std::vector<WatcherModel> watchers_;
};

TEST(WatchedTable, EqualsAPlainModelForSeveralSubscribers) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WatchedModelTest test(seed);
    for (int i = 0; i < 80 && !testing::Test::HasFatalFailure(); ++i) test.step();
    test.finish();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(WatchedTable, SubscriptionMayOutliveTheTablesOwner) {
  auto table = std::make_shared<WatchedTable>(TableSpec{.name = "W", .kind = TableKind::Watched});
  ASSERT_TRUE(table->write(Change::set("k", {})).ok());
  const auto watcher = *table->subscribe();
  table.reset();
  std::vector<Change> out;
  EXPECT_EQ(watcher->take(9, out), 1U);
}

}  // namespace
}  // namespace rondo::store
