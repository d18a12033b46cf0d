// RedisFaults: a store, a model of what was written and delivered, and a server or link that the test breaks. For tests only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/redis/testing/table.h"

namespace rondo::redis {

class RedisFaults : public RedisTableTest {
 protected:
  /// Opens a store on the server, or on another link to it.
  void open(RedisStoreOptions options) {
    driver_.reset();
    driver_ = std::make_unique<StoreDriver>(std::move(options));
    declare(*driver_, "T");
    declare(*driver_, "W", TableKind::Watched);
    declare(*driver_, "Q", TableKind::Queue);
    declare(*driver_, "C", TableKind::Channel);
  }
  void open() {
    open(quick_options());
    driver_->settle();
  }
  void open(redis_kit::RedisProxy& proxy) { open(proxy, quick_options()); }
  void open(redis_kit::RedisProxy& proxy, RedisStoreOptions options) {
    options.address = proxy.address();
    open(options);
    driver_->settle();
  }
  void close() { driver_.reset(); }
  StoreDriver& driver() noexcept { return *driver_; }
  RedisStore& store() noexcept { return driver_->store(); }

  /// Writes a numbered Set of one of some keys, or a Delete of one, and updates the model. Field n only grows.
  void write_next(std::string_view table, Random& random, std::size_t keys) {
    const std::string key = "k" + std::to_string(random.below(keys));
    if (random.chance(0.2)) {
      model_.remove(key);
      return write(*driver_, table, Change::remove(key));
    }
    const std::string n = std::to_string(++sequence_);
    model_.set(key, {{"n", n}});
    set(*driver_, table, key, {{"n", n}});
  }
  /// Takes, and checks the changes against those delivered before: never an older n after a newer one.
  void take_into_told(Subscription& consumer, std::size_t max = SIZE_MAX) {
    std::vector<Change> changes;
    consumer.take(max, changes);
    for (const Change& change : changes) {
      told_.apply(change);
      const auto n = change.fields().find("n");
      if (!n) continue;
      std::uint64_t& newest = newest_[std::string{change.key()}];
      EXPECT_LE(newest, std::stoull(std::string{*n})) << "key " << change.key() << ": an older value after a newer one";
      newest = std::stoull(std::string{*n});
    }
  }
  void drain(Subscription& consumer) {
    driver_->settle();
    while (!consumer.empty()) {
      take_into_told(consumer);
      driver_->settle();
    }
  }
  void expect_all_arrived(Subscription& consumer, const std::string& prefix = "T:") {
    drain(consumer);
    // A consumer that came back walks over the rows first, in steps that settle() does not see.
    driver_->run_until([&] {
      take_into_told(consumer);
      return told_.rows() == model_.rows() && rows_in_redis(prefix) == model_.rows();
    });
    EXPECT_EQ(told_.rows(), model_.rows());
    EXPECT_EQ(rows_in_redis(prefix), model_.rows());
  }
  /// Some writes, some turns, some takes.
  void churn(Subscription& consumer, Random& random, int rounds, std::string_view table = "T") {
    for (int round = 0; round < rounds; ++round) {
      for (std::uint64_t i = random.below(40); i > 0; --i) write_next(table, random, 200);
      driver_->scheduler().run_until_idle();
      take_into_told(consumer, random.between(1, 60));
    }
  }
  const Rows& told() const noexcept { return told_.rows(); }

 private:
  std::unique_ptr<StoreDriver> driver_;
  RowModel model_;
  RowModel told_;
  std::map<std::string, std::uint64_t> newest_;
  std::uint64_t sequence_ = 0;
};

}  // namespace rondo::redis
