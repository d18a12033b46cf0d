// Goal: a program with an executor that is not a switch finally has the content of its tables, whatever its target does. A replay of its
// recorded run is equal and calls no target. Method: a model of a load balancer beside the world, many seeds, each fault alone and all
// together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "base/testing/temporary_folder.h"
#include "journal/reader.h"
#include "journal/record.h"
#include "orch/parked.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/replay/replay.h"
#include "rondo/sched/executor.h"
#include "rondo/sim/world.h"

namespace rondo::sim {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr FactKind kThree{"three"};

struct Call {
  std::string key;
  std::optional<std::string> value;  // Empty: remove.
  std::string result = {};
  Status status = {};
};

/// Outlives the processes, as an external service does.
struct Balancer {
  std::map<std::string, std::string> backends;
  std::uint64_t calls = 0;
  void apply(std::span<Call> of) {
    for (Call& call : of) {
      ++calls;
      if (call.value) {
        backends[call.key] = *call.value;
      } else if (backends.erase(call.key) == 0) {
        call.status = {StatusCode::NotFound, "no such backend"};
      }
      call.result = std::to_string(backends.size());
    }
  }
};

OperationCodec<Call> codec() {
  return {.encode_order = [](const Call& call, std::string& to) { to += call.key + "=" + call.value.value_or("-"); },
          .encode_answer = [](const Call& call, std::string& to) { to += call.result; },
          .decode_answer =
              [](std::string_view from, Call& call) {
                call.result = from;
                return true;
              }};
}

class Backends final : public Orch {
 public:
  /// 'changed': decides differently from the recorded run.
  Backends(Runtime& runtime, Executor<Call>& balancer, bool changed) : Orch(runtime, "backends", Priority{20}), balancer_(balancer) {
    provide(kThree, [this](std::string_view key) { return three_.contains(key); });
    table_ = consume(
        "BACKEND",
        [this, changed](std::string_view key, const Fields& fields) {
          return call(1, {.key = std::string{key}, .value = *fields.text("v") + (changed ? "!" : "")});
        },
        [this](std::string_view key) { return call(0, {.key = std::string{key}, .value = {}}); });
    balancer_.on_room([this] { release(table_); });
  }
  std::uint64_t holds = 0;

 private:
  Outcome call(std::size_t lane, Call call) {
    std::vector<Call> calls;
    calls.push_back(std::move(call));
    balancer_.submit(lane, std::move(calls), [this, ticket = current_ticket()](std::span<Call> answered) {
      const Status& status = answered.front().status;
      if (status.ok() || status.code() == StatusCode::NotFound) {
        note(answered.front());
        return settle(ticket, Outcome::done());
      }
      settle(ticket, Outcome::retry_after(5ms, status));
    });
    if (!balancer_.has_room()) {
      ++holds;
      hold(table_);
    }
    return Outcome::staged();
  }

  /// The balancer's answer affects a decision, so it must be recorded.
  void note(const Call& call) {
    const Fact fact{kThree, call.key};
    if (call.result == "3" && three_.insert(call.key).second) return announce(fact);
    if (call.result != "3" && three_.erase(call.key) > 0) withdraw(fact);
  }

  Executor<Call>& balancer_;
  ConsumerHandle table_;
  std::set<std::string, std::less<>> three_;
};

struct Parts {
  Parts(Runtime& runtime, Balancer& service, bool has_codec = true, bool changed = false)
      : balancer(
            runtime.scheduler(), [&service](std::span<Call> calls) { service.apply(calls); },
            {.name = "balancer", .lanes = {2, 1}, .operations_max = 8, .batch_max = 4}, has_codec ? codec() : OperationCodec<Call>{}),
        orch(runtime, balancer, changed) {}
  Executor<Call> balancer;
  Backends orch;
};

FaultPlan all_faults() {
  FaultPlan plan;
  plan.operation_fails = 0.2;
  plan.operation_failures = {{StatusCode::Unavailable, "away"}, {StatusCode::DeadlineExceeded, "too late"}};
  plan.operation_time_high = 20ms;
  plan.operation_room_ends_every = 50ms;
  plan.operation_room_ends_for = 30ms;
  plan.crash_every = 150ms;
  return plan;
}

struct Life {
  explicit Life(WorldOptions options) : world(std::move(options)) {
    world.check_at_rest("balancer", [this]() -> Status {
      if (service.backends == wanted) return {};
      return {StatusCode::Internal, "the balancer has " + std::to_string(service.backends.size()) + " backends"};
    });
    world.start([this](Runtime& runtime) {
      auto made = std::make_shared<Parts>(runtime, service);
      living = made;
      return made;
    });
  }
  void write(int times) {
    for (int i = 0; i < times && !world.violation(); ++i) {
      const std::string key = "b" + std::to_string(world.random().below(12));
      if (world.random().chance(0.3)) {
        wanted.erase(key);
        world.remove("BACKEND", key);
      } else {
        wanted[key] = std::to_string(i);
        world.set("BACKEND", key, {{"v", std::to_string(i)}});
      }
      world.run_for(Duration{static_cast<std::int64_t>(world.random().below(10'000'000))});
    }
  }
  Parts& parts() const { return *living.lock(); }

