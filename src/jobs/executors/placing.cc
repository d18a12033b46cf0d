// executors_impl.h: gives runs to executors, and ends them.
#include <algorithm>

#include "jobs/executors/executors_impl.h"
#include "jobs/named_few.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::executors {

namespace {

constexpr std::int64_t kDone = 200;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kShardsOfLogId = 1'000;
constexpr std::int64_t kAttemptsOfLogId = 10;

/// The part of "executor/GROUP/NAME" that an executor knows.
std::string name_at_executor(const std::string& group, const std::string& handler) {
  return handler.substr(std::min(handler.size(), handlers_of(group).size()));
}

/// True if its executor may have it.
bool was_sent_to(const Shard& shard) {
  return shard.stage == Shard::Stage::Sent || shard.stage == Shard::Stage::Silent || shard.stage == Shard::Stage::Accepted;
}

std::string addresses_of(const std::vector<Shard>& shards) {
  std::string all;
  for (const Shard& shard : shards) all += (all.empty() ? "" : ",") + shard.address;
  return all;
}

}  // namespace

std::string handlers_of(std::string_view group) { return std::string{kHandlers} + std::string{group} + "/"; }

std::int64_t log_id_of(std::int64_t run, std::uint32_t attempt, std::size_t shard) noexcept {
  return (run * kAttemptsOfLogId + attempt % kAttemptsOfLogId) * kShardsOfLogId + static_cast<std::int64_t>(shard);
}

LogId LogId::parse(std::int64_t number) noexcept {
  return {.run = number / kShardsOfLogId / kAttemptsOfLogId,
          .attempt = static_cast<std::uint32_t>(number / kShardsOfLogId % kAttemptsOfLogId),
          .shard = static_cast<std::size_t>(number % kShardsOfLogId)};
}

bool LogId::is_of(std::uint32_t of_attempt) const noexcept { return of_attempt % kAttemptsOfLogId == attempt; }

bool Executors::Impl::has_room(const Group& group, std::int64_t run) const {
  const std::shared_ptr<const Job> job = remote.job_of(run);
  const JobRun* const row = remote.find(run);
  if (job == nullptr || row == nullptr) return false;
  return std::ranges::any_of(candidates(group, row->job_id, job->route), [&](const Candidate& candidate) {
    return candidate.is_healthy && (candidate.is_idle || job->route != Route::Busyover);
  });
}

std::string Executors::Impl::why_no_room(const Group& group) const {
  if (group.nodes.empty()) return "no executor has registered for group '" + group.settings.name + "' since the start";
  NamedFew named;
  for (const auto& [address, node] : group.nodes) {
    if (node.is_drained) {
      named.add("executor " + address + " is drained");
    } else if (node.has_left) {
      named.add("executor " + address + " has taken leave");
    } else if (!node.trouble.empty()) {
      named.add("executor " + address + ": " + node.trouble);
    } else if (!is_healthy(node)) {
      named.add("executor " + address + " has not registered again in time");
    }
  }
  return named.text("more executor", "more executors");
}

bool Executors::Impl::has_begun(std::int64_t run) const {
  const JobRun* const row = remote.find(run);
  return row != nullptr && row->worker.starts_with("http") && !runs.contains(run);
}

void Executors::Impl::begin(const std::string& group, const AsyncRun& run) {
  const JobRun* const row = remote.find(run.run());
  const auto found = groups.find(group);
  if (row == nullptr || found == groups.end()) return run.put_back();
  OpenRun open{.open = run, .group = group, .job = row->job_id, .log_time_ms = row->due.nanoseconds() / kMillisecond};
  if (open.job > limits::kExecutorJob || log_id_of(run.run(), 0, 0) > limits::kExecutorLogId - kShardsOfLogId * kAttemptsOfLogId)
    return run.end({StatusCode::InvalidArgument, "executors have no room for this number of a job or run"});
  if (has_begun(run.run())) return link(std::move(open), row->worker);
  open.shards = place(found->second, run, open.job);
  if (open.shards.empty()) return run.put_back();
  const std::string addresses = addresses_of(open.shards);
  run.placed_at(open.shards.size() == 1 ? "executor " + addresses : std::to_string(open.shards.size()) + " executors");
  run.begins_later("waits until the database has its executor, " + open.shards.front().address);
  run.on_stop([this, id = run.run()] { stop(id); });
  if (!apply_overlap(open)) return run.put_back();
  add_run(std::move(open));
  record_and_send(run.run());
}

