#include "jobs/forecast_view.h"

#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/definition.h"
#include "jobs/job_json.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/forecast.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using calendar::format_rfc3339;
using jobs::ForecastOptions;

Result<WallTime> instant(std::string_view option, const std::string& text) {
  Result<WallTime> time = calendar::parse_rfc3339(text);
  if (!time) return failure(time.error().with_context(std::string{option} + " '" + escape_text(text) + "'"));
  return time;
}

Status apply_forecast_options(const JobCall& call, ForecastOptions& asked) {
  asked.from = SystemClock{}.wall_now();
  if (const std::string* const from = call.find("--from")) {
    const Result<WallTime> given = instant("--from", *from);
    if (!given) return given.error();
    asked.from = *given;
  }
  asked.to = asked.from + 24h;
  if (const std::string* const to = call.find("--to")) {
    const Result<WallTime> given = instant("--to", *to);
    if (!given) return given.error();
    asked.to = *given;
  }
  for (const auto& [option, text] : call.options) {
    if (option != "--outage") continue;
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos)
      return {StatusCode::InvalidArgument, "--outage '" + escape_text(text) + "' is not of the form INSTANT..INSTANT"};
    const Result<WallTime> begin = instant(option, text.substr(0, dots));
    const Result<WallTime> end = instant(option, text.substr(dots + 2));
    if (!begin || !end) return begin ? end.error() : begin.error();
    asked.outages.push_back({*begin, *end});
  }
  return {};
}

/// The time that a member of an answer has; empty for null.
std::optional<WallTime> time_of(const json::object& object, std::string_view member) {
  const json::value& text = object.at(member);
  const auto time = calendar::parse_rfc3339(text.is_string() ? std::string_view{text.get_string()} : std::string_view{});
  return time ? std::optional{*time} : std::nullopt;
}

jobs::JobRun run_of(const jobs::StoredJob& stored, const json::object& row) {
  return {.job_id = stored.id,
          .job = stored.job.name,
          .scheduled = time_of(row, "scheduled").value_or(WallTime{}),
          .due = time_of(row, "due").value_or(WallTime{}),
          .band = jobs::band_of(std::string_view{row.at("band").as_string()}).value_or(jobs::Band::Ring),
          .attempt = static_cast<std::uint32_t>(row.at("attempt").as_int64())};
}

/// Adds a row of the daemon's jobs, and its runs to those of 'asked'. Nothing for a damaged row, of which there is only a name.
Status add_job(json::object row, std::vector<jobs::StoredJob>& all, ForecastOptions& asked) {
  const bool has_definition = row.contains("handler");
  jobs::StoredJob stored{.id = row.at("id").as_int64(), .job = {}, .is_running = row.at("running").as_bool(), .next = time_of(row, "next")};
  const json::array runs = row.at("runs").as_array();
  for (const char* const state : {"id", "runs"}) row.erase(state);
  if (!has_definition) return {};
  auto job = jobs::job_from_json(json::serialize(definition_of(std::move(row))));
  if (!job) return job.error();
  stored.job = *std::move(job);
  for (const json::value& run : runs) asked.runs.push_back(run_of(stored, run.as_object()));
  all.push_back(std::move(stored));
  return {};
}

/// Reads the jobs of the daemon, and sets their runs and the settings of its planner.
Result<std::vector<jobs::StoredJob>> read_jobs(Backend& backend, ForecastOptions& asked) {
  std::vector<jobs::StoredJob> all;
  Status wrong;
  const Result<json::object> answer = backend.call("jobs", {{"plan", true}}, [&](const json::value& row) {
    if (wrong.ok()) wrong = add_job(row.as_object(), all, asked);
  });
  if (!answer) return failure(answer.error());
  if (!wrong.ok()) return failure(std::move(wrong));
  asked.now = time_of(*answer, "now");
  for (const auto& [setting, of] : {std::pair{"window_ms", &asked.window}, {"grace_ms", &asked.grace}, {"cycle_ms", &asked.cycle}})
    *of = std::chrono::milliseconds{answer->at(setting).as_int64()};
  return all;
}

