#include "rondo/jobs/jobs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jobs/backfill.h"
#include "jobs/family.h"
#include "jobs/jobs_impl.h"
#include "jobs/put_jobs.h"
#include "jobs/remote_runs.h"
#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"
#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

Result<StoredJob> remove_job(JobStore& store, const std::string& name) {
  auto stored = store.find(name);
  if (!stored) return stored;
  const auto children = store.children(name);
  if (!children) return failure(children.error());
  if (!children->empty()) {
    std::string names;
    for (const StoredJob& child : *children) names += (names.empty() ? "'" : ", '") + child.job.name + "'";
    return failure(StatusCode::FailedPrecondition, "job '" + name + "' is a parent of " + names);
  }
  if (Status removed = store.remove(name); !removed.ok()) return failure(std::move(removed));
  return stored;
}

/// The error for a run that a user names, and that the store does not have.
Status unknown_run(std::int64_t run, const Status& why) {
  if (why.code() != StatusCode::NotFound) return why;
  const std::string number = std::to_string(run);
  return {StatusCode::NotFound, "no run " + number + ": it never was, is no longer kept, or its job was removed"};
}

/// The runs of a list for a caller of ForCaller, who sees the beginning of their own parameters: many callers may wait for lists.
Result<std::vector<JobRun>> with_short_parameters(Result<std::vector<JobRun>> runs, Recorded recorded) {
  if (!runs || recorded == Recorded::Result) return runs;
  for (JobRun& run : *runs) {
    if (run.parameters && run.parameters->size() > limits::kRunNote) run.parameters = run.parameters->substr(0, limits::kRunNote);
  }
  return runs;
}

}  // namespace

Jobs::Jobs(Runtime& runtime, std::shared_ptr<JobStore> store, const JobsOptions& options, JobSource source)
    : impl_(std::make_unique<Impl>(runtime, std::move(store), options, source, [this](std::string_view call) { return repeat(call); })) {}
Jobs::Jobs(Runtime& runtime, std::shared_ptr<JobStore> store, JobsOptions options)
    : Jobs(runtime, std::move(store), options, JobSource::taken(runtime)) {}
Result<std::unique_ptr<Jobs>> Jobs::open(Runtime& runtime, std::shared_ptr<JobStore> store, JobsOptions options) {
  Result<JobSource> source = JobSource::take(runtime);
  if (!source) return failure(source.error());
  return std::unique_ptr<Jobs>{new Jobs(runtime, std::move(store), options, std::move(*source))};
}
Jobs::~Jobs() {
  impl_->core.expect_here("~Jobs");
  RONDO_EXPECT(impl_->core.calls_out == 0,
               "Jobs::~Jobs() was called within a function that Jobs was calling, such as a handler or a 'done'; use Runtime::post");
}

