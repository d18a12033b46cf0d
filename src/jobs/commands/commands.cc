#include "rondo/jobs/commands.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/doubled_name.h"
#include "commands/answers.h"
#include "jobs/commands/page_line.h"
#include "jobs/commands/parts.h"
#include "jobs/for_caller.h"
#include "jobs/handler_names.h"
#include "jobs/job_json.h"
#include "jobs/jobs_view.h"
#include "jobs/planner.h"
#include "rondo/admin/command.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

namespace json = boost::json;
using commands::sentence;
using commands::text;

/// The newest runs of a job that are read for a warning, and of how many in sequence it is.
constexpr std::size_t kNewest = 20;
constexpr std::size_t kCoveredFrom = 3;
/// Escapes the texts as in every answer: a client that reads them unescaped has the definition again.
void escape_texts(json::object& definition) {
  for (auto& member : definition) {
    if (member.value().is_string()) member.value() = text(member.value().get_string());
    if (json::array* const list = member.value().if_array()) {
      for (json::value& one : *list) {
        if (one.is_string()) one = text(one.get_string());
      }
    }
  }
}

}  // namespace

json::object object_of_job(const StoredJob& stored, const std::optional<WallTime>& next) {
  // The store's own text: it always is an object. The name in a damaged row may be any bytes.
  Job shown = stored.job;
  if (shown.name.size() > limits::kJobName) shown.name.resize(limits::kJobName);
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::object object = json::parse(to_json(shown), {}, options).as_object();
  escape_texts(object);
  object["running"] = stored.is_running;
  object["next"] = time_of(next);
  return object;
}

void add_damage(json::object& job, const StoredJob& stored) {
  if (!is_readable(stored)) job["damaged"] = sentence(stored.job.note);
  if (!stored.set_aside.empty()) job["damaged"] = sentence(stored.set_aside);
}

namespace {

/// Why runs of a job would not begin, for people; empty if they would.
std::string warning_of(const Jobs& jobs, const StoredJob& stored) {
  std::string warning = JobsView(jobs).handler_trouble(stored.job.handler);
  if (!stored.obstacle.empty()) warning += (warning.empty() ? "it does not run: " : "; it does not run: ") + stored.obstacle;
  return warning;
}

/// How many of the newest runs were stopped by the next one, without one in between that ended otherwise.
std::size_t covered_of(const std::vector<JobRun>& newest) {
  std::size_t covered = 0;
  for (const JobRun& run : newest) {
    if (is_covered(run)) ++covered;
    if (is_final(run.state) && !is_covered(run)) break;
  }
  return covered;
}

/// Finishes the answer of show() with a warning. The runs of a job with Overlap::Cover may take longer than the time between them.
void finish_show(Jobs& jobs, const StoredJob& stored, json::object object, Reply reply) {
  const std::string warning = stored.is_running ? warning_of(jobs, stored) : JobsView(jobs).handler_trouble(stored.job.handler);
  if (!warning.empty()) object["warning"] = sentence(warning);
  if (stored.job.overlap != Overlap::Cover) return reply.finish(object);
  ForCaller(jobs)->runs(stored.job.name, INT64_MAX, kNewest,
                        [object = std::move(object), warning, reply = std::move(reply)](const Result<std::vector<JobRun>>& newest) mutable {
                          const std::size_t covered = newest ? covered_of(*newest) : 0;
                          if (covered >= kCoveredFrom) {
                            object["warning"] =
                                sentence(warning + (warning.empty() ? "" : "; ") + "each of its last " + std::to_string(covered) +
                                         " runs was stopped by the next one, so none has ended by itself");
                          }
                          reply.finish(object);
                        });
}

/// Shows a job, with the runs whose handler runs at present.
void show(Jobs& jobs, const Arguments& arguments, Reply reply) {
  ForCaller(jobs)->find(arguments.text("name"), [&jobs, reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
    if (!stored) return reply.fail(stored.error());
    json::object object = object_of_job(*stored, JobsView(jobs).next_of(*stored));
    add_damage(object, *stored);
    json::array runs;
    for (const std::int64_t run : JobsView(jobs).under_way(stored->job.name)) {
      const auto progress = JobsView(jobs).progress(run);
      json::object one = progress ? object_of(*progress) : json::object{};
      one["run"] = run;
      const RunActivity activity = JobsView(jobs).activity(run).value_or(RunActivity{});
      one["begun"] = time_of(activity.begun);
      if (!activity.place.empty()) one["place"] = sentence(activity.place);
      if (!activity.trouble.empty()) one["trouble"] = sentence(activity.trouble);
      runs.push_back(std::move(one));
    }
    if (!runs.empty()) object["under_way"] = std::move(runs);
    json::array retried;
    for (const std::int64_t run : JobsView(jobs).retried(stored->job.name))
      retried.push_back(json::object{{"run", run}, {"note", sentence(JobsView(jobs).retry_note(run))}});
    if (!retried.empty()) object["retried"] = std::move(retried);
    finish_show(jobs, *stored, std::move(object), std::move(reply));
  });
}

/// Answers with the job of a result.
Jobs::Done<StoredJob> answer_with_job(Jobs& jobs, bool is_removed, Reply reply) {
  return [&jobs, is_removed, reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
    if (stored) tell_changes({*stored}, is_removed, reply);
    stored ? reply.finish(object_of_job(*stored, JobsView(jobs).next_of(*stored))) : reply.fail(stored.error());
  };
}

}  // namespace

