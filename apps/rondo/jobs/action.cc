// `rondo job`: calls the commands of add_job_commands() (rondo/jobs/commands.h) and prints their answers.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "admin/key_pattern.h"
#include "backends/backend.h"
#include "commands/actions.h"
#include "jobs/definition.h"
#include "jobs/doctor.h"
#include "jobs/forecast_view.h"
#include "jobs/import.h"
#include "jobs/log.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/render.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// A call with what it needs.
struct Caller {
  const Options& options;
  const JobCall& call;
  Backend& backend;

  json::object name() const { return {{"name", escape_text(call.word("NAME"))}}; }
  std::string text(std::string_view option, std::string_view absent) const {
    const std::string* const word = call.find(option);
    return std::string{word == nullptr ? absent : std::string_view{*word}};
  }
  std::int64_t number(std::string_view option, std::int64_t absent) const {
    const std::string word = text(option, "");
    std::int64_t value = absent;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }
  /// Prints the answer of a command as JSON, or 'line' of it.
  template <class Line>
  int answer(const std::string& command, const json::object& arguments, Line line) const {
    const Result<json::object> result = backend.call(command, arguments, {});
    if (!result) return report(options, result.error());
    print(options.json ? json_text(*result) + "\n" : line(*result));
    return finish_output();
  }
};

std::string member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return "-";
  return value->is_string() ? std::string{value->get_string()} : json_text(*value);
}

/// "a, b" for a member that is a list of texts; empty if it is absent.
std::string words_of(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  std::string words;
  if (value == nullptr || !value->is_array()) return words;
  for (const json::value& word : value->get_array()) words.append(words.empty() ? "" : ", ").append(std::string_view{word.as_string()});
  return words;
}

/// When a job fires next.
std::string next_of(const json::object& job) {
  if (const std::string parents = words_of(job, "parents"); !parents.empty()) return "after " + parents;
  return job.at("next").is_null() ? "never" : member(job, "next");
}

std::string state_line(const json::object& job) {
  const bool is_running = job.contains("running") && job.at("running") == true;
  const std::string next = next_of(job);
  return member(job, "name") + (is_running ? ": started" + (next == "never" ? std::string{} : ", next " + next) : ": stopped") + "\n";
}

/// Warns of a bound of the call that was probably meant for the attempts of the job.
void warn_of_timeout(const Caller& caller) {
  if (!caller.options.timeout || caller.call.find("--attempt-timeout") != nullptr) return;
  print_error("rondo: note: --timeout bounds the wait for the daemon's answer; --attempt-timeout bounds an attempt of the job\n");
}

/// InvalidArgument unless the call says when the job is due.
Status check_is_due(const JobCall& call) {
  constexpr std::array<std::string_view, 6> kOptions{"--cron", "--every", "--after", "--at", "--parents", "--manual"};
  if (std::ranges::any_of(kOptions, [&call](std::string_view option) { return call.find(option) != nullptr; })) return {};
  return {StatusCode::InvalidArgument,
          "when is the job due? give --cron, --every, --after, --at or --parents; with --manual only `rondo job trigger` runs it"};
}

/// True if the call sets anything on which the instants of a job depend.
bool sets_schedule(const JobCall& call) {
  constexpr std::array<std::string_view, 7> kOptions{"--cron", "--every", "--after", "--at", "--from", "--until", "--excluded"};
  return std::ranges::any_of(kOptions, [&call](std::string_view option) { return call.find(option) != nullptr; });
}

/// InvalidArgument if no instant of a new schedule is ahead, unless the user accepts that. 'job' is the answer of a dry run.
Status check_is_ahead(const Caller& caller, const json::object& job) {
  const bool has_instants = job.contains("schedule") && !job.contains("parents");
  if (!sets_schedule(caller.call) || !has_instants || !job.at("next").is_null() || caller.call.find("--past") != nullptr) return {};
  return {StatusCode::InvalidArgument, "no instant of '" + member(job, "schedule") + "' is ahead, so '" + member(job, "name") +
                                           "' would never run: --past accepts that, and `rondo job trigger` runs a job now"};
}

