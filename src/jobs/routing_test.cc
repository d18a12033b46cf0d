// Router against the strategies of xxl-job. The owners of the consistent hash come from a program of ten lines in Python, which builds the
// ring of xxl-job from hashlib.md5. The least-used routes are compared with plain models through random stories.
#include "jobs/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::array kSingleRoutes{Route::Default,
                                   Route::First,
                                   Route::Last,
                                   Route::Round,
                                   Route::Random,
                                   Route::ConsistentHash,
                                   Route::LeastFrequentlyUsed,
                                   Route::LeastRecentlyUsed,
                                   Route::Failover,
                                   Route::Busyover};

/// Executors, in the order of their names.
struct Executors {
  explicit Executors(std::vector<std::string> all) : names(std::move(all)) {}
  static Executors numbered(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t number = 0; number < count; ++number) names.push_back("executor-" + std::to_string(100'000 + number));
    return Executors{std::move(names)};
  }
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> all;
    for (const std::string& name : names)
      all.push_back({.name = name, .is_healthy = !sick.contains(name), .is_idle = !busy.contains(name)});
    return all;
  }
  Executors healthy() const {
    Executors rest = *this;
    std::erase_if(rest.names, [this](const std::string& name) { return sick.contains(name); });
    rest.sick.clear();
    return rest;
  }
  std::vector<std::string> names;
  std::set<std::string> sick = {};
  std::set<std::string> busy = {};
};

struct RouterTest : testing::Test {
  /// The name of the chosen one, or "".
  std::string choose(Route route, std::int64_t job, const Executors& executors) {
    const auto chosen = router.choose(route, job, executors.candidates(), now);
    return chosen ? executors.names.at(*chosen) : "";
  }
  /// The names of 'count' choices.
  std::vector<std::string> choices(Route route, std::int64_t job, const Executors& executors, std::size_t count) {
    std::vector<std::string> names;
    while (names.size() < count) names.push_back(choose(route, job, executors));
    return names;
  }
  Router router{1};
  Instant now = Instant{} + 1s;
  Executors abc{{"a", "b", "c"}};
};

TEST(RouteNames, AreThoseOfTheCommandLine) {
  const std::vector<std::string> names{"default",
                                       "first",
                                       "last",
                                       "round",
                                       "random",
                                       "consistent-hash",
                                       "least-frequently-used",
                                       "least-recently-used",
                                       "failover",
                                       "busyover",
                                       "sharding-broadcast"};
  for (std::size_t value = 0; value < names.size(); ++value) {
    const auto route = static_cast<Route>(value);
    EXPECT_EQ(to_string(route), names[value]);
    EXPECT_EQ(route_of(names[value]), route);
  }
  EXPECT_EQ(to_string(static_cast<Route>(names.size())), "");
  EXPECT_EQ(route_of("ROUND"), std::nullopt);
}

TEST_F(RouterTest, FirstAndFailoverChooseTheFirstAndLastTheLast) {
  for (const std::int64_t job : {1, 2, 3}) {
    EXPECT_EQ(choose(Route::First, job, abc), "a");
    EXPECT_EQ(choose(Route::Failover, job, abc), "a");
    EXPECT_EQ(choose(Route::Last, job, abc), "c");
  }
}

TEST_F(RouterTest, RoundGivesEachTheSameShareInTurn) {
  for (const Route route : {Route::Round, Route::Default}) {
    const auto chosen = choices(route, route == Route::Round ? 1 : 2, abc, 300);
    for (const std::string& name : abc.names) EXPECT_EQ(std::ranges::count(chosen, name), 100);
    for (std::size_t index = 0; index + 1 < chosen.size(); ++index) {
      const auto before = static_cast<std::size_t>(std::ranges::find(abc.names, chosen[index]) - abc.names.begin());
      EXPECT_EQ(chosen[index + 1], abc.names[(before + 1) % 3]);
    }
  }
}

/// Without it each executor that is first in order would run all jobs of an hour's begin.
TEST_F(RouterTest, RoundBeginsEachJobAtARandomExecutor) {
  const Executors many = Executors::numbered(101);
  std::set<std::string> first;
  for (std::int64_t job = 0; job < 1000; ++job) first.insert(choose(Route::Round, job, many));
  EXPECT_GT(first.size(), 95U);
  EXPECT_LE(first.size(), 100U);
  EXPECT_FALSE(first.contains(many.names[0])) << "the count begins below 100 and is raised before its use";
}

