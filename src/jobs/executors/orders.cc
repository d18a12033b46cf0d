// executors_impl.h: what is sent to executors, and what they answer.
#include <algorithm>

#include "jobs/executors/executors_impl.h"

namespace rondo::jobs::executors {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

/// The part of "executor/GROUP/NAME" that an executor knows.
std::string name_at_executor(const std::string& group, const std::string& handler) {
  return handler.substr(std::min(handler.size(), handlers_of(group).size()));
}

/// The fields that make the order a part of the trace of the call that asked for the run.
std::vector<http::Field> fields_of(const std::shared_ptr<const TraceContext>& trace, std::int64_t log_id) {
  if (trace == nullptr) return {};
  std::vector<http::Field> fields{{"traceparent", trace->parent_of(static_cast<std::uint64_t>(log_id))}};
  if (!trace->state().empty()) fields.push_back({"tracestate", trace->state()});
  return fields;
}

/// True if the executor does not know the path to which the order was sent, for the first time.
bool speaks_otherwise(const Shard& shard, std::string_view message) {
  return !shard.is_asked_again && message.find("uri-mapping(" + shard.path + ") not found") != std::string::npos;
}

/// False if a call that failed so has certainly not reached the executor.
bool was_sent(const Status& why) { return why.code() != StatusCode::Unavailable && why.code() != StatusCode::PermissionDenied; }

}  // namespace

void Executors::Impl::post(const Group& group, const std::string& address, std::string_view path, std::string body, http::CallDone done,
                           const std::vector<http::Field>& trace) {
  http::ClientRequest request{.url = address + std::string{path},
                              .headers = {{"Content-Type", "application/json;charset=UTF-8"}, {"XXL-JOB-APPNAME", group.settings.name}},
                              .body = std::move(body),
                              .timeout = settings.call};
  request.headers.insert(request.headers.end(), trace.begin(), trace.end());
  // An address that was of another group when it got its run does not learn the token of this one.
  const auto node = group.nodes.find(address);
  if (node != group.nodes.end() && !group.settings.token.empty()) {
    request.headers.push_back({"XXL-JOB-ACCESS-TOKEN", group.settings.token});
    if (node->second.dialect == Dialect::Orth) request.headers.push_back({"Orth-ACCESS-TOKEN", group.settings.token});
  }
  request.cuts_answer = path == "/log";
  if (request.cuts_answer) request.answer_bytes = limits::kExecutorLogBytes;
  // A request on a used connection may be sent twice.
  request.fresh_connection = path == "/run" || path == "/trigger" || path == "/kill";
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

void Executors::Impl::send(OpenRun& run, std::size_t index) {
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
  const Instant now = runtime.scheduler().now();
  set_stage(run, index, shard, Shard::Stage::Sent);
  shard.path = dialect == Dialect::Later ? "/trigger" : "/run";
  run.open.begins_later("waits until " + shard.address + " has accepted it");
  Lane* const lane = std::exchange(shard.lane, nullptr);  // The call keeps the place, also if the run ends before its answer.
  post(
      group, shard.address, shard.path, run_body(order, dialect == Dialect::Orth),
      [this, lane, id, attempt = run.open.attempt(), index, now, address = shard.address, of_job = run.job,
       of_group = run.group](Result<http::ClientAnswer> answer) {
        // The program ends: its next start links the run.
        if (!answer && answer.error().code() == StatusCode::Cancelled) return;
        const Duration took = runtime.scheduler().now() - now;
        lane_choice.ended(of_job, runtime.clock().wall_now(), took, jobs.options());
        Shard place{.address = address, .lane = lane};
        leave_lane(place);
        take_answer(of_group, address, answer, took);
        answered(id, attempt, index, answer);
      },
      fields_of(remote.trace(id), order.log_id));
}

void Executors::Impl::take_answer(const std::string& group, const std::string& address, const Result<http::ClientAnswer>& answer,
                                  Duration took) {
  const auto ns = static_cast<std::uint64_t>(took.count());
  if (!answer) {
    (was_sent(answer.error()) ? stats.unanswered_ns : stats.unsent_ns).add(ns);
    return failed(group, address, answer.error());
  }
  is_well(group, address);
  const auto said = parse_call_answer(answer->status, answer->body);
  const bool is_accepted = said && said->code == kCodeDone;
  ++(is_accepted ? stats.dispatched : stats.refused);
  (is_accepted ? stats.accepted_ns : stats.refused_ns).add(ns);
  if (Node* const known = node(group, address)) ++(is_accepted ? known->accepted : known->refused);
}

void Executors::Impl::answered(std::int64_t id, std::uint32_t attempt, std::size_t index, const Result<http::ClientAnswer>& answer) {
  const auto found = runs.find(id);
  if (found == runs.end() || found->second.open.attempt() != attempt || index >= found->second.shards.size()) return;
  OpenRun& run = found->second;
  Shard& shard = run.shards[index];
  // Its result may have come before the answer.
  if (shard.stage != Shard::Stage::Sent) return;
  if (!answer && !was_sent(answer.error())) return unsent(id, index, answer.error());
  if (!answer) {
    set_stage(run, index, shard, Shard::Stage::Silent);
    run.open.in_trouble(shard.address + " has not answered the order, and may have the run: " + std::string{answer.error().message()});
    if (run.stop_by) kill(run, index);
    return;
  }
  const auto said = parse_call_answer(answer->status, answer->body);
  Node* const known = node(run.group, shard.address);
  if (said && said->code == kCodeDone) return accepted(run, index);
  if (said && known != nullptr && speaks_otherwise(shard, said->message)) {
    known->dialect = shard.path == "/run" ? Dialect::Later : Dialect::Classic;
    set_stage(run, index, shard, Shard::Stage::Waits);
    shard.is_asked_again = true;
    freed.emplace(run.job, shard.address);
    return find_room();
  }
  const std::string why = said ? "it answered " + std::to_string(said->code) + ": " + said->message : std::string{said.error().message()};
  end_shard(run, index, {StatusCode::FailedPrecondition, shard.address + " did not accept the run: " + why}, {});
  finish_if_ended(id);
}

void Executors::Impl::unsent(std::int64_t id, std::size_t index, const Status& why) {
  ++stats.unsent;
  OpenRun& run = runs.at(id);
  if (run.shards.size() == 1 && !run.stop_by) {
    const OpenRun taken = take_run(id);
    if (taken.is_recorded) remote.note_worker(id, {});  // After a crash nobody has it.
    return taken.open.put_back();
  }
  end_shard(run, index, {StatusCode::Unavailable, "it was not sent: " + std::string{why.message()}}, {});
  finish_if_ended(id);
}

void Executors::Impl::accepted(OpenRun& run, std::size_t index) {
  Shard& shard = run.shards[index];
  set_stage(run, index, shard, Shard::Stage::Accepted);
  shard.begun = runtime.clock().wall_now();
  run.open.began_at(*shard.begun);
  // The order to stop may have been there before it.
  if (run.stop_by) kill(run, index);
}

}  // namespace rondo::jobs::executors
