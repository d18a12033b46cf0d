// Limits of types: each overflow rule, and merging by key. Posts come from outside (while nothing is in hand), from an agent of the same
// thread, and while messages are in hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/message/limits.h"
#include "rondo/sim/agent_kit.h"

namespace rondo::limits_test {
/// A key that is its own hash, like an integer, and that counts comparisons.
struct Port {
  std::uint64_t number = 0;
  static inline std::uint64_t comparisons = 0;
  friend bool operator==(const Port& a, const Port& b) noexcept {
    ++comparisons;
    return a.number == b.number;
  }
};
}  // namespace rondo::limits_test

template <>
struct std::hash<rondo::limits_test::Port> {
  std::size_t operator()(const rondo::limits_test::Port& port) const noexcept { return port.number; }
};

namespace rondo {
namespace {

using limits_test::Port;

struct Sample {
  int number = 0;
};
struct Row {
  std::string key;
  int value = 0;
};
struct Other {
  int number = 0;
};

using Numbers = std::vector<int>;

class Limited final : public Agent {
 public:
  Limited(AgentGroup& group, Limit given, Priority priority = Priority::p3) : Agent(group, "limited", priority) {
    limit<Sample>(given);
    receive<&Limited::sample>();
    receive<&Limited::other>();
  }
  Numbers seen;
  std::function<void(int)> on_sample;

