#include "replay/recorded_jobs.h"

#include <string>

#include "job_handlers/handlers.h"
#include "job_handlers/settings.h"

namespace rondo::cli {

RecordedJobs::RecordedJobs(Runtime& runtime, const jobs::JobsOptions& options, bool has_switch, Log& log)
    : jobs_(runtime, nullptr, options) {
  // rondod's Workers does this. Everything else that it does is on record.
  jobs_.wait_for_handlers("command/", [](std::string_view) { return std::string{"the journal does not keep why"}; });
  daemon::add_handlers(jobs_, runtime, log);
  if (has_switch) daemon::offer_switch_facts(jobs_);
  daemon::note_settings(runtime, options);
}

Result<jobs::JobsOptions> recorded_settings(const replay::Replay& replay) {
  return daemon::noted_settings([&replay](std::string_view name) { return replay.note(name); });
}

}  // namespace rondo::cli
