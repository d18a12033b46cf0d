// Goal: a refusal by the environment while a runtime or an Orch is made is a Status with names, and leaves no state behind. Later rejects
// are logged if the program sets no on_reject. Method: stores, limits and policies that refuse; the state of the runtime.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"
#include "rondo/store/memory_store.h"

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Outcome done(std::string_view, const Fields&) { return Outcome::done(); }
Outcome gone(std::string_view) { return Outcome::done(); }

/// Consumes the tables that the test names.
class Needy final : public Orch {
 public:
  Needy(Runtime& runtime, std::string name, const std::vector<std::string>& tables, ConsumeOptions options = {})
      : Orch(runtime, std::move(name), Priority::p1) {
    for (const std::string& table : tables) consume(table, done, gone, options);
  }
};

class Listening final : public Orch {
 public:
  Listening(Runtime& runtime, std::string_view channel) : Orch(runtime, "listening", Priority::p1) {
    listen(channel, [](const Change&) {});
  }
};

class Providing final : public Orch {
 public:
  explicit Providing(Runtime& runtime, std::string name) : Orch(runtime, std::move(name), Priority::p1) {
    provide(kGroup, [](std::string_view) { return true; });
  }
};

class RefusalTest : public testing::Test, public RuntimeFixture {
 protected:
  using Tables = std::vector<std::string>;
};

TEST_F(RefusalTest, AStoreThatHasNoRoomForATableSaysSoAndTheOrchIsGone) {
  for (std::size_t i = 1; i < limits::kTables; ++i) ASSERT_TRUE(runtime.store().declare({.name = "t" + std::to_string(i)}).ok());
  const auto refused = runtime.try_add<Needy>("routes", Tables{"LAST", "ONE_MORE"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(std::string{refused.error().message()}, StartsWith("Orch 'routes': table 'ONE_MORE': "));
  EXPECT_TRUE(runtime.consumers().empty());
  EXPECT_TRUE(runtime.try_add<Needy>("other", Tables{"LAST"}).has_value()) << "the first table has no consumer any more";
  set("LAST", "k");
  run();
  EXPECT_EQ(stats("LAST").done, 1U);
}

TEST_F(RefusalTest, ATableOfAnotherKindIsRefused) {
  ASSERT_TRUE(runtime.store().declare({.name = "NEWS", .kind = TableKind::Channel}).ok());
  ASSERT_TRUE(runtime.store().declare({.name = "ROWS"}).ok());
  const auto consumer = runtime.try_add<Needy>("routes", Tables{"NEWS"});
  ASSERT_FALSE(consumer.has_value());
  EXPECT_EQ(consumer.error().to_string(), "failed-precondition: Orch 'routes': table 'NEWS': it is declared as channel, and not as staged");
  const auto listener = runtime.try_add<Listening>("ROWS");
  ASSERT_FALSE(listener.has_value());
  EXPECT_THAT(std::string{listener.error().message()}, HasSubstr("table 'ROWS': it is declared as staged, and not as channel"));
}

TEST_F(RefusalTest, ATableHasOneConsumerAndAKindOfFactOneProvider) {
  runtime.add<Needy>("first", Tables{"T"});
  const auto second = runtime.try_add<Needy>("second", Tables{"T"});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().to_string(), "failed-precondition: Orch 'second': table 'T' has a consumer: Orch 'first'");
  set("T", "k");
  run();
  EXPECT_EQ(stats("T").orch, "first");
  EXPECT_EQ(stats("T").done, 1U);
  runtime.add<Providing>("groups");
  const auto other = runtime.try_add<Providing>("other");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().to_string(), "failed-precondition: Orch 'other': facts of the kind 'group' have a provider: Orch 'groups'");
}

TEST_F(RefusalTest, TheFirstRefusalIsToldAndWhatIsAddedWithinItsOwn) {
  struct Outer final : Orch {
    explicit Outer(Runtime& its) : Orch(its, "outer", Priority::p1) {
      consume("T", done, gone);  // Refused.
      EXPECT_FALSE(its.try_add<Needy>("inner", Tables{"T"}).has_value());
      consume("T", done, gone);
    }
  };
  runtime.add<Needy>("first", Tables{"T"});
  const auto outer = runtime.try_add<Outer>();
  ASSERT_FALSE(outer.has_value());
  EXPECT_THAT(std::string{outer.error().message()}, StartsWith("Orch 'outer'"));
}

