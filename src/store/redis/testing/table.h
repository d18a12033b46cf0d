// The fixture of tests of tables on Redis: a server, our stores on it, and what a consumer has received, checked against a plain model.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/random.h"
#include "store/redis/testing/worlds.h"

namespace rondo::redis {

using Row = std::map<std::string, std::string>;
using Rows = std::map<std::string, Row>;

/// The rows that a reader of changes has: a Set adds or replaces fields, a Delete removes the row. A row without fields is a row.
class RowModel {
 public:
  void set(const std::string& key, const Row& fields) {
    Row& row = rows_[key];
    for (const auto& [name, value] : fields) row[name] = value;
  }
  void remove(const std::string& key) { rows_.erase(key); }
  void apply(const Change& change) {
    if (change.op() == ChangeOp::Delete) return remove(std::string{change.key()});
    Row fields;
    for (const Field field : change.fields()) fields.emplace(field.name, field.value);
    set(std::string{change.key()}, fields);
  }
  const Rows& rows() const noexcept { return rows_; }

 private:
  Rows rows_;
};

inline std::vector<Field> fields_of(const Row& row) {
  std::vector<Field> fields;
  for (const auto& [name, value] : row) fields.push_back({name, value});
  return fields;
}

class RedisTableTest : public testing::Test {
 protected:
  void SetUp() override {
    RONDO_NEEDS_REDIS();
    start_server({});
  }
  void start_server(redis_kit::RedisServerOptions options) { server_ = std::make_unique<redis_kit::RedisServer>(std::move(options)); }
  redis_kit::RedisServer& server() { return *server_; }
  /// For a test that says what one pop takes, also on a busy machine: a script that may not read the time has no limit of time (scripts.h).
  void forbid_scripts_the_time() { EXPECT_EQ(server().command({"ACL", "SETUSER", "default", "-time"}), "OK"); }

  /// Short enough that a test can wait for them, long enough for a busy machine.
  RedisStoreOptions quick_options() const {
    RedisStoreOptions options;
    options.address = server_->address();
    options.connect_timeout = 1s;
    options.answer_timeout = 1s;
    options.backoff_high = 200ms;
    options.lease = 0s;  // Several stores consume here; the tests of leases set one.
    return options;
  }
  /// For a test that counts connections or resyncs: a busy machine, on which an answer is late, ends no connection.
  RedisStoreOptions patient_options() const {
    RedisStoreOptions options = quick_options();
    options.connect_timeout = 20s;
    options.answer_timeout = 20s;
    return options;
  }
  static void declare(StoreDriver& driver, const std::string& table, TableKind kind = TableKind::Staged) {
    const Status status = driver.store().declare({.name = table, .kind = kind});
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  static void write(StoreDriver& driver, std::string_view table, Change change) {
    const Status status = driver.store().write(table, std::move(change));
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
  static void set(StoreDriver& driver, std::string_view table, std::string_view key, FieldList fields) {
    write(driver, table, Change::set(key, fields));
  }
  static std::unique_ptr<Subscription> subscribe(StoreDriver& driver, std::string_view table, const SubscribeOptions& options = {}) {
    auto subscription = driver.store().subscribe(table, options);
    EXPECT_TRUE(subscription.has_value());
    return subscription ? std::move(*subscription) : nullptr;
  }
  static std::vector<std::string> take(Subscription& subscription, std::size_t max = SIZE_MAX) {
    std::vector<Change> changes;
    subscription.take(max, changes);
    std::vector<std::string> lines;
    for (const Change& change : changes) lines.push_back(store::line(change));
    return lines;
  }
  /// Takes and settles until nothing is left.
  static std::vector<std::string> take_all(StoreDriver& driver, Subscription& subscription, std::size_t each = SIZE_MAX) {
    std::vector<std::string> lines;
    driver.settle();
    while (!subscription.empty()) {
      for (std::string& line : take(subscription, each)) lines.push_back(std::move(line));
      driver.settle();
    }
    return lines;
  }

  /// All keys of a database, in order.
  static std::vector<std::string> all_keys(redis_kit::RedisClient& client) {
    std::vector<std::string> keys = client.list({"KEYS", "*"});
    std::ranges::sort(keys);
    return keys;
  }
  std::vector<std::string> all_keys() {
    std::vector<std::string> keys = server_->list({"KEYS", "*"});
    std::ranges::sort(keys);
    return keys;
  }
  /// The rows under a prefix in Redis, without the field that marks an empty row.
  Rows rows_in_redis(const std::string& prefix) {
    Rows rows;
    for (const std::string& key : server_->list({"KEYS", prefix + "*"})) {
      Row row = server_->hash(key);
      row.erase("NULL");
      rows[key.substr(prefix.size())] = std::move(row);
    }
    return rows;
  }

 private:
  std::unique_ptr<redis_kit::RedisServer> server_;
};

}  // namespace rondo::redis
