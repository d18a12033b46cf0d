// The statements of SObjectizer's documentation about priorities on a common thread, quoted, one test each. The shares are written as
// digits, as SObjectizer writes them. Items are in lanes, with one or more sources a priority, like messages of agents.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/test_source.h"

namespace rondo {
namespace {

/// The events of one agent: numbered by arrival, handled one by one within the budget, and recorded by name.
class Lane final : public Source {
 public:
  Lane(Scheduler& scheduler, unsigned priority, std::string& order)
      : Source("a" + std::to_string(priority), Priority{priority}), scheduler_(scheduler), order_(order) {
    scheduler.add(*this);
  }
  void event(const std::string& name) {
    events_.emplace_back(scheduler_.next_arrival(), name);
    // In its own turn it reports backlog instead; a wake would cause a turn without items, which would be counted.
    if (!is_running()) wake();
  }
  Turn run(const Budget& budget) override {
    Turn turn;
    while (!events_.empty() && turn.items < budget.items && events_.front().first < budget.before) {
      order_.append(order_.empty() ? "" : " ").append(events_.front().second);
      events_.pop_front();
      ++turn.items;
      if (on_event) on_event(turn.items);
      if (should_yield()) break;
    }
    turn.backlog = events_.empty() ? Backlog::Empty : Backlog::More;
    return turn;
  }
  bool has_backlog() const override { return !events_.empty(); }
  std::uint64_t head_arrival() const override { return events_.empty() ? 0 : events_.front().first; }
  std::string names() const {
    std::string all;
    for (const auto& [arrival, name] : events_) all.append(all.empty() ? "" : " ").append(name);
    return all;
  }

  std::function<void(std::uint32_t)> on_event;

 private:
  Scheduler& scheduler_;
  std::string& order_;
  std::deque<std::pair<std::uint64_t, std::string>> events_;
};

struct Eight {
  explicit Eight(PolicyOptions options) : simulation(std::move(options)) {
    for (unsigned p = 0; p < 8; ++p) lanes.push_back(std::make_unique<Lane>(simulation.scheduler, p, order));
  }
  Lane& operator[](unsigned priority) { return *lanes[priority]; }
  void events(unsigned priority, int first, int last) {
    for (int e = first; e <= last; ++e) lanes[priority]->event("e" + std::to_string(e));
  }
  std::string run() {
    order.clear();
    simulation.scheduler.run_until_idle();
    return order;
  }
  /// Handles 'events' events, one or more a turn.
  std::string handle(std::size_t events) {
    order.clear();
    while (static_cast<std::size_t>(std::ranges::count(order, 'e')) < events && simulation.scheduler.turn()) {
    }
    return order;
  }

