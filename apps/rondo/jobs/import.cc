#include "jobs/import.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/doubled_name.h"
#include "commands/load.h"
#include "jobs/crontab.h"
#include "jobs/definition.h"
#include "jobs/import_batches.h"
#include "jobs/machine_zone.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The most bytes of a file: some 100,000 jobs.
constexpr std::size_t kFileBytes = std::size_t{64} * 1024 * 1024;

Result<std::string> read_all(std::istream& from, const std::string& name) {
  std::string text;
  std::array<char, 65'536> piece{};
  while (from.read(piece.data(), piece.size()), from.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(from.gcount()));
    if (text.size() > kFileBytes) return failure(StatusCode::InvalidArgument, name + " has more than 64 MiB");
  }
  if (from.bad()) return failure(status_from_errno(EIO, "cannot read " + name));
  return text;
}

Result<std::string> content_of(const std::string& path) {
  if (path == "-") return read_all(std::cin, "the standard input");
  const std::string name = "'" + escape_text(path) + "'";
  if (std::error_code error; std::filesystem::is_directory(path, error)) return failure(status_from_errno(EISDIR, "cannot read " + name));
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(status_from_errno(errno, "cannot read " + name));
  return read_all(file, name);
}

/// The most errors of a file that are named.
constexpr std::size_t kNamed = 100;

/// The errors of a file as one text.
std::string text_of(const std::vector<std::string>& wrong) {
  std::string text;
  for (std::size_t i = 0; i < std::min(wrong.size(), kNamed); ++i) text.append(text.empty() ? "" : "; ").append(wrong[i]);
  if (wrong.size() > kNamed) text += "; and " + std::to_string(wrong.size() - kNamed) + " more";
  return text;
}

bool is_wrong_file(const Status& why) { return why.code() == StatusCode::InvalidArgument || why.code() == StatusCode::NotFound; }

/// True if the import sets a schedule that has no instant ahead. 'stored' is the job as the daemon would store it.
bool is_past(const Imported& one, const json::object& stored) {
  if (!one.running || !stored.contains("schedule") || stored.contains("parents") || !stored.at("next").is_null()) return false;
  constexpr std::array<std::string_view, 4> kMembers{"schedule", "from", "until", "excluded"};
  return one.is_new() || std::ranges::any_of(kMembers, [&](std::string_view name) {
           const json::value* const before = one.current.if_contains(name);
           const json::value* const after = stored.if_contains(name);
           return (before == nullptr) != (after == nullptr) || (before != nullptr && *before != *after);
         });
}

/// The difference that storing 'one' makes.
std::string difference_of(const Imported& one) {
  json::object before = without_state(one.current);
  if (!one.is_new()) before["running"] = one.current.at("running");
  before.erase("stop_note");  // A part of its state, which an import does not edit.
  json::object after = one.definition;
  after.erase("stop_note");
  after["running"] = one.running;
  return difference(before, after);
}

class Import {
 public:
  /// 'result' has further members of the answer. With a prefix the other jobs that have it are named.
  Import(const Options& options, Backend& backend, bool is_dry, json::object result = {}, std::string prefix = {})
      : options_(options), backend_(backend), is_dry_(is_dry), prefix_(std::move(prefix)), result_(std::move(result)) {}