/// With 101 executors the first choice shows the count itself: it is 1 to 100.
TEST_F(RouterTest, RoundBeginsAnewAfterAMillionRuns) {
  const Executors many = Executors::numbered(101);
  const std::vector<Candidate> candidates = many.candidates();
  std::size_t count = *router.choose(Route::Round, 1, candidates, now);
  while (count <= 1'000'000) ASSERT_EQ(router.choose(Route::Round, 1, candidates, now), ++count % 101);
  const std::size_t drawn = *router.choose(Route::Round, 1, candidates, now);
  EXPECT_NE(drawn, (count + 1) % 101);
  EXPECT_EQ(router.choose(Route::Round, 1, candidates, now), (drawn + 1) % 101);
}

TEST_F(RouterTest, RandomIsUniformAndRepeatsWithItsSeed) {
  const auto chosen = choices(Route::Random, 1, abc, 3000);
  for (const std::string& name : abc.names) EXPECT_NEAR(static_cast<double>(std::ranges::count(chosen, name)), 1000, 150);
  router = Router{1};
  EXPECT_EQ(choices(Route::Random, 1, abc, 3000), chosen);
  router = Router{2};
  EXPECT_NE(choices(Route::Random, 1, abc, 3000), chosen);
}

TEST_F(RouterTest, ConsistentHashFindsTheOwnersOfXxlJob) {
  constexpr std::array<std::size_t, 40> kOfFour{2, 3, 0, 2, 0, 2, 3, 1, 0, 0, 0, 0, 2, 2, 0, 1, 1, 0, 3, 0,
                                                0, 1, 1, 2, 1, 3, 2, 0, 2, 2, 3, 0, 0, 2, 3, 3, 1, 2, 3, 1};
  constexpr std::array<std::size_t, 40> kWithoutTheThird{2, 2, 0, 1, 0, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 2, 0,
                                                         0, 1, 1, 1, 1, 2, 0, 0, 2, 2, 2, 0, 0, 2, 2, 2, 1, 1, 2, 1};
  const Executors four{{"http://10.0.0.1:9999/", "http://10.0.0.2:9999/", "http://10.0.0.3:9999/", "http://10.0.0.4:9999/"}};
  Executors three = four;
  three.names.erase(three.names.begin() + 2);
  const auto owners = [this](const Executors& executors) {
    std::vector<std::size_t> all;
    for (std::int64_t job = 1; job <= 40; ++job) all.push_back(*router.choose(Route::ConsistentHash, job, executors.candidates(), now));
    return all;
  };
  EXPECT_THAT(owners(four), ElementsAreArray(kOfFour));
  EXPECT_THAT(owners(three), ElementsAreArray(kWithoutTheThird)) << "one has left";
  EXPECT_THAT(owners(four), ElementsAreArray(kOfFour)) << "it has come back";
  EXPECT_EQ(choose(Route::ConsistentHash, 2'147'483'647, four), four.names[1]);
  EXPECT_EQ(choose(Route::ConsistentHash, 9'007'199'254'740'993, four), four.names[0]);
  EXPECT_EQ(choose(Route::ConsistentHash, 769, four), four.names[3]) << "behind the last node comes the first";
}

/// Names that were found by a search: a node of each is 2,154,620,512, and the jobs 3 and 5 lie before it.
TEST_F(RouterTest, AnEqualNodeBelongsToTheLastExecutor) {
  Executors equal{{"e1", "e324", "e690"}};
  for (const std::int64_t job : {3, 5}) EXPECT_EQ(choose(Route::ConsistentHash, job, equal), "e690");
  equal.sick = {"e690"};
  for (const std::int64_t job : {3, 5}) EXPECT_EQ(choose(Route::ConsistentHash, job, equal), "e324");
}

TEST_F(RouterTest, WhenAnExecutorLeavesOnlyItsJobsMove) {
  const Executors many = Executors::numbered(10);
  Executors fewer = many;
  fewer.names.erase(fewer.names.begin() + 4);
  std::map<std::int64_t, std::string> owners;
  std::map<std::string, int> shares;
  for (std::int64_t job = 0; job < 1000; ++job) ++shares[owners[job] = choose(Route::ConsistentHash, job, many)];
  for (const auto& [job, before] : owners) {
    const std::string after = choose(Route::ConsistentHash, job, fewer);
    EXPECT_TRUE(after == before || before == many.names[4]) << job;
  }
  EXPECT_EQ(shares.size(), 10U);
  for (const auto& [name, share] : shares) EXPECT_NEAR(share, 100, 60) << name;
}

TEST_F(RouterTest, LeastFrequentlyUsedLevelsTheCounts) {
  choices(Route::LeastFrequentlyUsed, 1, abc, 9);  // The random counts at the begin are 0 to 2.
  for (int round = 0; round < 20; ++round) {
    EXPECT_THAT(choices(Route::LeastFrequentlyUsed, 1, abc, 3), testing::UnorderedElementsAreArray(abc.names));
  }
}

TEST_F(RouterTest, LeastRecentlyUsedChoosesTheEldest) {
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, abc, 4), ElementsAre("a", "b", "c", "a"));
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 2, abc), "a") << "each job has an order of its own";
  const Executors joined{{"a", "aa", "b", "c"}};
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, joined, 5), ElementsAre("b", "c", "a", "aa", "b")) << "a new one is the newest";
  const Executors left{{"a", "aa", "b"}};
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, left, 3), ElementsAre("a", "aa", "b"));
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, joined, 4), ElementsAre("a", "aa", "b", "c")) << "one that comes back is new";
}

