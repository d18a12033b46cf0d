// The next instants of a job's schedule, whether the job is started or not.
#pragma once

#include <cstddef>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/calendar/schedule.h"
#include "rondo/jobs/job.h"

namespace rondo::jobs {

/// At most 'max' firings after 'after'. Empty for a job that is only triggered. A fixed delay has one: it is measured from 'after', because
/// the end of the next run is not known. InvalidArgument or NotFound for the schedule or its zone. Reads the file of the zone.
Result<std::vector<calendar::Firing>> next_firings(const StoredJob& stored, WallTime after, std::size_t max);

}  // namespace rondo::jobs
