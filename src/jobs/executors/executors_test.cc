// Executors over real sockets on loopback: a Jobs with SQLite, an HttpThread, and executors that are HTTP servers of the test's thread. The
// test decides what they answer and when they call back. Times that a test does not wait for are long.
#include "jobs/executors/executors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admin/reply_state.h"
#include "http/server.h"
#include "jobs/executors/executors_impl.h"
#include "jobs/jobs_view.h"
#include "jobs/testing/passing_job_store.h"
#include "jobs/testing/testbed.h"
#include "rondo/base/text.h"

namespace rondo::jobs::executors {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr const char* kToken = "token-of-the-group";

/// An executor: an HTTP server that keeps the orders it gets.
class Peer {
 public:
  Peer(Scheduler& scheduler, std::uint16_t port = 0) : scheduler_(scheduler) {
    server_ = http::Server::open(scheduler, {.port = port}, [this](http::Request request, http::Answer answer) {
                handle(request, std::move(answer));
              }).value();
    port_ = server_->port();
  }
  void answer_kept() {
    for (http::Answer& kept : std::exchange(kept_, {})) kept.send({.body = answer});
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  void close() { server_.reset(); }

  std::vector<json::object> orders;                   // The bodies of /run.
  std::map<std::string, std::size_t> calls = {};      // By path.
  std::string answer = R"({"code":200})";             // To /run.
  std::string idle = R"({"code":500,"msg":"busy"})";  // To /idleBeat.
  std::vector<std::string> log;                       // Lines.
  std::int64_t lines_of_piece = 2;
  bool keeps_silent = false;  // It answers no /run.
  std::string token;          // The one of the last call.
  std::vector<std::string> headers;

 private:
  void handle(const http::Request& request, http::Answer to) {
    const std::string path{request.path()};
    ++calls[path];
    if (const std::string* const shown = request.field("XXL-JOB-ACCESS-TOKEN")) token = *shown;
    if (path == "/run" || path == "/trigger") {
      orders.push_back(json::parse(request.body).as_object());
      if (keeps_silent) return kept_.push_back(std::move(to));
      return to.send({.content_type = "text/html;charset=UTF-8", .body = answer});
    }
    if (path == "/log") {
      const std::int64_t from = json::parse(request.body).at("fromLineNum").to_number<std::int64_t>();
      std::string text;
      const auto lines = static_cast<std::int64_t>(log.size());
      const std::int64_t end = std::min(lines, from + lines_of_piece - 1);
      for (std::int64_t line = from; line <= end; ++line) text += log[static_cast<std::size_t>(line) - 1] + "\n";
      return to.send({.body = json::serialize(json::object{
                          {"code", 200},
                          {"content", json::object{{"fromLineNum", from}, {"toLineNum", end}, {"logContent", text}, {"isEnd", false}}}})});
    }
    to.send({.body = path == "/idleBeat" ? idle : R"({"code":200,"msg":null})"});
  }

  Scheduler& scheduler_;
  std::unique_ptr<http::Server> server_;
  std::uint16_t port_ = 0;
  std::vector<http::Answer> kept_;
};

/// A store whose finish() waits while 'hangs' is true, and note_worker() while 'notes_hang' is.
class HangingStore final : public test::PassingJobStore {
 public:
  HangingStore(std::shared_ptr<JobStore> store, const std::atomic<bool>& hangs, const std::atomic<bool>& notes_hang)
      : PassingJobStore(*store), owned_(std::move(store)), hangs_(hangs), notes_hang_(notes_hang) {}
  Status finish(std::span<const RunEnd> ends) override {
    hangs_.wait(true);
    return PassingJobStore::finish(ends);
  }
  Status note_worker(std::int64_t run, std::string_view worker) override {
    notes_hang_.wait(true);
    return PassingJobStore::note_worker(run, worker);
  }

 private:
  std::shared_ptr<JobStore> owned_;
  const std::atomic<bool>& hangs_;
  const std::atomic<bool>& notes_hang_;
};

/// Takes the answer of a command.
class AnswerPort final : public ReplyPort {
 public:
  explicit AnswerPort(std::string& answer) : answer_(answer) {}
  void send(std::string_view frame) override {
    const json::object said = json::parse(frame.substr(frame.find('{'))).as_object();
    answer_ = json::serialize(said.contains("result") ? said.at("result") : said.at("error"));
  }
  void note_full_page() override {}
  void continue_later(Reply, Reply::Continuation) override {}
  void ended(bool) override {}
  bool turn_is_over() const override { return false; }

