// A store that needs time for a write, as a remote one does: the routes use a set of next hops again while the Delete of its row is under
// way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "../agent_lines.h"
#include "rondo/dataplane/simulated.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/world.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"
#include "switch_agent/agent.h"

namespace rondo::switch_agent {
namespace {

using testing::ElementsAre;

/// Holds the writes of NEXTHOP_SET back, in their order, while 'holds' is set.
class LateStore final : public test::PassingStore {
 public:
  explicit LateStore(Scheduler& scheduler) : PassingStore(make_memory_store(scheduler)) {}
  Status write(std::string_view table, Change change, WriteDone done) override {
    if (!holds || table != "NEXTHOP_SET") return PassingStore::write(table, std::move(change), std::move(done));
    held.emplace_back(std::move(change), std::move(done));
    return {};
  }
  /// Passes on the first 'changes' writes that it holds. If these are all, later writes are not held.
  void let_go(std::size_t changes = SIZE_MAX) {
    holds = changes < held.size();
    for (; changes > 0 && !held.empty(); --changes) {
      auto [change, done] = std::move(held.front());
      held.pop_front();
      ASSERT_TRUE(PassingStore::write("NEXTHOP_SET", std::move(change), std::move(done)).ok());
    }
  }

  bool holds = false;
  std::deque<std::pair<Change, WriteDone>> held;
};

class LateRows : public testing::Test {
 protected:
  LateRows() {
    plane.add_port("A");
    plane.add_port("B");
    EXPECT_TRUE(agent.start().ok());
    for (const char* const port : {"A", "B"}) {
      set("PORT_TABLE", port, {{"admin_status", "up"}});
      set("INTF_TABLE", port, {});
    }
    set("INTF_TABLE", "A:10.0.0.1/24", {});
    set("INTF_TABLE", "B:10.1.0.1/24", {});
    set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("NEIGH_TABLE", "B:10.1.0.2", {{"neigh", "02:00:00:00:01:02"}});
    route_by_a();
  }
  RuntimeOptions options() {
    RuntimeOptions options;
    options.clock = &world.clock();
    options.reactor = &world.reactor();
    options.store = [this](Scheduler& scheduler) -> Result<std::unique_ptr<Store>> {
      auto made = std::make_unique<LateStore>(scheduler);
      store = made.get();
      return std::unique_ptr<Store>{std::move(made)};
    };
    return options;
  }
  void set(std::string_view table, std::string_view key, FieldList fields) { ASSERT_TRUE(runtime.table(table).set(key, fields).ok()); }
  void route_by_a() {
    set("ROUTE_TABLE", "10.9.0.0/16", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}});
    run();
  }
  void run() { world.run_for(runtime.scheduler(), 1s); }
  Lines routes() {
    Lines lines = lines_of(plane);
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("route"); });
    return lines;
  }
  std::size_t parked() {
    std::size_t rows = 0;
    for (const ConsumerStats& stats : runtime.consumers()) rows += stats.queued + stats.parked + stats.in_flight;
    return rows;
  }

  sim::World world{1};
  SimDataPlane plane{{.spend = [this](Duration time) { world.clock().advance(time); }}};
  LateStore* store = nullptr;
  Runtime runtime{options()};
  Agent agent{runtime, plane, {.mode = Programmer::Mode::Inline}};
};

TEST_F(LateRows, ASetThatIsUsedAgainBeforeItsDeleteArrivesKeepsItsRow) {
  store->holds = true;
  ASSERT_TRUE(runtime.table("ROUTE_TABLE").remove("10.9.0.0/16").ok());
  run();
  ASSERT_EQ(store->held.size(), 1U) << "the Delete of the set";
  route_by_a();
  ASSERT_THAT(routes(), ElementsAre("route 10.9.0.0/16 via {A 10.0.0.2*1}"));
  store->let_go();
  run();
  EXPECT_EQ(runtime.store().size("NEXTHOP_SET")->rows, 1U);
  EXPECT_EQ(parked(), 0U) << "the Delete waits";
  EXPECT_THAT(routes(), ElementsAre("route 10.9.0.0/16 via {A 10.0.0.2*1}"));
}

/// The Delete, the Set of the second use and the Delete after it come one after the other. The set is used again before the last one comes.
TEST_F(LateRows, ASetThatIsUsedAThirdTimeBeforeItsSecondDeleteArrivesKeepsItsRow) {
  store->holds = true;
  ASSERT_TRUE(runtime.table("ROUTE_TABLE").remove("10.9.0.0/16").ok());
  run();
  route_by_a();
  ASSERT_TRUE(runtime.table("ROUTE_TABLE").remove("10.9.0.0/16").ok());
  run();
  ASSERT_EQ(store->held.size(), 3U) << "Delete, Set, Delete";
  store->let_go(1);
  run();
  store->let_go(1);
  run();
  route_by_a();
  store->let_go();
  run();
  EXPECT_EQ(runtime.store().size("NEXTHOP_SET")->rows, 1U);
  EXPECT_EQ(parked(), 0U) << "the Delete waits";
  EXPECT_THAT(routes(), ElementsAre("route 10.9.0.0/16 via {A 10.0.0.2*1}"));
}

TEST_F(LateRows, ADeleteThatArrivesBeforeTheSetIsUsedAgainMakesItAnew) {
  store->holds = true;
  ASSERT_TRUE(runtime.table("ROUTE_TABLE").remove("10.9.0.0/16").ok());
  run();
  store->let_go();
  run();
  EXPECT_EQ(runtime.store().size("NEXTHOP_SET")->rows, 0U);
  route_by_a();
  EXPECT_EQ(runtime.store().size("NEXTHOP_SET")->rows, 1U);
  EXPECT_THAT(routes(), ElementsAre("route 10.9.0.0/16 via {A 10.0.0.2*1}"));
}

TEST_F(LateRows, ASetThatIsUsedAgainAndLeftAgainGoes) {
  store->holds = true;
  ASSERT_TRUE(runtime.table("ROUTE_TABLE").remove("10.9.0.0/16").ok());
  run();
  route_by_a();
  ASSERT_TRUE(runtime.table("ROUTE_TABLE").remove("10.9.0.0/16").ok());
  run();
  store->let_go();
  run();
  EXPECT_EQ(runtime.store().size("NEXTHOP_SET")->rows, 0U);
  EXPECT_EQ(parked(), 0U);
  EXPECT_EQ(agent.nexthop_groups().counts().groups, 0U);
}

}  // namespace
}  // namespace rondo::switch_agent
