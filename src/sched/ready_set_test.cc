// The ready set against a plain model (deques and a map of stamps) and against its bound, over random histories.
#include "sched/ready_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using test::WorkSource;

struct Model {
  Tie tie;
  std::uint64_t sequence = 0;
  std::map<const Source*, std::uint64_t> stamp;
  std::map<unsigned, std::deque<Source*>, std::greater<>> fresh, old;

  void arrive(Source& source) {
    std::deque<Source*>& served = old[source.priority().level()];
    if (tie == Tie::LeastRecentlyServed && (served.empty() || stamp[&source] < stamp[served.front()])) {
      fresh[source.priority().level()].push_back(&source);
    } else {
      return_served(source);
    }
  }
  void return_served(Source& source) {
    stamp[&source] = ++sequence;
    old[source.priority().level()].push_back(&source);
  }
  void rest(Source& source) { stamp[&source] = ++sequence; }
  Source* take() {
    for (unsigned level = limits::kPriorities; level-- > 0;) {
      for (std::deque<Source*>* list : {&fresh[level], &old[level]}) {
        if (list->empty()) continue;
        Source* source = list->front();
        list->pop_front();
        return source;
      }
    }
    return nullptr;
  }
  void erase(Source& source) {
    std::erase(fresh[source.priority().level()], &source);
    std::erase(old[source.priority().level()], &source);
  }
};

/// A random history of arrivals, turns and removals; calls the visitors for each.
template <class OnArrive, class OnTurn, class OnErase>
void random_history(std::uint64_t seed, ReadySet& set, std::vector<std::unique_ptr<WorkSource>>& sources, OnArrive on_arrive,
                    OnTurn on_turn, OnErase on_erase) {
  Random random(seed);
  const std::size_t count = 2 + random.below(20);
  const std::uint64_t levels = 1 + random.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    sources.push_back(std::make_unique<WorkSource>("s" + std::to_string(i), static_cast<unsigned>(random.below(levels) * 21)));
  }
  const double arrivals = random.real01();
  const double more = random.real01();
  std::set<Source*> ready;
  for (int step = 0; step < 2000; ++step) {
    Source& any = *sources[random.below(count)];
    if (random.chance(arrivals)) {
      if (!ready.insert(&any).second) continue;
      set.arrive(any);
      on_arrive(any);
    } else if (random.chance(0.02) && ready.erase(&any) > 0) {
      set.erase(any);
      on_erase(any);
    } else if (Source* taken = set.take(); taken != nullptr) {
      ready.erase(taken);
      const bool again = random.chance(more);
      if (again) {
        set.return_served(*taken);
        ready.insert(taken);
      } else {
        set.rest(*taken);
      }
      on_turn(*taken, again);
    } else {
      ASSERT_TRUE(ready.empty()) << random.describe();
      ASSERT_TRUE(set.empty()) << random.describe();
    }
  }
}

TEST(ReadySet, EqualsThePlainModelOnRandomHistories) {
  for (const Tie tie : {Tie::LeastRecentlyServed, Tie::Arrival}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      ReadySet set(tie);
      Model model{.tie = tie, .stamp = {}, .fresh = {}, .old = {}};
      std::vector<std::unique_ptr<WorkSource>> sources;
      random_history(
          seed, set, sources, [&](Source& source) { model.arrive(source); },
          [&](Source& source, bool again) {
            ASSERT_EQ(model.take(), &source) << "seed " << seed;
            again ? model.return_served(source) : model.rest(source);
          },
          [&](Source& source) { model.erase(source); });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ReadySet, WhileASourceWaitsEveryOtherOfItsPriorityGetsAtMostOneTurn) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    ReadySet set(Tie::LeastRecentlyServed);
    std::vector<std::unique_ptr<WorkSource>> sources;
    std::map<Source*, std::map<Source*, int>> passed;  // waiting source -> turns of others since it waits
    random_history(
        seed, set, sources, [&](Source& source) { passed[&source].clear(); },
        [&](Source& source, bool again) {
          passed.erase(&source);
          for (auto& [waiting, turns] : passed) {
            ASSERT_LE(waiting->priority(), source.priority()) << "seed " << seed;
            if (waiting->priority() == source.priority()) {
              ASSERT_LE(++turns[&source], 1) << "seed " << seed;
            }
          }
          if (again) passed[&source].clear();
        },
        [&](Source& source) { passed.erase(&source); });
    if (HasFatalFailure()) return;
  }
}

TEST(ReadySet, AmongAlwaysReadySourcesTheOrderIsExactlyLeastRecentlyServed) {
  ReadySet set(Tie::LeastRecentlyServed);
  std::vector<std::unique_ptr<WorkSource>> sources;
  for (int i = 0; i < 5; ++i) sources.push_back(std::make_unique<WorkSource>("s" + std::to_string(i), 7));
  for (const auto& source : sources) set.arrive(*source);
  for (std::size_t turn = 0; turn < 50; ++turn) {
    Source* source = set.take();
    ASSERT_EQ(source, sources[turn % 5].get());
    set.return_served(*source);
  }
}

TEST(ReadySet, ASourceThatSleptLongGoesBeforeTheBusyOnes) {
  ReadySet set(Tie::LeastRecentlyServed);
  WorkSource busy_one("busy one", 3), busy_two("busy two", 3), sleeper("sleeper", 3);
  set.arrive(busy_one);
  set.arrive(busy_two);
  for (int i = 0; i < 4; ++i) set.return_served(*set.take());
  set.arrive(sleeper);
  EXPECT_EQ(set.take(), &sleeper);
}

TEST(ReadySet, ASourceThatComesBackAtOnceGoesBehindThoseThatWait) {
  ReadySet set(Tie::LeastRecentlyServed);
  WorkSource eager("eager", 3), patient("patient", 3);
  set.arrive(patient);
  set.return_served(*set.take());
  set.arrive(eager);
  ASSERT_EQ(set.take(), &eager);
  set.rest(eager);
  set.arrive(eager);
  EXPECT_EQ(set.take(), &patient);
}

TEST(ReadySet, AllSixtyFourPrioritiesAreKeptApart) {
  ReadySet set(Tie::LeastRecentlyServed);
  std::vector<std::unique_ptr<WorkSource>> sources;
  for (unsigned level = 0; level < limits::kPriorities; ++level) sources.push_back(std::make_unique<WorkSource>("s", level));
  for (const auto& source : sources) set.arrive(*source);
  for (unsigned level = limits::kPriorities; level-- > 0;) EXPECT_EQ(set.take(), sources[level].get());
  EXPECT_TRUE(set.empty());
}

}  // namespace
}  // namespace rondo
