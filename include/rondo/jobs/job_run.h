// JobRun: one firing of a job, from its scheduled instant to its end. The store keeps a row of each run (JobStore).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/time.h"

namespace rondo::jobs {

enum class RunState : std::uint8_t {
  Due,        // Planned; it waits for its time, for facts, for other runs of its job, or for a place in a pool. Also between two attempts.
  Succeeded,  // The handler returned ok.
  Failed,     // The handler returned an error, and no attempt is left, or something else has ended the run after a failed attempt.
  TimedOut,   // The last attempt exceeded Job::timeout, and no attempt is left.
  Killed,     // Stopped by a user, or by a newer run (Overlap::Cover), and no attempt had failed before.
  Discarded,  // Another run of the job was running (Overlap::Discard).
  Skipped,    // Too late (Misfire::DoNothing), the job was stopped before the run began, or the run of a parent did not succeed.
};
/// "due", "succeeded", "failed", "timed-out", "killed", "discarded" or "skipped".
std::string_view to_string(RunState state) noexcept;
std::optional<RunState> run_state_of(std::string_view name) noexcept;
constexpr bool is_final(RunState state) noexcept { return state != RunState::Due; }

/// Why a run exists, and how late the planner found its instant.
enum class Band : std::uint8_t {
  Ring,      // In the look-ahead window, or late by at most that window: it fired from the time ring.
  Direct,    // Later, but within JobsOptions::grace: it fired immediately.
  Misfire,   // Beyond: Job::misfire decided.
  Manual,    // Triggered by a user or a program.
  Backfill,  // A past instant for which a user or a program asked: Jobs::backfill() and Jobs::rerun().
};
/// "ring", "direct", "misfire", "manual" or "backfill".
std::string_view to_string(Band band) noexcept;
std::optional<Band> band_of(std::string_view name) noexcept;
/// True if a user or a program asked for the run: it runs although its job is stopped.
constexpr bool is_requested(Band band) noexcept { return band == Band::Manual || band == Band::Backfill; }

struct JobRun {
  std::int64_t id = 0;  // Given by the store, never used again. It stays the same over restarts and attempts.
  std::int64_t job_id = 0;
  std::string job = {};     // The name of the job.
  WallTime scheduled = {};  // Unique by job, except for Band::Manual and reruns.
  WallTime due = {};        // When it may begin: scheduled plus jitter, or the time of the next attempt.
  Band band = Band::Ring;
  RunState state = RunState::Due;
  std::uint32_t attempt = 0;        // Attempts that have ended.
  std::uint64_t missed = 0;         // Scheduled instants that this row stands for besides its own (Band::Misfire).
  std::optional<WallTime> begun{};  // Of the last attempt that has ended.
  std::optional<WallTime> ended{};  // Of the run. One that is killed while it waits for a further attempt ends with the kill.
  std::string note = {};            // Why it did not succeed, or what the handler returned; at most limits::kRunNote bytes.
  /// The runs of its job's parents, after whose success it begins. They stay the same when the job is edited. In a list of runs that are
  /// not stored yet: their places in the list, each before this one.
  std::vector<std::int64_t> parents = {};
  /// The worker to which the attempt under way, or the one of the end, was given; empty: it was given to none. "*" for a run of a
  /// database of an earlier version.
  std::string worker = {};
  bool is_killed = false;  // By a user. It is not begun again.
  /// Jobs::trigger() was given them for this run in place of Job::parameters. Empty: the run has those of its job.
  std::optional<std::string> parameters = {};
  /// The only executor that may get the run, as TriggerOptions::address; empty: each one of its group.
  std::string address = {};
  /// The run that Jobs::rerun() runs again with this one; a run of a job below has the same number. 0: none.
  std::int64_t rerun_of = 0;
};

/// True if a later run of its job has stopped the run (Overlap::Cover).
inline bool is_covered(const JobRun& run) noexcept { return run.state == RunState::Killed && !run.is_killed; }

}  // namespace rondo::jobs
