// Agents, one scheduler, simulated time: which agent handles which message in which order, how groups are added and removed, and what
// happens when a handler throws. The agents record what they see, and the tests check those records.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "message/limits.h"
#include "message/message_watch.h"
#include "rondo/base/limits.h"
#include "rondo/message/limits.h"
#include "rondo/sim/agent_kit.h"

namespace rondo {
namespace {

struct Text {
  std::string text;
};
struct Bang {};
struct Large {
  std::array<char, 200> bytes{};
  int number = 0;
};

using Lines = std::vector<std::string>;

/// Records all that happens to it.
class Writer : public Agent {
 public:
  Writer(AgentGroup& group, std::string name, Priority priority, Lines& lines, AgentOptions options = {})
      : Agent(group, std::move(name), priority, options), lines_(lines) {
    receive<&Writer::text>();
    receive<&Writer::bang>();
  }
  ~Writer() override { write("destroyed"); }
  bool fails_to_start = false;
  int bangs_left = 1000;

 private:
  void on_start() override {
    write("start");
    if (fails_to_start) throw std::runtime_error("no");
  }
  void on_finish() override { write("finish"); }
  void text(const Text& message) { write(message.text); }
  void bang(const Bang&) {
    if (bangs_left-- > 0) throw std::runtime_error("bang");
    write("calm");
  }
  void write(const std::string& what) { lines_.push_back(name() + " " + what); }
  Lines& lines_;
};

struct Room {
  explicit Room(sim::AgentKitOptions options = {}) : kit(std::move(options)) {}
  Writer& add(std::string name, Priority priority, AgentOptions options = {}) {
    Writer* writer = nullptr;
    id = kit.agents()
             .add([&](AgentGroup& group) {
               writer = &group.make<Writer>(std::move(name), priority, lines, options);
               return Status{};
             })
             .value();
    return *writer;
  }
  /// Returns the lines recorded since the last call.
  Lines take() { return std::exchange(lines, {}); }
  Lines lines;
  sim::AgentKit kit;
  GroupId id;
};

TEST(Agents, TheHighestPriorityGoesFirstAndEqualsInOrderOfArrivalOverAllAgents) {
  Room room;
  const Address a = room.add("a", Priority::p4).address();
  const Address b = room.add("b", Priority::p7).address();
  const Address c = room.add("c", Priority::p2).address();
  const Address d = room.add("d", Priority::p4).address();
  room.kit.run_until_idle();
  room.take();
  // SObjectizer's "Working Principles": e1(a4), e2(a7), e3(a2), then e4(a4) of another agent of priority 4.
  for (const auto& [to, text] : {std::pair{a, "e1"}, {b, "e2"}, {c, "e3"}, {d, "e4"}, {a, "e5"}}) ASSERT_TRUE(to.post(Text{text}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"b e2", "a e1", "d e4", "a e5", "c e3"}));
}

TEST(Agents, AnUrgentMessageOfAHandlerIsHandledNextWhateverTheBatch) {
  for (const std::uint32_t batch : {1U, 128U}) {
    Room room({.policy = StrictPriority{.batch = batch}});
    const Address high = room.add("high", Priority::p7).address();
    class Forwarder final : public Agent {
     public:
      Forwarder(AgentGroup& group, Address to) : Agent(group, "low", Priority::p1), to_(std::move(to)) { receive<&Forwarder::text>(); }

     private:
      void text(const Text& message) { EXPECT_TRUE(to_.post(Text{message.text}).ok()); }
      Address to_;
    };
    const Address low = room.kit.agents().make<Forwarder>(high).value();
    room.kit.run_until_idle();
    for (const char* text : {"1", "2", "3"}) ASSERT_TRUE(low.post(Text{text}).ok());
    room.kit.run_until_idle();
    EXPECT_EQ(room.kit.order(), "low high low high low high");
  }
}

TEST(Agents, APolicyThatAHandlerSetsHoldsForTheRestOfItsTurn) {
  class Changer final : public Agent {
   public:
    Changer(AgentGroup& group, Address to) : Agent(group, "low", Priority::p1), to_(std::move(to)) { receive<&Changer::text>(); }

   private:
    void text(const Text& message) {
      if (message.text == "policy") scheduler().set_policy(std::move(make_policy(StrictlyOrdered{}).value()));
      if (message.text == "post") {
        EXPECT_TRUE(to_.post(Text{}).ok());
      }
    }
    Address to_;
  };
  Room room({.policy = QuotedRoundRobin{.quota = 100}});
  const Address high = room.add("high", Priority::p7).address();
  const Address low = room.kit.agents().make<Changer>(high).value();
  room.kit.run_until_idle();
  for (const char* text : {"1", "policy", "2", "post", "3"}) ASSERT_TRUE(low.post(Text{text}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.kit.order(), "low low low low high low") << "under the policy before, high would have been last";
}

TEST(Agents, StartComesBeforeTheFirstMessageAndFromTheHighestPriorityDown) {
  Room room;
  ASSERT_TRUE(room.kit.agents()
                  .add([&](AgentGroup& group) {
                    group.make<Writer>("low", Priority::p0, room.lines);
                    group.make<Writer>("high", Priority::p7, room.lines);
                    group.make<Writer>("also low", Priority::p0, room.lines);
                    group.make<Writer>("middle", Priority::p3, room.lines);
                    return Status{};
                  })
                  .has_value());
  EXPECT_TRUE(room.lines.empty()) << "constructors run at once, starts in turns";
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"high start", "middle start", "low start", "also low start"}));
}

