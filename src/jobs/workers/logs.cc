// workers_impl.h: the log of a run is kept by its workers. A reader's question goes to a worker as an order, and the answer comes as an
// event. Each worker counts the bytes of the attempts that it had. So a reader stays with one worker, and hears from which one to go on.
#include <algorithm>
#include <utility>

#include "commands/answers.h"
#include "jobs/for_caller.h"
#include "jobs/jobs_view.h"
#include "jobs/log_limits.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/workers_impl.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {

namespace json = boost::json;

namespace {

constexpr std::string_view kCommands = "command/";
/// For a worker that is asked when the time of its reader is over.
constexpr Duration kLeastWait = 1s;

/// How a run has ended; empty if it goes on.
std::string end_of(const Result<JobRun>& run) {
  if (!run) return "the run is not in the database any more";
  if (!is_final(run->state)) return {};
  std::string end = "the run has ended";
  if (run->ended) end += " at " + calendar::format_rfc3339(*run->ended);
  end += " as " + std::string{to_string(run->state)};
  return run->note.empty() ? end : end + ": " + run->note;
}

}  // namespace

void Workers::Impl::read_log(const Arguments& arguments, Reply reply) {
  const std::int64_t run = arguments.integer("run", 0);
  const std::int64_t from = arguments.integer("from", 0);
  if (run < 1 || from < 0) return reply.fail({StatusCode::InvalidArgument, "run is at least 1, and from at least 0"});
  if (!options.log_elsewhere) return read_log_of_worker(run, from, arguments.flag("wait"), arguments.text("worker"), std::move(reply));
  ForCaller(jobs)->find_run(run, [weak = std::weak_ptr<Impl*>(self), run, from, wait = arguments.flag("wait"),
                                  of = arguments.text("worker"), reply](const Result<JobRun>& found) {
    const auto parts = weak.lock();
    if (parts == nullptr || (found && (*parts)->options.log_elsewhere(*found, from, wait, of, reply))) return;
    (*parts)->read_log_of_worker(run, from, wait, of, reply);
  });
}

void Workers::Impl::read_log_of_worker(std::int64_t run, std::int64_t from, bool wait, std::string of, Reply reply) {
  if (const auto job = remote.job_of(run); job != nullptr && !job->handler.starts_with(kCommands))
    return reply.fail({StatusCode::NotFound,
                       "the run " + std::to_string(run) + " has no log: its handler " + job->handler + " is not a command of a worker"});
  if (readers.size() >= limits::kLogReaders)
    return reply.fail({StatusCode::ResourceExhausted, std::to_string(limits::kLogReaders) + " readers of logs wait for workers"});
  const Caller& caller = reply.caller();
  const auto is_same = [&](const auto& reader) { return reader.second.reply.caller().user == caller.user; };
  if (!caller.is_privileged && std::ranges::count_if(readers, is_same) >= static_cast<std::ptrdiff_t>(limits::kLogReadersOfUser))
    return reply.fail({StatusCode::ResourceExhausted, std::to_string(limits::kLogReadersOfUser) + " readers of logs of user " +
                                                          std::to_string(caller.user) + " wait for workers"});
  const std::int64_t request = ++last_request;
  readers.emplace(request, LogReader{.reply = std::move(reply),
                                     .run = run,
                                     .from = from,
                                     .waits = wait,
                                     .of = std::move(of),
                                     .until = runtime.scheduler().now() + options.log_wait});
  choose_workers(request);
}

void Workers::Impl::choose_workers(std::int64_t request) {
  LogReader& reader = readers.at(request);
  ++reader.look;
  reader.worker.clear();
  reader.others.clear();
  reader.is_held = false;
  reader.held_until = reader.until;
  const auto placed = runs.find(reader.run);
  if (placed == runs.end()) return find_run(request, &Impl::choose_past);
  // Its worker gets the order first: ask_held() follows.
  if (placed->second.open && !placed->second.is_recorded) return hold(request);
  reader.key = placed->second.key;
  reader.was_here = true;
  // First what is left of an earlier attempt.
  reader.others.push_back(placed->second.worker);
  if (!reader.of.empty() && reader.of != placed->second.worker) reader.others.push_back(reader.of);
  ask_next(request);
}

