// The statements of SObjectizer's documentation about priorities on a common thread, with real agents: each event is a message to an agent
// of its priority. The same statements with plain sources are in sched/priority_statements_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

struct Event {
  int number = 0;
};

class Receiver final : public Agent {
 public:
  Receiver(AgentGroup& group, unsigned priority, std::vector<int>& order)
      : Agent(group, "a" + std::to_string(priority), Priority{priority}), order_(order) {
    receive<&Receiver::event>();
  }
  std::function<void(int)> on_event;

 private:
  void event(const Event& event) {
    order_.push_back(event.number);
    if (on_event) on_event(event.number);
  }
  std::vector<int>& order_;
};

/// One started agent for each of eight priorities.
struct Eight {
  explicit Eight(PolicyOptions options) : kit({.policy = std::move(options)}) {
    EXPECT_TRUE(kit.agents()
                    .add([&](AgentGroup& group) {
                      for (unsigned p = 0; p < 8; ++p) agents[p] = &group.make<Receiver>(p, order);
                      return Status{};
                    })
                    .has_value());
    kit.run_until_idle();
    for (unsigned p = 0; p < 8; ++p) to[p] = agents[p]->address();
  }
  void events(unsigned priority, int first, int last) {
    for (int e = first; e <= last; ++e) EXPECT_TRUE(to[priority].post(Event{e}).ok());
  }
  std::vector<int> run() {
    order.clear();
    kit.run_until_idle();
    return order;
  }
  /// Handles 'events' events.
  std::vector<int> handle(std::size_t events) {
    order.clear();
    while (order.size() < events && kit.step()) {
    }
    return order;
  }
  std::string digits(const std::vector<std::pair<unsigned, int>>& counts) {
    for (const auto& [priority, count] : counts) {
      for (int i = 0; i < count; ++i) events(priority, static_cast<int>(priority), static_cast<int>(priority));
    }
    std::string text;
    for (const int priority : run()) text += std::to_string(priority);
    return text;
  }

  std::vector<int> order;
  std::array<Receiver*, 8> agents{};
  std::array<Address, 8> to;
  sim::AgentKit kit;
};

/// The numbers of each span, from first to last.
std::vector<int> numbers(std::vector<std::pair<int, int>> spans) {
  std::vector<int> all;
  for (const auto& [first, last] : spans) {
    for (int e = first; e <= last; ++e) all.push_back(e);
  }
  return all;
}

TEST(AgentPriorityStatements, OneEventOfEachPriorityIs76543210) {
  const std::vector<std::pair<unsigned, int>> one{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}};
  for (const PolicyOptions& policy : {PolicyOptions{StrictlyOrdered{}}, PolicyOptions{StrictPriority{}}, PolicyOptions{BudgetedFrames{}},
                                      PolicyOptions{QuotedRoundRobin{.quota = 1}}}) {
    EXPECT_EQ(Eight(policy).digits(one), "76543210");
  }
}

// Quotas of 5, 4 and 3, the others 2; the order is written as digits, as SObjectizer does.
TEST(AgentPriorityStatements, HigherQuotasAreGreaterShares) {
  const auto quotas = QuotedRoundRobin{.quota = 2}.set(Priority::p7, 5).set(Priority::p5, 4).set(Priority::p3, 3);
  EXPECT_EQ(Eight(quotas).digits({{3, 3}, {5, 4}, {7, 5}}), "777775555333");
  EXPECT_EQ(Eight(quotas).digits({{0, 3}, {3, 4}, {5, 6}, {7, 7}}), "77777555533300775530");
}

// "{e2(a7), e8(a7), e5(a6), e1(a4), e4(a4), e7(a4), e3(a2), e6(a2)}", then e9(a6) and e10(a7) arrive.
TEST(AgentPriorityStatements, StrictlyOrderedKeepsTheChronologicalOrderWithinAPriority) {
  for (const std::uint32_t batch : {1U, 3U, 128U}) {
    Eight eight(StrictlyOrdered{.batch = batch});
    for (const auto& [priority, number] : {std::pair{4U, 1}, {7U, 2}, {2U, 3}, {4U, 4}, {6U, 5}, {2U, 6}, {4U, 7}, {7U, 8}}) {
      eight.events(priority, number, number);
    }
    EXPECT_EQ(eight.handle(2), (std::vector{2, 8}));
    eight.events(6, 9, 9);
    eight.events(7, 10, 10);
    EXPECT_EQ(eight.run(), (std::vector{10, 5, 9, 1, 4, 7, 3, 6}));
  }
}