  Balancer service;
  std::map<std::string, std::string> wanted;
  std::weak_ptr<Parts> living;  // The parts of the present process.
  World world;
};

TEST(ExecutorFaults, TheTargetHasWhatTheTablesSayWhateverGoesWrong) {
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    WorldOptions options{.seed = seed, .store = seed % 2 == 0 ? StoreKind::Durable : StoreKind::Remote};
    options.faults = all_faults();
    Life life(options);
    life.write(60);
    ASSERT_TRUE(life.world.come_to_rest()) << life.world.report();
    crashes += life.world.crashes();
  }
  EXPECT_GT(crashes, 100U);
}

TEST(ExecutorFaults, ARunIsRepeatable) {
  const auto live = [](std::uint64_t seed) {
    WorldOptions options{.seed = seed, .store = StoreKind::Durable};
    options.faults = all_faults();
    Life life(options);
    life.write(60);
    EXPECT_TRUE(life.world.come_to_rest()) << life.world.report();
    return life.world.hash();
  };
  EXPECT_EQ(live(7), live(7));
  EXPECT_NE(live(7), live(8));
}

TEST(ExecutorFaults, AnOperationFailsWithAChosenStatusAndIsNotApplied) {
  WorldOptions options;
  options.faults.operation_fails = 1;
  options.faults.operation_failures = {{StatusCode::PermissionDenied, "not you"}};
  Life life(options);
  life.world.set("BACKEND", "a", {{"v", "1"}});
  life.world.run_for(50ms);
  EXPECT_THAT(life.service.backends, IsEmpty());
  EXPECT_EQ(life.service.calls, 0U);
  EXPECT_GT(life.parts().balancer.stats().failed, 2U) << "it was tried again";
  EXPECT_EQ(parked_rows(life.world.runtime(), "BACKEND", 1).front().why, "permission-denied: not you");
}

TEST(ExecutorFaults, OneThatTookTooLongWasAppliedOrWasNot) {
  WorldOptions options;
  options.faults.operation_fails = 1;
  options.faults.operation_failures = {{StatusCode::DeadlineExceeded, "too late"}};
  Life life(options);
  for (int i = 0; i < 40; ++i) life.world.set("BACKEND", "b" + std::to_string(i), {{"v", "1"}});
  life.world.run_for(4ms);
  EXPECT_GT(life.service.backends.size(), 5U);
  EXPECT_LT(life.service.backends.size(), 35U);
}

TEST(ExecutorFaults, ASlowTargetAnswersLateAndHoldsUpNoTurn) {
  WorldOptions options;
  options.faults.operation_time_high = 10s;
  Life life(options);
  life.world.set("BACKEND", "a", {{"v", "1"}});
  const Instant begin = life.world.now();
  life.world.run_for(1ms);
  EXPECT_LT(life.world.now() - begin, 2ms) << "time stands still in a turn that waits";
  EXPECT_EQ(life.parts().balancer.in_flight(), 1U);
  life.world.run_for(11s);
  EXPECT_EQ(life.parts().balancer.in_flight(), 0U);
  EXPECT_GT(life.parts().balancer.stats().latency_ns.max(), 1'000'000U);
}

