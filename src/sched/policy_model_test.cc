// Three policies against minimal models, item by item, on random traces: strict priority with the least recently served first,
// SObjectizer's strictly_ordered, and its quoted_round_robin (with our rules for what SObjectizer leaves unspecified). Also a change of
// policy at any moment: no item is lost, and no source's own order changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/random.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

constexpr int kTraces = 10'000;

/// Numbered items; each handled item is recorded.
class Lane final : public Source {
 public:
  Lane(Scheduler& scheduler, unsigned priority) : Source("lane", Priority{priority}), scheduler_(scheduler) { scheduler.add(*this); }
  std::uint64_t add_item() {
    items_.push_back(scheduler_.next_arrival());
    const std::uint64_t item = items_.back();
    // In its own turn it reports backlog instead; a wake would cause a turn without items, which would be counted.
    if (!is_running()) wake();
    return item;
  }
  Turn run(const Budget& budget) override {
    Turn turn;
    while (!items_.empty() && turn.items < budget.items && items_.front() < budget.before) {
      const std::uint64_t item = items_.front();
      items_.pop_front();
      ++turn.items;
      handle(*this, item);
      if (should_yield()) break;
    }
    turn.backlog = items_.empty() ? Backlog::Empty : Backlog::More;
    return turn;
  }
  bool has_backlog() const override { return !items_.empty(); }
  std::uint64_t head_arrival() const override { return items_.empty() ? 0 : items_.front(); }
  std::size_t depth() const override { return items_.size(); }

  std::function<void(Lane&, std::uint64_t)> handle;

 private:
  Scheduler& scheduler_;
  std::deque<std::uint64_t> items_;
};

/// One queue for all, sorted by priority and then by number.
struct OrderedModel {
  void add(unsigned priority, std::uint64_t item, bool) { queues[priority].push_back(item); }
  std::uint64_t next() {
    const auto highest = std::ranges::find_if(queues, [](const auto& queue) { return !queue.second.empty(); });
    if (highest == queues.end()) return 0;
    const std::uint64_t item = highest->second.front();
    highest->second.pop_front();
    return item;
  }
  std::map<unsigned, std::deque<std::uint64_t>, std::greater<>> queues;
};

/// A queue and a count for each priority, and a cursor, as SObjectizer's documentation shows them.
struct QuotedModel {
  void add(unsigned priority, std::uint64_t item, bool idle) {
    if (idle) {
      cursor = limits::kPriorities - 1;
      handled = 0;
    }
    queues[priority].push_back(item);
  }
  std::uint64_t next() {
    if (std::ranges::all_of(queues, [](const auto& queue) { return queue.empty(); })) return 0;
    while (queues[cursor].empty() || handled == quotas[cursor]) {
      cursor = cursor == 0 ? limits::kPriorities - 1 : cursor - 1;
      handled = 0;
    }
    const std::uint64_t item = queues[cursor].front();
    queues[cursor].pop_front();
    ++handled;
    return item;
  }
  std::array<std::deque<std::uint64_t>, limits::kPriorities> queues;
  std::array<std::uint32_t, limits::kPriorities> quotas{};
  unsigned cursor = limits::kPriorities - 1;
  std::uint32_t handled = 0;
};

template <class Model>
void compare(std::uint64_t seed, const PolicyOptions& options, Model model) {
  Random random(seed);
  test::Simulation simulation(options);
  std::vector<std::unique_ptr<Lane>> lanes;
  bool in_turn = false;
  std::size_t waiting = 0;
  const auto arrive = [&] {
    Lane& lane = *lanes[random.below(lanes.size())];
    const bool idle = waiting == 0 && !in_turn;
    model.add(lane.priority().level(), lane.add_item(), idle);
    ++waiting;
  };
  const std::uint64_t count = 1 + random.below(6);
  for (std::uint64_t i = 0; i < count; ++i) {
    lanes.push_back(std::make_unique<Lane>(simulation.scheduler, static_cast<unsigned>(random.below(4) * 21)));
    lanes.back()->handle = [&](Lane&, std::uint64_t item) {
      in_turn = true;
      --waiting;
      ASSERT_EQ(item, model.next()) << "seed " << seed;
      while (random.chance(0.2)) arrive();
    };
  }
  for (int step = 0; step < 40 && !testing::Test::HasFatalFailure(); ++step) {
    const std::uint64_t burst = random.chance(0.5) ? random.below(6) : 0;
    for (std::uint64_t i = 0; i < burst; ++i) arrive();
    const std::uint64_t turns = random.below(4);
    for (std::uint64_t i = 0; i < turns; ++i) {
      simulation.scheduler.turn();
      in_turn = false;
    }
  }
  while (simulation.scheduler.turn()) in_turn = false;
  ASSERT_EQ(waiting, 0U) << "seed " << seed;
}