TEST(Agents, AMessageThatCameBeforeTheStartIsHandledAfterItAndFirst) {
  Room room;
  const Address a = room.add("a", Priority::p7).address();
  ASSERT_TRUE(a.post(Text{"1"}).ok());
  ASSERT_TRUE(a.post(Text{"2"}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"a start", "a 1", "a 2"}));
}

TEST(Agents, MessagesWhoseTurnComesBeforeTheStartWaitForItInTheirPlace) {
  // As urgent as the starts themselves, one of which runs in a turn, so the queue has turns in between.
  Room room({.policy = StrictPriority{.tie = Tie::LeastRecentlyServed, .batch = 1}});
  Address last;
  ASSERT_TRUE(room.kit.agents()
                  .add([&](AgentGroup& group) {
                    for (unsigned i = 0; i < 10; ++i) {
                      last = group.make<Writer>(std::to_string(i), Priority{limits::kPriorities - 1}, room.lines).address();
                    }
                    return Status{};
                  })
                  .has_value());
  Lines expected;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(last.post(Text{std::to_string(i)}).ok());
    expected.push_back("9 " + std::to_string(i));
  }
  room.kit.run_until_idle();
  ASSERT_EQ(room.lines.size(), 50U);
  EXPECT_EQ(Lines(room.lines.begin() + 10, room.lines.end()), expected);
}

TEST(Agents, AGroupIsAddedWhollyOrNotAtAll) {
  for (const bool throws : {false, true}) {
    Room room;
    Address first;
    const Result<GroupId> added = room.kit.agents().add([&](AgentGroup& group) -> Status {
      first = group.make<Writer>("first", Priority::p3, room.lines).address();
      group.make<Writer>("second", Priority::p5, room.lines);
      if (throws) throw std::runtime_error("third has no licence");
      return {StatusCode::PermissionDenied, "third has no licence"};
    });
    ASSERT_FALSE(added.has_value());
    EXPECT_EQ(added.error().code(), throws ? StatusCode::Internal : StatusCode::PermissionDenied);
    EXPECT_NE(added.error().message().find("third has no licence"), std::string_view::npos);
    room.kit.run_until_idle();
    EXPECT_EQ(room.lines, (Lines{"second destroyed", "first destroyed"})) << "latest first, none started";
    EXPECT_EQ(first.post(Text{"x"}).code(), StatusCode::NotFound);
    EXPECT_EQ(room.kit.agents().groups(), 0U);
    EXPECT_TRUE(room.kit.agents().figures_of_agents().empty());
  }
}

