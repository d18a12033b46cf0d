#include "jobs/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "jobs/sqlite/doctor.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/render.h"
#include "output/report.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"

namespace rondo::cli {

namespace json = boost::json;
using jobs::JobDatabaseFinding;

namespace {

const char* name_of(JobDatabaseFinding::Level level) {
  switch (level) {
    case JobDatabaseFinding::Level::Ok: return "ok";
    case JobDatabaseFinding::Level::Advice: return "advice";
    case JobDatabaseFinding::Level::Problem: return "problem";
  }
  return "";
}

}  // namespace

int print_job_doctor(const Options& options, const std::string& file) {
  const Result<std::vector<JobDatabaseFinding>> findings = jobs::examine_sqlite_job_store(file, SystemClock{}.wall_now());
  if (!findings) {
    // Repeating the command cannot turn another file into a database of jobs.
    const StatusCode code = findings.error().code();
    const bool is_other_file = code == StatusCode::FailedPrecondition || code == StatusCode::InvalidArgument;
    return report(options, findings.error(), is_other_file ? kExitBadFile : -1);
  }
  json::array rows;
  for (const JobDatabaseFinding& finding : *findings) {
    rows.push_back(json::object{{"level", name_of(finding.level)},
                                {"setting", finding.setting},
                                {"value", escape_text(finding.value)},
                                {"meaning", escape_text(finding.meaning)},
                                {"remedy", finding.remedy}});
  }
  const auto count = [&findings](JobDatabaseFinding::Level level) {
    return std::ranges::count(*findings, level, &JobDatabaseFinding::level);
  };
  const auto problems = count(JobDatabaseFinding::Level::Problem);
  const json::object result{{"rows", std::move(rows)}, {"problems", problems}, {"advice", count(JobDatabaseFinding::Level::Advice)}};
  print(options.json ? json_text(result) + "\n" : render_result("doctor", result, wants_color(STDOUT_FILENO)));
  const int printed = finish_output();
  return printed == kExitDone && problems > 0 ? kExitFailed : printed;
}

}  // namespace rondo::cli