/// What job-put would store. Prints its warning.
Result<json::object> check_definition(const Caller& caller, json::object arguments) {
  arguments["dry_run"] = true;
  Result<json::object> checked = caller.backend.call("job-put", arguments, {});
  if (!checked) return checked;
  if (const Status past = check_is_ahead(caller, *checked); !past.ok()) return failure(past);
  if (checked->contains("warning")) print_error("rondo: warning: " + member(*checked, "warning") + "\n");
  return checked;
}

int add(const Caller& caller) {
  warn_of_timeout(caller);
  if (Status bad = check_is_due(caller.call); !bad.ok()) return report(caller.options, bad);
  json::object definition{{"name", caller.call.word("NAME")}};
  if (Status bad = apply_options(caller.call, definition); !bad.ok()) return report(caller.options, bad);
  const Result<json::object> found = caller.backend.call("job", caller.name(), {});
  if (found) {
    return report(caller.options, {StatusCode::AlreadyExists,
                                   "there is a job '" + escape_text(caller.call.word("NAME")) + "' already: `rondo job edit` changes it"});
  }
  if (found.error().code() != StatusCode::NotFound) return report(caller.options, found.error());
  json::object arguments{{"definition", escape_text(json_text(definition))}};
  const Result<json::object> checked = check_definition(caller, arguments);
  if (!checked) return report(caller.options, checked.error());
  if (caller.call.find("--dry-run") != nullptr) {
    print(caller.options.json ? json_text(*checked) + "\n" : difference({}, definition) + "next: " + next_of(*checked) + "\n");
    return finish_output();
  }
  if (caller.call.find("--stopped") == nullptr) arguments["start"] = true;
  return caller.answer("job-put", arguments, state_line);
}

int edit(const Caller& caller) {
  warn_of_timeout(caller);
  const Result<json::object> found = caller.backend.call("job", caller.name(), {});
  if (!found) return report(caller.options, found.error());
  json::object definition = definition_of(*found);
  if (Status bad = apply_options(caller.call, definition); !bad.ok()) return report(caller.options, bad);
  json::object arguments{{"definition", escape_text(json_text(definition))}};
  const Result<json::object> checked = check_definition(caller, arguments);
  if (!checked) return report(caller.options, checked.error());
  if (caller.call.find("--dry-run") != nullptr) arguments["dry_run"] = true;
  return caller.answer("job-put", arguments, [&found](const json::object& job) {
    const std::string lines = difference(definition_of(*found), definition_of(job));
    return lines.empty() ? "nothing changes\n" : lines;
  });
}

/// True if the user has given --yes, or answers 'question' with yes.
bool is_confirmed(const Caller& caller, const std::string& question) {
  if (caller.call.find("--yes") != nullptr) return true;
  if (::isatty(STDIN_FILENO) != 1) return false;
  print_error(question + " [y/N] ");
  const int typed = std::getchar();
  return typed == 'y' || typed == 'Y';
}

int remove(const Caller& caller) {
  if (!is_confirmed(caller, "Remove the job " + caller.call.word("NAME") + " and all its runs?")) {
    return report(caller.options, {StatusCode::InvalidArgument, "remove deletes the job and its runs: nothing was done without --yes"});
  }
  const Result<json::object> removed = caller.backend.call("job-remove", caller.name(), {});
  if (!removed) {
    // A job with children stays one until they are removed: trying again does not help.
    const bool has_children = removed.error().code() == StatusCode::FailedPrecondition;
    return report(caller.options, removed.error(), has_children ? kExitFailed : -1);
  }
  print(caller.options.json ? json_text(*removed) + "\n" : member(*removed, "name") + ": removed\n");
  return finish_output();
}

