// worker.h: what a server orders. Nothing in an order is trusted: a run is started only by the rules of the configuration.
#include <algorithm>
#include <csignal>
#include <limits>
#include <optional>
#include <utility>

#include "rondo/base/text.h"
#include "worker/limits.h"
#include "worker/worker.h"

namespace rondo::worker {

namespace {

namespace json = boost::json;

std::string text_in(const json::object& order, std::string_view name) {
  const json::value* const value = order.if_contains(name);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string{} : unescape_text({text->data(), text->size()});
}

/// A number from 0 on; nothing for anything else.
std::optional<std::int64_t> number_in(const json::object& order, std::string_view name) {
  const json::value* const value = order.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return value->get_int64();
}

/// Only what a job may be named (Job::name), because it may become a part of an argument or of a path.
bool is_job_name(std::string_view name) {
  const auto may_be_in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '/';
  };
  const std::string parts = "/" + std::string{name} + "/";
  const bool leads_elsewhere =
      parts.find("//") != std::string::npos || parts.find("/./") != std::string::npos || parts.find("/../") != std::string::npos;
  return name.size() <= limits::kOrderJobName && std::ranges::all_of(name, may_be_in_name) && !leads_elsewhere;
}

/// Only what an instant of RFC 3339 is made of.
bool has_form_of_instant(std::string_view text) {
  const bool begins_well = !text.empty() && text.front() >= '0' && text.front() <= '9';
  return begins_well && text.size() <= std::string_view{"2026-01-01T00:00:00.000000000+00:00"}.size() &&
         text.find_first_not_of("0123456789-:.+TZ") == std::string_view::npos;
}

std::string_view kind_of(const json::value* value) {
  if (value == nullptr) return "absent";
  switch (value->kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "true or false";
    case json::kind::string: return "a text";
    case json::kind::array: return "an array";
    case json::kind::object: return "an object";
    default: return "a number";
  }
}

/// The member of a start order that is malformed, and why; ok if none is. Servers of earlier versions send no key.
Status check_start(const json::object& order) {
  const auto wrong = [&order](std::string_view member, std::string_view why) {
    const auto run = number_in(order, "run");
    return Status{StatusCode::DataLoss, "the server sent a malformed start order" + (run ? " of run " + std::to_string(*run) : "") + ": " +
                                            std::string{member} + " is " + std::string{why}};
  };
  for (const std::string_view member : {"run", "attempt", "timeout_ms"}) {
    const json::value* const value = order.if_contains(member);
    if (value == nullptr || !value->is_number()) return wrong(member, std::string{kind_of(value)} + ", not a number");
    if (!number_in(order, member)) return wrong(member, "no number from 0 on");
  }
  if (*number_in(order, "run") < 1) return wrong("run", "no number from 1 on");
  if (*number_in(order, "attempt") > std::numeric_limits<std::uint32_t>::max()) return wrong("attempt", "too large");
  for (const std::string_view member : {"command", "job", "parameters", "scheduled", "key"}) {
    const json::value* const value = order.if_contains(member);
    if (value == nullptr ? member != "key" : !value->is_string()) return wrong(member, std::string{kind_of(value)} + ", not a text");
  }
  if (!is_job_name(text_in(order, "job"))) return wrong("job", "no name of a job");
  if (!has_form_of_instant(text_in(order, "scheduled"))) return wrong("scheduled", "no time");
  return is_run_key(text_in(order, "key")) ? Status{} : wrong("key", "no key of a run");
}

Result<RunOrder> run_order(const json::object& order) {
  if (Status checked = check_start(order); !checked.ok()) return failure(std::move(checked));
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600 * 1000;
  return RunOrder{.run = *number_in(order, "run"),
                  .attempt = static_cast<std::uint32_t>(*number_in(order, "attempt")),
                  .key = text_in(order, "key"),
                  .command = text_in(order, "command"),
                  .job = text_in(order, "job"),
                  .parameters = text_in(order, "parameters"),
                  .scheduled = text_in(order, "scheduled"),
                  .trace = TraceContext::parse(text_in(order, "traceparent"), text_in(order, "tracestate")),
                  .timeout = std::min(*number_in(order, "timeout_ms"), kYear) * 1ms};
}

/// Ok, or why the command would not begin with the parameters of a check order. Number and time of the run stand for those of a later one.
Status check_of(const CommandRule& rule, const json::object& order) {
  const json::value* const parameters = order.if_contains("parameters");
  if (parameters == nullptr || !parameters->is_string() || !is_job_name(text_in(order, "job")))
    return {StatusCode::DataLoss, "the server sent a malformed check order"};
  const RunOrder run{.run = 1,
                     .command = text_in(order, "command"),
                     .job = text_in(order, "job"),
                     .parameters = text_in(order, "parameters"),
                     .scheduled = "2026-01-01T00:00:00Z"};
  const Result<CommandLine> line = command_line(rule, run);
  return line ? Status{} : line.error();
}

}  // namespace