 private:
  std::string& answer_;
};

class ExecutorsTest : public test::JobsTestbed {
 protected:
  ExecutorsTest() {
    settings.groups = {{.name = "web", .token = kToken}, {.name = "db", .token = "another-token-of-db"}};
    settings.networks = {Prefix::parse("127.0.0.0/8").value()};
    settings.call = settings.silent = settings.away = settings.probe = settings.stopping = settings.stored_wait = 1000s;
    begin();
  }
  ~ExecutorsTest() override {
    ends_hang = false;
    ends_hang.notify_all();
    let_notes_pass();
    end();
  }
  void begin() {
    runtime = std::make_unique<Runtime>();
    jobs = std::make_unique<Jobs>(*runtime, std::make_shared<HangingStore>(make_sqlite_job_store(path()).value(), ends_hang, notes_hang),
                                  options);
    executors = std::make_unique<Executors>(*runtime, *jobs, settings, [this](http::ClientRequest request, http::CallDone done) {
      return http->call(std::move(request), std::move(done));
    });
    http::HttpThreadOptions with;
    with.server.emplace();
    with.client.emplace().networks = settings.networks;
    with.client->first_break = 1ms;
    with.client->break_time = 1ms;
    with.drain = 10ms;
    http = http::HttpThread::start(runtime->scheduler(), with, executors->door()).value();
    if (!begins_later) jobs->start();
  }
  /// The process ends.
  void end() {
    peers.clear();
    client.reset();
    http->stop();
    http.reset();
    executors.reset();
    close();
  }

  Peer& add_peer(std::uint16_t port = 0) { return *peers.emplace_back(std::make_unique<Peer>(runtime->scheduler(), port)); }
  /// What the scheduler answers to a call of an executor.
  std::string says(const std::string& path, const std::string& body,
                   std::vector<http::Field> headers = {{"xxl-job-access-token", kToken}}) {
    const std::size_t number = send(path, body, std::move(headers));
    EXPECT_TRUE(becomes([&] { return answers.contains(number); }));
    return answers[number];
  }
  /// The same, without waiting for the answer.
  std::size_t send(const std::string& path, const std::string& body,
                   std::vector<http::Field> headers = {{"xxl-job-access-token", kToken}}) {
    if (client == nullptr) client = http::Client::open(runtime->scheduler(), {.any_network = true}).value();
    const std::size_t number = ++last_call;
    const Status sent =
        client->post({.url = "http://" + http->endpoint() + path, .headers = std::move(headers), .body = body, .timeout = 1000s},
                     [this, number](Result<http::ClientAnswer> answer) {
                       answers[number] = answer ? std::to_string(answer->status) + " " + answer->body : answer.error().to_string();
                     });
    EXPECT_TRUE(sent.ok()) << sent.to_string();
    return number;
  }
  std::string register_at(const std::string& group, const std::string& address) {
    return says("/xxl-job-admin/api/registry",
                R"({"registryGroup":"EXECUTOR","registryKey":")" + group + R"(","registryValue":")" + address + "\"}");
  }
  void add_registered(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_THAT(register_at("web", add_peer().url() + "/"), HasSubstr("\"code\":200"));
  }
  std::string report(std::int64_t log_id, int code, const std::string& message) {
    return says("/api/callback", callback(log_id, code, message));
  }
  static std::string callback(std::int64_t log_id, int code, const std::string& message) {
    return json::serialize(json::array{json::object{{"logId", log_id}, {"logDateTim", 1}, {"handleCode", code}, {"handleMsg", message}}});
  }
  static std::int64_t log_id(const json::object& order) { return order.at("logId").to_number<std::int64_t>(); }
  /// All orders of all peers, in the order of the peers.
  std::vector<json::object> orders() const {
    std::vector<json::object> all;
    for (const auto& peer : peers) all.insert(all.end(), peer->orders.begin(), peer->orders.end());
    return all;
  }
  bool gets_orders(std::size_t count) {
    return becomes([&] { return orders().size() == count; });
  }
  /// What the first run does, for people.
  std::string activity() const {
    const auto activity = JobsView(*jobs).activity(1);
    return activity ? activity->text : "nothing";
  }
  bool waits_for(const std::string& words) {
    return becomes([&] { return activity().find(words) != std::string::npos; });
  }
  void define_job(const std::string& name, Job job = {}) {
    job.name = name;
    if (job.handler.empty()) job.handler = "executor/web/work";
    define(job);
  }

