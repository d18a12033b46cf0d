// Runs at executors, from the order to the end.
#include "jobs/executors/testing/executors_testbed.h"

namespace rondo::jobs::executors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

TEST_F(ExecutorsTest, ARunIsCarriedOutByAnExecutorThatHasRegistered) {
  define_job("a", {.parameters = "p q", .timeout = 2500ms});
  trigger("a");
  ASSERT_TRUE(waits_for("no executor has registered for group 'web'")) << activity();
  ASSERT_EQ(register_at("web", add_peer().url() + "/"), kDone);
  ASSERT_TRUE(gets_orders(1));
  const json::object order = peers[0]->orders[0];
  EXPECT_EQ(order.at("executorHandler"), "work");
  EXPECT_EQ(order.at("executorParams"), "p q");
  EXPECT_EQ(order.at("executorTimeout"), 3) << "whole seconds";
  EXPECT_EQ(order.at("broadcastTotal"), 1);
  EXPECT_EQ(log_id(order), log_id_of(1, 0, 0));
  EXPECT_EQ(peers[0]->token, kToken);
  EXPECT_EQ(report(log_id(order), 200, "all done"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded all done")) << "the answer follows the storing of the end";
  EXPECT_THAT(rows("a")[0].worker, StartsWith(peers[0]->url() + " ")) << "and when it was sent";
  EXPECT_EQ(executors->stats().dispatched, 1U);
  EXPECT_EQ(executors->stats().accepted_ns.count(), 1U);
  EXPECT_EQ(executors->stats().unsent_ns.count() + executors->stats().refused_ns.count() + executors->stats().unanswered_ns.count(), 0U);
}

TEST_F(ExecutorsTest, ARunWhoseResultComesBeforeTheAnswerCountsAsAccepted) {
  define_job("a");
  add_registered(1);
  peers[0]->keeps_silent = true;
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_EQ(report(log_id(orders()[0]), 200, "quick"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded quick"));
  peers[0]->answer_kept();
  EXPECT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
}

TEST_F(ExecutorsTest, TheFirstResultWinsAndLaterOnesAreAnsweredAlike) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::int64_t id = log_id(orders()[0]);
  EXPECT_EQ(report(id, 500, "no"), kDone);
  EXPECT_EQ(report(id, 200, "yes"), kDone);
  EXPECT_EQ(report(id + 1, 200, "a shard that is not there"), kDone);
  EXPECT_EQ(report(987654321, 200, "unknown"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("no")));
  EXPECT_EQ(executors->stats().late, 3U);
}

TEST_F(ExecutorsTest, AnAttemptIsNotEndedByTheResultOfAnEarlierOne) {
  define_job("a", {.retries = 1, .backoff = 1ms});
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  report(log_id(orders()[0]), 500, "no");
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(report(log_id(orders()[0]), 200, "late"), kDone);
  EXPECT_EQ(jobs->stats().pending, 1U);
  EXPECT_EQ(report(log_id(orders()[1]), 200, "second"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded second"));
}

TEST_F(ExecutorsTest, ATokenSpeaksForItsGroupOnly) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::int64_t id = log_id(orders()[0]);
  const std::vector<http::Field> of_db{{"XXL-JOB-ACCESS-TOKEN", "another-token-of-db"}};
  EXPECT_EQ(says("/api/callback", callback(id, 200, "forged"), of_db), kDone) << "as for an unknown run";
  EXPECT_EQ(jobs->stats().pending, 1U);
  const std::string wrong = R"(200 {"code":500,"msg":"The access token is wrong.","content":null,"data":null})";
  EXPECT_EQ(says("/api/callback", callback(id, 200, "forged"), {{"XXL-JOB-ACCESS-TOKEN", "token-of-the-grouq"}}), wrong);
  EXPECT_EQ(says("/api/callback", callback(id, 200, "forged"), {}), wrong);
  EXPECT_EQ(says("/api/callback", callback(id, 200, "forged"), {{"XXL-JOB-ACCESS-TOKEN", ""}}), wrong);
  EXPECT_EQ(says("/api/callback", callback(id, 200, "forged"), {{"XXL-JOB-ACCESS-TOKEN", kToken}, {"XXL-JOB-ACCESS-TOKEN", kToken}}),
            wrong);
  EXPECT_EQ(says("/api/registry", R"({"registryGroup":"EXECUTOR","registryKey":"web","registryValue":"http://127.0.0.1:1"})", of_db),
            wrong);
  EXPECT_EQ(jobs->stats().pending, 1U);
  EXPECT_EQ(executors->stats().callbacks, 0U);
  ASSERT_TRUE(becomes([&] { return executors->stats().refused_calls == 5; }));
  EXPECT_THAT(executors->refusal(), HasSubstr("to /api/registry was refused: the token is not that of a group 'web'"));
}

TEST_F(ExecutorsTest, ARefusedOrderFailsTheAttemptWithTheExecutorsWords) {
  define_job("a");
  add_registered(1);
  peers[0]->answer = R"({"code":500,"msg":"job handler [work] not found."})";
  trigger("a");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("did not accept the run: it answered 500: job handler [work] not found.")));
  peers[0]->answer = "<html>sorry</html>";
  trigger("a");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a")[1], HasSubstr("<html>sorry</html>"));
}

TEST_F(ExecutorsTest, AnExecutorOfTheLaterDialectGetsItsPath) {
  define_job("a");
  add_registered(1);
  peers[0]->answer = R"({"code":500,"msg":"invalid request, uri-mapping(/run) not found."})";
  trigger("a");
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/trigger"] == 1; }));
}

TEST_F(ExecutorsTest, ARunThatWasNotSentGoesToAnotherExecutorWithoutAnAttempt) {
  define_job("a", {.route = Route::First});
  add_registered(2);
  Peer& first = *peers[peers[0]->url() < peers[1]->url() ? 0 : 1];
  Peer& second = *peers[peers[0]->url() < peers[1]->url() ? 1 : 0];
  first.close();
  trigger("a");
  ASSERT_TRUE(becomes([&] { return second.orders.size() == 1; }));
  EXPECT_EQ(report(log_id(second.orders[0]), 200, "second"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded second"));
  EXPECT_EQ(rows("a")[0].attempt, 1U);
  EXPECT_THAT(rows("a")[0].worker, StartsWith(second.url() + " "));
  EXPECT_THAT(executors->health().message(), HasSubstr(first.url()));
  EXPECT_EQ(executors->stats().unsent, 1U);
}

TEST_F(ExecutorsTest, ARunWaitsWhileNoExecutorCanBeReachedAndGoesOnWhenOneRegisters) {
  define_job("a");
  add_registered(1);
  const std::uint16_t port = peers[0]->port();
  peers[0]->close();
  trigger("a");
  ASSERT_TRUE(becomes([&] { return executors->stats().unsent == 1; }));
  EXPECT_EQ(executors->stats().unsent_ns.count(), 1U);
  ASSERT_TRUE(waits_for("executor http://127.0.0.1")) << activity();
  Peer& again = add_peer(port);
  EXPECT_EQ(register_at("web", again.url()), kDone);
  ASSERT_TRUE(becomes([&] { return again.orders.size() == 1; }));
  EXPECT_EQ(report(log_id(again.orders[0]), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded"));
}

/// The executor fails while the store notes its address.
TEST_F(ExecutorsTest, ARunWhoseExecutorFailsBeforeTheOrderGoesToAnotherExecutor) {
  define_job("a", {.route = Route::First});
  define_job("b", {.route = Route::First});
  add_registered(2);
  Peer& first = *peers[peers[0]->url() < peers[1]->url() ? 0 : 1];
  Peer& second = *peers[peers[0]->url() < peers[1]->url() ? 1 : 0];
  first.keeps_silent = true;
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  trouble.notes_hang = true;
  trigger("b");
  ASSERT_TRUE(becomes([&] { return JobsView(*jobs).activity(2)->text.find("waits until the database") != std::string::npos; }));
  first.close();
  ASSERT_TRUE(becomes([&] { return !executors->health().ok(); }));
  let_notes_pass();
  ASSERT_TRUE(becomes([&] { return second.orders.size() == 1; }));
  EXPECT_EQ(report(log_id(second.orders[0]), 200, "second"), kDone);
  EXPECT_THAT(runs("b"), ElementsAre("succeeded second"));
  EXPECT_EQ(rows("b")[0].attempt, 1U);
}

TEST_F(ExecutorsTest, ARunThatAnExecutorMayHaveIsNotSentToAnotherOne) {
  settings.call = 50ms;
  end();
  begin();
  define_job("a");
  add_registered(1);
  peers[0]->keeps_silent = true;
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ASSERT_TRUE(waits_for("may have the run")) << activity();
  add_registered(1);
  run_a_while();
  EXPECT_EQ(orders().size(), 1U);
  EXPECT_EQ(report(log_id(orders()[0]), 200, "had it"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded had it"));
}

TEST_F(ExecutorsTest, ARunOfAnExecutorThatIsSilentFailsAfterAWhile) {
  settings.call = settings.silent = 20ms;
  end();
  begin();
  define_job("a");
  add_registered(1);
  peers[0]->keeps_silent = true;
  trigger("a");
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("did not answer the order, and has reported no end")));
  EXPECT_EQ(executors->stats().lost, 1U);
}

TEST_F(ExecutorsTest, ARunOfAnExecutorThatDoesNothingForItsJobFailsAfterAWhile) {
  settings.probe = 20ms;
  end();
  begin();
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/idleBeat"] >= 2; }));
  EXPECT_EQ(jobs->stats().pending, 1U) << "it is busy";
  peers[0]->idle = R"({"code":200})";
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("does nothing for the job, and has reported no end")));
}

TEST_F(ExecutorsTest, AKillGoesToTheExecutorAndARunThatItDoesNotEndIsEndedHere) {
  settings.stopping = 20ms;
  end();
  begin();
  define_job("a");
  add_registered(1);
  const JobRun run = trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_TRUE(jobs->kill(run.id).ok());
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed")));
  EXPECT_EQ(report(log_id(orders()[0]), 200, "late"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed")));
}

TEST_F(ExecutorsTest, ARunWhoseExecutorWasNotToldToStopSaysSo) {
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 2});
  settings.stopping = 100ms;
  end();
  begin();
  add_registered(1);
  const JobRun run = trigger("a");
  trigger("a");
  ASSERT_TRUE(gets_orders(2));
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 2; }));
  EXPECT_TRUE(jobs->kill(run.id).ok());
  ASSERT_TRUE(becomes([&] { return rows("a").back().state == RunState::Killed; }));
  EXPECT_THAT(rows("a").back().note, HasSubstr("could not be told to stop it"));
  EXPECT_EQ(peers[0]->calls["/kill"], 0U);
}

TEST_F(ExecutorsTest, ASuccessAfterAKillLeavesTheRunKilled) {
  define_job("a");
  add_registered(1);
  const JobRun run = trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_TRUE(jobs->kill(run.id).ok());
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
  EXPECT_EQ(report(log_id(orders()[0]), 200, "Job Task: 6 is killed."), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed")));
}

/// Rondo stops a run whose time is over. The npm client xxl-job then reports a success, and the run had succeeded.
TEST_F(ExecutorsTest, ASuccessAfterATimeoutLeavesTheRunTimedOut) {
  define_job("a", {.timeout = 1s});
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
  EXPECT_EQ(report(log_id(orders()[0]), 200, "Job Task: 6 is killed."), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("timed-out")));
}

TEST_F(ExecutorsTest, ARestartLinksRunsAndSendsNoneTwice) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::int64_t id = log_id(orders()[0]);
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
  const WallTime sent = SystemClock{}.wall_now();
  end();
  begin();
  add_registered(1);
  ASSERT_TRUE(becomes([&] { return executors->stats().linked == 1; }));
  EXPECT_EQ(report(id, 200, "over the restart"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded over the restart"));
  EXPECT_THAT(orders(), IsEmpty());
  EXPECT_LE(rows("a").front().begun, sent) << "it began before the restart";
}

TEST_F(ExecutorsTest, AResultThatComesBeforeItsRunIsKnownIsKept) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::int64_t id = log_id(orders()[0]);
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
  end();
  begins_later = true;
  begin();
  const std::size_t call = send("/api/callback", callback(id, 200, "early"));
  run_a_while();
  EXPECT_FALSE(answers.contains(call)) << "the end is not stored";
  jobs->start();
  ASSERT_TRUE(becomes([&] { return answers.contains(call); }));
  EXPECT_EQ(answers[call], kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded early"));
}

TEST_F(ExecutorsTest, ABroadcastIsOneRunWithAShardAtEachExecutor) {
  define_job("a", {.route = Route::ShardingBroadcast});
  add_registered(3);
  trigger("a");
  ASSERT_TRUE(gets_orders(3));
  std::vector<int> shards;
  for (const json::object& order : orders()) {
    EXPECT_EQ(order.at("broadcastTotal"), 3);
    shards.push_back(order.at("broadcastIndex").to_number<int>());
  }
  EXPECT_THAT(shards, UnorderedElementsAre(0, 1, 2));
  const std::vector<json::object> all = orders();
  EXPECT_EQ(report(log_id(all[0]), 200, ""), kDone);
  EXPECT_EQ(report(log_id(all[1]), 200, ""), kDone);
  EXPECT_EQ(jobs->stats().pending, 1U);
  EXPECT_EQ(report(log_id(all[2]), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded 3 shards succeeded"));
}

TEST_F(ExecutorsTest, ARetryOfABroadcastSendsTheFailedShardsAlone) {
  define_job("a", {.route = Route::ShardingBroadcast, .retries = 1, .backoff = 1ms});
  add_registered(3);
  trigger("a");
  ASSERT_TRUE(gets_orders(3));
  std::vector<json::object> all = orders();
  report(log_id(all[0]), 200, "");
  report(log_id(all[1]), 500, "no");
  report(log_id(all[2]), 200, "");
  ASSERT_TRUE(gets_orders(4));
  ASSERT_THAT(peers[1]->orders, SizeIs(2));
  const json::object again = peers[1]->orders[1];
  EXPECT_EQ(again.at("broadcastIndex"), all[1].at("broadcastIndex"));
  EXPECT_EQ(again.at("broadcastTotal"), 3);
  EXPECT_EQ(report(log_id(again), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded 3 shards succeeded"));
}

TEST_F(ExecutorsTest, TheShardsOfABroadcastAreShown) {
  define_job("a", {.route = Route::ShardingBroadcast, .retries = 0});
  add_registered(3);
  trigger("a");
  ASSERT_TRUE(gets_orders(3));
  const std::vector<json::object> all = orders();
  report(log_id(all[0]), 200, "fine");
  report(log_id(all[1]), 500, "no");
  JobRun run{.id = log_id(all[0]) / 100'000};
  const auto shown = [&] {
    std::vector<std::string> parts;
    for (const RunPart& part : RemoteRuns(*jobs).parts(run)) {
      parts.push_back(std::string{part.state} + (part.begun ? " begun" : "") + (part.ended ? " ended" : "") +
                      (part.note.empty() ? "" : ": " + part.note));
    }
    return parts;
  };
  EXPECT_THAT(shown(), UnorderedElementsAre("succeeded begun ended: fine", AllOf(HasSubstr("failed begun ended: "), HasSubstr("no")),
                                            "running begun"));
  report(log_id(all[2]), 200, "");
  ASSERT_THAT(runs("a"), ElementsAre(HasSubstr("failed")));
  EXPECT_THAT(shown(), UnorderedElementsAre("succeeded begun ended: fine", HasSubstr("failed begun ended: "), "succeeded begun ended"));
  // After a restart the store has the addresses of a run that has ended.
  run = {.id = 99, .state = RunState::Failed, .worker = "http://127.0.0.1:1,http://127.0.0.1:2 1700000000000"};
  EXPECT_THAT(shown(), ElementsAre("unknown", "unknown"));
  run.state = RunState::Succeeded;
  EXPECT_THAT(shown(), ElementsAre("succeeded", "succeeded"));
  run.worker = "http://127.0.0.1:1 1700000000000";
  EXPECT_THAT(shown(), IsEmpty()) << "it is one whole";
}

TEST_F(ExecutorsTest, AddressesOutsideOfTheNetworksAreRefused) {
  for (const char* const address : {"http://169.254.169.254/latest", "http://10.0.0.1:80", "http://[::1]:80", "http://a@127.0.0.1:1",
                                    "file:///etc/passwd", "http://127.0.0.1:1/../x", "http://127.0.0.1:1\\r\\nX: y"}) {
    EXPECT_THAT(register_at("web", address), HasSubstr("\"code\":500")) << address;
  }
  define_job("a");
  trigger("a");
  ASSERT_TRUE(waits_for("no executor has registered"));
}

TEST_F(ExecutorsTest, AtTheLimitOfAddressesOneMoreIsRefused) {
  for (std::size_t i = 1; i <= limits::kExecutorNodes; ++i) {
    ASSERT_EQ(register_at("web", "127.0.0.1:" + std::to_string(i)), kDone);
  }
  EXPECT_THAT(register_at("web", "127.0.0.1:9999"), HasSubstr("the group has 256 addresses"));
  EXPECT_EQ(register_at("web", "127.0.0.1:1"), kDone) << "a known one";
}

TEST_F(ExecutorsTest, MalformedCallsAreRefusedInTheFormatOfTheProtocol) {
  EXPECT_THAT(says("/api/callback", "{"), HasSubstr("200 {\"code\":500"));
  EXPECT_THAT(says("/api/registry", "[]"), HasSubstr("200 {\"code\":500"));
  EXPECT_THAT(says("/api/registry", ""), HasSubstr("requestBody empty"));
  EXPECT_THAT(says("/api/unknown", "{}"), HasSubstr("404"));
  EXPECT_THAT(says("/a/b/api/registry", "{}"), HasSubstr("404"));
  EXPECT_EQ(says("/api/callback", "[]"), kDone);
}

TEST_F(ExecutorsTest, AnExecutorThatIsDrainedOrHasLeftGetsNoFurtherRun) {
  add_registered(2);
  CommandRegistry registry;
  ASSERT_TRUE(executors->add_commands(registry).ok());
  const std::string leaves = R"({"registryGroup":"EXECUTOR","registryKey":"web","registryValue":")" + peers[0]->url() + "\"}";
  EXPECT_EQ(says("/api/registryRemove", leaves), kDone);
  define_job("a");
  for (int i = 0; i < 4; ++i) {
    trigger("a");
    ASSERT_TRUE(becomes([&] { return peers[1]->orders.size() == static_cast<std::size_t>(i) + 1; }));
    EXPECT_EQ(report(log_id(peers[1]->orders.back()), 200, ""), kDone);
  }
  EXPECT_THAT(peers[0]->orders, IsEmpty());
}

TEST_F(ExecutorsTest, ARunThatWaitsForAnotherIsSentAfterARestart) {
  define_job("a");
  add_registered(1);
  const std::uint16_t port = peers[0]->port();
  for (int i = 0; i < 2; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
  end();
  begin();
  add_peer(port);
  register_at("web", peers[0]->url());
  ASSERT_TRUE(becomes([&] { return executors->stats().linked == 1; }));
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, "linked"), kDone);
  ASSERT_TRUE(gets_orders(1)) << "the second one was not sent before";
  EXPECT_EQ(report(log_id_of(2, 0, 0), 200, "sent"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded linked", "succeeded sent"));
}

TEST_F(ExecutorsTest, ABusyoverRunWithoutAnIdleExecutorHoldsUpNoOtherJob) {
  define_job("busy", {.priority = Priority{40}, .route = Route::Busyover});
  define_job("other");
  add_registered(1);
  for (int i = 0; i < 2; ++i) trigger("busy");
  ASSERT_TRUE(gets_orders(1));
  trigger("other");
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(log_id(orders()[1]), log_id_of(3, 0, 0));
}

TEST_F(ExecutorsTest, AKillThatOvertakesItsOrderIsSentAgain) {
  define_job("a");
  add_registered(1);
  peers[0]->keeps_silent = true;
  const JobRun run = trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_TRUE(jobs->kill(run.id).ok());
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
  run_a_while();
  peers[0]->answer_kept();
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 2; }));
}

TEST_F(ExecutorsTest, AKillLeavesOtherRunsOfTheJobAtTheExecutorAlone) {
  settings.stopping = 20ms;
  end();
  begin();
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 2});
  add_registered(1);
  const JobRun run = trigger("a");
  trigger("a");
  ASSERT_TRUE(gets_orders(2));
  EXPECT_TRUE(jobs->kill(run.id).ok());
  ASSERT_TRUE(becomes([&] { return jobs->stats().pending == 1; }));
  EXPECT_EQ(peers[0]->calls["/kill"], 0U) << "it would stop both";
  EXPECT_EQ(report(log_id_of(2, 0, 0), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed"), "succeeded"));
}

TEST_F(ExecutorsTest, AnOrderWithAnAnswerThatIsTooLongIsNotSentAgain) {
  define_job("a", {.retries = 1, .backoff = 1ms});
  add_registered(1);
  peers[0]->answer = std::string(100'000, 'x');
  trigger("a");
  ASSERT_TRUE(waits_for("may have the run")) << activity();
  EXPECT_EQ(report(log_id(orders()[0]), 200, "had it"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded had it"));
  EXPECT_THAT(orders(), SizeIs(1));
}

TEST_F(ExecutorsTest, AnExecutorThatIsSlowToAnswerAndSaysThatItIsBusyHasTheRun) {
  settings.call = 20ms;
  settings.probe = 20ms;
  settings.silent = 1000s;
  end();
  begin();
  define_job("a");
  add_registered(1);
  peers[0]->keeps_silent = true;
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
  EXPECT_EQ(executors->stats().unanswered_ns.count(), 1U);
}

TEST_F(ExecutorsTest, AnAddressOfAnotherGroupDoesNotLearnTheToken) {
  define_job("a");
  add_registered(1);
  const std::uint16_t port = peers[0]->port();
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ASSERT_TRUE(becomes([&] { return executors->stats().dispatched == 1; }));
  define_job("a", {.handler = "executor/db/work"});
  end();
  settings.probe = 20ms;
  begin();
  Peer& again = add_peer(port);
  ASSERT_TRUE(becomes([&] { return again.calls["/idleBeat"] > 0; }));
  EXPECT_EQ(again.token, "");
}

TEST_F(ExecutorsTest, WhoHasRegisteredIsKnownAfterARestart) {
  add_registered(1);
  const std::uint16_t port = peers[0]->port();
  const auto known = [&] {
    return answer<std::string>([&](auto done) { RemoteRuns(*jobs).remembered("executors/web", done); }).value_or("");
  };
  ASSERT_TRUE(becomes([&] { return known().find(std::to_string(port)) != std::string::npos; }));
  end();
  begin();
  Peer& again = add_peer(port);
  define_job("a");
  trigger("a");
  ASSERT_TRUE(becomes([&] { return again.orders.size() == 1; })) << "it has not registered again";
}

TEST_F(ExecutorsTest, AGroupWithoutATokenTakesExecutorsFromItsNetworks) {
  settings.groups = {{.name = "web", .allow_without_token = {Prefix::parse("127.0.0.0/8").value()}},
                     {.name = "far", .allow_without_token = {Prefix::parse("192.0.2.0/24").value()}}};
  end();
  begin();
  Peer& peer = add_peer();
  const auto body = [&](const std::string& group) {
    return R"({"registryGroup":"EXECUTOR","registryKey":")" + group + R"(","registryValue":")" + peer.url() + "\"}";
  };
  EXPECT_EQ(says("/api/registry", body("web"), {}), kDone);
  EXPECT_THAT(says("/api/registry", body("far"), {}), HasSubstr("The access token is wrong."));
}

TEST_F(ExecutorsTest, AnExecutorOfTheSettingsNeedsNoRegistration) {
  Peer peer(runtime->scheduler());
  const std::uint16_t port = peer.port();
  peer.close();
  settings.groups[0].addresses = {"http://127.0.0.1:" + std::to_string(port)};
  end();
  begin();
  Peer& known = add_peer(port);
  define_job("a");
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_EQ(report(log_id(known.orders[0]), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded"));
}

TEST_F(ExecutorsTest, OrthGetsTheScheduledTimeOfAScheduledRunAndNullOfATrigger) {
  Peer& peer = add_peer();
  const std::string body = R"({"registryGroup":"EXECUTOR","registryKey":"web","registryValue":")" + peer.url() + "\"}";
  ASSERT_EQ(says("/api/registry", body, {{"Orth-ACCESS-TOKEN", kToken}}), kDone);
  define_job("manual");
  trigger("manual");
  ASSERT_TRUE(gets_orders(1));
  EXPECT_TRUE(peer.orders[0].at("scheduleTime").is_null());
  define_job("timed", {.schedule = {.when = "every 100ms"}});
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(peer.orders[1].at("scheduleTime").to_number<std::int64_t>(), rows("timed").back().scheduled.nanoseconds() / 1'000'000);
}

TEST_F(ExecutorsTest, AGroupThatIsNotConfiguredIsNamed) {
  define_job("a", {.handler = "executor/other/work"});
  trigger("a");
  ASSERT_TRUE(becomes([&] { return JobsView(*jobs).awaited_handlers().size() == 1; }));
  EXPECT_THAT(JobsView(*jobs).handler_trouble("executor/other/work"), HasSubstr("no group of executors in the configuration"));
}

}  // namespace
}  // namespace rondo::jobs::executors