/// What xxl-job keeps of one job: a map with counts, and a map in the order of access.
struct UseModel {
  explicit UseModel(std::uint64_t seed) : random(seed) {}
  std::string least_frequently(const Executors& executors) {
    for (const std::string& name : executors.names) {
      if (!counts.contains(name)) counts[name] = random.below(executors.names.size());
    }
    std::erase_if(counts, [&](const auto& one) { return std::ranges::find(executors.names, one.first) == executors.names.end(); });
    std::string least;
    for (const auto& [name, count] : counts) {
      if (!executors.sick.contains(name) && (least.empty() || count < counts[least])) least = name;
    }
    if (!least.empty()) ++counts[least];
    return least;
  }
  std::string least_recently(const Executors& executors) {
    for (const std::string& name : executors.names) {
      if (std::ranges::find(order, name) == order.end()) order.push_back(name);
    }
    std::erase_if(order, [&](const auto& one) { return std::ranges::find(executors.names, one) == executors.names.end(); });
    const auto eldest = std::ranges::find_if(order, [&](const std::string& name) { return !executors.sick.contains(name); });
    if (eldest == order.end()) return "";
    std::string name = *eldest;
    order.splice(order.end(), order, eldest);
    return name;
  }
  Random random;
  std::map<std::string, std::uint64_t> counts;
  std::list<std::string> order;
};

/// Executors join, leave, get sick and recover. Steps without a healthy executor are left out.
TEST(RouterProperty, TheLeastUsedRoutesEqualTheirModel) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(Random{seed}.describe());
    Random story{seed};
    Router router{seed};
    UseModel model{seed};
    for (int step = 0; step < 100; ++step) {
      Executors present{{}};
      for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
        if (!story.chance(0.95)) continue;
        present.names.push_back(name);
        if (story.chance(0.1)) present.sick.insert(name);
      }
      if (present.healthy().names.empty()) continue;
      const auto chosen = [&](Route route) { return present.names.at(*router.choose(route, 7, present.candidates(), Instant{})); };
      ASSERT_EQ(chosen(Route::LeastFrequentlyUsed), model.least_frequently(present)) << "step " << step;
      ASSERT_EQ(chosen(Route::LeastRecentlyUsed), model.least_recently(present)) << "step " << step;
    }
  }
}

TEST_F(RouterTest, BusyoverChoosesTheFirstIdleOneOrNone) {
  EXPECT_EQ(choose(Route::Busyover, 1, abc), "a");
  abc.busy = {"a"};
  EXPECT_EQ(choose(Route::Busyover, 1, abc), "b");
  EXPECT_EQ(choose(Route::Failover, 1, abc), "a") << "only Busyover heeds it";
  abc.sick = {"b"};
  EXPECT_EQ(choose(Route::Busyover, 1, abc), "c");
  abc.busy = {"a", "c"};
  EXPECT_EQ(choose(Route::Busyover, 1, abc), "") << "the run waits";
}

TEST_F(RouterTest, AnUnhealthyExecutorCountsAsAbsent) {
  Executors executors{{"a", "b", "c", "d", "e"}};
  for (const std::set<std::string>& sick : std::vector<std::set<std::string>>{{"a"}, {"c"}, {"e"}, {"a", "b", "e"}, {"a", "b", "c", "d"}}) {
    executors.sick = sick;
    for (const Route route : kSingleRoutes) {
      router = Router{5};
      const auto with_sick = choices(route, 3, executors, 20);
      router = Router{5};
      const auto without = choices(route, 3, executors.healthy(), 20);
      if (route != Route::LeastFrequentlyUsed) {
        EXPECT_EQ(with_sick, without) << to_string(route);
      }
      for (const std::string& name : with_sick) EXPECT_FALSE(sick.contains(name)) << to_string(route);
    }
  }
}