json::object list_row(const json::object& job) {
  std::string note = job.contains("stop_note") ? "stopped: " + member(job, "stop_note") : std::string{};
  if (job.contains("note")) note += (note.empty() ? "" : "; ") + member(job, "note");
  const std::string parents = words_of(job, "parents");
  const std::string schedule = !parents.empty() ? "after " + parents : job.contains("schedule") ? member(job, "schedule") : "manual";
  return {{"job", member(job, "name")},
          {"state", job.at("running") == true ? "started" : "stopped"},
          {"next", job.at("next")},
          {"schedule", schedule},
          {"zone", job.contains("zone") ? member(job, "zone") : "UTC"},
          {"handler", member(job, "handler")},
          {"note", note}};
}

int list(const Caller& caller) {
  const std::string pattern = caller.call.word("PATTERN");
  const KeyPattern matches{pattern.empty() ? "*" : pattern};
  json::array rows;
  json::object arguments;
  for (const std::string_view name : {"tag", "owner", "state", "search"}) {
    if (const std::string text = caller.text("--" + std::string{name}, ""); !text.empty()) arguments[name] = escape_text(text);
  }
  const Result<json::object> result = caller.backend.call("jobs", arguments, [&](const json::value& row) {
    if (matches.matches(member(row.as_object(), "name")))
      rows.push_back(caller.options.json ? row : json::value(list_row(row.as_object())));
  });
  if (!result) return report(caller.options, result.error());
  if (caller.options.json) {
    print(json_text(json::object{{"rows", std::move(rows)}}) + "\n");
  } else if (rows.empty()) {
    print_error("(none)\n");
  } else {
    print(render_result("job list", json::object{{"rows", std::move(rows)}}, wants_color(STDOUT_FILENO)));
  }
  return finish_output();
}

int show(const Caller& caller) {
  return caller.answer("job", caller.name(),
                       [](const json::object& job) { return render_result("job show", job, wants_color(STDOUT_FILENO)); });
}

int start(const Caller& caller) { return caller.answer("job-start", caller.name(), state_line); }

int stop(const Caller& caller) {
  json::object arguments = caller.name();
  if (caller.call.find("--note") != nullptr) arguments["note"] = escape_text(caller.text("--note", ""));
  return caller.answer("job-stop", arguments, state_line);
}

int trigger(const Caller& caller) {
  json::object arguments = caller.name();
  for (const std::string_view name : {"parameters", "address"}) {
    if (const std::string* const word = caller.call.find("--" + std::string{name})) arguments[name] = escape_text(*word);
  }
  return caller.answer("job-trigger", arguments,
                       [&caller](const json::object& run) { return caller.call.word("NAME") + ": run " + member(run, "run") + "\n"; });
}

/// The instants of a backfill, and what became of them.
std::string backfill_lines(const json::array& rows, std::int64_t limit, std::string_view became) {
  std::string lines;
  for (const json::value& row : rows) {
    lines += member(row.as_object(), "scheduled");
    if (row.as_object().contains("run")) lines += "  run " + member(row.as_object(), "run");
    lines += "\n";
  }
  return lines + std::to_string(rows.size()) + (rows.size() == 1 ? " run " : " runs ") + std::string{became} + " (limit " +
         std::to_string(limit) + ")\n";
}

