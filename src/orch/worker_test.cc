// Workers: Orchs on their own thread behave as at home. The tests with threads wait for events by condition, never by time. Those about
// the order of messages between threads run the turns of both runtimes on one thread.
#include "rondo/orch/worker.h"
#include "orch/row_tap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "journal/walk.h"
#include "orch/parked.h"
#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/journal/journal.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A home runtime with real clock and reactor; its thread is the test's.
class WorkerTest : public testing::Test {
 protected:
  /// Runs turns and waits until 'done'. The thread that makes it true must wake the home runtime.
  void run_until(const std::function<bool()>& done) {
    const Instant deadline = clock_.now() + 60s;
    while (!done()) {
      ASSERT_LT(clock_.now(), deadline) << "nothing more happened";
      if (!home.scheduler().turn()) home.scheduler().wait(clock_.now() + 1ms);
    }
  }

  SystemClock clock_;
  Runtime home;
};

TEST_F(WorkerTest, ChangesReachAnOrchOnItsThreadAndWritesComeBack) {
  Worker worker(home, {.name = "routes"});
  std::atomic<int> handled{0};
  std::thread::id where;
  auto& orch = worker.add<OpenOrch>("routes");
  orch.consume(
      "ROUTE",
      [&](std::string_view key, const Fields&) {
        where = std::this_thread::get_id();
        EXPECT_TRUE(worker.runtime().table("STATE").set(key, {{"state", "ok"}}).ok());
        ++handled;
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  std::vector<std::string> seen;
  auto& states = home.add<OpenOrch>("states");
  states.consume(
      "STATE",
      [&](std::string_view key, const Fields&) {
        seen.emplace_back(key);
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  ASSERT_TRUE(worker.start().ok());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(home.table("ROUTE").set(std::to_string(i), {{"a", "1"}}).ok());
  run_until([&] { return seen.size() == 1000; });
  worker.stop();
  EXPECT_EQ(handled.load(), 1000);
  EXPECT_NE(where, std::this_thread::get_id());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(i));
  EXPECT_EQ(home.scheduler().stats().sweep_rescues, 0U);
  EXPECT_EQ(worker.runtime().scheduler().stats().sweep_rescues, 0U);
}

// --- facts

/// Both runtimes on one thread, in an order that the test chooses.
class SteppedWorker : public RuntimeFixture, public testing::Test {
 protected:
  void settle() {
    while (runtime.run_until_idle() + worker.runtime().run_until_idle() > 0) {
    }
  }
  void consume_routes(OpenOrch& routes) {
    routes.consume(
        "ROUTE",
        [this, &routes](std::string_view key, const Fields& fields) {
          calls.push_back(call(ChangeOp::Set, key));
          const Fact needed{kGroup, fields.text("group").value_or("")};
          return routes.holds(needed) ? Outcome::done() : Outcome::wait_for(needed);
        },
        [](std::string_view) { return Outcome::done(); });
  }
  std::size_t parked() { return parked_rows(worker.runtime(), "ROUTE", 100).size(); }

  sim::World worker_world{2};
  Worker worker{runtime, {.name = "test", .clock = &worker_world.clock(), .reactor = &worker_world.reactor()}};
  OpenOrch& owner = add_groups();
};

TEST_F(SteppedWorker, RowWaitsForAFactOfTheHomeThreadAndIsQueuedByItsAnnouncement) {
  consume_routes(worker.add<OpenOrch>("routes"));
  set("ROUTE", "10.0.0.0/24", {{"group", "102"}});
  settle();
  EXPECT_EQ(parked(), 1U);
  EXPECT_TRUE(owner.is_awaited({kGroup, "102"}));
  groups.insert("102");
  owner.announce({kGroup, "102"});
  settle();
  EXPECT_EQ(parked(), 0U);
  EXPECT_THAT(calls, ElementsAre("S 10.0.0.0/24", "S 10.0.0.0/24"));
  EXPECT_FALSE(owner.is_awaited({kGroup, "102"}));
}

/// `get` and `why` said that such a row was done.
TEST_F(SteppedWorker, ARowThatWaitsInTheRingIsQueuedAndNotDone) {
  OpenOrch& routes = worker.add<OpenOrch>("routes");
  const ConsumerHandle table = routes.consume(
      "ROUTE", [](std::string_view, const Fields&) { return Outcome::done(); }, [](std::string_view) { return Outcome::done(); });
  set("ROUTE", "before", {});
  settle();
  routes.hold(table);
  set("ROUTE", "k", {{"a", "1"}});
  settle();
  Record row;
  runtime.store().get("ROUTE", "k", [&row](const Result<Record>& record) { row = *record; });
  settle();
  ASSERT_TRUE(row) << "the row has left its table";
  for (const WhyLink& link : {runtime.row_state("ROUTE", row), runtime.why("ROUTE", "k").chain.at(0)}) {
    EXPECT_EQ(link.state, WhyLink::State::Queued);
    EXPECT_EQ(link.note, "it waits for worker 'test', which has not taken it yet; Orch 'routes' holds the table");
  }
  EXPECT_EQ(runtime.row_state("ROUTE", "before").state, WhyLink::State::Absent);
  const Result<std::unique_ptr<RowTap>> tap = runtime.tap("ROUTE", [](const RowEvent&) {});
  ASSERT_FALSE(tap.has_value());
  EXPECT_EQ(tap.error().to_string(),
            "unimplemented: the Orch that consumes the table 'ROUTE' runs on worker 'test', whose rows cannot be watched or waited for");
  routes.release(table);
  settle();
  EXPECT_EQ(runtime.row_state("ROUTE", row).state, WhyLink::State::Absent);
}

TEST_F(SteppedWorker, ARowIsHandledAgainWhenAFactOfTheHomeThreadEnds) {
  OpenOrch& routes = worker.add<OpenOrch>("routes");
  routes.consume(
      "ROUTE",
      [this, &routes](std::string_view key, const Fields& fields) {
        calls.push_back(call(ChangeOp::Set, key));
        const Fact needed{kGroup, fields.text("group").value_or("")};
        return routes.holds(needed) ? Outcome::done_while(needed) : Outcome::wait_for(needed);
      },
      [](std::string_view) { return Outcome::done(); });
  const auto begin = [this] {
    groups.insert("102");
    owner.announce({kGroup, "102"});
  };
  const auto end = [this] {
    groups.erase("102");
    owner.withdraw({kGroup, "102"});
  };
  set("ROUTE", "10.0.0.0/24", {{"group", "102"}});
  settle();
  begin();
  settle();
  EXPECT_EQ(parked(), 0U);
  calls.clear();
  end();
  begin();  // The worker sees both events: an end is never lost.
  settle();
  EXPECT_THAT(calls, ElementsAre("S 10.0.0.0/24"));
  EXPECT_EQ(parked(), 0U);
  end();
  settle();
  EXPECT_EQ(parked(), 1U);
  EXPECT_THAT(calls, ElementsAre("S 10.0.0.0/24", "S 10.0.0.0/24"));
}

TEST_F(SteppedWorker, ASweepAsksAgainForAFactWhoseAnnouncementWasForgotten) {
  consume_routes(worker.add<OpenOrch>("routes"));
  set("ROUTE", "10.0.0.0/24", {{"group", "102"}});
  settle();
  EXPECT_EQ(parked(), 1U);
  groups.insert("102");  // Without an announcement.
  worker_world.run_for(worker.runtime().scheduler(), 1s);
  settle();
  worker_world.run_for(worker.runtime().scheduler(), 1s);
  EXPECT_EQ(parked(), 0U);
}

TEST_F(SteppedWorker, FactThatHeldBeforeAnybodyAskedIsFoundByAsking) {
  groups.insert("102");  // Never announced.
  consume_routes(worker.add<OpenOrch>("routes"));
  set("ROUTE", "10.0.0.0/24", {{"group", "102"}});
  set("ROUTE", "10.0.1.0/24", {{"group", "102"}});
  settle();
  EXPECT_EQ(parked(), 0U);
  calls.clear();
  set("ROUTE", "10.0.2.0/24", {{"group", "102"}});
  settle();
  EXPECT_THAT(calls, ElementsAre("S 10.0.2.0/24")) << "what was asked once is known";
}

TEST_F(SteppedWorker, WithdrawnFactIsWaitedForAgain) {
  groups.insert("102");
  consume_routes(worker.add<OpenOrch>("routes"));
  set("ROUTE", "a", {{"group", "102"}});
  settle();
  groups.erase("102");
  owner.withdraw({kGroup, "102"});
  set("ROUTE", "b", {{"group", "102"}});
  settle();
  EXPECT_EQ(parked(), 1U);
  groups.insert("102");
  owner.announce({kGroup, "102"});
  settle();
  EXPECT_EQ(parked(), 0U);
}

/// The announcement is made at each point between the handler's check and the worker's sleep.
TEST_F(SteppedWorker, AnnouncementAtAnyPointOfParkingIsSeen) {
  auto& routes = worker.add<OpenOrch>("routes");
  bool announce_in_handler = false;
  routes.consume(
      "ROUTE",
      [&](std::string_view, const Fields& fields) {
        const Fact needed{kGroup, fields.text("group").value_or("")};
        if (routes.holds(needed)) return Outcome::done();
        if (announce_in_handler) {
          groups.insert(needed.key);
          owner.announce(needed);
        }
        return Outcome::wait_for(needed);
      },
      [](std::string_view) { return Outcome::done(); });
  for (int turns = 0; turns < 12; ++turns) {
    const std::string group = std::to_string(turns);
    announce_in_handler = turns == 0;
    set("ROUTE", group, {{"group", group}});
    for (int turn = 0; turn < turns; ++turn) {
      runtime.run_until_idle(1);
      worker.runtime().run_until_idle(1);
    }
    if (!announce_in_handler) {
      groups.insert(group);
      owner.announce({kGroup, group});
    }
    settle();
    EXPECT_EQ(parked(), 0U) << "announced after " << turns << " turns of each";
  }
  EXPECT_EQ(worker.runtime().consumers().at(0).spurious_waits, 0U);
}

TEST_F(SteppedWorker, HomeWaitsForAFactOfAWorkerAndAWorkerForOneOfAnother) {
  sim::World third_world{3};
  Worker third(runtime, {.name = "third", .clock = &third_world.clock(), .reactor = &third_world.reactor()});
  constexpr FactKind kNeighbor{"neighbor"};
  std::set<std::string, std::less<>> neighbors;
  auto& provider = third.add<OpenOrch>("neighbors");
  provider.provide(kNeighbor, [&](std::string_view key) { return neighbors.contains(key); });
  std::vector<std::string> done;
  const auto wait_on = [&](OpenOrch& orch, const std::string& table) {
    orch.consume(
        table,
        [&done, &orch, table](std::string_view key, const Fields&) {
          const Fact needed{kNeighbor, std::string{key}};
          if (!orch.holds(needed)) return Outcome::wait_for(needed);
          done.push_back(table);
          return Outcome::done();
        },
        [](std::string_view) { return Outcome::done(); });
  };
  wait_on(runtime.add<OpenOrch>("at home"), "A");
  wait_on(worker.add<OpenOrch>("at worker"), "B");
  const auto settle_all = [&] {
    while (runtime.run_until_idle() + worker.runtime().run_until_idle() + third.runtime().run_until_idle() > 0) {
    }
  };
  set("A", "10.1.1.1");
  set("B", "10.1.1.1");
  settle_all();
  EXPECT_TRUE(done.empty());
  neighbors.insert("10.1.1.1");
  provider.announce({kNeighbor, "10.1.1.1"});
  settle_all();
  EXPECT_THAT(done, testing::UnorderedElementsAre("A", "B"));
}

TEST_F(SteppedWorker, ProviderThatGoesHoldsNothingAndItsSuccessorIsAsked) {
  constexpr FactKind kPort{"port"};
  auto provider = std::make_unique<OpenOrch>(runtime, "ports");
  provider->provide(kPort, [](std::string_view) { return true; });
  auto& needs = worker.add<OpenOrch>("needs");
  needs.consume(
      "NEEDS",
      [&](std::string_view key, const Fields&) {
        const Fact needed{kPort, std::string{key}};
        return needs.holds(needed) ? Outcome::done() : Outcome::wait_for(needed);
      },
      [](std::string_view) { return Outcome::done(); });
  set("NEEDS", "1");
  settle();
  EXPECT_EQ(parked_rows(worker.runtime(), "NEEDS", 9).size(), 0U);
  provider.reset();
  set("NEEDS", "1");
  settle();
  EXPECT_EQ(parked_rows(worker.runtime(), "NEEDS", 9).size(), 1U);
  OpenOrch successor(runtime, "successor");
  successor.provide(kPort, [](std::string_view) { return true; });
  settle();
  EXPECT_EQ(parked_rows(worker.runtime(), "NEEDS", 9).size(), 0U);
}

TEST_F(SteppedWorker, ObserversAreToldAcrossThreadsAndAnEndIsNeverLost) {
  worker.add<OpenOrch>("watcher").observe(
      kGroup, [this](std::string_view key, bool holds) { calls.push_back((holds ? "+" : "-") + std::string{key}); });
  owner.announce({kGroup, "flaps"});
  settle();
  for (int i = 0; i < 100; ++i) {
    owner.withdraw({kGroup, "flaps"});
    owner.announce({kGroup, "flaps"});
  }
  owner.announce({kGroup, "new"});
  settle();
  EXPECT_THAT(calls, ElementsAre("+flaps", "-flaps", "+flaps", "+new"));
}

TEST(WorkerJournal, HasFilesOfItsOwn) {
  const TemporaryFolder directory;
  SystemClock clock;
  {
    Runtime home({.observer = std::move(Journal::open({.file = directory.file("day.journal")}, clock).value())});
    Worker worker(home,
                  {.name = "routes", .observer = std::move(Journal::open({.file = directory.file("routes.journal")}, clock).value())});
    const auto handle = [](std::string_view, const Fields&) { return Outcome::done(); };
    worker.add<OpenOrch>("routes").consume("ROUTE", handle, [](std::string_view) { return Outcome::done(); });
    home.add<OpenOrch>("ports").consume("PORT", handle, [](std::string_view) { return Outcome::done(); });
    ASSERT_TRUE(home.table("ROUTE").set("10.0.0.0/24", {{"group", "1"}}).ok());
    ASSERT_TRUE(home.table("PORT").set("Ethernet0", {{"state", "up"}}).ok());
    while (home.run_until_idle() + worker.runtime().run_until_idle() > 0) {
    }
  }
  const auto text = [&](const char* name) {
    const auto reader = std::move(journal::JournalReader::open(directory.file(name)).value());
    std::string all;
    for (journal::JournalWalk walk(*reader); walk.next();) all += journal::swss_lines(walk);
    return all;
  };
  EXPECT_THAT(text("routes.journal"), testing::AllOf(HasSubstr("|ROUTE:10.0.0.0/24|SET|group:1"), testing::Not(HasSubstr("PORT"))));
  EXPECT_THAT(text("day.journal"), testing::AllOf(HasSubstr("|PORT:Ethernet0|SET|state:up"), testing::Not(HasSubstr("ROUTE"))));
}

// --- introspection

TEST_F(SteppedWorker, HomeTellsWhyARowOfAWorkerWaits) {
  constexpr FactKind kNeighbor{"neighbor"};
  consume_routes(worker.add<OpenOrch>("routes"));
  owner.consume(
      "GROUP",
      [&](std::string_view, const Fields&) {
        return Outcome::wait_for({kNeighbor, "10.1.1.1"});
      },
      [](std::string_view) { return Outcome::done(); });
  runtime.explain(kGroup, [](std::string_view key) { return FactOrigin{"GROUP", std::string{key}, {}}; });
  worker.runtime().explain(kNeighbor, [](std::string_view key) { return FactOrigin{"", "", "no neighbor " + std::string{key}}; });
  set("ROUTE", "10.0.0.0/24", {{"group", "102"}});
  set("GROUP", "102");
  settle();
  const Why why = runtime.why("ROUTE", "10.0.0.0/24");
  ASSERT_EQ(why.chain.size(), 2U);
  EXPECT_EQ(why.chain[0].state, WhyLink::State::Parked);
  EXPECT_EQ(why.chain[0].provider, "groups");
  EXPECT_EQ(why.chain[1].table, "GROUP");
  EXPECT_THAT(why.chain[1].note,
              testing::AllOf(HasSubstr("no Orch provides facts of the kind 'neighbor'"), HasSubstr("no neighbor 10.1.1.1")));
  EXPECT_EQ(parked_rows(runtime, "ROUTE", 9).size(), 1U);
  EXPECT_EQ(parked_facts(runtime, 9).size(), 2U);
  EXPECT_EQ(stats("ROUTE").parked, 1U);
}

TEST_F(SteppedWorker, TheParkedRowsOfAWorkerComeInPages) {
  consume_routes(worker.add<OpenOrch>("routes"));
  for (int i = 0; i < 20; ++i) set("ROUTE", "10.0." + std::to_string(i) + ".0/24", {{"group", "102"}});
  settle();
  std::set<std::string> keys;
  std::uint32_t place = 0;
  while (place != kNoPlace) {
    const std::vector<ParkedRow> page = parked_rows(runtime, "ROUTE", 8, place);
    EXPECT_LE(page.size(), 8U);
    for (const ParkedRow& row : page) EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  }
  EXPECT_EQ(keys.size(), 20U);
}

TEST_F(SteppedWorker, WhyAsksWorkersForSoLongAltogether) {
  constexpr FactKind kNeighbor{"neighbor"};
  const std::vector<Fact> many(20, Fact{kNeighbor, "10.1.1.1"});
  owner.consume(
      "GROUP", [&](std::string_view, const Fields&) { return Outcome::wait_for(many); }, [](std::string_view) { return Outcome::done(); });
  int asked = 0;
  worker.runtime().explain(kNeighbor, [&](std::string_view) {
    ++asked;
    world.clock().advance(limits::kWhyWait / 2);
    return FactOrigin{"", "", "no neighbor"};
  });
  set("GROUP", "102");
  settle();
  const Why why = runtime.why("GROUP", "102");
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(why.cut_short);
  EXPECT_EQ(why.chain.at(0).missing, many.size());
}

// --- rejects

TEST_F(SteppedWorker, RejectsThatWaitAtItsEndAreAllToldHoweverLongThatTakes) {
  constexpr int kRows = 1000;
  sim::World ending_world{3};
  auto ending = std::make_unique<Worker>(
      runtime, WorkerOptions{.name = "ending", .clock = &ending_world.clock(), .reactor = &ending_world.reactor()});
  ending->add<OpenOrch>("picky").consume(
      "T",
      [](std::string_view, const Fields&) {
        return Outcome::reject({StatusCode::InvalidArgument, "no"});
      },
      [](std::string_view) { return Outcome::done(); });
  int told = 0;
  runtime.on_reject([&](std::string_view, const Change&, const Status&) {
    ++told;
    world.clock().advance(limits::kTurnTime / 100);
  });
  for (int i = 0; i < kRows; ++i) set("T", std::to_string(i));
  runtime.run_until_idle();
  ending->runtime().run_until_idle();
  ASSERT_EQ(ending->runtime().consumers().at(0).rejected, static_cast<std::uint64_t>(kRows));
  ASSERT_EQ(told, 0) << "they are on their way";
  ending.reset();
  EXPECT_EQ(told, kRows);
}

using WorkerDeathTest = SteppedWorker;
TEST_F(WorkerDeathTest, KindProvidedOnTwoThreadsIsAProgramError) {
  auto& other = worker.add<OpenOrch>("other");
  EXPECT_DEATH(other.provide(kGroup, [](std::string_view) { return false; }),
               "Orch 'other': facts of the kind 'group' have a provider: Orch 'groups'");
}

}  // namespace
}  // namespace rondo