  void let_notes_pass() {
    notes_hang = false;
    notes_hang.notify_all();
  }

  std::atomic<bool> ends_hang = false;
  std::atomic<bool> notes_hang = false;
  bool begins_later = false;  // The test starts the jobs.
  /// The command job-log.
  std::size_t ask_log(std::int64_t run, std::int64_t from, bool wait, const std::string& of = {}) {
    const std::size_t number = ++last_call;
    jobs->find_run(run, [this, from, wait, of, number](const Result<JobRun>& found) {
      ports.push_back(std::make_unique<AnswerPort>(logs[number]));
      EXPECT_TRUE(executors->read_log(found.value(), from, wait, of, Reply{std::make_shared<Reply::State>(*ports.back(), 1)}));
    });
    return number;
  }
  json::object read_log(std::int64_t run, std::int64_t from, const std::string& of = {}) {
    const std::size_t number = ask_log(run, from, false, of);
    EXPECT_TRUE(becomes([&] { return !logs[number].empty(); }));
    return json::parse(logs[number]).as_object();
  }

  std::map<std::size_t, std::string> logs;  // Answers, or errors, as JSON.
  std::vector<std::unique_ptr<AnswerPort>> ports;
  ExecutorSettings settings;
  std::unique_ptr<Executors> executors;
  std::unique_ptr<http::HttpThread> http;
  std::unique_ptr<http::Client> client;  // It sends what executors send.
  std::vector<std::unique_ptr<Peer>> peers;
  std::map<std::size_t, std::string> answers;
  std::size_t last_call = 0;
};

const std::string kDone = R"(200 {"code":200,"msg":null,"content":null,"data":null})";

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
  EXPECT_EQ(rows("a")[0].worker, peers[0]->url());
  EXPECT_EQ(executors->stats().dispatched, 1U);
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
  EXPECT_THAT(executors->health().message(), HasSubstr("to /api/registry was refused: The access token is wrong."));
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
  EXPECT_EQ(rows("a")[0].worker, second.url());
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
  notes_hang = true;
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
  end();
  begin();
  add_registered(1);
  ASSERT_TRUE(becomes([&] { return executors->stats().linked == 1; }));
  EXPECT_EQ(report(id, 200, "over the restart"), kDone);
  EXPECT_THAT(runs("a"), ElementsAre("succeeded over the restart"));
  EXPECT_THAT(orders(), IsEmpty());
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

TEST_F(ExecutorsTest, ACallbackIsAnsweredWhenItsEndIsStored) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ends_hang = true;
  const std::size_t call = send("/api/callback", callback(log_id(orders()[0]), 200, ""));
  ASSERT_TRUE(becomes([&] { return executors->stats().callbacks == 1; }));
  run_a_while();
  EXPECT_FALSE(answers.contains(call));
  ends_hang = false;
  ends_hang.notify_all();
  ASSERT_TRUE(becomes([&] { return answers.contains(call); }));
  EXPECT_EQ(answers[call], kDone);
}

TEST_F(ExecutorsTest, ACallbackIsAnsweredAfterAWhileAlthoughTheStoreHangs) {
  settings.stored_wait = 20ms;
  end();
  begin();
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  ends_hang = true;
  const std::size_t call = send("/api/callback", callback(log_id(orders()[0]), 200, ""));
  ASSERT_TRUE(becomes([&] { return answers.contains(call); }));
  EXPECT_EQ(answers[call], kDone);
  ends_hang = false;
  ends_hang.notify_all();
  ASSERT_TRUE(all_ended());
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

TEST_F(ExecutorsTest, RunsOfAJobFollowEachOtherAtEachExecutorByDefault) {
  define_job("a");
  add_registered(2);
  for (int i = 0; i < 3; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(2));
  EXPECT_THAT(peers[0]->orders, SizeIs(1)) << "one at each";
  ASSERT_TRUE(becomes([&] {
    const auto third = JobsView(*jobs).activity(3);
    return third && third->text.find("waits until the run 1 has ended at") != std::string::npos;
  }));
  const bool is_at_first = log_id(peers[0]->orders[0]) == log_id_of(1, 0, 0);
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(becomes([&] { return peers[is_at_first ? 0 : 1]->orders.size() == 2; }));
}

TEST_F(ExecutorsTest, WithTheScopeOfTheJobRunsFollowEachOtherOverAllExecutors) {
  define_job("a", {.overlap_scope = OverlapScope::Job});
  add_registered(2);
  for (int i = 0; i < 2; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(1));
  run_a_while();
  EXPECT_THAT(orders(), SizeIs(1));
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(2));
}

