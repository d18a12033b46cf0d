#include "jobs/import.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/crontab.h"
#include "jobs/definition.h"
#include "jobs/machine_zone.h"
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
  bool is_of_crontab = false;  // The import then keeps the other members that the job has.
  json::object current = {};   // Empty: there is none.
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
  /// 'result' has further members of the answer. With a prefix the other jobs that have it are named.
  Import(const Options& options, Backend& backend, bool is_dry, json::object result = {}, std::string prefix = {})
      : options_(options), backend_(backend), is_dry_(is_dry), prefix_(std::move(prefix)), result_(std::move(result)) {}

  int run(std::vector<Imported> jobs) {
    for (Imported& one : jobs) {
      if (Status wrong = check(one); !wrong.ok()) return fail(one, wrong);
    }
    if (const Status order = parents_first(jobs); !order.ok()) return report(options_, order, kExitBadFile);
    json::array rows;
    std::size_t same = 0;
    for (const Imported& one : jobs) {
      const std::string lines = difference_of(one);
      const std::string_view became = one.is_new() ? "added" : lines.empty() ? "same" : "changed";
      if (!is_dry_ && !lines.empty()) {
        if (Status failed = store(one); !failed.ok()) return fail(one, failed);
      }
      if (became == "same") ++same;
      const std::string name = name_of(one);
      if (options_.json) {
        rows.push_back(json::object{{"name", name}, {"became", became}});
      } else {
        print(name + ": " + (is_dry_ && became != "same" ? "would be " : "") + std::string{became} + "\n" + (is_dry_ ? lines : ""));
      }
    }
    result_["rows"] = std::move(rows);
    if (!prefix_.empty()) result_["others"] = name_others(jobs);
    if (options_.json) {
      print(json_text(result_) + "\n");
    } else if (same == jobs.size()) {
      print("nothing changes: all " + std::to_string(same) + " jobs are as the file says\n");
    }
    return finish_output();
  }

  /// Names the jobs with the prefix that are not among the imported ones, such as those of a line that was changed. Returns their names.
  json::array name_others(const std::vector<Imported>& jobs) const {
    std::set<std::string> imported;
    for (const Imported& one : jobs) imported.insert(name_of(one));
    json::array others;
    const auto listed = backend_.call("jobs", {}, [&](const json::value& row) {
      const json::object& job = row.as_object();
      const std::string name{job.at("name").as_string()};
      if (!name.starts_with(prefix_ + "/") || imported.contains(name)) return;
      print_error("rondo: warning: the job " + name + " is not in the file and " +
                  (job.at("running") == true ? "goes on" : "stays stopped") + ": `rondo job remove` removes it\n");
      others.emplace_back(name);
    });
    return listed ? others : json::array{};
  }

 private:
  /// For a job of a crontab: keeps what people have set since it was imported.
  Status take_over_current(Imported& one) {
    auto current = backend_.call("job", {{"name", escape_text(name_of(one))}}, {});
    if (!current) return current.error().code() == StatusCode::NotFound ? Status{} : current.error();
    json::object merged = definition_of(*current);
    for (const auto& member : one.definition) merged[member.key()] = member.value();
    one.definition = std::move(merged);
    if (one.running) one.running = current->at("running") == true;
    return {};
  }

  Status check(Imported& one) {
    if (one.is_of_crontab) {
      if (Status taken = take_over_current(one); !taken.ok()) return taken;
    }
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
  const std::string prefix_;
  json::object result_;
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
  const auto given = [&call](std::string_view option, std::string absent) {
    const std::string* const word = call.find(option);
    return word == nullptr ? std::move(absent) : *word;
  };
  const Result<MachineZone> zone =
      call.find("--zone") != nullptr ? MachineZone{*call.find("--zone"), "--zone"} : machine_zone(std::getenv("TZ"));
  if (!zone) return report(options, {StatusCode::InvalidArgument, std::string{zone.error().message()} + ": give --zone ZONE"});
  const std::string prefix = given("--prefix", "crontab");
  const Crontab read = read_crontab(*text, {.handler = given("--handler", "command/shell"), .prefix = prefix, .zone = zone->name});
  for (const std::string& line : read.left_out) print_error("rondo: warning: " + line + " is not taken over\n");
  if (!read.refused.empty()) {
    std::string all;
    for (const std::string& line : read.refused) all.append(all.empty() ? "" : "; ").append(line);
    return report(options, {StatusCode::InvalidArgument, "nothing was imported: " + all}, kExitBadFile);
  }
  if (!options.json) print("zone: " + zone->name + " (" + zone->source + "), except below CRON_TZ\n");
  std::vector<Imported> jobs;
  for (const json::object& definition : read.definitions) {
    jobs.push_back({.definition = definition, .running = call.find("--stopped") == nullptr, .is_of_crontab = true});
  }
  json::object result{{"zone", zone->name}, {"zone_source", zone->source}};
  return Import{options, backend, call.find("--dry-run") != nullptr, std::move(result), prefix}.run(std::move(jobs));
}

}  // namespace rondo::cli