void Jobs::handle(std::string name, Handler handler, CheckParameters check) {
  impl_->core.expect_here("handle");
  impl_->handlers.set(std::move(name), {.handler = std::make_shared<const Handler>(std::move(handler)), .check = std::move(check)});
}
void Jobs::handle_in_turn(std::string name, Handler handler, CheckParameters check) {
  impl_->core.expect_here("handle_in_turn");
  impl_->handlers.set(std::move(name),
                      {.handler = std::make_shared<const Handler>(std::move(handler)), .in_turn = true, .check = std::move(check)});
}
void Jobs::handle_async(std::string name, AsyncHandler handler) {
  RemoteRuns(*this).handle(std::move(name), {.basic = std::move(handler)});
}
void Jobs::remove_handler(const std::string& name) {
  impl_->core.expect_here("remove_handler");
  impl_->core.record("remove handler", name);
  if (impl_->handlers.remove(name)) impl_->async.leave_line(name);
}
void Jobs::has_room(const std::string& handler) {
  impl_->core.expect_here("has_room");
  impl_->core.record("has room", handler);
  impl_->async.take_room(handler);
}
void Jobs::wait_for_handlers(std::string prefix, std::function<std::string(std::string_view handler)> reason) {
  impl_->core.expect_here("wait_for_handlers");
  impl_->handlers.await(std::move(prefix), std::move(reason));
}
void Jobs::offer_facts(FactKind kind) {
  impl_->core.expect_here("offer_facts");
  RONDO_EXPECT(!impl_->timetable.was_started(), "Jobs::offer_facts() of " + std::string{kind.name()} + " was called after Jobs::start()");
  RONDO_EXPECT(!kind.name().empty(), "Jobs::offer_facts() was called for a kind without a name");
  impl_->facts.offer(kind);
}
std::vector<JobRun> Jobs::unfinished(std::int64_t job_id) const {
  impl_->core.expect_here("unfinished");
  std::vector<JobRun> found;
  const auto live = impl_->runs.jobs().find(job_id);
  if (live == impl_->runs.jobs().end()) return found;
  for (const std::int64_t id : live->second.runs) {
    const LiveRun& run = *impl_->runs.find(id);
    if (!run.is_withdrawn && !is_final(run.run.state)) found.push_back(run.run);
  }
  return found;
}
const JobsOptions& Jobs::options() const {
  impl_->core.expect_here("options");
  return impl_->core.options;
}
bool Jobs::when_stored(std::int64_t run, std::uint32_t attempt, std::function<void(const Status& why)> stored) {
  impl_->core.expect_here("when_stored");
  return impl_->ends.when_stored(run, attempt, std::move(stored));
}
void Jobs::on_end(std::function<void(const JobRun& run)> listener) {
  impl_->core.expect_here("on_end");
  RONDO_EXPECT(!impl_->timetable.was_started(), "Jobs::on_end() was called after Jobs::start()");
  impl_->ends.on_end(std::move(listener));
}
void Jobs::on_due(std::function<void(const JobRun& run)> listener) {
  impl_->core.expect_here("on_due");
  RONDO_EXPECT(!impl_->timetable.was_started(), "Jobs::on_due() was called after Jobs::start()");
  impl_->timetable.on_due(std::move(listener));
}
void Jobs::drain(Duration patience, std::function<void(const Status& drained)> done) {
  impl_->core.called("drain", patience.count());
  impl_->dispatch.drain(patience, std::move(done));
}
void Jobs::start() {
  impl_->core.expect_here("start");
  RONDO_EXPECT(impl_->timetable.start(), "Jobs::start() was called twice");
  impl_->planning.recover();
}

/// Takes over a job that was edited, started or stopped, looks for due runs, as the next one may be within the window, and calls 'done'.
void Jobs::edited(const Result<StoredJob>& stored, const Done<StoredJob>& done) {
  if (stored) {
    ++impl_->runs.stats.edits;
    impl_->planning.take_over(*stored);
    impl_->planning.plan_now();
  }
  impl_->core.call_done(done, stored);
}

void Jobs::define(Job job, Done<StoredJob> done) {
  impl_->core.expect_here("define");
  put_one({std::move(job), JobEdit::Running::IfNew}, std::move(done));
}
void Jobs::put(Job job, Done<StoredJob> done) {
  impl_->core.expect_here("put");
  put_one({std::move(job), JobEdit::Running::Kept}, std::move(done));
}
void Jobs::put_one(JobEdit edit, Done<StoredJob> done) {
  std::vector<JobEdit> edits;
  edits.push_back(std::move(edit));
  if (!done) return put_all(std::move(edits), false);
  put_all(std::move(edits), false, [done = std::move(done)](Result<std::vector<StoredJob>> stored) {
    stored ? done(std::move(stored->front())) : done(failure(stored.error()));
  });
}

void Jobs::put_all(std::vector<JobEdit> edits, bool is_dry, Done<std::vector<StoredJob>> done) {
  impl_->core.expect_here("put_all");
  const std::string text = to_json(edits);
  impl_->core.record("put", text, is_dry);
  const WallTime now = impl_->core.wall_now();
  Status facts;
  std::vector<JobEdit::Running> running;
  std::vector<std::string> names;
  for (const JobEdit& edit : edits) {
    names.push_back(edit.job.name);
    if (facts.ok()) facts = impl_->facts.check(edit.job).with_context("job '" + edit.job.name + "'");
    running.push_back(edit.running);
  }
  std::string work = (is_dry ? "check " : "put ") + text;
  impl_->core.store.submit<std::vector<StoredJob>>(
      std::move(work),
      [edits = std::move(edits), facts = std::move(facts), now, is_dry](JobStore& store,
                                                                        Planner& planner) -> Result<std::vector<StoredJob>> {
        if (Status wrong = check_edits(edits, planner, now); !wrong.ok()) return failure(std::move(wrong));
        if (!facts.ok()) return failure(facts);
        return put_jobs(store, planner, edits, now, is_dry);
      },
      [this, is_dry, running = std::move(running), names = std::move(names),
       done = std::move(done)](const Result<std::vector<StoredJob>>& stored) {
        if (!stored && !is_dry && !done) {
          for (const std::string& name : names) impl_->not_stored.insert_or_assign(name, stored.error());
        }
        if (stored && !is_dry) {
          impl_->core.call_status = {};
          for (std::size_t i = 0; i < stored->size(); ++i) {
            impl_->not_stored.erase(names[i]);
            if (running[i] == JobEdit::Running::Stopped) impl_->planning.end_runs_of_stopped((*stored)[i].id);
            impl_->planning.take_over((*stored)[i]);
          }
          ++impl_->runs.stats.edits;
          impl_->planning.plan_now();
        }
        impl_->core.call_done(done, stored);
      },
      is_dry ? Commit::Alone : Commit::Writes, is_dry ? impl_->core.recorded : Recorded::Result);
}

