// The admin commands about runs of jobs: those that add, list and end them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "jobs/commands/parts.h"
#include "jobs/for_caller.h"
#include "jobs/handler_names.h"
#include "jobs/remote_runs.h"
#include "rondo/base/text.h"

namespace rondo::jobs {

namespace json = boost::json;
using commands::sentence;
using commands::text;

/// How far a run is that is carried out elsewhere.
json::object object_of(const Progress& progress) {
  json::object object{{"percent", progress.percent}};
  if (!progress.text.empty()) object["text"] = sentence(progress.text);
  return object;
}

namespace {

/// Bytes of a run's own parameters in a list.
constexpr std::size_t kShownParameters = 200;
/// Bytes of the note of a shard or an attempt.
constexpr std::size_t kNote = 200;
/// Shards of a run in an answer.
constexpr std::size_t kParts = 256;

json::object object_of(const JobRun& run) {
  json::object object{{"run", run.id},
                      {"scheduled", calendar::format_rfc3339(run.scheduled)},
                      {"band", to_string(run.band)},
                      {"state", to_string(run.state)},
                      {"attempt", run.attempt},
                      {"begun", time_of(run.begun)},
                      {"ended", time_of(run.ended)}};
  if (run.missed > 0) object["missed"] = run.missed;
  if (run.rerun_of != 0) object["rerun_of"] = run.rerun_of;
  if (run.parameters) object["parameters"] = text(std::string_view{*run.parameters}.substr(0, kShownParameters));
  if (!run.address.empty()) object["address"] = text(run.address);
  if (!run.parents.empty()) object["parents"] = json::array(run.parents.begin(), run.parents.end());
  if (!run.note.empty()) object["note"] = sentence(run.note);
  return object;
}

/// Adds what a run does at present to its row, whose other members are those of the store.
void add_activity(json::object& row, const RunActivity& activity, const JobRun& run) {
  // A run whose end is not stored has not ended for a program that waits for its end: after a crash it may be begun again.
  const bool has_begun = activity.stage == RunActivity::Stage::Ending && activity.begun;
  if (activity.stage == RunActivity::Stage::Running || has_begun) {
    row["state"] = "running";
    row["attempt"] = run.attempt + 1;
    row["begun"] = time_of(activity.begun);
  }
  if (!activity.place.empty()) row["place"] = sentence(activity.place);
  if (!activity.trouble.empty()) row["trouble"] = sentence(activity.trouble);
  row["activity"] = sentence(activity.text);
}

/// Answers with the run of a result, which is a part of the caller's trace.
Jobs::Done<JobRun> answer_with_run(Jobs& jobs, Reply reply) {
  return [&jobs, reply = std::move(reply)](const Result<JobRun>& run) mutable {
    if (!run) return reply.fail(run.error());
    reply.tell_change("(none)", "run=" + std::to_string(run->id));
    RemoteRuns(jobs).set_trace(run->id, reply.caller().trace);
    reply.finish(object_of(*run));
  };
}

void trigger(Jobs& jobs, const Arguments& arguments, Reply reply) {
  TriggerOptions with;
  if (arguments.has("parameters")) with.parameters = arguments.text("parameters");
  const std::string address = arguments.text("address");
  if (address.empty()) return jobs.trigger(arguments.text("name"), std::move(with), answer_with_run(jobs, std::move(reply)));
  // An address that the job's executors do not have would make this program call anything.
  ForCaller(jobs)->find(arguments.text("name"),
                        [&jobs, address, with = std::move(with), reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
                          if (!stored) return reply.fail(stored.error());
                          auto checked = RemoteRuns(jobs).check_address(stored->job.handler, address);
                          if (!checked) return reply.fail(checked.error().with_context("address"));
                          with.address = std::move(*checked);
                          jobs.trigger(stored->job.name, std::move(with), answer_with_run(jobs, std::move(reply)));
                        });
}

void backfill(Jobs& jobs, const Arguments& arguments, Reply reply) {
  BackfillRange range{.dry_run = arguments.flag("dry_run")};
  for (const auto& [name, time] : {std::pair{"from", &range.from}, std::pair{"to", &range.to}}) {
    const Result<WallTime> given = calendar::parse_rfc3339(arguments.text(name));
    if (!given) return reply.fail(given.error().with_context(name));
    *time = *given;
  }
  const std::int64_t max = arguments.integer("max", 100);
  range.max = max < 1 ? 0 : static_cast<std::size_t>(max);
  reply.expect_rows();
  jobs.backfill(arguments.text("name"), range, [&jobs, reply = std::move(reply)](const Result<std::vector<JobRun>>& runs) mutable {
    if (!runs) return reply.fail(runs.error());
    reply.tell_change("(none)", "runs=" + std::to_string(runs->size()));
    for (const JobRun& run : *runs) {
      RemoteRuns(jobs).set_trace(run.id, reply.caller().trace);
      json::object row{{"scheduled", calendar::format_rfc3339(run.scheduled)}};
      if (run.id != 0) row["run"] = run.id;
      reply.row(std::move(row));
    }
    reply.finish();
  });
}

/// Adds to the row of a run what its parts and its attempts did.
void add_details(const Jobs& jobs, const std::vector<RunPart>& parts, const JobRun& run, json::object& row) {
  const auto add = [](json::object& one, const std::optional<WallTime>& begun, const std::optional<WallTime>& ended,
                      std::string_view note) {
    one["begun"] = time_of(begun);
    one["ended"] = time_of(ended);
    if (!note.empty()) one["note"] = sentence(shorten(note, kNote));
  };
  json::array shards;
  for (const RunPart& part : parts) {
    if (shards.size() == kParts) break;
    json::object one{{"index", shards.size()}, {"address", text(part.place)}, {"state", part.state}};
    add(one, part.begun, part.ended, part.note);
    shards.push_back(std::move(one));
  }
  if (!shards.empty()) row["shards"] = std::move(shards);
  if (parts.size() > kParts) row["shards_beyond"] = parts.size() - kParts;
  json::array attempts;
  for (const EndedAttempt& attempt : JobsView(jobs).attempts(run.id)) {
    json::object one{{"attempt", attempt.number}, {"state", to_string(attempt.state)}};
    add(one, attempt.begun, attempt.ended, attempt.note);
    attempts.push_back(std::move(one));
  }
  if (!attempts.empty()) row["attempts"] = std::move(attempts);
}

void list_runs(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t max = arguments.integer("max", 20);
  if (max < 1 || max > static_cast<std::int64_t>(kPage)) return reply.fail({StatusCode::InvalidArgument, "max is 1 to 200"});
  reply.expect_rows();
  ForCaller(jobs)->runs(
      arguments.text("name"), arguments.integer("before", INT64_MAX), static_cast<std::size_t>(max),
      [&jobs, has_details = arguments.flag("details"), reply = std::move(reply)](const Result<std::vector<JobRun>>& runs) mutable {
        if (!runs) return reply.fail(runs.error());
        for (const JobRun& run : *runs) {
          json::object row = object_of(run);
          if (std::exchange(has_details, false)) add_details(jobs, RemoteRuns(jobs).parts(run), run, row);
          // It may have ended since the store was read.
          if (const auto activity = JobsView(jobs).activity(run.id); activity && !is_final(run.state)) add_activity(row, *activity, run);
          if (!is_final(run.state) && RemoteRuns(jobs).is_standby()) row["activity"] = sentence(kAskOwner);
          if (const std::string note = JobsView(jobs).retry_note(run.id); !note.empty()) row["note"] = sentence(note);
          const auto progress = JobsView(jobs).progress(run.id);
          if (progress && row.at("state") == "running") row["progress"] = object_of(*progress);
          if (const auto trace = RemoteRuns(jobs).trace(run.id)) row["trace"] = text(trace->trace_id());
          reply.row(row);
        }
        reply.finish();
      });
}

void list_failures(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t max = arguments.integer("max", 20);
  if (max < 1 || max > static_cast<std::int64_t>(kPage)) return reply.fail({StatusCode::InvalidArgument, "max is 1 to 200"});
  const Result<WallTime> since = calendar::parse_rfc3339(arguments.text("since"));
  if (!since) return reply.fail(since.error().with_context("since"));
  reply.expect_rows();
  const std::string& group = reply.caller().group;
  std::string handlers = group.empty() ? std::string{} : handlers_of(group);
  ForCaller(jobs)->failures(*since, arguments.integer("before", INT64_MAX), static_cast<std::size_t>(max), std::move(handlers),
                            [reply = std::move(reply)](const Result<std::vector<JobRun>>& runs) mutable {
                              if (!runs) return reply.fail(runs.error());
                              for (const JobRun& run : *runs) {
                                json::object row{{"job", text(run.job)}};
                                for (const auto& member : object_of(run)) row.insert(member);
                                reply.row(row);
                              }
                              reply.finish();
                            });
}

void list_schedulers(Jobs& jobs, const Arguments&, Reply reply) {
  reply.expect_rows();
  ForCaller(jobs)->schedulers([reply = std::move(reply)](const Result<std::vector<SchedulerClaim>>& schedulers) mutable {
    if (!schedulers) return reply.fail(schedulers.error());
    for (const SchedulerClaim& one : *schedulers) {
      reply.row(json::object{{"name", text(one.name)},
                             {"shards", one.shards},
                             {"state", one.shards == 0  ? "standby"
                                       : one.is_expired ? "expired"
                                                        : "owner"},
                             {"since", time_of(one.since)},
                             {"until", time_of(one.until)},
                             {"this", one.is_here}});
    }
    reply.finish();
  });
}

/// Why a run that has ended is not killed.
Status ended_already(std::int64_t id, const Result<JobRun>& run) {
  if (!run && run.error().code() == StatusCode::NotFound) {
    const std::string number = std::to_string(id);
    return {StatusCode::NotFound, "no run " + number + ": the run " + number + " never was, or is no longer kept"};
  }
  if (!run) return run.error();
  std::string text = "the run " + std::to_string(id) + " has ended already";
  if (is_final(run->state)) {
    text += ", as " + std::string{to_string(run->state)};
    if (run->ended) text += " at " + calendar::format_rfc3339(*run->ended);
    if (!run->note.empty()) text += ": " + run->note;
  }
  return {StatusCode::NotFound, std::move(text)};
}

void kill(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t id = arguments.integer("run", 0);
  struct Answer {
    Reply reply;
    json::object object = {};
    std::string trouble = {};
  };
  const auto answer = std::make_shared<Answer>(Answer{.reply = std::move(reply)});
  const Status killed = jobs.kill(id, [answer](const Result<bool>& stored) {
    if (!stored) {
      return answer->reply.fail(stored.error().with_context(
          "the run was asked to stop, but the database does not have the kill, so a restart of the daemon would lose it"));
    }
    if (!answer->trouble.empty()) answer->object["trouble"] = sentence(answer->trouble);
    answer->reply.finish(answer->object);
  });
  const auto activity = JobsView(jobs).activity(id);
  if (killed.code() == StatusCode::NotFound && activity)
    return answer->reply.fail({StatusCode::NotFound, "the run " + std::to_string(id) + " " + activity->text});
  if (killed.code() == StatusCode::NotFound) {
    ForCaller(jobs)->find_run(id, [id, answer](const Result<JobRun>& run) { answer->reply.fail(ended_already(id, run)); });
    return;
  }
  if (!killed.ok()) return answer->reply.fail(killed);
  answer->object["stopping"] = activity && activity->stage != RunActivity::Stage::Ending;
  if (activity) answer->trouble = activity->trouble;
}

void add_requests(Adder& adder) {
  adder.add({.name = "job-trigger",
             .help = "Run a job once, now",
             .arguments = {name_argument(),
                           {"parameters", ArgumentKind::Text, false, "For this run, in place of those of the job"},
                           {"address", ArgumentKind::Text, false, "The executor that gets the run: one that the group of the job has"}},
             .keeps_to_group = true},
            trigger);
  adder.add({.name = "job-rerun",
             .help = "Run a run again that has ended without success, for its own instant",
             .arguments = {{"run", ArgumentKind::Integer, true, "Number of the run"}},
             .keeps_to_group = true},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              of.rerun(arguments.integer("run", 0), answer_with_run(of, std::move(reply)));
            });
  adder.add({.name = "job-backfill",
             .help = "Run a job for past instants that have no run",
             .arguments = {name_argument(),
                           {"from", ArgumentKind::Text, true, "The first instant may be at this time, as in RFC 3339"},
                           {"to", ArgumentKind::Text, true, "The last instant is before this time, which is not in the future"},
                           {"max", ArgumentKind::Integer, false, "The most instants: 1 to 1000, by default 100"},
                           {"dry_run", ArgumentKind::Flag, false, "Return the instants, and change nothing"}},
             .keeps_to_group = true},
            backfill);
}

}  // namespace

