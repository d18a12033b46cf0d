#include "worker/worker.h"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "worker/limits.h"

namespace rondo::worker {

namespace {

namespace json = boost::json;

/// After its commands have ended, a worker that ends waits so long for the server to store the ends: longer than the server's answer to a
/// report waits for its store.
constexpr Duration kLastReport = 7s;

/// While the state cannot be written, between two tries.
constexpr Duration kTroublePause = 1s;

/// A worker that was killed may hold the lock of its state until the kernel has ended it and what it has forked.
constexpr Duration kLockPatience = 2s;

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string made{name.data()};
  std::erase_if(made, [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-');
  });
  return made.empty() ? "worker" : made.substr(0, 100);
}

/// A run that the worker has, for a server.
json::array claim_of(std::int64_t run, std::uint32_t attempt, const std::string& key, std::string text) {
  if (!key.empty()) text += " key=" + key;
  return {json::string{std::to_string(run)}, json::string{std::to_string(attempt) + " " + text}};
}

/// What is the matter with the link, for the log.
std::string_view link_text(const Status& why) {
  switch (why.code()) {
    case StatusCode::Unavailable:
    case StatusCode::NotFound:
    case StatusCode::DeadlineExceeded: return "no server; commands go on";
    case StatusCode::FailedPrecondition: return "the server takes no workers at present; commands go on";
    case StatusCode::AlreadyExists: return "the server has another worker with this name; commands go on";
    default: return "the server refuses this worker; commands go on";
  }
}

}  // namespace

Worker::Worker(WorkerConfig config, std::vector<Connect> servers, RunRecords records, RunLogs logs, Log& log)
    : config_(std::move(config)),
      name_(config_.name.empty() ? host_name() : config_.name),
      records_(std::move(records)),
      logs_(std::move(logs)),
      log_(log),
      boot_(boot_id()),
      link_(std::move(servers), {.hello = [this] { return hello(); },
                                 .order = [this](std::string_view kind, const json::object& order) { take_order(kind, order); },
                                 .up =
                                     [this] {
                                       log_.info("connected", {{"worker", name_}});
                                       link_trouble_ = {};
                                       // The server confirms an empty offer in a report, and not the one in the hello.
                                       if (is_ending_) has_new_offers_ = true;
                                     },
                                 .down =
                                     [this](const Status& why, Duration) {
                                       reported_ = {};
                                       has_left_ = false;
                                       questions_.clear();
                                       checked_.clear();
                                       malformed_.clear();
                                       unstored_.clear();
                                       // A server that was started again does not know when the commands began.
                                       for (auto& [run, running] : running_) running.is_start_reported = false;
                                       has_new_trouble_ = !trouble_.empty();
                                       const Status before = std::exchange(link_trouble_, why);
                                       if (before.code() != why.code() || before.message() != why.message())
                                         log_.warn(link_text(why), {{"why", why}});
                                     },
                                 .report_taken = [this](const json::object& answer) { report_taken(answer); }}) {}

Result<std::unique_ptr<Worker>> Worker::open(WorkerConfig config, std::vector<Connect> servers, Log& log) {
  const std::string state_key = config.file + ": [worker] state";
  Result<RunRecords> records = RunRecords::open(config.state, kLockPatience, [&](const Status& why) {
    log.warn("waiting for the lock of the state", {{"ms", kLockPatience / 1ms}, {"why", why}});
  });
  if (!records) return failure(records.error().with_context(state_key));
  Result<RunLogs> logs = RunLogs::open(config.state + "/logs", {.logs = config.logs, .bytes = config.logs_bytes});
  if (!logs) return failure(logs.error().with_context(state_key));
  Result<AllowedCommands> allowed = allow(config);
  if (!allowed) return failure(allowed.error());
  std::vector<RunRecord> left = records->read_all([&log](const Status& why, const std::string& renamed) {
    log.warn("a file among the records of runs is left out", {{"why", why}, {"renamed", renamed}});
  });
  std::unique_ptr<Worker> worker{new Worker(std::move(config), std::move(servers), *std::move(records), *std::move(logs), log)};
  worker->allowed_ = *std::move(allowed);
  worker->take_over(std::move(left));
  return worker;
}

Status Worker::check(const WorkerConfig& config) {
  if (const auto allowed = allow(config); !allowed) return allowed.error();
  return RunRecords::check(config.state).with_context(config.file + ": [worker] state");
}