int backfill(const Caller& caller) {
  const std::int64_t limit = caller.number("--limit", 100);
  json::object arguments = caller.name();
  for (const char* const option : {"--from", "--to"}) {
    const std::string* const word = caller.call.find(option);
    if (word == nullptr) return report(caller.options, {StatusCode::InvalidArgument, std::string{option} + " is needed"});
    arguments[std::string_view{option}.substr(2)] = escape_text(*word);
  }
  arguments["max"] = limit;
  const auto show = [&](const json::object& answer, bool is_dry) {
    const json::array& rows = answer.at("rows").as_array();
    if (!caller.options.json) {
      print(backfill_lines(rows, limit, is_dry ? "would be added" : "added"));
    } else {
      print(json_text(json::object{
                {"job", caller.call.word("NAME")}, {"count", rows.size()}, {"limit", limit}, {"dry_run", is_dry}, {"rows", rows}}) +
            "\n");
    }
    return finish_output();
  };
  json::object preview = arguments;
  preview["dry_run"] = true;
  const Result<json::object> previewed = caller.backend.call("job-backfill", preview, {});
  if (!previewed) return report(caller.options, previewed.error());
  const std::size_t count = previewed->at("rows").as_array().size();
  if (caller.call.find("--dry-run") != nullptr || count == 0) return show(*previewed, true);
  if (!caller.options.json) print(backfill_lines(previewed->at("rows").as_array(), limit, "to add"));
  if (!is_confirmed(caller, "Add these runs?")) {
    return report(caller.options, {StatusCode::InvalidArgument, "backfill adds runs: nothing was done without --yes"});
  }
  const Result<json::object> added = caller.backend.call("job-backfill", arguments, {});
  return added ? show(*added, false) : report(caller.options, added.error());
}

int next(const Caller& caller) {
  json::object arguments = caller.name();
  const std::int64_t count = caller.number("--count", 10);
  arguments["max"] = count;
  if (caller.call.find("--from") != nullptr) arguments["from"] = escape_text(caller.text("--from", ""));
  return caller.answer("job-next", arguments, [count](const json::object& result) {
    if (const std::string parents = words_of(result, "after"); !parents.empty()) return "after its parents: " + parents + "\n";
    std::string lines;
    const json::array& rows = result.at("rows").as_array();
    for (const json::value& row : rows) lines += member(row.as_object(), "scheduled") + "\n";
    return lines + (rows.size() < static_cast<std::size_t>(count) ? "NEVER\n" : "");
  });
}

/// The note of a run that has ended, how far it is, or what it waits for.
std::string note_of_run(const json::object& run) {
  const json::value* const progress = run.if_contains("progress");
  if (progress == nullptr || !progress->is_object()) {
    const std::string note = run.contains("note") ? member(run, "note") : std::string{};
    const std::string activity = run.contains("activity") ? member(run, "activity") : std::string{};
    if (activity.empty() || activity.starts_with("runs")) return note;
    if (note.empty()) return activity;
    return activity.starts_with("waits for attempt") ? note : activity + "; " + note;  // The note of an attempt names the next one.
  }
  std::string text = "running, " + member(progress->get_object(), "percent") + " %";
  if (progress->get_object().contains("text")) text += ": " + member(progress->get_object(), "text");
  const std::string activity = run.contains("activity") ? member(run, "activity") : std::string{};
  const std::size_t stop = activity.find("; was asked to stop: ");
  if (stop == std::string::npos) return text;
  const std::string trouble = run.contains("trouble") ? "; " + member(run, "trouble") : std::string{};
  const std::size_t end = trouble.empty() ? std::string::npos : activity.rfind(trouble);
  return text + activity.substr(stop, end == std::string::npos ? end : end - stop);
}

/// The same, after the reason why the run may not go on.
std::string run_note(const json::object& run) {
  const std::string note = note_of_run(run);
  if (!run.contains("trouble")) return note;
  return member(run, "trouble") + (note.empty() ? "" : "; ") + note;
}

int runs(const Caller& caller) {
  json::object arguments = caller.name();
  arguments["max"] = caller.number("--count", 20);
  if (caller.call.find("--before") != nullptr) arguments["before"] = caller.number("--before", 0);
  return caller.answer("job-runs", arguments, [](const json::object& result) {
    json::array rows;
    for (const json::value& one : result.at("rows").as_array()) {
      json::object row = one.as_object();
      row["note"] = run_note(row);
      row["place"] = row.contains("place") ? row.at("place") : json::value("");
      if (row.contains("rerun_of")) row["band"] = "rerun of " + member(row, "rerun_of");
      row.erase("rerun_of");
      row.erase("progress");
      row.erase("trouble");
      row.erase("activity");
      rows.push_back(std::move(row));
    }
    if (rows.empty()) print_error("(none)\n");
    return render_result("job runs", json::object{{"rows", std::move(rows)}}, wants_color(STDOUT_FILENO));
  });
}