// "Events inside the same priority are handled in chronological order", over all its agents, also those that start meanwhile.
TEST(AgentPriorityStatements, TheOrderWithinAPriorityIsOverAgentsThatHaveYetToStart) {
  sim::AgentKit kit({.policy = StrictlyOrdered{}});
  std::vector<int> order;
  std::vector<Address> to{kit.agents().make<Receiver>(2, order).value()};
  EXPECT_TRUE(kit.step()) << "the first starts, so the next start comes after the next message";
  for (int i = 0; i < 2; ++i) to.push_back(kit.agents().make<Receiver>(2, order).value());
  std::vector<int> posted;
  for (int number = 0; number < 9; ++number) {
    posted.push_back(number);
    ASSERT_TRUE(to[static_cast<std::size_t>(number) % to.size()].post(Event{number}).ok());
  }
  while (kit.step()) {
  }
  EXPECT_EQ(order, posted);
}

// "Suppose that quote will be 4", e1 to e30, with e31 and e32 for p7 while p3 is next.
TEST(AgentPriorityStatements, QuotedRoundRobinGivesEachPriorityNoMoreThanItsQuota) {
  for (const std::uint32_t batch : {1U, 3U, 128U}) {
    Eight eight(QuotedRoundRobin{.quota = 4, .batch = batch});
    eight.events(7, 1, 6);
    eight.events(6, 7, 8);
    eight.events(5, 9, 11);
    eight.events(4, 12, 18);
    eight.events(3, 19, 19);
    eight.events(2, 20, 24);
    eight.events(0, 25, 30);
    EXPECT_EQ(eight.handle(4), numbers({{1, 4}}));
    EXPECT_EQ(eight.handle(2), numbers({{7, 8}}));
    EXPECT_EQ(eight.handle(7), numbers({{9, 15}}));
    eight.events(7, 31, 32);
    EXPECT_EQ(eight.handle(1), numbers({{19, 19}}));
    EXPECT_EQ(eight.handle(8), numbers({{20, 23}, {25, 28}}));
    EXPECT_EQ(eight.run(), numbers({{5, 6}, {31, 32}, {16, 18}, {24, 24}, {29, 30}}));
  }
}

// "If an event of higher priority is arrived during handling a quote for lower priority no switching is performed."
TEST(AgentPriorityStatements, AHigherArrivalDoesNotEndTheQuotaOfALowerPriority) {
  for (const bool from_another_thread : {false, true}) {
    Eight eight(QuotedRoundRobin{.quota = 3});
    eight.events(5, 1, 4);
    eight.agents[5]->on_event = [&](int number) {
      if (number != 1) return;
      if (!from_another_thread) return eight.events(7, 7, 7);
      std::thread([&] { eight.events(7, 7, 7); }).join();
    };
    EXPECT_EQ(eight.run(), (std::vector{1, 2, 3, 7, 4}));
  }
}

// "new_config will be handled as soon as the processing of the previous message finished", whichever thread sends it, and at any point of
// a turn.
TEST(AgentPriorityStatements, NewConfigIsHandledAsSoonAsThePreviousMessageIsFinished) {
  constexpr int kJobs = 40;
  constexpr int kNewConfig = 1000;
  for (const PolicyOptions& policy : {PolicyOptions{StrictlyOrdered{}}, PolicyOptions{StrictPriority{}}, PolicyOptions{BudgetedFrames{}}}) {
    for (const bool from_another_thread : {false, true}) {
      for (int during = 0; during < kJobs; ++during) {
        Eight eight(policy);
        eight.events(0, 0, kJobs - 1);
        eight.agents[0]->on_event = [&](int number) {
          if (number != during) return;
          if (!from_another_thread) return eight.events(1, kNewConfig, kNewConfig);
          std::thread([&] { eight.events(1, kNewConfig, kNewConfig); }).join();
        };
        EXPECT_EQ(eight.run(), numbers({{0, during}, {kNewConfig, kNewConfig}, {during + 1, kJobs - 1}}));
      }
    }
  }
}

// As above with jobs that take long, and some short ones: the queue polls for other sources after each.
TEST(AgentPriorityStatements, NewConfigIsHandledAsSoonAsALongJobIsFinished) {
  constexpr int kJobs = 40;
  constexpr int kNewConfig = 1000;
  for (int during = 0; during < kJobs; ++during) {
    Eight eight(StrictlyOrdered{});
    eight.events(0, 0, kJobs - 1);
    eight.agents[0]->on_event = [&](int number) {
      if (number == during) std::thread([&] { eight.events(1, kNewConfig, kNewConfig); }).join();
      if (number % 8 != 0) eight.kit.world().clock().advance(1ms);
    };
    EXPECT_EQ(eight.run(), numbers({{0, during}, {kNewConfig, kNewConfig}, {during + 1, kJobs - 1}}));
  }
}

}  // namespace
}  // namespace rondo