TEST(PolicyModel, StrictlyOrderedEqualsOneSortedQueue) {
  for (std::uint64_t seed = 1; seed <= kTraces && !HasFatalFailure(); ++seed) {
    compare(seed, StrictlyOrdered{.batch = static_cast<std::uint32_t>(1 + seed % 128)}, OrderedModel{});
  }
}

TEST(PolicyModel, QuotedRoundRobinEqualsQueuesWithACursor) {
  for (std::uint64_t seed = 1; seed <= kTraces && !HasFatalFailure(); ++seed) {
    Random random(seed * 7919);
    QuotedRoundRobin options{.quota = static_cast<std::uint32_t>(1 + random.below(4)), .batch = static_cast<std::uint32_t>(1 + seed % 9)};
    for (unsigned p = 0; p < limits::kPriorities; p += 21) {
      if (random.chance(0.5)) options.set(Priority{p}, static_cast<std::uint32_t>(1 + random.below(6)));
    }
    QuotedModel model;
    model.quotas.fill(options.quota);
    for (const auto& [priority, quota] : options.raised) model.quotas[priority.level()] = quota;
    compare(seed, options, std::move(model));
  }
}

/// The rule of ADR 0007: sources that return and were served before the first busy one precede the busy ones.
struct LeastRecentModel {
  void arrive(const std::string& name, unsigned priority) {
    auto& [fresh, busy] = queues[priority];
    if (busy.empty() || number[name] < number[busy.front()]) {
      fresh.push_back(name);
    } else {
      served(name, priority, true);
    }
  }
  void served(const std::string& name, unsigned priority, bool more) {
    number[name] = ++last;
    if (more) queues[priority].second.push_back(name);
  }
  std::string next() {
    for (auto& [priority, queue] : queues) {
      for (auto* list : {&queue.first, &queue.second}) {
        if (list->empty()) continue;
        std::string name = list->front();
        list->pop_front();
        return name;
      }
    }
    return "";
  }
  std::map<unsigned, std::pair<std::deque<std::string>, std::deque<std::string>>, std::greater<>> queues;
  std::map<std::string, std::uint64_t> number;
  std::uint64_t last = 0;
};

TEST(PolicyModel, StrictPriorityEqualsTwoQueuesForEachPriority) {
  for (std::uint64_t seed = 1; seed <= kTraces && !HasFatalFailure(); ++seed) {
    Random random(seed);
    const std::uint64_t batch = 1 + random.below(4);
    test::Simulation simulation(StrictPriority{.batch = static_cast<std::uint32_t>(batch)});
    LeastRecentModel model;
    const std::uint64_t count = 1 + random.below(8);
    for (std::uint64_t i = 0; i < count; ++i) simulation.add("s" + std::to_string(i), static_cast<unsigned>(random.below(3)));
    const auto give = [&](test::WorkSource& source) {
      if (!source.is_ready()) model.arrive(std::string{source.name()}, source.priority().level());
      source.left += 1 + random.below(8);
      source.wake();
    };
    for (int turn = 0; turn < 60; ++turn) {
      for (const auto& source : simulation.sources) {
        if (random.chance(0.2)) give(*source);
      }
      simulation.order.clear();
      const std::string expected = model.next();
      ASSERT_EQ(simulation.scheduler.turn(), !expected.empty());
      ASSERT_EQ(simulation.order, expected) << "seed " << seed;
      if (expected.empty()) continue;
      const auto& source = *simulation.sources[static_cast<std::size_t>(std::stoi(expected.substr(1)))];
      model.served(expected, source.priority().level(), source.left > 0);
    }
  }
}