std::vector<Shard> Executors::Impl::place(Group& group, const AsyncRun& run, std::int64_t job) {
  const Route route = run.job().route;
  const std::vector<Candidate> all = candidates(group, job, route);
  const Instant now = runtime.scheduler().now();
  std::vector<Shard> shards;
  if (route != Route::ShardingBroadcast) {
    if (const auto chosen = group.router.choose(route, job, all, now))
      shards.push_back({.address = std::string{all[*chosen].name}, .since = now});
    return shards;
  }
  const auto before = retries.find(run.run());
  if (before == retries.end()) {
    for (const Candidate& one : all) shards.push_back({.address = std::string{one.name}, .since = now});
    return shards;
  }
  // The index and the number of the shards stay. Those that have succeeded are not sent again.
  shards = std::move(before->second);
  retries.erase(before);
  if (all.empty()) return {};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    Shard& shard = shards[i];
    if (shard.status.ok()) continue;
    const bool is_there = std::ranges::find(all, shard.address, &Candidate::name) != all.end();
    shard = {.address = is_there ? shard.address : std::string{all[i < all.size() ? i : 0].name}, .since = now};
  }
  return shards;
}

void Executors::Impl::link(OpenRun open, std::string_view addresses) {
  ++stats.linked;
  const Instant now = runtime.scheduler().now();
  while (!addresses.empty()) {
    const std::string_view address = addresses.substr(0, addresses.find(','));
    addresses.remove_prefix(std::min(address.size() + 1, addresses.size()));
    open.shards.push_back({.address = std::string{address}, .stage = Shard::Stage::Accepted, .since = now});
  }
  open.is_recorded = true;
  const AsyncRun run = open.open;
  run.placed_at(open.shards.size() == 1 ? "executor " + open.shards.front().address : std::to_string(open.shards.size()) + " executors");
  add_run(std::move(open));
  run.on_stop([this, id = run.run()] { stop(id); });
  const auto waiting = early.extract(run.run());
  if (waiting.empty()) return;
  for (const EarlyResult& result : waiting.mapped()) {
    if (!take(result.callback, result.groups, result.item)) stored(result.callback, run.run());
  }
}

void Executors::Impl::record_and_send(std::int64_t id) {
  const OpenRun& run = runs.at(id);
  remote.note_worker(id, addresses_of(run.shards),
                     [weak = std::weak_ptr<Impl*>(self), id, attempt = run.open.attempt()](const Result<bool>& recorded) {
                       const auto parts = weak.lock();
                       if (parts == nullptr || !recorded) return;  // tick() tries again.
                       const auto found = (*parts)->runs.find(id);
                       if (found == (*parts)->runs.end() || found->second.open.attempt() != attempt) return;
                       OpenRun& open = found->second;
                       if (std::exchange(open.is_recorded, true) || open.stop_by) return;
                       (*parts)->send_what_may(open);
                     });
}

void Executors::Impl::post(const Group& group, const std::string& address, std::string_view path, std::string body, http::CallDone done) {
  http::ClientRequest request{.url = address + std::string{path},
                              .headers = {{"Content-Type", "application/json;charset=UTF-8"}, {"XXL-JOB-APPNAME", group.settings.name}},
                              .body = std::move(body),
                              .timeout = settings.call};
  if (!group.settings.token.empty()) {
    request.headers.push_back({"XXL-JOB-ACCESS-TOKEN", group.settings.token});
    const auto node = group.nodes.find(address);
    if (node != group.nodes.end() && node->second.dialect == Dialect::Orth)
      request.headers.push_back({"Orth-ACCESS-TOKEN", group.settings.token});
  }
  if (path == "/log") request.answer_bytes = limits::kExecutorLogBytes;
  // A request on a used connection may be sent twice.
  request.fresh_connection = path == "/run" || path == "/trigger";
  auto if_here = [weak = std::weak_ptr<Impl*>(self), done](Result<http::ClientAnswer> answer) {
    if (weak.lock() != nullptr) done(std::move(answer));
  };
  Status refused = call(std::move(request), if_here);
  if (refused.ok()) return;
  // Nothing was sent, whatever the reason is.
  refused_calls.emplace_back(std::move(if_here), Status{StatusCode::Unavailable, std::string{refused.message()}});
  refused_timer.arm_at(runtime.scheduler().now());
}