  /// 'wrong': the lines of a crontab that are no jobs. The other jobs of a crontab are imported. A file of jobs is imported as a whole.
  int run(std::vector<Imported> jobs, std::vector<std::string> wrong = {}) {
    for (Imported& one : jobs) {
      if (Status failed = read_current(one); !failed.ok()) return report(options_, failed.with_context(name_of(one)));
    }
    const bool is_crontab = !prefix_.empty();
    auto batches = batches_of(jobs);
    if (!batches) return fail(batches.error());
    for (Places& batch : *batches) {
      if (Status failed = check_all(jobs, batch, wrong); !failed.ok()) return fail(failed);
    }
    if (!wrong.empty() && !is_crontab) return fail({StatusCode::InvalidArgument, text_of(wrong)});
    for (const Places& batch : *batches) {
      if (Status failed = is_dry_ ? Status{} : store(jobs, batch); !failed.ok()) return fail(failed);
      for (const std::size_t place : batch) note(jobs[place]);
    }
    result_["rows"] = std::move(rows_);
    if (is_crontab) result_["others"] = name_others(jobs);
    if (is_crontab) result_["refused"] = json::array(wrong.begin(), wrong.end());
    if (options_.json) {
      print(json_text(result_) + "\n");
    } else if (same_ == jobs.size() && wrong.empty()) {
      print("nothing changes: " + (same_ == 1 ? "the one job is" : "all " + std::to_string(same_) + " jobs are") + " as the file says\n");
    }
    for (const std::string& line : wrong) print_error("rondo: not imported: " + line + "\n");
    const int done = finish_output();
    return wrong.empty() ? done : kExitBadFile;
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
  using Places = std::vector<std::size_t>;

  /// For a job of a crontab it keeps what people have set since the job was imported.
  Status read_current(Imported& one) {
    if (name_of(one).empty()) return {};  // The daemon names what is wrong with it.
    auto current = backend_.call("job", {{"name", escape_text(name_of(one))}}, {});
    if (!current) return current.error().code() == StatusCode::NotFound ? Status{} : current.error();
    one.current = unescaped(*current);
    if (!one.is_of_crontab) return {};
    json::object merged = definition_of(std::move(*current));
    for (const auto& member : one.definition) merged[member.key()] = member.value();
    one.definition = std::move(merged);
    if (one.running) one.running = one.current.at("running") == true;
    return {};
  }

  /// Moves the jobs that the daemon refuses from the batch to 'wrong', with their reasons. Returns any other error.
  Status check_all(std::vector<Imported>& jobs, Places& batch, std::vector<std::string>& wrong) {
    const Status of_batch = check(jobs, batch);
    if (of_batch.ok() || !is_wrong_file(of_batch)) return of_batch;
    const std::size_t before = wrong.size();
    Places right;
    for (const std::size_t place : batch) {  // The daemon names the first one.
      if (!jobs[place].is_alone()) continue;
      const Status of_job = check(jobs, {place});
      if (!of_job.ok() && !is_wrong_file(of_job)) return of_job;
      of_job.ok() ? right.push_back(place) : wrong.push_back(in_file(jobs, {place}, of_job));
    }
    if (wrong.size() == before) {
      wrong.push_back(in_file(jobs, batch, of_batch));
      right.clear();
    }
    batch = std::move(right);
    return {};
  }

  /// The daemon counts the entries of a batch.
  static std::string in_file(const std::vector<Imported>& jobs, const Places& batch, const Status& why) {
    constexpr std::string_view kEntry = "entry ";
    std::string_view text = why.message();
    if (!text.starts_with(kEntry)) return batch.size() == 1 ? jobs[batch[0]].place + ": " + std::string{text} : std::string{text};
    std::size_t entry = 0;
    text.remove_prefix(kEntry.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), entry);
    if (error != std::errc{} || entry < 1 || entry > batch.size()) return std::string{why.message()};
    return jobs[batch[entry - 1]].place + std::string{end, text.data() + text.size()};
  }

  Status check(std::vector<Imported>& jobs, const Places& batch) {
    const auto checked = backend_.call("jobs-put", {{"definitions", escape_text(definitions_of(jobs, batch))}, {"dry_run", true}}, {});
    if (!checked) return checked.error();
    const json::array& rows = checked->at("rows").as_array();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const json::object& row = rows.at(i).as_object();
      if (const json::value* const warning = row.if_contains("warning")) {
        const std::string_view text = warning->as_string();
        if (warned_.emplace(text).second) print_error("rondo: warning: " + std::string{text} + "\n");
      }
      Imported& one = jobs[batch[i]];
      one.definition = definition_of(row);  // Without members that have their default value.
      if (!is_past(one, row) || !warned_.emplace(name_of(one)).second) continue;
      print_error("rondo: warning: no instant of '" + std::string{row.at("schedule").as_string()} + "' is ahead, so '" + name_of(one) +
                  "' would never run: `rondo job trigger` runs a job now\n");
    }
    return {};
  }

  /// Stores the jobs of a batch that change: all of them, or none.
  Status store(const std::vector<Imported>& jobs, const Places& batch) {
    Places changed;
    std::ranges::copy_if(batch, std::back_inserter(changed), [&jobs](std::size_t place) { return !difference_of(jobs[place]).empty(); });
    if (changed.empty()) return {};
    const auto stored = backend_.call("jobs-put", {{"definitions", escape_text(definitions_of(jobs, changed))}}, {});
    if (stored) stored_ += changed.size();
    return stored ? Status{} : stored.error();
  }

  /// Prints what became of a job, or keeps it for the JSON answer.
  void note(const Imported& one) {
    const std::string lines = difference_of(one);
    const std::string_view became = one.is_new() ? "added" : lines.empty() ? "same" : "changed";
    if (became == "same") ++same_;
    if (options_.json) {
      rows_.push_back(json::object{{"name", name_of(one)}, {"became", became}});
    } else {
      print(name_of(one) + ": " + (is_dry_ && became != "same" ? "would be " : "") + std::string{became} + "\n" + (is_dry_ ? lines : ""));
    }
  }

  int fail(const Status& why) {
    const std::string before =
        stored_ == 0 ? "nothing was imported" : counted(stored_, "job was", "jobs were") + " stored before this error";
    return report(options_, why.with_context(before), is_wrong_file(why) ? kExitBadFile : -1);
  }

  const Options& options_;
  Backend& backend_;
  bool is_dry_;
  const std::string prefix_;
  json::object result_;
  std::set<std::string> warned_;  // Many jobs may have one handler.
  json::array rows_;
  std::size_t same_ = 0;
  std::size_t stored_ = 0;
};