Result<Worker::AllowedCommands> Worker::allow(const WorkerConfig& config) {
  AllowedCommands allowed;
  for (const auto& [name, rule] : config.commands) {
    Result<std::optional<UserIds>> ids = user_ids(rule.user);
    if (!ids) return failure(ids.error().with_context(config.file + ": [command." + name + "] user"));
    const auto complete = std::make_shared<CommandRule>(rule);
    imply_user(*complete);
    allowed[name] = {.rule = complete, .user = *std::move(ids)};
  }
  return allowed;
}

Status Worker::reconfigure(WorkerConfig config) {
  Result<AllowedCommands> allowed = allow(config);
  if (!allowed) return allowed.error();
  const std::array<std::pair<const char*, bool>, 8> fixed{{{"socket", config.socket != config_.socket},
                                                           {"url", config.urls != config_.urls},
                                                           {"token_file", config.token_file != config_.token_file},
                                                           {"ca_file", config.ca_file != config_.ca_file},
                                                           {"name", config.name != config_.name},
                                                           {"state", config.state != config_.state},
                                                           {"logs", config.logs != config_.logs},
                                                           {"logs_bytes", config.logs_bytes != config_.logs_bytes}}};
  for (const auto& [key, differs] : fixed) {
    if (differs) log_.warn("a changed setting needs a restart", {{"key", std::string{"worker."} + key}});
  }
  allowed_ = *std::move(allowed);
  config_.places = config.places;
  has_new_offers_ = true;
  log_.info("the configuration was read again", {{"commands", allowed_.size()}, {"places", config_.places}});
  return {};
}

void Worker::take_over(std::vector<RunRecord> records) {
  taken_over_ = records.size();
  for (RunRecord& record : records) {
    if (record.has_ended) {
      const Duration since = clock_.wall_now() - WallTime::from_nanoseconds(record.ended_ms * 1'000'000);
      record.ended = clock_.now() + -std::max(since, Duration{0});
      ended_[record.run] = std::move(record);
      continue;
    }
    const bool was_left = kill_leftovers(record);
    log_.warn("the worker died while a command ran", {{"run", record.run}, {"command", record.command}, {"killed", was_left}});
    record.status = {StatusCode::Unavailable, "the worker died while the command ran"};
    end_run(std::move(record));
  }
}

json::array Worker::offers() const {
  json::array offers;
  if (is_ending_) return offers;
  for (const auto& [name, allowed] : allowed_)
    offers.push_back(json::array{json::string{name}, json::string{std::to_string(allowed.rule->concurrency)}});
  return offers;
}

json::object Worker::hello() {
  json::array runs;
  for (const auto& [run, running] : running_) {
    if (!running.is_foreign) runs.push_back(claim_of(run, running.order.attempt, running.order.key, running.order.command));
  }
  unnamed_.clear();
  for (const auto& [run, record] : ended_) unnamed_.insert(run);
  const bool has_more = name_ends(runs);
  json::object hello{{"worker", name_}, {"places", config_.places}, {"offers", offers()}, {"runs", std::move(runs)}};
  if (has_more) hello["more"] = true;  // A server of an earlier version does not know it.
  return hello;
}

bool Worker::name_ends(json::array& runs) {
  std::size_t named = running_.size() + ended_.size() - unnamed_.size();
  while (!unnamed_.empty() && named < limits::kNamedRuns) {
    const RunRecord& record = ended_.at(*unnamed_.begin());
    if (!is_command_name(record.command)) {  // Of an order that was nonsense. The server would refuse it.
      set_aside(record.run, "its command can have no such name");
      continue;
    }
    runs.push_back(claim_of(record.run, record.attempt, record.key, record.command + " ended"));
    unnamed_.erase(unnamed_.begin());
    ++named;
  }
  return !unnamed_.empty();
}

void Worker::set_aside(std::int64_t run, std::string_view why) {
  if (!ended_.contains(run)) return;
  // A command that runs with the number of a run that was refused has its own record.
  const std::string renamed = running_.contains(run) ? std::string{} : records_.set_aside(run);
  forget_end(run);
  log_.warn("the record of a run is set aside", {{"run", run}, {"why", why}, {"renamed", renamed}});
}

void Worker::run(int signals, const std::function<void()>& on_hangup) {
  for (;;) {
    const Instant now = clock_.now();
    check_disk(now);
    link_.tick(now);
    watch_times(now);
    report(now);
    if (is_over(now)) return;
    wait(signals, on_hangup);
  }
}

