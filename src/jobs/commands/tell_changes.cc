// parts.h: what commands change of jobs, for a log.
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>

#include "admin/server.h"
#include "commands/change_text.h"
#include "jobs/commands/parts.h"
#include "jobs/job_json.h"
#include "rondo/base/text.h"

namespace rondo::jobs {

namespace json = boost::json;
using commands::FieldValues;

namespace {

/// Jobs of one command of which a log has the change.
constexpr std::size_t kTold = 16;

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

std::function<void(const std::vector<StoredJob>& jobs)> tell_changes(Jobs& jobs, std::vector<std::string> names, Reply& reply) {
  const Reply::TellChange tell = reply.tell_change();
  if (!tell) return [](const std::vector<StoredJob>&) {};
  const std::size_t beyond = names.size() - std::min(names.size(), kTold);
  names.resize(names.size() - beyond);
  const auto known = std::make_shared<std::map<std::string, FieldValues>>();
  for (const std::string& name : names) {
    jobs.find(name, [known, name](const Result<StoredJob>& stored) {
      if (stored || stored.error().code() == StatusCode::NotFound) (*known)[name] = stored ? values_of(*stored) : FieldValues{};
    });
  }
  return [tell, known, beyond, is_one = names.size() == 1](const std::vector<StoredJob>& changed) {
    std::string all_before;
    std::string all_after;
    for (auto& [name, from] : *known) {
      const auto now = std::ranges::find_if(changed, [&](const StoredJob& stored) { return stored.job.name == name; });
      FieldValues to = now == changed.end() ? FieldValues{} : values_of(*now);
      hide_parameters(from, to);
      const auto [before, after] = commands::change_text(from, to);
      if (before == after) continue;
      const std::string of = is_one ? "" : (all_before.empty() ? "" : "; ") + escape_text(name) + ": ";
      all_before += of + before;
      all_after += of + after;
    }
    const std::string more = beyond == 0 ? "" : " (and of " + std::to_string(beyond) + " more jobs)";
    tell(shorten(all_before, kAdminWriteWords) + more, shorten(all_after, kAdminWriteWords) + more);
  };
}

}  // namespace rondo::jobs
