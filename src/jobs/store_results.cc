#include "jobs/store_results.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "jobs/job_json.h"

namespace rondo::jobs {

namespace {

// --- Writing

json::value json_of(bool value) { return value; }
json::value json_of(std::size_t value) { return std::uint64_t{value}; }
json::value json_of(std::int64_t value) { return value; }
json::value json_of(WallTime at) { return at.nanoseconds(); }
json::value json_of(const std::string& text) { return json::value(text); }
json::value json_of(const Job& job) { return json::value(to_json(job)); }
template <class T>
json::value json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : json::value(nullptr);
}
template <class T>
json::value json_of(const std::vector<T>& values);

json::value json_of(const JobRun& run) {
  return json::array{run.id,
                     run.job_id,
                     run.job,
                     json_of(run.scheduled),
                     json_of(run.due),
                     static_cast<std::uint64_t>(run.band),
                     static_cast<std::uint64_t>(run.state),
                     std::uint64_t{run.attempt},
                     run.missed,
                     json_of(run.begun),
                     json_of(run.ended),
                     run.note,
                     json_of(run.parents),
                     run.worker,
                     run.is_killed,
                     json_of(run.parameters),
                     run.address,
                     run.rerun_of};
}
json::value json_of(const StoredJob& job) { return json::array{job.id, json_of(job.job), job.is_running, json_of(job.next)}; }
json::value json_of(const Plan& plan) { return json::array{plan.job_id, json_of(plan.next), json_of(plan.runs)}; }
json::value json_of(const SchedulerClaim& claim) {
  return json::array{claim.name, json_of(claim.shards), json_of(claim.since), json_of(claim.until), claim.is_expired, claim.is_here};
}
json::value json_of(const Planner::Replanned& page) { return json::array{page.last, page.is_complete, json_of(page.unhandled)}; }
json::value json_of(const Planner::Cycle& cycle) {
  return json::array{json_of(cycle.jobs), json_of(cycle.plans), json_of(cycle.children),
                     cycle.is_complete,   cycle.trouble,        cycle.is_changed};
}
json::value json_of(const FoundRuns& found) {
  std::vector<StoredJob> jobs;
  for (const auto& [name, job] : found.jobs) jobs.push_back(job);
  json::array lost;
  for (const auto& [run, reason] : found.lost) lost.push_back(json::array{run, reason});
  return json::array{json_of(found.runs), json_of(jobs), std::move(lost)};
}
template <class T>
json::value json_of(const std::vector<T>& values) {
  json::array array;
  for (const T& value : values) array.push_back(json_of(value));
  return array;
}

// --- Reading. Each function returns false for another value.

bool read(const json::value& from, bool& to) {
  if (from.is_bool()) to = from.get_bool();
  return from.is_bool();
}
template <class Number>
requires(std::is_integral_v<Number> && !std::is_same_v<Number, bool>) bool read(const json::value& from, Number& to) {
  boost::system::error_code error;
  const auto number = from.to_number<Number>(error);
  if (!error) to = number;
  return !error;
}
bool read(const json::value& from, std::string& to) {
  if (from.is_string()) to = std::string{view(from.get_string())};
  return from.is_string();
}
bool read(const json::value& from, WallTime& to) {
  std::int64_t nanoseconds = 0;
  if (!read(from, nanoseconds)) return false;
  to = WallTime::from_nanoseconds(nanoseconds);
  return true;
}
template <class Enumeration>
requires std::is_enum_v<Enumeration>
bool read(const json::value& from, Enumeration& to) {
  std::uint8_t number = 0;
  if (!read(from, number)) return false;
  to = static_cast<Enumeration>(number);
  return !to_string(to).empty();
}
bool read(const json::value& from, Job& to) {
  std::string text;
  if (!read(from, text)) return false;
  Result<Job> job = job_from_json(text);
  if (job) to = std::move(*job);
  return job.has_value();
}
template <class T>
bool read(const json::value& from, std::optional<T>& to) {
  if (from.is_null()) return true;
  return read(from, to.emplace());
}
template <class T>
bool read(const json::value& from, std::vector<T>& to);

bool read(const json::value& from, JobRun& to);
bool read(const json::value& from, std::pair<std::int64_t, std::string>& to);
bool read(const json::value& from, StoredJob& to);
bool read(const json::value& from, Plan& to);
bool read(const json::value& from, SchedulerClaim& to);

/// An array with exactly these members.
template <class... Members>
bool read_all(const json::value& from, Members&... members) {
  if (!from.is_array() || from.get_array().size() != sizeof...(members)) return false;
  std::size_t at = 0;
  return (read(from.get_array()[at++], members) && ...);
}
/// The same, but the last members may be absent. The first 'least' are there.
template <class... Members>
bool read_first(const json::value& from, std::size_t least, Members&... members) {
  if (!from.is_array() || from.get_array().size() < least || from.get_array().size() > sizeof...(members)) return false;
  std::size_t at = 0;
  const auto read_next = [&](auto& member) { return at == from.get_array().size() || read(from.get_array()[at++], member); };
  return (read_next(members) && ...);
}
bool read(const json::value& from, JobRun& to) {
  // A journal of an earlier version does not have the worker and what follows.
  constexpr std::size_t kMembersBefore = 13;
  return read_first(from, kMembersBefore, to.id, to.job_id, to.job, to.scheduled, to.due, to.band, to.state, to.attempt, to.missed,
                    to.begun, to.ended, to.note, to.parents, to.worker, to.is_killed, to.parameters, to.address, to.rerun_of);
}
bool read(const json::value& from, std::pair<std::int64_t, std::string>& to) { return read_all(from, to.first, to.second); }
bool read(const json::value& from, StoredJob& to) { return read_all(from, to.id, to.job, to.is_running, to.next); }
bool read(const json::value& from, Plan& to) { return read_all(from, to.job_id, to.next, to.runs); }
bool read(const json::value& from, SchedulerClaim& to) {
  return read_all(from, to.name, to.shards, to.since, to.until, to.is_expired, to.is_here);
}
bool read(const json::value& from, Planner::Replanned& to) {
  // A journal of an earlier version does not have the last one.
  return read_all(from, to.last, to.is_complete, to.unhandled) || read_all(from, to.last, to.is_complete);
}
bool read(const json::value& from, Planner::Cycle& to) {
  // A journal of an earlier version does not have the last one.
  const bool is_read = read_all(from, to.jobs, to.plans, to.children, to.is_complete, to.trouble, to.is_changed) ||
                       read_all(from, to.jobs, to.plans, to.children, to.is_complete, to.trouble);
  return is_read && to.jobs.size() == to.plans.size();
}
bool read(const json::value& from, FoundRuns& to) {
  std::vector<StoredJob> jobs;
  std::vector<std::pair<std::int64_t, std::string>> lost;
  if (!read_all(from, to.runs, jobs, lost)) return false;
  to.lost.insert(lost.begin(), lost.end());
  for (StoredJob& job : jobs) to.jobs.emplace(job.job.name, std::move(job));
  return std::ranges::all_of(to.runs, [&to](const JobRun& run) { return to.jobs.contains(run.job); });
}
template <class T>
bool read(const json::value& from, std::vector<T>& to) {
  if (!from.is_array()) return false;
  for (const json::value& value : from.get_array()) {
    if (!read(value, to.emplace_back())) return false;
  }
  return true;
}

}  // namespace

