// The worlds of the Redis store for the contract tests: a separate real server, in real time. For tests only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/redis_store.h"
#include "store/redis/testing/proxy.h"
#include "store/redis/testing/server.h"
#include "store/store_contract.h"

namespace rondo::redis {

/// A store on a scheduler in real time, driven by the test.
class StoreDriver {
 public:
  explicit StoreDriver(RedisStoreOptions options) : store_(scheduler_, std::move(options)) {}
  RedisStore& store() noexcept { return store_; }
  Scheduler& scheduler() noexcept { return scheduler_; }
  const Clock& clock() const noexcept { return clock_; }

  /// Runs turns until 'done' returns true, for at most 'patience'. Returns whether it did.
  template <class Done>
  bool run_until(Done done, Duration patience = 20s) {
    const Instant deadline = clock_.now() + patience;
    scheduler_.run_until_idle();
    while (!done() && clock_.now() < deadline) {
      scheduler_.wait(std::min(deadline, clock_.now() + 20ms));
      scheduler_.run_until_idle();
    }
    return done();
  }

  /// Runs until the store has nothing to do: it is connected, every write is answered, and several round trips in a row brought nothing
  /// else. A new consumer needs eight until its first pop is visible: its subscription may be confirmed two late, then it lists and reads
  /// what is in flight, walks over the rows, counts and pops. On a loaded machine the walk, whose steps end by time, takes several more.
  void settle() {
    EXPECT_TRUE(run_until([this] { return store_.health().ok() && store_.unanswered() == 0; })) << store_.health().to_string();
    const std::vector<TableSpec> tables = store_.tables();
    constexpr int kQuiet = 20;
    for (int quiet = tables.empty() ? kQuiet : 0; quiet < kQuiet;) {
      const std::string before = activity();
      bool answered = false;
      store_.get(tables.front().name, "settling", [&answered](const Result<Record>&) { answered = true; });
      ASSERT_TRUE(run_until([&answered] { return answered; }));
      const bool there = run_until([this] { return store_.health().ok(); });
      ASSERT_TRUE(there) << store_.health().to_string();
      quiet = activity() == before && store_.unanswered() == 0 ? quiet + 1 : 0;
    }
  }

 private:
  std::string activity() const {
    const RedisStoreStats& s = store_.stats();
    std::string text;
    for (const std::uint64_t n : {s.transactions, s.pops, s.popped, s.recovered, s.reads, s.resyncs, s.connects}) {
      text += std::to_string(n) + " ";
    }
    return text;
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  RedisStore store_;
};

/// The ways to connect to a server; each has its own code below the protocol.
enum class Way : std::uint8_t { UnixSocket, Tcp, Tls };

class RedisStoreWorld : public store::BreakableStoreWorld {
 public:
  explicit RedisStoreWorld(Way way) : server_({.tcp = way == Way::Tcp, .tls = way == Way::Tls}) {
    RedisStoreOptions options;
    options.lease = 0s;
    options.address = way == Way::Tcp ? server_.tcp_address() : way == Way::Tls ? server_.tls_address() : server_.address();
    driver_ = std::make_unique<StoreDriver>(options);
    driver_->settle();
  }
  Store& store() override { return driver_->store(); }
  Scheduler& scheduler() override { return driver_->scheduler(); }
  void settle() override {
    if (away_) {
      driver_->scheduler().run_until_idle();
    } else {
      driver_->settle();
    }
  }
  bool counts_rows() const override { return false; }
  void disconnect() override {
    server_.freeze();
    away_ = true;
  }
  void reconnect() override {
    server_.thaw();
    away_ = false;
  }
  void write_elsewhere(std::string_view, Change) override {}

 private:
  redis_kit::RedisServer server_;
  std::unique_ptr<StoreDriver> driver_;
  bool away_ = false;
};

}  // namespace rondo::redis
