// What the files of the admin commands for jobs share.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <optional>
#include <utility>

#include "jobs/jobs_view.h"
#include "rondo/admin/command.h"
#include "rondo/calendar/rfc3339.h"
#include "rondo/jobs/jobs.h"

namespace rondo::jobs {

/// Jobs or runs of one page.
inline constexpr std::size_t kPage = 200;

inline boost::json::value time_of(const std::optional<WallTime>& time) {
  return time ? boost::json::value(calendar::format_rfc3339(*time)) : boost::json::value(nullptr);
}

/// How far a run is that is carried out elsewhere.
boost::json::object object_of(const Progress& progress);

inline ArgumentSpec name_argument() { return {"name", ArgumentKind::Text, true, "Name of the job"}; }

/// Adds commands, and keeps the first error.
class Adder {
 public:
  Adder(CommandRegistry& registry, Jobs& jobs) : registry_(registry), jobs_(jobs) {}
  void add(CommandSpec spec, void (*run)(Jobs&, const Arguments&, Reply)) {
    if (!status_.ok()) return;
    status_ = registry_.add(std::move(spec),
                            [jobs = &jobs_, run](const Arguments& arguments, Reply reply) { run(*jobs, arguments, std::move(reply)); });
  }
  Status status() const { return status_; }

 private:
  CommandRegistry& registry_;
  Jobs& jobs_;
  Status status_;
};

/// Adds the commands about runs (run_commands.cc).
void add_run_commands(Adder& adder);

}  // namespace rondo::jobs