int failures(const Caller& caller) {
  json::object arguments{{"max", caller.number("--count", 20)}};
  const std::string* const given = caller.call.find("--since");
  const std::string since = given == nullptr ? "24h" : *given;
  const Result<std::int64_t> ago = milliseconds_of(since);
  const WallTime begin = SystemClock{}.wall_now() + -(ago.value_or(0) * 1ms);
  arguments["since"] = ago ? calendar::format_rfc3339(begin) : since;
  if (caller.call.find("--before") != nullptr) arguments["before"] = caller.number("--before", 0);
  return caller.answer("job-failures", arguments, [](const json::object& result) {
    json::array rows;
    for (const json::value& one : result.at("rows").as_array()) {
      const json::object& run = one.as_object();
      rows.push_back(json::object{{"run", run.at("run")},
                                  {"job", run.at("job")},
                                  {"state", run.at("state")},
                                  {"attempt", run.at("attempt")},
                                  {"ended", run.at("ended")},
                                  {"note", note_of_run(run)}});
    }
    if (rows.empty()) print_error("(none)\n");
    return render_result("job failures", json::object{{"rows", std::move(rows)}}, wants_color(STDOUT_FILENO));
  });
}

int schedulers(const Caller& caller) {
  return caller.answer("job-schedulers", {},
                       [](const json::object& result) { return render_result("job schedulers", result, wants_color(STDOUT_FILENO)); });
}

Result<std::int64_t> number_of_run(const Caller& caller) {
  const std::string word = caller.call.word("RUN");
  std::int64_t run = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), run);
  if (error == std::errc{} && end == word.data() + word.size() && run >= 1) return run;
  return failure(StatusCode::InvalidArgument, "'" + escape_text(word) + "' is no number of a run");
}

int kill(const Caller& caller) {
  const Result<std::int64_t> run = number_of_run(caller);
  if (!run) return report(caller.options, run.error());
  return caller.answer("job-kill", {{"run", *run}}, [&run](const json::object& killed) {
    const json::value* const stopping = killed.if_contains("stopping");
    const bool has_ended = stopping != nullptr && *stopping == false;
    const std::string text = "run " + std::to_string(*run) + (has_ended ? ": killed, its handler was not running" : ": asked to stop");
    return text + (killed.contains("trouble") ? "; " + member(killed, "trouble") : "") + "\n";
  });
}

int rerun(const Caller& caller) {
  const Result<std::int64_t> run = number_of_run(caller);
  if (!run) return report(caller.options, run.error());
  const Result<json::object> again = caller.backend.call("job-rerun", {{"run", *run}}, {});
  if (!again) {
    // A run that has succeeded is none to run again: trying again does not help.
    return report(caller.options, again.error(), again.error().code() == StatusCode::FailedPrecondition ? kExitFailed : -1);
  }
  print(caller.options.json ? json_text(*again) + "\n" : "run " + member(*again, "run") + ": runs " + std::to_string(*run) + " again\n");
  return finish_output();
}

int notify(const Caller& caller) {
  if (caller.call.find("--test") == nullptr)
    return report(caller.options, {StatusCode::InvalidArgument, "--test is needed: `rondo job notify` only sends tests"});
  json::object arguments;
  if (const std::string name = caller.call.word("NAME"); !name.empty()) arguments["name"] = escape_text(name);
  const Result<json::object> result = caller.backend.call("job-notify", arguments, {});
  if (!result) return report(caller.options, result.error());
  std::string lines;
  bool have_arrived = true;
  for (const json::value& one : result->at("rows").as_array()) {
    const json::object& row = one.as_object();
    const bool has_arrived = row.at("arrived") == true;
    have_arrived = have_arrived && has_arrived;
    lines += member(row, "name") + ": " + (has_arrived ? "arrived" : "did not arrive: " + member(row, "why")) + "\n";
  }
  print(caller.options.json ? json_text(*result) + "\n" : lines);
  return finish_output(have_arrived ? kExitDone : kExitFailed);
}

