#include "jobs/import_batches.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "output/json_text.h"
#include "rondo/admin/limits.h"
#include "rondo/base/text.h"
#include "rondo/jobs/limits.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using Places = std::vector<std::size_t>;

/// What a request has beside the definitions.
constexpr std::size_t kFrameBytes = 1024;

json::object edit_of(const Imported& one) {
  json::object edit = one.definition;
  edit["running"] = one.running;
  return edit;
}

/// Size of the job in a request, where its JSON is escaped inside a JSON string.
std::size_t bytes_of(const Imported& one) { return json_text(json::value(escape_text(json_text(edit_of(one))))).size(); }

void add_parents(const json::object& job, std::set<std::string>& names) {
  const json::value* const parents = job.if_contains("parents");
  if (parents == nullptr || !parents->is_array()) return;  // The daemon names what is wrong with it.
  for (const json::value& parent : parents->get_array()) {
    if (parent.is_string()) names.emplace(parent.get_string());
  }
}

/// The jobs by each name that they have or give as a parent, now or after the import.
std::map<std::string, Places> places_by_name(const std::vector<Imported>& jobs) {
  std::map<std::string, Places> places;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::set<std::string> names{name_of(jobs[i])};
    add_parents(jobs[i].definition, names);
    add_parents(jobs[i].current, names);
    for (const std::string& name : names) places[name].push_back(i);
  }
  return places;
}

/// The jobs that are related to each other.
std::vector<Places> groups_of(const std::vector<Imported>& jobs) {
  std::map<std::string, Places> by_name = places_by_name(jobs);
  std::vector<std::vector<const std::string*>> names_of(jobs.size());
  for (const auto& [name, places] : by_name) {
    for (const std::size_t place : places) names_of[place].push_back(&name);
  }
  std::vector<bool> is_taken(jobs.size(), false);
  std::vector<Places> groups;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (is_taken[i]) continue;
    is_taken[i] = true;
    Places group{i};
    for (std::size_t at = 0; at < group.size(); ++at) {
      for (const std::string* const name : names_of[group[at]]) {
        for (const std::size_t place : std::exchange(by_name.at(*name), {})) {
          if (!is_taken[place]) group.push_back(place);
          is_taken[place] = true;
        }
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

bool Imported::is_alone() const {
  std::set<std::string> names;
  add_parents(definition, names);
  add_parents(current, names);
  return names.empty();
}

std::string name_of(const Imported& one) {
  const json::value* const name = one.definition.if_contains("name");
  return name != nullptr && name->is_string() ? std::string{name->get_string()} : std::string{};
}

std::string definitions_of(const std::vector<Imported>& jobs, const Places& places) {
  json::array definitions;
  for (const std::size_t place : places) definitions.push_back(edit_of(jobs[place]));
  return json_text(definitions);
}

Result<std::vector<Places>> batches_of(const std::vector<Imported>& jobs) {
  std::map<std::string, const Imported*> names;
  for (const Imported& one : jobs) {
    const std::string name = name_of(one);
    if (name.empty()) continue;  // The daemon names what is wrong with it.
    const auto [first, is_new] = names.emplace(name, &one);
    if (!is_new)
      return failure(StatusCode::InvalidArgument, "the job '" + name + "' is there twice: " + first->second->place + " and " + one.place);
  }
  std::vector<Places> batches;
  std::size_t bytes = 0;
  for (const Places& group : groups_of(jobs)) {
    std::size_t of_group = 0;
    for (const std::size_t place : group) of_group += bytes_of(jobs[place]);
    const auto fits = [](std::size_t count, std::size_t size) {
      return count <= limits::kJobsOfPut && size + kFrameBytes <= limits::kAdminRequestBytes;
    };
    if (!fits(group.size(), of_group)) {
      return failure(StatusCode::InvalidArgument,
                     std::to_string(group.size()) + " jobs with " + std::to_string(of_group) + " bytes are related by their parents, '" +
                         name_of(jobs[group.front()]) + "' among them: at most " + std::to_string(limits::kJobsOfPut) + " jobs and " +
                         std::to_string(limits::kAdminRequestBytes - kFrameBytes) + " bytes can be stored together");
    }
    if (batches.empty() || !fits(batches.back().size() + group.size(), bytes + of_group)) {
      batches.emplace_back();
      bytes = 0;
    }
    batches.back().insert(batches.back().end(), group.begin(), group.end());
    bytes += of_group;
  }
  return batches;
}

}  // namespace rondo::cli
