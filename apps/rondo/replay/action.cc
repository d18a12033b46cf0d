// `rondo replay`: runs a recorded run of rondod through the production scheduler, switch agent, managers and jobs, and compares it with the
// record. CMakeLists.txt defines RONDO_WITH_JOBS if this build has the component jobs.
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "commands/actions.h"
#include "journal/opened.h"
#include "managers/managers.h"
#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "output/report.h"
#include "replay/damaged_part.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"
#include "rondo/replay/replay.h"
#include "switch_agent/agent.h"
#include "terminal/progress.h"
#ifdef RONDO_WITH_JOBS
#include "replay/recorded_jobs.h"
#endif

namespace rondo::cli {
namespace {

namespace json = boost::json;

template <class Number>
bool read_note(const replay::Replay& replay, std::string_view name, Number& value) {
  const std::optional<std::string> text = replay.note(name);
  if (!text) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size();
}

Status read_settings(replay::Replay& replay, switch_agent::SwitchAgentOptions& settings) {
  const bool known = read_note(replay, "agent.table", settings.table) && read_note(replay, "agent.orders_max", settings.orders_max) &&
                     read_note(replay, "agent.retry_quota", settings.retry_quota);
  if (!known)
    return {StatusCode::InvalidArgument,
            "the run has no switch agent's settings: it is not a run of rondod's; its own program runs it again, with replay::Replay "
            "(docs/guide/journal.md)"};
  std::uint32_t protocol = switch_agent::kDefaultProtocol;
  if (read_note(replay, "agent.protocol", protocol)) settings.protocol = static_cast<std::uint8_t>(protocol);
  settings.answers = &replay.answers();
  settings.restart = &replay.restart();
  return {};
}

/// What the notes of a recorded run say about it. It has a switch agent, jobs, or both; and managers only beside an agent.
struct RecordedSettings {
  std::optional<switch_agent::SwitchAgentOptions> agent;
  bool has_managers = false;
#ifdef RONDO_WITH_JOBS
  std::optional<jobs::JobsOptions> jobs;
#endif
};

Result<RecordedSettings> settings_of(replay::Replay& replay) {
  RecordedSettings settings;
  const bool has_jobs = replay.note("jobs").has_value();
  const std::optional<std::string> managers = replay.note(managers::kManagersNote);
  settings.has_managers = managers.has_value();
  if (managers && *managers != managers::kManagersRecorded) {
    return failure(StatusCode::Unimplemented,
                   "the run has the managers of CONFIG_DB ([managers]) of an older rondod, which did not record what a replay needs");
  }
  if (!has_jobs || replay.note("agent.table")) {
    if (Status unfit = read_settings(replay, settings.agent.emplace()); !unfit.ok()) return failure(std::move(unfit));
  }
  if (!has_jobs) return settings;
#ifdef RONDO_WITH_JOBS
  Result<jobs::JobsOptions> jobs = recorded_settings(replay);
  if (!jobs) return failure(std::move(jobs).error());
  settings.jobs = *jobs;
  return settings;
#else
  return failure(StatusCode::Unimplemented,
                 "the run has jobs, and this rondo was built without jobs (missing: libsqlite3-dev or libssl-dev)");
#endif
}

/// The parts of rondod that a replay has, made and started in its order.
class RecordedDaemon {
 public:
  RecordedDaemon(replay::Replay& replay, const RecordedSettings& settings) : runtime_(replay.runtime_options()) {
    log_.set_level(LogLevel::Off);
    if (settings.agent) agent_.emplace(runtime_, replay.plane(), *settings.agent);
    if (settings.has_managers) open_managers();
#ifdef RONDO_WITH_JOBS
    if (settings.jobs) jobs_.emplace(runtime_, *settings.jobs, agent_.has_value(), log_);
#endif
    if (agent_ && started_.ok()) started_ = agent_->start();
#ifdef RONDO_WITH_JOBS
    if (jobs_) jobs_->start();
#endif
  }
  Runtime& runtime() noexcept { return runtime_; }
  const Status& started() const noexcept { return started_; }