TEST_F(ExecutorsTest, DiscardEndsARunWhoseExecutorHasAnother) {
  define_job("a", {.overlap = Overlap::Discard, .retries = 3});
  add_registered(1);
  for (int i = 0; i < 2; ++i) trigger("a");
  ASSERT_TRUE(becomes([&] { return jobs->stats().pending == 1; }));
  EXPECT_THAT(runs("a")[1], "discarded another run was at the executor: 1");
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  EXPECT_THAT(orders(), SizeIs(1));
}

TEST_F(ExecutorsTest, CoverStopsTheRunAtTheExecutorAndBeginsWhenItHasEnded) {
  define_job("a", {.overlap = Overlap::Cover});
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  trigger("a");
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1; }));
  EXPECT_THAT(orders(), SizeIs(1)) << "the first one has not ended";
  EXPECT_EQ(report(log_id_of(1, 0, 0), 500, "job running, killed"), kDone);
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(report(log_id_of(2, 0, 0), 200, ""), kDone);
  EXPECT_THAT(runs("a"), ElementsAre(HasSubstr("killed covered by the run 2"), "succeeded"));
}

TEST_F(ExecutorsTest, ConcurrentRunsBeginBesideEachOtherUpToTheirNumber) {
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 2});
  add_registered(1);
  for (int i = 0; i < 3; ++i) trigger("a");
  ASSERT_TRUE(gets_orders(2));
  run_a_while();
  EXPECT_THAT(orders(), SizeIs(2));
  EXPECT_EQ(report(log_id_of(2, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(3));
}

/// Two broadcasts of a job to two executors: what the second one gets to while the first one runs.
class Broadcasts : public ExecutorsTest {
 protected:
  void begin_two(Overlap overlap) {
    define_job("a", {.overlap = overlap, .concurrency = overlap == Overlap::Concurrent ? 2U : 1U, .route = Route::ShardingBroadcast});
    add_registered(2);
    trigger("a");
    ASSERT_TRUE(gets_orders(2));
    trigger("a");
  }
  void end_first() {
    EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
    EXPECT_EQ(report(log_id_of(1, 0, 1), 200, ""), kDone);
  }
};

TEST_F(Broadcasts, AreSerialAtEachExecutor) {
  begin_two(Overlap::Serial);
  EXPECT_EQ(report(log_id_of(1, 0, 1), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(3)) << "the second executor has begun the second run";
  EXPECT_EQ(report(log_id_of(1, 0, 0), 200, ""), kDone);
  ASSERT_TRUE(gets_orders(4));
}

TEST_F(Broadcasts, AreDiscardedAtBusyExecutors) {
  begin_two(Overlap::Discard);
  ASSERT_TRUE(becomes([&] { return jobs->stats().pending == 1; }));
  end_first();
  EXPECT_THAT(runs("a"), ElementsAre("succeeded 2 shards succeeded", HasSubstr("discarded another run was at the executor: 1")));
  trigger("a");
  ASSERT_TRUE(gets_orders(4));
  EXPECT_EQ(report(log_id_of(3, 0, 0), 200, ""), kDone);
  trigger("a");
  ASSERT_TRUE(gets_orders(5)) << "only the first executor is free";
  EXPECT_EQ(report(log_id_of(4, 0, 0), 200, ""), kDone);
  EXPECT_THAT(runs("a")[3], HasSubstr("succeeded 1 shards succeeded, 1 were discarded"));
}

TEST_F(Broadcasts, CoverTheEarlierOneAtAllExecutors) {
  begin_two(Overlap::Cover);
  ASSERT_TRUE(becomes([&] { return peers[0]->calls["/kill"] == 1 && peers[1]->calls["/kill"] == 1; }));
  end_first();
  ASSERT_TRUE(gets_orders(4));
  EXPECT_THAT(runs("a")[0], HasSubstr("killed covered by the run 2"));
}

TEST_F(Broadcasts, AreConcurrent) {
  begin_two(Overlap::Concurrent);
  ASSERT_TRUE(gets_orders(4));
}

TEST_F(ExecutorsTest, OrdersBeyondTheLaneWaitByPriority) {
  settings.fast_lane = settings.slow_lane = 1;
  end();
  begin();
  add_registered(1);
  peers[0]->keeps_silent = true;
  define_job("first");
  define_job("low", {.priority = Priority{4}});
  define_job("high", {.priority = Priority{40}});
  for (const char* const name : {"first", "low", "high"}) trigger(name);
  ASSERT_TRUE(gets_orders(1));
  ASSERT_TRUE(becomes([&] {
    const auto low = JobsView(*jobs).activity(2);
    const auto high = JobsView(*jobs).activity(3);
    return low && high && low->text.find("other orders") != std::string::npos && high->text.find("other orders") != std::string::npos;
  }));
  EXPECT_THAT(orders(), SizeIs(1));
  peers[0]->answer_kept();
  ASSERT_TRUE(gets_orders(2));
  EXPECT_EQ(log_id(orders()[1]), log_id_of(3, 0, 0)) << "the higher priority";
  peers[0]->answer_kept();
  ASSERT_TRUE(gets_orders(3));
}

TEST_F(ExecutorsTest, AnExecutorThatDoesNotAnswerLeavesRoomForTheOthers) {
  settings.in_flight_of_address = 2;
  end();
  begin();
  add_registered(2);
  peers[0]->keeps_silent = true;
  define_job("a", {.overlap = Overlap::Concurrent, .concurrency = 64});
  for (int i = 0; i < 12; ++i) trigger("a");
  ASSERT_TRUE(becomes([&] { return peers[1]->orders.size() == 6; }));
  EXPECT_THAT(peers[0]->orders, SizeIs(2));
}

TEST_F(ExecutorsTest, TheLogOfARunComesFromItsExecutorInPieces) {
  define_job("a");
  add_registered(1);
  peers[0]->log = {"one", "two", "three", "four", "five"};
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  std::string text;
  json::object piece = read_log(1, 0);
  while (!piece.at("data").as_string().empty()) {
    EXPECT_EQ(piece.at("from"), text.size());
    text += unescape_text(piece.at("data").as_string());
    EXPECT_EQ(piece.at("next"), text.size());
    piece = read_log(1, static_cast<std::int64_t>(text.size()));
  }
  EXPECT_EQ(text, "one\ntwo\nthree\nfour\nfive\n");
  EXPECT_FALSE(piece.at("ended").as_bool());
  EXPECT_EQ(piece.at("worker").as_string(), peers[0]->url());
  report(log_id(orders()[0]), 200, "");
  EXPECT_TRUE(read_log(1, static_cast<std::int64_t>(text.size())).at("ended").as_bool());
  EXPECT_EQ(read_log(1, 2).at("data"), "e\\x0atwo\\x0a") << "from within a line";
}

TEST_F(ExecutorsTest, AReaderWaitsForFurtherOutputAndForTheEnd) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  const std::size_t first = ask_log(1, 0, true);
  run_a_while();
  EXPECT_THAT(logs[first], IsEmpty());
  peers[0]->log = {"late"};
  ASSERT_TRUE(becomes([&] { return !logs[first].empty(); }));
  EXPECT_EQ(json::parse(logs[first]).as_object().at("data"), "late\\x0a");
  const std::size_t second = ask_log(1, 5, true);
  report(log_id(orders()[0]), 200, "");
  ASSERT_TRUE(becomes([&] { return !logs[second].empty(); }));
  EXPECT_TRUE(json::parse(logs[second]).as_object().at("ended").as_bool());
}

TEST_F(ExecutorsTest, ALogThatIsTooLongIsRefused) {
  define_job("a");
  add_registered(1);
  trigger("a");
  ASSERT_TRUE(gets_orders(1));
  peers[0]->log = {std::string(limits::kExecutorLogBytes, 'x')};
  EXPECT_THAT(json::serialize(read_log(1, 0)), HasSubstr("the answer is longer than 4194304 bytes"));
}

TEST_F(ExecutorsTest, TheLogsOfABroadcastFollowEachOther) {
  define_job("a", {.route = Route::ShardingBroadcast});
  add_registered(2);
  for (const auto& peer : peers) peer->log = {"at " + peer->url()};
  trigger("a");
  ASSERT_TRUE(gets_orders(2));
  report(log_id_of(1, 0, 0), 200, "");
  report(log_id_of(1, 0, 1), 200, "");
  const json::object first = read_log(1, 0);
  const json::object change = read_log(1, first.at("next").to_number<std::int64_t>());
  EXPECT_FALSE(change.at("ended").as_bool());
  const std::string other{change.at("worker").as_string()};
  EXPECT_NE(other, first.at("worker").as_string());
  EXPECT_EQ(read_log(1, 0, other).at("data").as_string(), "at " + other + "\\x0a");
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