template <class T>
void write_result(const T& result, std::string& text) {
  append_json(text, json_of(result));
}

template <class T>
bool read_result(std::string_view text, T& result) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  return !error && read(value, result);
}

template void write_result(const bool&, std::string&);
template void write_result(const std::string&, std::string&);
template void write_result(const std::size_t&, std::string&);
template void write_result(const StoredJob&, std::string&);
template void write_result(const JobRun&, std::string&);
template void write_result(const std::vector<StoredJob>&, std::string&);
template void write_result(const std::vector<JobRun>&, std::string&);
template void write_result(const std::vector<SchedulerClaim>&, std::string&);
template void write_result(const FoundRuns&, std::string&);
template void write_result(const Planner::Cycle&, std::string&);
template void write_result(const Planner::Replanned&, std::string&);
template bool read_result(std::string_view, bool&);
template bool read_result(std::string_view, std::string&);
template bool read_result(std::string_view, std::size_t&);
template bool read_result(std::string_view, StoredJob&);
template bool read_result(std::string_view, JobRun&);
template bool read_result(std::string_view, std::vector<StoredJob>&);
template bool read_result(std::string_view, std::vector<JobRun>&);
template bool read_result(std::string_view, std::vector<SchedulerClaim>&);
template bool read_result(std::string_view, FoundRuns&);
template bool read_result(std::string_view, Planner::Cycle&);
template bool read_result(std::string_view, Planner::Replanned&);

}  // namespace rondo::jobs
