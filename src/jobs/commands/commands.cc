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

/// Jobs or runs of one page.
constexpr std::size_t kPage = 200;
/// The newest runs of a job that are read for a warning, and of how many in sequence it is.
constexpr std::size_t kNewest = 20;
constexpr std::size_t kCoveredFrom = 3;

json::value time_of(const std::optional<WallTime>& time) {
  return time ? json::value(calendar::format_rfc3339(*time)) : json::value(nullptr);
}

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

/// 'next' as Jobs::next_of().
json::object object_of(const StoredJob& stored, const std::optional<WallTime>& next) {
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

json::object object_of(const JobRun& run) {
  json::object object{{"run", run.id},
                      {"scheduled", calendar::format_rfc3339(run.scheduled)},
                      {"band", to_string(run.band)},
                      {"state", to_string(run.state)},
                      {"attempt", run.attempt},
                      {"begun", time_of(run.begun)},
                      {"ended", time_of(run.ended)}};
  if (run.missed > 0) object["missed"] = run.missed;
  if (!run.parents.empty()) object["parents"] = json::array(run.parents.begin(), run.parents.end());
  if (!run.note.empty()) object["note"] = sentence(run.note);
  return object;
}

/// How far a run is that is carried out elsewhere.
json::object object_of(const Progress& progress) {
  json::object object{{"percent", progress.percent}};
  if (!progress.text.empty()) object["text"] = sentence(progress.text);
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

/// Says why the row of a job cannot be used as it is stored.
void add_damage(json::object& job, const StoredJob& stored) {
  if (!is_readable(stored)) job["damaged"] = sentence(stored.job.note);
  if (!stored.set_aside.empty()) job["damaged"] = sentence(stored.set_aside);
}

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
  jobs.runs(stored.job.name, INT64_MAX, kNewest,
            [object = std::move(object), warning, reply = std::move(reply)](const Result<std::vector<JobRun>>& newest) mutable {
              const std::size_t covered = newest ? covered_of(*newest) : 0;
              if (covered >= kCoveredFrom) {
                object["warning"] = sentence(warning + (warning.empty() ? "" : "; ") + "each of its last " + std::to_string(covered) +
                                             " runs was stopped by the next one, so none has ended by itself");
              }
              reply.finish(object);
            });
}

/// Shows a job, with the runs whose handler runs at present.
void show(Jobs& jobs, const Arguments& arguments, Reply reply) {
  jobs.find(arguments.text("name"), [&jobs, reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
    if (!stored) return reply.fail(stored.error());
    json::object object = object_of(*stored, JobsView(jobs).next_of(*stored));
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
Jobs::Done<StoredJob> answer_with_job(Jobs& jobs, Reply reply) {
  return [&jobs, reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
    stored ? reply.finish(object_of(*stored, JobsView(jobs).next_of(*stored))) : reply.fail(stored.error());
  };
}

/// Which jobs are listed, and how. An empty text chooses all.
struct Filter {
  std::string tag;
  std::string owner;
  bool is_plan = false;  // With what forecast() needs of them.

  bool has(const Job& job) const {
    return (owner.empty() || job.owner == owner) && (tag.empty() || std::ranges::find(job.tags, tag) != job.tags.end());
  }
};

using JobPage = std::shared_ptr<const std::vector<StoredJob>>;
void list(Jobs& jobs, const std::string& after, const Filter& filter, Reply reply);

/// Adds what the planner has of a job.
void add_plan(json::object& row, const Jobs& jobs, const StoredJob& stored) {
  row["id"] = stored.id;
  row["next"] = time_of(stored.next);
  json::array runs;
  for (const JobRun& run : jobs.unfinished(stored.id)) {
    runs.push_back(json::object{{"scheduled", calendar::format_rfc3339(run.scheduled)},
                                {"due", calendar::format_rfc3339(run.due)},
                                {"band", to_string(run.band)},
                                {"attempt", run.attempt}});
  }
  row["runs"] = std::move(runs);
}

/// The settings of the planner.
json::object object_of(const JobsOptions& options) {
  return {{"now", calendar::format_rfc3339(SystemClock{}.wall_now())},
          {"window_ms", options.window / 1ms},
          {"grace_ms", options.grace / 1ms},
          {"cycle_ms", options.cycle / 1ms}};
}

/// Lists the jobs of a page from place 'at' on, as many a turn as a page of the answer has room for.
void list_page(Jobs& jobs, const JobPage& page, std::size_t at, const Filter& filter, Reply reply) {
  for (; at < page->size(); ++at) {
    if (reply.page_full())
      return reply.next_turn([&jobs, page, at, filter](Reply next) { list_page(jobs, page, at, filter, std::move(next)); });
    const StoredJob& stored = (*page)[at];
    if (!filter.has(stored.job)) continue;
    json::object row = object_of(stored, JobsView(jobs).next_of(stored));
    add_damage(row, stored);
    if (filter.is_plan) add_plan(row, jobs, stored);
    reply.row(std::move(row));
  }
  if (page->size() < kPage || !reply.wanted()) return reply.finish(filter.is_plan ? object_of(jobs.options()) : json::object{});
  reply.next_turn([&jobs, page, filter](Reply next) { list(jobs, page->back().job.name, filter, std::move(next)); });
}

/// Lists the jobs of a filter.
void list(Jobs& jobs, const std::string& after, const Filter& filter, Reply reply) {
  reply.expect_rows();
  jobs.list(after, kPage, [&jobs, filter, reply = std::move(reply)](Result<std::vector<StoredJob>> page) mutable {
    if (!page) return reply.fail(page.error());
    list_page(jobs, std::make_shared<const std::vector<StoredJob>>(std::move(*page)), 0, filter, std::move(reply));
  });
}

/// At most 'max' firings after 'after'. Empty for a job that is only triggered. A fixed delay has one: it is measured from 'after', because
/// the end of the next run is not known. InvalidArgument or NotFound for the schedule or its zone. Reads the file of the zone.
Result<std::vector<calendar::Firing>> next_firings(const StoredJob& stored, WallTime after, std::size_t max) {
  Planner planner{PlannerOptions{}};
  const auto compiled = planner.compiled(stored.job, stored.id);
  if (!compiled) return failure(compiled.error());
  const calendar::Schedule& schedule = (*compiled)->schedule;
  if (std::holds_alternative<calendar::FixedDelay>(schedule.when)) max = 1;
  std::vector<calendar::Firing> firings;
  for (WallTime at = after; firings.size() < max;) {
    const auto firing = calendar::next_firing(schedule, *(*compiled)->zone, at);
    if (!firing) break;
    firings.push_back(*firing);
    at = firing->scheduled;
  }
  return firings;
}

/// A job that was put, or would be, with a warning if its runs would not begin: a name may be mistyped, or a worker is not connected yet.
/// A stopped job of a dry run has the instant that it would have if it were started now.
json::object object_of_put(const Jobs& jobs, const StoredJob& stored, bool is_dry) {
  std::optional<WallTime> next = JobsView(jobs).next_of(stored);
  if (is_dry && !stored.is_running) {
    const auto firings = next_firings(stored, SystemClock{}.wall_now(), 1);
    if (firings && !firings->empty()) next = firings->front().scheduled;
  }
  json::object object = object_of(stored, next);
  std::string warning = warning_of(jobs, stored);
  if (!stored.unchecked.empty()) {
    const bool is_absent = !JobsView(jobs).handler_trouble(stored.job.handler).empty();  // The warning begins with the reason.
    warning += (warning.empty() ? "" : "; ") + std::string{"its parameters were not checked"} + (is_absent ? "" : ": " + stored.unchecked);
  }
  const Result<calendar::Schedule> schedule = compile(stored.job.schedule, 0);
  const auto* const cron = schedule ? std::get_if<calendar::Cron>(&schedule->when) : nullptr;
  if (cron != nullptr && !cron->warning().empty()) warning += (warning.empty() ? "" : "; ") + cron->warning();
  if (stored.job.concurrency > 1 && stored.job.overlap != Overlap::Concurrent) {
    warning += warning.empty() ? "" : "; ";
    warning += "the concurrency of " + std::to_string(stored.job.concurrency) + " has no effect: the overlap is " +
               std::string{to_string(stored.job.overlap)};
  }
  if (!warning.empty()) object["warning"] = sentence(warning);
  return object;
}

/// The parser would take the last one.
Status check_names(const std::string& definitions) {
  const auto doubled = doubled_name(definitions);
  return doubled ? Status{StatusCode::InvalidArgument, "a definition has '" + visible_text(doubled->name) + "' twice"} : Status{};
}

void put(Jobs& jobs, const Arguments& arguments, Reply reply) {
  if (Status wrong = check_names(arguments.text("definition")); !wrong.ok()) return reply.fail(std::move(wrong));
  auto job = job_from_json(arguments.text("definition"));
  if (!job) return reply.fail(job.error());
  std::vector<JobEdit> edits;
  edits.push_back({std::move(*job), arguments.flag("start") ? JobEdit::Running::IfNew : JobEdit::Running::Kept});
  const bool is_dry = arguments.flag("dry_run");
  jobs.put_checked(std::move(edits), is_dry, [&jobs, is_dry, reply = std::move(reply)](const Result<std::vector<StoredJob>>& put) mutable {
    if (!put) return reply.fail(put.error());
    reply.finish(object_of_put(jobs, put->front(), is_dry));
  });
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
  const bool is_dry = arguments.flag("dry_run");
  jobs.put_checked(std::move(edits), is_dry, [&jobs, is_dry, reply = std::move(reply)](const Result<std::vector<StoredJob>>& put) mutable {
    if (!put) return reply.fail(put.error());
    for (const StoredJob& stored : *put) reply.row(object_of_put(jobs, stored, is_dry));
    reply.finish();
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
  jobs.backfill(arguments.text("name"), range, [reply = std::move(reply)](const Result<std::vector<JobRun>>& runs) mutable {
    if (!runs) return reply.fail(runs.error());
    for (const JobRun& run : *runs) {
      json::object row{{"scheduled", calendar::format_rfc3339(run.scheduled)}};
      if (run.id != 0) row["run"] = run.id;
      reply.row(std::move(row));
    }
    reply.finish();
  });
}

/// The next scheduled instants of a job, as if it were started.
void list_next(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t max = arguments.integer("max", 10);
  if (max < 1 || max > static_cast<std::int64_t>(kPage)) return reply.fail({StatusCode::InvalidArgument, "max is 1 to 200"});
  WallTime from = SystemClock{}.wall_now();
  if (const std::string text = arguments.text("from"); !text.empty()) {
    const Result<WallTime> given = calendar::parse_rfc3339(text);
    if (!given) return reply.fail(given.error().with_context("from"));
    from = *given;
  }
  reply.expect_rows();
  jobs.find(arguments.text("name"), [from, max, reply = std::move(reply)](const Result<StoredJob>& stored) mutable {
    if (!stored) return reply.fail(stored.error());
    const auto firings = next_firings(*stored, from, static_cast<std::size_t>(max));
    if (!firings) return reply.fail(firings.error());
    for (const calendar::Firing& firing : *firings) {
      reply.row(json::object{{"scheduled", calendar::format_rfc3339(firing.scheduled)}, {"due", calendar::format_rfc3339(firing.due)}});
    }
    // Such a job has no instants of its own.
    if (const auto& parents = stored->job.parents; !parents.empty())
      return reply.finish({{"after", json::array(parents.begin(), parents.end())}});
    reply.finish();
  });
}

void list_runs(Jobs& jobs, const Arguments& arguments, Reply reply) {
  const std::int64_t max = arguments.integer("max", 20);
  if (max < 1 || max > static_cast<std::int64_t>(kPage)) return reply.fail({StatusCode::InvalidArgument, "max is 1 to 200"});
  reply.expect_rows();
  jobs.runs(arguments.text("name"), arguments.integer("before", INT64_MAX), static_cast<std::size_t>(max),
            [&jobs, reply = std::move(reply)](const Result<std::vector<JobRun>>& runs) mutable {
              if (!runs) return reply.fail(runs.error());
              for (const JobRun& run : *runs) {
                json::object row = object_of(run);
                // It may have ended since the store was read.
                if (const auto activity = JobsView(jobs).activity(run.id); activity && !is_final(run.state))
                  add_activity(row, *activity, run);
                if (const std::string note = JobsView(jobs).retry_note(run.id); !note.empty()) row["note"] = sentence(note);
                const auto progress = JobsView(jobs).progress(run.id);
                if (progress && row.at("state") == "running") row["progress"] = object_of(*progress);
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
  jobs.failures(*since, arguments.integer("before", INT64_MAX), static_cast<std::size_t>(max),
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
    jobs.find_run(id, [id, answer](const Result<JobRun>& run) { answer->reply.fail(ended_already(id, run)); });
    return;
  }
  if (!killed.ok()) return answer->reply.fail(killed);
  answer->object["stopping"] = activity && activity->stage != RunActivity::Stage::Ending;
  if (activity) answer->trouble = activity->trouble;
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

ArgumentSpec name_argument() { return {"name", ArgumentKind::Text, true, "Name of the job"}; }

/// Adds commands, and keeps the first error.
class Adder {
 public:
  Adder(CommandRegistry& registry, Jobs& jobs) : registry_(registry), jobs_(jobs) {}
  void add(CommandSpec spec, void (*run)(Jobs&, const Arguments&, Reply)) {
    if (!status_.ok()) return;
    status_ = registry_.add(std::move(spec),
                            [jobs = &jobs_, run](const Arguments& arguments, Reply reply) { run(*jobs, arguments, std::move(reply)); });
  }
  Status status() const { return status_; }

 private:
  CommandRegistry& registry_;
  Jobs& jobs_;
  Status status_;
};

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

Status add_job_commands(CommandRegistry& registry, Jobs& jobs) {
  Adder adder(registry, jobs);
  adder.add({.name = "jobs",
             .help = "List the jobs",
             .arguments = {{"tag", ArgumentKind::Text, false, "Only jobs with this tag"},
                           {"owner", ArgumentKind::Text, false, "Only jobs of this owner"},
                           {"plan", ArgumentKind::Flag, false, "With their ids, planned runs, and the settings of the planner"}},
             .effect = CommandEffect::Reads},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              const Filter filter{.tag = arguments.text("tag"), .owner = arguments.text("owner"), .is_plan = arguments.flag("plan")};
              list(of, {}, filter, std::move(reply));
            });
  adder.add({.name = "job", .help = "Show one job", .arguments = {name_argument()}, .effect = CommandEffect::Reads}, show);
  add_put_commands(adder);
  adder.add(
      {.name = "job-start", .help = "Start a job", .arguments = {name_argument()}},
      [](Jobs& of, const Arguments& arguments, Reply reply) { of.start(arguments.text("name"), answer_with_job(of, std::move(reply))); });
  adder.add({.name = "job-stop",
             .help = "Stop a job; planned runs that have not begun are skipped",
             .arguments = {name_argument(), {"note", ArgumentKind::Text, false, "Reason, for people"}}},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              of.stop(arguments.text("name"), arguments.text("note"), answer_with_job(of, std::move(reply)));
            });
  adder.add({.name = "job-next",
             .help = "List the next scheduled instants of a job",
             .arguments = {name_argument(),
                           {"from", ArgumentKind::Text, false, "After this instant, as in RFC 3339; by default now"},
                           {"max", ArgumentKind::Integer, false, "The most instants: 1 to 200, by default 10"}},
             .effect = CommandEffect::Reads},
            list_next);
  adder.add(
      {.name = "job-remove", .help = "Remove a job and its runs", .arguments = {name_argument()}},
      [](Jobs& of, const Arguments& arguments, Reply reply) { of.remove(arguments.text("name"), answer_with_job(of, std::move(reply))); });
  adder.add({.name = "job-trigger", .help = "Run a job once, now", .arguments = {name_argument()}},
            [](Jobs& of, const Arguments& arguments, Reply reply) {
              of.trigger(arguments.text("name"), [reply = std::move(reply)](const Result<JobRun>& run) mutable {
                run ? reply.finish(object_of(*run)) : reply.fail(run.error());
              });
            });
  adder.add({.name = "job-backfill",
             .help = "Run a job for past instants that have no run",
             .arguments = {name_argument(),
                           {"from", ArgumentKind::Text, true, "The first instant may be at this time, as in RFC 3339"},
                           {"to", ArgumentKind::Text, true, "The last instant is before this time, which is not in the future"},
                           {"max", ArgumentKind::Integer, false, "The most instants: 1 to 1000, by default 100"},
                           {"dry_run", ArgumentKind::Flag, false, "Return the instants, and change nothing"}}},
            backfill);
  adder.add({.name = "job-runs",
             .help = "List the runs of a job, the newest first",
             .arguments = {name_argument(),
                           {"before", ArgumentKind::Integer, false, "Only runs with a smaller number"},
                           {"max", ArgumentKind::Integer, false, "The most runs: 1 to 200, by default 20"}},
             .effect = CommandEffect::Reads},
            list_runs);
  adder.add({.name = "job-failures",
             .help = "List the runs of all jobs that failed or timed out, the newest first",
             .arguments = {{"since", ArgumentKind::Text, true, "The earliest end, as in RFC 3339"},
                           {"before", ArgumentKind::Integer, false, "Only runs with a smaller number"},
                           {"max", ArgumentKind::Integer, false, "The most runs: 1 to 200, by default 20"}},
             .effect = CommandEffect::Reads},
            list_failures);
  adder.add({.name = "job-kill",
             .help = "Ask a running handler to stop, or end a run that has not begun",
             .arguments = {{"run", ArgumentKind::Integer, true, "Number of the run"}}},
            kill);
  adder.add({.name = "job-stats", .help = "Show figures and health of the job scheduler", .effect = CommandEffect::Reads},
            [](Jobs& of, const Arguments&, Reply reply) { figures(of, std::move(reply)); });
  return adder.status();
}

}  // namespace rondo::jobs
