// The JSON form of a job, as the store keeps it and `rondo job` prints it.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/jobs/job.h"

namespace rondo::jobs {

/// Fields with their default value are left out.
std::string to_json(const Job& job);
/// InvalidArgument that names the field, also for unknown fields. The values are not checked: see check().
Result<Job> job_from_json(std::string_view text);

}  // namespace rondo::jobs
