#include "rondo/jobs/job.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/job_json.h"
#include "jobs/names.h"
#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

constexpr Names<Misfire, 4> kMisfires{{"do-nothing", "fire-once", "fire-last", "fire-all"}};
constexpr Names<OverlapScope, 2> kOverlapScopes{{"executor", "job"}};
constexpr Names<Overlap, 4> kOverlaps{{"serial", "discard", "cover", "concurrent"}};
constexpr Names<Route, 11> kRoutes{{"default", "first", "last", "round", "random", "consistent-hash", "least-frequently-used",
                                    "least-recently-used", "failover", "busyover", "sharding-broadcast"}};

bool is_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '/';
  };
  // Commands may use the name as a path.
  const std::string parts = "/" + std::string{name} + "/";
  const bool leads_elsewhere =
      parts.find("//") != std::string::npos || parts.find("/./") != std::string::npos || parts.find("/../") != std::string::npos;
  return name.size() <= limits::kJobName && std::ranges::all_of(name, is_letter) && !leads_elsewhere;
}

Status refuse(std::string_view field, std::string_view why) {
  return {StatusCode::InvalidArgument, std::string{field} + ": " + std::string{why}};
}

/// A whole number with a unit, at most 100 years.
Result<Duration> duration_of(std::string_view text) {
  const auto wrong = [text](std::string_view why) {
    return failure(refuse("schedule.when", "'" + std::string{text} + "' " + std::string{why}));
  };
  constexpr std::string_view kNone = "is no duration: a whole number with the unit ms, s, min, h or d";
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if ((error != std::errc{} && error != std::errc::result_out_of_range) || text.starts_with('-')) return wrong(kNone);
  constexpr std::array<std::pair<std::string_view, Duration>, 5> kUnits{
      {{"ms", 1ms}, {"s", 1s}, {"min", 60s}, {"h", 3600s}, {"d", 24 * 3600s}}};
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto found = std::ranges::find(kUnits, unit, [](const auto& known) { return known.first; });
  constexpr Duration kCentury = 100 * 365 * 24 * 3600s;
  if (found == kUnits.end()) return wrong(kNone);
  if (error != std::errc{} || number > kCentury / found->second) return wrong("is longer than 36500d, the longest duration");
  return number * found->second;
}

Status check_dialect(const std::string& dialect) {
  if (dialect.empty() || calendar::dialect_of(dialect)) return {};
  return refuse("schedule.dialect", "'" + dialect + "' is none of quartz, spring, unix, unix6, systemd and robfig");
}

Result<calendar::Cron> compile_cron(std::string_view expression, const std::string& dialect) {
  if (Status wrong = check_dialect(dialect); !wrong.ok()) return failure(std::move(wrong));
  const auto chosen = calendar::dialect_of(dialect);
  auto cron = chosen ? calendar::Cron::parse(expression, *chosen) : calendar::Cron::parse(expression);
  if (!cron) return failure(refuse("schedule.when", "cron expression, " + cron.error().to_string()));
  return std::move(*cron);
}

/// An instant, or a local time of the schedule's zone: as an expression, the time that it has by the zone's rules then.
Status compile_at(std::string_view time, const ScheduleText& text, calendar::Schedule& schedule) {
  const Result<WallTime> at = calendar::parse_rfc3339(time);
  if (at) {
    schedule.when = calendar::OneShot{*at};
    return {};
  }
  constexpr std::string_view kLocal = "2026-03-29 01:00:00";
  std::string local{time};
  if (local.size() == kLocal.size() - 3) local += ":00";
  if (local.size() != kLocal.size() || !calendar::parse_rfc3339(local + "Z")) return at.error().with_context("schedule.when");
  if (text.zone.empty()) {
    return refuse("schedule.when",
                  "'" + std::string{time} + "' has no offset, such as Z or +01:00, and the job has no zone in which it is a time");
  }
  local[kLocal.find(' ')] = ' ';
  auto cron = calendar::Cron::parse(local, calendar::CronDialect::Systemd);
  if (!cron) return refuse("schedule.when", cron.error().to_string());
  schedule.when = std::move(*cron);
  return {};
}

