// worker.h: the output and the end of commands, and the reports about them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "rondo/base/text.h"
#include "worker/limits.h"
#include "worker/worker.h"

namespace rondo::worker {

namespace {

namespace json = boost::json;

/// Bytes of a text for people in a report: the server keeps as many.
constexpr std::size_t kWords = 1024;

/// Until the ends that the server has not stored are reported again.
constexpr Duration kRepeatPause = 1s;

/// Part of the note of a run that has succeeded.
constexpr std::string_view kCut = "processes that the command left in the background were killed at its end";

/// The runs in a member of an answer, which may be absent; nothing if it is no array of numbers.
std::optional<std::set<std::int64_t>> runs_in(const json::object& answer, std::string_view member) {
  std::set<std::int64_t> runs;
  const json::value* const found = answer.if_contains(member);
  if (found == nullptr) return runs;
  if (!found->is_array()) return std::nullopt;
  for (const json::value& run : found->get_array()) {
    if (!run.is_int64()) return std::nullopt;
    runs.insert(run.get_int64());
  }
  return runs;
}

OutputLines::Found keep_in(RunningCommand& running) {
  return {.progress =
              [&running](unsigned percent, std::string_view text) {
                running.percent = percent;
                running.progress = text.substr(0, kWords);
                ++running.progress_version;
              },
          .result = [&running](std::string_view text) { running.result = text.substr(0, kWords); }};
}

}  // namespace

void Worker::read_output(RunningCommand& running, std::size_t most) {
  std::array<char, 65'536> bytes;
  for (std::size_t read = 0; read < most && running.process.output() >= 0;) {
    const ssize_t got = ::read(running.process.output(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {  // All writers have closed it: poll would report that again and again.
      running.process.close_output();
      return;
    }
    const std::string_view output{bytes.data(), static_cast<std::size_t>(got)};
    logs_.append(running.order.run, output);
    running.lines.take(output, keep_in(running));
    read += output.size();
  }
}

Status Worker::status_of(const RunningCommand& running, const ProcessEnd& end) {
  if (!end.unstarted.ok()) return end.unstarted;
  std::string how = end.signal != 0 ? "ended by signal " + std::to_string(end.signal) + " (" + ::strsignal(end.signal) + ")"
                                    : "exit code " + std::to_string(end.exit_code);
  // A command that finishes its work while the worker ends has succeeded. After a timeout, or an order to stop, it is too late.
  const bool has_succeeded = end.signal == 0 && end.exit_code == 0;
  if (has_succeeded && (!running.stopped || running.stopped->code() == StatusCode::Unavailable)) return {};
  if (running.stopped) return {running.stopped->code(), std::string{running.stopped->message()} + "; " + how};
  if (!running.lines.last().empty()) how += ": " + running.lines.last().substr(0, kWords);
  return {StatusCode::Internal, how};
}

void Worker::finish(std::int64_t run) {
  RunningCommand& running = running_.at(run);
  const ProcessEnd end = running.process.reap();
  // What is in the pipe. A process that left the group may hold it open and go on writing, so this has a bound.
  read_output(running, 4 * limits::kOutputSlice);
  running.lines.end(keep_in(running));
  const Status logged = logs_.end(run);
  if (!logged.ok()) {
    log_.warn("the log of a run is incomplete", {{"run", run}, {"why", logged}});
    check_disk_again();
  }
  if (end.cut) log_.warn(kCut, {{"run", run}, {"command", running.order.command}});
  if (end.cut) running.result = (std::string{kCut} + (running.result.empty() ? "" : "; ") + running.result).substr(0, kWords);
  RunRecord record{.run = run,
                   .attempt = running.order.attempt,
                   .key = running.order.key,
                   .command = running.order.command,
                   .begun_ms = running.begun_ms,
                   .has_ended = true,
                   .status = status_of(running, end),
                   .note = running.result,
                   .ended_ms = clock_.wall_now().nanoseconds() / 1'000'000,
                   .ended = clock_.now()};
  log_.info("end", {{"run", run}, {"command", record.command}, {"status", record.status}});
  const bool is_foreign = running.is_foreign;
  running_.erase(run);
  if (is_foreign) return records_.remove(run);
  end_run(std::move(record));
}

void Worker::end_run(RunRecord record) {
  record.has_ended = true;
  const std::int64_t run = record.run;
  const Status written = records_.write(record);
  ended_[run] = std::move(record);
  if (written.ok()) {
    unwritten_.erase(run);
    return;
  }
  unwritten_.insert(run);
  log_.warn("the end of a run is not on the disk", {{"run", run}, {"why", written}});
  check_disk_again();
}

void Worker::forget_end(std::int64_t run) {
  unnamed_.erase(run);
  unstored_.erase(run);
  unwritten_.erase(run);
  // The answer to a report under way is not about a later end of the run.
  std::erase_if(reported_.ended, [run](const auto& reported) { return reported.first == run; });
  // A command that runs with the number of a run that was refused has its own record.
  if (ended_.erase(run) != 0 && !running_.contains(run)) records_.remove(run);
}

void Worker::report(Instant now) {
  if (!link_.can_report()) return;
  WorkerReport made;
  reported_ = {};
  add_checked(made);  // A user waits for them.
  json::object more;
  if (!unnamed_.empty() && running_.size() + ended_.size() - unnamed_.size() < limits::kNamedRuns) {
    json::array runs;  // Their ends follow in the next report.
    more["more"] = name_ends(runs);
    more["runs"] = std::move(runs);
  } else {
    add_runs(made, now);
  }
  add_logs(made, now);
  // If the connection ends before the server has them, the next hello has them.
  if (std::exchange(has_new_offers_, false)) more = {{"places", config_.places}, {"offers", offers()}};
  const bool is_heartbeat = now - last_report_ >= kHeartbeat;
  if (std::exchange(has_new_trouble_, false)) more["trouble"] = escape_text(std::string_view{trouble_}.substr(0, kWords));
  if (made.empty() && more.empty() && !is_heartbeat) return;
  last_report_ = now;
  link_.report(made.take(), std::move(more), now);
}

std::string Worker::age_of(std::int64_t begun_ms) const {
  return std::to_string(std::max<std::int64_t>(clock_.wall_now().nanoseconds() / 1'000'000 - begun_ms, 0));
}

void Worker::add_runs(WorkerReport& made, Instant now) {
  for (const auto& [run, record] : ended_) {
    if (unnamed_.contains(run) || (now < repeat_at_ && unstored_.contains(run))) continue;
    const std::string attempt = std::to_string(record.attempt);
    const std::string begun = std::to_string(record.begun_ms);
    const std::string since = std::to_string((now - record.ended) / 1ms);
    WorkerReport::Fields fields{
        {"attempt", attempt},  {"code", to_string(record.status.code())},  {"message", record.status.message().substr(0, kWords)},
        {"note", record.note}, {"refused", record.is_refused ? "1" : "0"}, {"begun_ms", begun},
        {"key", record.key}};
    const std::string age = age_of(record.begun_ms);
    if (record.begun_ms != 0) fields.emplace_back("age_ms", age);
    if (record.ended_ms != 0) fields.emplace_back("since_ms", since);
    if (!made.add("end", run, fields)) return;
    reported_.ended.emplace_back(run, record.attempt);
  }
  for (auto& [run, running] : running_) {
    if (running.is_foreign) continue;
    const std::string attempt = std::to_string(running.order.attempt);
    if (!running.is_start_reported) {
      const std::string begun = std::to_string(running.begun_ms);
      const std::string age = age_of(running.begun_ms);
      if (!made.add("started", run, {{"attempt", attempt}, {"begun_ms", begun}, {"age_ms", age}, {"key", running.order.key}})) return;
      reported_.started.push_back(run);
    }
    if (running.progress_version == running.progress_reported) continue;
    const std::string percent = std::to_string(running.percent);
    if (!made.add("progress", run, {{"attempt", attempt}, {"percent", percent}, {"text", running.progress}, {"key", running.order.key}}))
      return;
    reported_.progress.emplace_back(run, running.progress_version);
  }
}

void Worker::add_logs(WorkerReport& made, Instant now) {
  for (std::size_t count = questions_.size(); count > 0; --count) {
    const LogQuestion question = questions_.front();
    const bool is_known = question.key.empty() || logs_.key(question.run) == question.key;
    const bool is_running = is_known && running_.contains(question.run);
    const std::uint64_t size = is_known ? logs_.size(question.run) : 0;
    if (question.until > now && is_running && logs_.written(question.run) <= question.from) {  // It waits for more.
      questions_.pop_front();
      questions_.push_back(question);
      continue;
    }
    const auto piece = is_known ? logs_.read(question.run, question.from, question.bytes) : std::nullopt;
    const std::string from = std::to_string(piece ? piece->from : 0);
    const std::string next = std::to_string(piece ? piece->next : 0);
    const std::string attempt = std::to_string(piece ? piece->attempt : 0);
    const std::string all = std::to_string(size);
    const bool is_end = !is_running && (!piece || piece->next >= size);
    if (!made.add("log", question.request,
                  {{"known", piece ? "1" : "0"},
                   {"from", from},
                   {"next", next},
                   {"attempt", attempt},
                   {"ended", is_end ? "1" : "0"},
                   {"size", all},
                   {"data", piece ? std::string_view{piece->data} : std::string_view{}}})) {
      return;
    }
    questions_.pop_front();
  }
}

void Worker::add_checked(WorkerReport& made) {
  while (!checked_.empty()) {
    const auto& [request, status] = checked_.front();
    const std::string message{status.message().substr(0, kWords)};
    if (!made.add("checked", request, {{"code", to_string(status.code())}, {"message", message}})) return;
    checked_.pop_front();
  }
}

void Worker::report_taken(const json::object& answer) {
  for (const std::int64_t run : reported_.started) {
    if (const auto found = running_.find(run); found != running_.end()) found->second.is_start_reported = true;
  }
  for (const auto& [run, version] : reported_.progress) {
    if (const auto found = running_.find(run); found != running_.end()) found->second.progress_reported = version;
  }
  const auto unstored = runs_in(answer, "unstored");
  if (!unstored && malformed_.emplace("unstored").second)
    log_.warn("the server sends a malformed answer; all ends that it is about are kept and reported again",
              {{"why", "unstored is no array of numbers"}});
  for (const auto& [run, attempt] : std::exchange(reported_.ended, {})) {
    const auto found = ended_.find(run);
    if (found == ended_.end() || found->second.attempt != attempt) continue;
    if (unstored && !unstored->contains(run)) {
      forget_end(run);
      continue;
    }
    repeat_at_ = clock_.now() + kRepeatPause;
    if (unstored_.insert(run).second) log_.warn("the server has not stored the end of a run; it is reported again", {{"run", run}});
  }
  reported_ = {};
}

}  // namespace rondo::worker