int show_log(const Caller& caller) {
  const Result<std::int64_t> run = number_of_run(caller);
  if (!run) return report(caller.options, run.error());
  return print_log(caller.options, caller.backend, *run, caller.call.find("--follow") != nullptr);
}

int forecast(const Caller& caller) {
#ifdef RONDO_WITH_JOBS
  return print_forecast(caller.options, caller.call, caller.backend);
#else
  return report(caller.options, {StatusCode::Unimplemented, "this rondo was built without jobs (missing: libsqlite3-dev or libssl-dev)"});
#endif
}

int examine([[maybe_unused]] const Options& options, [[maybe_unused]] const JobCall& call) {
#ifdef RONDO_WITH_JOBS
  return print_job_doctor(options, call.word("FILE"));
#else
  return report(options, {StatusCode::Unimplemented, "this rondo was built without jobs (missing: libsqlite3-dev or libssl-dev)"});
#endif
}

/// A damaged job is named; without a definition that can be read it is left out.
int export_all(const Caller& caller) {
  std::uint64_t count = 0;
  std::uint64_t damaged = 0;
  const Result<json::object> result = caller.backend.call("jobs", {}, [&count, &damaged](const json::value& row) {
    json::object job = unescaped(row.as_object());
    if (job.contains("damaged")) {
      ++damaged;
      const std::string_view how = job.contains("handler") ? "its state may be wrong here" : "it is left out";
      print_error("rondo: warning: the job " + member(job, "name") + " is damaged, so " + std::string{how} + ": " + member(job, "damaged") +
                  "\n");
      if (!job.contains("handler")) return;
      job.erase("damaged");
    }
    job.erase("next");
    print((count++ == 0 ? "[\n" : ",\n") + json_text(job));
  });
  if (!result) return report(caller.options, result.error());
  print(count == 0 ? "[]\n" : "\n]\n");
  if (damaged == 0) return finish_output();
  const Status incomplete{StatusCode::DataLoss, "the export is incomplete: " + std::to_string(damaged) +
                                                    (damaged == 1 ? " job is" : " jobs are") + " damaged; see `rondo job doctor`"};
  return finish_output(report(caller.options, incomplete));
}

int import_file(const Caller& caller) { return import_jobs(caller.options, caller.call, caller.backend); }
int import_cron(const Caller& caller) { return import_crontab(caller.options, caller.call, caller.backend); }

constexpr std::array<std::pair<std::string_view, int (*)(const Caller&)>, 21> kVerbs{{{"add", add},
                                                                                      {"edit", edit},
                                                                                      {"remove", remove},
                                                                                      {"list", list},
                                                                                      {"show", show},
                                                                                      {"start", start},
                                                                                      {"stop", stop},
                                                                                      {"trigger", trigger},
                                                                                      {"rerun", rerun},
                                                                                      {"backfill", backfill},
                                                                                      {"next", next},
                                                                                      {"runs", runs},
                                                                                      {"failures", failures},
                                                                                      {"schedulers", schedulers},
                                                                                      {"notify", notify},
                                                                                      {"kill", kill},
                                                                                      {"log", show_log},
                                                                                      {"forecast", forecast},
                                                                                      {"export", export_all},
                                                                                      {"import", import_file},
                                                                                      {"import-crontab", import_cron}}};

}  // namespace

int job(const Options& options, const JobCall& call) {
  if (call.verb == "doctor") return examine(options, call);  // It needs no daemon.
  const Result<std::unique_ptr<Backend>> backend = open_backend(options);
  if (!backend) return report(options, backend.error());
  for (const auto& [verb, run] : kVerbs) {
    if (verb == call.verb) return run({options, call, **backend});
  }
  return report(options, {StatusCode::Internal, "no action for 'job " + call.verb + "'"});
}

}  // namespace rondo::cli
