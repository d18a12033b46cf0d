// The lives that rondo-sim lives, as tests: the same seed is the same life, others are others; and seeds that once found something, by
// name.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "life.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"

namespace rondo::swarm {
namespace {

std::uint64_t hash_of(std::string_view program, std::uint64_t seed) {
  const std::unique_ptr<Life> life = make_life(program, seed);
  live(*life, 2000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
  EXPECT_GE(life->world().turns(), 1000U);
  return life->world().hash();
}

/// Found in the switch agent: the order in which it gave orders was that of the addresses of its objects.
TEST(Swarm, ALifeIsTheSameEveryTimeWhereverItsObjectsLie) {
  for (const std::string_view program : programs()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::uint64_t first = hash_of(program, seed);
      const std::unique_ptr<Life> other = make_life(program, seed + 1000);  // Its objects are in the way.
      live(*other, 500);
      EXPECT_EQ(hash_of(program, seed), first) << program << " seed " << seed;
    }
  }
}

TEST(Swarm, DifferentSeedsAreDifferentLives) {
  std::set<std::uint64_t> hashes;
  for (const std::string_view program : programs()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) hashes.insert(hash_of(program, seed));
  }
  EXPECT_EQ(hashes.size(), 20 * programs().size());
}

// --- What was found, by name

/// A store that does not do some writes of NEXTHOP_SET: refuses them at once, or accepts them and says later that they failed.
class BadStore final : public test::PassingStore {
 public:
  enum class Write : std::uint8_t { Done, Refused, Failed };
  /// What becomes of the writes of NEXTHOP_SET, in order; the rest is done.
  BadStore(Scheduler& scheduler, std::vector<Write> fates) : PassingStore(make_memory_store(scheduler)), fates_(std::move(fates)) {}

  Status write(std::string_view table, Change change, WriteDone done) override {
    const Write fate = table == "NEXTHOP_SET" && writes_ < fates_.size() ? fates_[writes_++] : Write::Done;
    const Status bad{Code::Unavailable, "the store is not well"};
    if (fate == Write::Done) return store().write(table, std::move(change), std::move(done));
    if (fate == Write::Refused) return bad;
    store().get(table, change.key(), [done, bad](const Result<Record>&) { done(bad); });
    return {};
  }

 private:
  const std::vector<Write> fates_;
  std::size_t writes_ = 0;
};

/// A switch with one port and one neighbour, and a route to it that comes and goes.
class OneRoute {
 public:
  explicit OneRoute(std::vector<BadStore::Write> fates) : world(options(std::move(fates))) {
    world.plane().add_port("A");
    world.start([this](Runtime& runtime) {
      auto agent = std::make_shared<agent::Agent>(runtime, world.plane(), agent::AgentOptions{.mode = Programmer::Mode::Inline});
      EXPECT_TRUE(agent->start().ok());
      return agent;
    });
    world.set("PORT_TABLE", "A", {{"admin_status", "up"}});
    world.set("INTF_TABLE", "A", {});
    world.set("INTF_TABLE", "A:10.0.0.1/24", {});
    world.set("NEIGH_TABLE", "A:10.0.0.2", {{"neigh", "02:00:00:00:00:01"}});
    world.run_for(1s);
  }
  void set_route() { world.set("ROUTE_TABLE", "20.0.0.0/24", {{"nexthop", "10.0.0.2"}, {"ifname", "A"}}); }
  void remove_route() { world.remove("ROUTE_TABLE", "20.0.0.0/24"); }
  std::size_t sets() { return *world.runtime().store().size("NEXTHOP_SET")->rows; }
  void rest() { EXPECT_TRUE(world.come_to_rest()) << world.report(); }

  sim::World world;

 private:
  static sim::WorldOptions options(std::vector<BadStore::Write> fates) {
    sim::WorldOptions made;
    made.make_store = [fates = std::move(fates)](Scheduler& scheduler) { return std::make_unique<BadStore>(scheduler, fates); };
    return made;
  }
};

using Write = BadStore::Write;

// A port was made again and did not take its row's wish at once. The next try came while a newer row was on its way to the kernel, with the
// wish of the row before: the port stayed down, and its addresses away.
TEST(SwarmFound, TheOldWishOfAPortCameAfterTheNewOne) {
  const std::unique_ptr<Life> life = make_life("agent", 9855);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A route was told to wait for its set, which was there: it was asked later, and by then nobody had waited for the set, so that had gone.
// It waited for the set's return without having asked for it.
TEST(SwarmFound, ARouteWaitedForASetOfNextHopsThatNobodyHadAskedFor) {
  for (const std::uint64_t seed : {2099U, 2161U}) {
    const std::unique_ptr<Life> life = make_life("agent", seed);
    live(*life, 3000);
    EXPECT_FALSE(life->world().violation()) << life->world().report();
  }
}

TEST(SwarmFound, ARouteWhoseSetOfNextHopsWasNotWritten) {
  OneRoute box({Write::Failed, Write::Failed});
  box.set_route();
  box.rest();
  EXPECT_EQ(box.world.plane().route_count(), 1U);
}

TEST(SwarmFound, ASetOfNextHopsWhoseDeleteFailedStayedForEver) {
  OneRoute box({Write::Done, Write::Failed});
  box.set_route();
  box.rest();
  box.remove_route();
  box.world.run_for(30s);
  box.rest();
  EXPECT_EQ(box.sets(), 0U);
}

TEST(SwarmFound, ASetOfNextHopsWasForgottenWhenItWasWantedAgainAndRefused) {
  OneRoute box({Write::Done, Write::Failed, Write::Refused});
  box.set_route();
  box.rest();
  box.remove_route();
  box.world.run_for(10ms);
  box.world.plane().set_carrier("A", false);  // So that the set is not usable, and is asked for.
  box.world.run_for(10ms);
  box.set_route();
  box.world.run_for(20ms);
  box.remove_route();
  box.world.run_for(30s);
  box.rest();
  EXPECT_EQ(box.sets(), 0U);
}

}  // namespace
}  // namespace rondo::swarm
