// PriorityWorkers: a thread for each priority, Orchs that stay on theirs, order within one priority, facts across threads, and options
// that the system refuses. The tests with threads wait for events, never for time, and require that the sweep finds no wake-up.
#include "rondo/orch/priority_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "orch/runtime_fixture.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Outcome done(std::string_view) { return Outcome::done(); }

class PriorityWorkersTest : public testing::Test {
 protected:
  void run_until(const std::function<bool()>& reached) {
    const Instant deadline = clock_.now() + 100s;
    while (!reached()) {
      ASSERT_LT(clock_.now(), deadline) << "nothing more happened";
      if (!home.scheduler().turn()) home.scheduler().wait(clock_.now() + 1ms);
    }
  }
  void set(std::string_view table, std::string_view key, FieldList fields = {}) { ASSERT_TRUE(home.table(table).set(key, fields).ok()); }
  SystemClock clock_;
  Runtime home;
};

TEST_F(PriorityWorkersTest, AnOrchAndAllItsSourcesLiveOnTheThreadOfItsPriority) {
  std::mutex guard;
  std::map<std::string, std::set<std::thread::id>, std::less<>> where;  // By Orch.
  std::map<std::string, int, std::less<>> nice;
  std::atomic<int> handled{0};
  // Declared after the members that its handlers use.
  PriorityWorkers workers(home, [](Priority priority, WorkerOptions& options) { options.nice = priority == Priority::p1 ? 19 : 0; });
  const auto note = [&](const Orch& orch) {
    const std::lock_guard<std::mutex> lock(guard);
    where[std::string{orch.name()}].insert(std::this_thread::get_id());
    nice[std::string{orch.name()}] = ::getpriority(PRIO_PROCESS, 0);
    ++handled;
  };
  for (const auto& [name, priority] : {std::pair("ports", Priority::p7), {"groups", Priority::p7}, {"routes", Priority::p1}}) {
    auto& orch = workers.add<OpenOrch>(priority, name, priority);
    for (const char* const table : {"_A", "_B"}) {
      orch.consume(
          std::string{name} + table,
          [&note, &orch](std::string_view, const Fields&) {
            note(orch);
            return Outcome::done();
          },
          done);
    }
  }
  EXPECT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers.at(Priority::p7).name(), "orchs-p7");
  ASSERT_TRUE(workers.start().ok());
  EXPECT_EQ(workers.start().code(), StatusCode::FailedPrecondition);
  for (int i = 0; i < 50; ++i) {
    for (const char* const table : {"ports_A", "ports_B", "groups_A", "groups_B", "routes_A", "routes_B"}) set(table, std::to_string(i));
  }
  run_until([&] { return handled.load() == 300; });
  workers.stop();
  for (const auto& [name, threads] : where) EXPECT_EQ(threads.size(), 1U) << name;
  EXPECT_EQ(where["ports"], where["groups"]);
  EXPECT_NE(where["ports"], where["routes"]);
  EXPECT_FALSE(where["ports"].contains(std::this_thread::get_id()));
  EXPECT_EQ(nice["routes"], 19);
  EXPECT_EQ(nice["ports"], ::getpriority(PRIO_PROCESS, 0)) << "the others keep that of the process";
}

/// Rows of three priorities wait for each other's facts in a chain, and are written in reverse order.
TEST_F(PriorityWorkersTest, FactsAreAnnouncedAcrossWorkersAndNoWakeUpIsLost) {
  constexpr int kRows = 3000;
  constexpr FactKind kKinds[] = {FactKind{"low"}, FactKind{"middle"}, FactKind{"high"}};
  struct Level {
    std::set<std::string, std::less<>> made;
    OpenOrch* orch = nullptr;
  };
  Level levels[3];
  std::atomic<int> finished{0};
  PriorityWorkers workers(home);
  for (std::size_t i = 0; i < 3; ++i) {
    const Priority priority{static_cast<unsigned>(i)};
    Level& level = levels[i];
    level.orch = &workers.add<OpenOrch>(priority, "level" + std::to_string(i), priority);
    level.orch->provide(kKinds[i], [&level](std::string_view key) { return level.made.contains(key); });
    level.orch->consume(
        "L" + std::to_string(i),
        [&, i](std::string_view key, const Fields&) {
          if (i + 1 < 3 && !level.orch->holds({kKinds[i + 1], std::string{key}})) {
            return Outcome::wait_for({kKinds[i + 1], std::string{key}});
          }
          level.made.emplace(key);
          level.orch->announce({kKinds[i], std::string{key}});
          if (i == 0) ++finished;
          return Outcome::done();
        },
        done);
  }
  EXPECT_EQ(workers.size(), 3U);
  ASSERT_TRUE(workers.start().ok());
  for (const char* const table : {"L0", "L1", "L2"}) {
    for (int row = 0; row < kRows; ++row) set(table, std::to_string(row));
  }
  run_until([&] { return finished.load() == kRows; });
  workers.stop();
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(levels[i].made.size(), static_cast<std::size_t>(kRows));
    EXPECT_EQ(workers.at(Priority{i}).runtime().scheduler().stats().sweep_rescues, 0U);
  }
  EXPECT_EQ(home.scheduler().stats().sweep_rescues, 0U);
}

