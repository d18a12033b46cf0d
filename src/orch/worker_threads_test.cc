// Workers with real threads: no change is lost, duplicated or reordered, whatever is full, throws or ends. Also for the thread sanitizer.
// No test depends on time: the sweep would find and count a lost wake-up, or the test would wait until its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "orch/parked.h"
#include "orch/row_tap.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/orch/worker.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class WorkerThreads : public testing::Test {
 protected:
  /// The home thread runs turns until 'done'.
  void run_until(const std::function<bool()>& done) {
    const Instant deadline = clock_.now() + 100s;
    while (!done()) {
      ASSERT_LT(clock_.now(), deadline) << "nothing more happened";
      if (!home->scheduler().turn()) home->scheduler().wait(clock_.now() + 1ms);
    }
  }
  void set(std::string_view table, std::string_view key, FieldList fields = {}) { ASSERT_TRUE(home->table(table).set(key, fields).ok()); }
  static void expect_no_rescue(Runtime& runtime) { EXPECT_EQ(runtime.scheduler().stats().sweep_rescues, 0U); }

  SystemClock clock_;
  std::unique_ptr<Runtime> home = std::make_unique<Runtime>();
};

Outcome done(std::string_view) { return Outcome::done(); }

/// Every key's last value arrives, and no value older than one already seen. The ring is so small that both sides wait constantly.
TEST_F(WorkerThreads, LastValueOfEveryKeyArrivesThroughATinyLane) {
  constexpr int kWrites = 20'000;
  Worker worker(*home, {.name = "tiny", .ring_changes = 2});
  std::map<std::string, int, std::less<>> seen;
  std::atomic<bool> last{false};
  auto& orch = worker.add<OpenOrch>("orch");
  orch.consume(
      "T",
      [&](std::string_view key, const Fields& fields) {
        const int value = static_cast<int>(*fields.integer("v", 0, kWrites));
        int& newest = seen[std::string{key}];
        EXPECT_GE(value, newest);
        newest = value;
        if (key == "end") last = true;
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  std::mt19937 random(1);
  std::map<std::string, int, std::less<>> written;
  for (int i = 1; i < kWrites; ++i) {
    const std::string key = std::to_string(random() % 50);
    written[key] = i;
    set("T", key, {{"v", std::to_string(i)}});
    if (random() % 4 == 0) home->scheduler().turn();
  }
  set("T", "end", {{"v", "1"}});
  run_until([&] { return last.load(); });
  worker.stop();
  seen.erase("end");
  EXPECT_EQ(seen, written);
  expect_no_rescue(*home);
  expect_no_rescue(worker.runtime());
}

/// The handler blocks; meanwhile the home thread's other tables have their turns, and written changes merge.
TEST_F(WorkerThreads, StandstillOfAWorkerStopsNobodyElseAndMergesWhatWaits) {
  Worker worker(*home, {.name = "slow", .ring_changes = 4});
  std::latch entered(1);
  std::latch go(1);
  std::atomic<int> handled{0};
  std::atomic<int> newest{0};
  auto& slow = worker.add<OpenOrch>("slow");
  slow.consume(
      "SLOW",
      [&](std::string_view, const Fields& fields) {
        if (handled++ == 0) {
          entered.count_down();
          go.wait();
        }
        newest = static_cast<int>(*fields.integer("v", 0, 100'000));
        return Outcome::done();
      },
      done);
  int ports = 0;
  auto& port = home->add<OpenOrch>("ports", Priority::p0);
  port.consume(
      "PORT",
      [&](std::string_view, const Fields&) {
        ++ports;
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  set("SLOW", "k", {{"v", "0"}});
  run_until([&] { return entered.try_wait(); });
  for (int i = 1; i <= 10'000; ++i) {
    set("SLOW", "k", {{"v", std::to_string(i)}});
    set("PORT", std::to_string(i));
    home->run_until_idle();
  }
  EXPECT_EQ(ports, 10'000);
  EXPECT_EQ(handled.load(), 1);
  go.count_down();
  run_until([&] { return newest.load() == 10'000; });
  worker.stop();
  EXPECT_LE(handled.load(), 8) << "a full ring leaves the rest in the table, merged";
}

TEST_F(WorkerThreads, StopWhileFullHandlesWhatHasComeAndLeavesTheRestInTheTable) {
  constexpr std::size_t kRows = 1000;
  Worker worker(*home, {.name = "full", .ring_changes = 16, .drain = 60s});
  std::atomic<std::size_t> handled{0};
  std::latch entered(1);
  std::latch go(1);
  auto& orch = worker.add<OpenOrch>("orch");
  orch.consume(
      "T",
      [&](std::string_view, const Fields&) {
        if (handled++ == 0) {
          entered.count_down();
          go.wait();
        }
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  for (std::size_t i = 0; i < kRows; ++i) set("T", std::to_string(i));
  run_until([&] { return entered.try_wait(); });
  home->run_until_idle();
  const std::size_t waiting = home->store().size("T")->staged;
  EXPECT_LT(waiting, kRows);
  EXPECT_GT(waiting, kRows - 64);
  go.count_down();
  worker.stop();
  EXPECT_EQ(handled.load(), kRows - waiting);
  EXPECT_EQ(home->store().size("T")->staged, waiting);
  EXPECT_EQ(worker.stats().untaken, 0U);
  EXPECT_FALSE(worker.running());
  EXPECT_EQ(worker.start().code(), StatusCode::FailedPrecondition);
}

TEST_F(WorkerThreads, WhatAWorkerHasNoTimeForAtItsEndIsGivenUpAndCounted) {
  EXPECT_EQ(WorkerOptions{}.drain, limits::kWorkerDrain);
  EXPECT_EQ(WorkerOptions{}.ring_changes, limits::kWorkerRing);
  EXPECT_EQ(WorkerOptions{}.requests_max, limits::kWorkerRequests);
  constexpr std::size_t kRows = 2000;
  Worker worker(*home, {.name = "short of time", .drain = Duration{0}});
  std::size_t handled = 0;
  std::latch entered(1);
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        if (handled++ == 0) {
          entered.count_down();
          while (!worker.runtime().scheduler().stopping()) std::this_thread::yield();
        }
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  for (std::size_t i = 0; i < kRows; ++i) set("T", std::to_string(i));
  run_until([&] { return entered.try_wait(); });
  home->run_until_idle();
  ASSERT_EQ(home->store().size("T")->staged, 0U) << "all of them are on their way";
  worker.stop();
  EXPECT_GT(worker.stats().untaken, 0U);
  EXPECT_EQ(handled + worker.stats().untaken, kRows);
}

TEST_F(WorkerThreads, HomeThatEndsFirstStopsItsWorkers) {
  auto worker = std::make_unique<Worker>(*home, WorkerOptions{.name = "orphan"});
  std::atomic<int> handled{0};
  auto& orch = worker->add<OpenOrch>("orch");
  orch.provide(kGroup, [](std::string_view) { return true; });
  orch.consume(
      "T",
      [&](std::string_view, const Fields&) {
        ++handled;
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker->start().ok());
  for (int i = 0; i < 100; ++i) set("T", std::to_string(i));
  run_until([&] { return handled.load() > 0; });
  home.reset();
  EXPECT_FALSE(worker->running());
  EXPECT_EQ(worker->runtime().store().size("T").error().code(), StatusCode::Unavailable);
  EXPECT_EQ(worker->start().code(), StatusCode::FailedPrecondition);
  worker.reset();
}

TEST_F(WorkerThreads, AConsumerThatIsQuarantinedOnAWorkerIsKnownAtHome) {
  Worker worker(*home, {.name = "odd"});
  auto& orch = worker.add<OpenOrch>("orch");
  std::unique_ptr<RowTap> tap;
  orch.consume(
      "T",
      [&](std::string_view, const Fields&) {
        tap = std::move(*worker.runtime().tap("T", [](const RowEvent&) { throw std::runtime_error("the tap threw"); }));
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  EXPECT_THAT(home->standstills(10), testing::IsEmpty());
  set("T", "k");
  // One answer is looked at: on a loaded machine the worker may not get its CPU in time for the next question.
  std::vector<std::string> told;
  run_until([&] { return !(told = home->standstills(10)).empty(); });
  EXPECT_THAT(told, ElementsAre(testing::AllOf(HasSubstr("source T is quarantined"), HasSubstr("on a worker"))));
  worker.stop();
  tap.reset();
}

TEST_F(WorkerThreads, AWorkerThatItsOwnCodeStopsIsKnownAtHome) {
  Worker worker(*home, {.name = "odd"});
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        worker.runtime().stop();
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  EXPECT_TRUE(worker.running());
  set("T", "k");
  run_until([&] { return !worker.running(); });
  EXPECT_TRUE(worker.has_stopped_itself());
  EXPECT_THAT(home->standstills(10), ElementsAre(HasSubstr("worker 'odd' was stopped by its own code")));
  EXPECT_THAT(home->why("T", "later").chain.at(0).note, HasSubstr("was stopped by its own code"));
  worker.stop();
  EXPECT_FALSE(worker.running());
  EXPECT_FALSE(worker.has_stopped_itself());
  EXPECT_THAT(home->standstills(10), testing::IsEmpty());
}

TEST_F(WorkerThreads, WorkerThatWasNeverStartedEndsQuietly) {
  Worker worker(*home, {.name = "idle"});
  worker.add<OpenOrch>("orch").consume(
      "T", [](std::string_view, const Fields&) { return Outcome::done(); }, done);
  worker.stop();
  EXPECT_FALSE(worker.running());
}

TEST_F(WorkerThreads, StartSaysWhatItWasNotGranted) {
  Worker worker(*home, {.name = "pinned", .cpus = {100'000}});
  const Status status = worker.start();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.to_string(), HasSubstr("worker 'pinned'"));
  EXPECT_FALSE(worker.running());
}

#if defined(__SANITIZE_THREAD__)
// The sanitizer delays the signal that requests the name until the turn makes a call that the sanitizer intercepts.
constexpr bool kNamesStalls = false;
#else
constexpr bool kNamesStalls = true;
#endif

TEST_F(WorkerThreads, AWatchdogNamesTheTableWhoseHandlerDoesNotReturn) {
  std::latch told(1);
  std::atomic<bool> is_told{false};
  const auto tell = [&](const Stall& stall) {
    if ((stall.source == "T" || !kNamesStalls) && !is_told.exchange(true)) told.count_down();
  };
  Worker worker(*home, {.name = "watched", .watchdog = StallWatchdogOptions{.limit = 20ms, .on_stall = tell}});
  std::atomic<bool> handled{false};
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        told.wait();
        handled = true;
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  set("T", "k");
  run_until([&] { return handled.load(); });
  worker.stop();
  EXPECT_TRUE(is_told.load());
}

TEST_F(WorkerThreads, AWatchdogThatCannotBeStartsNone) {
  Worker worker(*home, {.name = "watched", .watchdog = StallWatchdogOptions{.limit = Duration{0}}});
  EXPECT_EQ(worker.start().code(), StatusCode::InvalidArgument);
  EXPECT_FALSE(worker.running());
}

TEST_F(WorkerThreads, ThrowingHandlerIsARejectThatTheHomeRuntimeTells) {
  std::vector<std::string> told;
  const std::thread::id home_thread = std::this_thread::get_id();
  home->on_reject([&](std::string_view table, const Change& change, const Status& why) {
    EXPECT_EQ(std::this_thread::get_id(), home_thread);
    told.push_back(std::string{table} + " " + std::string{change.key()} + ": " + why.to_string());
  });
  Worker worker(*home, {.name = "throws"});
  std::atomic<int> handled{0};
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view key, const Fields&) -> Outcome {
        ++handled;
        if (key == "bad") throw std::runtime_error("cannot bear it");
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  for (const char* key : {"a", "bad", "b"}) set("T", key);
  run_until([&] { return handled.load() == 3 && told.size() == 1; });
  worker.stop();
  EXPECT_THAT(told, ElementsAre(HasSubstr("T bad: ")));
  EXPECT_THAT(told.at(0), HasSubstr("cannot bear it"));
}

TEST_F(WorkerThreads, WhoIsToldOfARejectMayStopTheWorker) {
  Worker worker(*home, {.name = "picky"});
  std::set<std::string> told;
  home->on_reject([&](std::string_view table, const Change& change, const Status& why) {
    worker.stop();
    // Copied only now: the strings must still be valid after the stop has reported the other rejects.
    told.insert(std::string{table} + " " + std::string{change.key()} + ": " + std::string{why.message()});
  });
  std::atomic<int> handled{0};
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view key, const Fields&) {
        ++handled;
        return Outcome::reject({StatusCode::InvalidArgument, "no such thing as " + std::string{key}});
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  const std::string long_key(100, 'k');
  for (int i = 0; i < 100; ++i) set("T", long_key + std::to_string(i));
  run_until([&] { return !told.empty(); });
  EXPECT_FALSE(worker.running());
  home->run_until_idle();
  EXPECT_EQ(told.size(), static_cast<std::size_t>(handled.load()));
  for (const std::string& words : told) EXPECT_THAT(words, HasSubstr("no such thing as " + long_key));
}

TEST_F(WorkerThreads, SourceThatThrowsIsQuarantinedAndOthersGoOn) {
  Worker worker(*home, {.name = "quarantine"});
  test::WorkSource bad("bad", 40, 1);
  bad.on_run = [] { throw std::runtime_error("broken"); };
  std::string why;
  worker.runtime().scheduler().on_quarantine([&](const Source&, const Status& status) { why = status.to_string(); });
  worker.runtime().scheduler().add(bad);
  std::atomic<int> handled{0};
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        ++handled;
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  set("T", "a");
  run_until([&] { return handled.load() == 1; });
  worker.stop();
  EXPECT_THAT(why, HasSubstr("broken"));
  worker.runtime().scheduler().remove(bad);
}

/// The handler writes more than the ring to home holds: it gets errors, and accepted writes arrive in order.
TEST_F(WorkerThreads, WritesBeyondTheWayHomeAreRefusedAndTheOthersKeepTheirOrder) {
  constexpr std::size_t kRequests = 8;
  ASSERT_TRUE(home->store().declare({.name = "Q", .kind = TableKind::Queue}).ok());
  Worker worker(*home, {.name = "writer", .requests_max = kRequests});
  std::vector<std::string> accepted;
  std::atomic<bool> written{false};
  std::size_t refused = 0;
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        Table queue = worker.runtime().table("Q");
        for (int i = 0; refused == 0; ++i) {
          const Status status = queue.set(std::to_string(i), {});
          if (status.ok()) {
            accepted.push_back(std::to_string(i));
          } else {
            EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
            ++refused;
          }
        }
        written = true;
        return Outcome::done();
      },
      done);
  std::vector<std::string> arrived;
  home->add<OpenOrch>("reader").listen(
      "Q", [&](const Change& change) { arrived.emplace_back(change.key()); }, TableKind::Queue);
  ASSERT_TRUE(worker.start().ok());
  set("T", "go");
  run_until([&] { return written.load(); });
  worker.stop();
  home->run_until_idle();
  EXPECT_GE(accepted.size(), kRequests);
  EXPECT_EQ(arrived, accepted);
  EXPECT_EQ(worker.stats().refused_requests, refused);
}

TEST_F(WorkerThreads, HomeAsksARunningWorkerAndDoesNotWaitForABusyOne) {
  Worker worker(*home, {.name = "asked"});
  std::latch entered(1);
  std::latch go(1);
  auto& orch = worker.add<OpenOrch>("orch");
  orch.consume(
      "T",
      [&](std::string_view key, const Fields&) {
        if (key == "waits") return Outcome::wait_for({kGroup, "1"});
        entered.count_down();
        go.wait();
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  set("T", "waits");
  run_until([&] { return parked_rows(*home, "T", 1).size() == 1; });
  // On a loaded machine the worker may not get its CPU in time for one question.
  run_until([&] {
    const auto chain = home->why("T", "waits").chain;
    return !chain.empty() && chain.front().state == WhyLink::State::Parked;
  });
  run_until([&] {
    const auto consumers = home->consumers();
    return !consumers.empty() && consumers.front().parked == 1;
  });
  set("T", "stands still");
  run_until([&] { return entered.try_wait(); });
  const std::uint64_t before = worker.stats().unanswered;
  EXPECT_THAT(home->why("T", "waits").chain.at(0).note, HasSubstr("worker 'asked' is busy"));
  EXPECT_EQ(home->row_state("T", "waits").state, WhyLink::State::Unknown) << "and not done";
  EXPECT_GT(worker.stats().unanswered, before);
  EXPECT_TRUE(parked_rows(*home, "T", 1).empty());
  go.count_down();
  worker.stop();
  EXPECT_EQ(parked_rows(*home, "T", 1).size(), 1U);
}

TEST_F(WorkerThreads, WhyAsksABusyWorkerOnce) {
  constexpr FactKind kOther{"other"};
  const std::vector<Fact> many(20, Fact{kOther, "1"});
  home->add<OpenOrch>("home").consume(
      "HOME", [&](std::string_view, const Fields&) { return Outcome::wait_for(many); }, done);
  Worker worker(*home, {.name = "busy"});
  std::latch entered(1);
  std::latch go(1);
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        entered.count_down();
        go.wait();
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  set("HOME", "k");
  set("T", "stands still");
  run_until([&] { return entered.try_wait() && parked_rows(*home, "HOME", 1).size() == 1; });
  const std::uint64_t before = worker.stats().unanswered;
  EXPECT_EQ(home->why("HOME", "k").chain.at(0).missing, many.size());
  EXPECT_EQ(worker.stats().unanswered, before + 1) << "and not for each of the facts";
  go.count_down();
  worker.stop();
}

/// declare() and subscribe() on the worker's thread wait for a turn of the home thread, also while the home thread waits for the worker's
/// end.
TEST_F(WorkerThreads, CallsOfTheWorkerAreAnsweredAlsoWhileItIsBeingStopped) {
  Worker worker(*home, {.name = "caller"});
  std::latch entered(1);
  bool declared = false;
  worker.add<OpenOrch>("orch").consume(
      "T",
      [&](std::string_view, const Fields&) {
        EXPECT_TRUE(worker.runtime().store().declare({.name = "BEFORE"}).ok());
        entered.count_down();
        while (!worker.runtime().scheduler().stopping()) std::this_thread::yield();
        declared = worker.runtime().table("AFTER").set("k", {}).ok();
        return Outcome::done();
      },
      done);
  ASSERT_TRUE(worker.start().ok());
  set("T", "go");
  run_until([&] { return entered.try_wait(); });
  worker.stop();
  EXPECT_TRUE(declared);
  EXPECT_EQ(home->store().size("AFTER")->staged, 1U);
}

/// Both threads waited for each other without an end.
TEST(WorkerStopDeathTest, IsNotInItsOwnTurn) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        Runtime home;
        Worker worker(home, {.name = "own"});
        worker.add<OpenOrch>("orch").consume(
            "T",
            [&](std::string_view, const Fields&) {
              worker.stop();
              return Outcome::done();
            },
            done);
        ASSERT_TRUE(worker.start().ok());
        ASSERT_TRUE(home.table("T").set("k", {}).ok());
        home.run();
      },
      "Worker::stop of worker 'own' was called in a turn of that worker");
}

}  // namespace
}  // namespace rondo
