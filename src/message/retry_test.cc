// Messages whose handlers throw and that are retried: how often, when, what counts against a limit meanwhile, and the effect of a newer
// message of the same key.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/message/limits.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

struct Row {
  std::string key;
  int value = 0;
};
struct Free {
  int value = 0;
};

/// Handles rows; throws when a test sets it.
class Keeper final : public Agent {
 public:
  using Setup = std::function<void(Keeper&)>;
  Keeper(AgentGroup& group, AgentOptions options, const Setup& setup) : Agent(group, "keeper", Priority::p3, options) {
    if (setup) setup(*this);
    receive<&Keeper::row>();
    receive<&Keeper::free>();
  }
  void merge(std::size_t keys) { coalesce<&Row::key, Row>(keys); }
  void bound(Limit given) { limit<Row>(given); }
  std::function<void(int)> on_row;
  std::string seen;
  int calls = 0;

 private:
  void row(const Row& row) {
    ++calls;
    if (on_row) on_row(row.value);
    seen += row.key + std::to_string(row.value) + " ";
  }
  void free(const Free& free) {
    ++calls;
    if (on_row) on_row(free.value);
  }
};

struct Room {
  explicit Room(AgentOptions options, const Keeper::Setup& setup = {}, AgentsOptions agents = {}, PolicyOptions policy = StrictPriority{})
      : kit({.policy = std::move(policy), .agents = std::move(agents)}) {
    options.reaction = Reaction::Retry;
    const Result<GroupId> added = kit.agents().add([&](AgentGroup& group) {
      keeper = &group.make<Keeper>(options, setup);
      return Status{};
    });
    id = added.value();
    kit.run_until_idle();
    to = keeper->address();
  }
  Status post(std::string key, int value) { return to.post(Row{std::move(key), value}); }
  MessageFigures figures() { return kit.agents().figures_of_agents().at(0); }
  /// Posts until a message is refused. Returns how many were accepted, which shows how many places of the queue were taken.
  std::size_t fill() {
    std::size_t accepted = 0;
    while (to.post(Free{}).ok()) ++accepted;
    return accepted;
  }
  sim::AgentKit kit;
  Keeper* keeper = nullptr;
  GroupId id;
  Address to;
};

void fail(int) { throw std::runtime_error("busy"); }

const std::vector<std::pair<const char*, Keeper::Setup>>& kinds() {
  static const std::vector<std::pair<const char*, Keeper::Setup>> all{
      {"without a limit", {}},
      {"with a limit", [](Keeper& keeper) { keeper.bound({.most = 10}); }},
      {"merging", [](Keeper& keeper) { keeper.merge(10); }},
  };
  return all;
}

TEST(Retries, AreAsManyAsTheyMayBe) {
  for (const auto& [kind, setup] : kinds()) {
    Room room({.retry_delay = 1ms, .retries_max = limits::kMessageRetriesMost}, setup);
    room.keeper->on_row = fail;
    ASSERT_TRUE(room.post("a", 1).ok());
    room.kit.run_for(10s);
    EXPECT_EQ(room.keeper->calls, static_cast<int>(limits::kMessageRetriesMost) + 1) << kind;
    EXPECT_EQ(room.figures().queued, 0U) << kind;
    EXPECT_EQ(room.figures().parked, 0U) << kind;
  }
}

TEST(Retries, MoreThanThereMayBeAreRefusedWithTheAgent) {
  sim::AgentKit kit;
  const Result<GroupId> added = kit.agents().add([&](AgentGroup& group) {
    group.make<Keeper>(AgentOptions{.reaction = Reaction::Retry, .retries_max = limits::kMessageRetriesMost + 1}, Keeper::Setup{});
    return Status{};
  });
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code(), StatusCode::InvalidArgument);
  EXPECT_NE(added.error().message().find("'keeper'"), std::string_view::npos) << added.error().to_string();
  EXPECT_NE(added.error().message().find("retries_max"), std::string_view::npos) << added.error().to_string();
  EXPECT_EQ(kit.agents().refused_groups(), 1U);
}

TEST(AgentNames, AnEmptyOneIsRefusedWithTheGroup) {
  sim::AgentKit kit;
  struct Nameless final : Agent {
    explicit Nameless(AgentGroup& group) : Agent(group, "", Priority::p1) {}
  };
  const Result<Address> made = kit.agents().make<Nameless>();
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().to_string(), "invalid-argument: an agent: its name is empty");
  EXPECT_EQ(kit.agents().refused_groups(), 1U);
}

