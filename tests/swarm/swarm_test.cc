// The lives of rondo-sim as tests: the same seed gives the same life, and other seeds give others. Seeds that once found a fault are tests
// with a name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent_life.h"
#include "base/testing/sanitized.h"
#include "fpm_life.h"
#include "life.h"
#include "rondo/store/memory_store.h"
#include "sim/passing_store.h"
#include "switch_agent/agent.h"
#include "table_life.h"

namespace rondo::swarm {
namespace {

std::uint64_t hash_of(std::string_view program, std::uint64_t seed) {
  const std::unique_ptr<Life> life = make_life(program, seed);
  live(*life, 2000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
  EXPECT_GE(life->world().turns(), 1000U);
  return life->world().hash();
}

/// Found in the switch agent: the addresses of its objects determined the order of its orders.
TEST(Swarm, ALifeIsTheSameEveryTimeWhereverItsObjectsLie) {
  for (const std::string_view program : programs()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::uint64_t first = hash_of(program, seed);
      const std::unique_ptr<Life> other = make_life(program, seed + 1000);  // Its objects occupy other addresses.
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

// --- What the seeds come to

/// Keeps the texts of faults, up to their first number.
class FaultsMet final : public sim::Checker {
 public:
  explicit FaultsMet(std::set<std::string>& met) : met_(met) {}
  std::string_view name() const noexcept override { return "faults-met"; }
  Status see(const sim::World&, const sim::Event& event) override {
    if (event.kind == sim::Event::Kind::Fault) met_.emplace(event.text.substr(0, event.text.find_first_of("-0123456789")));
    return {};
  }

 private:
  std::set<std::string>& met_;
};

constexpr std::uint64_t kSomeSeeds = plain_or_sanitized(200, 100);
constexpr std::uint64_t kSomeTurns = 1000;

TEST(Swarm, EachFaultIsMetBySomeHundredSeeds) {
  std::set<std::string> met;
  std::uint64_t injected = 0;
  for (const std::string_view program : programs()) {
    const std::uint64_t seeds = program == "schedulers" ? kSomeSeeds / 10 : kSomeSeeds;  // Three worlds, and rarely a quiet moment.
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const std::unique_ptr<Life> life = make_life(program, seed);
      life->world().add(std::make_unique<FaultsMet>(met));
      live(*life, kSomeTurns);
      ASSERT_FALSE(life->world().violation()) << life->world().report();
      injected += life->world().plane().injected();
    }
  }
  for (const char* const fault : {"a Channel has a gap",
                                  "a write is refused",
                                  "orders of kind ",
                                  "port Eth",
                                  "port L",
                                  "port PortChannel",
                                  "port V",
                                  "port Vlan",
                                  "port Vrf",
                                  "suspended for ",
                                  "the connection to the store is back",
                                  "the connection to the store is lost",
                                  "the disk is broken",
                                  "the disk is full",
                                  "the disk is well again",
                                  "the disk stands still for ",
                                  "the end of a group of writes is lost",
                                  "the end of a write is unknown",
                                  "the kernel has no room for objects of kind ",
                                  "the kernel has room again",
                                  "the process ends",
                                  "the send buffer is full",
                                  "the wall clock is set by ",
                                  "two keys change places",
                                  "zebra breaks off",
                                  "zebra connects"}) {
    EXPECT_EQ(met.erase(fault), 1U) << "nobody met: " << fault;
  }
  if (programs().back() == "jobs") {
    for (const char* const fault : {"a commit is lost", "a commit is stored without an answer", "a connection is cut", "a scheduler stops",
                                    "an operation fails: unavailable: the database is locked", "executors have no room",
                                    "executors have room again", "of ", "the server is down"}) {
      EXPECT_EQ(met.erase(fault), 1U) << "nobody met: " << fault;
    }
  }
  EXPECT_THAT(met, testing::IsEmpty()) << "new faults belong above";
  EXPECT_GT(injected, 0U) << "no order failed";
}

TEST(Swarm, EntriesOfQueuesAndGapsOfChannelsAreMetBySomeHundredSeeds) {
  std::uint64_t kept = 0;
  std::uint64_t again = 0;
  std::uint64_t dealt_with = 0;
  std::uint64_t gaps = 0;
  for (std::uint64_t seed = 1; seed <= kSomeSeeds; ++seed) {
    TableLife life(seed);
    live(life, kSomeTurns);
    ASSERT_FALSE(life.world().violation()) << life.world().report();
    if (!life.events()) continue;
    kept += life.events()->told_queue->kept();
    again += life.events()->told_queue->again();
    dealt_with += life.events()->told_queue->dealt_with();
    gaps += life.events()->told_channel->gaps();
  }
  EXPECT_GT(kept, 0U) << "no entry outlived the process that wrote it";
  EXPECT_GT(again, 0U) << "no crash came between the handler and the word that an entry was dealt with";
  EXPECT_GT(dealt_with, 0U) << "no entry that was dealt with before a crash stayed away after it";
  EXPECT_GT(gaps, 0U) << "no gap was told";
}

TEST(Swarm, AnFpmServerThatIsBrokenIsNoticed) {
  const auto found = [](FpmLife::Broken broken) {
    std::string what;
    for (std::uint64_t seed = 1; seed <= 20 && what.empty(); ++seed) {
      FpmLife life(seed, broken);
      live(life, kSomeTurns);
      if (life.world().violation()) what = *life.world().violation();
    }
    return what;
  };
  EXPECT_EQ(found(FpmLife::Broken::No), "");
  EXPECT_THAT(found(FpmLife::Broken::TakesOneDeviceForAnother), testing::HasSubstr("the next hops of "));
  EXPECT_THAT(found(FpmLife::Broken::NeverSweeps), testing::HasSubstr("the resync is held"));
  EXPECT_THAT(found(FpmLife::Broken::AnswersNothing), testing::HasSubstr("zebra was not told of "));
  EXPECT_THAT(found(FpmLife::Broken::NeverLooksAtRows), testing::HasSubstr("the row of "));
}

// --- The checkers of events: each fault that they are for

TEST(ToldQueue, FindsWhatIsLostRepeatedOutOfOrderRefusedOrUnknown) {
  const sim::World world(1);
  const auto found = [&world](const std::function<void(ToldQueue&)>& happens) {
    ToldQueue told;
    for (int i = 0; i < 3; ++i) told.ended(told.next(), true, false);
    happens(told);
    return std::string{told.at_rest(world).message()};
  };
  const auto hears = [&found](std::initializer_list<std::uint64_t> numbers) {
    return found([numbers](ToldQueue& told) {
      for (const std::uint64_t number : numbers) told.heard(number);
    });
  };
  EXPECT_EQ(hears({0, 1, 2}), "");
  EXPECT_EQ(hears({0, 2}), "number 1 is lost");
  EXPECT_EQ(hears({0, 1, 1, 2}), "number 1 was handed out twice, or after a later one");
  EXPECT_EQ(hears({1, 0, 2}), "number 0 was handed out twice, or after a later one");
  EXPECT_EQ(hears({0, 1, 2, 3}), "number 3 was never written");
  EXPECT_EQ(found([](ToldQueue& told) {
              told.ended(told.next(), false, true);
              for (std::uint64_t number = 0; number < 4; ++number) told.heard(number);
            }),
            "number 3 was refused, and handed out");
  EXPECT_EQ(found([&world](ToldQueue& told) {
              for (std::uint64_t number = 0; number < 3; ++number) told.heard(number);
              static_cast<void>(told.see(world, {.kind = sim::Event::Kind::Begins}));
              told.heard(2);
            }),
            "")
      << "a crash may repeat";
  EXPECT_EQ(found([&world](ToldQueue& told) {
              static_cast<void>(told.see(world, {.kind = sim::Event::Kind::Begins}));
              static_cast<void>(told.see(world, {.kind = sim::Event::Kind::Emptied}));
              told.heard(0);
            }),
            "number 0 is of tables that are gone");
}

TEST(ToldChannel, FindsAnEventThatIsMissingWithoutAGap) {
  const sim::World world(1);
  const auto found = [&world](const std::function<void(ToldChannel&)>& happens) {
    ToldChannel told;
    for (int i = 0; i < 3; ++i) static_cast<void>(told.next());
    for (std::uint64_t number = 0; number < 2; ++number) told.ended(number, true, false);
    happens(told);
    told.ended(2, true, false);
    return std::string{told.at_rest(world).message()};
  };
  const std::string missing = " is missing, and no gap was told";
  EXPECT_EQ(found([](ToldChannel& told) { told.heard(0), told.heard(1), told.heard(2); }), "");
  EXPECT_EQ(found([](ToldChannel& told) { told.heard(0), told.heard(2); }), "number 1" + missing);
  EXPECT_EQ(found([](ToldChannel& told) { told.heard(0), told.gap(), told.heard(2); }), "");
  EXPECT_EQ(found([](ToldChannel& told) { told.heard(0), told.heard(1); }), "number 2" + missing);
  EXPECT_EQ(found([](ToldChannel& told) {
              told.heard(0), told.heard(1), told.gap(), static_cast<void>(told.next()), told.ended(3, true, false);
            }),
            "number 3" + missing)
      << "a gap says nothing of what comes after it";
}

// --- What was found, by name

/// The world of an agent's life as it was drawn at the time of two faults: a Set waited behind the Delete that arrived with it, and
/// addresses of an earlier process stayed permanently.
sim::WorldOptions earlier_agent_world(std::uint64_t seed) {
  sim::WorldOptions options = AgentLife::drawn_world(seed);
  options.deletes_before_rewriting = false;
  if (options.store == sim::StoreKind::Embedded) options.faults.crash_every = Duration{0};
  return options;
}

/// The same before other policies and disk faults existed.
std::unique_ptr<Life> early_agent_life(std::uint64_t seed) {
  sim::WorldOptions options = earlier_agent_world(seed);
  options.policy = BudgetedFrames{};
  options.faults.disk_fails_every = options.faults.disk_stalls_every = Duration{0};
  return std::make_unique<AgentLife>(seed, std::move(options));
}

// A port was created again and did not accept its row's state immediately. The next try ran while the order of a newer row was under way,
// and used the state of the older row: the port stayed down, and its addresses stayed away.
TEST(SwarmFound, TheOldWishOfAPortCameAfterTheNewOne) {
  const std::unique_ptr<Life> life = early_agent_life(9855);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A route had to wait for its set, which existed. When it was handled, no other row had waited for the set, so the set was deleted. The
// route then waited for the set without having requested it.
TEST(SwarmFound, ARouteWaitedForASetOfNextHopsThatNobodyHadAskedFor) {
  for (const std::uint64_t seed : {2099U, 2161U}) {
    const std::unique_ptr<Life> life = early_agent_life(seed);
    live(*life, 3000);
    EXPECT_FALSE(life->world().violation()) << life->world().report();
  }
}

// After a crash the Delete of an address had its turn before the kernel's report of its port. It was treated as one of a port that no
// longer exists, and the address stayed.
TEST(SwarmFound, AnAddressStayedBecauseItsDeleteCameBeforeItsPort) {
  for (const std::uint64_t seed : {2043U, 5876U}) {
    const std::unique_ptr<Life> life = std::make_unique<AgentLife>(seed, earlier_agent_world(seed));
    live(*life, 3000);
    EXPECT_FALSE(life->world().violation()) << life->world().report();
  }
}

// The kernel deferred the Delete of an address, and a Set replaced that Delete: the address still counted as leaving, and was not restored
// after its port had been away.
TEST(SwarmFound, AnAddressWhoseDeleteGaveWayWasNotPutBack) {
  const std::unique_ptr<Life> life = make_life("agent", 10094);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A group had no usable member any more, the kernel refused its deletion, and a Set wanted the same group. It was not made usable again,
// and its routes waited for it.
TEST(SwarmFound, RoutesWaitedForAGroupWhoseDeletionHadBeenRefused) {
  const std::unique_ptr<Life> life = make_life("agent", 103523);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A route waited for a set of next hops that others used, and whose Delete waited for them. They were deleted, and so was the set: the
// route requested another only at the next sweep of sets, up to 10 s later.
TEST(SwarmFound, ARouteWaitedTenSecondsForASetThatOthersGaveUp) {
  const std::unique_ptr<Life> life = make_life("agent", 112521);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A route used a set of next hops whose Delete was deferred, and the kernel refused the route. It waited for the set, whose Delete was
// then carried out: no route had requested another set.
TEST(SwarmFound, ARouteWaitedForASetOfNextHopsWhoseDeleteWasUnderWay) {
  const std::unique_ptr<Life> life = std::make_unique<AgentLife>(13390, earlier_agent_world(13390));
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A Channel's buffer was full, and the gap lay behind the last event. The listener ended its turn without taking the gap. Since the gap
// was still to be taken, the next event did not wake it.
TEST(SwarmFound, AListenerSleptOverTheEventsBehindAGap) {
  for (const std::uint64_t seed : {12U, 31U}) {
    const std::unique_ptr<Life> life = make_life("tables", seed);
    live(*life, 3000);
    EXPECT_FALSE(life->world().violation()) << life->world().report();
  }
}

// zebra deleted a next hop and made another one with its number. A group that names it kept the next hops of before.
TEST(SwarmFound, AGroupKeptANextHopWhoseNumberHadAnotherContent) {
  for (const std::uint64_t seed : {202U, 206U}) {
    const std::unique_ptr<Life> life = make_life("fpm", seed);
    live(*life, 3000);
    EXPECT_FALSE(life->world().violation()) << life->world().report();
  }
}

// A crash came between two modes of a member: the port was in the bridge, and so was its 802.1Q device, which the row asks for. Static
// entries were set on the port. It left the bridge at the end of the restart, the entries went with it, and no audit repaired them.
TEST(SwarmFound, StaticEntriesWereSetOnTheDeviceOfAnEarlierTaggingMode) {
  const std::unique_ptr<Life> life = make_life("vlans", 1423);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

// A fault of this model: it expected that rondod takes out a port without a row that another program put into a bond of rondod.
TEST(SwarmFound, APortThatAnotherProgramPutIntoABondStaysThere) {
  const std::unique_ptr<Life> life = make_life("lags", 1014);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

/// The world was at rest a second after the last event, and routes that the kernel had refused until then were ordered again after up to
/// five.
TEST(SwarmFound, RoutesThatTheKernelRefusedWereNotWaitedFor) {
  const std::unique_ptr<Life> life = make_life("vrfs", 1749);
  live(*life, 3000);
  EXPECT_FALSE(life->world().violation()) << life->world().report();
}

}  // namespace
}  // namespace rondo::swarm
