// Answers that promise that something is stored, while the store hangs or fails.
#include "jobs/executors/testing/executors_testbed.h"

namespace rondo::jobs::executors {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class StoringTest : public ExecutorsTest {
 protected:
  /// The process ends, and another one begins.
  void restart() {
    end();
    begin();
  }
  /// The id of a run that an executor has begun.
  std::int64_t begin_run(Job job = {}) {
    define_job("a", std::move(job));
    add_registered(1);
    trigger("a");
    EXPECT_TRUE(gets_orders(1));
    return log_id(orders().at(0));
  }
  bool is_answered(std::size_t call) {
    return becomes([&] { return answers.contains(call); });
  }
  bool is_drained() {
    const std::string nodes = answer<std::string>([&](auto done) { RemoteRuns(*jobs).remembered("executors/web", done); }).value_or("");
    return nodes.find("\"drained\":true") != std::string::npos;
  }
  /// The answer of the command executor-drain.
  std::string drain(const std::string& address, bool resumes = false) {
    CommandRegistry registry;
    EXPECT_TRUE(executors->add_commands(registry).ok());
    std::string& answer = logs[++last_call];
    ports.push_back(std::make_unique<AnswerPort>(answer));
    json::object request{{"id", 1}, {"command", "executor-drain"}, {"group", "web"}, {"address", address}};
    if (resumes) request["resume"] = "yes";
    const auto state = std::make_shared<Reply::State>(*ports.back(), 1);
    state->report = std::make_shared<ChangeReport>([this](const ChangeReport::Told& change) {
      told = std::string{change.before.value_or("nothing")} + " -> " + std::string{change.after};
    });
    registry.dispatch(request, Reply{state});
    EXPECT_TRUE(becomes([&] { return !answer.empty(); }));
    return answer;
  }
  std::string told;  // What the last drain has told a log.
};

const auto kIsToBeRepeated = AllOf(HasSubstr("200 {\"code\":500"), HasSubstr("send it again"));

TEST_F(StoringTest, ACallbackIsAnsweredWhenItsEndIsStored) {
  const std::int64_t id = begin_run();
  trouble.ends_hang = true;
  const std::size_t call = send("/api/callback", callback(id, 200, ""));
  ASSERT_TRUE(becomes([&] { return executors->stats().callbacks == 1; }));
  run_a_while();
  EXPECT_FALSE(answers.contains(call));
  let_ends_pass();
  ASSERT_TRUE(is_answered(call));
  EXPECT_EQ(answers[call], kDone);
}

TEST_F(StoringTest, ACallbackAndItsRepetitionWaitWhileTheStoreFails) {
  const std::int64_t id = begin_run();
  trouble.is_full = true;
  const std::size_t first = send("/api/callback", callback(id, 200, "well"));
  ASSERT_TRUE(fails_again());
  const std::size_t second = send("/api/callback", callback(id, 200, "well"));
  ASSERT_TRUE(becomes([&] { return executors->stats().late == 1; }));
  ASSERT_TRUE(fails_again());
  run_a_while();
  EXPECT_FALSE(answers.contains(first) || answers.contains(second));
  trouble.is_full = false;
  ASSERT_TRUE(is_answered(first) && is_answered(second));
  EXPECT_EQ(answers[first], kDone);
  EXPECT_EQ(answers[second], kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded well"));
}

TEST_F(StoringTest, AnAttemptThatIsTriedAgainIsAnsweredLikewise) {
  const std::int64_t id = begin_run({.retries = 1, .backoff = 1000s});
  trouble.is_full = true;
  const std::size_t first = send("/api/callback", callback(id, 500, "no"));
  ASSERT_TRUE(fails_again());
  const std::size_t second = send("/api/callback", callback(id, 500, "no"));
  ASSERT_TRUE(becomes([&] { return executors->stats().late == 1; }));
  ASSERT_TRUE(fails_again());
  EXPECT_FALSE(answers.contains(first) || answers.contains(second));
  trouble.is_full = false;
  ASSERT_TRUE(is_answered(first) && is_answered(second));
  EXPECT_EQ(answers[first], kDone);
  EXPECT_EQ(answers[second], kDone);
}

/// It was answered as stored, so its executor forgot it, and the run was carried out again.
TEST_F(StoringTest, ACallbackThatIsNotStoredInTimeIsRepeatedAndEndsTheRunAfterACrash) {
  settings.stored_wait = 20ms;
  restart();
  const std::int64_t id = begin_run();
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
  trouble.is_full = true;
  EXPECT_THAT(report(id, 200, "well"), kIsToBeRepeated);
  EXPECT_THAT(report(id, 200, "well"), kIsToBeRepeated);
  end();  // The last try to store it fails, too.
  trouble.is_full = false;
  settings.stored_wait = 1000s;
  begin();
  EXPECT_EQ(report(id, 200, "well"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded well"));
}

TEST_F(StoringTest, ACallbackIsToBeRepeatedWhileTheStoreHangs) {
  settings.stored_wait = 20ms;
  restart();
  const std::int64_t id = begin_run();
  trouble.ends_hang = true;
  EXPECT_THAT(report(id, 200, ""), kIsToBeRepeated);
  EXPECT_THAT(report(id, 200, ""), kIsToBeRepeated);
  let_ends_pass();
  ASSERT_TRUE(all_ended());
  EXPECT_EQ(report(id, 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded"));
}

TEST_F(StoringTest, AStrangerDoesNotWaitForTheEndOfARunOfAnotherGroup) {
  const std::int64_t id = begin_run();
  trouble.is_full = true;
  const std::size_t call = send("/api/callback", callback(id, 200, "well"));
  ASSERT_TRUE(fails_again());
  EXPECT_EQ(says("/api/callback", callback(id, 500, "no"), {{"xxl-job-access-token", "another-token-of-db"}}), kDone);
  EXPECT_FALSE(answers.contains(call));
  trouble.is_full = false;
  ASSERT_TRUE(is_answered(call));
  EXPECT_THAT(runs("a"), ElementsAre("succeeded well"));
}

TEST_F(StoringTest, TheLastShardOfABroadcastAndRepetitionsWaitForTheEndOfTheRun) {
  define_job("a", {.route = Route::ShardingBroadcast});
  add_registered(2);
  trigger("a");
  ASSERT_TRUE(gets_orders(2));
  trouble.is_full = true;
  const std::vector<json::object> all = orders();
  EXPECT_EQ(report(log_id(all[0]), 200, ""), kDone) << "a shard alone is not stored";
  const std::size_t last = send("/api/callback", callback(log_id(all[1]), 200, ""));
  ASSERT_TRUE(fails_again());
  const std::size_t again = send("/api/callback", callback(log_id(all[0]), 200, ""));
  ASSERT_TRUE(becomes([&] { return executors->stats().late == 1; }));
  ASSERT_TRUE(fails_again());
  EXPECT_FALSE(answers.contains(last) || answers.contains(again));
  trouble.is_full = false;
  ASSERT_TRUE(is_answered(last) && is_answered(again));
  EXPECT_EQ(answers[last], kDone);
  EXPECT_EQ(answers[again], kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded 2 shards succeeded"));
}

TEST_F(StoringTest, ADrainIsAnsweredWhenItIsStored) {
  add_registered(1);
  EXPECT_THAT(drain(peers[0]->url()), HasSubstr("\"drained\":true"));
  EXPECT_TRUE(is_drained());
  EXPECT_EQ(told, "drained=false -> drained=true");
  static_cast<void>(drain(peers[0]->url()));
  EXPECT_EQ(told, "drained=true -> drained=true") << "it was drained already";
  EXPECT_THAT(drain(peers[0]->url(), true), HasSubstr("\"drained\":false"));
  EXPECT_FALSE(is_drained());
  EXPECT_EQ(told, "drained=true -> drained=false");
  static_cast<void>(drain("http://127.0.0.1:1"));
  EXPECT_EQ(told, "nothing -> ") << "there is no such executor";
}

/// It was answered as done, and a restart forgot it.
TEST_F(StoringTest, ADrainThatIsNotStoredFailsAndIsStoredLater) {
  add_registered(1);
  trouble.is_full = true;
  EXPECT_THAT(drain(peers[0]->url()), AllOf(HasSubstr("disk is full"), HasSubstr("gets no further run"), HasSubstr("tries again")));
  EXPECT_FALSE(is_drained());
  trouble.is_full = false;
  EXPECT_TRUE(becomes([&] { return is_drained(); }));
  trouble.is_full = true;
  EXPECT_THAT(drain(peers[0]->url(), true), AllOf(HasSubstr("disk is full"), HasSubstr("gets runs again")));
}

TEST_F(StoringTest, ADrainBeforeTheDatabaseWasReadWaitsForIt) {
  settings.groups[0].addresses = {"http://127.0.0.1:1"};
  restart();
  EXPECT_THAT(drain("http://127.0.0.1:1"), HasSubstr("\"drained\":true"));
  EXPECT_TRUE(is_drained());
}

}  // namespace
}  // namespace rondo::jobs::executors