void Workers::Impl::find_run(std::int64_t request, void (Impl::*found)(std::int64_t request, const Result<JobRun>& run)) {
  const LogReader& reader = readers.at(request);
  ForCaller(jobs)->find_run(reader.run, [weak = std::weak_ptr<Impl*>(self), request, look = reader.look, found](const Result<JobRun>& run) {
    const auto parts = weak.lock();
    if (parts == nullptr) return;
    const auto asks = (*parts)->readers.find(request);
    if (asks == (*parts)->readers.end() || asks->second.look != look) return;
    if (!run && run.error().code() != StatusCode::NotFound) return (*parts)->fail_reader(request, run.error());
    ((*parts)->*found)(request, run);
  });
}

void Workers::Impl::choose_past(std::int64_t request, const Result<JobRun>& run) {
  LogReader& reader = readers.at(request);
  // Without its row it is unknown whether a log is of this run, or of one of an earlier database.
  if (!run) {
    const std::string number = std::to_string(reader.run);
    const bool was_there = reader.was_here || !reader.of.empty();
    return fail_reader(
        request, {StatusCode::NotFound, was_there ? "there is no run " + number + " any more: its job was removed, or it is no longer kept"
                                                  : "there is no run " + number});
  }
  reader.key = run_key(run->job, run->scheduled);
  reader.end = end_of(run);
  const std::string last = run->worker;
  const bool is_last_known = workers.contains(last);
  if (!reader.of.empty()) {
    if (!reader.end.empty() && is_last_known && last != reader.of) reader.others.push_back(last);
    reader.others.push_back(reader.of);
  } else if (!reader.end.empty() || run->attempt > 0 || !last.empty()) {
    // Any worker may have the log of a run, also from before a start of this program.
    // Those that are silent are asked last.
    for (const bool is_silent : {true, false}) {
      for (const auto& [name, worker] : workers) {
        if (worker.orders && name != last && worker.is_silent == is_silent) reader.others.push_back(name);
      }
    }
    if (is_last_known) reader.others.push_back(last);
  }
  ask_next(request);
}

void Workers::Impl::ask_next(std::int64_t request) {
  LogReader& reader = readers.at(request);
  const auto placed = runs.find(reader.run);
  while (!reader.others.empty()) {
    reader.worker = std::move(reader.others.back());
    reader.others.pop_back();
    const auto worker = workers.find(reader.worker);
    if (worker == workers.end() || !worker->second.orders) continue;
    if (!reader.of.empty() && reader.of != reader.worker) {
      // It counts from its own begin. The reader knows how much it has of this log.
      return finish_reader(request, {{"worker", reader.worker}, {"from", 0}, {"next", 0}, {"ended", false}, {"data", ""}});
    }
    const bool is_here = placed != runs.end() && placed->second.worker == reader.worker;
    // One that does not answer leaves time for the others.
    const Instant now = runtime.scheduler().now();
    const Duration left = (reader.until > now ? reader.until - now : kLeastWait) / static_cast<Duration::rep>(reader.others.size() + 1);
    reader.worker_until = now + (reader.waits && is_here ? options.log_wait : left);
    worker->second.orders->row(json::object{{"log", json::object{{"request", request},
                                                                 {"run", reader.run},
                                                                 {"key", reader.key},
                                                                 {"from", reader.from},
                                                                 {"bytes", limits::kLogPiece},
                                                                 {"wait", reader.waits && is_here}}}});
    worker->second.orders->flush();
    return;
  }
  if (reader.end.empty() && (reader.waits || (placed != runs.end() && placed->second.open && !placed->second.is_recorded)))
    return hold(request);
  const std::string run = std::to_string(reader.run);
  if (!reader.end.empty())
    return fail_reader(request, {StatusCode::NotFound, "no connected worker has a log of the run " + run + "; " + reader.end});
  const auto activity = JobsView(jobs).activity(reader.run);
  fail_reader(request, {StatusCode::NotFound, "no connected worker has a log of the run " + run +
                                                  (activity && !activity->text.empty() ? "; the run " + activity->text : "")});
}