TEST(Agents, AStartThatThrowsRemovesTheWholeGroup) {
  Lines faults;
  Room room({.agents = {.on_fault = [&](const MessageFault& fault) {
               faults.push_back(std::string{fault.agent} + " " + std::string{fault.message});
             }}});
  ASSERT_TRUE(room.kit.agents()
                  .add([&](AgentGroup& group) {
                    group.make<Writer>("high", Priority::p7, room.lines);
                    group.make<Writer>("middle", Priority::p5, room.lines).fails_to_start = true;
                    group.make<Writer>("low", Priority::p1, room.lines);
                    return Status{};
                  })
                  .has_value());
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"high start", "middle start", "high finish", "high destroyed", "middle destroyed", "low destroyed"}));
  EXPECT_EQ(faults, (Lines{"middle start"}));
  EXPECT_EQ(room.kit.agents().groups(), 0U);
}

TEST(Agents, RemovedAfterTheQueueAnAgentHandlesWhatWaitsAndAcceptsNothingNew) {
  Room room;
  const Address a = room.add("a", Priority::p3).address();
  room.kit.run_until_idle();
  ASSERT_TRUE(a.post(Text{"1"}).ok());
  ASSERT_TRUE(a.post(Text{"2"}).ok());
  bool done = false;
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AfterQueues, [&] { done = true; }).ok());
  EXPECT_EQ(a.post(Text{"3"}).code(), StatusCode::NotFound);
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"a start", "a 1", "a 2", "a finish", "a destroyed"}));
  EXPECT_TRUE(done);
  EXPECT_EQ(room.kit.agents().remove(room.id).code(), StatusCode::NotFound);
}

TEST(Agents, RemovedAtOnceAnAgentHandlesNothingMore) {
  Room room;
  const Address a = room.add("a", Priority::p3).address();
  room.kit.run_until_idle();
  ASSERT_TRUE(a.post(Text{"1"}).ok());
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"a start", "a finish", "a destroyed"}));
  EXPECT_EQ(room.kit.agents().figures_of_queues().at(0).dropped, 1U);
  EXPECT_EQ(room.kit.agents().figures_of_queues().at(0).queued, 0U);
}

TEST(Agents, TheAgeOfTheOldestIsKnownFromThePostToTheHandler) {
  Room room;
  const Address a = room.add("a", Priority::p3).address();
  room.kit.run_until_idle();
  const auto oldest = [&] { return room.kit.agents().figures_of_queues().at(0).oldest; };
  EXPECT_EQ(oldest(), 0ms);
  ASSERT_TRUE(a.post(Text{"1"}).ok());
  room.kit.world().clock().advance(5ms);
  EXPECT_EQ(oldest(), 5ms);
  room.kit.scheduler().poll();  // The scheduler has taken it.
  EXPECT_EQ(oldest(), 5ms);
  ASSERT_TRUE(a.post(Text{"2"}).ok());
  room.kit.world().clock().advance(2ms);
  EXPECT_EQ(oldest(), 7ms);
  ASSERT_TRUE(room.kit.step());
  EXPECT_EQ(room.take(), (Lines{"a start", "a 1"}));
  EXPECT_EQ(oldest(), 2ms);
  room.kit.run_until_idle();
  EXPECT_EQ(oldest(), 0ms);
}

/// Sends to itself without end.
class Flooder final : public Agent {
 public:
  explicit Flooder(AgentGroup& group) : Agent(group, "flooder", Priority::p7) { receive<&Flooder::again>(); }

 private:
  void on_start() override { EXPECT_TRUE(address().post(Bang{}).ok()); }
  void again(const Bang&) { EXPECT_TRUE(address().post(Bang{}).ok()); }
};

TEST(Agents, AFloodOfAHigherPriorityStarvesNeitherStartNorEnd) {
  EXPECT_EQ(AgentsOptions{}.drain, limits::kAgentDrain);
  Room room({.agents = {.drain = 10ms}});
  ASSERT_TRUE(room.kit.agents().make<Flooder>().has_value());
  for (int i = 0; i < 100; ++i) room.kit.step();
  const Address starved = room.add("starved", Priority::p0).address();
  ASSERT_TRUE(starved.post(Text{"never"}).ok());
  for (int i = 0; i < 100; ++i) room.kit.step();
  EXPECT_EQ(room.take(), (Lines{"starved start"}));
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok());
  for (int i = 0; i < 100; ++i) room.kit.step();
  EXPECT_EQ(room.take(), (Lines{"starved finish", "starved destroyed"}));

  const Address patient = room.add("patient", Priority::p0).address();
  ASSERT_TRUE(patient.post(Text{"never"}).ok());
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AfterQueues).ok());
  room.kit.run_for(5ms);
  EXPECT_EQ(room.take(), (Lines{"patient start"})) << "its queue still waits for its turn";
  room.kit.run_for(10ms);
  EXPECT_EQ(room.take(), (Lines{"patient finish", "patient destroyed"})) << "for as long as it may";
}