/// The JSON of a file, or the place and the reason of its first error.
Result<json::value> parse_json(const std::string& text, const std::string& name) {
  json::parser parser;
  boost::system::error_code error;
  std::size_t read = parser.write_some(text.data(), text.size(), error);
  read = error ? read : std::min(text.find_first_not_of(" \t\r\n", read), text.size());
  if (error || read < text.size())
    return failure(StatusCode::InvalidArgument,
                   place_in(text, name, read) + ": " + (error ? "no JSON: " + error.message() : "the file goes on after its JSON value"));
  return parser.release();
}

Result<std::vector<Imported>> parse(const std::string& text, const std::string& name) {
  const Result<json::value> read = parse_json(text, name);
  if (!read) return failure(read.error());
  const json::value& file = *read;
  if (!file.is_array()) return failure(StatusCode::InvalidArgument, "the file is no JSON array of jobs");
  if (const auto doubled = doubled_name(text))
    return failure(StatusCode::InvalidArgument, "entry " + std::to_string(doubled->object) + " has '" + doubled->name + "' twice");
  std::vector<Imported> jobs;
  for (const json::value& one : file.get_array()) {
    const std::string place = "entry " + std::to_string(jobs.size() + 1);
    if (!one.is_object()) return failure(StatusCode::InvalidArgument, place + " is no JSON object");
    Imported job{.definition = without_state(one.get_object()), .place = place};
    const json::value* const running = one.get_object().if_contains("running");
    if (running != nullptr && !running->is_bool()) return failure(StatusCode::InvalidArgument, place + ": running is true or false");
    if (running != nullptr) job.running = running->get_bool();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

int import_jobs(const Options& options, const JobCall& call, Backend& backend) {
  const Result<std::string> text = content_of(call.word("FILE"));
  if (!text) return report(options, text.error());
  const std::string name = call.word("FILE");
  Result<std::vector<Imported>> jobs = parse(*text, name == "-" ? "standard input" : name);
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
  const bool has_users = call.find("--system") != nullptr || has_column_of_users(call.word("FILE"), *text);
  const Crontab read =
      read_crontab(*text, {.handler = given("--handler", "command/shell"), .prefix = prefix, .zone = zone->name, .has_users = has_users});
  for (const std::string& line : read.left_out) print_error("rondo: warning: " + line + " is not taken over\n");
  if (!options.json) print("zone: " + zone->name + " (" + zone->source + "), except below CRON_TZ\n");
  std::vector<Imported> jobs;
  for (std::size_t i = 0; i < read.definitions.size(); ++i) {
    jobs.push_back(
        {.definition = read.definitions[i], .place = read.lines[i], .running = call.find("--stopped") == nullptr, .is_of_crontab = true});
  }
  json::object result{{"zone", zone->name}, {"zone_source", zone->source}};
  return Import{options, backend, call.find("--dry-run") != nullptr, std::move(result), prefix}.run(std::move(jobs), read.refused);
}

}  // namespace rondo::cli