void Worker::check_disk(Instant now) {
  if (now < next_check_) return;
  Status written = write_ends();  // Before the checks, which need more room.
  if (written.ok()) written = records_.check();
  if (written.ok()) written = logs_.check();
  next_check_ = now + (written.ok() ? kHeartbeat : kTroublePause);
  if (written.ok() == trouble_.empty()) return;
  trouble_ = written.message();
  has_new_trouble_ = true;
  if (!written.ok()) return log_.error("the state cannot be written; no run is taken until it can", {{"why", written}});
  log_.info("the state can be written again");
}

Status Worker::write_ends() {
  while (!unwritten_.empty()) {
    const std::int64_t run = *unwritten_.begin();
    if (Status written = records_.write(ended_.at(run)); !written.ok()) return written;
    unwritten_.erase(run);
  }
  return {};
}

void Worker::check_disk_again() {
  next_check_ = clock_.now();
  check_disk(next_check_);
}

bool Worker::is_over(Instant now) const {
  if (!is_ending_ || !running_.empty()) return false;
  return now >= give_up_ || !link_.is_open() || (has_left_ && ended_.empty());
}

Instant Worker::next_time(Instant now) const {
  Instant next = std::min(link_.next(), next_check_);
  if (give_up_ > now) next = std::min(next, give_up_);
  for (const auto& [run, running] : running_) next = std::min({next, running.deadline, running.kill_at});
  if (!link_.can_report()) return std::max(next, now);
  next = std::min(next, last_report_ + kHeartbeat);
  for (const LogQuestion& question : questions_) next = std::min(next, question.until);
  if (!unstored_.empty()) next = std::min(next, repeat_at_);
  return std::max(next, now);
}

void Worker::wait(int signals, const std::function<void()>& on_hangup) {
  std::vector<pollfd> watched{{.fd = signals, .events = POLLIN, .revents = 0}};
  link_.add_to(watched);
  const std::size_t first_run = watched.size();
  std::vector<std::int64_t> runs;
  for (const auto& [run, running] : running_) {
    runs.push_back(run);
    watched.push_back({.fd = running.process.output(), .events = POLLIN, .revents = 0});
    watched.push_back({.fd = running.process.ended(), .events = POLLIN, .revents = 0});
  }
  const Instant now = clock_.now();
  const Duration span = std::min<Duration>(next_time(now) - now, 60s);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(span).count();
  if (::poll(watched.data(), watched.size(), static_cast<int>(milliseconds)) <= 0) return;
  if (watched[0].revents != 0) {
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info) && info.ssi_signo != static_cast<std::uint32_t>(SIGCHLD))
      info.ssi_signo == static_cast<std::uint32_t>(SIGHUP) ? on_hangup() : begin_end();
  }
  link_.check(clock_.now());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = running_.find(runs[i]);
    if (found == running_.end()) continue;
    if (watched[first_run + 2 * i].revents != 0) read_output(found->second, limits::kOutputSlice);
    if (watched[first_run + 2 * i + 1].revents != 0) finish(runs[i]);
  }
  reap_orphans();
}

void Worker::reap_orphans() {
  constexpr int kOrphansOfRound = 256;  // A command may leave them faster than they are reaped.
  for (int i = 0; i < kOrphansOfRound; ++i) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    const auto is_this = [&ended](const auto& entry) { return entry.second.process.id() == ended.si_pid; };
    if (std::ranges::any_of(running_, is_this)) return;  // finish() reaps it in the next round, and this goes on.
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

void Worker::begin_end() {
  if (is_ending_) return;
  is_ending_ = true;
  has_new_offers_ = true;  // The server gives it no further run.
  Duration grace{0};
  for (auto& [run, running] : running_) {
    grace = std::max(grace, running.rule->grace);
    stop(running, {StatusCode::Unavailable, "the worker was stopped"});
  }
  give_up_ = clock_.now() + grace + kLastReport;
  log_.info("ending", {{"runs", running_.size()}});
}

void Worker::watch_times(Instant now) {
  for (auto& [run, running] : running_) {
    if (running.deadline <= now) {
      const std::int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(
                                            running.order.timeout > Duration{0} ? running.order.timeout : running.rule->timeout)
                                            .count();
      stop(running, {StatusCode::DeadlineExceeded, "the timeout of " + std::to_string(milliseconds) + " ms has passed"});
    }
    if (running.kill_at <= now) {
      running.process.signal(SIGKILL);
      running.kill_at = Instant::never();
    }
  }
}

}  // namespace rondo::worker
