// Goal: blocking work runs beside the scheduler and is answered once, in a turn; the bound, exceptions and the end are as documented.
// Method: a real runtime with threads, and one with a simulated clock.
#include "rondo/orch/elsewhere.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "rondo/base/limits.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/sim_clock.h"
#include "sched/sim_reactor.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs turns until 'done', at most ten seconds.
template <class Done>
bool run_until(Runtime& runtime, const Done& done) {
  const Instant end = runtime.clock().now() + 10s;
  for (runtime.run_until_idle(); !done() && runtime.clock().now() < end; runtime.run_until_idle()) runtime.scheduler().wait(end);
  return done();
}

TEST(ElsewhereWorker, WorkRunsOnAnotherThreadAndIsAnsweredOnTheSchedulers) {
  Runtime runtime;
  std::thread::id worked;
  std::thread::id answered;
  std::string text;
  ASSERT_TRUE(runtime
                  .run_elsewhere(
                      [&worked]() -> Result<std::string> {
                        worked = std::this_thread::get_id();
                        return "the file";
                      },
                      [&](Result<std::string> answer) {
                        answered = std::this_thread::get_id();
                        text = *answer;
                      })
                  .ok());
  ASSERT_TRUE(run_until(runtime, [&] { return !text.empty(); }));
  EXPECT_EQ(text, "the file");
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_EQ(answered, std::this_thread::get_id());
}

TEST(ElsewhereWorker, AnAnswerIsWhatTheWorkReturnsOrThrows) {
  Runtime runtime;
  std::vector<std::string> answers;
  const auto status = [&](const Status& how) { answers.push_back(how.to_string()); };
  const auto number = [&](const Result<int>& how) { answers.push_back(how ? std::to_string(*how) : how.error().to_string()); };
  const auto run = [&](auto work, auto done) {
    const std::size_t before = answers.size();
    EXPECT_TRUE(runtime.run_elsewhere(work, done).ok());
    EXPECT_TRUE(run_until(runtime, [&] { return answers.size() > before; }));
  };
  run([] {}, status);
  run([]() -> Status { return {StatusCode::NotFound, "no file"}; }, status);
  run([] { return 7; }, number);
  run([]() -> Result<int> { return failure(StatusCode::Unavailable, "away"); }, number);
  run([]() -> int { throw std::runtime_error("broken"); }, number);
  run([](std::stop_token stop) { return stop.stop_requested() ? 1 : 0; }, number);
  EXPECT_THAT(answers, ElementsAre("ok", "not-found: no file", "7", "unavailable: away", "internal: the work threw: broken", "0"));
}

TEST(ElsewhereWorker, AsManyWorksAsThreadsRunSideBySide) {
  Runtime runtime;
  std::atomic<unsigned> inside{0};
  unsigned answered = 0;
  for (unsigned i = 0; i < limits::kElsewhereThreads; ++i) {
    ASSERT_TRUE(runtime
                    .run_elsewhere(
                        [&inside] {
                          ++inside;
                          inside.notify_all();
                          for (unsigned seen = inside; seen < limits::kElsewhereThreads; seen = inside) inside.wait(seen);
                        },
                        [&](const Status&) { ++answered; })
                    .ok());
  }
  EXPECT_TRUE(run_until(runtime, [&] { return answered == limits::kElsewhereThreads; }));
}

TEST(ElsewhereWorker, OneWorkMoreThanTheLimitIsRefused) {
  Runtime runtime;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::size_t answered = 0;
  const auto run = [&] { return runtime.run_elsewhere([gone] { gone.wait(); }, [&](const Status&) { ++answered; }); };
  for (std::size_t i = 0; i < limits::kElsewhereTasks; ++i) ASSERT_TRUE(run().ok());
  EXPECT_EQ(run().code(), StatusCode::ResourceExhausted);
  go.set_value();
  ASSERT_TRUE(run_until(runtime, [&] { return answered == limits::kElsewhereTasks; }));
  EXPECT_TRUE(run().ok());
}