/// Without threads: the test runs the turns of home and workers.
class SteppedPriorityWorkers : public RuntimeFixture, public testing::Test {};

TEST_F(SteppedPriorityWorkers, WithinAPriorityATablesRowsKeepTheirOrderAndTablesTakeTurns) {
  sim::World other{2};
  PriorityWorkers workers(runtime, [&](Priority, WorkerOptions& options) {
    options.clock = &other.clock();
    options.reactor = &other.reactor();
  });
  for (const char* const table : {"A", "B"}) {
    workers.add<OpenOrch>(Priority::p3, table, Priority::p3)
        .consume(
            table,
            [this, table](std::string_view key, const Fields&) {
              calls.push_back(std::string{table} + std::string{key});
              return Outcome::done();
            },
            done);
  }
  for (const char* const key : {"1", "2", "3"}) set("A", key);
  for (const char* const key : {"1", "2"}) set("B", key);
  while (runtime.run_until_idle() + workers.at(Priority::p3).runtime().run_until_idle() > 0) {
  }
  EXPECT_THAT(calls, ElementsAre("A1", "B1", "A2", "B2", "A3"));
}

TEST_F(PriorityWorkersTest, ACpuThatDoesNotExistStartsNone) {
  PriorityWorkers workers(home, [](Priority priority, WorkerOptions& options) {
    if (priority == Priority::p1) options.cpus = {4000};
  });
  workers.add<OpenOrch>(Priority::p1, "low", Priority::p1);
  workers.add<OpenOrch>(Priority::p2, "high", Priority::p2);
  const Status refused = workers.start();
  EXPECT_EQ(refused.code(), StatusCode::InvalidArgument) << refused.to_string();
  EXPECT_THAT(std::string{refused.message()}, HasSubstr("orchs-p1"));
  EXPECT_FALSE(workers.at(Priority::p1).running());
  EXPECT_FALSE(workers.at(Priority::p2).running());
}

TEST_F(PriorityWorkersTest, AWorkerWhoseOptionsCouldNotBeAdjustedIsNotThereAndCanBeAskedForAgain) {
  bool fails = true;
  PriorityWorkers workers(home, [&fails](Priority, WorkerOptions&) {
    if (fails) throw std::runtime_error("no journal");
  });
  EXPECT_THROW(workers.at(Priority::p1), std::runtime_error);
  EXPECT_EQ(workers.size(), 0U);
  workers.stop();
  fails = false;
  workers.add<OpenOrch>(Priority::p1, "low", Priority::p1);
  EXPECT_TRUE(workers.start().ok());
  EXPECT_TRUE(workers.at(Priority::p1).running());
}

TEST_F(PriorityWorkersTest, TheHomeRuntimeMayEndFirst) {
  auto short_lived = std::make_unique<Runtime>();
  PriorityWorkers workers(*short_lived);
  workers.add<OpenOrch>(Priority::p1, "low", Priority::p1);
  ASSERT_TRUE(workers.start().ok());
  short_lived.reset();
  EXPECT_FALSE(workers.at(Priority::p1).running());
}

using PriorityWorkersDeathTest = PriorityWorkersTest;

TEST_F(PriorityWorkersDeathTest, AnOrchOfAnotherPriorityIsAProgramError) {
  PriorityWorkers workers(home);
  EXPECT_DEATH(workers.add<OpenOrch>(Priority::p1, "low", Priority::p2), "priority");
}

}  // namespace
}  // namespace rondo
