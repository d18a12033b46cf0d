// workers_impl.h: what workers report. A worker speaks only about runs that it was given, or that it claimed and that are of a command it
// offers; everything else is refused and counted.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "commands/answers.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/workers_impl.h"
#include "rondo/admin/client.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace json = boost::json;

namespace {

constexpr std::int64_t kWhole = 100;  // Percent.

std::string_view field_of(const RowArgument& event, std::string_view name) {
  const auto found = std::ranges::find(event.fields, name, &std::pair<std::string, std::string>::first);
  return found == event.fields.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0 ? std::optional{number} : std::nullopt;
}

std::optional<std::uint32_t> attempt_of(const RowArgument& event) {
  const std::optional<std::int64_t> number = number_of(field_of(event, "attempt"));
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

/// True if an event about an attempt can be taken: its kind is known, and a progress has a percentage from 0 to 100.
bool has_form(const RowArgument& event) {
  if (event.table == "started" || event.table == "end") return true;
  return event.table == "progress" && number_of(field_of(event, "percent")).value_or(kWhole + 1) <= kWhole;
}

/// When the command began, if the event has it. Its age decides if the clock of the worker differs from this one by more than a report may
/// be on its way. A clock of the worker that is ahead counts as 'now'.
std::optional<WallTime> begin_of(const RowArgument& event, WallTime now) {
  constexpr std::int64_t kNanoseconds = 1'000'000;
  constexpr Duration kOnItsWay = 2s;
  const std::int64_t most = now.nanoseconds() / kNanoseconds;
  const std::int64_t milliseconds = std::min(number_of(field_of(event, "begun_ms")).value_or(0), most);
  const WallTime begun = WallTime::from_nanoseconds(milliseconds * kNanoseconds);
  if (const std::optional<std::int64_t> age = number_of(field_of(event, "age_ms"))) {
    const WallTime by_age = now + -std::min(*age, most) * 1ms;
    return begun <= by_age && by_age - begun <= kOnItsWay ? begun : by_age;
  }
  return milliseconds == 0 ? std::nullopt : std::optional{begun};
}

/// When the command ended, if the event has it: the worker counts from that time, because its clock may differ.
std::optional<WallTime> end_time_of(const RowArgument& event, WallTime now) {
  const std::optional<std::int64_t> milliseconds = number_of(field_of(event, "since_ms"));
  if (!milliseconds) return std::nullopt;
  return now + -std::min(*milliseconds, now.nanoseconds() / 1'000'000) * 1ms;
}

ReportedEnd end_of(const RowArgument& event, WallTime now) {
  const std::string_view code = field_of(event, "code");
  ReportedEnd end{.status = {}, .note = std::string{field_of(event, "note").substr(0, limits::kRunNote)}, .ended = end_time_of(event, now)};
  if (code == "ok") return end;
  std::string message{field_of(event, "message").substr(0, limits::kRunNote)};
  if (message.empty()) message = "worker gave no reason, and the code '" + std::string{code.substr(0, limits::kRunNote)} + "'";
  end.status = {code_named(code), std::move(message)};
  return end;
}

}  // namespace

void Workers::Impl::report(const Arguments& arguments, Reply reply) {
  const std::string session = arguments.text("session");
  const auto found =
      std::ranges::find_if(workers, [&](const auto& entry) { return entry.second.orders && entry.second.session == session; });
  if (found == workers.end()) return reply.fail({StatusCode::FailedPrecondition, "no worker with this session is connected"});
  const std::string name = found->first;
  const Instant now = runtime.scheduler().now();
  if (now - std::exchange(found->second.heard, now) >= options.silent) found->second.in_contact = now;
  if (arguments.has("offers")) {
    if (const Status changed = change_offers(found->second, arguments); !changed.ok()) return reply.fail(changed);
  }
  if (arguments.has("runs")) {
    if (const Status taken = take_claims(name, found->second, arguments); !taken.ok()) return reply.fail(taken);
    find_room();
  }
  if (arguments.has("trouble")) change_trouble(name, arguments.text("trouble").substr(0, limits::kRunNote));
  HeldReport made{.number = ++last_report, .worker = name, .reply = std::move(reply)};
  for (const RowArgument& event : arguments.rows("events")) {
    // An event may end what belongs to the worker, so it is looked up each time.
    const auto worker = workers.find(name);
    if (worker == workers.end() || !take_event(name, worker->second, event, made)) ++made.refused;
  }
  stats.refused += made.refused;
  const auto worker = workers.find(name);
  if (made.waits.empty() || worker == workers.end() || !worker->second.orders) return answer(std::move(made));
  made.until = runtime.scheduler().now() + options.stored_wait;
  // A worker sends its next report after the answer. One that does not wait gets the answer to the former report now.
  auto former = std::exchange(worker->second.held, std::move(made));
  if (former) answer(*std::move(former));
}

void Workers::Impl::change_trouble(const std::string& name, std::string trouble) {
  const auto found = workers.find(name);
  if (found == workers.end()) return;
  found->second.trouble = std::move(trouble);
  if (!found->second.trouble.empty()) take_back(found->second);
  find_room();  // Of this worker again, or of another one for what was taken back.
}

bool Workers::Impl::take_event(const std::string& name, WorkerEntry& worker, const RowArgument& event, HeldReport& of) {
  const std::optional<std::int64_t> id = number_of(event.key);
  if (!id) return false;
  if (event.table == "log") return take_log(name, event, *id);
  if (event.table == "checked") return take_checked(name, worker, event, *id);
  const std::optional<std::uint32_t> attempt = attempt_of(event);
  const auto found = runs.find(*id);
  if (!attempt || !has_form(event)) return false;
  const std::string_view key = field_of(event, "key");
  if (found == runs.end())
    return event.table == "end" && was_given(*id, name) && !is_other_run(*id, key) && waits_for_store(*id, *attempt, of);
  PlacedRun& run = found->second;
  if (run.worker != name || run.attempt != *attempt) return false;
  if (!key.empty() && !run.key.empty() && run.key != key) return false;  // Of a run of a database that was replaced.
  run.is_confirmed = true;
  worker.unconfirmed.erase(*id);
  const WallTime now = runtime.clock().wall_now();
  std::optional<WallTime> begun = begin_of(event, now);
  // A worker of an earlier version does not say when.
  if (!begun && !run.begun && event.table != "end") begun = now;
  if (begun) {
    run.begun = begun;
    if (run.open) run.open->began_at(*begun);
  }
  if (event.table == "started") {
    find_room();
    return true;
  }
  if (event.table == "progress") {
    if (run.open) run.open->progress(static_cast<unsigned>(*number_of(field_of(event, "percent"))), field_of(event, "text"));
    return true;
  }
  take_end(worker, *id, event, of);
  return true;
}

void Workers::Impl::take_end(WorkerEntry& worker, std::int64_t id, const RowArgument& event, HeldReport& of) {
  PlacedRun& run = runs.at(id);
  const std::uint32_t attempt = run.attempt;
  ReportedEnd end = end_of(event, runtime.clock().wall_now());
  end.is_refused = field_of(event, "refused") == "1" && !run.begun;
  const bool is_refused = end.is_refused;
  if (is_refused) worker.full_until = runtime.scheduler().now() + kPauseOfWorker;
  if (run.open) {
    finish(id, end);
  } else {  // It begins here later, and ends then. It occupies no place meanwhile.
    run.end = std::move(end);
    run.has_ended = true;
    worker.runs.erase(id);
    find_room();  // It may begin, and end, within this call.
  }
  if (is_refused || waits_for_store(id, attempt, of)) return;
  const bool is_stored = remote.is_recovered() && remote.find(id) == nullptr;
  if (const auto kept = runs.find(id); !is_stored && kept != runs.end() && kept->second.end) of.unstored.insert(id);
}

bool Workers::Impl::waits_for_store(std::int64_t run, std::uint32_t attempt, HeldReport& of) {
  const bool waits =
      jobs.when_stored(run, attempt, [weak = std::weak_ptr<Impl*>(self), name = of.worker, report = of.number, run](const Status& why) {
        if (const auto parts = weak.lock()) (*parts)->end_stored(name, report, run, why);
      });
  if (waits) of.waits.insert(run);
  return waits;
}

void Workers::Impl::end_stored(const std::string& name, std::int64_t report, std::int64_t run, const Status& why) {
  const auto worker = workers.find(name);
  if (worker == workers.end()) return;
  std::optional<HeldReport>& held = worker->second.held;
  if (!held || held->number != report) return;  // It was answered before.
  held->waits.erase(run);
  if (!why.ok()) held->unstored.insert(run);
  if (held->waits.empty()) answer(*std::exchange(held, std::nullopt));
}

void Workers::Impl::answer(HeldReport report) {
  report.unstored.merge(report.waits);
  json::object result{{"refused", report.refused}};
  if (!report.unstored.empty()) result["unstored"] = json::array(report.unstored.begin(), report.unstored.end());
  report.reply.finish(result);
}

void Workers::Impl::answer_late_reports(Instant now) {
  std::vector<HeldReport> late;
  for (auto& [name, worker] : workers) {
    if (worker.held && (worker.held->until <= now || !worker.held->reply.wanted()))
      late.push_back(*std::exchange(worker.held, std::nullopt));
  }
  for (HeldReport& held : late) answer(std::move(held));
}

bool Workers::Impl::take_log(const std::string& name, const RowArgument& event, std::int64_t request) {
  const auto found = readers.find(request);
  if (found == readers.end() || found->second.worker != name) return false;
  LogReader& reader = found->second;
  if (field_of(event, "known") != "1") {
    ask_next(request);
    return true;
  }
  const std::optional<std::int64_t> from = number_of(field_of(event, "from"));
  const std::string_view data = field_of(event, "data");
  const std::optional<std::int64_t> next = number_of(field_of(event, "next"));
  if (!from || !next || *next < *from || static_cast<std::uint64_t>(*next - *from) != data.size()) {
    fail_reader(request, {StatusCode::DataLoss, "the worker '" + name + "' answers with a piece of the log that leads nowhere"});
    return false;
  }
  if (data.size() > limits::kLogPiece) {
    fail_reader(request,
                {StatusCode::DataLoss, "the worker '" + name + "' answers with a piece of the log of " + std::to_string(data.size()) +
                                           " bytes; it was asked for at most " + std::to_string(limits::kLogPiece)});
    return false;
  }
  const bool is_end = field_of(event, "ended") == "1";  // Of the attempt: another one may follow.
  if (reader.of.empty()) reader.others.clear();         // It has found a log.
  const bool is_over = !reader.end.empty() && reader.others.empty();
  if (data.empty() && was_removed(reader.run)) {
    fail_reader(request, {StatusCode::NotFound, "the run " + std::to_string(reader.run) + " was removed with its job; worker '" + name +
                                                    "' was ordered to stop its command"});
    return true;
  }
  if (is_end && data.empty() && !is_over && (reader.waits || !reader.others.empty())) {
    ask_next(request);
    return true;
  }
  json::object answer{{"worker", name}, {"from", *from}, {"next", *next}, {"ended", is_end && is_over}, {"data", commands::text(data)}};
  if (const auto attempt = attempt_of(event)) answer["attempt"] = std::int64_t{*attempt} + 1;
  if (const auto size = number_of(field_of(event, "size"))) answer["size"] = *size;
  finish_reader(request, std::move(answer));
  return true;
}

bool Workers::Impl::take_checked(const std::string& name, WorkerEntry& worker, const RowArgument& event, std::int64_t request) {
  worker.ignores_checks = false;  // Also if it answers late.
  const auto found = checks.find(request);
  if (found == checks.end() || found->second.worker != name) return false;
  const std::string_view code = field_of(event, "code");
  std::string message{field_of(event, "message").substr(0, limits::kRunNote)};
  if (message.empty()) message = "it gave no reason";
  if (code == "ok") {
    end_check(request, {});
  } else if (code == to_string(StatusCode::InvalidArgument)) {
    end_check(request, {StatusCode::InvalidArgument, "worker '" + name + "' refuses the parameters: " + message});
  } else {
    end_check(request, {StatusCode::Unavailable, "worker '" + name + "' cannot check them: " + message});
  }
  return true;
}

void Workers::Impl::list(Reply reply) const {
  reply.expect_rows();
  const Instant now = runtime.scheduler().now();
  for (const auto& [name, worker] : workers) {
    json::object offers;
    for (const auto& [command, places] : worker.offers) offers[command] = places;
    json::array running;
    for (const std::int64_t run : worker.runs) {
      const PlacedRun& placed = runs.at(run);
      json::object one{{"run", run}, {"command", placed.command}};
      if (placed.open) one["job"] = commands::text(placed.open->job().name);
      running.push_back(std::move(one));
    }
    json::object row{
        {"worker", name},
        {"connected", worker.orders.has_value()},
        {"since", worker.orders ? json::value(calendar::format_rfc3339(worker.connected)) : json::value(nullptr)},
        {"commands", std::move(offers)},
        {"places", worker.places},
        {"free", worker.trouble.empty() ? worker.places - std::min<std::uint64_t>(worker.places, places_in_use(runs, worker)) : 0},
        {"runs", worker.runs.size()},
        {"running", std::move(running)},
        {"heard_ms", (now - worker.heard) / 1ms}};
    if (!worker.trouble.empty()) row["trouble"] = commands::sentence(worker.trouble);
    reply.row(std::move(row));
  }
  reply.finish();
}

}  // namespace rondo::jobs