void Worker::take_order(std::string_view kind, const json::object& order) {
  if (kind == "log") return ask_log(order);
  if (kind == "check") return check_parameters(order);
  if (kind == "start") {
    const Result<RunOrder> wanted = run_order(order);
    // An order without a run can have no answer.
    return wanted ? start(*wanted) : link_.blame(wanted.error());
  }
  if (kind == "offers") {  // All starts of the former offer came before it.
    const auto commands = number_in(order, "commands");
    has_left_ = is_ending_ && commands == std::optional<std::int64_t>{0};
    return commands ? void() : note_malformed(kind, "commands");
  }
  if (kind == "refused") {
    const auto run = number_in(order, "run");
    return run ? set_aside(*run, text_in(order, "why")) : note_malformed(kind, "run");
  }
  if (kind != "stop") return;  // Of a later version.
  const auto run = number_in(order, "run");
  if (!run) return note_malformed(kind, "run");
  const auto found = running_.find(*run);
  if (found == running_.end()) return;  // If it has ended here, a report has its end: the server waits for it.
  log_.info("stop", {{"run", *run}, {"why", text_in(order, "why")}});
  stop(found->second, {StatusCode::Cancelled, text_in(order, "why")});
}

void Worker::note_malformed(std::string_view kind, std::string_view member) {
  if (!malformed_.emplace(kind).second) return;
  log_.warn("the server sends a malformed order, which is ignored, as are further ones of its kind",
            {{"order", kind}, {"why", std::string{member} + " is no number from 0 on"}});
}

void Worker::start(const RunOrder& order) {
  if (const auto known = running_.find(order.run); known != running_.end()) {
    const RunOrder& has = known->second.order;
    if (has.key != order.key || has.attempt != order.attempt || has.command != order.command) return refuse_beside(known->second, order);
    // Never twice here. The server has not seen that it was started.
    known->second.is_start_reported = false;
    return;
  }
  if (const auto known = ended_.find(order.run); known != ended_.end()) {
    // Its end is in a report. But a run that was refused may be given again, also before the server's answer to that report is here.
    unnamed_.erase(order.run);
    const bool is_same = known->second.attempt == order.attempt && known->second.key == order.key;
    if (is_same && !known->second.is_refused) return;
    forget_end(order.run);
  }
  if (ended_.size() > taken_over_ + 2 * config_.places + 16)
    return link_.blame({StatusCode::ResourceExhausted, "the server gives more runs than there are places"});
  const Status refused = refusal(order);
  bool is_written = true;
  const Status started = refused.ok() ? try_start(order, is_written) : refused;
  if (started.ok()) return;
  // The trouble has come with this run: without it the worker would have refused the run. It may be over by now.
  const bool is_for_others = !refused.ok() || !is_written || !trouble_.empty();
  log_.warn("a run was not started", {{"run", order.run}, {"command", order.command}, {"why", started}});
  end_run({.run = order.run,
           .attempt = order.attempt,
           .key = order.key,
           .command = order.command,
           .has_ended = true,
           .status = started,
           .is_refused = is_for_others});
}

void Worker::refuse_beside(RunningCommand& running, const RunOrder& order) {
  const Status why{StatusCode::Unavailable, "a command of an earlier run with the number " + std::to_string(order.run) + " is ending"};
  log_.warn("a run was not started", {{"run", order.run}, {"command", order.command}, {"why", why}});
  running.is_foreign = true;
  stop(running, {StatusCode::Cancelled, "the server has another run with this number"});
  // Not on the disk, where the record of the command is that ends. Without it the server gives the run again.
  ended_[order.run] = {.run = order.run,
                       .attempt = order.attempt,
                       .key = order.key,
                       .command = order.command,
                       .has_ended = true,
                       .status = why,
                       .is_refused = true};
}