/// Sets 'schedule.when' from the text of ScheduleText::when.
Status compile_when(const ScheduleText& text, calendar::Schedule& schedule) {
  const std::string_view when = text.when;
  const std::size_t blank = std::min(when.find(' '), when.size());
  const std::string_view kind = when.substr(0, blank);
  const std::string_view rest = when.substr(std::min(blank + 1, when.size()));
  if (kind == "cron") {
    auto cron = compile_cron(rest, text.dialect);
    if (!cron) return cron.error();
    schedule.when = std::move(*cron);
  } else if (kind == "every" || kind == "after") {
    const Result<Duration> period = duration_of(rest);
    if (!period) return period.error();
    if (kind == "every") schedule.when = calendar::FixedRate{.period = *period, .anchor = text.from.value_or(WallTime{})};
    if (kind == "after") schedule.when = calendar::FixedDelay{.delay = *period};
  } else if (kind == "at") {
    return compile_at(rest, text, schedule);
  } else if (when != "manual") {
    return refuse("schedule.when",
                  "'" + std::string{when} + "' is none of: cron EXPRESSION, every DURATION, after DURATION, at RFC3339, manual");
  }
  return {};
}

/// Owners and tags are for people, who choose jobs by them.
Status check_tags(const Job& job) {
  if (job.tags.size() > limits::kJobTags) return refuse("tags", "more than " + std::to_string(limits::kJobTags));
  const std::set<std::string_view> different(job.tags.begin(), job.tags.end());
  if (different.size() < job.tags.size()) return refuse("tags", "one is there twice");
  return different.contains("") ? refuse("tags", "one is empty") : Status{};
}

/// A job is stored in whole milliseconds, and with times that a database of jobs can have.
Status check_times(const Job& job) {
  for (const auto& [field, time] :
       {std::pair{"backoff", job.backoff}, {"timeout", job.timeout}, {"schedule.jitter", job.schedule.jitter}}) {
    if (time % 1ms != Duration{0}) return refuse(field, "it is not in whole milliseconds");
  }
  for (const auto& [field, time] : {std::pair{"schedule.from", job.schedule.from}, {"schedule.until", job.schedule.until}}) {
    if (time && !calendar::parse_rfc3339(calendar::format_rfc3339(*time))) return refuse(field, "it is too far from the present");
  }
  return {};
}

/// A job is stored as JSON, which has no other text.
Status check_texts(const Job& job) {
  std::vector<std::pair<std::string_view, std::string_view>> texts{{"handler", job.handler},
                                                                   {"owner", job.owner},
                                                                   {"note", job.note},
                                                                   {"stop_note", job.stop_note},
                                                                   {"schedule.when", job.schedule.when},
                                                                   {"schedule.dialect", job.schedule.dialect},
                                                                   {"schedule.zone", job.schedule.zone},
                                                                   {"schedule.dst", job.schedule.dst},
                                                                   {"schedule.excluded", job.schedule.excluded}};
  for (const std::string& tag : job.tags) texts.emplace_back("tags", tag);
  for (const std::string& fact : job.required_facts) texts.emplace_back("required_facts", fact);
  for (const auto& [field, text] : texts) {
    if (!is_utf8(text)) return refuse(field, "it is not UTF-8");
    if (field == "handler" && safe_length(text) != text.size()) return refuse(field, "it has control characters");
    if (text.size() > limits::kJobText) return refuse(field, "more than " + std::to_string(limits::kJobText) + " bytes");
  }
  return {};
}

Status check_parents(const Job& job) {
  if (job.parents.size() > limits::kJobParents) return refuse("parents", "more than " + std::to_string(limits::kJobParents));
  for (std::size_t i = 0; i < job.parents.size(); ++i) {
    const std::string& parent = job.parents[i];
    if (!is_name(parent)) return refuse("parents", "'" + parent + "' is no name of a job");
    if (std::find(job.parents.begin(), job.parents.begin() + static_cast<std::ptrdiff_t>(i), parent) !=
        job.parents.begin() + static_cast<std::ptrdiff_t>(i)) {
      return refuse("parents", "'" + parent + "' is there twice");
    }
  }
  if (!job.parents.empty() && job.schedule.when != "manual") {
    return refuse("schedule.when", "a job with parents runs after them, so its schedule is 'manual'");
  }
  return {};
}