TEST_F(RefusalTest, AnOrchHasAName) {
  const auto refused = runtime.try_add<Needy>("", Tables{"T"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().to_string(), "invalid-argument: Orch '': its name is empty");
  EXPECT_TRUE(runtime.consumers().empty());
}

/// Registers everything that an Orch can register; then the constructor throws, or is refused.
class Unlucky final : public Orch {
 public:
  Unlucky(Runtime& its, bool throws) : Orch(its, "unlucky", Priority::p1) {
    consume("T", done, gone);
    listen("NEWS", [this](const Change&) { ++calls_; });
    provide(kGroup, [this](std::string_view) { return ++calls_ > 0; });
    observe(kGroup, [this](std::string_view, bool) { ++calls_; });
    every(1s, [this] { ++calls_; });
    its.explain(kGroup, [this](std::string_view key) { return FactOrigin{"GROUP", std::string{key}, std::to_string(++calls_)}; });
    its.explain_state("T", [this](std::string_view, const Record*) { return ++calls_, RowInPlane{.state = PlaneState::Installed}; });
    if (throws) throw std::runtime_error("no device");
    consume("T", done, gone);  // Refused.
  }

 private:
  int calls_ = 0;
};

TEST_F(RefusalTest, OfAConstructorThatThrowsOrIsRefusedNothingStays) {
  const auto count_sources = [this] {
    std::size_t sources = 0;
    runtime.scheduler().for_each_source([&](const Source&) { ++sources; });
    return sources;
  };
  for (const bool throws : {true, false}) {
    SCOPED_TRACE(throws);
    const std::size_t before = count_sources();
    const std::size_t consumers = runtime.consumers().size();
    if (throws) {
      EXPECT_THROW(static_cast<void>(runtime.try_add<Unlucky>(true)), std::runtime_error);
    } else {
      EXPECT_FALSE(runtime.try_add<Unlucky>(false).has_value());
    }
    EXPECT_EQ(runtime.consumers().size(), consumers);
    EXPECT_EQ(count_sources(), before);
    set("T", "k");
    ASSERT_TRUE(runtime.table("NEWS").write(Change::event("came", "n1", {})).ok());
    run_for(5s);
    EXPECT_TRUE(rejects.empty());
    const Why why = runtime.why("T", "k");
    EXPECT_EQ(why.chain[0].plane, PlaneState::Unknown);
    auto& other = runtime.add<OpenOrch>("other" + std::to_string(throws));
    const std::string table = "W" + std::to_string(throws);
    other.consume(
        table,
        [](std::string_view, const Fields&) {
          return Outcome::wait_for({kGroup, "7"});
        },
        gone);
    set(table, "k");
    run();
    const Why waits = runtime.why(table, "k");
    EXPECT_EQ(waits.chain[0].provider, "");
    for (const WhyLink& link : waits.chain) EXPECT_NE(link.table, "GROUP") << "the explanation of the Orch that is gone";
  }
  EXPECT_TRUE(runtime.try_add<Providing>("groups").has_value()) << "the kind of fact has no provider";
  EXPECT_TRUE(runtime.try_add<Needy>("routes", Tables{"T"}).has_value()) << "the table has no consumer";
}

TEST_F(RefusalTest, WhatAnOrchExplainsStaysIfOneWithinItIsRefused) {
  struct Outer final : Orch {
    explicit Outer(Runtime& its) : Orch(its, "outer", Priority::p1) {
      its.explain_state("T", [](std::string_view, const Record*) { return RowInPlane{.state = PlaneState::Installed}; });
      consume("T", done, gone);
      EXPECT_FALSE(its.try_add<Needy>("inner", Tables{"T"}).has_value());
    }
  };
  runtime.add<Outer>();
  set("T", "k");
  run();
  EXPECT_EQ(runtime.why("T", "k").chain[0].plane, PlaneState::Installed);
}

using RefusalDeathTest = RefusalTest;
TEST_F(RefusalDeathTest, AddEndsTheProcessWithTheNames) {
  runtime.add<Needy>("first", Tables{"T"});
  EXPECT_DEATH(runtime.add<Needy>("second", Tables{"T"}),
               "Runtime::add: .*Orch 'second': table 'T' has a consumer: Orch 'first'; use Runtime::try_add");
}

TEST_F(RefusalDeathTest, OutsideOfAConstructorThereIsNobodyToTell) {
  auto& orch = runtime.add<OpenOrch>("late");
  runtime.add<Needy>("first", Tables{"T"});
  EXPECT_DEATH(orch.consume("T", done, gone), "Orch 'late': table 'T' has a consumer");
}

// --- Runtime::open

TEST(RuntimeOpen, WithoutDescriptorsSaysSo) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto refused = Runtime::open();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(std::string{refused.error().message()}, StartsWith("making the runtime's reactor: "));
  EXPECT_TRUE(Runtime::open().has_value());
}

TEST(RuntimeOpen, RefusesAPolicyThatCannotBeAndAStoreThatIsNone) {
  const auto policy = Runtime::open({.policy = BudgetedFrames{.batch = 0}});
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().code(), StatusCode::InvalidArgument);
  EXPECT_THAT(std::string{policy.error().message()}, StartsWith("the runtime's policy: "));
  const auto store = Runtime::open({.store = [](Scheduler&) { return std::unique_ptr<Store>{}; }});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code(), StatusCode::InvalidArgument);
  const auto file = Runtime::open(
      {.store = [](Scheduler&) -> Result<std::unique_ptr<Store>> { return failure(StatusCode::DataLoss, "'tables' has no head"); }});
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().to_string(), "data-loss: opening the store: 'tables' has no head");
}