void Workers::Impl::hold(std::int64_t request) {
  LogReader& reader = readers.at(request);
  reader.worker.clear();
  reader.is_held = true;
  reader.held_until = runtime.scheduler().now() + options.log_held;
  // Its end may be on its way to the store, whose answers come in the order of the questions.
  if (reader.waits && !runs.contains(reader.run)) find_run(request, &Impl::leave_if_ended);
}

void Workers::Impl::leave_if_ended(std::int64_t request, const Result<JobRun>& run) {
  if (!end_of(run).empty()) choose_workers(request);
}

void Workers::Impl::ask_held(std::int64_t run) {
  std::vector<std::int64_t> held;
  for (const auto& [request, reader] : readers) {
    if (reader.run == run && reader.worker.empty()) held.push_back(request);
  }
  for (const std::int64_t request : held) choose_workers(request);
}

void Workers::Impl::leave_readers(const std::string& worker) {
  std::vector<std::int64_t> asked;
  for (const auto& [request, reader] : readers) {
    if (reader.worker == worker) asked.push_back(request);
  }
  for (const std::int64_t request : asked) ask_next(request);
}

void Workers::Impl::watch_readers() {
  const Instant now = runtime.scheduler().now();
  std::vector<std::int64_t> late;
  std::vector<std::int64_t> held;
  std::vector<std::int64_t> over;
  std::vector<std::int64_t> silent;
  for (const auto& [request, reader] : readers) {
    const bool waits = reader.waits && reader.worker.empty();
    if (!reader.reply.wanted()) {
      late.push_back(request);
    } else if (!reader.worker.empty() && reader.worker_until <= now) {
      silent.push_back(request);
    } else if (!waits && reader.until <= now) {
      late.push_back(request);
    } else if (waits && reader.is_held && remote.is_recovered() && remote.find(reader.run) == nullptr) {
      over.push_back(request);
    } else if (waits && reader.held_until <= now) {
      held.push_back(request);
    }
  }
  for (const std::int64_t request : over) choose_workers(request);
  for (const std::int64_t request : late) fail_reader(request, {StatusCode::DeadlineExceeded, "the worker did not answer"});
  for (const std::int64_t request : silent) leave_silent_worker(request);
  for (const std::int64_t request : held) {
    if (!readers.contains(request)) continue;
    const auto activity = JobsView(jobs).activity(readers.at(request).run);
    answer_without_output(request, activity ? activity->text : std::string{});
  }
}

bool Workers::Impl::was_removed(std::int64_t run) const {
  const auto placed = runs.find(run);
  return placed != runs.end() && placed->second.open && !placed->second.open->is_open();
}

void Workers::Impl::leave_silent_worker(std::int64_t request) {
  const auto found = readers.find(request);
  if (found == readers.end()) return;
  LogReader& reader = found->second;
  const std::string asked = reader.worker;
  if (!reader.others.empty()) return ask_next(request);
  // While it has the run, it may answer later; or it is given up, and the run has an end.
  const auto placed = runs.find(reader.run);
  if (reader.waits && reader.end.empty() && placed != runs.end() && placed->second.worker == asked) {
    const auto activity = JobsView(jobs).activity(reader.run);
    const bool has_trouble = activity && !activity->trouble.empty();
    return answer_without_output(request, has_trouble ? activity->text : "worker " + asked + " does not answer");
  }
  fail_reader(request, {StatusCode::DeadlineExceeded, "the worker did not answer: " + asked});
}

void Workers::Impl::answer_without_output(std::int64_t request, std::string_view why) {
  const LogReader& reader = readers.at(request);
  json::object answer{{"worker", reader.of}, {"from", reader.from}, {"next", reader.from}, {"ended", false}, {"data", ""}};
  if (!why.empty()) answer["activity"] = commands::sentence(why);
  finish_reader(request, std::move(answer));
}

void Workers::Impl::fail_reader(std::int64_t request, const Status& why) {
  Reply reply = std::move(readers.extract(request).mapped().reply);
  reply.fail(why);
}

void Workers::Impl::finish_reader(std::int64_t request, json::object answer) {
  LogReader reader = std::move(readers.extract(request).mapped());
  answer["run"] = reader.run;
  reader.reply.finish(answer);
}

}  // namespace rondo::jobs
