// The worlds of the Store implementations for the contract tests, each on a scheduler in simulated time. For tests only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/sim_store.h"
#include "store/bridge/bridge_store.h"
#include "store/routed_store.h"
#include "store/store_contract.h"

namespace rondo::store {

class MemoryStoreWorld final : public StoreWorld {
 public:
  Store& store() override { return *store_; }
  Scheduler& scheduler() override { return scheduler_; }
  void settle() override { scheduler_.run_until_idle(); }
  WriteAnswer write_answer() const override { return WriteAnswer::Accepted; }

 private:
  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  std::unique_ptr<Store> store_ = make_memory_store(scheduler_);
};

/// Tables with a one-letter name are in a separate store behind the routed one.
class RoutedStoreWorld final : public StoreWorld {
 public:
  RoutedStoreWorld() {
    std::vector<std::string> routed;
    for (char letter = 'A'; letter <= 'z'; ++letter) routed.push_back({letter});
    store_.route(make_memory_store(scheduler_), routed);
  }
  Store& store() override { return store_; }
  Scheduler& scheduler() override { return scheduler_; }
  void settle() override { scheduler_.run_until_idle(); }
  WriteAnswer write_answer() const override { return WriteAnswer::Accepted; }

 private:
  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  RoutedStore store_{make_memory_store(scheduler_)};
};

class SimStoreWorld final : public BreakableStoreWorld {
 public:
  explicit SimStoreWorld(sim::SimStoreOptions options) : store_(scheduler_, options) {}
  Store& store() override { return store_; }
  Scheduler& scheduler() override { return scheduler_; }
  void settle() override { world_.run_for(scheduler_, 300ms); }
  void disconnect() override { store_.disconnect(); }
  void reconnect() override { store_.reconnect(); }
  void write_elsewhere(std::string_view table, Change change) override {
    const Status status = store_.server().write(table, std::move(change));
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

 private:
  sim::World world_{1};
  Scheduler scheduler_{world_.clock(), world_.reactor(), *make_policy(StrictPriority{})};
  sim::SimStore store_;
};

/// A worker's store over a home store; one thread steps both schedulers.
class BridgeStoreWorld final : public StoreWorld {
 public:
  Store& store() override { return bridge_; }
  Scheduler& scheduler() override { return worker_scheduler_; }
  void settle() override {
    while (home_scheduler_.run_until_idle() + worker_scheduler_.run_until_idle() > 0) {
    }
  }

 private:
  sim::World home_world_{1};
  sim::World worker_world_{2};
  Scheduler home_scheduler_{home_world_.clock(), home_world_.reactor(), *make_policy(StrictPriority{})};
  Scheduler worker_scheduler_{worker_world_.clock(), worker_world_.reactor(), *make_policy(StrictPriority{})};
  std::unique_ptr<Store> home_store_ = make_memory_store(home_scheduler_);
  bridge::HomeBridge home_{home_scheduler_, *home_store_, {}};
  bridge::BridgeStore bridge_{worker_scheduler_, home_};
};

}  // namespace rondo::store