TEST(ExecutorFaults, WithoutRoomConsumersAreHeldUntilItIsBack) {
  WorldOptions options;
  options.faults.operation_room_ends_every = 1ms;
  options.faults.operation_room_ends_for = 1h;
  Life life(options);
  life.world.run_for(10ms);
  ASSERT_FALSE(life.parts().balancer.has_room());
  for (int i = 0; i < 20; ++i) life.world.set("BACKEND", "b" + std::to_string(i), {{"v", "1"}});
  life.world.run_for(100ms);
  EXPECT_GT(life.parts().orch.holds, 0U);
  EXPECT_LT(life.service.backends.size(), 20U);
  life.world.set_faults({});
  life.world.run_for(100ms);
  EXPECT_TRUE(life.parts().balancer.has_room());
  EXPECT_EQ(life.service.backends.size(), 20U);
}

TEST(ExecutorFaults, ACrashLeavesSomeOfTheOldestAppliedAndTheRestUndone) {
  std::map<std::size_t, int> applied;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    WorldOptions options{.seed = seed};
    options.faults.operation_time_high = 1h;
    Life life(options);
    for (int i = 0; i < 4; ++i) life.world.set("BACKEND", "b" + std::to_string(i), {{"v", "1"}});
    life.world.run_for(1ms);
    life.world.crash();
    for (std::size_t i = 0; i < life.service.backends.size(); ++i) EXPECT_TRUE(life.service.backends.contains("b" + std::to_string(i)));
    ++applied[life.service.backends.size()];
  }
  EXPECT_EQ(applied.size(), 5U) << "from none to all";
}

TEST(ExecutorFaults, WorkOfRunElsewhereIsSlowAndFailsToo) {
  WorldOptions options;
  options.faults.operation_time_high = 1s;
  World world(options);
  std::vector<std::string> answers;
  world.start([](Runtime&) { return nullptr; });
  const auto ask = [&] {
    ASSERT_TRUE(world.runtime()
                    .run_elsewhere([] { return 7; },
                                   [&](const Result<int>& answer) {
                                     answers.push_back(answer ? std::to_string(*answer) : answer.error().to_string());
                                   })
                    .ok());
  };
  ask();
  world.run_for(1us);
  EXPECT_THAT(answers, IsEmpty());
  world.run_for(2s);
  world.set_faults({.operation_fails = 1});
  ask();
  world.run_for(1s);
  EXPECT_THAT(answers, testing::ElementsAre("7", "unavailable: the target is away"));
}

// --- Journal and replay

class ExecutorReplay : public testing::Test {
 protected:
  void record(std::uint64_t seed, bool has_codec = true) {
    fs::remove(file_);
    WorldOptions options{.seed = seed};
    options.faults = all_faults();
    options.faults.crash_every = {};
    options.make_observer = [this](const Clock& clock) { return std::move(Journal::open({.file = file_}, clock).value()); };
    Balancer service;
    World world(options);
    world.start([&](Runtime& runtime) -> std::shared_ptr<void> {
      auto parts = std::make_shared<Parts>(runtime, service, has_codec);
      ask(runtime, answers_);
      return parts;
    });
    for (int i = 0; i < 80; ++i) {
      const std::string key = "b" + std::to_string(world.random().below(9));
      if (world.random().chance(0.3)) {
        world.remove("BACKEND", key);
      } else {
        world.set("BACKEND", key, {{"v", std::to_string(i)}});
      }
      world.run_for(Duration{static_cast<std::int64_t>(world.random().below(10'000'000))});
    }
    EXPECT_TRUE(world.come_to_rest()) << world.report();
    EXPECT_GT(service.calls, 20U);
  }
  /// A job whose answer leads to a write.
  static void ask(Runtime& runtime, std::vector<std::string>& answers) {
    EXPECT_TRUE(runtime
                    .run_elsewhere([]() -> Result<std::string> { return "looked up"; },
                                   [&answers](const Result<std::string>& answer) { answers.push_back(answer ? *answer : "failed"); })
                    .ok());
  }
  replay::ReplayReport replay(bool has_codec = true, bool changed = false) {
    Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({file_});
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    Balancer service;
    Runtime runtime((*opened)->runtime_options());
    replay::ReplayReport report;
    {
      Parts parts(runtime, service, has_codec, changed);
      ask(runtime, replayed_answers_);
      report = (*opened)->run(runtime);
    }
    EXPECT_EQ(service.calls, 0U) << "a replay calls nobody";
    return report;
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("day.journal");
  std::vector<std::string> answers_;
  std::vector<std::string> replayed_answers_;
};

TEST_F(ExecutorReplay, ADayComesOutTheSameWithTheAnswersThatWereGiven) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    record(seed);
    const replay::ReplayReport report = replay();
    ASSERT_TRUE(report.same) << "seed " << seed << ", record " << report.record << ": expected " << report.expected << ", came "
                             << report.came;
    EXPECT_GT(report.outcomes, 40U);
  }
  EXPECT_EQ(replayed_answers_, answers_);
}