TEST(Retries, ComeADelayAfterTheHandlerThrewHoweverLongItTook) {
  Room room({.retry_delay = 100ms});
  std::vector<Instant> when;
  room.keeper->on_row = [&](int) {
    if (when.empty()) room.kit.world().clock().advance(150ms);
    when.push_back(room.kit.world().now());
    if (when.size() == 1) throw std::runtime_error("busy");
  };
  ASSERT_TRUE(room.post("a", 1).ok());
  room.kit.run_for(1s);
  ASSERT_EQ(when.size(), 2U);
  EXPECT_GE(when[1] - when[0], Duration{100ms});
  EXPECT_LE(when[1] - when[0], Duration{102ms});
}

// --- Newer messages of the key.

TEST(Retries, AnOlderMessageOfAKeyIsNotTriedAgainAfterANewer) {
  for (const bool from_another_thread : {false, true}) {
    Room room({.retry_delay = 10ms}, [](Keeper& keeper) { keeper.merge(16); });
    room.keeper->on_row = [&](int value) {
      if (value == 1) throw std::runtime_error("busy");
    };
    ASSERT_TRUE(room.post("a", 1).ok());
    ASSERT_TRUE(room.post("b", 1).ok());
    room.kit.run_until_idle();
    EXPECT_EQ(room.figures().parked, 2U);
    if (from_another_thread) {
      std::thread([&] { EXPECT_TRUE(room.post("a", 2).ok()); }).join();
    } else {
      ASSERT_TRUE(room.post("a", 2).ok());
    }
    room.kit.run_until_idle();
    room.keeper->on_row = {};
    room.kit.run_for(100ms);
    EXPECT_EQ(room.keeper->seen, "a2 b1 ");
    EXPECT_EQ(room.figures().coalesced, 1U);
    EXPECT_EQ(room.figures().parked, 0U);
    EXPECT_EQ(room.figures().queued, 0U);
  }
}

TEST(Retries, AMessageWhoseNewerCameWhileItWasHandledIsNotTriedAgain) {
  Room room({.retry_delay = 10ms}, [](Keeper& keeper) { keeper.merge(16); });
  room.keeper->on_row = [&](int value) {
    if (value != 1) return;
    EXPECT_TRUE(room.post("a", 2).ok());
    throw std::runtime_error("busy");
  };
  ASSERT_TRUE(room.post("a", 1).ok());
  room.kit.run_for(100ms);
  EXPECT_EQ(room.keeper->seen, "a2 ");
  EXPECT_EQ(room.keeper->calls, 2);
  EXPECT_EQ(room.figures().coalesced, 1U);
  EXPECT_EQ(room.figures().queued, 0U);
}

TEST(Retries, OfANewerMessageThatTookThePlaceOfAnOlderAreCountedAnew) {
  Room room({.retry_delay = 10ms, .retries_max = 2}, [](Keeper& keeper) { keeper.merge(16); });
  room.keeper->on_row = fail;
  ASSERT_TRUE(room.post("a", 1).ok());
  room.kit.run_until_idle();
  room.kit.world().clock().advance(11ms);
  room.kit.scheduler().poll();  // It waits in the queue again, for the second attempt.
  ASSERT_EQ(room.figures().parked, 0U);
  ASSERT_TRUE(room.post("a", 2).ok());
  room.kit.run_for(1s);
  EXPECT_EQ(room.keeper->calls, 1 + 3);
}

TEST(Retries, AnAgentThatEndsAfterItsQueueDoesNotWaitForWhatIsNotTriedAgain) {
  Room room({.retry_delay = 1s}, [](Keeper& keeper) { keeper.merge(16); }, {.drain = 60s});
  room.keeper->on_row = [&](int value) {
    if (value == 1) throw std::runtime_error("busy");
  };
  ASSERT_TRUE(room.post("a", 1).ok());
  room.kit.run_until_idle();
  ASSERT_TRUE(room.post("a", 2).ok());
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AfterQueues).ok());
  room.kit.run_for(2s);
  EXPECT_EQ(room.kit.agents().groups(), 0U);
}

// --- Parked messages count against limits.

TEST(Retries, WhatIsParkedCountsAgainstTheLimit) {
  Room room({.retry_delay = 10s}, [](Keeper& keeper) { keeper.bound({.most = 3}); });
  room.keeper->on_row = fail;
  int accepted = 0;
  for (int i = 0; i < 1000; ++i) {
    accepted += room.post("a", i).ok() ? 1 : 0;
    room.kit.run_until_idle();
  }
  EXPECT_EQ(accepted, 3);
  EXPECT_EQ(room.figures().parked, 3U);
  EXPECT_EQ(room.post("a", 0).code(), StatusCode::ResourceExhausted);
  room.keeper->on_row = {};
  room.kit.run_for(11s);
  EXPECT_EQ(room.figures().parked, 0U);
  EXPECT_TRUE(room.post("a", 0).ok()) << "they are settled";
}

