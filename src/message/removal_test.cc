// An agent that is removed immediately handles nothing more, not even messages in hand in the same turn. The callback of a group's removal
// is called at its end.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "message/agent_state.h"
#include "rondo/base/limits.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

struct Job {
  int number = 0;
};

class Doer final : public Agent {
 public:
  Doer(AgentGroup& group, Priority priority, AgentOptions options) : Agent(group, "doer", priority, options) { receive<&Doer::job>(); }
  std::function<void(int)> on_job;

 private:
  void job(const Job& job) {
    if (on_job) on_job(job.number);
  }
};

struct Room {
  explicit Room(PolicyOptions policy = StrictPriority{}, Priority priority = Priority::p3, AgentOptions options = {},
                AgentsOptions agents = {})
      : kit({.policy = std::move(policy), .agents = std::move(agents)}) {
    id = kit.agents()
             .add([&](AgentGroup& group) {
               doer = &group.make<Doer>(priority, options);
               return Status{};
             })
             .value();
    kit.run_until_idle();
    to = doer->address();
  }
  /// Posts a hundred jobs; the first calls 'at_first'. Returns how many were handled.
  int handled_of_a_hundred(const std::function<void()>& at_first) {
    int handled = 0;
    doer->on_job = [&](int) {
      if (handled++ == 0) at_first();
    };
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(to.post(Job{i}).ok());
    kit.run_until_idle();
    return handled;
  }
  sim::AgentKit kit;
  Doer* doer = nullptr;
  GroupId id;
  Address to;
};

struct Setting {
  const char* name;
  PolicyOptions policy;
  Priority priority;
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"strict, one a turn", StrictPriority{.batch = 1}, Priority::p3},
      {"strict, 128 a turn", StrictPriority{.batch = 128}, Priority::p3},
      {"strict, p63", StrictPriority{}, Priority{limits::kPriorities - 1}},
      {"strictly ordered", StrictlyOrdered{}, Priority::p3},
      {"quota 50", QuotedRoundRobin{.quota = 50}, Priority::p3},
      {"frames", BudgetedFrames{}, Priority::p3},
  };
  return all;
}

TEST(Removal, AfterAHandlerThatThrewUnderStopAgentNoOtherRuns) {
  for (const Setting& setting : settings()) {
    Room room(setting.policy, setting.priority, {.reaction = Reaction::StopAgent});
    EXPECT_EQ(room.handled_of_a_hundred([] { throw std::runtime_error("no"); }), 1) << setting.name;
    EXPECT_EQ(room.kit.agents().groups(), 0U);
    const MessageFigures queue = room.kit.agents().figures_of_queues().at(0);
    EXPECT_EQ(queue.dropped, 99U) << setting.name;
    EXPECT_EQ(queue.queued, 0U) << setting.name;
  }
}

TEST(Removal, AfterAHandlerThatRemovedItsOwnGroupAtOnceNoOtherRuns) {
  for (const Setting& setting : settings()) {
    Room room(setting.policy, setting.priority);
    EXPECT_EQ(room.handled_of_a_hundred([&] { EXPECT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok()); }), 1) << setting.name;
    EXPECT_EQ(room.kit.agents().groups(), 0U);
  }
}

TEST(Removal, AfterALimitStoppedTheAgentNoHandlerOfItRuns) {
  class Limited final : public Agent {
   public:
    explicit Limited(AgentGroup& group) : Agent(group, "limited", Priority::p3) {
      limit<Job>({.most = 100, .overflow = Overflow::StopAgent});
      receive<&Limited::job>();
    }
    int handled = 0;

   private:
    void job(const Job&) {
      ++handled;
      while (address().post(Job{}).ok()) {  // Until the queue is full.
      }
      EXPECT_EQ(handled, 1);
    }
  };
  sim::AgentKit kit({.policy = StrictPriority{}});
  const Address to = kit.agents().make<Limited>().value();
  kit.run_until_idle();
  ASSERT_TRUE(to.post(Job{}).ok());
  kit.run_until_idle();
  EXPECT_EQ(kit.agents().groups(), 0U);
}

