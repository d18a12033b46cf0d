// The contract of Store as tests: each promise of rondo/store/store.h once, for any implementation. An implementation needs a StoreWorld
// and a line in store_contract_test.cc. The tests use only the interface and rely only on settled state, so an asynchronous store may fetch
// ahead. To test merging, they write while no consumer is subscribed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/store.h"

namespace rondo::store {

/// A store and the scheduler on which it runs.
class StoreWorld {
 public:
  virtual ~StoreWorld() = default;
  virtual Store& store() = 0;
  virtual Scheduler& scheduler() = 0;
  /// Runs the scheduler, and advances time, until no more work is pending.
  virtual void settle() = 0;
  /// The number of tables that exist from the beginning.
  virtual std::size_t tables_at_first() const { return 0; }
  /// True if size() reports the number of rows. A store whose rows are remote may not know it.
  virtual bool counts_rows() const { return true; }
  /// What Store::write_answer() must return for a table.
  virtual WriteAnswer write_answer() const { return WriteAnswer::Confirmed; }
};

/// A world whose connection can break; only the promises about gaps need it.
class BreakableStoreWorld : public StoreWorld {
 public:
  virtual void disconnect() = 0;
  virtual void reconnect() = 0;
  /// Another client writes, whether or not our connection is up.
  virtual void write_elsewhere(std::string_view table, Change change) = 0;
};

template <class World>
struct WorldMaker {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
  friend void PrintTo(const WorldMaker& maker, std::ostream* out) { *out << maker.name; }
};

template <class World>
std::string name_of(const testing::TestParamInfo<WorldMaker<World>>& info) {
  return info.param.name;
}

/// A change as one line: "SET key a=1 b=2", "DEL key", "flush key x=y".
inline std::string line(const Change& change) {
  std::string text{change.verb()};
  text.append(" ").append(change.key());
  for (const Field field : change.fields()) text.append(" ").append(field.name).append("=").append(field.value);
  return text;
}

inline std::string row_line(const Record& record) {
  std::map<std::string, std::string> fields;  // The order of a row's fields is not promised.
  for (const Field field : record.fields()) fields.emplace(field.name, field.value);
  std::string text{record.key()};
  for (const auto& [name, value] : fields) text.append(" ").append(name).append("=").append(value);
  return text;
}

template <class World>
class StoreTest : public testing::TestWithParam<WorldMaker<World>> {
 protected:
  Store& store() { return world_->store(); }
  World& world() { return *world_; }
  void settle() { world_->settle(); }
  void expect_rows(std::string_view table, std::size_t rows) {
    const Result<Store::Size> size = store().size(table);
    ASSERT_TRUE(size.has_value());
    EXPECT_EQ(size->rows, world_->counts_rows() ? std::optional{rows} : std::nullopt);
  }

  WriteAnswer answer() const { return world_->write_answer(); }
  void declare(const std::string& table, TableKind kind, std::size_t rows_max = limits::kTableRows) {
    const Status status = store().declare({.name = table, .kind = kind, .rows_max = rows_max});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  void set(std::string_view table, std::string_view key, FieldList fields) { write(table, Change::set(key, fields)); }
  void remove(std::string_view table, std::string_view key) { write(table, Change::remove(key)); }
  void send(std::string_view table, std::string_view verb, std::string_view key) { write(table, Change::event(verb, key, {})); }
  void write(std::string_view table, Change change) {
    const Status status = store().write(table, std::move(change));
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

  std::unique_ptr<Subscription> subscribe(std::string_view table, const SubscribeOptions& options = {}) {
    Result<std::unique_ptr<Subscription>> subscription = store().subscribe(table, options);
    if (!subscription) {
      ADD_FAILURE() << subscription.error().to_string();
      return nullptr;
    }
    settle();
    return std::move(*subscription);
  }

  static std::vector<std::string> take(Subscription& subscription, std::size_t max = SIZE_MAX) {
    std::vector<Change> changes;
    const std::size_t taken = subscription.take(max, changes);
    EXPECT_EQ(taken, changes.size());
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(line(change));
    return lines;
  }
  /// Takes and settles until nothing is left.
  std::vector<std::string> take_all(Subscription& subscription, std::size_t each = SIZE_MAX) {
    std::vector<std::string> lines;
    settle();
    while (!subscription.empty()) {
      for (std::string& taken : take(subscription, each)) lines.push_back(std::move(taken));
      settle();
    }
    return lines;
  }

  /// Returns the result of an asynchronous write.
  Status end_of_write(std::string_view table, Change change) {
    std::vector<Status> ends;
    Status at_once = store().write(table, std::move(change), [&ends](const Status& status) { ends.push_back(status); });
    EXPECT_TRUE(ends.empty()) << "completed inside the call";
    settle();
    EXPECT_EQ(ends.size(), at_once.ok() ? 1U : 0U);
    return ends.empty() ? std::move(at_once) : ends.front();
  }
  Result<Record> get(std::string_view table, std::string_view key) {
    std::vector<Result<Record>> ends;
    store().get(table, key, [&ends](const Result<Record>& record) { ends.push_back(record); });
    EXPECT_TRUE(ends.empty()) << "completed inside the call";
    settle();
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? failure(StatusCode::Internal, "get() never ended") : ends.front();
  }
  /// Returns "key a=1", or "no row".
  std::string row(std::string_view table, std::string_view key) {
    const Result<Record> record = get(table, key);
    if (!record) return record.error().to_string();
    return *record ? row_line(*record) : "no row";
  }
  Result<RowPage> scan(std::string_view table, std::string_view cursor, std::size_t max) {
    std::vector<Result<RowPage>> ends;
    store().scan(table, cursor, max, [&ends](const Result<RowPage>& page) { ends.push_back(page); });
    EXPECT_TRUE(ends.empty()) << "completed inside the call";
    settle();
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? failure(StatusCode::Internal, "scan() never ended") : ends.front();
  }

 private:
  std::unique_ptr<World> world_ = this->GetParam().make();
};

class StoreContract : public StoreTest<StoreWorld> {};
class BreakableStoreContract : public StoreTest<BreakableStoreWorld> {};

}  // namespace rondo::store