void Jobs::start(std::string name, Done<StoredJob> done) {
  impl_->core.called("start", name);
  const WallTime now = impl_->core.wall_now();
  impl_->core.store.submit<StoredJob>(
      "start " + name, [name, now](JobStore& store, Planner& planner) { return start_job(store, planner, name, now); },
      [this, done = std::move(done)](const Result<StoredJob>& stored) { edited(stored, done); }, Commit::Writes);
}

void Jobs::stop(std::string name, std::string note, Done<StoredJob> done) {
  impl_->core.called("stop", name, note);
  impl_->core.store.submit<StoredJob>(
      "stop " + name, [name, note = std::move(note)](JobStore& store, Planner&) { return stop_job(store, name, note); },
      [this, done = std::move(done)](const Result<StoredJob>& stored) {
        if (stored) impl_->planning.end_runs_of_stopped(stored->id);
        edited(stored, done);
      },
      Commit::Writes);
}

void Jobs::remove(std::string name, Done<StoredJob> done) {
  impl_->core.called("remove", name);
  impl_->core.store.submit<StoredJob>(
      "remove " + name, [name](JobStore& store, Planner&) { return remove_job(store, name); },
      [this, name, done = std::move(done)](const Result<StoredJob>& removed) {
        if (removed || removed.error().code() == StatusCode::NotFound) impl_->not_stored.erase(name);
        if (removed) {
          ++impl_->runs.stats.edits;
          impl_->planning.drop(removed->id, removed->job.name);
        }
        impl_->core.call_done(done, removed);
      },
      Commit::Writes);
}

/// 'add' stores the runs, and the first of them is the answer. 'work' names it in a journal.
void Jobs::add_requested(std::string name, std::string work, std::function<Result<FoundRuns>(JobStore& store)> add, Done<JobRun> done) {
  Status full = impl_->runs.room_for(name, 1);
  const std::size_t added = full.ok() ? 1 : 0;
  impl_->runs.count_runs(name, added, 0);  // Many calls may come before the first answer.
  impl_->core.store.submit<FoundRuns>(
      std::move(work),
      [full = std::move(full), add = std::move(add)](JobStore& store, Planner&) -> Result<FoundRuns> {
        if (!full.ok()) return failure(full);
        if (Status claimed = store.claim(); !claimed.ok()) return failure(std::move(claimed));  // The run begins here.
        return add(store);
      },
      [this, name, added, done = std::move(done)](Result<FoundRuns> found) {
        impl_->runs.count_runs(name, 0, added);
        if (found) {
          for (const JobRun& run : found->runs) impl_->timetable.add(run, found->jobs.at(run.job).job);
        }
        impl_->core.call_done<JobRun>(done,
                                      found ? Result<JobRun>{std::move(found->runs.front())} : Result<JobRun>{failure(found.error())});
      },
      Commit::Writes);
}

void Jobs::trigger(std::string name, TriggerOptions with, Done<JobRun> done) {
  const bool is_plain = !with.parameters && with.address.empty();
  is_plain ? impl_->core.called("trigger", name)
           : impl_->core.called("trigger with", name, with.parameters.has_value(), with.parameters.value_or(""), with.address);
  JobRun run{.scheduled = impl_->core.wall_now(), .due = impl_->core.wall_now(), .band = Band::Manual};
  run.parameters = std::move(with.parameters);
  run.address = std::move(with.address);
  std::string work = "trigger " + name;
  auto add = [name, run = std::move(run)](JobStore& store) -> Result<FoundRuns> {
    if (Status wrong = check_parameters(run.parameters.value_or("")); !wrong.ok()) return failure(std::move(wrong));
    auto stored = store.find(name);
    if (!stored) return failure(std::move(stored.error()));
    return add_requested_runs(store, std::move(*stored), run);
  };
  add_requested(std::move(name), std::move(work), std::move(add), std::move(done));
}

