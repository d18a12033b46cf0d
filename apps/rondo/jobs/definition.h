// The definition of a job as JSON (the form of job-put and of export), made from the words of a command line, and the difference of two.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "arguments/options.h"
#include "rondo/base/result.h"

namespace rondo::cli {

/// Sets the members that the options of 'call' name; others stay. InvalidArgument names the option.
Status apply_options(const JobCall& call, boost::json::object& definition);

/// The milliseconds of "250ms", "30s", "5min", "2h" or "7d". InvalidArgument for another text.
Result<std::int64_t> milliseconds_of(std::string_view duration);

/// A job of an answer with its texts as the daemon has them: in an answer they are escaped.
boost::json::object unescaped(boost::json::object shown);

/// Removes the members that describe the state of a job: "running", "next", "under_way", "retried" and "warning".
boost::json::object without_state(boost::json::object job);
/// The definition in a job of an answer: both of the above.
boost::json::object definition_of(boost::json::object shown);

/// Lines "- field: old" and "+ field: new" for each member that differs; empty if none does.
std::string difference(const boost::json::object& before, const boost::json::object& after);

}  // namespace rondo::cli
