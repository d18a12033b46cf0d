#include "jobs/import.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/crontab.h"
#include "jobs/definition.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

Result<std::string> content_of(const std::string& path) {
  if (path == "-") return std::string{std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(status_from_errno(errno, "cannot read '" + escape_text(path) + "'"));
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

/// A job of the file, with the one of this name in the daemon.
struct Imported {
  json::object definition;
  bool running = true;
  json::object current = {};  // Empty: there is none.
  bool is_new() const { return current.empty(); }
  bool is_running() const { return !is_new() && current.at("running") == true; }
};

/// The difference that storing 'one' makes.
std::string difference_of(const Imported& one) {
  json::object before = one.current;
  before.erase("next");
  before.erase("stop_note");  // A part of its state, which an import does not edit.
  json::object after = one.definition;
  after.erase("stop_note");
  after["running"] = one.running;
  return difference(before, after);
}

std::string name_of(const Imported& one) { return std::string{one.definition.at("name").as_string()}; }

bool has_parent_among(const Imported& child, const std::set<std::string>& names) {
  const json::value* const parents = child.definition.if_contains("parents");
  return parents != nullptr && std::ranges::any_of(parents->as_array(), [&names](const json::value& parent) {
           return names.contains(std::string{parent.as_string()});
         });
}

/// The daemon takes a job when it has the parents. InvalidArgument for a name that is there twice, and for a cycle.
Status parents_first(std::vector<Imported>& jobs) {
  std::set<std::string> left;
  for (const Imported& one : jobs) {
    if (!left.insert(name_of(one)).second) return {StatusCode::InvalidArgument, "the job '" + name_of(one) + "' is there twice"};
  }
  for (auto rest = jobs.begin(); rest != jobs.end();) {
    const auto behind = std::stable_partition(rest, jobs.end(), [&left](const Imported& one) { return !has_parent_among(one, left); });
    if (behind == rest) {
      std::string names;
      for (const std::string& name : left) names += (names.empty() ? "'" : ", '") + name + "'";
      return {StatusCode::InvalidArgument, "parents: a cycle, or children of one: " + names};
    }
    for (; rest != behind; ++rest) left.erase(name_of(*rest));
  }
  return {};
}

class Import {
 public:
  Import(const Options& options, Backend& backend, bool is_dry) : options_(options), backend_(backend), is_dry_(is_dry) {}

  int run(std::vector<Imported> jobs) {
    for (Imported& one : jobs) {
      if (Status wrong = check(one); !wrong.ok()) return fail(one, wrong);
    }
    if (const Status order = parents_first(jobs); !order.ok()) return report(options_, order, kExitBadFile);
    json::array rows;
    for (const Imported& one : jobs) {
      const std::string lines = difference_of(one);
      const std::string_view became = one.is_new() ? "added" : lines.empty() ? "same" : "changed";
      if (!is_dry_ && !lines.empty()) {
        if (Status failed = store(one); !failed.ok()) return fail(one, failed);
      }
      const std::string name = name_of(one);
      if (options_.json) {
        rows.push_back(json::object{{"name", name}, {"became", became}});
      } else {
        print(name + ": " + (is_dry_ && became != "same" ? "would be " : "") + std::string{became} + "\n" + (is_dry_ ? lines : ""));
      }
    }
    if (options_.json) print(json_text(json::object{{"rows", std::move(rows)}}) + "\n");
    return finish_output();
  }

 private:
  Status check(Imported& one) {
    const auto checked = backend_.call("job-put", {{"definition", escape_text(json_text(one.definition))}, {"dry_run", true}}, {});
    if (!checked) return checked.error();
    if (const json::value* const warning = checked->if_contains("warning")) {
      const std::string_view text = warning->as_string();
      if (warned_.emplace(text).second) print_error("rondo: warning: " + std::string{text} + "\n");
    }
    one.definition = definition_of(*checked);  // Without members that have their default value.
    auto current = backend_.call("job", {{"name", escape_text(name_of(one))}}, {});
    if (current) one.current = std::move(*current);
    return current || current.error().code() == StatusCode::NotFound ? Status{} : current.error();
  }

  Status store(const Imported& one) {
    json::object arguments{{"definition", escape_text(json_text(one.definition))}};
    if (one.running && one.is_new()) arguments["start"] = true;
    const auto stored = backend_.call("job-put", arguments, {});
    if (!stored) return stored.error();
    if (one.is_new() || one.running == one.is_running()) return {};
    const auto moved = backend_.call(one.running ? "job-start" : "job-stop", {{"name", arguments_name(one)}}, {});
    return moved ? Status{} : moved.error();
  }

  static std::string arguments_name(const Imported& one) { return escape_text(name_of(one)); }

  int fail(const Imported& one, const Status& why) {
    const json::value* const name = one.definition.if_contains("name");
    const std::string who = name != nullptr && name->is_string() ? std::string{name->get_string()} : std::string{"a job without a name"};
    const bool is_wrong = why.code() == StatusCode::InvalidArgument || why.code() == StatusCode::NotFound;
    return report(options_, why.with_context(who), is_wrong ? kExitBadFile : -1);
  }

  const Options& options_;
  Backend& backend_;
  bool is_dry_;
  std::set<std::string> warned_;  // Many jobs may have one handler.
};

Result<std::vector<Imported>> parse(const std::string& text) {
  boost::system::error_code error;
  const json::value file = json::parse(text, error);
  if (error || !file.is_array()) return failure(StatusCode::InvalidArgument, "the file is no JSON array of jobs");
  std::vector<Imported> jobs;
  for (const json::value& one : file.get_array()) {
    if (!one.is_object()) return failure(StatusCode::InvalidArgument, "entry " + std::to_string(jobs.size() + 1) + " is no JSON object");
    Imported job{.definition = definition_of(one.get_object())};
    const json::value* const running = one.get_object().if_contains("running");
    if (running != nullptr) job.running = *running == true;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

int import_jobs(const Options& options, const JobCall& call, Backend& backend) {
  const Result<std::string> text = content_of(call.word("FILE"));
  if (!text) return report(options, text.error());
  Result<std::vector<Imported>> jobs = parse(*text);
  if (!jobs) return report(options, jobs.error(), kExitBadFile);
  return Import{options, backend, call.find("--dry-run") != nullptr}.run(std::move(*jobs));
}

int import_crontab(const Options& options, const JobCall& call, Backend& backend) {
  const Result<std::string> text = content_of(call.word("FILE"));
  if (!text) return report(options, text.error());
  const std::string* const handler = call.find("--handler");
  const std::string* const prefix = call.find("--prefix");
  const Crontab read =
      read_crontab(*text, {.handler = handler == nullptr ? "command/shell" : *handler, .prefix = prefix == nullptr ? "crontab" : *prefix});
  for (const std::string& line : read.left_out) print_error("rondo: warning: " + line + " is not taken over\n");
  if (!read.refused.empty()) {
    std::string all;
    for (const std::string& line : read.refused) all.append(all.empty() ? "" : "; ").append(line);
    return report(options, {StatusCode::InvalidArgument, "nothing was imported: " + all}, kExitBadFile);
  }
  std::vector<Imported> jobs;
  for (const json::object& definition : read.definitions) {
    jobs.push_back({.definition = definition, .running = call.find("--stopped") == nullptr});
  }
  return Import{options, backend, call.find("--dry-run") != nullptr}.run(std::move(jobs));
}

}  // namespace rondo::cli
