// The command `jobs`: lists the jobs in the order of their names, chosen and counted, a page of the store at a time.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/answers.h"
#include "jobs/commands/page_line.h"
#include "jobs/commands/parts.h"
#include "jobs/for_caller.h"
#include "jobs/handler_names.h"
#include "rondo/base/clock.h"

namespace rondo::jobs {

namespace {

namespace json = boost::json;

/// Bytes of jobs that are searched in one turn: about 0.2 ms.
constexpr std::size_t kSearchedBytes = 256 * 1024;

/// 'text' with the small letters of ASCII in place of the capitals.
std::string folded(std::string_view text) {
  std::string small{text};
  for (char& c : small) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return small;
}

/// Which jobs are listed, and how. An empty text chooses all.
struct Filter {
  std::string tag;
  std::string owner;
  std::string handlers;   // What the names of their handlers begin with.
  std::string state;      // running, stopped or failing.
  std::string search;     // Folded.
  bool has_plan = false;  // With what forecast() needs of them.
  bool has_ends = false;  // With the run that ended last.
};

/// What is compared with Filter::search.
std::string searched_text(const Job& job) {
  std::string all = job.name + '\n' + job.handler + '\n' + job.owner + '\n' + job.note + '\n' + job.parameters;
  for (const std::string& tag : job.tags) all += '\n' + tag;
  return folded(all);
}

/// Adds what the planner has of a job.
void add_plan(json::object& row, const Jobs& jobs, const StoredJob& stored) {
  row["id"] = stored.id;
  row["next"] = time_of(stored.next);
  json::array runs;
  for (const JobRun& run : jobs.unfinished(stored.id)) {
    runs.push_back(json::object{{"scheduled", calendar::format_rfc3339(run.scheduled)},
                                {"due", calendar::format_rfc3339(run.due)},
                                {"band", to_string(run.band)},
                                {"attempt", run.attempt}});
  }
  row["runs"] = std::move(runs);
}

/// The settings of the planner.
json::object object_of(const JobsOptions& options) {
  return {{"now", calendar::format_rfc3339(SystemClock{}.wall_now())},
          {"window_ms", options.window / 1ms},
          {"grace_ms", options.grace / 1ms},
          {"cycle_ms", options.cycle / 1ms}};
}

class JobLister : public std::enable_shared_from_this<JobLister> {
 public:
  JobLister(Jobs& jobs, PageLine& line, Filter filter, std::uint64_t count)
      : jobs_(jobs), line_(line), filter_(std::move(filter)), left_(count) {}

  void ask(std::string after, Reply reply) {
    after_ = std::move(after);
    line_.ask(after_, reply, [self = shared_from_this(), reply](Result<std::vector<StoredJob>> page) mutable {
      if (!page) return reply.fail(page.error());
      self->page_ = std::move(*page);
      self->at_ = 0;
      const bool needs_ends = self->filter_.has_ends || self->filter_.state == "failing";
      needs_ends && !self->page_.empty() ? self->ask_ends(std::move(reply)) : self->list(std::move(reply));
    });
  }

 private:
  void ask_ends(Reply reply) {
    ForCaller(jobs_)->newest_ends(after_, page_.size(),
                                  [self = shared_from_this(), reply = std::move(reply)](Result<std::vector<JobRun>> ends) mutable {
                                    if (!ends) return reply.fail(ends.error());
                                    self->ends_.clear();
                                    self->successes_.clear();
                                    for (JobRun& run : *ends) {
                                      if (run.state == RunState::Succeeded) self->successes_.insert_or_assign(run.job_id, run.ended);
                                      self->ends_.try_emplace(run.job_id, std::move(run));  // The end comes before the success.
                                    }
                                    self->list(std::move(reply));
                                  });
  }

  /// Lists the jobs of the page from at_ on, as many a turn as a page of the answer has room for.
  void list(Reply reply) {
    for (std::size_t searched = 0; at_ < page_.size() && left_ > 0; ++at_) {
      if (reply.page_full() || searched > kSearchedBytes)
        return reply.next_turn([self = shared_from_this()](Reply next) { self->list(std::move(next)); });
      const StoredJob& stored = page_[at_];
      if (!has(stored)) continue;
      if (!filter_.search.empty()) {
        const std::string all = searched_text(stored.job);
        searched += all.size();
        if (all.find(filter_.search) == std::string::npos) continue;
      }
      reply.row(row_of(stored));
      --left_;
    }
    json::object end = filter_.has_plan ? object_of(jobs_.options()) : json::object{};
    const bool is_last = at_ == page_.size() && Jobs::is_last_page(page_, kPage);
    // The last job is listed: a caller with a group learns no other name.
    if (left_ == 0 && !is_last) end["next"] = commands::text(page_[at_ - 1].job.name);
    if (is_last || left_ == 0 || !reply.wanted()) return reply.finish(end);
    reply.next_turn([self = shared_from_this()](Reply next) { self->ask(self->page_.back().job.name, std::move(next)); });
  }

