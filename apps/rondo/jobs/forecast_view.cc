#include "jobs/forecast_view.h"

#include <boost/json.hpp>
#include <charconv>
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

Result<ForecastOptions> forecast_options(const JobCall& call) {
  ForecastOptions asked{.from = SystemClock{}.wall_now(), .to = {}};
  if (const std::string* const from = call.find("--from")) {
    const Result<WallTime> given = instant("--from", *from);
    if (!given) return failure(given.error());
    asked.from = *given;
  }
  asked.to = asked.from + 24h;
  if (const std::string* const to = call.find("--to")) {
    const Result<WallTime> given = instant("--to", *to);
    if (!given) return failure(given.error());
    asked.to = *given;
  }
  for (const auto& [option, text] : call.options) {
    if (option != "--outage") continue;
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos)
      return failure(StatusCode::InvalidArgument, "--outage '" + escape_text(text) + "' is not of the form INSTANT..INSTANT");
    const Result<WallTime> begin = instant(option, text.substr(0, dots));
    const Result<WallTime> end = instant(option, text.substr(dots + 2));
    if (!begin || !end) return failure(begin ? end.error() : begin.error());
    asked.outages.push_back({*begin, *end});
  }
  return asked;
}

Result<std::vector<jobs::StoredJob>> read_jobs(Backend& backend) {
  std::vector<jobs::StoredJob> all;
  Status wrong;
  const Result<json::object> answer = backend.call("jobs", {}, [&](const json::value& row) {
    json::object object = row.as_object();
    jobs::StoredJob stored{.id = static_cast<std::int64_t>(all.size() + 1), .job = {}, .is_running = object.at("running").as_bool()};
    if (const json::value& next = object.at("next"); next.is_string()) {
      const auto time = calendar::parse_rfc3339(std::string_view{next.get_string()});
      if (time) stored.next = *time;
    }
    object.erase("running");
    object.erase("next");
    auto job = jobs::job_from_json(json::serialize(unescaped(std::move(object))));
    if (!job) {
      if (wrong.ok()) wrong = job.error();
      return;
    }
    stored.job = *std::move(job);
    all.push_back(std::move(stored));
  });
  if (!answer) return failure(answer.error());
  if (!wrong.ok()) return failure(std::move(wrong));
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
  const Result<ForecastOptions> asked = forecast_options(call);
  if (!asked) return report(options, asked.error(), kExitUsage);
  std::uint64_t count = 1000;
  if (const std::string* const given = call.find("--count")) std::from_chars(given->data(), given->data() + given->size(), count);
  const Result<std::vector<jobs::StoredJob>> stored = read_jobs(backend);
  if (!stored) return report(options, stored.error());
  std::uint64_t seen = 0;
  json::array runs;
  const Result<jobs::Forecast> made = jobs::forecast(*stored, *asked, [&](const jobs::JobRun& run) {
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
    answer["from"] = format_rfc3339(asked->from);
    answer["to"] = format_rfc3339(asked->to);
    answer["runs"] = std::move(runs);
    print(json_text(answer) + "\n");
  } else {
    print(text_of(*made, seen > count ? seen - count : 0));
    for (const std::string& trouble : made->troubles) print_error(visible_text(trouble) + "\n");
  }
  return finish_output();
}

}  // namespace rondo::cli
