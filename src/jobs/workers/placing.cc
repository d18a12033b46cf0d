// workers_impl.h: gives runs to workers, and ends them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "commands/answers.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/workers_impl.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"
#include "rondo/store/record.h"

namespace rondo::jobs {

namespace json = boost::json;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::size_t runs_of(const std::map<std::int64_t, PlacedRun>& runs, const WorkerEntry& worker, const std::string& command) {
  return static_cast<std::size_t>(std::ranges::count_if(worker.runs, [&](std::int64_t run) {
    const auto found = runs.find(run);
    return found != runs.end() && found->second.command == command && !found->second.has_ended;
  }));
}

/// True if the worker can take one more run of the command.
bool can_take(const std::map<std::int64_t, PlacedRun>& runs, const WorkerEntry& worker, const std::string& command, Instant now,
              Duration silent) {
  const auto offer = worker.offers.find(command);
  return worker.orders && !worker.is_claiming && worker.trouble.empty() && offer != worker.offers.end() && worker.heard >= now + -silent &&
         places_in_use(runs, worker) < worker.places && worker.full_until <= now &&
         worker.unconfirmed.size() < limits::kWorkerUnconfirmed && runs_of(runs, worker, command) < offer->second;
}

}  // namespace

std::string run_key(std::string_view job, WallTime scheduled) {
  const std::uint64_t hash = hash_key(std::string{job} + ' ' + std::to_string(scheduled.nanoseconds()));
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

bool Workers::Impl::is_other_run(std::int64_t run, std::string_view key) const {
  const JobRun* const known = remote.find(run);
  return !key.empty() && known != nullptr && run_key(known->job, known->scheduled) != key;
}

std::size_t places_in_use(const std::map<std::int64_t, PlacedRun>& runs, const WorkerEntry& worker) {
  return static_cast<std::size_t>(std::ranges::count_if(worker.runs, [&](std::int64_t run) { return !runs.at(run).has_ended; }));
}

void Workers::Impl::publish(const std::string& command) {
  const std::string handler = "command/" + command;
  remote.handle(handler,
                {.basic = {.begin = [this, command](const AsyncRun& run) { begin(command, run); },
                           .has_room = [this, command](std::int64_t run) { return is_claimed(run) || has_room(command, run); },
                           .check = [this, command](const Job& job,
                                                    std::function<void(const Status&)> done) { check(command, job, std::move(done)); }},
                 .has_begun = [this](std::int64_t run) { return is_claimed(run); },
                 .held = [this](std::int64_t run) { return held(run); },
                 .why_no_room = [this, command](std::int64_t) { return why_no_room(command); }});
  jobs.has_room(handler);
}

bool Workers::Impl::is_claimed(std::int64_t run) const {
  const auto found = runs.find(run);
  return found != runs.end() && was_given(run, found->second.worker) && !is_other_run(run, found->second.key);
}

bool Workers::Impl::has_room(const std::string& command, std::int64_t run) const {
  const Instant now = runtime.scheduler().now();
  const std::shared_ptr<const Job> job = remote.job_of(run);
  const bool needs_idle = job != nullptr && job->route == Route::Busyover;
  return std::ranges::any_of(workers, [&](const auto& entry) {
    return can_take(runs, entry.second, command, now, options.silent) && (!needs_idle || is_idle(entry.second, *remote.find(run)));
  });
}

bool Workers::Impl::is_idle(const WorkerEntry& worker, const JobRun& run) const {
  return std::ranges::none_of(worker.runs, [&](std::int64_t id) {
    const JobRun* const other = remote.find(id);
    return other != nullptr && other->job_id == run.job_id && id != run.id && !runs.at(id).has_ended;
  });
}

std::string Workers::Impl::held(std::int64_t run) const {
  const Instant now = runtime.scheduler().now();
  const JobRun* const known = remote.find(run);
  const std::string worker = known == nullptr ? std::string{} : known->worker;
  if (now >= settled || worker.empty() || came.contains(worker)) return {};
  const std::int64_t until = (runtime.clock().wall_now() + (settled - now)).nanoseconds() / kSecond + 1;
  const std::string of = worker == kUnknownWorker ? "each worker reports" : "worker '" + worker + "' reports";
  return "waits until " + of + " whether it has run " + std::to_string(run) + ", at most until " +
         calendar::format_rfc3339(WallTime::from_nanoseconds(until * kSecond));
}

void Workers::Impl::begin(const std::string& command, const AsyncRun& run) {
  if (const auto known = runs.find(run.run()); known != runs.end()) {
    const PlacedRun& placed = known->second;
    const bool is_old = placed.has_ended && placed.attempt < run.attempt();
    const bool is_other = is_other_run(run.run(), placed.key);
    const bool is_given = was_given(run.run(), placed.worker) && !is_other;
    if (placed.command == command && !is_old && is_given) return link(run.run(), run);
    // The end of an earlier attempt; or the worker claimed the run before the runs of an earlier process were known.
    const bool is_refused = !is_given && !is_old;
    if (is_refused) ++stats.refused;
    const auto claimer = workers.find(placed.worker);
    if (is_refused && claimer != workers.end()) claimer->second.full_until = runtime.scheduler().now() + kPauseOfWorker;
    if (!is_old) send_stop(placed.worker, run.run(), is_other ? kOtherRun : is_given ? "the run is of another handler" : kNotGiven);
    remove(run.run());
  }
  if (run.job().route == Route::ShardingBroadcast) return run.end({StatusCode::InvalidArgument, kNoShards});
  const auto best = run.job().route == Route::Default ? least_used(command) : routed(command, run);
  // It was claimed by a worker that cannot have it; or Route::Busyover finds no idle one.
  if (best == workers.end()) return run.put_back();
  give(best->first, best->second, command, run);
}

Workers::Impl::Entries::iterator Workers::Impl::least_used(const std::string& command) {
  const Instant now = runtime.scheduler().now();
  auto best = workers.end();
  for (auto at = workers.begin(); at != workers.end(); ++at) {
    if (!can_take(runs, at->second, command, now, options.silent)) continue;
    const auto share = [&](const WorkerEntry& worker, const WorkerEntry& other) { return places_in_use(runs, worker) * other.places; };
    if (best == workers.end() || share(at->second, best->second) < share(best->second, at->second)) best = at;
  }
  return best;
}

Workers::Impl::Entries::iterator Workers::Impl::routed(const std::string& command, const AsyncRun& run) {
  const Instant now = runtime.scheduler().now();
  const JobRun* const row = remote.find(run.run());
  std::vector<Candidate> candidates;
  for (const auto& [name, worker] : workers) {
    if (!worker.orders || !worker.offers.contains(command)) continue;
    candidates.push_back(
        {.name = name, .is_healthy = can_take(runs, worker, command, now, options.silent), .is_idle = is_idle(worker, *row)});
  }
  const auto chosen = router.choose(run.job().route, row->job_id, candidates, now);
  return chosen ? workers.find(candidates[*chosen].name) : workers.end();
}

void Workers::Impl::give(const std::string& name, WorkerEntry& worker, const std::string& command, const AsyncRun& run) {
  ++stats.given;
  runs.emplace(run.run(), PlacedRun{.worker = name,
                                    .command = command,
                                    .attempt = run.attempt(),
                                    .key = run_key(run.job().name, run.scheduled()),
                                    .open = run,
                                    .is_confirmed = false,
                                    .has_ended = false,
                                    .end = {}});
  worker.runs.insert(run.run());
  worker.unconfirmed.insert(run.run());
  run.placed_at("worker " + name);
  run.begins_later("waits until the database has its worker, " + name);
  run.on_stop([this, name, id = run.run()] { stop(name, id); });
  record_and_start(run.run());
}

void Workers::Impl::record_and_start(std::int64_t id) {
  const PlacedRun& placed = runs.at(id);
  remote.note_worker(id, placed.worker,
                     [weak = std::weak_ptr<Impl*>(self), id, name = placed.worker, attempt = placed.attempt](const Result<bool>& recorded) {
                       const auto parts = weak.lock();
                       if (parts == nullptr) return;
                       const auto found = (*parts)->runs.find(id);
                       if (found == (*parts)->runs.end() || found->second.worker != name || found->second.attempt != attempt) return;
                       PlacedRun& run = found->second;
                       if (run.is_recorded || !run.open) return;
                       // It was stopped before its worker was ordered to begin it, so it never begins.
                       if (run.open->is_stop_requested()) return (*parts)->finish(id, {.is_refused = true});
                       if (!recorded) return;  // record_again() tries again.
                       run.is_recorded = true;
                       (*parts)->send_start((*parts)->workers.at(name), run);
                       (*parts)->ask_held(id);
                     });
}

void Workers::Impl::record_again() {
  for (const auto& [id, run] : runs) {
    if (run.open && !run.is_recorded) record_and_start(id);
  }
}

bool Workers::Impl::was_given(std::int64_t run, const std::string& worker) const {
  const JobRun* const known = remote.find(run);
  return known != nullptr && (known->worker == worker || known->worker == kUnknownWorker);
}

void Workers::Impl::send_start(WorkerEntry& worker, PlacedRun& placed) {
  const AsyncRun& run = *placed.open;
  run.begins_later("waits until worker " + placed.worker + " has begun it");
  if (!worker.orders) return;
  placed.sent = runtime.scheduler().now();
  json::object start{{"run", run.run()},
                     {"attempt", run.attempt()},
                     {"key", run_key(run.job().name, run.scheduled())},
                     {"command", placed.command},
                     {"job", commands::text(run.job().name)},
                     {"parameters", commands::text(run.job().parameters)},
                     {"scheduled", calendar::format_rfc3339(run.scheduled())},
                     {"timeout_ms", run.job().timeout / 1ms}};
  if (const auto trace = remote.trace(run.run())) {
    start["traceparent"] = trace->parent_of(static_cast<std::uint64_t>(run.run()) * (limits::kJobRetries + 1) + run.attempt());
    if (!trace->state().empty()) start["tracestate"] = commands::text(trace->state());
  }
  worker.orders->row(json::object{{"start", std::move(start)}});
  worker.orders->flush();
}

void Workers::Impl::send_stop(const std::string& name, std::int64_t run, std::string_view why) {
  const auto worker = workers.find(name);
  // To a worker that is away it is sent when the worker comes back with the run.
  if (worker == workers.end() || !worker->second.orders) return;
  worker->second.orders->row(json::object{{"stop", json::object{{"run", run}, {"why", commands::sentence(why)}}}});
  worker->second.orders->flush();
}

void Workers::Impl::stop(const std::string& name, std::int64_t run) {
  if (const auto placed = runs.find(run); placed != runs.end()) {
    placed->second.stopped = runtime.scheduler().now();
    if (!placed->second.is_recorded) return;  // The worker does not get it.
  }
  send_stop(name, run, "the run was stopped");
}

void Workers::Impl::send_refused(WorkerEntry& worker, std::int64_t run, std::string_view why) {
  worker.orders->row(json::object{{"refused", json::object{{"run", run}, {"why", commands::sentence(why)}}}});
  worker.orders->flush();
}

void Workers::Impl::link(std::int64_t run, const AsyncRun& open) {
  ++stats.linked;
  PlacedRun& placed = runs.at(run);
  placed.open = open;
  placed.is_recorded = true;
  open.placed_at("worker " + placed.worker);
  if (placed.begun) open.began_at(*placed.begun);
  if (placed.end) return finish(run, ReportedEnd{*placed.end});
  open.on_stop([this, name = placed.worker, run] { stop(name, run); });
}

void Workers::Impl::finish(std::int64_t run, const ReportedEnd& end) {
  const std::optional<AsyncRun> open = runs.at(run).open;
  remove(run);
  if (open && end.ended) open->ended_at(*end.ended);
  if (open) end.is_refused ? open->put_back() : open->end(end.status, end.note);
  find_room();
}

void Workers::Impl::remove(std::int64_t run) {
  const auto found = runs.find(run);
  const auto worker = workers.find(found->second.worker);
  if (worker != workers.end()) {
    worker->second.runs.erase(run);
    worker->second.unconfirmed.erase(run);
  }
  runs.erase(found);
}

void Workers::Impl::take_back(WorkerEntry& worker) {
  const std::set<std::int64_t> of_worker = worker.runs;
  for (const std::int64_t run : of_worker) {
    const PlacedRun& placed = runs.at(run);
    if (!placed.open || placed.is_recorded) continue;
    const AsyncRun open = *placed.open;
    remove(run);
    open.put_back();
  }
}

std::set<std::string> Workers::Impl::offered_commands() const {
  std::set<std::string> offered;
  for (const auto& [name, worker] : workers) {
    if (!worker.orders) continue;
    for (const auto& [command, places] : worker.offers) offered.insert(command);
  }
  return offered;
}

void Workers::Impl::find_room() {
  for (const std::string& command : offered_commands()) jobs.has_room("command/" + command);
}

void Workers::Impl::check_again() {
  for (const std::string& command : offered_commands()) remote.check_again("command/" + command);
}

}  // namespace rondo::jobs