  bool has(const StoredJob& stored) const {
    const Job& job = stored.job;
    if (!job.handler.starts_with(filter_.handlers) || (!filter_.owner.empty() && job.owner != filter_.owner)) return false;
    if (!filter_.tag.empty() && std::ranges::find(job.tags, filter_.tag) == job.tags.end()) return false;
    if (filter_.state.empty()) return true;
    if (filter_.state != "failing") return stored.is_running == (filter_.state == "running");
    const auto end = ends_.find(stored.id);
    return end != ends_.end() && (end->second.state == RunState::Failed || end->second.state == RunState::TimedOut);
  }

  json::object row_of(const StoredJob& stored) const {
    json::object row = object_of_job(stored, JobsView(jobs_).next_of(stored));
    add_damage(row, stored);
    if (filter_.has_plan) add_plan(row, jobs_, stored);
    if (filter_.has_ends) {
      const auto end = ends_.find(stored.id);
      row["last_state"] = end == ends_.end() ? json::value(nullptr) : json::value(to_string(end->second.state));
      row["last_ended"] = end == ends_.end() ? json::value(nullptr) : time_of(end->second.ended);
      const auto success = successes_.find(stored.id);
      row["last_success"] = success == successes_.end() ? json::value(nullptr) : time_of(success->second);
    }
    return row;
  }

  Jobs& jobs_;
  PageLine& line_;
  const Filter filter_;
  std::uint64_t left_;
  std::string after_;  // The page begins behind it.
  std::vector<StoredJob> page_;
  std::size_t at_ = 0;
  // Of each job of the page, by its id.
  std::map<std::int64_t, JobRun> ends_;  // The run that ended last.
  std::map<std::int64_t, std::optional<WallTime>> successes_;
};

void list_jobs(Jobs& jobs, PageLine& line, const Arguments& arguments, Reply reply) {
  const std::string& group = reply.caller().group;
  Filter filter{.tag = arguments.text("tag"),
                .owner = arguments.text("owner"),
                .handlers = group.empty() ? std::string{} : handlers_of(group),
                .state = arguments.text("state"),
                .search = folded(arguments.text("search")),
                .has_plan = arguments.flag("plan"),
                .has_ends = arguments.flag("ends")};
  if (!filter.state.empty() && filter.state != "running" && filter.state != "stopped" && filter.state != "failing")
    return reply.fail({StatusCode::InvalidArgument, "state is running, stopped or failing"});
  const std::int64_t count = arguments.integer("count", INT64_MAX);
  if (count < 1) return reply.fail({StatusCode::InvalidArgument, "count is at least 1"});
  reply.expect_rows();
  std::make_shared<JobLister>(jobs, line, std::move(filter), static_cast<std::uint64_t>(count))
      ->ask(arguments.text("after"), std::move(reply));
}

}  // namespace

void add_list_command(Adder& adder) {
  const auto run = [line = adder.line()](Jobs& jobs, const Arguments& arguments, Reply reply) {
    list_jobs(jobs, *line, arguments, std::move(reply));
  };
  adder.add({.name = "jobs",
             .help = "List the jobs",
             .arguments = {{"tag", ArgumentKind::Text, false, "Only jobs with this tag"},
                           {"owner", ArgumentKind::Text, false, "Only jobs of this owner"},
                           {"state", ArgumentKind::Text, false, "Only jobs that are running, stopped, or failing: the last run failed"},
                           {"search", ArgumentKind::Text, false, "Only jobs with this text, in capitals or not"},
                           {"count", ArgumentKind::Integer, false, "At most so many"},
                           {"after", ArgumentKind::Text, false, "Only jobs behind this name, such as 'next' of an earlier answer"},
                           {"ends", ArgumentKind::Flag, false, "With the last run that has ended, and the last success"},
                           {"plan", ArgumentKind::Flag, false, "With their ids, planned runs, and the settings of the planner"}},
             .effect = CommandEffect::Reads,
             .keeps_to_group = true},
            run);
}

}  // namespace rondo::jobs
