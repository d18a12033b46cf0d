// ExecutorsTest: Executors over real sockets on loopback: a Jobs with SQLite, an HttpThread, and executors that are HTTP servers of the
// test's thread. The test decides what they answer and when they call back. Times that a test does not wait for are long. Tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "admin/reply_state.h"
#include "http/server.h"
#include "jobs/executors/executors.h"
#include "jobs/executors/executors_impl.h"
#include "jobs/jobs_view.h"
#include "jobs/testing/passing_job_store.h"
#include "jobs/testing/testbed.h"
#include "rondo/base/text.h"

namespace rondo::jobs::executors {

namespace json = boost::json;

inline constexpr const char* kToken = "token-of-the-group";

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
  bool ends_last_line = true;
  bool has_one_text = false;            // It answers each line with the first one, and calls that the end.
  bool keeps_silent = false;            // It answers no /run.
  std::string token;                    // The one of the last call.
  std::vector<http::Request> requests;  // Of /run.

 private:
  void handle(const http::Request& request, http::Answer to) {
    const std::string path{request.path()};
    ++calls[path];
    if (const std::string* const shown = request.field("XXL-JOB-ACCESS-TOKEN")) token = *shown;
    if (path == "/run" || path == "/trigger") {
      orders.push_back(json::parse(request.body).as_object());
      requests.push_back(request);
      if (keeps_silent) return kept_.push_back(std::move(to));
      return to.send({.content_type = "text/html;charset=UTF-8", .body = answer});
    }
    if (path == "/log") {
      const std::int64_t from = json::parse(request.body).at("fromLineNum").to_number<std::int64_t>();
      std::string text;
      const auto lines = static_cast<std::int64_t>(log.size());
      const std::int64_t end = std::min(lines, from + lines_of_piece - 1);
      for (std::int64_t line = from; line <= end; ++line) text += log[static_cast<std::size_t>(line) - 1] + "\n";
      if (!ends_last_line && end == lines && !text.empty()) text.pop_back();
      if (has_one_text) text = log.front() + "\n";
      return to.send(
          {.body = json::serialize(json::object{
               {"code", 200},
               {"content", json::object{{"fromLineNum", from}, {"toLineNum", end}, {"logContent", text}, {"isEnd", has_one_text}}}})});
    }
    to.send({.body = path == "/idleBeat" ? idle : R"({"code":200,"msg":null})"});
  }

  Scheduler& scheduler_;
  std::unique_ptr<http::Server> server_;
  std::uint16_t port_ = 0;
  std::vector<http::Answer> kept_;
};

/// What is wrong with a store.
struct StoreTrouble {
  std::atomic<bool> ends_hang = false;       // finish() waits.
  std::atomic<bool> notes_hang = false;      // note_worker() waits.
  std::atomic<bool> is_full = false;         // finish() and remember() fail.
  std::atomic<std::size_t> failed_ends = 0;  // How often finish() has failed.
};

class TroubledStore final : public test::PassingJobStore {
 public:
  TroubledStore(std::shared_ptr<JobStore> store, StoreTrouble& trouble)
      : PassingJobStore(*store), owned_(std::move(store)), trouble_(trouble) {}
  Status finish(std::span<const RunEnd> ends) override {
    trouble_.ends_hang.wait(true);
    if (!trouble_.is_full) return PassingJobStore::finish(ends);
    ++trouble_.failed_ends;
    return full();
  }
  Status remember(std::string_view key, std::string_view text) override {
    return trouble_.is_full ? full() : PassingJobStore::remember(key, text);
  }
  Status note_worker(std::int64_t run, std::string_view worker) override {
    trouble_.notes_hang.wait(true);
    return PassingJobStore::note_worker(run, worker);
  }

 private:
  static Status full() { return {StatusCode::Unavailable, "the disk is full"}; }

  std::shared_ptr<JobStore> owned_;
  StoreTrouble& trouble_;
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
    let_ends_pass();
    let_notes_pass();
    end();
  }
  void begin() {
    runtime = std::make_unique<Runtime>();
    jobs = std::make_unique<Jobs>(*runtime, std::make_shared<TroubledStore>(make_sqlite_job_store(path()).value(), trouble), options);
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
    for (std::size_t i = 0; i < count; ++i) ASSERT_THAT(register_at("web", add_peer().url() + "/"), testing::HasSubstr("\"code\":200"));
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

  void let_ends_pass() {
    trouble.ends_hang = false;
    trouble.ends_hang.notify_all();
  }
  void let_notes_pass() {
    trouble.notes_hang = false;
    trouble.notes_hang.notify_all();
  }
  /// A further storing of ends fails, and its failure is known here: before that it is not tried again.
  bool fails_again() {
    const std::size_t before = trouble.failed_ends;
    return becomes([&] { return trouble.failed_ends >= before + 2; });
  }

  StoreTrouble trouble;
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

  std::string whole_log(std::int64_t run) {
    std::string text;
    for (std::string data = "first"; !data.empty(); text += data) {
      data = unescape_text(read_log(run, static_cast<std::int64_t>(text.size())).at("data").as_string());
    }
    return text;
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

inline const std::string kDone = R"(200 {"code":200,"msg":null,"content":null,"data":null})";

}  // namespace rondo::jobs::executors
