#include "rondo-demo/jobs/executor.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "commands/signals.h"
#include "jobs/executors/wire.h"
#include "manual/command_words.h"
#include "rondo/orch/runtime.h"

namespace rondo::demo {

namespace {

namespace wire = jobs::executors;

constexpr std::int64_t kDone = 200;
constexpr std::int64_t kFailure = 500;
constexpr std::size_t kResultsAtOnce = 50;  // The Java client sends as many.
constexpr Duration kReportAgain = 200ms;
constexpr Duration kCallTime = 5s;
constexpr Duration kLastOrders = 100ms;
constexpr std::string_view kHandler = "work";

void answer_with(http::Answer& answer, std::int64_t code, std::string_view message = {}) {
  answer.send({.content_type = "text/html;charset=UTF-8", .body = wire::answer_body(code, message)});
}

/// 0 if there is no such number.
std::int64_t number_of(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  boost::system::error_code error;
  const auto number = value == nullptr ? 0 : value->to_number<std::int64_t>(error);
  return error ? 0 : number;
}

std::int64_t milliseconds_now(const Scheduler& scheduler) { return scheduler.clock().wall_now().nanoseconds() / 1'000'000; }

bool is_success(const Result<http::ClientAnswer>& answer) {
  if (!answer) return false;
  const auto said = wire::parse_call_answer(answer->status, answer->body);
  return said && said->code == kDone;
}

std::string text_of(const json::value& value) {
  std::string text;
  append_json(text, value);
  return text;
}

}  // namespace

Executor::Executor(Scheduler& scheduler, ExecutorOptions options)
    : scheduler_(scheduler),
      options_(std::move(options)),
      work_timer_("executor:work", Priority{8}, [this] { end_due_runs(); }),
      report_timer_("executor:report", Priority{8}, [this] { report(); }),
      beat_timer_("executor:beat", Priority{8}, [this] { register_here(); }) {
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = options_.scheduler.find(',', at);
    schedulers_.push_back(options_.scheduler.substr(at, end - at));
  }
  for (TimerSource* const timer : {&work_timer_, &report_timer_, &beat_timer_}) scheduler_.add(*timer);
}

Result<std::unique_ptr<Executor>> Executor::open(Scheduler& scheduler, ExecutorOptions options) {
  std::unique_ptr<Executor> executor{new Executor(scheduler, std::move(options))};
  if (Status status = executor->listen(); !status.ok()) return failure(std::move(status));
  return executor;
}