std::vector<std::string> troubles_of(const Jobs& jobs, const StoredJob& stored) {
  std::vector<std::string> troubles;
  if (std::string warning = warning_of(jobs, stored); !warning.empty()) troubles.push_back(std::move(warning));
  if (!stored.unchecked.empty()) {
    const bool is_absent = !JobsView(jobs).handler_trouble(stored.job.handler).empty();  // The warning begins with the reason.
    troubles.push_back("its parameters were not checked" + (is_absent ? "" : ": " + stored.unchecked));
  }
  const Result<calendar::Schedule> schedule = compile(stored.job.schedule, 0);
  const auto* const cron = schedule ? std::get_if<calendar::Cron>(&schedule->when) : nullptr;
  if (cron != nullptr && !cron->warning().empty()) troubles.push_back(cron->warning());
  if (stored.job.concurrency > 1 && stored.job.overlap != Overlap::Concurrent) {
    troubles.push_back("the concurrency of " + std::to_string(stored.job.concurrency) + " has no effect: the overlap is " +
                       std::string{to_string(stored.job.overlap)});
  }
  return troubles;
}

namespace {

/// A job that was put, or would be, with a warning if its runs would not begin: a name may be mistyped, or a worker is not connected yet.
/// A stopped job of a dry run has the instant that it would have if it were started now.
json::object object_of_put(const Jobs& jobs, const StoredJob& stored, bool is_dry) {
  std::optional<WallTime> next = JobsView(jobs).next_of(stored);
  if (is_dry && !stored.is_running) {
    Planner planner{PlannerOptions{}};
    const auto compiled = planner.compiled(stored.job, stored.id);
    const auto firings = compiled ? next_firings(**compiled, SystemClock{}.wall_now(), 1) : std::vector<calendar::Firing>{};
    if (!firings.empty()) next = firings.front().scheduled;
  }
  json::object object = object_of_job(stored, next);
  std::string warning;
  for (const std::string& trouble : troubles_of(jobs, stored)) warning += (warning.empty() ? "" : "; ") + trouble;
  if (!warning.empty()) object["warning"] = sentence(warning);
  return object;
}

/// The parser would take the last one.
Status check_names(const std::string& definitions) {
  const auto doubled = doubled_name(definitions);
  return doubled ? Status{StatusCode::InvalidArgument, "a definition has '" + visible_text(doubled->name) + "' twice"} : Status{};
}

}  // namespace

Result<Job> checked_definition(const Arguments& arguments) {
  const std::string definition = arguments.text("definition");
  if (Status wrong = check_names(definition); !wrong.ok()) return failure(std::move(wrong));
  return job_from_json(definition);
}

