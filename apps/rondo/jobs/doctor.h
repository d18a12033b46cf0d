// `rondo job doctor`: what a database of jobs is like. Only in a build with the component jobs.
#pragma once

#include <string>

#include "arguments/options.h"

namespace rondo::cli {

/// Prints the findings about the database in 'file', and returns the exit code: failed if there is a problem.
int print_job_doctor(const Options& options, const std::string& file);

}  // namespace rondo::cli