TEST(RuntimeOpenDeathTest, TheConstructorEndsTheProcessWithTheReason) {
  EXPECT_DEATH(Runtime({.policy = BudgetedFrames{.batch = 0}}), "a Runtime cannot be made: .*the runtime's policy: .*use Runtime::open");
}

// --- Rejects in the log

std::size_t lines_with(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

void reject_and_throw(Runtime& runtime, int rejects) {
  auto& orch = runtime.add<OpenOrch>("routes");
  orch.consume(
      "ROUTE",
      [](std::string_view, const Fields&) {
        return Outcome::reject({StatusCode::InvalidArgument, "no such group"});
      },
      gone);
  orch.listen("NEWS", [](const Change&) { throw std::runtime_error("bad news"); });
  for (int i = 0; i < rejects; ++i) ASSERT_TRUE(runtime.table("ROUTE").set("r" + std::to_string(i), {}).ok());
  ASSERT_TRUE(runtime.table("NEWS").write(Change::event("came", "n1", {})).ok());
  runtime.run_until_idle();
}

TEST(RejectLog, WhoSaysNothingHasAWarningForEachRejectAndException) {
  testing::internal::CaptureStderr();
  {
    Runtime runtime;
    reject_and_throw(runtime, 1);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("change rejected op=SET why=\"invalid-argument: ROUTE 'r0': no such group\""));
  EXPECT_THAT(log, HasSubstr("handler failed why=\"internal: NEWS 'n1': the handler threw: bad news\""));
}

TEST(RejectLog, AMillionRejectsDoNotFloodIt) {
  testing::internal::CaptureStderr();
  {
    sim::World world{1};
    Runtime runtime({.clock = &world.clock(), .reactor = &world.reactor()});
    reject_and_throw(runtime, 50'000);
    EXPECT_EQ(runtime.consumers().at(0).rejected, 50'000U);
  }
  EXPECT_EQ(lines_with(testing::internal::GetCapturedStderr(), "change rejected"), 20U);
}

TEST(RejectLog, ACallbackTakesItsPlaceAndAnEmptyOneSaysNothing) {
  testing::internal::CaptureStderr();
  int told = 0;
  {
    Runtime runtime;
    runtime.on_reject([&](std::string_view, const Change&, const Status&) { ++told; });
    reject_and_throw(runtime, 3);
    Runtime silent;
    silent.on_reject({});
    reject_and_throw(silent, 3);
    Runtime optioned({.log_rejects = false});
    reject_and_throw(optioned, 3);
  }
  EXPECT_EQ(told, 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

class Failing final : public Source {
 public:
  Failing() : Source("my device", Priority::p1) {}
  Turn run(const Budget&) override { throw std::runtime_error(what); }
  bool has_backlog() const override { return true; }
  std::string what = "callback threw";
};

TEST(RejectLog, AQuarantinedSourceIsNamedOnce) {
  testing::internal::CaptureStderr();
  {
    Runtime runtime;
    Failing source;
    runtime.scheduler().add(source);
    runtime.run_until_idle();
    Runtime silent({.log_rejects = false});
    Failing other;
    silent.scheduler().add(other);
    silent.run_until_idle();
    EXPECT_EQ(silent.scheduler().stats().quarantined, 1U);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("error source quarantined: it gets no more turns source=\"my device\" why="));
  EXPECT_THAT(log, HasSubstr("callback threw"));
  EXPECT_EQ(lines_with(log, "\n"), 1U);
}

TEST(RejectLog, ALongReasonIsCut) {
  const std::string text(100'000, 'x');
  testing::internal::CaptureStderr();
  Runtime runtime;
  auto& orch = runtime.add<OpenOrch>("routes");
  const auto handle = [&](std::string_view key, const Fields&) {
    if (key == "throws") throw std::runtime_error(text);
    return Outcome::reject({StatusCode::InvalidArgument, text});
  };
  orch.consume("ROUTE", handle, gone);
  for (const char* const key : {"throws", "rejects"}) ASSERT_TRUE(runtime.table("ROUTE").set(key, {}).ok());
  Failing source;
  source.what = text;
  runtime.scheduler().add(source);
  runtime.run_until_idle();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with(log, "xxx...\""), 3U);
  EXPECT_LT(log.size(), 3 * (limits::kReasonBytes + 200));
  EXPECT_LT(runtime.why("ROUTE", "rejects").chain.at(0).note.size(), limits::kReasonBytes + 200);
  runtime.scheduler().remove(source);
}

TEST(CallLog, AFailedCallIsNoHandler) {
  testing::internal::CaptureStderr();
  Runtime runtime;
  runtime.report_reject("jobs", Change::event("call", "jobs", {}), {StatusCode::InvalidArgument, "no such schedule"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("warn call failed why=\"invalid-argument: no such schedule\""));
}

}  // namespace
}  // namespace rondo