TEST(ElsewhereWorker, TheEndRequestsTheStopOfWhatRunsDropsTheRestAndAnswersNobody) {
  std::atomic<int> begun{0};
  std::atomic<bool> stopped{false};
  bool answered = false;
  Status late;
  {
    Runtime runtime({.elsewhere_threads = 1});
    struct Last final : Orch {
      Last(Runtime& runtime, Status& late) : Orch(runtime, "last", Priority::p1), late_(late) {}
      ~Last() override {
        late_ = runtime().run_elsewhere([] {}, [](const Status&) {});
      }
      Status& late_;
    };
    runtime.add<Last>(late);
    const auto work = [&](std::stop_token stop) {
      ++begun;
      begun.notify_all();
      std::atomic<bool> asked{false};
      const std::stop_callback on_stop(stop, [&] {
        asked = true;
        asked.notify_all();
      });
      asked.wait(false);
      stopped = true;
    };
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(runtime.run_elsewhere(work, [&](const Status&) { answered = true; }).ok());
    runtime.run_until_idle();
    begun.wait(0);
  }
  EXPECT_EQ(begun, 1);
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(answered);
  EXPECT_EQ(late.code(), StatusCode::Cancelled);
}

TEST(ElsewhereWorker, AnAnswerThatThrowsIsReportedAndTheNextOnesCome) {
  Runtime runtime;
  std::string reported;
  runtime.on_reject(
      [&](std::string_view where, const Change&, const Status& why) { reported = std::string{where} + " " + why.to_string(); });
  bool answered = false;
  ASSERT_TRUE(runtime.run_elsewhere([] {}, [](const Status&) { throw std::runtime_error("no"); }).ok());
  ASSERT_TRUE(run_until(runtime, [&] { return !reported.empty(); }));
  EXPECT_THAT(reported, HasSubstr("the handler threw: no"));
  ASSERT_TRUE(runtime.run_elsewhere([] {}, [&](const Status&) { answered = true; }).ok());
  EXPECT_TRUE(run_until(runtime, [&] { return answered; }));
}

struct Asker final : Orch {
  Asker(Runtime& runtime, Priority priority, std::vector<std::string>& answers) : Orch(runtime, "asker", priority), answers_(answers) {}
  void ask(std::string name) {
    ASSERT_TRUE(run_elsewhere([] {}, [this, name](const Status&) { answers_.push_back(name); }).ok());
  }
  std::vector<std::string>& answers_;
};

class ElsewhereInline : public ::testing::Test {
 protected:
  SimClock clock_;
  SimReactor reactor_{clock_};
};

TEST_F(ElsewhereInline, WithAClockThatIsToldWorkRunsInATurnOfTheCallersThread) {
  Runtime runtime({.policy = StrictPriority{}, .clock = &clock_, .reactor = &reactor_});
  std::thread::id worked;
  ASSERT_TRUE(runtime.run_elsewhere([&] { worked = std::this_thread::get_id(); }, [](const Status&) {}).ok());
  EXPECT_EQ(worked, std::thread::id{}) << "not before its turn";
  runtime.run_until_idle();
  EXPECT_EQ(worked, std::this_thread::get_id());
}

TEST_F(ElsewhereInline, AnAnswerIsGivenAtThePriorityOfItsOrchAndNotAfterTheOrchHasGone) {
  Runtime runtime({.policy = StrictPriority{}, .clock = &clock_, .reactor = &reactor_});
  std::vector<std::string> answers;
  Asker low(runtime, Priority::p1, answers);
  Asker high(runtime, Priority::p5, answers);
  auto gone = std::make_unique<Asker>(runtime, Priority::p7, answers);
  low.ask("low");
  high.ask("high");
  gone->ask("gone");
  gone.reset();
  runtime.run_until_idle();
  EXPECT_THAT(answers, ElementsAre("high", "low"));
}

}  // namespace
}  // namespace rondo
