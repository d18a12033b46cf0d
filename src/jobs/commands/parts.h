// What the files of the admin commands for jobs share.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/jobs_view.h"
#include "jobs/planner.h"
#include "rondo/admin/command.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

class PageLine;

/// Jobs or runs of one page.
inline constexpr std::size_t kPage = 200;

inline boost::json::value time_of(const std::optional<WallTime>& time) {
  return time ? boost::json::value(calendar::format_rfc3339(*time)) : boost::json::value(nullptr);
}

/// How far a run is that is carried out elsewhere.
boost::json::object object_of(const Progress& progress);

/// A job as it is listed. 'next' as JobsView::next_of().
boost::json::object object_of_job(const StoredJob& stored, const std::optional<WallTime>& next);
/// Says why the row of a job cannot be used as it is stored.
void add_damage(boost::json::object& job, const StoredJob& stored);

/// Why runs of a job that was put, or would be, would not begin, and which of its settings have no effect: a name may be mistyped, or a
/// worker is not connected yet. For people.
std::vector<std::string> troubles_of(const Jobs& jobs, const StoredJob& stored);
/// The job of the argument 'definition'. InvalidArgument for a text that is no job.
Result<Job> checked_definition(const Arguments& arguments);
/// At most 'max' firings after 'after'. Empty for a job that is only triggered. A fixed delay has one: it is measured from 'after', because
/// the end of the next run is not known.
std::vector<calendar::Firing> next_firings(const CompiledSchedule& compiled, WallTime after, std::size_t max);

/// Tells a log what a command has changed in the jobs of its answer: StoredJob::before, or all of a removed job.
void tell_changes(const std::vector<StoredJob>& changed, bool are_removed, Reply& reply);

inline ArgumentSpec name_argument() { return {"name", ArgumentKind::Text, true, "Name of the job"}; }

/// The handler of a command about one job, which its argument 'name' names, or its argument 'run' by a run of it. A caller with a group
/// gets NotFound for a job of another group, as for one that does not exist.
CommandHandler within_group(Jobs& jobs, CommandHandler handler);

/// The handler of a command whose text arguments have a limit. InvalidArgument for a longer one, before the store or the journal gets it:
/// the journal is a ring, and a caller that only reads must not be able to push old records out of it.
CommandHandler within_limits(const CommandSpec& spec, CommandHandler handler);
/// The same for definitions: InvalidArgument for a job that is larger than check() permits.
Status check_sizes(const std::vector<JobEdit>& edits);

/// Adds commands, and keeps the first error. Their text arguments are kept by within_limits(). A command with CommandSpec::keeps_to_group
/// about one job is kept by within_group().
class Adder {
 public:
  Adder(CommandRegistry& registry, Jobs& jobs);
  void add(CommandSpec spec, std::function<void(Jobs&, const Arguments&, Reply)> run) {
    if (!status_.ok()) return;
    CommandHandler handler = [jobs = &jobs_, run = std::move(run)](const Arguments& arguments, Reply reply) {
      run(*jobs, arguments, std::move(reply));
    };
    const auto names_job = [](const ArgumentSpec& argument) { return argument.name == "name" || argument.name == "run"; };
    if (spec.keeps_to_group && std::ranges::any_of(spec.arguments, names_job)) handler = within_group(jobs_, std::move(handler));
    handler = within_limits(spec, std::move(handler));
    status_ = registry_.add(std::move(spec), std::move(handler));
  }
  Status status() const { return status_; }
  const std::shared_ptr<PageLine>& line() const { return line_; }

 private:
  CommandRegistry& registry_;
  Jobs& jobs_;
  const std::shared_ptr<PageLine> line_;  // All commands share it.
  Status status_;
};

/// Adds `jobs` (list_jobs.cc).
void add_list_command(Adder& adder);
/// Adds the commands about instants (schedule_commands.cc).
void add_schedule_commands(Adder& adder);
/// Adds the commands about runs (run_commands.cc).
void add_run_commands(Adder& adder);

}  // namespace rondo::jobs