 private:
  /// What they read and write is on record, and so is when they may do what.
  void open_managers() {
    auto managers = managers::Managers::open(runtime_, {});
    if (!managers) started_ = managers.error();
    if (managers) managers_ = std::move(*managers);
  }

  const SystemClock clock_;
  Log log_{clock_};  // What the handler "log" writes is not repeated.
  std::unique_ptr<managers::Managers> managers_;
  Runtime runtime_;
  std::optional<switch_agent::SwitchAgent> agent_;
#ifdef RONDO_WITH_JOBS
  std::optional<RecordedJobs> jobs_;
#endif
  Status started_;
};

json::array trouble_of(const replay::Replay& replay) {
  json::array all;
  for (const replay::DamagedPart& part : damaged_parts(replay)) {
    json::object one = damage_json({part.offset, part.bytes, part.reason, part.at_end});
    one["file"] = text(part.file);
    all.push_back(std::move(one));
  }
  return all;
}

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

void show(const Options& options, const replay::ReplayReport& done, Duration took, json::array trouble) {
  const double times = seconds(done.recorded) / std::max(seconds(took), 1e-9);
  if (options.json) {
    json::object result{{"same", done.same},
                        {"records", done.records},
                        {"turns", done.turns},
                        {"outcomes", done.outcomes},
                        {"recorded_seconds", seconds(done.recorded)},
                        {"seconds", seconds(took)},
                        {"times_real_time", times},
                        {"trouble", std::move(trouble)}};
    if (!done.same) {
      result["difference"] =
          json::object{{"record", done.record}, {"expected", escape_text(done.expected)}, {"came", escape_text(done.came)}};
    }
    print(json_text(result) + "\n");
    return;
  }
  for (const json::value& one : trouble) print_trouble(one.get_object());
  char line[256];
  std::snprintf(
      line, sizeof line, "%s: %llu records, %llu turns, %llu outcomes; %.3f s recorded, replayed in %.3f s (%.1f times real time)\n",
      done.same ? "the same" : "different", static_cast<unsigned long long>(done.records), static_cast<unsigned long long>(done.turns),
      static_cast<unsigned long long>(done.outcomes), seconds(done.recorded), seconds(took), times);
  print(line);
  if (done.same) return;
  print("record " + std::to_string(done.record) + "\n  expected  " + visible_text(done.expected) + "\n  came      " +
        visible_text(done.came) + "\n");
}

/// Shows progress on a terminal.
replay::ReplayReport run(replay::Replay& replay, Runtime& runtime, const Clock& clock, const std::string& name) {
  if (!can_show_progress()) return replay.run(runtime);
  Progress progress(clock, name, replay.records(), true, "records");
  const replay::ReplayReport done = replay.run(runtime, [&progress](std::uint64_t records) { progress.update(records); });
  progress.update(done.records);
  return done;
}

}  // namespace

int replay_run(const Options& options, const ReplayRun& call) {
  Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open(call.files, call.run);
  if (!opened) return report(options, opened.error(), opened.error().code() == StatusCode::DataLoss ? kExitBadFile : -1);
  replay::Replay& replay = **opened;
  const Result<RecordedSettings> settings = settings_of(replay);
  if (!settings) return report(options, settings.error());
  const SystemClock clock;
  const Instant start = clock.now();
  replay.grant_tables();
  RecordedDaemon daemon(replay, *settings);
  const replay::ReplayReport done = run(replay, daemon.runtime(), clock, call.files.back());
  if (!daemon.started().ok()) return report(options, daemon.started());
  show(options, done, clock.now() - start, trouble_of(replay));
  return finish_output(done.same ? kExitDone : kExitDifferent);
}

}  // namespace rondo::cli