namespace {

void put_checked(Jobs& jobs, std::vector<JobEdit> edits, bool is_dry, Reply reply,
                 void (*answer)(Reply& reply, std::vector<json::object> objects)) {
  if (Status wrong = check_sizes(edits); !wrong.ok()) return reply.fail(wrong);
  jobs.put_checked(std::move(edits), is_dry,
                   [&jobs, is_dry, answer, reply = std::move(reply)](const Result<std::vector<StoredJob>>& put) mutable {
                     if (!put) return reply.fail(put.error());
                     tell_changes(*put, false, reply);
                     std::vector<json::object> objects;
                     for (const StoredJob& stored : *put) objects.push_back(object_of_put(jobs, stored, is_dry));
                     answer(reply, std::move(objects));
                   });
}

void put(Jobs& jobs, const Arguments& arguments, Reply reply) {
  auto job = checked_definition(arguments);
  if (!job) return reply.fail(job.error());
  std::vector<JobEdit> edits;
  edits.push_back({std::move(*job), arguments.flag("start") ? JobEdit::Running::IfNew : JobEdit::Running::Kept});
  put_checked(jobs, std::move(edits), arguments.flag("dry_run"), std::move(reply),
              [](Reply& answer, std::vector<json::object> objects) { answer.finish(objects.front()); });
}

/// One of the definitions of jobs-put: a job with the member "running".
Result<JobEdit> edit_of(const json::value& one) {
  if (!one.is_object()) return failure(StatusCode::InvalidArgument, "no JSON object");
  json::object definition = one.get_object();
  JobEdit edit;
  if (const json::value* const running = definition.if_contains("running")) {
    if (!running->is_bool()) return failure(StatusCode::InvalidArgument, "running is true or false");
    edit.running = running->get_bool() ? JobEdit::Running::Started : JobEdit::Running::Stopped;
    definition.erase("running");
  }
  auto job = job_from_json(json::serialize(definition));
  if (!job) {
    const json::value* const name = definition.if_contains("name");
    const bool is_named = name != nullptr && name->is_string();
    return failure(is_named ? job.error().with_context("job '" + std::string{name->get_string()} + "'") : job.error());
  }
  edit.job = std::move(*job);
  return edit;
}

void put_all(Jobs& jobs, const Arguments& arguments, Reply reply) {
  boost::system::error_code error;
  const json::value all = json::parse(arguments.text("definitions"), error);
  if (error || !all.is_array()) return reply.fail({StatusCode::InvalidArgument, "definitions: no JSON array"});
  if (Status wrong = check_names(arguments.text("definitions")); !wrong.ok()) return reply.fail(std::move(wrong));
  std::vector<JobEdit> edits;
  for (const json::value& one : all.get_array()) {
    auto edit = edit_of(one);
    if (!edit) return reply.fail(edit.error().with_context("entry " + std::to_string(edits.size() + 1)));
    edits.push_back(std::move(*edit));
  }
  reply.expect_rows();
  put_checked(jobs, std::move(edits), arguments.flag("dry_run"), std::move(reply), [](Reply& answer, std::vector<json::object> objects) {
    for (const json::object& object : objects) answer.row(object);
    answer.finish();
  });
}

void figures(const Jobs& jobs, Reply reply) {
  const JobsStats& stats = jobs.stats();
  const Status health = jobs.health();
  reply.finish({{"healthy", health.ok()},
                {"trouble", sentence(std::string{health.message()})},
                {"planned", stats.planned},
                {"fired", stats.fired},
                {"attempts", stats.attempts},
                {"succeeded", stats.succeeded},
                {"failed", stats.failed},
                {"killed", stats.killed},
                {"retried", stats.retried},
                {"not_run", stats.not_run},
                {"recovered", stats.recovered},
                {"pending", stats.pending},
                {"running", stats.running},
                {"late_us_p50", stats.lateness_ns.quantile(0.5) / 1000},
                {"late_us_p99", stats.lateness_ns.quantile(0.99) / 1000},
                {"late_us_max", stats.lateness_ns.max() / 1000}});
}

void add_put_commands(Adder& adder) {
  adder.add({.name = "job-put",
             .help = "Add or edit a job",
             .arguments = {{"definition", ArgumentKind::Text, true, "The job as a JSON object"},
                           {"start", ArgumentKind::Flag, false, "Start a new job"},
                           {"dry_run", ArgumentKind::Flag, false, "Check the job, and change nothing"}}},
            put);
  adder.add({.name = "jobs-put",
             .help = "Add or edit several jobs: all of them, or none",
             .arguments = {{"definitions", ArgumentKind::Text, true, "The jobs as a JSON array; 'running' starts or stops one"},
                           {"dry_run", ArgumentKind::Flag, false, "Check the jobs, and change nothing"}}},
            put_all);
}

}  // namespace

Adder::Adder(CommandRegistry& registry, Jobs& jobs) : registry_(registry), jobs_(jobs), line_(std::make_shared<PageLine>(jobs)) {}

Status add_job_commands(CommandRegistry& registry, Jobs& jobs) {
  Adder adder(registry, jobs);
  add_list_command(adder);
  adder.add({.name = "job", .help = "Show one job", .arguments = {name_argument()}, .effect = CommandEffect::Reads, .keeps_to_group = true},
            show);
  add_put_commands(adder);
  adder.add({.name = "job-start", .help = "Start a job", .arguments = {name_argument()}, .keeps_to_group = true},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              of.start(arguments.text("name"), answer_with_job(of, false, std::move(reply)));
            });
  adder.add({.name = "job-stop",
             .help = "Stop a job; planned runs that have not begun are skipped",
             .arguments = {name_argument(), {"note", ArgumentKind::Text, false, "Reason, for people"}},
             .keeps_to_group = true},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              of.stop(arguments.text("name"), arguments.text("note"), answer_with_job(of, false, std::move(reply)));
            });
  add_schedule_commands(adder);
  adder.add({.name = "job-remove", .help = "Remove a job and its runs", .arguments = {name_argument()}},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              of.remove(arguments.text("name"), answer_with_job(of, true, std::move(reply)));
            });
  add_run_commands(adder);
  adder.add({.name = "job-stats", .help = "Show figures and health of the job scheduler", .effect = CommandEffect::Reads},
            [](Jobs& of, const Arguments&, Reply reply) { figures(of, std::move(reply)); });
  return adder.status();
}

}  // namespace rondo::jobs