TEST(Agents, AQueueEndsItsTurnWhenOthersAreDueHoweverMuchItHas) {
  sim::AgentKit kit({.policy = StrictPriority{.tie = Tie::Arrival, .batch = 128}});
  class Slow final : public Agent {
   public:
    Slow(AgentGroup& group, SimClock& clock) : Agent(group, "slow", Priority::p3), clock_(clock) { receive<&Slow::take>(); }

   private:
    void take(const Bang&) { clock_.advance(10us); }
    SimClock& clock_;
  };
  const Address slow = kit.agents().make<Slow>(kit.world().clock()).value();
  kit.run_until_idle();
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(slow.post(Bang{}).ok());
  std::vector<std::size_t> turns;
  while (kit.handled().size() < 64) {
    const std::size_t before = kit.handled().size();
    ASSERT_TRUE(kit.step());
    turns.push_back(kit.handled().size() - before);
  }
  // The clock is read every eight items, and after each once they are known to be long: four of 10 us are more than 32.
  EXPECT_LE(turns.front(), limits::kItemsPerStep);
  for (std::size_t i = 1; i < turns.size(); ++i) EXPECT_LE(turns[i], 4U);
  EXPECT_GE(kit.agents().figures_of_queues().at(0).cut_turns, 1U) << "others were due before the time was over in most";
}

TEST(Agents, StartsAndEndsComeSomeInATurn) {
  Room room;
  constexpr int kAgentsHere = 3 * static_cast<int>(limits::kAgentLifePerTurn);
  const Result<GroupId> added = room.kit.agents().add([&](AgentGroup& group) {
    for (int i = 0; i < kAgentsHere; ++i) group.make<Writer>("a", Priority::p3, room.lines);
    return Status{};
  });
  ASSERT_TRUE(added.has_value());
  while (room.lines.size() < static_cast<std::size_t>(kAgentsHere)) {
    const std::size_t before = room.lines.size();
    ASSERT_TRUE(room.kit.step());
    EXPECT_LE(room.lines.size() - before, limits::kAgentLifePerTurn);
  }
  const auto waiting = [&room] {
    std::size_t agents = 0;
    room.kit.scheduler().for_each_source([&agents](const Source& source) {
      if (source.goes_before_all()) agents = source.depth();
    });
    return agents;
  };
  ASSERT_TRUE(room.kit.agents().remove(*added, Removal::AtOnce).ok());
  EXPECT_EQ(waiting(), static_cast<std::size_t>(kAgentsHere));
  ASSERT_TRUE(room.kit.step());
  EXPECT_EQ(waiting(), kAgentsHere - limits::kAgentLifePerTurn);
}