void Executors::Impl::end_refused() {
  for (auto& [done, why] : std::exchange(refused_calls, {})) done(failure(std::move(why)));
}

void Executors::Impl::send(OpenRun& run, std::size_t index, Lane& lane) {
  Shard& shard = run.shards[index];
  const Group& group = groups.find(run.group)->second;
  const auto known = group.nodes.find(shard.address);
  const Dialect dialect = known == group.nodes.end() ? Dialect::Classic : known->second.dialect;
  const Job& job = run.open.job();
  const std::int64_t id = run.open.run();
  const JobRun* const row = remote.find(id);
  const bool is_scheduled = row != nullptr && row->band != Band::Manual;
  const RunOrder order{.job = run.job,
                       .handler = name_at_executor(run.group, job.handler),
                       .parameters = job.parameters,
                       .overlap = job.overlap,
                       .timeout_s = (job.timeout + (1s - 1ns)) / 1s,
                       .log_id = log_id_of(id, run.open.attempt(), index),
                       .log_time_ms = run.log_time_ms,
                       .shard = static_cast<std::uint32_t>(index),
                       .shards = static_cast<std::uint32_t>(run.shards.size()),
                       .concurrency = job.concurrency,
                       .schedule_time_ms = is_scheduled ? std::optional{run.open.scheduled().nanoseconds() / kMillisecond} : std::nullopt};
  shard.stage = Shard::Stage::Sent;
  shard.since = runtime.scheduler().now();
  run.open.begins_later("waits until " + shard.address + " has accepted it");
  post(group, shard.address, dialect == Dialect::Later ? "/trigger" : "/run", run_body(order, dialect == Dialect::Orth),
       [this, &lane, id, attempt = run.open.attempt(), index, sent = shard.since, address = shard.address,
        job = run.job](Result<http::ClientAnswer> answer) {
         // The program ends: its next start links the run.
         if (!answer && answer.error().code() == StatusCode::Cancelled) return;
         leave_lane(lane, address, job, runtime.scheduler().now() - sent);
         answered(id, attempt, index, answer);
         find_room();
       });
}

void Executors::Impl::answered(std::int64_t id, std::uint32_t attempt, std::size_t index, const Result<http::ClientAnswer>& answer) {
  const auto found = runs.find(id);
  if (found == runs.end() || found->second.open.attempt() != attempt || index >= found->second.shards.size()) return;
  OpenRun& run = found->second;
  Shard& shard = run.shards[index];
  if (!answer) failed(run.group, shard.address, answer.error());
  if (answer) is_well(run.group, shard.address);
  // Its result may have come before the answer. is_well() may have begun other runs, but not ended this one.
  if (shard.stage != Shard::Stage::Sent) return;
  if (!answer && answer.error().code() == StatusCode::DeadlineExceeded) {
    shard.stage = Shard::Stage::Silent;
    shard.since = runtime.scheduler().now();
    return run.open.in_trouble(shard.address +
                               " has not answered the order, and may have the run: " + std::string{answer.error().message()});
  }
  if (!answer) return unsent(id, index, answer.error());
  const auto said = parse_call_answer(answer->status, answer->body);
  Node* const known = node(run.group, shard.address);
  if (said && said->code == kDone) return accepted(run, shard);
  ++stats.refused;
  if (known != nullptr) ++known->refused;
  if (said && known != nullptr && known->dialect == Dialect::Classic &&
      said->message.find("uri-mapping(/run) not found") != std::string::npos) {
    known->dialect = Dialect::Later;
    enter_lane(run, index);
    return serve_lanes();
  }
  const std::string why = said ? "it answered " + std::to_string(said->code) + ": " + said->message : std::string{said.error().message()};
  end_shard(run, shard, {StatusCode::FailedPrecondition, shard.address + " did not accept the run: " + why}, {});
  finish_if_ended(id);
}

