// Goal: a caller that misuses an Orch, a table or a runtime gets an immediate message with the names involved. Method: death tests, one
// for each rule, that check the message; beside them, permitted uses, which succeed.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

#include "orch/row_tap.h"
#include "orch/runtime_fixture.h"

#include "orch/parked.h"
namespace rondo {
namespace {

/// Runs 'what' on a thread that is not the runtime's.
template <class What>
void elsewhere(const What& what) {
  std::thread(what).join();
}

class MisuseDeathTest : public testing::Test, public RuntimeFixture {
 protected:
  MisuseDeathTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
  OpenOrch& orch = runtime.add<OpenOrch>("routes");
};

TEST_F(MisuseDeathTest, ATableIsWrittenByTheRuntimesThreadAlone) {
  Table table = runtime.table("ROUTE_TABLE");
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(table.set("k", {})); }),
               "Table::set, remove or write of ROUTE_TABLE was called on another thread than the runtime's; use Runtime::post");
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(table.remove("k")); }), "of ROUTE_TABLE was called on another thread");
  Store& store = runtime.store();
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(store.write("ROUTE_TABLE", Change::set("k", {}))); }),
               "Store::write of ROUTE_TABLE was called on another thread than the runtime's; use Runtime::post");
  EXPECT_DEATH(elsewhere([&] { store.get("ROUTE_TABLE", "k", {}); }), "Store::get of ROUTE_TABLE was called on another thread");
  EXPECT_DEATH(elsewhere([&] { store.scan("ROUTE_TABLE", {}, 1, {}); }), "Store::scan of ROUTE_TABLE was called on another thread");
  EXPECT_DEATH(elsewhere([&] { store.scan_written("ROUTE_TABLE", {}, 1, {}); }), "Store::scan_written of ROUTE_TABLE was called on");
  EXPECT_DEATH(elsewhere([&] { runtime.table("ROUTE_TABLE"); }), "Runtime::table of ROUTE_TABLE was called on another thread");
  EXPECT_TRUE(table.set("k", {}).ok());
}

TEST_F(MisuseDeathTest, ARuntimeIsReadAndSetUpByItsOwnThreadAlone) {
  const std::pair<const char*, std::function<void()>> uses[] = {
      {"consumers", [&] { runtime.consumers(); }},
      {"standstills", [&] { runtime.standstills(1); }},
      {"parked_facts", [&] { parked_facts(runtime, 1); }},
      {"parked_rows", [&] { parked_rows(runtime, "T", 1); }},
      {"rejected_rows", [&] { rejected_rows(runtime, "T", 1); }},
      {"awaited_facts", [&] { runtime.awaited_facts(); }},
      {"forgotten_facts", [&] { runtime.forgotten_facts(); }},
      {"why", [&] { runtime.why("T", "k"); }},
      {"row_state", [&] { runtime.row_state("T", "k"); }},
      {"tap", [&] { static_cast<void>(runtime.tap("T", [](const RowEvent&) {})); }},
      {"explain", [&] { runtime.explain(kGroup, [](std::string_view) { return FactOrigin{}; }); }},
      {"explain_state", [&] { runtime.explain_state("T", {}); }},
      {"reserve", [&] { runtime.reserve("T", "mine"); }},
      {"check_reserved", [&] { static_cast<void>(runtime.check_reserved("T")); }},
      {"find_part", [&] { runtime.find_part(typeid(int)); }},
      {"on_reject", [&] { runtime.on_reject({}); }}};
  for (const auto& [name, use] : uses) {
    EXPECT_DEATH(elsewhere(use), "Runtime::" + std::string{name} + " was called on another thread than the runtime's; use Runtime::post");
    use();
  }
}