TEST(Agents, OneMoreThanThereMayBeIsRefused) {
  sim::AgentKit kit;
  class Nobody final : public Agent {
   public:
    explicit Nobody(AgentGroup& group) : Agent(group, "nobody", Priority::p3) {}
  };
  const Result<GroupId> all = kit.agents().add([](AgentGroup& group) {
    for (std::size_t i = 0; i < limits::kAgents; ++i) group.make<Nobody>();
    return Status{};
  });
  ASSERT_TRUE(all.has_value()) << all.error().to_string();
  kit.run_until_idle();
  const auto one_more = kit.agents().make<Nobody>();
  ASSERT_FALSE(one_more.has_value());
  EXPECT_EQ(one_more.error().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(kit.agents().refused_groups(), 1U);
  ASSERT_TRUE(kit.agents().remove(*all, Removal::AtOnce).ok());
  kit.run_until_idle();
  EXPECT_TRUE(kit.agents().make<Nobody>().has_value()) << "there is room again";
  kit.run_until_idle();
}

TEST(Agents, AWatchThatThrowsCostsNobodyATurn) {
  struct Watch final : MessageWatch {
    void handling(std::string_view) override {
      if (++seen == 2) throw std::runtime_error("watch");
    }
    int seen = 0;
  } watch;
  Lines lines;
  sim::World world(1);
  Scheduler scheduler(world.clock(), world.reactor(), std::move(make_policy(BudgetedFrames{}).value()));
  Agents agents(scheduler, {.watch = &watch});
  const Address to = agents.make<Writer>("a", Priority::p3, lines).value();
  for (const char* text : {"1", "2", "3"}) ASSERT_TRUE(to.post(Text{text}).ok());
  scheduler.run_until_idle();
  EXPECT_EQ(lines, (Lines{"a start", "a 1", "a 2", "a 3"}));
  EXPECT_EQ(watch.seen, 3);
  EXPECT_EQ(scheduler.stats().quarantined, 0U);
}

TEST(Agents, AnAddressOutlivesTheAgentAndTheAgents) {
  Address a;
  {
    Room room;
    a = room.add("a", Priority::p3).address();
    room.kit.run_until_idle();
    ASSERT_TRUE(a.post(Text{"1"}).ok());
  }
  EXPECT_EQ(a.post(Text{"2"}).code(), StatusCode::NotFound);
  EXPECT_EQ(a.name(), "a");
  EXPECT_EQ(Address{}.post(Text{"3"}).code(), StatusCode::NotFound);
}

TEST(Agents, AMessageWithoutAHandlerIsRefusedByItsName) {
  Room room;
  const Status status = room.add("a", Priority::p3).address().post(Large{});
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_NE(status.message().find("Large"), std::string_view::npos) << status.message();
  EXPECT_NE(status.message().find("'a'"), std::string_view::npos) << status.message();
}

TEST(Agents, LargeAndMoveOnlyMessagesAreHandedOver) {
  class Taker final : public Agent {
   public:
    explicit Taker(AgentGroup& group) : Agent(group, "taker", Priority::p3) {
      receive<&Taker::large>();
      receive<&Taker::owned>();
    }
    int number = 0;
    std::unique_ptr<int> kept;

   private:
    void large(const Large& message) { number = message.number; }
    void owned(std::unique_ptr<int>&& message) { kept = std::move(message); }
  };
  sim::AgentKit kit;
  Taker* taker = nullptr;
  ASSERT_TRUE(kit.agents()
                  .add([&](AgentGroup& group) {
                    taker = &group.make<Taker>();
                    return Status{};
                  })
                  .has_value());
  ASSERT_TRUE(taker->address().post(Large{.number = 7}).ok());
  ASSERT_TRUE(taker->address().post(std::make_unique<int>(8)).ok());
  kit.run_until_idle();
  EXPECT_EQ(taker->number, 7);
  ASSERT_NE(taker->kept, nullptr);
  EXPECT_EQ(*taker->kept, 8);
  EXPECT_EQ(kit.agents().figures_of_queues().at(0).large, 1U);
}

// --- Reactions.

struct Faults {
  AgentsOptions options() {
    return {.on_fault = [this](const MessageFault& fault) { reactions.push_back(fault.reaction); }, .on_stop = [this] { ++stops; }};
  }
  std::vector<Reaction> reactions;
  int stops = 0;
};

TEST(AgentReactions, ByDefaultTheMessageIsDroppedCountedAndTold) {
  Faults faults;
  Room room({.agents = faults.options()});
  const Address a = room.add("a", Priority::p3).address();
  ASSERT_TRUE(a.post(Bang{}).ok());
  ASSERT_TRUE(a.post(Text{"next"}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"a start", "a next"}));
  EXPECT_EQ(faults.reactions, (std::vector{Reaction::Drop}));
  EXPECT_EQ(room.kit.agents().figures_of_agents().at(0).faults, 1U);
}

