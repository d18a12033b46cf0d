// executors_impl.h: which executors get a run.
#include <algorithm>
#include <charconv>

#include "jobs/executors/executors_impl.h"
#include "jobs/named_few.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs::executors {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

std::string addresses_of(const std::vector<Shard>& shards) {
  std::string all;
  for (const Shard& shard : shards) all += (all.empty() ? "" : ",") + shard.address;
  return all;
}

/// Between the addresses of JobRun::worker and the milliseconds since 1970 when the attempt was sent.
constexpr char kSentMark = ' ';

std::string place_of(const std::vector<Shard>& shards) {
  return shards.size() == 1 ? "executor " + shards.front().address : std::to_string(shards.size()) + " executors";
}

std::string_view state_of(const Shard& shard) {
  switch (shard.stage) {
    case Shard::Stage::Waits:
    case Shard::Stage::InLine:
    case Shard::Stage::Placed: return "waiting";
    case Shard::Stage::Sent:
    case Shard::Stage::Silent: return "sent";
    case Shard::Stage::Accepted: return "running";
    case Shard::Stage::Ended: break;
  }
  return !shard.status.ok() ? "failed" : shard.is_discarded ? "discarded" : "succeeded";
}

}  // namespace

bool is_at_executors(std::string_view worker) noexcept { return worker.starts_with("http://") || worker.starts_with("https://"); }

std::vector<std::string> addresses_in(std::string_view worker) {
  std::vector<std::string> all;
  worker = worker.substr(0, worker.find(kSentMark));
  while (!worker.empty()) {
    const std::string_view address = worker.substr(0, worker.find(','));
    all.emplace_back(address);
    worker.remove_prefix(std::min(address.size() + 1, worker.size()));
  }
  return all;
}

std::optional<WallTime> sent_in(std::string_view worker) {
  const std::size_t mark = worker.find(kSentMark);
  const std::string_view digits = mark == std::string_view::npos ? std::string_view{} : worker.substr(mark + 1);
  std::int64_t milliseconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), milliseconds);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return WallTime::from_nanoseconds(milliseconds * kMillisecond);
}

bool Executors::Impl::has_room(Group& group, std::int64_t run) {
  const std::shared_ptr<const Job> job = remote.job_of(run);
  const JobRun* const row = remote.find(run);
  // What waits in a lane has its address, and would not go to an executor that registers meanwhile.
  if (job == nullptr || row == nullptr || in_line >= settings.fast_lane + settings.slow_lane) return false;
  const std::vector<Candidate> all = candidates(group, row->job_id, job->route, row->address);
  if (std::ranges::any_of(group.nodes, [this](const auto& one) { return !one.second.is_drained && is_healthy(one.second); })) {
    group.starved_since.reset();
  } else if (!group.starved_since) {
    group.starved_since = runtime.scheduler().now();
  }
  return std::ranges::any_of(all, [&](const Candidate& one) { return one.is_healthy && (one.is_idle || job->route != Route::Busyover); });
}

