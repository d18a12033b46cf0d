// Topics, and messages that are posted later or periodically, in simulated time.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

struct PortDown {
  int port = 0;
};
struct Table {
  std::array<int, 100> rows{};
};
struct Tick {
  int number = 0;
};

class Subscriber final : public Agent {
 public:
  Subscriber(AgentGroup& group, std::string name, Priority priority, const Topic<PortDown>& topic)
      : Agent(group, std::move(name), priority), topic_(topic) {
    limit<PortDown>({.most = 3});
    EXPECT_TRUE(subscribe<&Subscriber::port_down>(topic_).ok());
    receive<&Subscriber::table>();
    receive<&Subscriber::tick>();
    receive<&Subscriber::leave>();
  }
  std::vector<int> ports;
  std::vector<Instant> ticks;
  const int* row = nullptr;
  Status twice() { return subscribe<&Subscriber::port_down>(topic_); }
  TimedMessage later(Duration delay) { return send_later(address(), Tick{}, delay); }
  TimedMessage every(Duration period) { return send_every(address(), Tick{}, period); }

 private:
  void port_down(const PortDown& message) { ports.push_back(message.port); }
  void table(const Table& message) { row = message.rows.data(); }
  void tick(const Tick&) { ticks.push_back(scheduler().clock().now()); }
  void leave(const std::string&) { unsubscribe(topic_); }
  Topic<PortDown> topic_;
};

struct Room {
  Subscriber& add(std::string name, Priority priority) {
    Subscriber* made = nullptr;
    id = kit.agents()
             .add([&](AgentGroup& group) {
               made = &group.make<Subscriber>(std::move(name), priority, topic);
               return Status{};
             })
             .value();
    kit.run_until_idle();
    return *made;
  }
  sim::AgentKit kit;
  Topic<PortDown> topic = kit.agents().topic<PortDown>("port down");
  GroupId id;
};

TEST(Topics, DeliverFromTheHighestPriorityDownAndEqualsInOrderOfSubscription) {
  Room room;
  for (const auto& [name, priority] : {std::pair{"c", Priority::p2}, {"a1", Priority::p7}, {"b", Priority::p4}, {"a2", Priority::p7}}) {
    room.add(name, priority);
  }
  const Delivery delivery = room.topic.publish({.port = 1});
  EXPECT_EQ(delivery.delivered, 4U);
  EXPECT_EQ(delivery.refused, 0U);
  room.kit.run_until_idle();
  EXPECT_EQ(room.kit.order(), "a1 a2 b c");
}

TEST(Topics, TheOrderOfDeliveryHoldsUnderEveryPolicyBecauseItIsTheOrderOfPosting) {
  // The arrival numbers show it: the message posted first is the older one.
  Room room;
  room.add("low", Priority::p1);
  room.add("high", Priority::p6);
  std::vector<std::string> order;
  for (int i = 0; i < 3; ++i) static_cast<void>(room.topic.publish({.port = i}));
  room.kit.run_until_idle();
  EXPECT_EQ(room.kit.order(), "high high high low low low");
}

TEST(Topics, OfOneNameAndSeveralTypesAreSeveral) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  EXPECT_EQ(room.kit.agents().topic<Tick>("port down").publish({1}).delivered, 0U);
  EXPECT_EQ(room.kit.agents().topic<PortDown>("port up").publish({1}).delivered, 0U);
  EXPECT_EQ(room.kit.agents().topic<PortDown>("port down").publish({5}).delivered, 1U) << "the same topic, found by its name";
  room.kit.run_until_idle();
  EXPECT_EQ(a.ports, (std::vector{5}));
}

TEST(Topics, WhoLeavesOrGoesGetsNothingMore) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  EXPECT_EQ(a.twice().code(), StatusCode::AlreadyExists);
  room.add("b", Priority::p3);
  const GroupId b = room.id;
  EXPECT_EQ(room.topic.publish({1}).delivered, 2U);
  ASSERT_TRUE(room.kit.agents().remove(b).ok());
  EXPECT_EQ(room.topic.publish({2}).delivered, 1U) << "b takes nothing from here on";
  ASSERT_TRUE(a.address().post(std::string{"leave"}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.topic.publish({3}).delivered, 0U);
  EXPECT_EQ(a.ports, (std::vector{1, 2}));
}

