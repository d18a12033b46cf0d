// ExecutorService: the executors of [executors]. An interface, because a build without libcurl has none.
#pragma once

#include <boost/json/fwd.hpp>
#include <memory>
#include <string>

#include "base/log.h"
#include "rondo/admin/command.h"
#include "rondo/base/result.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/config.h"
#include "rondod/http/front.h"

namespace rondo::daemon {

class ExecutorService {
 public:
  virtual ~ExecutorService() = default;
  /// `executors` and `executor-drain`.
  virtual Status add_commands(CommandRegistry& registry) = 0;
  /// See Executors::read_log().
  virtual bool read_log(const jobs::JobRun& run, std::int64_t from, bool wait, const std::string& address, const Reply& reply) = 0;
  virtual Status health() const = 0;
  /// See Executors::refusal().
  virtual std::string refusal() const = 0;
  virtual void add_stats(boost::json::object& stats) const = 0;
};

/// Ok, or why open_executors() would refuse a group, such as for its token file.
Status check_executor_groups(const Config& config);

/// Reads the tokens. Call it before Jobs::start() and before Front::start(); the result must be destroyed before 'jobs'. The parameters
/// must outlive it. Errors: a token file that cannot be read, or a token that is too short; Unimplemented: see check_http_build().
Result<std::unique_ptr<ExecutorService>> open_executors(const Config& config, Runtime& runtime, jobs::Jobs& jobs, Log& log, Front& front);

}  // namespace rondo::daemon