// A death test of this style runs in a forked child.
TEST_F(MisuseDeathTest, ARuntimeOfTheParentIsNotDestroyedInAForkedChild) {
  testing::GTEST_FLAG(death_test_style) = "fast";
  auto opened = std::make_unique<Runtime>();
  EXPECT_DEATH(opened.reset(), "the end of a Runtime was called in a child process, made by fork.. or daemon.3.");
  EXPECT_DEATH(opened->run(), "open the Runtime after the fork");
  EXPECT_EXIT(
      {
        Runtime of_child;
        of_child.run_until_idle();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(MisuseDeathTest, ARuntimeThatAnotherThreadRunsIsNotDestroyed) {
  EXPECT_DEATH(
      {
        auto ran = std::make_unique<Runtime>();
        std::promise<void> runs;
        ASSERT_TRUE(ran->post([&] { runs.set_value(); }).ok());
        std::thread loop([&] { ran->run(); });
        runs.get_future().wait();
        ran.reset();
        loop.join();
      },
      "a Runtime is destroyed while another thread runs it; stop\\(\\) it, and join that thread");
  auto idle = std::make_unique<Runtime>();
  elsewhere([&] { idle->run_until_idle(); });
  idle.reset();
  auto never = std::make_unique<Runtime>();
  elsewhere([&] { never.reset(); });
}

TEST_F(MisuseDeathTest, AnOrchIsTouchedByTheRuntimesThreadAlone) {
  orch.provide(kGroup, [](std::string_view) { return true; });
  EXPECT_DEATH(elsewhere([&] {
                 orch.announce({kGroup, "102"});
               }),
               "Orch 'routes': announce\\(\\) of group:102 was called on another thread than the runtime's; use Runtime::post");
  EXPECT_DEATH(elsewhere([&] { orch.withdraw({kGroup, "102"}); }), "withdraw\\(\\) of group:102 was called on another thread");
  EXPECT_DEATH(elsewhere([&] { orch.holds({kGroup, "102"}); }), "holds\\(\\) of group:102 was called on another thread");
  EXPECT_DEATH(elsewhere([&] { orch.is_awaited({kGroup, "102"}); }), "is_awaited\\(\\) of group:102 was called on another thread");
  Ticket ticket;
  Consumer& consumer = orch.consume(
      "T",
      [&](std::string_view, const Fields&) {
        ticket = orch.current_ticket();
        return Outcome::staged();
      },
      [](std::string_view) { return Outcome::done(); });
  set("T", "k");
  run();
  EXPECT_DEATH(elsewhere([&] { orch.settle(ticket, Outcome::done()); }), "settle\\(\\) of a change of 'T' was called on another thread");
  EXPECT_DEATH(elsewhere([&] { orch.hold(consumer); }), "hold\\(\\) of T was called on another thread");
  EXPECT_DEATH(elsewhere([&] { orch.release(consumer); }), "release\\(\\) of T was called on another thread");
  EXPECT_DEATH(orch.settle(ticket, Outcome::staged()), "Orch 'routes' settles a change of 'T' as staged\\(\\) again");
  EXPECT_DEATH(orch.settle(Ticket{}, Outcome::done()), "Orch 'routes' settles a Ticket that names no change");
  EXPECT_DEATH(orch.current_ticket(), "current_ticket\\(\\) outside of a handler of single changes");
  orch.settle(ticket, Outcome::done());
  EXPECT_EQ(stats("T").done, 1U);
}

TEST_F(MisuseDeathTest, AFactIsAnnouncedAndWithdrawnByItsProviderAlone) {
  add_groups();
  EXPECT_DEATH(orch.announce({kGroup, "102"}), "Orch 'routes': announce\\(\\) of group:102, a fact that Orch 'groups' provides");
  EXPECT_DEATH(orch.withdraw({kGroup, "102"}), "Orch 'routes': withdraw\\(\\) of group:102, a fact that Orch 'groups' provides");
  EXPECT_DEATH(orch.announce({FactKind{"port"}, "1"}),
               "Orch 'routes': announce\\(\\) of port:1, a fact that no Orch provides; call provide\\(\\) first");
}

TEST_F(MisuseDeathTest, WhatAnOrchAsksForMakesSense) {
  const auto set_handler = [](std::string_view, const Fields&) { return Outcome::done(); };
  const auto remove_handler = [](std::string_view) { return Outcome::done(); };
  EXPECT_DEATH(orch.consume("T", set_handler, {}), "Orch 'routes' consumes table 'T' without a handler of Sets or of Deletes");
  EXPECT_DEATH(orch.consume("T", set_handler, remove_handler, {.kind = TableKind::Queue}),
               "consumes table 'T' as a queue; that kind is for listen");
  EXPECT_DEATH(orch.consume("T", set_handler, remove_handler, {.weight = 0}), "consumes table 'T' with the weight 0; it is from 1 to 1000");
  EXPECT_DEATH(orch.listen(
                   "T", [](const Change&) {}, TableKind::Staged),
               "listens to 'T' as a staged; that kind is for consume");
  EXPECT_DEATH(orch.consume_batches("T", {}), "consumes table 'T' without a handler of batches");
  EXPECT_DEATH(orch.provide(kGroup, {}), "Orch 'routes' provides 'group' and does not say what holds");
}

TEST_F(MisuseDeathTest, AChangeOfABatchIsAnsweredOnce) {
  orch.consume_batches("T", [](Batch& batch) {
    batch.done(0);
    EXPECT_DEATH(batch.done(0), "answers the change of 'T' 'twice' twice");
    EXPECT_DEATH(batch.done(1), "answers change 1 of a batch of 1 changes of 'T'");
  });
  set("T", "twice");
  run();
}

TEST_F(MisuseDeathTest, TurnsAreNotGivenInATurn) {
  orch.consume(
      "T",
      [&](std::string_view, const Fields&) {
        EXPECT_DEATH(runtime.run_until_idle(), "turns are given in a turn");
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  set("T", "k");
  run();
}

// --- The owner of a runtime

TEST(RuntimeOwner, IsTheThreadThatRunsTurnsAndAfterStopWhoeverJoinedIt) {
  Runtime runtime;
  Table table = runtime.table("T");
  ASSERT_TRUE(table.set("before the first turn", {}).ok());
  std::thread runs([&] { runtime.run(); });
  std::atomic<bool> written = false;
  ASSERT_TRUE(runtime.post([&] { written = table.set("in a turn", {}).ok(); }).ok());
  ASSERT_TRUE(runtime.post([&] { runtime.stop(); }).ok());
  runs.join();
  EXPECT_TRUE(written);
  EXPECT_TRUE(table.set("after the end", {}).ok());
  EXPECT_EQ(runtime.store().size("T")->staged, 3U);
}

TEST(RuntimeOwner, IsTheThreadOfAForeignLoopBetweenItsTurns) {
  Runtime runtime;
  elsewhere([&] {
    runtime.run_until_idle();
    EXPECT_TRUE(runtime.table("T").set("between two turns", {}).ok());
  });
  EXPECT_FALSE(runtime.scheduler().is_here());
  runtime.scheduler().move_here();
  EXPECT_TRUE(runtime.table("T").set("the loop has moved", {}).ok());
}

}  // namespace
}  // namespace rondo
