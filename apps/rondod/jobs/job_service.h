// JobService: rondod's job scheduler ([jobs]): the database, the handlers of this program, the commands, and the jobs' part of stats and
// health. An interface, because a build without SQLite has none.
#pragma once

#include <boost/json/fwd.hpp>
#include <memory>

#include "base/log.h"
#include "rondo/admin/command.h"
#include "rondo/base/status.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/config.h"
#include "rondod/http/front.h"

namespace rondo::daemon {

class JobService {
 public:
  virtual ~JobService() = default;
  /// Plans and fires from now on.
  virtual void start() = 0;
  /// Logs when the scheduler of jobs has trouble, and when it is well again. Called every second.
  virtual void poll() = 0;
  /// True if another scheduler has taken the jobs of a server over: this service must end, and may be opened again as a standby.
  virtual bool is_taken_over() const noexcept = 0;
  /// Not ok: ends of runs may not be stored, so that a restart runs them again.
  virtual Status health() const = 0;
  virtual void add_stats(boost::json::object& stats) const = 0;
  /// 'notes': what is no trouble of this program, such as runs that wait for a worker.
  virtual void add_health(boost::json::array& troubles, boost::json::array& notes) const = 0;
};

/// Ok, or Unimplemented with the missing packages: for jobs, and for jobs at the server of 'url'.
Status check_job_build();
Status check_job_server_build(const std::string& url);

/// Ok, or why open_jobs() would refuse the database at present: AlreadyExists if another process runs its jobs; the errors of
/// check_sqlite_job_store(). The rondod that serves 'config.socket' may run them: it has this configuration. It changes nothing, and takes
/// no lock.
Status check_jobs_file(const Config& config);

/// Opens the database and adds the commands. The parameters must outlive the result. AlreadyExists: another rondod uses the file (at a
/// server this one waits as a standby); otherwise the errors of make_sqlite_job_store() or of the store at the server.
Result<std::unique_ptr<JobService>> open_jobs(const Config& config, Runtime& runtime, CommandRegistry& registry, Log& log, Front* front);

}  // namespace rondo::daemon