TEST(AgentReactions, AParkedMessageIsTriedAgainAfterItsDelayAndNoMoreThanItMay) {
  Faults faults;
  Room room({.agents = faults.options()});
  Writer& a = room.add("a", Priority::p3, {.reaction = Reaction::Retry, .retry_delay = 50ms, .retries_max = 2});
  a.bangs_left = 1;
  ASSERT_TRUE(a.address().post(Bang{}).ok());
  ASSERT_TRUE(a.address().post(Text{"meanwhile"}).ok());
  room.kit.run_for(40ms);
  EXPECT_EQ(room.take(), (Lines{"a start", "a meanwhile"}));
  EXPECT_EQ(room.kit.agents().figures_of_agents().at(0).parked, 1U);
  room.kit.run_for(40ms);
  EXPECT_EQ(room.take(), (Lines{"a calm"}));
  a.bangs_left = 1000;
  ASSERT_TRUE(a.address().post(Bang{}).ok());
  room.kit.run_for(1000ms);
  EXPECT_EQ(faults.reactions, (std::vector{Reaction::Retry, Reaction::Retry, Reaction::Retry, Reaction::Drop}));
  EXPECT_EQ(room.kit.agents().figures_of_agents().at(0).queued, 0U);
}

TEST(AgentReactions, ParkedMessagesAreDroppedWithTheirAgent) {
  Room room;
  Writer& a = room.add("a", Priority::p3, {.reaction = Reaction::Retry});
  ASSERT_TRUE(a.address().post(Bang{}).ok());
  room.kit.run_for(1ms);
  ASSERT_TRUE(room.kit.agents().remove(room.id, Removal::AtOnce).ok());
  room.kit.run_for(1000ms);
  EXPECT_EQ(room.lines, (Lines{"a start", "a finish", "a destroyed"}));
  EXPECT_TRUE(room.kit.agents().figures_of_agents().empty());
  EXPECT_EQ(room.kit.agents().figures_of_queues().at(0).dropped, 1U);
}

TEST(AgentReactions, TheGroupIsStopped) {
  Faults faults;
  Room room({.agents = faults.options()});
  const Address other = room.add("other", Priority::p3).address();
  const Address a = room.add("a", Priority::p3, {.reaction = Reaction::StopAgent}).address();
  room.kit.run_until_idle();
  room.take();
  ASSERT_TRUE(a.post(Bang{}).ok());
  ASSERT_TRUE(a.post(Text{"never"}).ok());
  ASSERT_TRUE(other.post(Text{"goes on"}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(room.lines, (Lines{"a finish", "a destroyed", "other goes on"}));
  EXPECT_EQ(faults.stops, 0);
}

TEST(AgentReactions, TheRuntimeIsStopped) {
  Faults faults;
  Room room({.agents = faults.options()});
  ASSERT_TRUE(room.add("a", Priority::p3, {.reaction = Reaction::StopRuntime}).address().post(Bang{}).ok());
  room.kit.run_until_idle();
  EXPECT_EQ(faults.stops, 1);
  Room other;
  ASSERT_TRUE(other.add("a", Priority::p3, {.reaction = Reaction::StopRuntime}).address().post(Bang{}).ok());
  other.kit.run_until_idle();
  EXPECT_TRUE(other.kit.scheduler().stopping()) << "by default its scheduler is";
}

// --- The end.

TEST(Agents, TheEndAtAnyMomentFinishesEveryAgentAndLeavesNothing) {
  for (int turns = 0; turns < 40; ++turns) {
    const auto payload = std::make_shared<int>(0);
    {
      Room room;
      const Address a = room.add("a", Priority::p3, {.reaction = Reaction::Retry}).address();
      const Address b = room.add("b", Priority::p6).address();
      class Holder final : public Agent {
       public:
        explicit Holder(AgentGroup& group) : Agent(group, "holder", Priority::p1) { receive<&Holder::hold>(); }

       private:
        void on_start() override { timer_ = send_every(address(), std::shared_ptr<int>{}, 1ms); }
        void hold(const std::shared_ptr<int>&) {}
        TimedMessage timer_;
      };
      const Address holder = room.kit.agents().make<Holder>().value();
      for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(a.post(Bang{}).ok());
        ASSERT_TRUE(b.post(Text{"t"}).ok());
        ASSERT_TRUE(holder.post(std::shared_ptr<int>{payload}).ok());
      }
      for (int i = 0; i < turns; ++i) room.kit.step();
    }
    EXPECT_EQ(payload.use_count(), 1) << "after " << turns << " turns: what waited was destroyed";
  }
}

}  // namespace
}  // namespace rondo