TEST(Retries, KeysThatAreParkedCountAgainstTheLimit) {
  Room room({.retry_delay = 10s}, [](Keeper& keeper) { keeper.merge(3); });
  room.keeper->on_row = fail;
  int accepted = 0;
  for (int i = 0; i < 1000; ++i) {
    accepted += room.post("key " + std::to_string(i), i).ok() ? 1 : 0;
    room.kit.run_until_idle();
  }
  EXPECT_EQ(accepted, 3);
  EXPECT_TRUE(room.post("key 1", 7).ok()) << "of a key that counts already";
}

TEST(Retries, OfWhatIsParkedTheOldestIsDroppedForANewer) {
  for (const bool from_another_thread : {false, true}) {
    Room room({.retry_delay = 10s}, [](Keeper& keeper) { keeper.bound({.most = 2, .overflow = Overflow::DropOldest}); });
    room.keeper->on_row = fail;
    const auto post = [&] {
      for (int i = 1; i <= 100; ++i) {
        ASSERT_TRUE(room.post("a", i).ok());
        if (!from_another_thread) room.kit.run_until_idle();
      }
    };
    if (from_another_thread) {
      for (int i = 1; i <= 2; ++i) {
        ASSERT_TRUE(room.post("a", i).ok());
        room.kit.run_until_idle();
      }
      std::thread(post).join();
      room.kit.run_until_idle();
    } else {
      post();
    }
    EXPECT_LE(room.figures().parked, 3U) << "two, and one that the next turn takes away";
    room.keeper->on_row = {};
    room.kit.run_for(11s);
    EXPECT_EQ(room.keeper->seen, "a99 a100 ");
    EXPECT_EQ(room.figures().parked, 0U);
    EXPECT_EQ(room.figures().queued, 0U);
  }
}

TEST(Retries, PlacesOfWhatIsNotTriedAgainAreUsedAgain) {
  Room room({.retry_delay = 1000s}, [](Keeper& keeper) { keeper.merge(4); }, {.messages_max = 64});
  room.keeper->on_row = fail;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(room.post("a", i).ok()) << i;
    room.kit.run_until_idle();
  }
  EXPECT_LE(room.figures().parked, 2U);
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.kit.agents().figures_of_queues().at(0).queued, 0U);
}

// --- Handlers that take ownership of the message.

struct Parcel {
  std::string text;
};

class Taker final : public Agent {
 public:
  Taker(AgentGroup& group, Reaction given, Reaction answered)
      : Agent(group, "taker", Priority::p3, {.reaction = given}), answered_(answered) {
    receive<&Taker::take>();
  }
  std::vector<std::string> seen;

 private:
  Reaction on_exception(const MessageFault&) noexcept override { return answered_; }
  void take(Parcel&& parcel) {
    const std::string mine = std::move(parcel.text);
    seen.push_back(mine);
    throw std::runtime_error("no");
  }
  const Reaction answered_;
};

TEST(Retries, AnAgentThatTriesAgainCannotTakeMessagesOver) {
  sim::AgentKit kit;
  const Result<Address> made = kit.agents().make<Taker>(Reaction::Retry, Reaction::Retry);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code(), StatusCode::InvalidArgument);
  EXPECT_NE(made.error().message().find("Parcel"), std::string_view::npos) << made.error().to_string();
  EXPECT_NE(made.error().message().find("'taker'"), std::string_view::npos) << made.error().to_string();
}

TEST(Retries, AMessageThatWasTakenOverIsDroppedInsteadAndToldSo) {
  std::vector<Reaction> told;
  sim::AgentKit kit({.agents = {.on_fault = [&](const MessageFault& fault) { told.push_back(fault.reaction); }}});
  Taker* taker = nullptr;
  ASSERT_TRUE(kit.agents()
                  .add([&](AgentGroup& group) {
                    taker = &group.make<Taker>(Reaction::Drop, Reaction::Retry);
                    return Status{};
                  })
                  .has_value());
  ASSERT_TRUE(taker->address().post(Parcel{"what lies in it is longer than a string has room for"}).ok());
  kit.run_for(1s);
  EXPECT_EQ(taker->seen, (std::vector<std::string>{"what lies in it is longer than a string has room for"}));
  EXPECT_EQ(told, (std::vector{Reaction::Drop}));
  EXPECT_EQ(kit.agents().figures_of_agents().at(0).queued, 0U);
}

}  // namespace
}  // namespace rondo