TEST(Removal, AfterAStopOfTheRuntimeTheTurnUnderWayEnds) {
  for (const Setting& setting : settings()) {
    Room room(setting.policy, setting.priority, {.reaction = Reaction::StopRuntime});
    int handled = 0;
    room.doer->on_job = [&](int) {
      ++handled;
      throw std::runtime_error("no");
    };
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(room.to.post(Job{i}).ok());
    room.kit.step();
    EXPECT_EQ(handled, 1) << setting.name;
  }
}

TEST(Removal, WhoAsksToBeToldIsToldThoughTheRuntimeHadBegunTheEnd) {
  Room room(StrictPriority{}, Priority::p3, {.reaction = Reaction::StopAgent});
  room.doer->on_job = [](int) { throw std::runtime_error("no"); };
  ASSERT_TRUE(room.to.post(Job{}).ok());
  bool done = false;
  room.kit.step();  // Throws, and its group is to be removed.
  ASSERT_EQ(room.kit.agents().groups(), 1U);
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AfterQueues, [&] { done = true; }).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.kit.agents().groups(), 0U);
  EXPECT_TRUE(done);
}

TEST(Removal, OfTwoWhoAskToBeToldTheFirstIs) {
  Room room;
  std::string told;
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AfterQueues).ok()) << "nobody asks yet";
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AfterQueues, [&] { told += "first "; }).ok());
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce, [&] { told += "second "; }).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(told, "first ");
}

// At the end of the program the first agent of the group has gone and the second still has a queue. With the second agent the group
// releases both cells, and other objects may use their memory.
TEST(Removal, AGroupThatIsHalfGoneWhenTheProgramEndsIsLetGoOnce) {
  std::vector<std::string> somebody_elses;
  {
    sim::AgentKit kit;
    Doer* low = nullptr;
    const GroupId id = kit.agents()
                           .add([&](AgentGroup& group) {
                             group.make<Doer>(Priority::p7, AgentOptions{});
                             low = &group.make<Doer>(Priority::p0, AgentOptions{});
                             return Status{};
                           })
                           .value();
    kit.run_until_idle();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(low->address().post(Job{i}).ok());
    ASSERT_TRUE(kit.agents()
                    .remove(id, Removal::AfterQueues,
                            [&] {
                              for (int i = 0; i < 8; ++i) somebody_elses.emplace_back(sizeof(message::AgentState) - 1, '\x7f');
                            })
                    .ok());
    kit.step();
    ASSERT_EQ(kit.agents().figures_of_agents().size(), 1U);
  }
  EXPECT_EQ(somebody_elses, std::vector<std::string>(8, std::string(sizeof(message::AgentState) - 1, '\x7f')));
}

// The places of messages dropped outside of a turn can be used by other messages: here the limit leaves few others.
TEST(Removal, PlacesOfDroppedMessagesAreThereForOtherAgents) {
  constexpr int kMost = 10;
  Room room(StrictPriority{}, Priority::p3, {.reaction = Reaction::Retry, .retry_delay = 10s, .retries_max = 3}, {.messages_max = kMost});
  room.doer->on_job = [](int) { throw std::runtime_error("not now"); };
  Doer* other = nullptr;
  ASSERT_TRUE(room.kit.agents()
                  .add([&](AgentGroup& group) {
                    other = &group.make<Doer>(Priority::p3, AgentOptions{});
                    return Status{};
                  })
                  .has_value());
  int parked = 0;
  for (bool taken = true; taken; room.kit.run_until_idle()) {
    taken = room.to.post(Job{parked}).ok();
    parked += taken ? 1 : 0;
    ASSERT_LT(parked, 1000);
  }
  EXPECT_GT(parked, kMost);
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok());
  room.kit.run_until_idle();
  for (int i = 0; i < kMost; ++i) EXPECT_TRUE(other->address().post(Job{i}).ok()) << i;
}

}  // namespace
}  // namespace rondo
