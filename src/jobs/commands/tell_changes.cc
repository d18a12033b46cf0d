// parts.h: what commands change of jobs, for a log.
#include <algorithm>
#include <boost/json.hpp>
#include <span>
#include <string>

#include "admin/server.h"
#include "commands/change_text.h"
#include "jobs/commands/parts.h"
#include "jobs/job_json.h"
#include "jobs/put_jobs.h"
#include "rondo/base/text.h"

namespace rondo::jobs {

namespace json = boost::json;
using commands::FieldValues;

namespace {

FieldValues values_of(const StoredJob& stored) {
  json::error_code error;
  const json::value definition = json::parse(to_json(stored.job), error);  // A damaged job may be no JSON.
  FieldValues values{{{"running", stored.is_running ? "true" : "false"}}};
  for (const auto& [name, value] : error ? json::object{} : definition.as_object())
    values->insert_or_assign(std::string{name}, value.is_string() ? std::string{value.get_string()} : json::serialize(value));
  values->erase("name");  // The line has it.
  return values;
}

/// Parameters may hold secrets: only their size is shown.
void hide_parameters(FieldValues& from, FieldValues& to) {
  const auto parameters = [](FieldValues& of) { return of && of->contains("parameters") ? &of->at("parameters") : nullptr; };
  std::string* const before = parameters(from);
  std::string* const after = parameters(to);
  const bool are_same_size = before != nullptr && after != nullptr && before->size() == after->size() && *before != *after;
  if (before != nullptr) *before = "(" + std::to_string(before->size()) + " bytes)";
  if (after != nullptr) *after = "(" + std::to_string(after->size()) + (are_same_size ? " other bytes)" : " bytes)");
}

}  // namespace

void tell_changes(const std::vector<StoredJob>& changed, bool are_removed, Reply& reply) {
  const Reply::TellChange tell = reply.tell_change();
  if (!tell) return;
  std::string all_before;
  std::string all_after;
  for (const StoredJob& job : std::span(changed).first(std::min(changed.size(), kJobsWithBefore))) {
    const StoredJob* const old = are_removed ? &job : job.before.get();
    FieldValues from = old != nullptr ? values_of(*old) : FieldValues{};
    FieldValues to = are_removed ? FieldValues{} : values_of(job);
    hide_parameters(from, to);
    const auto [before, after] = commands::change_text(from, to);
    if (before == after) continue;
    const std::string of = changed.size() == 1 ? "" : (all_before.empty() ? "" : "; ") + escape_text(job.job.name) + ": ";
    all_before += of + before;
    all_after += of + after;
  }
  const std::size_t beyond = changed.size() - std::min(changed.size(), kJobsWithBefore);
  const std::string more = beyond == 0 ? "" : " (and of " + std::to_string(beyond) + " more jobs)";
  tell(shorten(all_before, kAdminWriteWords) + more, shorten(all_after, kAdminWriteWords) + more);
}

}  // namespace rondo::jobs
