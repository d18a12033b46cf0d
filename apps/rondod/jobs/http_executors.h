// The ExecutorService of a build with libcurl.
#pragma once

#include <memory>

#include "rondod/http/http_front.h"
#include "rondod/jobs/executor_service.h"

namespace rondo::daemon {

/// See check_executor_groups().
Status check_http_executors(const Config& config);
/// See open_executors().
Result<std::unique_ptr<ExecutorService>> open_http_executors(const Config& config, Runtime& runtime, jobs::Jobs& jobs, Log& log,
                                                             HttpFront& front);

}  // namespace rondo::daemon