TEST(Topics, ALimitOfOneSubscriberRefusesForItAlone) {
  Room room;
  room.add("a", Priority::p3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(room.topic.publish({i}).delivered, 1U);
  const Delivery fourth = room.topic.publish({4});
  EXPECT_EQ(fourth.delivered, 0U);
  EXPECT_EQ(fourth.refused, 1U);
}

TEST(Topics, LargeMessagesAreShared) {
  class Reader final : public Agent {
   public:
    Reader(AgentGroup& group, const Topic<Table>& topic) : Agent(group, "reader", Priority::p3) {
      EXPECT_TRUE(subscribe<&Reader::table>(topic).ok());
    }
    const Table* seen = nullptr;

   private:
    void table(const Table& message) { seen = &message; }
  };
  sim::AgentKit kit;
  const Topic<Table> topic = kit.agents().topic<Table>("tables");
  Reader* one = nullptr;
  Reader* other = nullptr;
  ASSERT_TRUE(kit.agents()
                  .add([&](AgentGroup& group) {
                    one = &group.make<Reader>(topic);
                    other = &group.make<Reader>(topic);
                    return Status{};
                  })
                  .has_value());
  kit.run_until_idle();
  EXPECT_EQ(topic.publish(Table{}).delivered, 2U);
  kit.run_until_idle();
  EXPECT_NE(one->seen, nullptr);
  EXPECT_EQ(one->seen, other->seen);
}

TEST(TimedMessages, ComeWhenTheyAreDue) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  const Instant begin = room.kit.world().now();
  const TimedMessage timer = a.later(100ms);
  room.kit.run_for(99ms);
  EXPECT_TRUE(a.ticks.empty());
  EXPECT_TRUE(timer.is_armed());
  room.kit.run_for(10ms);
  ASSERT_EQ(a.ticks.size(), 1U);
  EXPECT_GE(a.ticks[0] - begin, 100ms);
  EXPECT_LE(a.ticks[0] - begin, 102ms);
  EXPECT_FALSE(timer.is_armed());
}

TEST(TimedMessages, ComeAgainInPhaseUntilTheirHandleEnds) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  const Instant begin = room.kit.world().now();
  {
    const TimedMessage timer = a.every(10ms);
    room.kit.run_for(105ms);
    ASSERT_EQ(a.ticks.size(), 10U);
    for (std::size_t i = 0; i < a.ticks.size(); ++i) {
      const Duration due = 10ms * static_cast<int>(i + 1);
      EXPECT_GE(a.ticks[i] - begin, due);
      EXPECT_LE(a.ticks[i] - begin, due + 2ms) << "tick " << i;
    }
    EXPECT_EQ(timer.missed(), 0U);
  }
  room.kit.run_for(100ms);
  EXPECT_EQ(a.ticks.size(), 10U);
}

TEST(TimedMessages, ThatWereMissedAreSkippedAndCounted) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  const TimedMessage timer = a.every(10ms);
  room.kit.world().clock().advance(55ms);  // The thread was busy.
  room.kit.run_for(1ms);
  EXPECT_EQ(a.ticks.size(), 1U);
  EXPECT_EQ(timer.missed(), 4U);
  room.kit.run_for(6ms);
  EXPECT_EQ(a.ticks.size(), 2U) << "in phase";
}

TEST(TimedMessages, AreCancelledByMovingOverThemAndByCancel) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  TimedMessage timer = a.later(10ms);
  timer = a.later(20ms);
  room.kit.run_for(15ms);
  EXPECT_TRUE(a.ticks.empty());
  timer.cancel();
  EXPECT_FALSE(timer.is_armed());
  room.kit.run_for(15ms);
  EXPECT_TRUE(a.ticks.empty());
}

TEST(TimedMessages, ToAnAgentThatHasGoneAreRefusedAndCounted) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  const TimedMessage timer = a.every(10ms);
  ASSERT_TRUE(room.kit.agents().remove(room.id).ok());
  room.kit.run_for(35ms);
  EXPECT_EQ(timer.refused(), 3U);
}

TEST(TimedMessagesDeathTest, APeriodIsPositive) {
  Room room;
  Subscriber& a = room.add("a", Priority::p3);
  EXPECT_DEATH(static_cast<void>(a.every(Duration{0})), "a period of");
  EXPECT_DEATH(static_cast<void>(a.every(Duration{-1ms})), "a period of");
}

}  // namespace
}  // namespace rondo
