// Goal: several Agents, and several AgentThreads, work side by side in one program: their agents post to each other, and each has topics,
// figures and an end of its own. Method: two of each, whose agents pass a number on.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rondo/message/agent_threads.h"
#include "rondo/message/agents.h"
#include "rondo/sim/world.h"

namespace rondo {
namespace {

struct Pass {
  int left;
};

/// Notes its name and passes the number, one less, on to another agent.
class Player final : public Agent {
 public:
  Player(AgentGroup& group, std::string name, Priority priority, std::vector<std::string>& played)
      : Agent(group, name, priority), played_(played) {
    receive<&Player::pass>();
  }
  Address other;

 private:
  void pass(const Pass& message) {
    played_.push_back(name());
    if (message.left > 0) {
      ASSERT_TRUE(other.post(Pass{message.left - 1}).ok());
    }
  }
  std::vector<std::string>& played_;
};

Player* add_player(Agents& agents, const std::string& name, Priority priority, std::vector<std::string>& played) {
  Player* player = nullptr;
  EXPECT_TRUE(agents
                  .add([&](AgentGroup& group) {
                    player = &group.make<Player>(name, priority, played);
                    return Status{};
                  })
                  .has_value());
  return player;
}

TEST(SeveralAgents, OnOneSchedulerPostToEachOtherAndEndSeparately) {
  sim::World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), std::move(make_policy(StrictlyOrdered{}).value()));
  std::vector<std::string> played;
  Agents first(scheduler);
  auto second = std::make_unique<Agents>(scheduler);
  Player* const a = add_player(first, "a", Priority::p3, played);
  Player* const b = add_player(*second, "b", Priority::p3, played);
  a->other = b->address();
  b->other = a->address();
  scheduler.run_until_idle();
  ASSERT_TRUE(a->address().post(Pass{4}).ok());
  scheduler.run_until_idle();
  EXPECT_EQ(played, (std::vector<std::string>{"a", "b", "a", "b", "a"}));
  EXPECT_EQ(first.figures_of_agents().at(0).served, 3U);
  EXPECT_EQ(second->figures_of_agents().at(0).served, 2U);
  EXPECT_EQ(first.topic<Pass>("moves").publish({0}).delivered + second->topic<Pass>("moves").publish({0}).delivered, 0U);

  const Address gone = b->address();
  second.reset();
  EXPECT_EQ(gone.post(Pass{0}).code(), StatusCode::NotFound);
  ASSERT_TRUE(a->address().post(Pass{0}).ok());
  scheduler.run_until_idle();
  EXPECT_EQ(played.back(), "a");
  EXPECT_EQ(played.size(), 6U);
}

TEST(SeveralAgents, MessagesOfOnePriorityKeepTheOrderOfArrivalOverBoth) {
  sim::World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), std::move(make_policy(StrictlyOrdered{}).value()));
  std::vector<std::string> played;
  Agents first(scheduler);
  Agents second(scheduler);
  const Address a = add_player(first, "a", Priority::p3, played)->address();
  const Address b = add_player(second, "b", Priority::p3, played)->address();
  scheduler.run_until_idle();
  for (const Address& to : {a, b, b, a, b}) ASSERT_TRUE(to.post(Pass{0}).ok());
  scheduler.run_until_idle();
  EXPECT_EQ(played, (std::vector<std::string>{"a", "b", "b", "a", "b"}));
}

/// Counts down with an agent on another thread; the last one tells 'done'.
class Counter final : public Agent {
 public:
  Counter(AgentGroup& group, Priority priority, std::atomic<bool>& done) : Agent(group, "counter", priority), done_(done) {
    receive<&Counter::meet>();
    receive<&Counter::pass>();
  }
  struct Meet {
    Address other;
  };

 private:
  void meet(const Meet& message) { other_ = message.other; }
  void pass(const Pass& message) {
    if (message.left == 0) {
      done_ = true;
      done_.notify_one();
    } else {
      ASSERT_TRUE(other_.post(Pass{message.left - 1}).ok());
    }
  }
  Address other_;
  std::atomic<bool>& done_;
};

TEST(SeveralAgents, WithThreadsPostToEachOtherAndTheStopOfOneLeavesTheOther) {
  std::atomic<bool> done{false};
  AgentThreads first({.name = "first"});
  AgentThreads second({.name = "second"});
  const Result<Address> a = first.agents().make<Counter>(Priority::p3, done);
  const Result<Address> b = second.agents().make<Counter>(Priority::p3, done);
  ASSERT_TRUE(a.has_value() && b.has_value());
  ASSERT_TRUE(a->post(Counter::Meet{*b}).ok());
  ASSERT_TRUE(b->post(Counter::Meet{*a}).ok());
  ASSERT_TRUE(a->post(Pass{1001}).ok());
  done.wait(false);
  EXPECT_EQ(first.size() + second.size(), 2U);

  second.stop();
  EXPECT_EQ(b->post(Pass{0}).code(), StatusCode::NotFound);
  done = false;
  ASSERT_TRUE(a->post(Pass{0}).ok());
  done.wait(false);
}

}  // namespace
}  // namespace rondo
