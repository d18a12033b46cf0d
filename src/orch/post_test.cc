// Goal: the contract of Runtime::post. Functions of any thread run in turns of the runtime, once, in order, bounded, and a stopped runtime
// refuses them. Method: a simulated runtime for order, bound and errors; real threads for the rest.
#include <gmock/gmock.h>

#include <thread>

#include "orch/runtime_fixture.h"
#include "rondo/base/limits.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PostTest : public testing::Test, public RuntimeFixture {};

TEST_F(PostTest, FunctionsRunOnceInTheirOrderInTurnsOfTheRuntime) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(runtime.post([this, name] { calls.emplace_back(name); }).ok());
  EXPECT_TRUE(calls.empty());
  run();
  EXPECT_THAT(calls, ElementsAre("a", "b", "c"));
  EXPECT_EQ(source("posted functions").items, 3U);
}

TEST_F(PostTest, OneThatPostsIsHeardInALaterTurnOrTheSame) {
  ASSERT_TRUE(runtime
                  .post([this] {
                    calls.emplace_back("first");
                    EXPECT_TRUE(runtime.post([this] { calls.emplace_back("second"); }).ok());
                  })
                  .ok());
  run();
  EXPECT_THAT(calls, ElementsAre("first", "second"));
}

TEST_F(PostTest, TheyHaveThePriorityOfTheOption) {
  RuntimeOptions options;
  options.policy = StrictPriority{};
  options.clock = &world.clock();
  options.reactor = &world.reactor();
  options.posted = Priority::p1;
  Runtime low(std::move(options));
  auto& orch = low.add<OpenOrch>("orch", Priority::p5);
  orch.consume(
      "T",
      [this](std::string_view key, const Fields&) {
        calls.emplace_back(key);
        return Outcome::done();
      },
      [](std::string_view) { return Outcome::done(); });
  ASSERT_TRUE(low.post([this] { calls.emplace_back("posted"); }).ok());
  ASSERT_TRUE(low.table("T").set("row", {}).ok());
  low.run_until_idle();
  EXPECT_THAT(calls, ElementsAre("row", "posted"));
}

TEST_F(PostTest, TheQueueHoldsTheLimitOfFunctionsAndNotOneMore) {
  std::size_t ran = 0;
  for (std::size_t i = 0; i < limits::kMailboxMessages; ++i) ASSERT_TRUE(runtime.post([&] { ++ran; }).ok());
  EXPECT_EQ(runtime.post([&] { ++ran; }).code(), StatusCode::ResourceExhausted);
  run();
  EXPECT_EQ(ran, limits::kMailboxMessages);
  EXPECT_TRUE(runtime.post([&] { ++ran; }).ok());
  std::uint64_t turned_away = 0;
  runtime.scheduler().for_each_source([&](const Source& source) { turned_away += source.turned_away(); });
  EXPECT_EQ(turned_away, 1U);
}

TEST_F(PostTest, OneThatThrowsIsToldAndTheNextRuns) {
  ASSERT_TRUE(runtime.post([] { throw std::runtime_error("cannot bear it"); }).ok());
  ASSERT_TRUE(runtime.post([this] { calls.emplace_back("next"); }).ok());
  run();
  EXPECT_THAT(calls, ElementsAre("next"));
  EXPECT_THAT(rejects, ElementsAre(HasSubstr("post 'function': the handler threw: cannot bear it")));
}

/// Such a post was accepted, and its function never ran.
TEST_F(PostTest, AfterTheirSourceIsQuarantinedNoneIsAccepted) {
  runtime.on_reject([](std::string_view, const Change&, const Status&) { throw std::runtime_error("no room for that"); });
  ASSERT_TRUE(runtime.post([] { throw std::runtime_error("first"); }).ok());
  run();
  EXPECT_EQ(runtime.post([] {}).to_string(),
            "failed-precondition: the source 'posted functions' is quarantined and runs nothing that is posted: Runtime::on_reject threw "
            "no room for that");
}

TEST_F(PostTest, ARuntimeThatWasStoppedAcceptsNoneAndOneThatEndsRunsNone) {
  bool ran = false;
  {
    Runtime ending;
    ASSERT_TRUE(ending.post([&] { ran = true; }).ok());
    ending.stop();
    EXPECT_EQ(ending.post([&] { ran = true; }).code(), StatusCode::Cancelled);
  }
  EXPECT_FALSE(ran);
}

TEST_F(PostTest, ARuntimeToWhichNobodyPostsHasNoSourceForIt) {
  run();
  std::size_t sources = 0;
  runtime.scheduler().for_each_source([&](const Source& source) { sources += source.name() == "posted functions" ? 1U : 0U; });
  EXPECT_EQ(sources, 0U);
}

TEST(PostOnThreads, ARuntimeThatSleepsIsWokenAndNothingIsLostOrRunTwice) {
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  Runtime runtime;
  std::vector<int> ran(kThreads, 0);
  int left = kThreads * kEach;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        const auto one = [&, thread, i] {
          EXPECT_EQ(ran[static_cast<std::size_t>(thread)]++, i) << "of one thread in its order";
          if (--left == 0) runtime.stop();
        };
        while (!runtime.post(one).ok()) std::this_thread::yield();  // The queue is full.
      }
    });
  }
  runtime.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ran, testing::Each(kEach));
}

TEST_F(PostTest, AnEmptyFunctionIsRefused) {
  EXPECT_EQ(runtime.post({}).code(), StatusCode::InvalidArgument);
  run();
}

}  // namespace
}  // namespace rondo