void Executors::Impl::unsent(std::int64_t id, std::size_t index, const Status& why) {
  ++stats.unsent;
  OpenRun& run = runs.at(id);
  Shard& shard = run.shards[index];
  if (run.shards.size() == 1 && !run.stop_by && why.code() == StatusCode::Unavailable) {
    const AsyncRun open = take_run(id).open;
    remote.note_worker(id, {});  // After a crash nobody has it.
    return open.put_back();
  }
  end_shard(run, shard, {why.code(), "it was not sent: " + std::string{why.message()}}, {});
  finish_if_ended(id);
}

void Executors::Impl::accepted(OpenRun& run, Shard& shard) {
  ++stats.dispatched;
  if (Node* const known = node(run.group, shard.address)) ++known->accepted;
  shard.stage = Shard::Stage::Accepted;
  shard.since = runtime.scheduler().now();
  run.open.began_at(runtime.clock().wall_now());
}

void Executors::Impl::end_shard(OpenRun& run, Shard& shard, Status status, std::string note) {
  // An end may come before the answer to the order.
  if (shard.stage == Shard::Stage::Sent && status.ok()) run.open.began_at(runtime.clock().wall_now());
  shard.stage = Shard::Stage::Ended;
  shard.status = std::move(status);
  shard.note = std::move(note);
  freed.emplace(run.job, shard.address);
}

void Executors::Impl::finish_if_ended(std::int64_t id) {
  const auto found = runs.find(id);
  const auto has_ended = [](const Shard& shard) { return shard.stage == Shard::Stage::Ended; };
  if (found == runs.end() || !std::ranges::all_of(found->second.shards, has_ended)) return;
  end_run(take_run(id));
  find_room();
}

void Executors::Impl::end_run(const OpenRun& run) {
  const AsyncRun& open = run.open;
  if (run.shards.size() == 1) return open.end(run.shards.front().status, run.shards.front().note);
  const auto has_failed = [](const Shard& shard) { return !shard.status.ok(); };
  const auto failures = std::ranges::count_if(run.shards, has_failed);
  if (failures == 0) {
    const auto discarded = static_cast<std::size_t>(std::ranges::count_if(run.shards, &Shard::is_discarded));
    const std::string others = std::to_string(discarded) + " were discarded, because their executors had another run";
    return open.end({}, std::to_string(run.shards.size() - discarded) + " shards succeeded" + (discarded == 0 ? "" : ", " + others));
  }
  const auto first = std::ranges::find_if(run.shards, has_failed);
  const std::string what = std::to_string(failures) + " of " + std::to_string(run.shards.size()) + " shards failed; shard " +
                           std::to_string(first - run.shards.begin()) + " at " + first->address + ": ";
  if (open.attempt() < open.job().retries && retries.size() < limits::kExecutorRetries) retries.insert_or_assign(open.run(), run.shards);
  open.end({first->status.code(), what + std::string{first->status.message()}});
}

OpenRun& Executors::Impl::add_run(OpenRun run) {
  const std::int64_t id = run.open.run();
  by_job[run.job].insert(id);
  return runs.insert_or_assign(id, std::move(run)).first->second;
}

OpenRun Executors::Impl::take_run(std::int64_t id) {
  OpenRun run = std::move(runs.extract(id).mapped());
  const auto of_job = by_job.find(run.job);
  of_job->second.erase(id);
  if (of_job->second.empty()) by_job.erase(of_job);
  for (const Shard& shard : run.shards) freed.emplace(run.job, shard.address);
  return run;
}

void Executors::Impl::stop(std::int64_t id) {
  const auto found = runs.find(id);
  if (found == runs.end()) return;
  OpenRun& run = found->second;
  const bool was_sent = std::ranges::any_of(run.shards, [](const Shard& shard) { return was_sent_to(shard); });
  run.stop_by = runtime.scheduler().now() + (was_sent ? settings.stopping : Duration{0});
  for (const Shard& shard : run.shards) {
    if (!was_sent_to(shard)) continue;
    post(groups.find(run.group)->second, shard.address, "/kill", job_body(run.job), [](const Result<http::ClientAnswer>&) {});
  }
}

void Executors::Impl::find_room() {
  for (const auto& [job, address] : std::exchange(freed, {})) send_next(job, address);
  for (const auto& [name, group] : groups) jobs.has_room(handlers_of(name));
}

}  // namespace rondo::jobs::executors