 private:
  void sample(const Sample& message) {
    seen.push_back(message.number);
    if (on_sample) on_sample(message.number);
  }
  void other(const Other& message) { seen.push_back(-message.number); }
};

struct Room {
  explicit Room(Limit limit, AgentsOptions options = {}) : kit({.agents = std::move(options)}) {
    id = kit.agents()
             .add([&](AgentGroup& group) {
               agent = &group.make<Limited>(limit);
               return Status{};
             })
             .value();
    kit.run_until_idle();
    to = agent->address();
  }
  Status post(int number) { return to.post(Sample{number}); }
  MessageFigures figures() { return kit.agents().figures_of_agents().at(0); }
  sim::AgentKit kit;
  GroupId id;
  Limited* agent = nullptr;
  Address to;
};

TEST(MessageLimits, RejectTellsTheSender) {
  Room room({.most = 2, .overflow = Overflow::Reject});
  ASSERT_TRUE(room.post(1).ok());
  ASSERT_TRUE(room.post(2).ok());
  const Status refused = room.post(3);
  EXPECT_EQ(refused.code(), StatusCode::ResourceExhausted);
  EXPECT_NE(refused.message().find("2 wait already"), std::string_view::npos) << refused.message();
  EXPECT_TRUE(room.to.post(Other{7}).ok()) << "another type is not limited";
  EXPECT_EQ(room.figures().refused, 1U);
  EXPECT_EQ(room.figures().queued, 3U);
  room.kit.run_until_idle();
  EXPECT_EQ(room.agent->seen, (Numbers{1, 2, -7}));
  EXPECT_TRUE(room.post(4).ok()) << "there is room again";
}

TEST(MessageLimits, DropNewestKeepsWhatWaits) {
  Room room({.most = 2, .overflow = Overflow::DropNewest});
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(room.post(i).ok());
  EXPECT_EQ(room.figures().dropped, 3U);
  room.kit.run_until_idle();
  EXPECT_EQ(room.agent->seen, (Numbers{1, 2}));
}

TEST(MessageLimits, DropOldestKeepsTheNewestInOrder) {
  Room room({.most = 2, .overflow = Overflow::DropOldest});
  for (int i = 1; i <= 4; ++i) {
    ASSERT_TRUE(room.post(i).ok());
    ASSERT_TRUE(room.to.post(Other{i}).ok());
  }
  EXPECT_EQ(room.figures().dropped, 2U);
  EXPECT_EQ(room.figures().queued, 6U);
  room.kit.run_until_idle();
  EXPECT_EQ(room.agent->seen, (Numbers{-1, -2, 3, -3, 4, -4})) << "what is kept keeps its place";
  EXPECT_EQ(room.figures().queued, 0U);
}

TEST(MessageLimits, DropOldestDropsWhatIsInHandAlready) {
  Room room({.most = 3, .overflow = Overflow::DropOldest});
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(room.post(i).ok());
  room.kit.step();  // Takes all messages in hand, and handles the first.
  for (int i = 4; i <= 6; ++i) ASSERT_TRUE(room.post(i).ok());
  EXPECT_EQ(room.figures().dropped, 2U);
  room.kit.run_until_idle();
  EXPECT_EQ(room.agent->seen, (Numbers{1, 4, 5, 6}));
  EXPECT_EQ(room.figures().queued, 0U);
}

TEST(MessageLimits, WhatIsDroppedIsCountedOnce) {
  Room room({.most = 3, .overflow = Overflow::DropOldest});
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(room.post(i).ok());
  room.kit.step();
  for (int i = 4; i <= 6; ++i) ASSERT_TRUE(room.post(i).ok());
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok());
  room.kit.run_until_idle();
  const MessageFigures queue = room.kit.agents().figures_of_queues().at(0);
  EXPECT_EQ(queue.dropped, 5U) << "2 and 3 by the limit, 4 to 6 with the agent";
  EXPECT_EQ(queue.served, 1U);
}

TEST(MessageLimits, DropOldestOfAnAgentsOwnThreadNeedsNoMorePlacesThanTheLimit) {
  Room room({.most = 2, .overflow = Overflow::DropOldest}, {.messages_max = 4});
  room.agent->on_sample = [&](int number) {
    if (number != 0) return;
    for (int i = 1; i <= 1000; ++i) ASSERT_TRUE(room.post(i).ok());
  };
  ASSERT_TRUE(room.post(0).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.agent->seen, (Numbers{0, 999, 1000}));
}

TEST(MessageLimits, DropOldestDropsNothingWhereThereIsNoPlaceForTheNewest) {
  Room room({.most = 1, .overflow = Overflow::DropOldest}, {.messages_max = 4});
  ASSERT_TRUE(room.to.post(Other{1}).ok());
  ASSERT_TRUE(room.post(1).ok());
  room.kit.step();  // Takes both in hand, and handles the first.
  while (room.to.post(Other{1}).ok()) {
  }
  std::thread([&] { EXPECT_EQ(room.post(2).code(), StatusCode::ResourceExhausted); }).join();
  EXPECT_EQ(room.figures().dropped, 0U);
  room.kit.run_until_idle();
  ASSERT_GE(room.agent->seen.size(), 2U);
  EXPECT_EQ(room.agent->seen[1], 1) << "the oldest is still there";
}

TEST(MessageLimits, StopAgentRemovesTheGroupAndTellsTheSender) {
  Room room({.most = 1, .overflow = Overflow::StopAgent});
  ASSERT_TRUE(room.post(1).ok());
  EXPECT_EQ(room.post(2).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(room.post(3).code(), StatusCode::NotFound) << "it accepts nothing any more";
  room.kit.run_until_idle();
  EXPECT_EQ(room.kit.agents().groups(), 0U);
}

TEST(MessageLimits, StopRuntimeStopsItAndTellsTheSender) {
  int stops = 0;
  Room room({.most = 1, .overflow = Overflow::StopRuntime}, {.on_stop = [&] { ++stops; }});
  ASSERT_TRUE(room.post(1).ok());
  EXPECT_EQ(room.post(2).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(stops, 1);
}

TEST(MessageLimits, TheQueueOfAPriorityIsBounded) {
  Room room({.most = 1000}, {.messages_max = 100});
  int accepted = 0;
  while (room.to.post(Other{1}).ok()) ++accepted;
  EXPECT_GE(accepted, 100);
  EXPECT_LE(accepted, 100 + static_cast<int>(limits::kMessagePlacesKept));
  EXPECT_EQ(room.to.post(Other{1}).code(), StatusCode::ResourceExhausted);
  room.kit.run_until_idle();
  int again = 0;
  while (room.to.post(Other{1}).ok()) ++again;
  EXPECT_GE(again, 100) << "places are used again";
}

TEST(MessageLimits, AQueueThatIsNotLimitedByAnOptionHasTheLimitOfAll) {
  Room room({});
  std::size_t accepted = 0;
  while (room.to.post(Other{1}).ok()) ++accepted;
  EXPECT_GE(accepted, limits::kMessagesOfPriority);
  EXPECT_LE(accepted, limits::kMessagesOfPriority + limits::kMessagePlacesKept);
  EXPECT_EQ(room.figures().refused, 1U);
  EXPECT_EQ(room.kit.agents().figures_of_queues().at(0).places, limits::kMessagesOfPriority + limits::kMessagePlacesKept);
}

TEST(MessageLimits, ATypeWhoseLimitSaysNoNumberHasTheLimitOfAll) {
  Room room({});
  for (std::size_t i = 0; i < limits::kMessagesOfType; ++i) ASSERT_TRUE(room.post(1).ok()) << i;
  EXPECT_EQ(room.post(1).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(room.figures().refused, 1U);
}

TEST(MessageLimits, AQueueWithoutABoundHasNone) {
  Room room({.most = 1000}, {.messages_max = SIZE_MAX});
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(room.to.post(Other{i}).ok()) << i;
  room.kit.run_until_idle();
  EXPECT_EQ(room.agent->seen.size(), 10'000U);
}

class Merging final : public Agent {
 public:
  explicit Merging(AgentGroup& group, std::size_t keys = 2) : Agent(group, "merging", Priority::p3) {
    coalesce<&Row::key, Row>(keys);
    receive<&Merging::row>();
    receive<&Merging::other>();
  }
  std::string seen;

 private:
  void row(const Row& message) { seen += message.key + std::to_string(message.value) + " "; }
  void other(const Other&) { seen += "other "; }
};

TEST(MessageLimits, KeysWithoutABoundAskForNoMoreMemoryThanAQueueHasPlaces) {
  sim::AgentKit kit;
  const Address to = kit.agents().make<Merging>(SIZE_MAX).value();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(to.post(Row{std::string(1, static_cast<char>('a' + i % 3)), i}).ok());
  EXPECT_EQ(kit.agents().figures_of_agents().at(0).queued, 3U);
  kit.run_until_idle();
}

TEST(MessageLimits, MessagesOfOneKeyMergeAndKeepTheirPlace) {
  sim::AgentKit kit;
  Merging* agent = nullptr;
  ASSERT_TRUE(kit.agents()
                  .add([&](AgentGroup& group) {
                    agent = &group.make<Merging>();
                    return Status{};
                  })
                  .has_value());
  const Address to = agent->address();
  ASSERT_TRUE(to.post(Row{"a", 1}).ok());
  ASSERT_TRUE(to.post(Other{}).ok());
  ASSERT_TRUE(to.post(Row{"b", 1}).ok());
  ASSERT_TRUE(to.post(Row{"a", 2}).ok());
  EXPECT_EQ(to.post(Row{"c", 1}).code(), StatusCode::ResourceExhausted) << "two keys wait";
  kit.run_until_idle();
  EXPECT_EQ(agent->seen, "a2 other b1 ");
  EXPECT_EQ(kit.agents().figures_of_agents().at(0).coalesced, 1U);
  ASSERT_TRUE(to.post(Row{"a", 3}).ok());
  kit.step();
  ASSERT_TRUE(to.post(Row{"a", 4}).ok());
  kit.run_until_idle();
  EXPECT_EQ(agent->seen, "a2 other b1 a3 a4 ") << "what was handled does not merge";
}

struct Frame {
  Port port;
};

class Switch final : public Agent {
 public:
  Switch(AgentGroup& group, std::size_t keys, Overflow overflow) : Agent(group, "switch", Priority::p3) {
    coalesce<&Frame::port, Frame>(keys, overflow);
    receive<&Switch::frame>();
  }
  int handled = 0;

 private:
  void frame(const Frame&) { ++handled; }
};

TEST(MessageLimits, KeysAtMultiplesOfAPowerOfTwoAreFoundAsFastAsOthers) {
  constexpr std::uint64_t kKeys = 4096;
  for (const unsigned shift : {0U, 8U, 16U, 32U, 40U, 52U}) {
    sim::AgentKit kit({.policy = StrictPriority{}});
    const Address to = kit.agents().make<Switch>(kKeys, Overflow::Reject).value();
    Port::comparisons = 0;
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(to.post(Frame{{i << shift}}).ok());
    }
    EXPECT_LT(Port::comparisons, 8 * kKeys) << "keys shifted by " << shift;
    EXPECT_EQ(kit.agents().figures_of_agents().at(0).queued, kKeys);
    kit.run_until_idle();
  }
}

TEST(MessageLimitsDeathTest, MergingCannotDropTheOldestKey) {
  sim::AgentKit kit;
  EXPECT_DEATH(static_cast<void>(kit.agents().make<Switch>(10U, Overflow::DropOldest)), "cannot drop the oldest key");
}

}  // namespace
}  // namespace rondo