TEST_F(ExecutorReplay, WorksThatEndOutOfOrderAreAnsweredWithTheirOwnValues) {
  const auto ask_all = [](Runtime& runtime, std::vector<std::string>& answers) {
    for (int i = 0; i < 20; ++i) {
      const std::string name = "work " + std::to_string(i);
      EXPECT_TRUE(runtime
                      .run_elsewhere([name]() -> Result<std::string> { return name; },
                                     [&answers, name](const Result<std::string>& answer) { answers.push_back(name + ": " + *answer); })
                      .ok());
    }
  };
  WorldOptions options{.seed = 5};
  options.faults.operation_time_high = 20ms;
  options.make_observer = [this](const Clock& clock) { return std::move(Journal::open({.file = file_}, clock).value()); };
  {
    World world(options);
    world.start([&](Runtime& runtime) -> std::shared_ptr<void> {
      ask_all(runtime, answers_);
      return std::make_shared<int>();
    });
    world.run_for(1s);
    EXPECT_TRUE(world.come_to_rest()) << world.report();
  }
  ASSERT_EQ(answers_.size(), 20U);
  const auto replay = std::move(replay::Replay::open({file_}).value());
  Runtime runtime(replay->runtime_options());
  ask_all(runtime, replayed_answers_);
  const replay::ReplayReport report = replay->run(runtime);
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
  EXPECT_EQ(replayed_answers_, answers_);
}

TEST_F(ExecutorReplay, AnOrderThatCannotBeWrittenIsNotUnderWay) {
  WorldOptions options{.seed = 1};
  options.make_observer = [this](const Clock& clock) { return std::move(Journal::open({.file = file_}, clock).value()); };
  World world(options);
  world.start([](Runtime& runtime) -> std::shared_ptr<void> {
    OperationCodec<Call> throwing = codec();
    throwing.encode_order = [](const Call&, std::string&) { throw std::runtime_error("no words"); };
    Executor<Call> executor(
        runtime.scheduler(), [](std::span<Call>) {}, {.operations_max = 1}, throwing);
    EXPECT_THROW(executor.submit(0, {Call{.key = "a", .value = {}}}, {}), std::runtime_error);
    EXPECT_EQ(executor.in_flight(), 0U);
    EXPECT_EQ(executor.stats().submitted, 0U);
    EXPECT_TRUE(executor.has_room());
    return std::make_shared<int>();
  });
}

TEST_F(ExecutorReplay, AnOrchThatOrdersSomethingElseIsFoundByItsOrders) {
  record(3);
  const replay::ReplayReport report = replay(true, true);
  EXPECT_FALSE(report.same);
  EXPECT_THAT(report.expected, HasSubstr("ordered balancer, lane 1, 1 operation: b"));
  EXPECT_THAT(report.came, HasSubstr("!"));
}

TEST_F(ExecutorReplay, WithoutACodecItEndsAtTheFirstAnswerAndCallsNobody) {
  record(3, false);
  const replay::ReplayReport report = replay(false);
  EXPECT_FALSE(report.same);
}

TEST_F(ExecutorReplay, TheJournalTellsOrdersAndAnswersInWords) {
  record(3);
  Result<std::unique_ptr<journal::JournalReader>> reader = journal::JournalReader::open(file_);
  ASSERT_TRUE(reader.has_value());
  journal::JournalRecord record;
  std::string ordered;
  std::string answered;
  for (journal::RawRecord raw = (*reader)->next(); !raw.bytes.empty(); raw = (*reader)->next()) {
    ASSERT_TRUE(journal::decode(raw.bytes, record));
    if (record.kind == journal::Kind::Ordered && ordered.empty()) ordered = to_string(record, (*reader)->names());
    if (record.kind == journal::Kind::OrderAnswers && record.table != 0 && answered.empty())
      answered = to_string(record, (*reader)->names());
  }
  EXPECT_THAT(ordered, HasSubstr("ordered "));
  EXPECT_THAT(answered, HasSubstr("order answers "));
}

}  // namespace
}  // namespace rondo::sim