  test::Simulation simulation;
  std::string order;
  std::vector<std::unique_ptr<Lane>> lanes;
};

// "Three events arrive: e1(a4), e2(a7), e3(a2). The dispatcher's queue becomes: {e2(a7), e1(a4), e3(a2)}"
TEST(PriorityStatements, StrictlyOrderedPutsHigherPrioritiesFirst) {
  Eight agents(StrictlyOrdered{});
  agents[4].event("e1");
  agents[7].event("e2");
  agents[2].event("e3");
  EXPECT_EQ(agents.run(), "e2 e1 e3");
}

// The whole example, e1 to e8: "{e2(a7), e8(a7), e5(a6), e1(a4), e4(a4), e7(a4), e3(a2), e6(a2)}"
TEST(PriorityStatements, StrictlyOrderedKeepsTheChronologicalOrderWithinAPriority) {
  for (const std::uint32_t batch : {1U, 3U, 128U}) {
    Eight agents(StrictlyOrdered{.batch = batch});
    agents[4].event("e1");
    agents[7].event("e2");
    agents[2].event("e3");
    agents[4].event("e4");
    agents[6].event("e5");
    agents[2].event("e6");
    agents[4].event("e7");
    agents[7].event("e8");
    EXPECT_EQ(agents.run(), "e2 e8 e5 e1 e4 e7 e3 e6");
  }
}

// "After a handling of e2(a7) and e8(a7) ... if two new events, e9(a6) and e10(a7), arrive at this moment then the queue will be:
// {e10(a7), e5(a6), e9(a6), e1(a4), e4(a4), e7(a4), e3(a2), e6(a2)}"
TEST(PriorityStatements, StrictlyOrderedTakesWhatArrivesInTheMiddleByItsPriority) {
  Eight agents(StrictlyOrdered{});
  agents[4].event("e1");
  agents[7].event("e2");
  agents[2].event("e3");
  agents[4].event("e4");
  agents[6].event("e5");
  agents[2].event("e6");
  agents[4].event("e7");
  agents[7].event("e8");
  EXPECT_EQ(agents.handle(2), "e2 e8");
  agents[6].event("e9");
  agents[7].event("e10");
  EXPECT_EQ(agents.run(), "e10 e5 e9 e1 e4 e7 e3 e6");
}

// "new_config will be handled as soon as the processing of the previous message finished."
TEST(PriorityStatements, AHigherArrivalGoesNextAfterTheEventUnderWay) {
  Eight agents(StrictlyOrdered{});
  agents.events(0, 1, 4);
  agents[0].on_event = [&](std::uint32_t) {
    if (agents.order == "e1 e2") agents[1].event("new_config");
  };
  EXPECT_EQ(agents.run(), "e1 e2 new_config e3 e4");
}

// "The chronological order of events will be preserved only for events of agents with the same priority", here with several agents.
TEST(PriorityStatements, TheOrderOfArrivalHoldsOverSeveralAgentsOfOnePriority) {
  for (const std::uint32_t batch : {1U, 128U}) {
    test::Simulation simulation(StrictlyOrdered{.batch = batch});
    std::string order;
    Lane a(simulation.scheduler, 3, order), b(simulation.scheduler, 3, order), c(simulation.scheduler, 3, order);
    a.event("1"), a.event("2"), b.event("3"), a.event("4"), c.event("5"), c.event("6"), b.event("7"), a.event("8");
    simulation.scheduler.run_until_idle();
    EXPECT_EQ(order, "1 2 3 4 5 6 7 8");
  }
}

// As above, when an idle agent gets an event that is older than the running agent's next.
TEST(PriorityStatements, AnArrivalAtAnIdleAgentGoesBeforeLaterOnesOfTheRunningOne) {
  test::Simulation simulation(StrictlyOrdered{});
  std::string order;
  Lane a(simulation.scheduler, 3, order), b(simulation.scheduler, 3, order);
  a.event("1"), a.event("2");
  a.on_event = [&](std::uint32_t) {
    if (order == "1") b.event("3"), a.event("4");
  };
  simulation.scheduler.run_until_idle();
  EXPECT_EQ(order, "1 2 3 4");
}

// "Events with the lowest priority can stay in the queue forever."
TEST(PriorityStatements, UnderStrictOrderTheLowestCanStayForever) {
  Eight agents(StrictlyOrdered{});
  agents[0].event("low");
  agents[7].event("e0");
  agents[7].on_event = [&](std::uint32_t) {
    agents.simulation.world.clock().advance(1us);
    agents[7].event("e");
  };
  agents.simulation.scheduler.run_until_idle(10'000);
  EXPECT_EQ(agents[0].stats().turns, 0U);
  EXPECT_EQ(agents.simulation.scheduler.bound(agents[0]), Duration::max());
}

/// "p7: {e1 ... e6}, p6: {e7, e8}, p5: {e9, e10, e11}, p4: {e12 ... e18}, p3: {e19}, p2: {e20 ... e24}, p1: {}, p0: {e25 ... e30}"
struct Quoted : Eight {
  explicit Quoted(std::uint32_t batch) : Eight(QuotedRoundRobin{.quota = 4, .batch = batch}) {
    events(7, 1, 6), events(6, 7, 8), events(5, 9, 11), events(4, 12, 18), events(3, 19, 19), events(2, 20, 24), events(0, 25, 30);
  }
};

TEST(PriorityStatements, QuotedRoundRobinGivesEachPriorityNoMoreThanItsQuota) {
  for (const std::uint32_t batch : {1U, 3U, 128U}) {
    Quoted agents(batch);
    // "On the first step, four events from the event queue for p7 will be handled."
    EXPECT_EQ(agents.handle(4), "e1 e2 e3 e4");
    EXPECT_EQ(agents[7].names(), "e5 e6");
    // "On the next step, two events for priority p6 will be handled. Only two because there is no more events for that priority."
    EXPECT_EQ(agents.handle(2), "e7 e8");
    // "On the next step three events for p5 will be handled. And on the next step four events for p4 will be handled."
    EXPECT_EQ(agents.handle(7), "e9 e10 e11 e12 e13 e14 e15");
    EXPECT_EQ(agents[4].names(), "e16 e17 e18");
    // "Suppose that e31 and e32 for p7 arrive at this moment ... the next event to be extracted and handled will be e19 for p3."
    agents.events(7, 31, 32);
    EXPECT_EQ(agents.handle(1), "e19");
    EXPECT_EQ(agents[7].names(), "e5 e6 e31 e32");
    // "On the next steps four events for p2 and p0 will be handled."
    EXPECT_EQ(agents.handle(8), "e20 e21 e22 e23 e25 e26 e27 e28");
    EXPECT_EQ(agents[2].names(), "e24");
    EXPECT_EQ(agents[0].names(), "e29 e30");
    // "Then the next cycle starts and four events from p7 will be handled, then three events for p4, one event for p2 and two events for
    // p0."
    EXPECT_EQ(agents.run(), "e5 e6 e31 e32 e16 e17 e18 e24 e29 e30");
  }
}

// "If an event of higher priority is arrived during handling a quote for lower priority no switching is performed."
TEST(PriorityStatements, AHigherArrivalDoesNotEndTheQuotaOfALowerPriority) {
  Eight agents(QuotedRoundRobin{.quota = 3});
  agents.events(5, 1, 4);
  agents[5].on_event = [&](std::uint32_t) {
    if (agents.order == "e1") agents[7].event("e7");
  };
  EXPECT_EQ(agents.run(), "e1 e2 e3 e7 e4");
}

std::string digits(PolicyOptions options, const std::vector<std::pair<unsigned, int>>& events) {
  Eight agents(std::move(options));
  for (const auto& [priority, count] : events) {
    for (int i = 0; i < count; ++i) agents[priority].event(std::to_string(priority));
  }
  std::string order = agents.run();
  std::erase(order, ' ');
  return order;
}

TEST(PriorityStatements, OneEventOfEachPriorityIs76543210) {
  const std::vector<std::pair<unsigned, int>> one{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}};
  EXPECT_EQ(digits(StrictlyOrdered{}, one), "76543210");
  EXPECT_EQ(digits(StrictPriority{}, one), "76543210");
  EXPECT_EQ(digits(BudgetedFrames{}, one), "76543210");
  EXPECT_EQ(digits(QuotedRoundRobin{.quota = 1}, one), "76543210");
}

// "This working scheme means that the agent's priorities treated as agent's weight": quotas of 5, 4 and 3.
TEST(PriorityStatements, HigherQuotasAreGreaterShares) {
  EXPECT_EQ(digits(QuotedRoundRobin{2}.set(Priority::p7, 5).set(Priority::p5, 4).set(Priority::p3, 3), {{3, 3}, {5, 4}, {7, 5}}),
            "777775555333");
  EXPECT_EQ(digits(QuotedRoundRobin{2}.set(Priority::p7, 5).set(Priority::p5, 4).set(Priority::p3, 3), {{0, 3}, {3, 4}, {5, 6}, {7, 7}}),
            "77777555533300775530");
}

// --- Cases that SObjectizer leaves unspecified, with our rules.

TEST(PriorityStatements, AQuotaUsedUpExactlyMovesTheCursorOn) {
  Eight agents(QuotedRoundRobin{.quota = 2});
  agents.events(7, 1, 2), agents.events(3, 4, 5);
  EXPECT_EQ(agents.handle(2), "e1 e2");
  agents.events(7, 3, 3);
  EXPECT_EQ(agents.run(), "e4 e5 e3");
}

TEST(PriorityStatements, AQueueDryInsideItsQuotaKeepsTheCursorUntilTheNextPick) {
  Eight agents(QuotedRoundRobin{.quota = 3});
  agents.events(7, 1, 1), agents.events(3, 5, 5);
  EXPECT_EQ(agents.handle(1), "e1");
  agents.events(7, 2, 4);  // Before the next pick: the rest of the quota is two.
  EXPECT_EQ(agents.run(), "e2 e3 e5 e4");
}

TEST(PriorityStatements, TheRestOfAQuotaIsLostWhenTheCursorLeaves) {
  Eight agents(QuotedRoundRobin{.quota = 3});
  agents.events(7, 1, 1), agents.events(3, 5, 5), agents.events(0, 6, 9);
  EXPECT_EQ(agents.handle(2), "e1 e5");
  agents.events(7, 11, 14);
  EXPECT_EQ(agents.run(), "e6 e7 e8 e11 e12 e13 e9 e14");
}

TEST(PriorityStatements, AfterIdlenessTheCursorBeginsAtTheHighest) {
  Eight agents(QuotedRoundRobin{.quota = 4});
  agents.events(3, 1, 1);
  EXPECT_EQ(agents.run(), "e1");
  agents.events(7, 2, 2), agents.events(2, 3, 3), agents.events(3, 4, 4);
  EXPECT_EQ(agents.run(), "e2 e4 e3");
}

}  // namespace
}  // namespace rondo