Status Worker::refusal(const RunOrder& order) const {
  const auto allowed = allowed_.find(order.command);
  if (allowed == allowed_.end())
    return {StatusCode::NotFound, "the worker '" + name_ + "' has no command '" + escape_text(order.command) + "'"};
  if (is_ending_) return {StatusCode::Unavailable, "the worker is ending"};
  if (!trouble_.empty()) return {StatusCode::Unavailable, "the worker '" + name_ + "' cannot write its state: " + trouble_};
  const auto of_command = std::ranges::count_if(running_, [&](const auto& entry) { return entry.second.order.command == order.command; });
  if (running_.size() < config_.places && static_cast<std::uint64_t>(of_command) < allowed->second.rule->concurrency) return {};
  return {StatusCode::ResourceExhausted, "the worker '" + name_ + "' has no place for a run of " + order.command};
}

Status Worker::try_start(const RunOrder& order, bool& is_written) {
  const auto allowed = allowed_.find(order.command);
  const std::shared_ptr<const CommandRule>& rule = allowed->second.rule;
  const Result<CommandLine> line = command_line(*rule, order);
  if (!line) return line.error();
  if (Status begun = logs_.begin(order.run, order.attempt, order.key, rule->log_bytes); !begun.ok()) {
    is_written = false;
    check_disk_again();
    return begun;
  }
  Result<Process> process = Process::fork(*rule, *line, allowed->second.user);
  if (!process) {
    static_cast<void>(logs_.end(order.run));
    return process.error();
  }
  // Written down before the program begins: if the worker dies, the next one finds it.
  const std::int64_t begun_ms = clock_.wall_now().nanoseconds() / 1'000'000;
  Status written = records_.write({.run = order.run,
                                   .attempt = order.attempt,
                                   .key = order.key,
                                   .command = order.command,
                                   .process = process->id(),
                                   .started = start_time_of(process->id()).value_or(0),
                                   .boot = boot_,
                                   .begun_ms = begun_ms});
  if (!written.ok()) {
    is_written = false;
    static_cast<void>(logs_.end(order.run));
    check_disk_again();
    return written;  // The process is killed before it has executed anything.
  }
  process->go();
  const Duration timeout = order.timeout > Duration{0} ? order.timeout : rule->timeout;
  RunningCommand running{.order = order, .rule = rule, .process = *std::move(process), .begun_ms = begun_ms};
  if (timeout > Duration{0}) running.deadline = clock_.now() + timeout;
  log_.info("start", {{"run", order.run}, {"command", order.command}, {"job", order.job}, {"process", running.process.id()}});
  running_.emplace(order.run, std::move(running));
  return {};
}

void Worker::stop(RunningCommand& running, Status why) {
  running.deadline = Instant::never();
  // It ended before, while this process, or the whole machine, stood still.
  if (running.stopped || running.process.has_ended()) return;
  running.stopped = std::move(why);
  running.kill_at = clock_.now() + running.rule->grace;
  running.process.signal(SIGTERM);
}

void Worker::check_parameters(const json::object& order) {
  const auto request = number_in(order, "request");
  if (!request) return note_malformed("check", "request");  // Such a question can have no answer.
  if (checked_.size() >= limits::kCheckAnswers)
    return link_.blame({StatusCode::ResourceExhausted, "the server asks for too many checks at a time"});
  const auto allowed = allowed_.find(text_in(order, "command"));
  checked_.emplace_back(*request, allowed == allowed_.end() ? Status{StatusCode::NotFound, "it has no such command"}
                                                            : check_of(*allowed->second.rule, order));
}

void Worker::ask_log(const json::object& order) {
  const auto request = number_in(order, "request");
  const auto run = number_in(order, "run");
  const auto from = number_in(order, "from");
  const auto bytes = number_in(order, "bytes");
  if (!request) return note_malformed("log", "request");  // Such a question can have no answer.
  if (questions_.size() >= limits::kLogQuestions)
    return link_.blame({StatusCode::ResourceExhausted, "the server asks for too many logs at a time"});
  if (!run || !from || !bytes) {
    note_malformed("log", !run ? "run" : !from ? "from" : "bytes");
    questions_.push_back({.request = *request, .until = clock_.now()});  // Of run 0, which has no log.
    return;
  }
  const json::value* const wait = order.if_contains("wait");
  const bool waits = wait != nullptr && wait->is_bool() && wait->get_bool();
  questions_.push_back({.request = *request,
                        .run = *run,
                        .key = text_in(order, "key"),
                        .from = static_cast<std::uint64_t>(*from),
                        .bytes = static_cast<std::size_t>(std::min<std::int64_t>(*bytes, 16'384)),
                        .until = clock_.now() + (waits ? limits::kLogQuestionWait : Duration{0})});
}

}  // namespace rondo::worker
