// Job: what runs, when, and what happens when it is late or still running. A plain value; JobStore keeps it, Jobs runs it. The rules follow
// the Orth job scheduler (its time ring, misfire bands, block strategies and pools).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/calendar/schedule.h"
#include "rondo/jobs/route.h"
#include "rondo/sched/priority.h"

namespace rondo::jobs {

/// What happens to scheduled instants that are later than JobsOptions::grace when the planner finds them.
enum class Misfire : std::uint8_t {
  DoNothing,  // They are recorded in one run row, and do not run.
  FireOnce,   // The newest of them runs once, immediately.
  FireLast,   // The newest Job::misfire_runs of them run, immediately.
  FireAll,    // Each of them runs immediately: the newest limits::kMisfireRuns.
};
/// "do-nothing", "fire-once", "fire-last" or "fire-all".
std::string_view to_string(Misfire misfire) noexcept;
std::optional<Misfire> misfire_of(std::string_view name) noexcept;

/// What a due run does while another run of its job is running.
enum class Overlap : std::uint8_t {
  Serial,      // It waits until the others have ended.
  Discard,     // It ends as Discarded.
  Cover,       // It stops the others, and begins when they have ended.
  Concurrent,  // It runs beside the others, up to Job::concurrency runs; further ones wait.
};
/// "serial", "discard", "cover" or "concurrent".
std::string_view to_string(Overlap overlap) noexcept;
std::optional<Overlap> overlap_of(std::string_view name) noexcept;

/// Which runs Overlap counts, for a job whose handler runs at several executors (docs/guide/executors.md). Other jobs have the scope Job.
enum class OverlapScope : std::uint8_t {
  Executor,  // Those at the executor that was chosen for the due run.
  Job,       // All runs of the job.
};
/// "executor" or "job".
std::string_view to_string(OverlapScope scope) noexcept;
std::optional<OverlapScope> overlap_scope_of(std::string_view name) noexcept;

/// When a job is due, as text. compile() checks it.
struct ScheduleText {
  /// "cron EXPRESSION", "every DURATION" (a fixed rate, in phase with 'from', without it with 1970-01-01 00:00:00 UTC), "after DURATION"
  /// (from the end of a run to the next one), "at RFC3339", which without an offset is a local time of 'zone', or "manual". A duration is a
  /// whole number with the unit ms, s, min, h or d, of at least 10 ms.
  std::string when = "manual";
  /// The dialect of a cron expression, as in calendar::dialect_of(); empty: detected.
  std::string dialect = {};
  /// A name of the tz database; empty: UTC.
  std::string zone = {};
  /// "vixie", "quartz", "spring" or "systemd"; empty: vixie.
  std::string dst = {};
  /// No firing before 'from', and none from 'until' on.
  std::optional<WallTime> from = {};
  std::optional<WallTime> until = {};
  /// Days on which it is not due, as in calendar::ExcludedDays::parse(): "SAT, SUN, 12-24..01-01, 2026-04-03".
  std::string excluded = {};
  /// A firing is due up to this time after its scheduled instant. At most limits::kJitter, the duration of "every", and
  /// limits::kJitterInstants instants of a cron expression.
  Duration jitter{0};
  friend bool operator==(const ScheduleText&, const ScheduleText&) = default;
};

/// InvalidArgument that names the field and the reason; the zone is not looked up. 'seed' makes the jitter of different jobs differ.
Result<calendar::Schedule> compile(const ScheduleText& text, std::uint64_t seed);

struct Job {
  /// 1 to limits::kJobName bytes: letters, digits, '.', '_', '-' and '/'; between slashes is no empty part, no "." and no "..". Unique in a
  /// store.
  std::string name = {};
  /// The handler of this program that runs it: Jobs::handle().
  std::string handler = {};
  std::string parameters = {};  // Up to limits::kJobParameters bytes; the handler receives them.
  ScheduleText schedule = {};
  Priority priority{8};
  Misfire misfire = Misfire::FireOnce;
  std::uint32_t misfire_runs = 1;  // For Misfire::FireLast: 1 to limits::kMisfireRuns.
  Overlap overlap = Overlap::Serial;
  std::uint32_t concurrency = 1;  // For Overlap::Concurrent: 1 to limits::kJobConcurrency.
  OverlapScope overlap_scope = OverlapScope::Executor;
  /// Which of the executors or workers that can take a run gets it. Default: the worker with the most free places; executors in turn.
  Route route = Route::Default;
  std::uint32_t retries = 0;  // Attempts after a failed one: up to limits::kJobRetries.
  Duration backoff{1s};       // Before the first retry; each further one waits twice as long, up to an hour.
  /// Of one attempt; 0: none. As 'backoff' in whole milliseconds. Without effect at a handler of Jobs::handle_in_turn().
  Duration timeout{0};
  /// Names of jobs, at most limits::kJobParents. A job with parents has the schedule "manual": it runs once for each run of its parents,
  /// when all of them have succeeded. All jobs above it end in one root, whose schedule they share (Jobs::put()).
  std::vector<std::string> parents = {};
  /// Facts that must hold when a run begins, each as "kind:key", such as "port:Ethernet0"; at most limits::kJobFacts. Until then the run
  /// waits. It does not end when a fact ends later.
  std::vector<std::string> required_facts = {};
  std::string owner = {};
  std::vector<std::string> tags = {};  // At most limits::kJobTags, each different.
  std::string note = {};               // For people.
  std::string stop_note = {};  // For people: why the job is stopped. Jobs::stop() sets it, Jobs::start() clears it, an edit keeps it.
  friend bool operator==(const Job&, const Job&) = default;
};

/// InvalidArgument that names the field and the reason.
Status check(const Job& job);
/// The part of check() that compiles no schedule: its texts and numbers have their limits. O(bytes).
Status check_contents(const Job& job);
/// The part of check() for Job::parameters, also for those of a single run.
Status check_parameters(std::string_view parameters);
/// The part of check() that a stored job must satisfy to be read: its handler and its numbers, not its texts and its schedule. O(1).
Status check_values(const Job& job);

/// A handler's check of the parameters of a job before the job is stored: Jobs::put_checked(). It calls 'done' once, on the scheduler's
/// thread, within the call or later: with ok; with InvalidArgument, which refuses the job; or with another error: the parameters cannot be
/// checked at present, and the job is stored. 'done' may be called after the end of Jobs, and does nothing then.
using CheckParameters = std::function<void(const Job& job, std::function<void(const Status& checked)> done)>;

/// A job as a JobStore keeps it.
struct StoredJob {
  std::int64_t id = 0;  // Given by the store; stays the same when the job is edited.
  Job job;
  bool is_running = false;         // Started: its schedule is in force. A stopped job runs only when it is triggered.
  std::optional<WallTime> next{};  // The first scheduled instant that has no run row; empty: none.
  /// Why its row cannot be planned although its definition can be read, such as a next time that is no time. Empty: it can. A stop and a
  /// start, or an edit, writes the row anew.
  std::string set_aside = {};
  /// Why no run of the job begins while it is started, as far as the other jobs tell: one above it is stopped, or a job whose success it
  /// requires has none and does not run. Set in the answers of Jobs::find(), list() and put_all(), not in a replay. Empty: nothing is
  /// known.
  std::string obstacle = {};
  /// The job before the call; null if it is new. Set in the answers of Jobs::start() and stop(), and of put_all() for its first
  /// 16 jobs, not in a replay.
  std::shared_ptr<const StoredJob> before = {};
  /// Why its parameters were not checked. Set in the answers of Jobs::put_checked(). Empty: they were, or its handler has no check.
  std::string unchecked = {};
};

/// False for what stands for a row that cannot be read: it has only a name, and a note that says why.
inline bool is_readable(const StoredJob& stored) noexcept { return !stored.job.handler.empty(); }

}  // namespace rondo::jobs