void Jobs::rerun(std::int64_t run, Done<JobRun> done) {
  impl_->core.called("rerun", run);
  const std::string number = std::to_string(run);
  impl_->core.store.submit<JobRun>(
      "find run " + number, [run](JobStore& store, Planner&) { return store.run(run); },
      [this, run, number, done = std::move(done)](Result<JobRun> failed) mutable {
        if (!failed) return impl_->core.call_done(done, failure(unknown_run(run, failed.error())));
        if (Status refused = check_rerun(*failed); !refused.ok()) return impl_->core.call_done(done, failure(std::move(refused)));
        std::string name = failed->job;
        auto add = [again = std::move(*failed), now = impl_->core.wall_now()](JobStore& store) { return rerun_job(store, again, now); };
        add_requested(std::move(name), "rerun " + number, std::move(add), std::move(done));
      });
}

void Jobs::backfill(std::string name, BackfillRange range, Done<std::vector<JobRun>> done) {
  impl_->core.called("backfill", name, range.from.nanoseconds(), range.to.nanoseconds(), std::uint64_t{range.max}, range.dry_run);
  const WallTime now = impl_->core.wall_now();
  Status full = range.dry_run ? Status{} : impl_->runs.room_for(name, std::min(range.max, limits::kBackfillRuns));
  const std::size_t added = range.dry_run || !full.ok() ? 0 : std::min(range.max, limits::kBackfillRuns);
  impl_->runs.count_runs(name, added, 0);
  impl_->core.store.submit<FoundRuns>(
      "backfill " + name,
      [name, range, now, full = std::move(full)](JobStore& store, Planner& planner) -> Result<FoundRuns> {
        if (!full.ok()) return failure(full);
        if (Status claimed = range.dry_run ? Status{} : store.claim(); !claimed.ok()) return failure(std::move(claimed));
        return backfill_job(store, planner, name, range, now);
      },
      [this, name, added, is_dry = range.dry_run, done = std::move(done)](Result<FoundRuns> found) {
        impl_->runs.count_runs(name, 0, added);
        if (!found) return impl_->core.call_done(done, failure(found.error()));
        std::vector<JobRun> of_job;
        for (JobRun& run : found->runs) {
          if (run.id == 0 && !is_dry) continue;  // A job below has a run of the instant.
          if (run.id != 0) impl_->timetable.add(run, found->jobs.at(run.job).job);
          if (run.job == name) of_job.push_back(std::move(run));
        }
        impl_->core.call_done(done, std::move(of_job));
      },
      range.dry_run ? Commit::Alone : Commit::Writes);
}

Status Jobs::kill(std::int64_t run, Done<bool> stored) {
  impl_->core.called("kill", run);
  LiveRun* const live = impl_->runs.find(run);
  // Another scheduler may have the run.
  if (live == nullptr && !impl_->planning.is_started() && !impl_->planning.status().ok()) return impl_->planning.status();
  const bool has_ended = live == nullptr || (live->stage == LiveRun::Stage::Ending && (live->is_withdrawn || is_final(live->run.state)));
  if (has_ended) return {StatusCode::NotFound, "the run " + std::to_string(run) + " has ended, or never was"};
  // Before the end of the run, which the stop may bring.
  impl_->core.store.submit<bool>(
      "kill " + std::to_string(run),
      [run](JobStore& store, Planner&) -> Result<bool> {
        if (Status noted = store.note_killed(run); !noted.ok()) return failure(std::move(noted));
        return true;
      },
      impl_->core.done_for_store(std::move(stored)), Commit::Writes);
  live->run.is_killed = true;
  impl_->ends.stop(*live, RunState::Killed, kKilled);
  return {};
}