/// With new counts the executor would get all runs until it has as many as the others.
TEST_F(RouterTest, AnExecutorKeepsItsCountWhileItIsUnhealthy) {
  choices(Route::LeastFrequentlyUsed, 1, abc, 300);
  choices(Route::LeastRecentlyUsed, 1, abc, 3);
  abc.sick = {"b"};
  EXPECT_THAT(choices(Route::LeastFrequentlyUsed, 1, abc, 2), testing::UnorderedElementsAre("a", "c"));
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, abc, 3), ElementsAre("a", "c", "a"));
  abc.sick.clear();
  EXPECT_EQ(choose(Route::LeastFrequentlyUsed, 1, abc), "b");
  EXPECT_THAT(choices(Route::LeastFrequentlyUsed, 1, abc, 3), testing::UnorderedElementsAreArray(abc.names));
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, abc, 3), ElementsAre("b", "c", "a"));
}

TEST_F(RouterTest, WithoutAHealthyExecutorThereIsNoChoice) {
  for (const Route route : kSingleRoutes) EXPECT_EQ(choose(route, 1, Executors{{}}), "") << to_string(route);
  abc.sick = {"a", "b", "c"};
  for (const Route route : kSingleRoutes) EXPECT_EQ(choose(route, 1, abc), "") << to_string(route);
  abc.sick = {"a", "b"};
  for (const Route route : kSingleRoutes) EXPECT_EQ(choose(route, 1, abc), "c") << to_string(route);
}

TEST_F(RouterTest, CandidatesBeyondTheLimitGetNoRun) {
  const Executors many = Executors::numbered(limits::kRouteCandidates + 1);
  EXPECT_EQ(choose(Route::Last, 1, many), many.names[limits::kRouteCandidates - 1]);
  for (const Route route : {Route::Round, Route::LeastFrequentlyUsed, Route::LeastRecentlyUsed}) {
    const auto chosen = choices(route, 1, many, 3 * many.names.size());
    EXPECT_EQ(std::ranges::count(chosen, many.names.back()), 0) << to_string(route);
    EXPECT_GT(std::ranges::count(chosen, many.names[limits::kRouteCandidates - 1]), 0) << to_string(route);
  }
}

TEST_F(RouterTest, AtTheLimitOfCountsAllAreCleared) {
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, abc, 2), ElementsAre("a", "b"));
  const auto others = static_cast<std::int64_t>(limits::kRouteKept) - 6;  // Three names and three uses are kept.
  for (std::int64_t job = 0; job < others; ++job) choose(Route::Round, job, abc);
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "c") << "at the limit";
  choose(Route::Round, others, abc);
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "a") << "beyond the limit";
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "b");
}

/// Names that change all the time, as those of containers do, are kept until the limit only.
TEST_F(RouterTest, NamesOfExecutorsThatHaveLeftCountToTheLimit) {
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, abc, 2), ElementsAre("a", "b"));
  const std::size_t full = limits::kRouteKept / limits::kRouteCandidates + 1;
  for (std::size_t generation = 0; generation < full; ++generation) {
    Executors others = Executors::numbered(limits::kRouteCandidates);
    for (std::string& name : others.names) name += "-" + std::to_string(generation);
    choose(Route::LeastRecentlyUsed, 2, others);
  }
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "a");
}

TEST_F(RouterTest, AllCountsAreClearedEvery24Hours) {
  const Executors many = Executors::numbered(101);
  EXPECT_THAT(choices(Route::LeastRecentlyUsed, 1, abc, 2), ElementsAre("a", "b"));
  choices(Route::LeastFrequentlyUsed, 1, abc, 30);
  const std::size_t count = *router.choose(Route::Round, 1, many.candidates(), now);
  now = now + 24h - 1ns;
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "c");
  EXPECT_EQ(router.choose(Route::Round, 1, many.candidates(), now), count + 1);
  now = now + 1ns;
  EXPECT_NE(router.choose(Route::Round, 1, many.candidates(), now), count + 2);
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "a");
  now = now + 24h;
  EXPECT_EQ(choose(Route::LeastRecentlyUsed, 1, abc), "a") << "each 24 h";
}

TEST_F(RouterTest, EqualSeedsMakeEqualChoices) {
  const auto story = [this] {
    std::vector<std::string> chosen;
    for (std::int64_t job = 0; job < 50; ++job) {
      for (const Route route : kSingleRoutes) chosen.push_back(choose(route, job, abc));
    }
    return chosen;
  };
  const auto first = story();
  router = Router{1};
  EXPECT_EQ(story(), first);
}

TEST(RouterDeathTest, ShardingBroadcastHasNoSingleCandidate) {
  const std::vector<Candidate> one{{.name = "a"}};
  EXPECT_DEATH(static_cast<void>(Router{1}.choose(Route::ShardingBroadcast, 1, one, Instant{})), "ShardingBroadcast");
}

}  // namespace
}  // namespace rondo::jobs