/// Sets the excluded days. Refuses them where they leave no day for the schedule. Rates and delays have instants on all days, or on days
/// that depend on the zone: for them one day that is left is enough. A schedule "at" may be on an excluded day, and then is never due.
Status compile_excluded(const std::string& text, calendar::Schedule& schedule) {
  auto excluded = calendar::ExcludedDays::parse(text);
  if (!excluded) return excluded.error().with_context("schedule.excluded");
  schedule.excluded = std::move(*excluded);
  if (schedule.excluded.empty()) return {};
  static const calendar::Cron kDaily = calendar::Cron::parse("0 0 * * *", calendar::CronDialect::Unix).value();
  const auto* const own = std::get_if<calendar::Cron>(&schedule.when);
  const calendar::Cron& cron = own != nullptr ? *own : kDaily;
  if (cron.next(calendar::Zone::utc(), schedule.dst, WallTime{}, &schedule.excluded)) return {};
  return refuse("schedule.excluded", "no day is left on which the job is due");
}

/// How many instants of a cron expression can be due at the same time with this jitter, counted to one more than the limit.
std::size_t instants_within(const calendar::Cron& cron, calendar::DstRule dst, Duration jitter) {
  std::optional<WallTime> at = cron.next(calendar::Zone::utc(), dst, WallTime{});
  if (!at) return 0;
  const WallTime end = *at + jitter;
  std::size_t count = 0;
  for (; at && *at <= end && count <= limits::kJitterInstants; ++count) at = cron.next(calendar::Zone::utc(), dst, *at);
  return count;
}

/// A jitter longer than a period would let the runs of several instants wait, and one longer than a day is a mistake in the unit.
Status check_jitter(const calendar::Schedule& schedule) {
  const Duration jitter = schedule.jitter.most;
  const std::string given = std::to_string(jitter / 1ms) + " ms are more than ";
  if (jitter > limits::kJitter) return refuse("schedule.jitter", given + std::to_string(limits::kJitter / 3600s) + " h");
  const auto* const rate = std::get_if<calendar::FixedRate>(&schedule.when);
  if (rate != nullptr && jitter > rate->period)
    return refuse("schedule.jitter", given + "the " + std::to_string(rate->period / 1ms) + " ms from one firing to the next");
  const auto* const cron = std::get_if<calendar::Cron>(&schedule.when);
  constexpr Duration kCronPeriodLeast{1s};
  if (cron == nullptr || jitter / kCronPeriodLeast < static_cast<std::int64_t>(limits::kJitterInstants)) return {};
  if (instants_within(*cron, schedule.dst, jitter) <= limits::kJitterInstants) return {};
  return refuse("schedule.jitter", given + "the expression allows: it has more than " + std::to_string(limits::kJitterInstants) +
                                       " instants in this time, which could all be due together");
}

Status check_facts(const Job& job) {
  if (job.required_facts.size() > limits::kJobFacts) return refuse("required_facts", "more than " + std::to_string(limits::kJobFacts));
  for (const std::string& fact : job.required_facts) {
    const std::size_t colon = fact.find(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == fact.size()) {
      return refuse("required_facts", "'" + fact + "' is not of the form kind:key");
    }
    if (fact == "job-succeeded:" + job.name) return refuse("required_facts", "the job would wait for its own success");
  }
  return {};
}

/// The bytes of a stored definition that limits::kJobBytes counts. A stop may add its note to the largest one.
std::size_t stored_bytes(const Job& job) {
  if (job.stop_note.empty()) return to_json(job).size();
  Job without_note = job;
  without_note.stop_note.clear();
  return to_json(without_note).size();
}

}  // namespace

std::string_view to_string(Misfire misfire) noexcept { return kMisfires.of(misfire); }
std::optional<Misfire> misfire_of(std::string_view name) noexcept { return kMisfires.find(name); }
std::string_view to_string(OverlapScope scope) noexcept { return kOverlapScopes.of(scope); }
std::optional<OverlapScope> overlap_scope_of(std::string_view name) noexcept { return kOverlapScopes.find(name); }
std::string_view to_string(Overlap overlap) noexcept { return kOverlaps.of(overlap); }
std::optional<Overlap> overlap_of(std::string_view name) noexcept { return kOverlaps.find(name); }
std::string_view to_string(Route route) noexcept { return kRoutes.of(route); }
std::optional<Route> route_of(std::string_view name) noexcept { return kRoutes.find(name); }