void add_run_commands(Adder& adder) {
  add_requests(adder);
  adder.add({.name = "job-runs",
             .help = "List the runs of a job, the newest first",
             .arguments = {name_argument(),
                           {"before", ArgumentKind::Integer, false, "Only runs with a smaller number"},
                           {"max", ArgumentKind::Integer, false, "The most runs: 1 to 200, by default 20"},
                           {"details", ArgumentKind::Flag, false, "Of the first run also the shards and the attempts"}},
             .effect = CommandEffect::Reads,
             .keeps_to_group = true},
            list_runs);
  adder.add({.name = "job-failures",
             .help = "List the runs of all jobs that failed or timed out, the newest first",
             .arguments = {{"since", ArgumentKind::Text, true, "The earliest end, as in RFC 3339"},
                           {"before", ArgumentKind::Integer, false, "Only runs with a smaller number"},
                           {"max", ArgumentKind::Integer, false, "The most runs: 1 to 200, by default 20"}},
             .effect = CommandEffect::Reads,
             .keeps_to_group = true},
            list_failures);
  adder.add({.name = "job-schedulers",
             .help = "List the schedulers of the database: which one owns the jobs, since when, and until when without a renewal",
             .effect = CommandEffect::Reads},
            list_schedulers);
  adder.add({.name = "job-kill",
             .help = "Ask a running handler to stop, or end a run that has not begun",
             .arguments = {{"run", ArgumentKind::Integer, true, "Number of the run"}},
             .keeps_to_group = true},
            kill);
}

}  // namespace rondo::jobs