void Jobs::find(std::string name, Done<StoredJob> done) {
  impl_->core.called("find", name);
  impl_->core.read<StoredJob>(
      "find " + name, [name](JobStore& store, Planner&) { return find_with_obstacle(store, name); }, std::move(done));
}
void Jobs::list(std::string after, std::size_t max, Done<std::vector<StoredJob>> done) {
  impl_->core.called("list", after, std::uint64_t{max});
  impl_->core.read<std::vector<StoredJob>>(
      "list " + after, [after, max](JobStore& store, Planner&) { return list_with_obstacles(store, after, max); }, std::move(done));
}
bool Jobs::is_last_page(const std::vector<StoredJob>& page, std::size_t max) {
  std::size_t bytes = 0;
  for (const StoredJob& stored : page) bytes += bytes_of(stored);
  return page.size() < max && bytes < limits::kJobsPageBytes;
}
void Jobs::newest_ends(std::string after, std::size_t max, Done<std::vector<JobRun>> done) {
  impl_->core.called("newest", after, std::uint64_t{max});
  impl_->core.read<std::vector<JobRun>>(
      "newest ends " + after,
      [after, max, recorded = impl_->core.recorded](JobStore& store, Planner&) -> Result<std::vector<JobRun>> {
        const auto page = list_page(store, after, max);
        if (!page) return failure(page.error());
        std::vector<std::string> names;
        for (const StoredJob& stored : *page) names.push_back(stored.job.name);
        return with_short_parameters(store.newest_ends(names), recorded);
      },
      std::move(done));
}
void Jobs::failures(WallTime since, std::int64_t before, std::size_t max, std::string handlers, Done<std::vector<JobRun>> done) {
  impl_->core.called("failures", since.nanoseconds(), before, std::uint64_t{max}, handlers);
  impl_->core.read<std::vector<JobRun>>(
      "failures",
      [since, before, max, handlers = std::move(handlers), recorded = impl_->core.recorded](JobStore& store, Planner&) {
        return with_short_parameters(store.failures(since, before, max, handlers), recorded);
      },
      std::move(done));
}
void Jobs::schedulers(Done<std::vector<SchedulerClaim>> done) {
  impl_->core.called("schedulers");
  impl_->core.read<std::vector<SchedulerClaim>>(
      "schedulers", [](JobStore& store, Planner&) { return store.schedulers(); }, std::move(done));
}
void Jobs::runs(std::string job, std::int64_t before, std::size_t max, Done<std::vector<JobRun>> done) {
  impl_->core.called("runs", job, before, std::uint64_t{max});
  impl_->core.read<std::vector<JobRun>>(
      "runs " + job,
      [job, before, max, recorded = impl_->core.recorded](JobStore& store, Planner&) -> Result<std::vector<JobRun>> {
        auto runs = with_short_parameters(store.runs(job, before, max), recorded);
        if (!runs || !runs->empty()) return runs;
        const auto known = store.find(job);
        return known ? std::move(runs) : failure(known.error());
      },
      std::move(done));
}

void Jobs::find_run(std::int64_t run, Done<JobRun> done) {
  impl_->core.expect_here("find_run");
  impl_->core.record("find run", run);
  impl_->core.read<JobRun>(
      "find run " + std::to_string(run), [run](JobStore& store, Planner&) { return store.run(run); }, std::move(done));
}

namespace {

/// The calls of RemoteRuns. False: the call is another one, or malformed.
bool repeat_remote(RemoteRuns remote, const std::string& verb, JobCall& call) {
  using Text = std::string;
  using Run = std::int64_t;
  if (verb == "handle async")
    return call.with<Text, bool>([&](const Text& name, bool applies) { remote.handle(name, {.basic = {}, .applies_overlap = applies}); });
  if (verb == "look again") return call.with<Text>([&](const Text& name) { remote.check_again(name); });
  if (verb == "worker") return call.with<Run, Text>([&](Run run, const Text& worker) { remote.note_worker(run, worker); });
  if (verb == "remember") return call.with<Text, Text>([&](const Text& key, const Text& text) { remote.remember(key, text); });
  if (verb == "remembered") return call.with<Text>([&](const Text& key) { remote.remembered(key, {}); });
  if (verb == "stop run")
    return call.with<Run, std::uint8_t, Text>(
        [&](Run run, std::uint8_t state, const Text& why) { remote.stop(run, static_cast<RunState>(state), why); });
  if (verb == "give up killed") return call.with<>([&] { remote.give_up_killed(); });
  return false;
}

}  // namespace