Result<calendar::Schedule> compile(const ScheduleText& text, std::uint64_t seed) {
  calendar::Schedule schedule;
  if (Status status = compile_when(text, schedule); !status.ok()) return failure(std::move(status));
  if (!text.dst.empty()) {
    const auto rule = calendar::dst_rule_of(text.dst);
    if (!rule) return failure(refuse("schedule.dst", "'" + text.dst + "' is none of vixie, quartz, spring and systemd"));
    // A time of "at" comes once, also where the zone skips or repeats it.
    if (!text.when.starts_with("at ")) schedule.dst = *rule;
  }
  if (Status status = compile_excluded(text.excluded, schedule); !status.ok()) return failure(std::move(status));
  schedule.from = text.from;
  schedule.until = text.until;
  schedule.jitter = {.most = text.jitter, .seed = seed};
  if (Status status = calendar::check(schedule); !status.ok()) return failure(status.with_context("schedule"));
  if (Status status = check_jitter(schedule); !status.ok()) return failure(std::move(status));
  return schedule;
}

Status check_values(const Job& job) {
  if (job.handler.empty()) return refuse("handler", "it names none");
  if (to_string(job.misfire).empty()) return refuse("misfire", "it is none of the values of Misfire");
  if (to_string(job.overlap).empty()) return refuse("overlap", "it is none of the values of Overlap");
  if (to_string(job.overlap_scope).empty()) return refuse("overlap_scope", "it is none of the values of OverlapScope");
  if (to_string(job.route).empty()) return refuse("route", "it is none of the values of Route");
  if (job.concurrency < 1 || job.concurrency > limits::kJobConcurrency) {
    return refuse("concurrency", "it is 1 to " + std::to_string(limits::kJobConcurrency));
  }
  if (job.misfire_runs < 1 || job.misfire_runs > limits::kMisfireRuns) {
    return refuse("misfire_runs", "it is 1 to " + std::to_string(limits::kMisfireRuns));
  }
  if (job.retries > limits::kJobRetries) return refuse("retries", "more than " + std::to_string(limits::kJobRetries));
  if (job.backoff < Duration{0}) return refuse("backoff", "it is negative");
  if (job.timeout < Duration{0}) return refuse("timeout", "it is negative");
  return {};
}

Status check_parameters(std::string_view parameters) {
  if (!is_utf8(parameters)) return refuse("parameters", "it is not UTF-8");
  if (parameters.size() <= limits::kJobParameters) return {};
  return refuse("parameters", "more than " + std::to_string(limits::kJobParameters) + " bytes");
}

Status check_contents(const Job& job) {
  if (!is_name(job.name)) {
    return refuse("name", "a name has 1 to " + std::to_string(limits::kJobName) +
                              " letters, digits and characters of '._-/', and no part between slashes that is empty, '.' or '..'");
  }
  if (Status status = check_values(job); !status.ok()) return status;
  if (Status status = check_texts(job); !status.ok()) return status;
  if (Status status = check_tags(job); !status.ok()) return status;
  if (Status status = check_times(job); !status.ok()) return status;
  if (Status status = check_parameters(job.parameters); !status.ok()) return status;
  if (Status status = check_parents(job); !status.ok()) return status;
  if (Status status = check_facts(job); !status.ok()) return status;
  if (stored_bytes(job) > limits::kJobBytes)
    return refuse("definition", "as it is stored it would have more than " + std::to_string(limits::kJobBytes) + " bytes");
  return {};
}

Status check(const Job& job) {
  if (Status status = check_contents(job); !status.ok()) return status;
  // A schedule without an expression has no use for it, and a mistake in it would be found with the next edit.
  if (Status status = check_dialect(job.schedule.dialect); !status.ok()) return status;
  const auto schedule = compile(job.schedule, 0);
  return schedule ? Status{} : schedule.error();
}

}  // namespace rondo::jobs