std::string Executors::Impl::why_no_room(const Group& group, std::int64_t run) const {
  const JobRun* const row = remote.find(run);
  const std::string only = row == nullptr ? std::string{} : row->address;
  if (!only.empty() && !group.nodes.contains(only)) return "executor " + only + ", the only one for this run, is not registered";
  if (group.nodes.empty()) return "no executor has registered for group '" + group.settings.name + "'";
  if (in_line >= settings.fast_lane + settings.slow_lane) return std::to_string(in_line) + " orders wait for executors";
  NamedFew named;
  for (const auto& [address, node] : group.nodes) {
    if (!only.empty() && address != only) continue;
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

std::vector<RunPart> Executors::Impl::parts_of(const JobRun& run) const {
  const auto open = runs.find(run.id);
  const auto kept = shown.find(run.id);
  std::vector<Shard> shards = open != runs.end() ? open->second.shards : kept != shown.end() ? kept->second : std::vector<Shard>{};
  if (shards.empty() && is_at_executors(run.worker)) {
    for (std::string& address : addresses_in(run.worker)) shards.push_back({.address = std::move(address)});
  }
  std::vector<RunPart> parts;
  if (shards.size() < 2) return parts;
  const bool is_known = open != runs.end() || kept != shown.end();
  for (Shard& shard : shards) {
    const std::string_view state = is_known ? state_of(shard) : run.state == RunState::Succeeded ? "succeeded" : "unknown";
    std::string note = shard.status.ok() ? std::move(shard.note) : std::string{shard.status.message()};
    parts.push_back({std::move(shard.address), state, shard.begun, shard.ended, std::move(note)});
  }
  return parts;
}

bool Executors::Impl::has_begun(std::int64_t run) const {
  const JobRun* const row = remote.find(run);
  return row != nullptr && is_at_executors(row->worker) && !runs.contains(run);
}

void Executors::Impl::begin(const std::string& group, const AsyncRun& run) {
  const JobRun* const row = remote.find(run.run());
  const auto found = groups.find(group);
  if (row == nullptr || found == groups.end()) return run.put_back();
  OpenRun open{.open = run, .group = group, .job = row->job_id, .log_time_ms = row->due.nanoseconds() / kMillisecond};
  if (open.job > limits::kExecutorJob || run.run() >= LogId::parse(limits::kExecutorLogId).run)
    return run.end({StatusCode::InvalidArgument, "executors have no room for this number of a job or run"});
  if (has_begun(run.run())) return link(std::move(open), row->worker);
  open.shards = place(found->second, run, *row);
  if (open.shards.empty() || !apply_overlap(open)) return run.put_back();
  run.placed_at(place_of(open.shards));
  run.begins_later("waits for earlier runs of the job at " + open.shards.front().address);
  run.on_stop([this, id = run.run()] { stop(id); });
  const OpenRun& added = add_run(std::move(open));
  for (const Shard& shard : added.shards) freed.emplace(added.job, shard.address);
  find_room();
}

std::vector<Shard> Executors::Impl::place(Group& group, const AsyncRun& run, const JobRun& row) {
  const Route route = run.job().route;
  const std::vector<Candidate> all = candidates(group, row.job_id, route, row.address);
  const Instant now = runtime.scheduler().now();
  std::vector<Shard> shards;
  if (route != Route::ShardingBroadcast || !row.address.empty()) {
    const Route of_run = row.address.empty() ? route : Route::First;  // There is one candidate.
    if (const auto chosen = group.router.choose(of_run, row.job_id, all, now))
      shards.push_back({.address = std::string{all[*chosen].name}, .since = now});
    return shards;
  }
  std::vector<std::string> addresses;
  for (const Candidate& one : all) {
    const Node& node = group.nodes.find(std::string{one.name})->second;
    if (node.is_manual || now - node.heard <= settings.beat) addresses.emplace_back(one.name);
  }
  if (addresses.empty()) return {};
  const auto before = retries.find(row.rerun_of != 0 && run.attempt() == 0 ? row.rerun_of : row.id);
  if (before == retries.end()) {
    for (const std::string& address : addresses) shards.push_back({.address = address, .since = now});
    return shards;
  }
  // The index and the number of the shards stay. Those that have succeeded are not sent again.
  shards = std::move(before->second);
  retries.erase(before);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    Shard& shard = shards[i];
    if (shard.status.ok()) continue;
    const bool is_there = std::ranges::find(addresses, shard.address) != addresses.end();
    shard = {.address = is_there ? shard.address : addresses[i < addresses.size() ? i : 0], .since = now};
  }
  return shards;
}

void Executors::Impl::link(OpenRun open, std::string_view addresses) {
  ++stats.linked;
  const Instant now = runtime.scheduler().now();
  for (const std::string& address : addresses_in(addresses))
    open.shards.push_back({.address = address, .stage = Shard::Stage::Accepted, .since = now, .begun = sent_in(addresses)});
  open.is_recorded = true;
  const AsyncRun run = open.open;
  run.placed_at(place_of(open.shards));
  add_run(std::move(open));
  if (const std::optional<WallTime> sent = sent_in(addresses)) run.began_at(*sent);
  run.on_stop([this, id = run.run()] { stop(id); });
  const auto waiting = early.extract(run.run());
  if (waiting.empty()) return;
  early_results -= waiting.mapped().size();
  bool waits = false;
  for (const EarlyResult& result : waiting.mapped()) waits = take(result.groups, result.item) == Taken::Waits || waits;
  if (!waits) stored(run.run());
}

void Executors::Impl::record(std::int64_t id) {
  OpenRun& run = runs.at(id);
  if (std::exchange(run.is_recording, true)) return;
  const std::string addresses = addresses_of(run.shards);
  run.open.begins_later("waits until the database has its executor, " + run.shards.front().address);
  const std::int64_t now_ms = runtime.clock().wall_now().nanoseconds() / kMillisecond;
  remote.note_worker(id, addresses + kSentMark + std::to_string(now_ms),
                     [weak = std::weak_ptr<Impl*>(self), id, attempt = run.open.attempt(), addresses](const Result<bool>& recorded) {
                       const auto parts = weak.lock();
                       if (parts == nullptr) return;
                       const auto found = (*parts)->runs.find(id);
                       if (found == (*parts)->runs.end()) return;
                       OpenRun& open = found->second;
                       if (open.open.attempt() != attempt || addresses_of(open.shards) != addresses) return;
                       open.is_recording = false;
                       if (!recorded) return;  // tick() tries again.
                       open.is_recorded = true;
                       (*parts)->send_placed(open);
                     });
}

void Executors::Impl::send_placed(OpenRun& run) {
  for (std::size_t i = 0; i < run.shards.size(); ++i) {
    if (run.shards[i].stage == Shard::Stage::Placed) send(run, i);
  }
}

OpenRun& Executors::Impl::add_run(OpenRun run) {
  const std::int64_t id = run.open.run();
  OpenRun& added = runs.insert_or_assign(id, std::move(run)).first->second;
  for (std::size_t i = 0; i < added.shards.size(); ++i) {
    if (added.shards[i].stage != Shard::Stage::Ended) set_stage(added, i, added.shards[i], added.shards[i].stage);
  }
  return added;
}

OpenRun Executors::Impl::take_run(std::int64_t id) {
  OpenRun run = std::move(runs.extract(id).mapped());
  for (std::size_t i = 0; i < run.shards.size(); ++i) {
    if (run.shards[i].stage != Shard::Stage::Ended) set_stage(run, i, run.shards[i], Shard::Stage::Ended);
  }
  return run;
}

void Executors::Impl::use_room() {
  for (const std::int64_t id : std::exchange(stopped, {})) finish_if_ended(id);
  for (const auto& one : std::exchange(freed, {})) send_next(one);
  serve(fast);
  serve(slow);
  store_nodes();
  for (const auto& [name, group] : groups) jobs.has_room(handlers_of(name));
}

}  // namespace rondo::jobs::executors