/// In a replay: makes a recorded call again. The caller of the recorded run is absent, so no call has a 'done'.
bool Jobs::repeat(std::string_view text) {
  using Text = std::string;
  using Run = std::int64_t;
  using Attempt = std::uint32_t;
  JobCall call(text);
  const std::string verb = call.verb();
  AsyncRuns& async = impl_->async;
  if (verb == "put")
    return call.with<Text, bool>([this](const Text& edits, bool is_dry) {
      auto read = edits_from_json(edits);
      if (read) put_all(std::move(*read), is_dry, {});
      return read.has_value();
    });
  if (verb == "start") return call.with<Text>([this](const Text& name) { start(name); });
  if (verb == "stop") return call.with<Text, Text>([this](const Text& name, const Text& note) { stop(name, note); });
  if (verb == "remove") return call.with<Text>([this](const Text& name) { remove(name); });
  if (verb == "trigger") return call.with<Text>([this](const Text& name) { trigger(name); });
  if (verb == "trigger with")
    return call.with<Text, bool, Text, Text>([this](const Text& name, bool has, const Text& parameters, const Text& address) {
      trigger(name, {.parameters = has ? std::optional{parameters} : std::nullopt, .address = address});
    });
  if (verb == "rerun") return call.with<Run>([this](Run run) { rerun(run); });
  if (verb == "backfill")
    return call.with<Text, std::int64_t, std::int64_t, std::size_t, bool>(
        [this](const Text& name, std::int64_t from, std::int64_t to, std::size_t max, bool is_dry) {
          backfill(name, {WallTime::from_nanoseconds(from), WallTime::from_nanoseconds(to), max, is_dry});
        });
  if (verb == "kill") return call.with<Run>([this](Run run) { static_cast<void>(kill(run, {})); });
  if (verb == "find") return call.with<Text>([this](const Text& name) { find(name, {}); });
  if (verb == "list") return call.with<Text, std::size_t>([this](const Text& after, std::size_t max) { list(after, max, {}); });
  if (verb == "newest") return call.with<Text, std::size_t>([this](const Text& after, std::size_t max) { newest_ends(after, max, {}); });
  if (verb == "runs")
    return call.with<Text, Run, std::size_t>([this](const Text& job, Run before, std::size_t max) { runs(job, before, max, {}); });
  if (verb == "failures")
    return call.with<std::int64_t, Run, std::size_t, Text>([this](std::int64_t since, Run before, std::size_t max, const Text& handlers) {
      failures(WallTime::from_nanoseconds(since), before, max, handlers, {});
    });
  if (verb == "schedulers") return call.with<>([this] { schedulers({}); });
  if (verb == "find run") return call.with<Run>([this](Run run) { find_run(run, {}); });
  if (verb == "last end") return call.with<Text>([this](const Text& job) { static_cast<void>(impl_->facts.has_succeeded(job)); });
  if (verb == "remove handler") return call.with<Text>([this](const Text& name) { remove_handler(name); });
  if (verb == "has room") return call.with<Text>([this](const Text& name) { has_room(name); });
  if (verb == "drain") return call.with<std::int64_t>([this](std::int64_t patience) { drain(Duration{patience}, {}); });
  if (verb == "last ends") return call.with<>([this] { impl_->ends.submit_last(); });
  // What an asynchronous handler reported of an attempt.
  const auto repeat_of = [&async](Run run, Attempt attempt, const auto& report) {
    const auto state = async.replayed(run, attempt);
    if (state != nullptr) report(*state);
    return state != nullptr;
  };
  if (verb == "begins later")
    return call.with<Run, Attempt, Text>([&](Run run, Attempt attempt, const Text& waits) {
      return repeat_of(run, attempt, [&](AsyncRun::State& state) { state.change_begin(waits); });
    });
  if (verb == "began")
    return call.with<Run, Attempt>([&](Run run, Attempt attempt) {
      return repeat_of(run, attempt, [](AsyncRun::State& state) { state.change_begin(std::nullopt); });
    });
  if (verb == "end")
    return call.with<Run, Attempt, Status, Text>([&](Run run, Attempt attempt, const Status& status, const Text& note) {
      return repeat_of(run, attempt, [&](AsyncRun::State& state) { state.end(status, note); });
    });
  if (verb == "put back")
    return call.with<Run, Attempt>(
        [&](Run run, Attempt attempt) { return repeat_of(run, attempt, [](AsyncRun::State& state) { state.put_back(); }); });
  if (verb == "left")
    return call.with<Run, Attempt>(
        [&](Run run, Attempt attempt) { return repeat_of(run, attempt, [](AsyncRun::State& state) { state.leave(); }); });
  return repeat_remote(RemoteRuns(*this), verb, call);
}

const JobsStats& Jobs::stats() const {
  impl_->core.expect_here("stats");
  return impl_->runs.stats;
}

}  // namespace rondo::jobs
