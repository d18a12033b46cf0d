// The handlers and facts that rondod itself offers to jobs. Commands of other programs are run by workers.
#pragma once

#include "base/log.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"

namespace rondo::daemon {

/// "log": writes the parameters to the log. "none": does nothing, for a schedule that is tried out. "table": "TABLE KEY FIELD=VALUE ..."
/// sets fields of a row, and "del TABLE KEY" deletes a row. 'runtime' and 'log' must outlive 'jobs'.
void add_handlers(jobs::Jobs& jobs, Runtime& runtime, Log& log);

/// Jobs may require the facts about ports. The runtime has a switch agent, which provides them. Before Jobs::start().
void offer_switch_facts(jobs::Jobs& jobs);

/// Writes what the parameters of a job with the handler "table" say. InvalidArgument and NotFound name the word that is wrong.
Status write_row_of(std::string_view parameters, Runtime& runtime);
/// InvalidArgument that names the word for which write_row_of() would return an error. Limits of the store are not checked.
Status check_row_of(std::string_view parameters, Runtime& runtime);

}  // namespace rondo::daemon
