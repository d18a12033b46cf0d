// parts.h: what workers report. A worker speaks only about runs that it was given, or that it claimed and that are of a command it offers;
// everything else is refused and counted.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "commands/answers.h"
#include "rondo/admin/client.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"
#include "workers/parts.h"

namespace rondo::jobs {

namespace json = boost::json;

namespace {

std::string_view field_of(const RowArgument& event, std::string_view name) {
  const auto found = std::ranges::find(event.fields, name, &std::pair<std::string, std::string>::first);
  return found == event.fields.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0 ? std::optional{number} : std::nullopt;
}

/// When the command began, if the event has it. A clock of the worker that is ahead counts as 'now'.
std::optional<WallTime> begin_of(const RowArgument& event, WallTime now) {
  constexpr std::int64_t kNanoseconds = 1'000'000;
  const std::int64_t milliseconds = number_of(field_of(event, "begun_ms")).value_or(0);
  if (milliseconds == 0) return std::nullopt;
  return WallTime::from_nanoseconds(std::min(milliseconds, now.nanoseconds() / kNanoseconds) * kNanoseconds);
}

ReportedEnd end_of(const RowArgument& event) {
  const std::string_view code = field_of(event, "code");
  ReportedEnd end{.status = {}, .note = std::string{field_of(event, "note").substr(0, limits::kRunNote)}};
  if (code != "ok") end.status = {code_named(code), std::string{field_of(event, "message").substr(0, limits::kRunNote)}};
  return end;
}

}  // namespace

void Workers::Parts::report(const Arguments& arguments, Reply reply) {
  const std::string session = arguments.text("session");
  const auto found =
      std::ranges::find_if(workers, [&](const auto& entry) { return entry.second.orders && entry.second.session == session; });
  if (found == workers.end()) return reply.fail({StatusCode::FailedPrecondition, "no worker with this session is connected"});
  const std::string name = found->first;
  found->second.heard = runtime.scheduler().now();
  if (arguments.has("offers")) {
    if (const Status changed = change_offers(found->second, arguments); !changed.ok()) return reply.fail(changed);
  }
  if (arguments.has("trouble")) found->second.trouble = arguments.text("trouble").substr(0, limits::kRunNote);
  std::uint64_t refused = 0;
  for (const RowArgument& event : arguments.rows("events")) {
    // An event may end what belongs to the worker, so it is looked up each time.
    const auto worker = workers.find(name);
    if (worker == workers.end() || !take_event(name, worker->second, event)) ++refused;
  }
  stats.refused += refused;
  reply.finish({{"refused", refused}});
}

bool Workers::Parts::take_event(const std::string& name, WorkerEntry& worker, const RowArgument& event) {
  const std::optional<std::int64_t> id = number_of(event.key);
  if (!id) return false;
  if (event.table == "log") return take_log(name, event, *id);
  const auto found = runs.find(*id);
  if (found == runs.end() || found->second.worker != name) return false;
  PlacedRun& run = found->second;
  if (number_of(field_of(event, "attempt")) != std::optional<std::int64_t>{run.attempt}) return false;
  run.is_confirmed = true;
  worker.unconfirmed.erase(*id);
  if (const auto begun = begin_of(event, runtime.clock().wall_now())) {
    run.begun = begun;
    if (run.open) run.open->began_at(*begun);
  }
  if (event.table == "started") {
    look_for_room();
    return true;
  }
  if (event.table == "progress") {
    const std::optional<std::int64_t> percent = number_of(field_of(event, "percent"));
    if (run.open) run.open->progress(static_cast<unsigned>(std::min<std::int64_t>(percent.value_or(0), 100)), field_of(event, "text"));
    return percent.has_value();
  }
  if (event.table != "end") return false;
  ReportedEnd end = end_of(event);
  end.is_refused = field_of(event, "refused") == "1" && !run.begun;
  if (end.is_refused) worker.full_until = runtime.scheduler().now() + kPauseOfWorker;
  if (run.open) {
    finish(*id, end);
  } else {  // It begins here later, and ends then. It occupies no place meanwhile.
    run.end = std::move(end);
    run.has_ended = true;
    worker.runs.erase(*id);
    look_for_room();
  }
  return true;
}

bool Workers::Parts::take_log(const std::string& name, const RowArgument& event, std::int64_t request) {
  const auto found = readers.find(request);
  if (found == readers.end() || found->second.worker != name) return false;
  LogReader& reader = found->second;
  if (field_of(event, "known") != "1") {
    ask_next(request);
    return true;
  }
  const std::int64_t from = number_of(field_of(event, "from")).value_or(0);
  const std::string_view data = field_of(event, "data");
  json::object answer{{"run", reader.run},
                      {"worker", name},
                      {"from", from},
                      {"next", number_of(field_of(event, "next")).value_or(from)},
                      {"ended", field_of(event, "ended") == "1"},
                      {"data", commands::text(data)}};
  Reply reply = std::move(readers.extract(found).mapped().reply);
  reply.finish(answer);
  return true;
}

Status Workers::Parts::health() const {
  const auto found = std::ranges::find_if(workers, [](const auto& entry) { return entry.second.orders && !entry.second.trouble.empty(); });
  if (found == workers.end()) return {};
  return {StatusCode::Unavailable, "worker '" + found->first + "': " + found->second.trouble};
}

void Workers::Parts::list(Reply reply) const {
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
    json::object row{{"worker", name},
                     {"connected", worker.orders.has_value()},
                     {"since", worker.orders ? json::value(calendar::format_rfc3339(worker.connected)) : json::value(nullptr)},
                     {"commands", std::move(offers)},
                     {"places", worker.places},
                     {"free", worker.places - std::min<std::uint64_t>(worker.places, worker.runs.size())},
                     {"runs", worker.runs.size()},
                     {"running", std::move(running)},
                     {"heard_ms", (now - worker.heard) / 1ms}};
    if (!worker.trouble.empty()) row["trouble"] = commands::sentence(worker.trouble);
    reply.row(std::move(row));
  }
  reply.finish();
}

}  // namespace rondo::jobs