Status Executor::listen() {
  if (!options_.log_path.empty()) {
    log_ = UniqueFd{::open(options_.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    if (!log_) return status_from_errno(errno, "opening " + options_.log_path);
  }
  // While the scheduler restarts, this executor keeps calling: a pause would delay its results.
  auto client = http::Client::open(scheduler_, {.any_network = true, .first_break = kReportAgain, .break_time = kReportAgain});
  if (!client) return client.error();
  client_ = *std::move(client);
  auto server = http::Server::open(scheduler_, {.port = options_.port},
                                   [this](const http::Request& request, http::Answer answer) { handle(request, std::move(answer)); });
  if (!server) return server.error();
  server_ = *std::move(server);
  address_ = "http://" + server_->endpoint();
  beat_timer_.arm_every(options_.beat, scheduler_.now());
  return {};
}

void Executor::handle(const http::Request& request, http::Answer answer) {
  if (request.method != "POST") return answer_with(answer, kFailure, "invalid request, HttpMethod not support.");
  const std::string* const token = request.field("XXL-JOB-ACCESS-TOKEN");
  if (!options_.token.empty() && (token == nullptr || *token != options_.token))
    return answer_with(answer, kFailure, "The access token is wrong.");
  const std::string_view path = request.path();
  if (path == "/beat") return answer_with(answer, kDone);
  boost::system::error_code error;
  const json::value body = json::parse(request.body, error);
  if (error || !body.is_object()) return answer_with(answer, kFailure, "request error: the body is no JSON object");
  const json::object& object = body.get_object();
  if (path == "/run") return take_run(object, std::move(answer));
  if (path == "/log") return send_log(object, std::move(answer));
  if (path == "/idleBeat") {
    if (is_busy_with(number_of(object, "jobId"))) return answer_with(answer, kFailure, "job thread is running or has trigger queue.");
    return answer_with(answer, kDone);
  }
  if (path == "/kill") {
    kill(number_of(object, "jobId"));
    return answer_with(answer, kDone);
  }
  answer_with(answer, kFailure, "invalid request, uri-mapping(" + std::string{path} + ") not found.");
}

void Executor::take_run(const json::object& order, http::Answer answer) {
  const std::int64_t log_id = number_of(order, "logId");
  const std::string line = std::to_string(log_id) + "\n";
  if (log_ && ::write(log_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return answer_with(answer, kFailure, "the log of orders cannot be written");
  if (!options_.answers_runs) {
    unanswered_.push_back(std::move(answer));
    return;
  }
  const json::value* const handler = order.if_contains("executorHandler");
  if (handler == nullptr || !handler->is_string() || view(handler->get_string()) != kHandler)
    return answer_with(answer, kFailure, "job handler [" + (handler == nullptr ? "" : text_of(*handler)) + "] not found.");
  if (!seen_.insert(log_id).second) {
    ++figures_.repeated;
    return answer_with(answer, kFailure, "repeat trigger job, logId:" + std::to_string(log_id));
  }
  ++figures_.accepted;
  answer_with(answer, kDone);
  runs_.emplace(scheduler_.now() + options_.work, Run{.job = number_of(order, "jobId"), .log_id = log_id});
  work_timer_.arm_at(runs_.begin()->first);
}

void Executor::end_due_runs() {
  while (!runs_.empty() && runs_.begin()->first <= scheduler_.now()) {
    results_.push_back({.log_id = runs_.begin()->second.log_id, .was_killed = false});
    runs_.erase(runs_.begin());
  }
  if (!runs_.empty()) work_timer_.arm_at(runs_.begin()->first);
  report();
}

void Executor::kill(std::int64_t job) {
  std::erase_if(runs_, [&](const auto& one) {
    if (one.second.job != job) return false;
    results_.push_back({.log_id = one.second.log_id, .was_killed = true});
    return true;
  });
  report_timer_.arm_at(scheduler_.now());
}

bool Executor::is_busy_with(std::int64_t job) const {
  return std::ranges::any_of(runs_, [job](const auto& one) { return one.second.job == job; });
}

void Executor::send_log(const json::object& request, http::Answer answer) const {
  const std::int64_t log_id = number_of(request, "logId");
  const bool is_known = seen_.contains(log_id);
  const bool has_more = is_known && number_of(request, "fromLineNum") <= 1;
  const std::string text = has_more    ? "the run " + std::to_string(log_id) + " takes its time\n"
                           : !is_known ? "readLog fail, logFile not exists"
                                       : "";
  const json::object piece{
      {"fromLineNum", number_of(request, "fromLineNum")}, {"toLineNum", has_more ? 1 : 0}, {"logContent", text}, {"isEnd", !has_more}};
  answer.send({.body = text_of(json::object{{"code", kDone}, {"msg", nullptr}, {"content", piece}, {"data", piece}})});
}

Status Executor::post(std::string_view path, std::string body, http::CallDone done) {
  http::ClientRequest request{.url = schedulers_[at_] + std::string{path},
                              .headers = {{"Content-Type", "application/json;charset=UTF-8"}},
                              .body = std::move(body),
                              .timeout = kCallTime};
  if (!options_.token.empty()) request.headers.push_back({"XXL-JOB-ACCESS-TOKEN", options_.token});
  return client_->post(std::move(request), [this, at = at_, done = std::move(done)](const Result<http::ClientAnswer>& answer) {
    if (at == at_ && !is_success(answer)) at_ = (at + 1) % schedulers_.size();
    done(answer);
  });
}

void Executor::register_here() {
  const json::object body{{"registryGroup", "EXECUTOR"}, {"registryKey", options_.group}, {"registryValue", address_}};
  // The next beat repeats a registration that fails.
  static_cast<void>(post("/api/registry", text_of(body), [](const Result<http::ClientAnswer>&) {}));
}

void Executor::leave(std::function<void()> done) {
  beat_timer_.disarm();
  const json::object body{{"registryGroup", "EXECUTOR"}, {"registryKey", options_.group}, {"registryValue", address_}};
  const Status sent = post("/api/registryRemove", text_of(body), [done](const Result<http::ClientAnswer>&) { done(); });
  if (!sent.ok()) done();
}

void Executor::report() {
  if (is_reporting_ || results_.empty()) return;
  const std::size_t count = std::min(results_.size(), kResultsAtOnce);
  const std::int64_t now = milliseconds_now(scheduler_);
  json::array items;
  for (std::size_t i = 0; i < count; ++i) {
    const Ended& ended = results_[i];
    items.push_back(json::object{{"logId", ended.log_id},
                                 {"logDateTim", now},
                                 {"handleCode", ended.was_killed ? kFailure : kDone},
                                 {"handleMsg", ended.was_killed ? json::value("job not executed, killed.") : json::value(nullptr)}});
  }
  const Status sent = post("/api/callback", text_of(items), [this, count](const Result<http::ClientAnswer>& answer) {
    is_reporting_ = false;
    if (!is_success(answer)) return report_timer_.arm_at(scheduler_.now() + kReportAgain);
    ++figures_.callbacks;
    figures_.reported += count;
    results_.erase(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(count));
    report();
  });
  is_reporting_ = sent.ok();
  if (!sent.ok()) report_timer_.arm_at(scheduler_.now() + kReportAgain);
}

namespace {

int serve(const ExecutorOptions& options) {
  const auto complain = [](const Status& status) {
    std::fprintf(stderr, "rondo-demo executor: %s\n", status.to_string().c_str());
    return 1;
  };
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  Runtime runtime;
  // Orders that the kernel took while this process was stopped are logged before the end.
  TimerSource end("executor:end", Priority{8}, [&] { runtime.scheduler().stop(); });
  runtime.scheduler().add(end);
  auto executor = Executor::open(runtime.scheduler(), options);
  if (!executor) return complain(executor.error());
  const auto signals = commands::Signals::open(
      runtime.scheduler(), [&](int) { (*executor)->leave([&] { end.arm_at(runtime.scheduler().now() + kLastOrders); }); });
  if (!signals) return complain(signals.error());
  std::printf("%s\n", (*executor)->address().c_str());
  std::fflush(stdout);
  runtime.scheduler().run();
  return 0;
}

}  // namespace

int executor_main(int argc, const char* const* argv) {
  ExecutorOptions options;
  std::int64_t work_ms = 0;
  std::int64_t beat_ms = options.beat / 1ms;
  CLI::App app{"Takes runs of the handler 'work' from a scheduler, as an executor of xxl-job, and reports their success",
               "rondo-demo executor"};
  app.add_option("--scheduler", options.scheduler, "URL of the scheduler; several are separated by commas")->required();
  app.add_option("--group", options.group, "Name of the group")->required();
  app.add_option("--token", options.token, "Access token of the group");
  app.add_option("--log", options.log_path, "Append the log id of each order to this file");
  app.add_option("--port", options.port, "Port to listen at; 0: any free one")->capture_default_str();
  app.add_option("--work", work_ms, "Milliseconds that a run takes")->capture_default_str()->check(CLI::Range(0, 3'600'000));
  app.add_option("--beat", beat_ms, "Milliseconds between two registrations")->capture_default_str()->check(CLI::Range(10, 3'600'000));
  if (const auto code = manual::parse_words(app, argc, argv)) return *code;
  options.work = std::chrono::milliseconds{work_ms};
  options.beat = std::chrono::milliseconds{beat_ms};
  return serve(options);
}

}  // namespace rondo::demo