json::object object_of(const jobs::JobRun& run) {
  json::object object{{"due", format_rfc3339(run.due)},
                      {"job", escape_text(run.job)},
                      {"scheduled", format_rfc3339(run.scheduled)},
                      {"band", to_string(run.band)},
                      {"fires", run.state != jobs::RunState::Skipped}};
  if (run.missed > 0) object["missed"] = run.missed;
  return object;
}

std::string line_of(const jobs::JobRun& run) {
  std::string line = format_rfc3339(run.due) + "  " + escape_text(run.job);
  if (run.band != jobs::Band::Ring) line += "  " + std::string{to_string(run.band)};
  if (run.state == jobs::RunState::Skipped) line += ", does not run";
  if (run.missed > 0) line += ", with " + std::to_string(run.missed) + " more missed";
  return line + "\n";
}

json::object summary_of(const jobs::Forecast& made) {
  json::array peaks;
  for (const jobs::ForecastPeak& peak : made.peaks) {
    json::array names;
    for (const std::string& name : peak.jobs) names.emplace_back(escape_text(name));
    peaks.push_back(json::object{{"minute", format_rfc3339(peak.minute)}, {"firings", peak.firings}, {"jobs", std::move(names)}});
  }
  json::array troubles;
  for (const std::string& trouble : made.troubles) troubles.emplace_back(visible_text(trouble));
  return {{"firings", made.firings},     {"misfires", made.misfires}, {"skipped", made.skipped},        {"missed", made.missed},
          {"cut_short", made.cut_short}, {"peaks", std::move(peaks)}, {"troubles", std::move(troubles)}};
}

std::string text_of(const jobs::Forecast& made, std::uint64_t hidden) {
  std::string text;
  if (hidden > 0) text += "(" + std::to_string(hidden) + " more)\n";
  text += std::to_string(made.firings) + " firings, of which " + std::to_string(made.misfires) + " after misfires; " +
          std::to_string(made.skipped) + " skipped, " + std::to_string(made.missed) + " more instants missed\n";
  if (made.cut_short) text += "cut short: too many firings\n";
  for (const jobs::ForecastPeak& peak : made.peaks) {
    text += "peak  " + format_rfc3339(peak.minute) + "  " + std::to_string(peak.firings) + " in the minute:";
    for (const std::string& name : peak.jobs) text += " " + escape_text(name);
    text += "\n";
  }
  return text;
}

}  // namespace

int print_forecast(const Options& options, const JobCall& call, Backend& backend) {
  ForecastOptions asked;
  // Wrong options need no daemon.
  if (const Status wrong = apply_forecast_options(call, asked); !wrong.ok()) return report(options, wrong, kExitUsage);
  std::uint64_t count = 1000;
  if (const std::string* const given = call.find("--count")) std::from_chars(given->data(), given->data() + given->size(), count);
  const Result<std::vector<jobs::StoredJob>> stored = read_jobs(backend, asked);
  if (!stored) return report(options, stored.error());
  std::uint64_t seen = 0;
  json::array runs;
  const Result<jobs::Forecast> made = jobs::forecast(*stored, asked, [&](const jobs::JobRun& run) {
    if (++seen > count) return;
    if (options.json) {
      runs.push_back(object_of(run));
    } else {
      print(line_of(run));
    }
  });
  if (!made) return report(options, made.error(), kExitUsage);
  if (options.json) {
    json::object answer = summary_of(*made);
    answer["from"] = format_rfc3339(asked.from);
    answer["to"] = format_rfc3339(asked.to);
    answer["runs"] = std::move(runs);
    print(json_text(answer) + "\n");
  } else {
    print(text_of(*made, seen > count ? seen - count : 0));
    for (const std::string& trouble : made->troubles) print_error(visible_text(trouble) + "\n");
  }
  return finish_output();
}

}  // namespace rondo::cli