PolicyOptions any_policy(Random& random) {
  switch (random.below(5)) {
    case 0: return StrictPriority{.batch = static_cast<std::uint32_t>(1 + random.below(5))};
    case 1: return StrictlyOrdered{};
    case 2: return QuotedRoundRobin{.quota = static_cast<std::uint32_t>(1 + random.below(5))};
    case 3: return BudgetedFrames{.lowest = 1us, .highest = 3us, .tie = Tie::ConsumedTime};
    default: return BudgetedFrames{.lowest = 1us, .highest = 20us, .batch = 3};
  }
}

TEST(PolicyModel, AChangeInTheMiddleLosesNothingAndKeepsEachSourcesOrder) {
  for (std::uint64_t seed = 1; seed <= 2000 && !HasFatalFailure(); ++seed) {
    Random random(seed);
    test::Simulation simulation(any_policy(random));
    Scheduler& scheduler = simulation.scheduler;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::map<const Lane*, std::uint64_t> last;
    std::uint64_t handled = 0;
    std::uint64_t added = 0;
    const auto change = [&] { scheduler.set_policy(std::move(make_policy(any_policy(random)).value())); };
    for (std::uint64_t i = 0; i < 5; ++i) {
      lanes.push_back(std::make_unique<Lane>(scheduler, static_cast<unsigned>(random.below(3))));
      lanes.back()->handle = [&](Lane& lane, std::uint64_t item) {
        ASSERT_GT(item, last[&lane]) << "seed " << seed;
        last[&lane] = item;
        ++handled;
        simulation.world.clock().advance(Duration{static_cast<std::int64_t>(random.below(3000))});
        if (random.chance(0.05)) change();
        if (random.chance(0.05)) lanes[random.below(lanes.size())]->add_item(), ++added;
      };
    }
    for (int step = 0; step < 60; ++step) {
      if (random.chance(0.5)) lanes[random.below(lanes.size())]->add_item(), ++added;
      if (random.chance(0.5)) scheduler.turn();
      if (random.chance(0.1)) change();
    }
    scheduler.run_until_idle();
    ASSERT_EQ(handled, added) << "seed " << seed;
    ASSERT_TRUE(scheduler.policy().empty());
  }
}

TEST(PolicyModel, TheLeastRecentlyServedOrderSurvivesAChange) {
  test::Simulation simulation(StrictPriority{.batch = 1});
  for (const char* const name : {"a", "b", "c"}) simulation.add(name, 5, 10);
  auto& sleeper = simulation.add("sleeper", 5);
  simulation.scheduler.run_until_idle(4);
  simulation.scheduler.set_policy(test::policy(BudgetedFrames{.batch = 1}));
  simulation.order.clear();
  simulation.scheduler.run_until_idle(2);
  sleeper.left = 1;
  sleeper.wake();  // Never served: before all sources that were served.
  simulation.scheduler.run_until_idle(4);
  EXPECT_EQ(simulation.order, "b c a sleeper b c");
}

// A change of policy in the middle of a turn: an urgent source need not wait for the end of the batch.
TEST(PolicyModel, AChangeInATurnLetsTheUrgentInAfterTheItemUnderWay) {
  test::Simulation simulation(StrictPriority{});
  test::WorkSource& urgent = simulation.add("urgent", 7);
  struct Batch final : Source {
    explicit Batch(std::function<void(int)> on_item) : Source("batch", Priority{3}), item(std::move(on_item)) {}
    Turn run(const Budget& budget) override {
      Turn turn;
      while (handled < 100 && turn.items < budget.items) {
        item(handled++);
        ++turn.items;
        if (should_yield()) break;
      }
      turn.backlog = handled < 100 ? Backlog::More : Backlog::Empty;
      return turn;
    }
    int handled = 0;
    std::function<void(int)> item;
  };
  int before_urgent = -1;
  Batch batch([&](int item) {
    if (item == 0) simulation.scheduler.set_policy(test::policy(StrictlyOrdered{}));
    if (item == 1) {
      urgent.left = 1;
      urgent.wake();
    }
  });
  urgent.on_run = [&] { before_urgent = batch.handled; };
  simulation.scheduler.add(batch);
  batch.wake();
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(before_urgent, 2);
  EXPECT_EQ(batch.handled, 100);
}

}  // namespace
}  // namespace rondo
